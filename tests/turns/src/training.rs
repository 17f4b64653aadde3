//! Trains the model of the end of a turn (`media/src/turn/endpointing/model.bin`). The same corpus gives the same
//! file.
//!
//! There is an example for each pause within a turn and for each end of a turn: the knowledge of the session once the
//! recogniser had told all words before it.

mod examples;
mod file;
mod lexicon;
mod trees;

use std::{collections::BTreeMap, fmt::Write as _};

use media::turn::endpointing::model::{Features, Model};

pub use examples::{Example, collect};

use crate::{
    corpus::conversations,
    language::Third,
    measurement::{MeasurementError, Plan},
};
use lexicon::Lexicon;
use trees::{Forest, Sample};

/// Pauses within turns for each turn that a caller makes, outside of a corpus that pauses nearly everywhere.
const PAUSES_PER_TURN: f64 = 0.5;

/// Number of trees.
const TREES: usize = 60;

/// A trained model: its file, and what is to be said about it.
pub struct Trained {
    /// The file.
    pub bytes: Vec<u8>,
    /// Examples, and how well the model tells the third `choose`.
    pub summary: String,
}

/// Trains on the third `tune`. The plan's third is ignored.
///
/// # Errors
/// Returns an error if a conversation cannot be run.
pub fn train(plan: &Plan) -> Result<Trained, MeasurementError> {
    let mut told = Vec::new();
    for language in &plan.languages {
        let drawn = conversations(plan.seed, Third::Tune, *language, plan.conversations)?;
        told.extend(examples::with_interruptions(drawn));
    }
    let lexicon = Lexicon::of(&told);
    let mut summary = String::new();
    let tune = collect(plan, Third::Tune)?;
    let lasting = file::curve(&tune.pauses_ms);
    let empty = |words: &Lexicon| file::bytes(&lasting, &Forest::default(), words);
    // Words are scored without the kind of turn of which they are learned, as for a conversation never seen.
    let kinds: BTreeMap<&str, Vec<u8>> = tune
        .examples
        .iter()
        .map(|example| example.kind.as_str())
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .map(|kind| (kind, empty(&Lexicon::without(&told, kind))))
        .collect();
    let samples = samples(&tune, |kind| kinds.get(kind).map_or(&[][..], Vec::as_slice));
    let choose = collect(plan, Third::Choose)?;
    let all = empty(&lexicon);
    let unseen = self::samples(&choose, |_| &all);
    let mut forest = Forest::start(&samples);
    for count in 1..=TREES {
        forest.grow(&samples);
        if count % 10 == 0 {
            let _ = writeln!(
                summary,
                "{count} trees: {} on tune, {} on choose",
                forest.quality(&samples),
                forest.quality(&unseen)
            );
        }
    }
    let bytes = file::bytes(&lasting, &forest, &lexicon);
    let _ = write!(
        summary,
        "{} examples, {} words, {} bytes\nuse of the features: {:?}",
        samples.len(),
        lexicon.len(),
        bytes.len(),
        forest.uses()
    );
    Ok(Trained { bytes, summary })
}

fn samples<'a>(collected: &examples::Collected, model: impl Fn(&str) -> &'a [u8]) -> Vec<Sample> {
    let weight = PAUSES_PER_TURN * collected.turns as f64 / collected.pauses_ms.len().max(1) as f64;
    let of = |example: &Example| {
        let model = Model::new(model(&example.kind));
        let features: Features = example.moment.evidence(&model).features;
        Sample {
            features,
            is_over: example.is_over,
            weight: if example.is_over { 1.0 } else { weight },
        }
    };
    collected.examples.iter().map(of).collect()
}
