//! Figures beside their targets: as a table with a column for each run, and as JSON.

use std::path::Path;

use comfy_table::{Table, presets::UTF8_BORDERS_ONLY};
use serde_json::{Value, json};

use super::BenchError;

/// A figure of one run.
pub struct Figure {
    name: String,
    value: Option<f64>,
    /// Printed after the value; empty if the name contains it.
    unit: &'static str,
    digits: usize,
    target: Option<Target>,
}

#[derive(Clone, Copy)]
struct Target {
    limit: f64,
    at_least: bool,
    /// A value above this misses the target by far.
    by_far: f64,
}

impl Figure {
    /// Creates a figure without a target, shown with this many decimal places.
    pub fn new(name: impl Into<String>, value: impl Into<Option<f64>>, unit: &'static str, digits: usize) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            unit,
            digits,
            target: None,
        }
    }

    /// Creates a count.
    pub fn count(name: impl Into<String>, value: usize) -> Self {
        Self::new(name, value as f64, "", 0)
    }

    /// Sets the lowest value that meets the target.
    pub fn at_least(self, limit: f64) -> Self {
        self.with(limit, true)
    }

    /// Sets the highest value that meets the target, if there is one.
    pub fn at_most(self, limit: impl Into<Option<f64>>) -> Self {
        match limit.into() {
            Some(limit) => self.with(limit, false),
            None => self,
        }
    }

    fn with(self, limit: f64, at_least: bool) -> Self {
        let target = Target {
            limit,
            at_least,
            by_far: f64::INFINITY,
        };
        Self {
            target: Some(target),
            ..self
        }
    }

    /// Sets the value above which it misses its target by far.
    pub fn by_far(mut self, limit: f64) -> Self {
        if let Some(target) = &mut self.target {
            target.by_far = limit;
        }
        self
    }

    /// Returns whether it meets its target; also `true` without a value or a target.
    pub fn met(&self) -> bool {
        self.value
            .zip(self.target)
            .is_none_or(|(value, target)| match target.at_least {
                true => value >= target.limit,
                false => value <= target.limit,
            })
    }

    /// Returns whether it misses its target by far.
    pub fn is_far_off(&self) -> bool {
        let far = self.value.zip(self.target);
        far.is_some_and(|(value, target)| value > target.by_far)
    }

    fn verdict(&self) -> &'static str {
        match (self.met(), self.is_far_off()) {
            (true, _) => "met",
            (false, false) => "missed",
            (false, true) => "missed by far",
        }
    }

    fn cell(&self) -> String {
        let mark = if self.met() { "" } else { self.verdict() };
        self.value.map_or_else(
            || "–".into(),
            |value| {
                format!("{value:.0$} {unit}  {mark}", self.digits, unit = self.unit)
                    .trim()
                    .to_owned()
            },
        )
    }

    fn target(&self) -> Option<String> {
        let Target { limit, at_least, .. } = self.target?;
        let sign = if at_least { "≥" } else { "≤" };
        let shown = format!("{sign} {limit:.0$} {unit}", self.digits, unit = self.unit);
        Some(shown.trim_end().to_owned())
    }

    /// Returns the name and the value as one line.
    pub fn line(&self) -> String {
        format!("{}: {}", self.name, self.cell())
    }

    /// Returns the figure as JSON.
    pub fn json(&self) -> Value {
        json!({ "name": self.name, "value": self.value, "unit": self.unit, "met": self.met(),
            "target": self.target.map(|target| target.limit), "verdict": self.verdict() })
    }
}

/// Returns a table of the figures of each run, side by side with their targets.
pub fn table(runs: impl Iterator<Item = String>, columns: &[Vec<Figure>]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY);
    table.set_header(std::iter::once(String::new()).chain(runs).chain(["target".into()]));
    for (row, figure) in columns.first().into_iter().flatten().enumerate() {
        let own = || columns.iter().filter_map(|column| column.get(row));
        let target = own().find_map(Figure::target).unwrap_or_default();
        let cells = own().map(Figure::cell);
        table.add_row(std::iter::once(figure.name.clone()).chain(cells).chain([target]));
    }
    table
}

/// Writes figures to a file, if one is given.
pub fn write_json(file: Option<&Path>, figures: &Value) -> Result<(), BenchError> {
    match file {
        Some(file) => Ok(std::fs::write(file, serde_json::to_vec_pretty(figures)?)?),
        None => Ok(()),
    }
}
