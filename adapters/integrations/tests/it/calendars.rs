//! Tests of appointments made during calls: both calendars over real sockets, lost answers, and whole calls over REST.

mod in_calls;
mod required_fields;
pub mod stub;

use std::{sync::Arc, time::Duration};

use domain::{
    agent::Agent,
    ports::{
        store::{AppointmentState, BOOKING_LEASE, Store},
        tool_runner::{ToolFault, ToolOffer, ToolRun, ToolRunner, ToolScope},
    },
};
use integrations::calendars::{BOOK_APPOINTMENT, Calendars, FIND_SLOTS};
use serde_json::{Value, json};
use testkit::{
    memory_store::MemoryStore,
    store_conformance::{Fixture, ManualClock, Scene, number},
};

use self::stub::Fault;

/// Tomorrow, by the clock of these tests.
const AT_THREE: &str = "2026-01-02T15:00";

fn agent(provider: &str, ids: &[&str]) -> Arc<Agent> {
    let wish = json!({ "enabled": true, "provider": provider, "eventsIds": ids });
    let agent = json!({
        "name": "Ava",
        "conversationConfig": { "agent": { "prompt": { "prompt": "Be brief.", "timezone": "Europe/Berlin" } } },
        "platformSettings": { "callActions": { "scheduleOnCalendar": wish } },
    });
    serde_json::from_value(agent).map(Arc::new).unwrap()
}

fn calcom() -> Arc<Agent> {
    agent("cal.com", &["77"])
}

fn google() -> Arc<Agent> {
    agent("google", &[])
}

struct Bench {
    scene: Scene,
    stub: stub::Calendars,
    calendars: Arc<Calendars>,
    calls: usize,
}

impl Bench {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut integrations::calendars::CalendarConfig)) -> Self {
        let clock = Arc::new(ManualClock::new());
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(clock.clone()));
        let fixture = Fixture {
            store: store.clone(),
            clock: clock.clone(),
        };
        let scene = fixture.scene().await;
        let stub = stub::Calendars::start().await;
        let mut config = stub.config();
        change(&mut config);
        let calendars = Arc::new(Calendars::new(store, clock, &config, true).unwrap());
        Self {
            scene,
            stub,
            calendars,
            calls: 0,
        }
    }

    /// Starts a call that stays in progress.
    async fn call(&mut self, agent: Arc<Agent>) -> ToolScope {
        let campaign = self.scene.running(self.calls..self.calls + 1).await;
        let claim = self.scene.dialing(campaign).await;
        self.calls += 1;
        ToolScope {
            account: self.scene.account,
            attempt: claim.attempt,
            agent_id: self.scene.agent,
            agent,
            variables: Arc::default(),
            number: number(self.calls),
        }
    }

    async fn prepared(&self, scope: &ToolScope, tool: &str, arguments: Value) -> ToolRun {
        let offers = self.calendars.offered(scope).await.unwrap();
        let offer: ToolOffer = offers.into_iter().find(|offer| offer.name == tool).unwrap();
        ToolRun {
            scope: scope.clone(),
            offer,
            arguments,
            number: 1,
        }
    }

    async fn run(&self, scope: &ToolScope, tool: &str, arguments: Value) -> Result<Value, ToolFault> {
        self.calendars.run(self.prepared(scope, tool, arguments).await).await
    }

    async fn book(&self, scope: &ToolScope, start: &str) -> Result<Value, ToolFault> {
        let arguments = json!({ "start": start, "email": "ada@example.com", "notes": "A check-up" });
        self.run(scope, BOOK_APPOINTMENT, arguments).await
    }

    async fn states(&self, scope: &ToolScope) -> Vec<AppointmentState> {
        let all = self.scene.store.appointments_of(scope.attempt).await.unwrap();
        all.iter().map(|one| one.state).collect()
    }
}

fn said(fault: Result<Value, ToolFault>) -> String {
    fault.unwrap_err().to_string()
}

#[tokio::test]
async fn free_times_are_told_as_the_calendar_has_them() {
    let mut bench = Bench::new().await;
    let range = json!({ "from": "2026-01-02", "to": "2026-01-02" });
    let scope = bench.call(calcom()).await;
    let told = bench.run(&scope, FIND_SLOTS, range.clone()).await.unwrap();
    let first = json!({ "start": "2026-01-02T09:00:00+01:00", "said": "Friday, January 2 at 9:00 AM" });
    assert_eq!(
        (&told["slots"][0], told["slots"].as_array().unwrap().len()),
        (&first, 2)
    );
    let scope = bench.call(google()).await;
    bench.stub.desk().busy = vec![json!({ "start": "2026-01-02T07:00:00Z", "end": "2026-01-02T18:00:00Z" })];
    let told = bench.run(&scope, FIND_SLOTS, range).await.unwrap();
    let starts: Vec<&Value> = told["slots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["start"])
        .collect();
    assert_eq!(starts, ["2026-01-02T19:00:00+01:00", "2026-01-02T19:30:00+01:00"]);
    let past = json!({ "from": "2025-01-01", "to": "2025-01-02" });
    assert!(said(bench.run(&scope, FIND_SLOTS, past).await).contains("past"));
    // With an invitation the free times are unknown.
    let scope = bench.call(agent("ics", &[])).await;
    let offers = bench.calendars.offered(&scope).await.unwrap();
    assert_eq!(
        offers.iter().map(|offer| &*offer.name).collect::<Vec<_>>(),
        [BOOK_APPOINTMENT]
    );
}

#[tokio::test]
async fn a_time_of_a_call_is_booked_once_however_often_it_is_asked_for() {
    let mut bench = Bench::new().await;
    for agent in [calcom(), google()] {
        let scope = bench.call(agent).await;
        let first = bench.book(&scope, AT_THREE).await.unwrap();
        assert_eq!(first["start"], "2026-01-02T15:00:00+01:00");
        let again = bench.book(&scope, "2026-01-02T14:00:00Z").await.unwrap();
        assert_eq!(first, again);
        let shown = bench
            .scene
            .store
            .conversation(scope.account, scope.attempt)
            .await
            .unwrap();
        assert_eq!(
            shown.appointment.unwrap().wish.details.email.unwrap(),
            "ada@example.com"
        );
    }
    let (one, two) = {
        let desk = bench.stub.desk();
        assert_eq!((desk.bookings.len(), desk.events.len(), desk.tokens), (1, 1, 1));
        (desk.bookings[0].clone(), desk.events[0].clone())
    };
    assert_eq!(
        (&one["start"], &one["eventTypeId"]),
        (&json!("2026-01-02T14:00:00Z"), &json!(77))
    );
    assert_eq!(
        two["start"],
        json!({ "dateTime": "2026-01-02T14:00:00Z", "timeZone": "Europe/Berlin" })
    );
    assert_eq!(two["summary"], "Ava: Näme 1");
    assert!(
        two["attendees"].is_null(),
        "a service account in its own name may not invite"
    );
}

#[tokio::test]
async fn two_runs_at_once_book_once() {
    let mut bench = Bench::new().await;
    for agent in [calcom(), google()] {
        let scope = bench.call(agent).await;
        let (one, two) = tokio::join!(bench.book(&scope, AT_THREE), bench.book(&scope, AT_THREE));
        let fault = one.as_ref().err().or(two.as_ref().err()).unwrap().to_string();
        assert!((one.is_ok() || two.is_ok()) && fault.contains("already"), "{fault}");
    }
    let desk = bench.stub.desk();
    assert_eq!((desk.bookings.len(), desk.events.len()), (1, 1));
}

#[tokio::test]
async fn a_time_that_is_taken_meanwhile_is_told_and_another_one_is_booked() {
    let mut bench = Bench::new().await;
    for agent in [calcom(), google()] {
        let first = bench.call(agent.clone()).await;
        bench.book(&first, AT_THREE).await.unwrap();
        // The calendar shows the booking by now.
        bench.scene.clock.advance(Duration::from_secs(120));
        let second = bench.call(agent).await;
        let fault = said(bench.book(&second, AT_THREE).await);
        assert!(fault.contains("not free any more"), "{fault}");
        assert_eq!(bench.states(&second).await, [AppointmentState::Failed]);
        bench.book(&second, "2026-01-02T16:00").await.unwrap();
    }
    let desk = bench.stub.desk();
    assert_eq!((desk.bookings.len(), desk.events.len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_looked_for_and_nothing_is_asked_for_twice() {
    for (agent, fault) in [
        (calcom(), Fault::AnswerLost),
        (google(), Fault::AnswerLost),
        (calcom(), Fault::Ignored),
        (google(), Fault::Ignored),
        (calcom(), Fault::Status(500, Value::Null)),
        (google(), Fault::Status(503, Value::Null)),
    ] {
        let mut bench = Bench::new().await;
        let scope = bench.call(agent).await;
        bench.stub.fails(fault.clone());
        let told = bench.book(&scope, AT_THREE).await;
        assert_eq!(bench.stub.asked_to_make(), 1, "{fault:?}");
        if matches!(fault, Fault::AnswerLost) {
            told.unwrap();
            assert_eq!(bench.stub.made(), 1, "{fault:?}");
            continue;
        }
        // It may still be on its way, so the keeper finds out.
        let told = said(told);
        assert!(told.contains("nobody knows yet"), "{told}");
        assert_eq!(bench.states(&scope).await, [AppointmentState::Pending]);
        assert!(said(bench.book(&scope, AT_THREE).await).contains("already"));
        assert_eq!(bench.stub.asked_to_make(), 1, "{fault:?}");
        bench.scene.clock.advance(Duration::from_secs(300));
        bench.calendars.settle_late().await.unwrap();
        assert_eq!(bench.states(&scope).await, [AppointmentState::Failed]);
        bench.book(&scope, AT_THREE).await.unwrap();
        assert_eq!(bench.stub.made(), 1, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_mark_of_an_event_with_seats_is_found_at_the_person() {
    let mut bench = Bench::new().await;
    let scope = bench.call(calcom()).await;
    bench.stub.desk().shown = Some(|booking| {
        let mark = booking["metadata"].take();
        booking["attendees"] = json!([{ "metadata": { "ringback": "another's" } }, { "metadata": mark }]);
    });
    bench.stub.fails(Fault::AnswerLost);
    bench.book(&scope, AT_THREE).await.unwrap();
    assert_eq!((bench.stub.made(), bench.stub.asked_to_make()), (1, 1));
    assert_eq!(bench.states(&scope).await, [AppointmentState::Booked]);
}

#[tokio::test(start_paused = true)]
async fn a_booking_that_cannot_be_read_is_not_taken_for_none() {
    let garbled: [fn(&mut Value); 5] = [
        |booking| booking["start"] = Value::Null,
        |booking| booking["start"] = json!("2026-01-02T13:00:00Z"),
        |booking| booking["end"] = booking["start"].clone(),
        |booking| booking["uid"] = json!("a\u{0}b"),
        |booking| booking["uid"] = json!("u".repeat(1_025)),
    ];
    for (nth, shown) in garbled.into_iter().enumerate() {
        let mut bench = Bench::new().await;
        let scope = bench.call(calcom()).await;
        bench.stub.desk().shown = Some(shown);
        bench.stub.fails(Fault::AnswerLost);
        let told = said(bench.book(&scope, AT_THREE).await);
        assert!(told.contains("nobody knows yet"), "{nth}: {told}");
        // Neither a repeated request nor the keeper concludes that it was not booked.
        bench.scene.clock.advance(BOOKING_LEASE);
        let told = said(bench.book(&scope, AT_THREE).await);
        assert!(told.contains("nobody knows yet"), "{nth}: {told}");
        bench.scene.clock.advance(Duration::from_secs(300));
        bench.calendars.settle_late().await.unwrap();
        assert_eq!(bench.states(&scope).await, [AppointmentState::Pending], "{nth}");
        assert_eq!((bench.stub.made(), bench.stub.asked_to_make()), (1, 1), "{nth}");
        // But not forever.
        bench.scene.clock.advance(Duration::from_secs(24 * 3_600));
        bench.calendars.settle_late().await.unwrap();
        assert_eq!(bench.states(&scope).await, [AppointmentState::Failed], "{nth}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_the_booking_is_no_booking() {
    let (start, end) = ("2026-01-02T14:00:00Z", "2026-01-02T14:30:00Z");
    for (uid, start, end) in [
        (json!("u\n1"), start, end),
        (json!(""), start, end),
        (json!("u".repeat(1_025)), start, end),
        (Value::Null, start, end),
        (json!("u1"), end, "2026-01-02T15:00:00Z"),
        (json!("u1"), start, start),
        (json!("u1"), start, "2026-01-02T13:30:00Z"),
    ] {
        let mut bench = Bench::new().await;
        let scope = bench.call(calcom()).await;
        let booking = json!({ "uid": uid, "start": start, "end": end, "status": "accepted" });
        bench.stub.fails(Fault::Status(201, json!({ "data": booking })));
        let told = said(bench.book(&scope, AT_THREE).await);
        assert!(told.contains("nobody knows yet"), "{booking:.100}: {told}");
        assert_eq!(bench.states(&scope).await, [AppointmentState::Pending]);
    }
}

/// Stops the service while the calendar has, or has not, booked what was requested.
async fn crash(bench: &Bench, scope: &ToolScope, made: bool) {
    bench.stub.fails(if made { Fault::AnswerLost } else { Fault::Ignored });
    let doomed = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let arguments = json!({ "start": AT_THREE, "email": "ada@example.com" });
    let run = bench.prepared(scope, BOOK_APPOINTMENT, arguments).await;
    let calendars = Arc::clone(&bench.calendars);
    doomed.spawn(async move { calendars.run(run).await });
    while bench.stub.asked_to_make() == 0 || bench.stub.made() < usize::from(made) {
        tokio::task::yield_now().await;
    }
    doomed.shutdown_background();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_crash_cut_short_is_found_and_kept_or_given_up() {
    for (agent, made) in [(calcom(), true), (google(), true), (calcom(), false), (google(), false)] {
        let mut bench = Bench::new().await;
        let scope = bench.call(agent).await;
        crash(&bench, &scope, made).await;
        let store = Arc::clone(&bench.scene.store);
        let reborn = Calendars::new(store, bench.scene.clock.clone(), &bench.stub.config(), true).unwrap();
        // Nothing is settled before the requester must be dead.
        reborn.settle_late().await.unwrap();
        assert_eq!(bench.states(&scope).await, [AppointmentState::Pending]);
        bench.scene.clock.advance(BOOKING_LEASE);
        reborn.settle_late().await.unwrap();
        let known = if made {
            AppointmentState::Booked
        } else {
            AppointmentState::Pending
        };
        assert_eq!(bench.states(&scope).await, [known]);
        bench.scene.clock.advance(Duration::from_secs(300));
        reborn.settle_late().await.unwrap();
        let outcome = if made {
            AppointmentState::Booked
        } else {
            AppointmentState::Failed
        };
        assert_eq!(bench.states(&scope).await, [outcome]);
        assert_eq!(bench.stub.made(), usize::from(made));
    }
}

#[tokio::test]
async fn a_calendar_that_refuses_is_told_in_words_and_asked_once() {
    let mut bench = Bench::new().await;
    let limits = json!({ "error": { "errors": [{ "reason": "rateLimitExceeded" }], "message": "slow down" } });
    let elsewhere = Fault::Redirect(format!("{}/elsewhere", bench.stub.url));
    for (fault, words) in [
        (Fault::Status(429, Value::Null), "no requests at present"),
        (Fault::Status(401, Value::Null), "no access"),
        (
            Fault::Status(404, json!({ "error": { "message": "no such <thing>" } })),
            "no such",
        ),
        (elsewhere, "redirects"),
    ] {
        let scope = bench.call(calcom()).await;
        let before = bench.stub.asked_to_make();
        bench.stub.fails(fault.clone());
        let told = said(bench.book(&scope, AT_THREE).await);
        assert!(told.contains(words), "{told}");
        assert_eq!(bench.states(&scope).await, [AppointmentState::Failed]);
        assert_eq!(bench.stub.asked_to_make(), before + 1, "{fault:?}");
    }
    let scope = bench.call(google()).await;
    bench.stub.fails(Fault::Status(403, limits));
    assert!(said(bench.book(&scope, AT_THREE).await).contains("no requests at present"));
    let requests = bench.stub.desk().requests.clone();
    assert!(requests.iter().all(|line| !line.contains("elsewhere")), "{requests:?}");
    // Nothing was booked, so the same time may be tried again.
    bench.book(&scope, AT_THREE).await.unwrap();
}

#[tokio::test]
async fn a_calendar_that_is_unavailable_is_told_and_nothing_waits_for_it() {
    let mut bench = Bench::with(|config| {
        let nowhere = || Some("http://127.0.0.1:1".to_owned());
        config.calcom_url = nowhere();
        config.google_calendar_url = nowhere();
    })
    .await;
    for agent in [calcom(), google()] {
        let scope = bench.call(agent).await;
        assert!(said(bench.book(&scope, AT_THREE).await).contains("cannot be reached"));
        let range = json!({ "from": "2026-01-02", "to": "2026-01-03" });
        assert!(said(bench.run(&scope, FIND_SLOTS, range).await).contains("cannot be reached"));
        assert_eq!(bench.states(&scope).await, [AppointmentState::Failed]);
    }
}

#[tokio::test]
async fn a_token_is_kept_and_replaced_when_google_takes_it_no_more() {
    let mut bench = Bench::with(|config| config.google_calendar_subject = Some("owner@example.com".into())).await;
    let scope = bench.call(google()).await;
    bench.book(&scope, AT_THREE).await.unwrap();
    bench.book(&scope, "2026-01-02T16:00").await.unwrap();
    assert_eq!(bench.stub.desk().tokens, 1);
    bench.stub.desk().expired = 1;
    bench.book(&scope, "2026-01-02T17:00").await.unwrap();
    let desk = bench.stub.desk();
    assert_eq!((desk.tokens, desk.events.len()), (2, 3));
    let claims = &desk.claims;
    assert_eq!(claims["sub"], "owner@example.com");
    assert_eq!(claims["scope"], "https://www.googleapis.com/auth/calendar");
    assert_eq!(desk.events[0]["attendees"][0]["email"], "ada@example.com");
}

#[tokio::test]
async fn an_appointment_is_the_persons_whom_the_call_knows() {
    let mut bench = Bench::with(|config| config.google_calendar_subject = Some("owner@example.com".into())).await;
    let scope = bench.call(google()).await;
    let offers = bench.calendars.offered(&scope).await.unwrap();
    let offer = offers.iter().find(|offer| offer.name == BOOK_APPOINTMENT).unwrap();
    let asked = &offer.parameters["properties"];
    assert!(asked.get("start").is_some() && asked.get("name").is_none(), "{asked}");
    let arguments = json!({ "start": AT_THREE, "email": "ada@example.com", "name": "Mallory" });
    bench.run(&scope, BOOK_APPOINTMENT, arguments).await.unwrap();
    let event = bench.stub.desk().events.remove(0);
    assert_eq!(event["attendees"][0]["displayName"], "Näme 0");
    assert!(!event.to_string().contains("Mallory"), "{event}");
}

#[tokio::test]
async fn what_a_caller_says_is_checked_and_reaches_no_other_calendar() {
    let mut bench = Bench::new().await;
    let scope = bench.call(calcom()).await;
    let good = json!({ "start": AT_THREE, "email": "ada@example.com", "name": "Ada" });
    for (field, value, words) in [
        ("start", json!("2025-12-31T15:00"), "90 days"),
        ("start", json!("2026-05-01T15:00"), "90 days"),
        ("start", json!("whenever"), "a day and a time"),
        ("start", json!(7), "a text"),
        ("email", json!("ada at example"), "not an e-mail address"),
        (
            "email",
            json!("a@b.example\r\nBcc: x@y.example"),
            "not an e-mail address",
        ),
        ("email", Value::Null, "ask for their e-mail"),
        ("name", json!("x".repeat(101)), "longer than 100"),
        ("notes", json!("x".repeat(1_001)), "longer than 1000"),
        ("calendar", json!("78"), "no such calendar"),
        ("calendar", json!("../../users"), "no such calendar"),
    ] {
        let mut arguments = good.clone();
        arguments[field] = value.clone();
        let told = said(bench.run(&scope, BOOK_APPOINTMENT, arguments).await);
        assert!(told.contains(words), "{field} {value}: {told}");
    }
    assert_eq!(bench.stub.desk().requests, Vec::<String>::new());
    assert_eq!(bench.states(&scope).await, []);
    for slot in ["15:00", "16:00", "17:00"] {
        bench.book(&scope, &format!("2026-01-02T{slot}")).await.unwrap();
    }
    assert!(said(bench.book(&scope, "2026-01-02T18:00").await).contains("at most"));
}

#[tokio::test]
async fn an_agent_whose_calendar_is_not_configured_says_what_to_set() {
    let bench = Bench::with(|config| *config = Default::default()).await;
    for (agent, variable) in [(calcom(), "CALCOM_API_KEY"), (google(), "GOOGLE_CALENDAR_CREDENTIALS")] {
        let missing = bench.calendars.ready_for(&agent).unwrap_err().to_string();
        assert!(missing.contains(variable), "{missing}");
    }
    let store = Arc::clone(&bench.scene.store);
    let without_mail = Calendars::new(store, bench.scene.clock.clone(), &Default::default(), false).unwrap();
    let missing = without_mail.ready_for(&agent("ics", &[])).unwrap_err().to_string();
    assert!(missing.contains("RINGBACK_SMTP_URL"), "{missing}");
    bench.calendars.ready_for(&agent("ics", &[])).unwrap();
}
