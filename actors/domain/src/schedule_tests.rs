//! Texts that are accepted as a schedule, and texts that are rejected.

use super::*;

fn text(start: &str, end: Option<&str>, zone: &str) -> ScheduleText {
    ScheduleText {
        start_time: Some(start.to_owned()),
        end_time: end.map(str::to_owned),
        timezone: Some(zone.to_owned()),
    }
}

fn paths(text: &ScheduleText) -> Vec<(String, &'static str)> {
    let problems = Schedule::parse(text).unwrap_err();
    problems
        .into_iter()
        .map(|problem| (problem.path, problem.code))
        .collect()
}

#[test]
fn every_form_of_a_time_is_read() {
    let clock = |h, m, s| NaiveTime::from_hms_opt(h, m, s).unwrap();
    let day = NaiveDate::from_ymd_opt(2026, 6, 1);
    for (start, first_day, expected) in [
        ("09:00", None, clock(9, 0, 0)),
        ("23:59:59", None, clock(23, 59, 59)),
        ("2026-06-01T09:00", day, clock(9, 0, 0)),
        ("2026-06-01T09:00:30", day, clock(9, 0, 30)),
        ("2026-06-01T09:00:30.250", day, clock(9, 0, 30)),
        // Berlin is two hours ahead of UTC then.
        ("2026-06-01T07:00Z", day, clock(9, 0, 0)),
        ("2026-06-01T07:00:00.000Z", day, clock(9, 0, 0)),
        ("2026-06-01T12:30:00+05:30", day, clock(9, 0, 0)),
        ("2026-06-01T12:30+0530", day, clock(9, 0, 0)),
        ("2026-05-31T23:00-08", day, clock(9, 0, 0)),
    ] {
        let schedule = Schedule::parse(&text(start, None, "Europe/Berlin")).unwrap().unwrap();
        assert_eq!((schedule.first_day, schedule.start), (first_day, expected), "{start}");
        assert_eq!(schedule.end, None);
    }
    let day = text("09:00", Some("2026-01-01T18:30:00-01:00"), "Asia/Kolkata");
    assert_eq!(Schedule::parse(&day).unwrap().unwrap().end, Some(clock(1, 0, 0)));
}

#[test]
fn what_is_no_time_is_refused_by_name() {
    for wrong in [
        "",
        " 09:00",
        "9:00",
        "09:0",
        "0900",
        "24:00",
        "9999-12-31T23:59:59-23:59",
        "09:60",
        "09:00:60",
        "09:00:00.5",
        "09:00Z",
        "09:00+02:00",
        "09:00 AM",
        "2026-06-01",
        "2026-06-01 09:00",
        "2026-13-01T09:00",
        "2026-02-30T09:00",
        "26-06-01T09:00",
        "2026-06-01T09",
        "2026-06-01T09:00+",
        "2026-06-01T09:00+24:00",
        "2026-06-01T09:00z",
        "2026-06-01T09:00.5",
        "2026-06-01T09:00:00.",
        "2026-06-01T09:00ZZ",
        "+026-06-01T09:00",
        "0٩:00",
        "2026-06-01T09:00+0٩00",
        "tomorrow",
        "2026-W23-1T09:00",
    ] {
        assert_eq!(
            paths(&text(wrong, Some(wrong), "UTC")),
            [("startTime".to_owned(), "invalid"), ("endTime".to_owned(), "invalid")],
            "{wrong}"
        );
    }
    for wrong in ["", "CEST", "Berlin", "europe/berlin", "+02:00", "Mars/Base"] {
        assert_eq!(
            paths(&text("09:00", None, wrong)),
            [("timezone".to_owned(), "invalid")],
            "{wrong}"
        );
    }
}

#[test]
fn start_and_zone_are_required_as_soon_as_anything_is_set() {
    assert_eq!(Schedule::parse(&ScheduleText::default()), Ok(None));
    let end_only = ScheduleText {
        end_time: Some("x".into()),
        ..ScheduleText::default()
    };
    assert_eq!(
        paths(&end_only),
        [
            ("endTime".to_owned(), "invalid"),
            ("startTime".to_owned(), "required"),
            ("timezone".to_owned(), "required")
        ]
    );
    let start_only = ScheduleText {
        start_time: Some("09:00".into()),
        ..ScheduleText::default()
    };
    assert_eq!(paths(&start_only), [("timezone".to_owned(), "required")]);
    assert!(Schedule::malformed(&start_only).is_empty());
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(start: String, end: String, zone: String) {
        let _ = Schedule::parse(&text(&start, Some(&end), &zone));
        let _ = moment(&format!("2026-06-01T{start}"));
        let _ = moment(&format!("2026-06-01T09:00{end}"));
    }
}
