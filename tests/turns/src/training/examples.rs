//! Examples of pauses and ends of turns, as sessions know them that wait for long.

use media::turn::endpointing::evidence::Moment;

use crate::{
    call::{self, Eagerness, Watched},
    corpus::{Conversation, Item},
    grammar::OverlapKind,
    language::Third,
    measurement::{MeasurementError, Plan, each},
};

/// Silence in milliseconds from which a pause is looked at: the recogniser is asked after 100.
const LOOK_MS: u64 = 100;

/// A pause or an end of a turn.
#[derive(Debug, Clone)]
pub struct Example {
    /// Kind of the turn.
    pub kind: String,
    /// Knowledge of the session.
    pub moment: Moment,
    /// Whether the turn was over.
    pub is_over: bool,
}

/// Examples of a third.
#[derive(Debug, Default)]
pub struct Collected {
    /// The examples.
    pub examples: Vec<Example>,
    /// Number of the turns.
    pub turns: usize,
    /// Lengths of all pauses within turns, in milliseconds. Those that were over before all words were known are no
    /// examples.
    pub pauses_ms: Vec<u64>,
}

/// Collects the examples of a third.
///
/// # Errors
/// Returns an error if a conversation cannot be run.
pub fn collect(plan: &Plan, third: Third) -> Result<Collected, MeasurementError> {
    let plan = Plan { third, ..plan.clone() };
    let turns = each(&plan, with_interruptions, |conversation, voice, spoken| {
        let mut turns = Vec::new();
        for manner in &plan.recognisers {
            let (_, watched) = call::watch(conversation, (voice, spoken), manner, Eagerness::Never)?;
            turns.extend(watched.iter().map(examples_of));
        }
        Ok(turns)
    })?;
    let mut collected = Collected {
        turns: turns.len(),
        ..Collected::default()
    };
    for (examples, pauses_ms) in turns {
        collected.examples.extend(examples);
        collected.pauses_ms.extend(pauses_ms);
    }
    Ok(collected)
}

/// Returns conversations with interruptions as further answers: sentences that fit no question.
pub fn with_interruptions(mut conversations: Vec<Conversation>) -> Vec<Conversation> {
    for conversation in &mut conversations {
        let questions: Vec<String> = conversation
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Turn { question, .. } => Some(question.clone()),
                Item::Overlap { .. } => None,
            })
            .collect();
        for (item, question) in conversation.items.iter_mut().zip(questions.iter().cycle()) {
            if let Item::Overlap {
                kind: kind @ (OverlapKind::Interruption | OverlapKind::Answer),
                sentence,
                ..
            } = item
            {
                *item = Item::Turn {
                    kind: kind.name().to_owned(),
                    question: question.clone(),
                    sentence: sentence.clone(),
                    gap_ms: 600,
                };
            }
        }
        conversation.items.retain(|item| matches!(item, Item::Turn { .. }));
    }
    conversations
}

fn examples_of(turn: &Watched) -> (Vec<Example>, Vec<u64>) {
    let first = |from_ms: u64, to_ms: u64| {
        let mut within = turn
            .moments
            .iter()
            .filter(|(at_ms, _)| (from_ms + LOOK_MS..to_ms).contains(at_ms));
        within.find(|(_, moment)| moment.is_settled).map(|(_, moment)| moment)
    };
    let example = |moment: &Moment, is_over| Example {
        kind: turn.kind.clone(),
        moment: moment.clone(),
        is_over,
    };
    let pauses = turn.pauses.iter();
    let mut examples: Vec<Example> = pauses
        .filter_map(|pause| first(pause.from_ms, pause.to_ms))
        .map(|moment| example(moment, false))
        .collect();
    examples.extend(first(turn.length_ms, u64::MAX).map(|moment| example(moment, true)));
    let pauses_ms = turn.pauses.iter().map(|pause| pause.to_ms - pause.from_ms);
    (examples, pauses_ms.collect())
}
