//! The short form of the measurement: it repeats, and its figures are those of its records.

use turns::{
    call::Eagerness,
    corpus::{OVERLAPS, TURNS},
    figures::{FURTHER, Figures, MAIN},
    grammar::OverlapKind,
    language::{Language, Third},
    measurement::{Plan, measure},
    recogniser::MANNERS,
    record::{CallRecord, Cut, OverlapRecord, TurnEnd, TurnRecord},
    report::Report,
    voice::Voice,
};

fn plan() -> Plan {
    Plan {
        languages: vec![Language::En],
        conversations: 1,
        recognisers: MANNERS.iter().take(2).collect(),
        ..Plan::of(Third::Tune)
    }
}

fn turn(end: TurnEnd) -> TurnRecord {
    TurnRecord {
        kind: "test".to_owned(),
        question: "Yes?".to_owned(),
        text: "No.".to_owned(),
        end,
    }
}

fn overlap(kind: OverlapKind) -> OverlapRecord {
    OverlapRecord {
        kind,
        text: "mhm".to_owned(),
        stopped: false,
        silence_ms: None,
        stutters: 0,
        back_ms: None,
        answered: false,
    }
}

fn call(id: &str, turns: Vec<TurnRecord>, overlaps: Vec<OverlapRecord>) -> CallRecord {
    CallRecord {
        id: id.to_owned(),
        language: Language::En,
        third: Third::Tune,
        voice: Voice::Babble,
        recogniser: "exact",
        line: "clean".to_owned(),
        is_noisy: false,
        speeches: turns.len() + overlaps.len(),
        turns,
        overlaps,
        stopped_by_line: 0,
    }
}

fn cut(back_ms: u64, whole: bool) -> TurnEnd {
    TurnEnd::AnsweredInto(Cut {
        taken: "I".to_owned(),
        silent_ms: 450,
        whole,
        back_ms,
    })
}

fn value(figures: &Figures, key: &str) -> Option<f64> {
    let main = MAIN.iter().zip(&figures.main);
    let mut all = main.chain(FURTHER.iter().zip(&figures.further));
    let (_, estimate) = all.find(|(metric, _)| metric.key == key).unwrap();
    estimate.map(|estimate| estimate.value)
}

#[test]
fn a_measurement_repeats_whatever_the_number_of_threads() {
    let calls = measure(&plan()).unwrap();
    let again = measure(&Plan { workers: 3, ..plan() }).unwrap();
    assert_eq!(format!("{calls:?}"), format!("{again:?}"));
    assert_eq!(calls.len(), 2);
    for call in &calls {
        assert_eq!(call.turns.len(), TURNS);
        assert!(call.overlaps.len() + call.stopped_by_line >= OVERLAPS, "{call:?}");
        // A session that took no turn would not have been measured.
        let taken = call.turns.iter().filter(|turn| turn.end != TurnEnd::Lost).count();
        assert!(taken * 10 >= TURNS * 8, "{:?}", call.turns);
    }
    let report = Report::of(&calls);
    assert!(
        report.markdown().contains("| en, streaming | 10 |"),
        "{}",
        report.markdown()
    );
    assert!(report.json()["figures"]["recogniser"]["exact"]["waitP50Ms"]["value"].is_number());
}

#[test]
fn an_eager_agent_does_not_wait_longer_than_a_patient_one() {
    let wait = |eagerness| {
        let calls = measure(&Plan { eagerness, ..plan() }).unwrap();
        value(&Figures::of(&calls), "waitP50Ms").unwrap()
    };
    assert!(wait(Eagerness::Eager) <= wait(Eagerness::Patient));
}

#[test]
fn figures_are_those_of_the_records() {
    let turns = vec![
        turn(TurnEnd::Taken(400)),
        turn(TurnEnd::Taken(600)),
        turn(TurnEnd::Taken(900)),
        turn(cut(300, true)),
        turn(cut(900, false)),
        turn(TurnEnd::Lost),
    ];
    let stopped = |ms, stutters| OverlapRecord {
        stopped: true,
        silence_ms: Some(ms),
        stutters,
        ..overlap(OverlapKind::Interruption)
    };
    let overlaps = vec![
        stopped(200, 0),
        stopped(900, 1),
        overlap(OverlapKind::Interruption),
        OverlapRecord {
            back_ms: Some(250),
            ..overlap(OverlapKind::Nod)
        },
        OverlapRecord {
            stopped: true,
            ..overlap(OverlapKind::Cough)
        },
        overlap(OverlapKind::Answer),
        OverlapRecord {
            stopped: true,
            ..overlap(OverlapKind::Aside)
        },
    ];
    let figures = Figures::of(&[call("a", turns, overlaps)]);
    let close = |key: &str, wanted: f64| {
        let found = value(&figures, key).unwrap();
        assert!((found - wanted).abs() < 1e-9, "{key}: {found}");
    };
    close("waitP50Ms", 600.0);
    close("waitP95Ms", 900.0);
    close("answeredInto", 2.0 / 6.0);
    close("answeredIntoUnfinished", 1.0 / 6.0);
    close("answeredIntoHeard", 1.0 / 6.0);
    close("turnsLost", 1.0 / 6.0);
    close("silenceP50Ms", 200.0);
    close("silenceP95Ms", 900.0);
    close("interruptionsMissed", 1.0 / 3.0);
    close("interruptionsStuttered", 1.0 / 3.0);
    close("stoppedForGood", 0.5);
    close("backP50Ms", 250.0);
    close("answersLost", 1.0);
    close("asidesStopped", 1.0);
    assert_eq!(value(&Figures::of(&[]), "waitP50Ms"), None);
}

#[test]
fn intervals_hold_the_figure_and_shrink_with_more_callers() {
    let calls = |count: u64| -> Vec<CallRecord> {
        let of = |at: u64| {
            vec![
                turn(TurnEnd::Taken(300 + at * 37 % 500)),
                turn(TurnEnd::Taken(500 + at * 53 % 300)),
            ]
        };
        (0..count)
            .map(|at| call(&format!("call {at}"), of(at), Vec::new()))
            .collect()
    };
    let width = |count| {
        let figures = Figures::of(&calls(count));
        let wait = figures.main[0].unwrap();
        assert!(wait.low <= wait.value && wait.value <= wait.high, "{wait:?}");
        wait.high - wait.low
    };
    let (few, many) = (width(8), width(400));
    assert!(0.0 < many && many < few, "{few} {many}");
}

#[test]
fn the_worst_examples_come_first_and_each_sentence_once() {
    let late = |ms| TurnRecord {
        text: format!("late by {ms}"),
        ..turn(TurnEnd::Taken(ms))
    };
    let turns: Vec<TurnRecord> = (0..15).map(|at| late(100 * at)).collect();
    let mut calls = vec![call("a", turns.clone(), Vec::new())];
    calls.push(CallRecord {
        recogniser: "slow",
        ..call("a", turns, Vec::new())
    });
    let report = Report::of(&calls).json();
    let worst: Vec<&str> = report["worst"]["turns taken late"]
        .as_array()
        .unwrap()
        .iter()
        .map(|example| example["text"].as_str().unwrap())
        .collect();
    let wanted: Vec<String> = (5..15).rev().map(|at| format!("late by {}", 100 * at)).collect();
    assert_eq!(worst, wanted);
}
