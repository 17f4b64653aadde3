//! Turns answered into against the median wait: the rules before, our model at several points, and a recogniser that
//! tells turns itself.

use std::fmt::Write as _;

use media::turn::words::{self, Ending};

use crate::{
    call::Eagerness,
    chance::Chance,
    figures::{Figures, MAIN},
    measurement::{MeasurementError, Plan, each, measure},
    svg::Svg,
    voice::Spoken,
};

/// Figures of the rules that this model replaced: base pause, wait p50, turns answered into. See the file.
const RULES: &str = include_str!("curve/rules.txt");

/// Base pauses in milliseconds at which our model is measured: the settings, and points between and beyond.
const BASES_MS: [u64; 7] = [150, 250, 350, 450, 600, 800, 1_000];

/// Median delay of the final words of Flux's stub, in milliseconds (`sim/src/stub_providers/times.rs`).
const FLUX_FINAL_MS: f64 = 247.0;

/// 95th percentile of the same.
const FLUX_LATE_MS: f64 = 298.0;

/// Silence in milliseconds by which Flux's stub waits longer after open words (`sim/src/stub_providers/flux.rs`).
const FLUX_OPEN_MS: u64 = 1_200;

/// A point of a curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Its name.
    pub name: String,
    /// Median wait in milliseconds.
    pub wait_ms: f64,
    /// Share of the turns that were answered into.
    pub answered: f64,
}

/// A curve: its name, its colour, its points.
pub type Curve = (&'static str, &'static str, Vec<Point>);

/// Measures the curves on a plan's third.
///
/// # Errors
/// Returns an error if a conversation cannot be run.
pub fn curves(plan: &Plan) -> Result<Vec<Curve>, MeasurementError> {
    let mut ours = Vec::new();
    for base_ms in BASES_MS {
        let plan = Plan {
            eagerness: Eagerness::Base(base_ms),
            ..plan.clone()
        };
        ours.extend(point(&base_ms.to_string(), &Figures::of(&measure(&plan)?)));
    }
    Ok(vec![
        ("rules before", "#888888", rules()),
        ("this model", "#1a6fb4", ours),
        ("Flux's own, by its stub", "#c4622d", vec![flux(plan)?]),
    ])
}

/// Returns the curves as a table in markdown.
pub fn table(curves: &[Curve]) -> String {
    let mut text = String::from("| | base pause, ms | wait p50, ms | answered into |\n|---|---|---|---|");
    for (name, _, points) in curves {
        for point in points {
            let Point {
                name: base,
                wait_ms,
                answered,
            } = point;
            let answered = 100.0 * answered;
            let _ = write!(text, "\n| {name} | {base} | {wait_ms:.0} | {answered:.1} % |");
        }
    }
    text
}

/// Draws the curves.
pub fn drawn(curves: &[Curve]) -> String {
    const WIDTH: f64 = 720.0;
    const HEIGHT: f64 = 420.0;
    let (left, bottom) = (60.0, HEIGHT - 50.0);
    let place = |point: &Point| {
        (
            left + point.wait_ms / 1_100.0 * (WIDTH - left - 20.0),
            bottom - point.answered * (bottom - 20.0),
        )
    };
    let at = |wait_ms: f64, answered: f64| {
        place(&Point {
            name: String::new(),
            wait_ms,
            answered,
        })
    };
    let mut svg = Svg::new(WIDTH, HEIGHT);
    for step in 0..=5 {
        let (wait_ms, answered) = (f64::from(step) * 200.0, f64::from(step) * 0.2);
        svg.line(&[at(0.0, answered), at(1_000.0, answered)], "#dddddd", 1.0);
        svg.line(&[at(wait_ms, 0.0), at(wait_ms, 1.0)], "#dddddd", 1.0);
        let ((x, _), (_, y)) = (at(wait_ms, 0.0), at(0.0, answered));
        svg.text((x - 10.0, bottom + 16.0), &format!("{wait_ms:.0}"), "#333333");
        svg.text((left - 40.0, y + 4.0), &format!("{:.0} %", 100.0 * answered), "#333333");
    }
    svg.text(
        (WIDTH / 2.0 - 80.0, HEIGHT - 12.0),
        "wait, median in milliseconds",
        "#333333",
    );
    svg.text((left, 14.0), "turns answered into", "#333333");
    for (at, (name, colour, points)) in curves.iter().enumerate() {
        let places: Vec<_> = points.iter().map(place).collect();
        svg.line(&places, colour, 2.0);
        for (point, (x, y)) in points.iter().zip(places) {
            svg.dot((x, y), colour);
            svg.text((x + 6.0, y - 5.0), &point.name, colour);
        }
        svg.text((WIDTH - 200.0, 40.0 + 16.0 * at as f64), name, colour);
    }
    svg.file()
}

fn rules() -> Vec<Point> {
    let lines = RULES.lines().filter(|line| !line.starts_with('#'));
    let point = |line: &str| {
        let mut cells = line.split_whitespace();
        Some(Point {
            name: cells.next()?.to_owned(),
            wait_ms: cells.next()?.parse().ok()?,
            answered: cells.next()?.parse().ok()?,
        })
    };
    lines.filter_map(point).collect()
}

fn point(name: &str, figures: &Figures) -> Option<Point> {
    let value = |key: &str| {
        let mut main = MAIN.iter().zip(&figures.main);
        let (_, estimate) = main.find(|(metric, _)| metric.key == key)?;
        estimate.map(|estimate| estimate.value)
    };
    Some(Point {
        name: name.to_owned(),
        wait_ms: value("waitP50Ms")?,
        answered: value("answeredInto")?,
    })
}

/// Plays the rule of Flux's stub on the same turns: the delay of its final words, and more after open words. It knows
/// all words with their punctuation.
fn flux(plan: &Plan) -> Result<Point, MeasurementError> {
    let ends = each(
        plan,
        |drawn| drawn,
        |conversation, _, spoken| {
            let mut chance = Chance::new(plan.seed, &format!("{} flux", conversation.id));
            let turns = conversation.items.iter().zip(spoken);
            let turns = turns.filter(|(item, _)| matches!(item, crate::corpus::Item::Turn { .. }));
            Ok(turns.map(|(_, spoken)| flux_end(spoken, &mut chance)).collect())
        },
    )?;
    let mut waits: Vec<u64> = ends.iter().copied().flatten().collect();
    waits.sort_unstable();
    Ok(Point {
        name: String::new(),
        wait_ms: waits.get(waits.len() / 2).map_or(0.0, |ms| *ms as f64),
        answered: 1.0 - waits.len() as f64 / ends.len().max(1) as f64,
    })
}

/// Returns the wait after a turn, or `None` if it was answered into.
fn flux_end(spoken: &Spoken, chance: &mut Chance) -> Option<u64> {
    let mut silence_after = |ms: u64| {
        let words = spoken.words.iter().take_while(|word| word.to_ms <= ms);
        let words: Vec<&str> = words.map(|word| word.text.as_str()).collect();
        let sigma = (FLUX_LATE_MS / FLUX_FINAL_MS).ln() / 1.645;
        let final_ms = (FLUX_FINAL_MS * (sigma * chance.normal()).exp()) as u64;
        final_ms
            + match words::ending(&words.join(" ")) {
                Ending::Complete | Ending::Plain => 0,
                Ending::Hesitating | Ending::Open | Ending::Spelling => FLUX_OPEN_MS,
            }
    };
    let is_cut = spoken
        .pauses
        .iter()
        .any(|pause| silence_after(pause.from_ms) < pause.to_ms - pause.from_ms);
    (!is_cut).then(|| silence_after(spoken.length_ms()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_points_of_the_rules_are_whole() {
        let points = rules();
        assert_eq!(points.len(), 7);
        assert!(
            points.is_sorted_by(|one, next| one.answered >= next.answered),
            "{points:?}"
        );
        let picture = drawn(&[("rules", "black", points)]);
        assert_eq!(picture.matches("<circle").count(), 7);
    }
}
