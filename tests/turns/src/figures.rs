//! Figures of many calls, with confidence intervals.

mod tally;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

pub use tally::Tally;

use crate::{chance::Chance, record::CallRecord};

/// Samples of a bootstrap.
const RESAMPLES: usize = 500;

/// Ends of a confidence interval: 95 % lie between.
const INTERVAL: [f64; 2] = [0.025, 0.975];

/// Unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// A share from 0 to 1.
    Share,
}

/// A figure that calls have.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Key in JSON.
    pub key: &'static str,
    /// Name in tables.
    pub name: &'static str,
    /// Unit of the figure.
    pub unit: Unit,
    value: fn(&Tally) -> Option<f64>,
}

/// Figures of the main table.
pub const MAIN: [Metric; 7] = [
    Metric {
        key: "waitP50Ms",
        name: "wait p50",
        unit: Unit::Ms,
        value: |tally| percentile(&tally.waits_ms, 0.5),
    },
    Metric {
        key: "waitP95Ms",
        name: "wait p95",
        unit: Unit::Ms,
        value: |tally| percentile(&tally.waits_ms, 0.95),
    },
    Metric {
        key: "answeredInto",
        name: "answered into",
        unit: Unit::Share,
        value: |tally| share(tally.answered_into, tally.turns),
    },
    Metric {
        key: "silenceP50Ms",
        name: "onset to silence p50",
        unit: Unit::Ms,
        value: |tally| percentile(&tally.silences_ms, 0.5),
    },
    Metric {
        key: "silenceP95Ms",
        name: "p95",
        unit: Unit::Ms,
        value: |tally| percentile(&tally.silences_ms, 0.95),
    },
    Metric {
        key: "stoppedForGood",
        name: "stopped for good",
        unit: Unit::Share,
        value: |tally| share(tally.false_stops, tally.false_alarms),
    },
    Metric {
        key: "backP50Ms",
        name: "back after p50",
        unit: Unit::Ms,
        value: |tally| percentile(&tally.backs_ms, 0.5),
    },
];

/// Further figures.
pub const FURTHER: [Metric; 11] = [
    Metric {
        key: "answeredIntoUnfinished",
        name: "answered into after unfinished words, of all turns",
        unit: Unit::Share,
        value: |tally| share(tally.answered_unfinished, tally.turns),
    },
    Metric {
        key: "answeredIntoHeard",
        name: "answered into by an agent that needs 680 ms to reply, of all turns",
        unit: Unit::Share,
        value: |tally| share(tally.answered_heard, tally.turns),
    },
    Metric {
        key: "turnsLost",
        name: "turns not taken within 6 s",
        unit: Unit::Share,
        value: |tally| share(tally.lost, tally.turns),
    },
    Metric {
        key: "interruptionsMissed",
        name: "interruptions that did not stop the agent within 3 s after their end",
        unit: Unit::Share,
        value: |tally| share(tally.missed, tally.interruptions),
    },
    Metric {
        key: "interruptionsStuttered",
        name: "interruptions during which the agent's voice came back",
        unit: Unit::Share,
        value: |tally| share(tally.stuttered, tally.interruptions),
    },
    Metric {
        key: "falseAlarmsPaused",
        name: "nods, coughs and laughter that paused the agent",
        unit: Unit::Share,
        value: |tally| share(tally.backs_ms.len(), tally.false_alarms),
    },
    Metric {
        key: "backP95Ms",
        name: "back after a false alarm, p95",
        unit: Unit::Ms,
        value: |tally| percentile(&tally.backs_ms, 0.95),
    },
    Metric {
        key: "falseAlarmsAnswered",
        name: "nods, coughs and laughter taken as a turn",
        unit: Unit::Share,
        value: |tally| share(tally.false_turns, tally.false_alarms),
    },
    Metric {
        key: "answersLost",
        name: "answers at the end of a question that were not taken as a turn",
        unit: Unit::Share,
        value: |tally| share(tally.answers_lost, tally.answers),
    },
    Metric {
        key: "asidesStopped",
        name: "words to somebody else that stopped the agent",
        unit: Unit::Share,
        value: |tally| share(tally.asides_stopped, tally.asides),
    },
    Metric {
        key: "stoppedByLine",
        name: "speeches stopped by noise or echo alone",
        unit: Unit::Share,
        value: |tally| share(tally.stopped_by_line, tally.speeches),
    },
];

/// A figure with its confidence interval. `None` if there is nothing to measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Lower end of the interval that holds it with 95 %.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Figures of some calls.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Their counts.
    pub tally: Tally,
    /// The figures of [`MAIN`], in order.
    pub main: Vec<Option<Estimate>>,
    /// The figures of [`FURTHER`], in order.
    pub further: Vec<Option<Estimate>>,
}

impl Figures {
    /// Sums calls up. The bootstrap draws whole conversations, since the turns of one caller resemble each other.
    pub fn of<'a>(calls: impl IntoIterator<Item = &'a CallRecord>) -> Self {
        let mut conversations: BTreeMap<&str, Tally> = BTreeMap::new();
        for call in calls {
            conversations.entry(&call.id).or_default().add(call);
        }
        let units: Vec<Tally> = conversations.into_values().collect();
        let tally = Tally::sum(&units);
        let mut chance = Chance::new(0, "bootstrap");
        let resamples: Vec<Tally> = (0..RESAMPLES)
            .map(|_| Tally::sum((0..units.len()).filter_map(|_| chance.pick(&units))))
            .collect();
        let estimate = |metric: &Metric| estimate(metric, &tally, &resamples);
        Self {
            main: MAIN.iter().map(estimate).collect(),
            further: FURTHER.iter().map(estimate).collect(),
            tally,
        }
    }

    /// Returns the figures as JSON.
    pub fn json(&self) -> Value {
        let tally = &self.tally;
        let mut object = Map::new();
        object.insert("turns".to_owned(), json!(tally.turns));
        object.insert("interruptions".to_owned(), json!(tally.interruptions));
        object.insert("falseAlarms".to_owned(), json!(tally.false_alarms));
        let main = MAIN.iter().zip(&self.main);
        for (metric, estimate) in main.chain(FURTHER.iter().zip(&self.further)) {
            let value =
                estimate.map(|estimate| json!({ "value": estimate.value, "low": estimate.low, "high": estimate.high }));
            object.insert(metric.key.to_owned(), json!(value));
        }
        Value::Object(object)
    }
}

fn estimate(metric: &Metric, tally: &Tally, resamples: &[Tally]) -> Option<Estimate> {
    let value = (metric.value)(tally)?;
    let mut drawn: Vec<f64> = resamples.iter().filter_map(metric.value).collect();
    drawn.sort_by(f64::total_cmp);
    let [low, high] = INTERVAL.map(|share| ranked(&drawn, share).unwrap_or(value));
    Some(Estimate { value, low, high })
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Returns the value that a share of the values does not exceed (nearest rank).
fn percentile(values: &[u64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    ranked(&sorted, share).map(|value| value as f64)
}

fn ranked<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}
