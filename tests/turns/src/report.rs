//! The report of a measurement, as markdown and as JSON.

mod worst;

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Value, json};

pub use worst::{Example, WORST, worst};

use crate::{
    figures::{Estimate, FURTHER, Figures, MAIN, Metric, Unit},
    record::CallRecord,
};

/// A way of grouping calls: its name, and the group of a call.
type Grouping = (&'static str, fn(&CallRecord) -> String);

/// Groupings of the tables.
const GROUPINGS: [Grouping; 6] = [
    ("all", |_| "all".to_owned()),
    ("language", |call| call.language.to_string()),
    ("recogniser", |call| call.recogniser.to_owned()),
    ("voice", |call| call.voice.name().to_owned()),
    ("line", |call| if call.is_noisy { "noisy" } else { "clean" }.to_owned()),
    ("language and recogniser", |call| {
        format!("{}, {}", call.language, call.recogniser)
    }),
];

/// A report.
pub struct Report {
    /// Name of each grouping, with the figures of its groups by name.
    groups: Vec<(&'static str, BTreeMap<String, Figures>)>,
    examples: Vec<(&'static str, Vec<Example>)>,
}

impl Report {
    /// Sums calls up.
    pub fn of(calls: &[CallRecord]) -> Self {
        let groups = GROUPINGS.map(|(name, group)| {
            let mut members: BTreeMap<String, Vec<&CallRecord>> = BTreeMap::new();
            for call in calls {
                members.entry(group(call)).or_default().push(call);
            }
            let figures = members.into_iter().map(|(group, calls)| (group, Figures::of(calls)));
            let figures: BTreeMap<String, Figures> = figures.collect();
            (name, figures)
        });
        Self {
            groups: groups.into(),
            examples: WORST.map(|kind| (kind.name(), worst(calls, kind))).into(),
        }
    }

    /// Returns the report as markdown: the table of all groups, further figures, and the worst examples.
    pub fn markdown(&self) -> String {
        let mut text = String::from("| | turns |");
        for metric in &MAIN {
            let unit = if metric.unit == Unit::Ms { ", ms" } else { "" };
            let _ = write!(text, " {}{unit} |", metric.name);
        }
        text.push_str(" interruptions | false alarms |\n|---|---|");
        text.push_str(&"---|".repeat(MAIN.len() + 2));
        for (name, figures) in self.groups.iter().flat_map(|(_, groups)| groups) {
            let _ = write!(text, "\n| {name} | {} |", figures.tally.turns);
            for (metric, estimate) in MAIN.iter().zip(&figures.main) {
                let _ = write!(text, " {} |", shown(metric, *estimate));
            }
            let tally = &figures.tally;
            let _ = write!(text, " {} | {} |", tally.interruptions, tally.false_alarms);
        }
        text.push_str("\n\nIn brackets: 95 % of a bootstrap over conversations.\n\n| | all |\n|---|---|");
        let all = self.groups.iter().flat_map(|(_, groups)| groups.get("all"));
        for figures in all {
            for (metric, estimate) in FURTHER.iter().zip(&figures.further) {
                let _ = write!(text, "\n| {} | {} |", metric.name, shown(metric, *estimate));
            }
        }
        for (name, examples) in &self.examples {
            let _ = write!(text, "\n\nThe worst: {name}\n");
            for example in examples {
                let _ = write!(text, "\n- {}", example.line());
            }
        }
        text.push('\n');
        text
    }

    /// Returns the report as JSON.
    pub fn json(&self) -> Value {
        let groups: serde_json::Map<String, Value> = self
            .groups
            .iter()
            .map(|(name, groups)| {
                let figures = groups.iter().map(|(group, figures)| (group.clone(), figures.json()));
                ((*name).to_owned(), Value::Object(figures.collect()))
            })
            .collect();
        let examples: serde_json::Map<String, Value> = self
            .examples
            .iter()
            .map(|(name, examples)| {
                let examples: Vec<Value> = examples.iter().map(Example::json).collect();
                ((*name).to_owned(), json!(examples))
            })
            .collect();
        json!({ "figures": groups, "worst": examples })
    }
}

fn shown(metric: &Metric, estimate: Option<Estimate>) -> String {
    let Some(Estimate { value, low, high }) = estimate else {
        return "–".to_owned();
    };
    match metric.unit {
        Unit::Ms => format!("{value:.0} ({low:.0}–{high:.0})"),
        Unit::Share => {
            let [value, low, high] = [value, low, high].map(|share| 100.0 * share);
            format!("{value:.1} % ({low:.1}–{high:.1})")
        }
    }
}
