//! Runs many conversations with several voices and recognisers, on several threads. The result does not depend on
//! their number.

use std::{
    num::NonZero,
    panic,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::{
    call::{self, CallError, Eagerness},
    corpus::{CONVERSATIONS, Conversation, conversations},
    grammar::GrammarError,
    language::{Language, Third},
    recogniser::{MANNERS, Manner},
    record::CallRecord,
    voice::{Spoken, Voice, VoiceError, perform},
};

/// Seed of the corpus.
pub const SEED: u64 = 28;

/// A measurement.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Seed of the corpus.
    pub seed: u64,
    /// Third that is measured.
    pub third: Third,
    /// Languages.
    pub languages: Vec<Language>,
    /// Conversations of each language.
    pub conversations: usize,
    /// Voices of the callers.
    pub voices: Vec<Voice>,
    /// Recognisers.
    pub recognisers: Vec<&'static Manner>,
    /// How readily the agent takes its turn.
    pub eagerness: Eagerness,
    /// Threads.
    pub workers: usize,
}

impl Plan {
    /// Returns the whole measurement of a third in babble.
    pub fn of(third: Third) -> Self {
        Self {
            seed: SEED,
            third,
            languages: Language::ALL.to_vec(),
            conversations: CONVERSATIONS,
            voices: vec![Voice::Babble],
            recognisers: MANNERS.iter().collect(),
            eagerness: Eagerness::Normal,
            workers: thread::available_parallelism().map_or(1, NonZero::get),
        }
    }
}

/// Error: a measurement that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MeasurementError {
    /// A grammar cannot be read.
    #[error(transparent)]
    Grammar(#[from] GrammarError),
    /// A caller could not be made audible.
    #[error(transparent)]
    Voice(#[from] VoiceError),
    /// A call could not be run.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Makes a measurement. The records come in the order of languages, conversations, voices and recognisers.
///
/// # Errors
/// Returns the first error.
pub fn measure(plan: &Plan) -> Result<Vec<CallRecord>, MeasurementError> {
    each(
        plan,
        |drawn| drawn,
        |conversation, voice, spoken| {
            let calls = plan.recognisers.iter();
            let calls = calls.map(|manner| call::run(conversation, (voice, spoken), manner, plan.eagerness));
            Ok(calls.collect::<Result<_, _>>()?)
        },
    )
}

/// Does some work for each conversation of the plan's third, changed as wanted, in each voice. The results come in
/// the order of languages, conversations and voices.
///
/// # Errors
/// Returns the first error.
pub fn each<T: Send>(
    plan: &Plan,
    change: impl Fn(Vec<Conversation>) -> Vec<Conversation>,
    work: impl Fn(&Conversation, Voice, &[Spoken]) -> Result<Vec<T>, MeasurementError> + Sync,
) -> Result<Vec<T>, MeasurementError> {
    let mut all = Vec::new();
    for language in &plan.languages {
        let drawn = conversations(plan.seed, plan.third, *language, plan.conversations)?;
        all.extend(change(drawn));
    }
    let jobs: Vec<(&Conversation, Voice)> = all
        .iter()
        .flat_map(|conversation| plan.voices.iter().map(move |voice| (conversation, *voice)))
        .collect();
    let next = AtomicUsize::new(0);
    // Takes jobs until none is left.
    let take = || {
        let mut done = Vec::new();
        while let Some((at, (conversation, voice))) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(at).map(|job| (at, *job))
        } {
            let spoken = perform(conversation, voice)?;
            done.push((at, work(conversation, voice, &spoken)?));
        }
        Ok::<_, MeasurementError>(done)
    };
    let mut done = thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.workers.max(1)).map(|_| scope.spawn(take)).collect();
        let mut done = Vec::new();
        for worker in workers {
            done.extend(worker.join().unwrap_or_else(|reason| panic::resume_unwind(reason))?);
        }
        Ok::<_, MeasurementError>(done)
    })?;
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().flat_map(|(_, results)| results).collect())
}
