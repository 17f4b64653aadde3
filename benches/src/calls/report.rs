//! Figures of all rounds side by side, each beside its target: as a table, as JSON, and drawn.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    class::Class,
    dashboards::Requests,
    delays::HeldUp,
    judge::{ClassFigures, GAP_LIMIT_MS},
    listeners::Heard,
    round::{Pause, Round},
};
use crate::{
    BenchError,
    figures::Figure,
    plot::{Line, Panel, draw},
};
use sim::samples::Samples;

/// Most that clients beside the calls may add to the response, in ms at the 95th percentile.
const MOVED_MS: f64 = 5.0;

/// Most that a conversation graph may add to the response, in ms: p50 and p95.
const GRAPH_MOVED_MS: [f64; 2] = [50.0, 150.0];

/// Most memory of the service that a listener who never reads may take, in MiB.
const MIB_PER_STALLED: f64 = 1.0;

/// Largest share of a core that a call may take.
const CORES_PER_CALL: f64 = 0.0020;

/// Most memory a call may take, in KiB.
const KIB_PER_CALL: f64 = 300.0;

/// Maximum disk use per minute of a call, in KiB.
const DISK_KIB: f64 = 10.0;

/// Targets of the response beyond the pause, in ms: p50 and p99.
const RESPONSE_MS: [f64; 2] = [10.0, 30.0];
/// Most calls for which these targets apply.
const RESPONSE_CALLS: u32 = 300;

/// Targets from the first voiced frame to the `clear`, in ms: p50 and p99.
const BARGE_IN_MS: [f64; 2] = [200.0, 280.0];
/// The same in noise: p99.
const NOISY_BARGE_IN_MS: f64 = 350.0;

/// Target from the end of a cough that stopped the agent until its voice is back.
const NOISY_RESUME_MS: f64 = 300.0;

/// Target of the dead air in calls whose providers have faults, in ms at the 95th percentile.
const FAULTY_SILENCE_MS: f64 = 2_500.0;
/// Most of these calls that may end badly, in percent.
const FAULTY_BAD_PERCENT: f64 = 1.0;

/// Target from a frame off the socket to its samples in the session, in ms at the 99th percentile, up to
/// [`RESPONSE_CALLS`].
const HELD_UP_MS: f64 = 5.0;
/// Target from the decision to the `clear` on the socket, in ms.
const CLEAR_SENT_MS: f64 = 20.0;

/// Phones whose frames are this late at the 99th percentile distort the latencies.
const PHONES_LATE_MS: usize = 5;

/// Returns a warning for the rounds whose phones were late themselves.
pub fn late_phones(rounds: &[Round]) -> String {
    let late = |round: &Round| {
        let late_ms = round.verdict.frames_late_ms(0.99);
        (late_ms > PHONES_LATE_MS).then(|| {
            format!(
                "\n{} calls: the phones' own frames were late (p99 {late_ms} ms), so these latencies are not the service's alone.",
                round.calls,
            )
        })
    };
    rounds.iter().filter_map(late).collect()
}

/// Returns all figures of a round.
pub fn figures(round: &Round) -> Vec<Figure> {
    let verdict = &round.verdict;
    let clean = together(round, Class::is_clean);
    let noisy = together(round, |class| matches!(class, Class::Noisy | Class::InterruptsInNoise));
    let response = |limits: [f64; 2]| match round.pause {
        Pause::Fixed if round.calls <= RESPONSE_CALLS => limits.map(Some),
        _ => [None, None],
    };
    let mut figures = vec![
        Figure::new("service, cores", round.service_cores, "", 3),
        Figure::new("cores per call", round.cores_per_call(), "", 5).at_most(CORES_PER_CALL),
        Figure::new("KiB per call", round.kib_per_call, "", 0).at_most(KIB_PER_CALL),
        Figure::new("KiB on disk per minute of a call", round.disk_kib_per_minute, "", 1).at_most(DISK_KIB),
        Figure::new("idle service, MiB", round.idle_mib, "", 0),
        Figure::count("turns checked, user", verdict.turns[0]),
        Figure::count("turns checked, agent", verdict.turns[1]),
        Figure::count("calls not completed", verdict.not_completed).at_most(0.0),
        Figure::count("wrong transcripts, user", verdict.wrong[0]).at_most(0.0),
        Figure::count("wrong transcripts, agent", verdict.wrong[1]).at_most(0.0),
        Figure::count("interrupted replies off by one word", verdict.off_by_a_word),
        Figure::new("longest playout gap, ms", verdict.longest_gap_ms, "", 0).at_most(GAP_LIMIT_MS),
        Figure::count(format!("calls with a gap > {GAP_LIMIT_MS:.0} ms"), verdict.gaps).at_most(0.0),
    ];
    figures.extend(percentiles(
        &round.pause.response(),
        &clean.responses_ms,
        response(RESPONSE_MS),
    ));
    figures.extend(percentiles(
        "barge-in to clear",
        &clean.barge_ins_ms,
        BARGE_IN_MS.map(Some),
    ));
    let held_up = (round.calls <= RESPONSE_CALLS).then_some(HELD_UP_MS);
    let sent = (round.calls <= RESPONSE_CALLS).then_some(CLEAR_SENT_MS);
    let ms = |name: &str, value: Option<f64>| Figure::new(name, value, "", 2);
    let HeldUp { frames, clears } = round.held_up;
    figures.extend([
        ms("frame to session, ms, p50", frames.percentile_ms(0.5)),
        ms("frame to session, ms, p99", frames.percentile_ms(0.99)).at_most(held_up),
        Figure::new("clears sent", clears.all() as f64, "", 0),
        ms("decision to clear on the socket, ms, p99", clears.percentile_ms(0.99)),
        ms("decision to clear on the socket, ms, most", clears.percentile_ms(1.0)).at_most(sent),
        Figure::count("barge-ins ignored", clean.barge_ins_ignored as usize).at_most(0.0),
        Figure::count("phones cut off", clean.cut_offs as usize),
        Figure::count("false stops", clean.false_stops as usize),
    ]);
    if !noisy.responses_ms.is_empty() {
        figures.extend(in_noise(&noisy));
    }
    if let Some(recordings) = round.recordings {
        figures.extend([
            Figure::count("recordings decoded", recordings.decoded),
            Figure::count("recordings wrong", recordings.wrong).at_most(0.0),
        ]);
    }
    if verdict.faulty[0] > 0 {
        figures.extend(with_faults(round));
    }
    figures.extend([
        Figure::new("service ready, core taken, %", round.service_waited * 100.0, "", 1),
        Figure::new("phones, cores", round.phone_cores, "", 3),
        Figure::count("phones' own frames late, ms, p99", verdict.frames_late_ms(0.99)),
        Figure::count("phones' own frames late, ms, most", verdict.frames_late_ms(1.0)),
    ]);
    figures
}

/// Returns for each round with a difference how that changed the plain round before it.
pub fn moved(rounds: &[Round]) -> Vec<Vec<Figure>> {
    let pairs = rounds.windows(2).filter(|pair| pair[1].extra.any());
    pairs.map(|pair| moved_by(&pair[0], &pair[1])).collect()
}

fn moved_by(without: &Round, with: &Round) -> Vec<Figure> {
    let mut figures = Vec::new();
    if with.extra.graph {
        figures.extend(response_moved(without, with, (0.5, "p50"), GRAPH_MOVED_MS[0]));
        figures.extend(response_moved(without, with, (0.95, "p95"), GRAPH_MOVED_MS[1]));
        figures.push(Figure::count("moves in the graph", with.moves).at_least(1.0));
    } else {
        figures.extend(response_moved(without, with, (0.95, "p95"), MOVED_MS));
    }
    let cores = with.service_cores - without.service_cores;
    figures.push(Figure::new("cores of the service, added", cores, "", 3));
    if with.extra.dashboards > 0 {
        figures.extend(of_dashboards(&with.requests));
    }
    if with.extra.listeners > 0 {
        figures.extend(of_listeners(&with.heard));
    }
    if with.extra.stalled > 0 {
        let each = Figure::new("MiB of the service per stalled listener", with.mib_per_stalled, "", 3);
        figures.push(each.at_most(MIB_PER_STALLED));
    }
    figures
}

/// Returns the response without and with a difference at this share, and by how much it moved, with its target.
fn response_moved(without: &Round, with: &Round, (share, label): (f64, &str), most: f64) -> [Figure; 3] {
    let of = |round: &Round| together(round, Class::is_clean).responses_ms.percentile(share);
    let [before, after] = [without, with].map(of);
    let moved = before.zip(after).map(|(before, after)| after - before);
    let response = with.pause.response();
    [
        Figure::new(format!("{response}, ms, {label}, without"), before, "", 1),
        Figure::new(format!("{response}, ms, {label}, with"), after, "", 1),
        Figure::new(format!("{label} moved by, ms"), moved, "", 1).at_most(most),
    ]
}

fn of_dashboards(requests: &Requests) -> [Figure; 5] {
    let ms = |share: f64| requests.ms.percentile(share);
    [
        Figure::count("requests of the dashboards", requests.ms.len()),
        Figure::count("requests not answered with 200", requests.failed).at_most(0.0),
        Figure::count("events that they got", requests.events),
        Figure::new("response to a dashboard, ms, p50", ms(0.5), "", 1),
        Figure::new("response to a dashboard, ms, p95", ms(0.95), "", 1),
    ]
}

fn of_listeners(heard: &Heard) -> [Figure; 4] {
    let late = |share: f64| heard.late_ms.percentile(share);
    [
        Figure::count("messages that the listeners heard", heard.late_ms.len()).at_least(1.0),
        Figure::new("audio that they lost, ms", heard.lost_ms as f64, "", 0).at_most(0.0),
        Figure::new("a listener's audio late, ms, p50", late(0.5), "", 1),
        Figure::new("a listener's audio late, ms, p99", late(0.99), "", 1),
    ]
}

fn in_noise(noisy: &ClassFigures) -> Vec<Figure> {
    let mut figures = percentiles("in noise: response", &noisy.responses_ms, [None, None]);
    let targets = [None, Some(NOISY_BARGE_IN_MS)];
    figures.extend(percentiles("in noise: barge-in", &noisy.barge_ins_ms, targets));
    figures.push(Figure::count("in noise: false stops", noisy.false_stops as usize));
    figures.extend(percentiles(
        "in noise: back after one",
        &noisy.resumes_ms,
        [None, Some(NOISY_RESUME_MS)],
    ));
    figures
}

fn with_faults(round: &Round) -> Vec<Figure> {
    let [all, bad] = round.verdict.faulty;
    let faulty = together(round, |class| class == Class::Faulty);
    let silence = faulty.responses_ms.percentile(0.95);
    let name = format!("faulty providers: {}, ms, p95", round.pause.response());
    let bad_share = 100.0 * bad as f64 / all as f64;
    vec![
        Figure::count("faulty providers: calls", all),
        Figure::new("faulty providers: not ended properly, %", bad_share, "", 1).at_most(FAULTY_BAD_PERCENT),
        Figure::count("faulty providers: answers measured", faulty.responses_ms.len()),
        Figure::new(name, silence, "", 0).at_most(FAULTY_SILENCE_MS),
    ]
}

/// Returns three rows and the number of samples; p50 and p99 may have targets.
fn percentiles(name: &str, samples: &Samples, [p50, p99]: [Option<f64>; 2]) -> Vec<Figure> {
    let row = |share: f64, label: &str| Figure::new(format!("{name}, ms, {label}"), samples.percentile(share), "", 1);
    vec![
        Figure::count(format!("{name}, measured"), samples.len()),
        row(0.5, "p50").at_most(p50),
        row(0.95, "p95"),
        row(0.99, "p99").at_most(p99),
    ]
}

/// Returns the combined figures of several classes.
fn together(round: &Round, of: impl Fn(Class) -> bool) -> ClassFigures {
    let mut all = ClassFigures::default();
    for (_, own) in round.verdict.classes.iter().filter(|(class, _)| of(**class)) {
        all.extend(own);
    }
    all
}

/// Returns all rounds as JSON.
pub fn as_json(rounds: &[Round]) -> Value {
    let rounds: Vec<Value> = rounds.iter().map(round_json).collect();
    json!({
        "targets": {
            "coresPerCall": CORES_PER_CALL, "kibPerCall": KIB_PER_CALL, "longestGapMs": GAP_LIMIT_MS,
            "responseMs": { "p50": RESPONSE_MS[0], "p99": RESPONSE_MS[1], "toCalls": RESPONSE_CALLS },
            "bargeInMs": { "p50": BARGE_IN_MS[0], "p99": BARGE_IN_MS[1], "noisyP99": NOISY_BARGE_IN_MS },
        },
        "rounds": rounds,
    })
}

fn round_json(round: &Round) -> Value {
    let verdict = &round.verdict;
    let classes: serde_json::Map<String, Value> = verdict
        .classes
        .iter()
        .map(|(class, own)| {
            let figures = json!({
                "responseMs": own.responses_ms.json(), "bargeInMs": own.barge_ins_ms.json(),
                "bargeInsIgnored": own.barge_ins_ignored, "cutOffs": own.cut_offs,
                "falseStops": own.false_stops, "resumeMs": own.resumes_ms.json(),
            });
            (class.name().to_owned(), figures)
        })
        .collect();
    json!({
        "calls": round.calls, "dashboards": round.extra.dashboards, "listeners": round.extra.listeners,
        "stalledListeners": round.extra.stalled, "onOneCall": round.extra.on_one, "graph": round.extra.graph,
        "movesInGraph": round.moves, "measured": round.pause.response(),
        "serviceCores": round.service_cores, "coresPerCall": round.cores_per_call(),
        "serviceWaitedShare": round.service_waited,
        "kibPerCall": round.kib_per_call, "idleMib": round.idle_mib,
        "diskKibPerMinute": round.disk_kib_per_minute,
        "turns": { "user": verdict.turns[0], "agent": verdict.turns[1] },
        "notCompleted": verdict.not_completed,
        "faulty": { "calls": verdict.faulty[0], "notCompleted": verdict.faulty[1] },
        "wrongTranscripts": { "user": verdict.wrong[0], "agent": verdict.wrong[1] },
        "interruptedRepliesOffByOneWord": verdict.off_by_a_word,
        "frameToSessionMs": {
            "p50": round.held_up.frames.percentile_ms(0.5), "p99": round.held_up.frames.percentile_ms(0.99),
        },
        "clearSentMs": {
            "count": round.held_up.clears.all(), "p99": round.held_up.clears.percentile_ms(0.99),
            "most": round.held_up.clears.percentile_ms(1.0),
        },
        "dashboardRequests": {
            "ms": round.requests.ms.json(), "failed": round.requests.failed, "events": round.requests.events,
        },
        "listenersAudio": { "lateMs": round.heard.late_ms.json(), "lostMs": round.heard.lost_ms },
        "mibPerStalledListener": round.mib_per_stalled,
        "longestGapMs": verdict.longest_gap_ms, "callsWithTooLongAGap": verdict.gaps,
        "phoneCores": round.phone_cores,
        "phoneFramesLateMs": { "p99": verdict.frames_late_ms(0.99), "most": verdict.frames_late_ms(1.0) },
        "personas": classes,
    })
}

/// Draws latency and cores over the number of calls, with their targets as lines.
pub fn plot(rounds: &[Round], file: &Path) -> Result<(), BenchError> {
    let over_calls = |name: &str, value: &dyn Fn(&Round) -> Option<f64>| Line {
        name: name.to_owned(),
        points: rounds
            .iter()
            .filter_map(|round| Some((f64::from(round.calls), value(round)?)))
            .collect(),
    };
    let response = |share: f64| move |round: &Round| together(round, Class::is_clean).responses_ms.percentile(share);
    let panels = [
        Panel {
            title: rounds.first().map(|round| round.pause.response()).unwrap_or_default(),
            unit: "ms",
            digits: 0,
            lines: vec![
                over_calls("p50", &response(0.5)),
                over_calls("p95", &response(0.95)),
                over_calls("p99", &response(0.99)),
            ],
            targets: vec![("p50".into(), RESPONSE_MS[0]), ("p99".into(), RESPONSE_MS[1])],
        },
        Panel {
            title: "Processor of the service".into(),
            unit: "cores per call",
            digits: 4,
            lines: vec![over_calls("cores per call", &|round| Some(round.cores_per_call()))],
            targets: vec![("at most".into(), CORES_PER_CALL)],
        },
    ];
    draw(file, "calls at once", &panels)
}
