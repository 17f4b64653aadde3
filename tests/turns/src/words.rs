//! Learns from the third `tune` how much each word over the agent's speech counts as an interruption.
//!
//! A logistic regression over the words, the first word and pairs of words. Its examples are the interruptions
//! and nods of all languages, and pieces of the callers' longer turns. Some of their words are replaced by others
//! of the same language, as recognisers do, or by a word that is not known.

mod examples;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use examples::{Example, UNKNOWN, examples};

use crate::grammar::GrammarError;

/// Passes over the examples.
const PASSES: usize = 60;

/// Step of the regression, before it is divided by what a weight has moved so far (AdaGrad).
const STEP: f64 = 0.2;

/// Pull of each weight towards 0 in each pass.
const PULL: f64 = 1e-5;

/// Weights are ten times the log-odds.
const SCALE: f64 = 10.0;

/// Most difference from an unknown word with which a word is left out, and greatest weight of a pair that is.
const LEAST: u64 = 8;

/// A feature of words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Feature {
    Bias,
    /// There is only one word.
    Alone,
    Word(String),
    First(String),
    Pair(String, String),
}

/// Learns the weights. Returns them as the Rust source of `media/src/turn/barge_in/weights.rs`.
///
/// # Errors
/// Returns an error if a grammar cannot be read.
pub fn learned(seed: u64) -> Result<String, GrammarError> {
    let mut all = examples(seed)?;
    // Each kind counts as much as the other.
    for takes in [false, true] {
        let of_kind = all.iter().filter(|example| example.takes == takes);
        let sum: f64 = of_kind.map(|example| example.weight).sum();
        let of_kind = all.iter_mut().filter(|example| example.takes == takes);
        of_kind.for_each(|example| example.weight /= sum);
    }
    let count = all.len() as f64;
    let mut indices = BTreeMap::new();
    let known = pairs(&all);
    let rows: Vec<Row> = all
        .iter()
        .map(|example| Row {
            features: features(&example.tokens, &known)
                .into_iter()
                .map(|feature| {
                    let next = indices.len();
                    *indices.entry(feature).or_insert(next)
                })
                .collect(),
            takes: example.takes,
            weight: example.weight * count / 2.0,
        })
        .collect();
    let weights = regression(&rows, indices.len());
    let weights = indices
        .into_iter()
        .map(|(feature, at)| (feature, weights[at]))
        .collect();
    Ok(source(&weights))
}

/// An example as the regression sees it.
struct Row {
    features: Vec<usize>,
    takes: bool,
    weight: f64,
}

/// Pairs of known words that nods have.
fn pairs(all: &[Example]) -> BTreeSet<(String, String)> {
    let nods = all.iter().filter(|example| example.is_whole && !example.takes);
    let pairs = nods.flat_map(|example| successive(&example.tokens));
    pairs.filter(|(one, two)| one != UNKNOWN && two != UNKNOWN).collect()
}

/// Each two successive words.
fn successive(tokens: &[String]) -> impl Iterator<Item = (String, String)> {
    tokens.iter().cloned().zip(tokens.iter().skip(1).cloned())
}

fn features(tokens: &[String], pairs: &BTreeSet<(String, String)>) -> Vec<Feature> {
    let mut features = vec![Feature::Bias];
    if tokens.len() == 1 {
        features.push(Feature::Alone);
    }
    features.extend(tokens.first().cloned().map(Feature::First));
    features.extend(tokens.iter().cloned().map(Feature::Word));
    let known = successive(tokens).filter(|two| pairs.contains(two));
    features.extend(known.map(|(one, two)| Feature::Pair(one, two)));
    features
}

/// Fits the weights of `count` features to the examples, one after the other.
fn regression(rows: &[Row], count: usize) -> Vec<f64> {
    let mut weights = vec![0.0_f64; count];
    let mut moved = vec![1e-2_f64; count];
    for _ in 0..PASSES {
        for row in rows {
            let score: f64 = row.features.iter().map(|at| weights[*at]).sum();
            let wanted = if row.takes { 1.0 } else { 0.0 };
            let slope = (1.0 / (1.0 + (-score).exp()) - wanted) * row.weight;
            for at in &row.features {
                let slope = slope + PULL * weights[*at];
                moved[*at] += slope * slope;
                weights[*at] -= STEP * slope / moved[*at].sqrt();
            }
        }
    }
    weights
}

/// Writes the weights as Rust.
fn source(weights: &BTreeMap<Feature, f64>) -> String {
    let of = |feature: Feature| {
        weights
            .get(&feature)
            .map_or(0, |weight| (weight * SCALE).round() as i64)
    };
    let unknown = UNKNOWN.to_owned();
    let mut text = String::from(
        "//! Weights of words over the agent's speech. Written by `turns words`; do not edit.\n\n\
         /// Weight of any words.\n",
    );
    // Writing to a string cannot fail.
    let _ = writeln!(text, "pub(super) const BIAS: i32 = {};\n", of(Feature::Bias));
    let _ = writeln!(
        text,
        "/// Further weight of a single word.\npub(super) const ALONE: i32 = {};\n",
        of(Feature::Alone)
    );
    let _ = writeln!(
        text,
        "/// Weight of a word that is not in the table.\npub(super) const UNKNOWN: i32 = {};\n",
        of(Feature::Word(unknown.clone()))
    );
    let _ = writeln!(
        text,
        "/// Further weight of such a word as the first.\npub(super) const UNKNOWN_FIRST: i32 = {};\n",
        of(Feature::First(unknown.clone()))
    );
    let words = weights.keys().filter_map(|feature| match feature {
        Feature::Word(word) if word != UNKNOWN => Some(word),
        _ => None,
    });
    let unknown = [of(Feature::Word(unknown.clone())), of(Feature::First(unknown))];
    let words = words.filter_map(|word| {
        let own = [of(Feature::Word(word.clone())), of(Feature::First(word.clone()))];
        let tells = own
            .iter()
            .zip(unknown)
            .any(|(own, unknown)| own.abs_diff(unknown) > LEAST);
        let [anywhere, first] = own;
        tells.then(|| format!("(\"{word}\", {anywhere}, {first})"))
    });
    text.push_str("/// Words in order, each with its weight anywhere and its further weight as the first word.\n");
    table(&mut text, "WORDS: &[(&str, i8, i8)]", words);
    let pairs = weights.iter().filter_map(|(feature, weight)| match feature {
        Feature::Pair(one, two) => Some((one, two, (weight * SCALE).round() as i64)),
        _ => None,
    });
    let pairs = pairs
        .filter(|(.., weight)| weight.unsigned_abs() > LEAST)
        .map(|(one, two, weight)| format!("(\"{one}\", \"{two}\", {weight})"));
    text.push_str("\n/// Further weights of two successive words, in order.\n");
    table(&mut text, "PAIRS: &[(&str, &str, i8)]", pairs);
    text
}

/// Writes a constant slice with several entries a line.
fn table(text: &mut String, declaration: &str, entries: impl Iterator<Item = String>) {
    let _ = writeln!(text, "#[rustfmt::skip]\npub(super) const {declaration} = &[");
    let mut line = String::new();
    for entry in entries {
        if line.chars().count() + entry.chars().count() + 2 > 116 {
            let _ = writeln!(text, "   {line}");
            line.clear();
        }
        let _ = write!(line, " {entry},");
    }
    let _ = writeln!(text, "   {line}\n];");
}
