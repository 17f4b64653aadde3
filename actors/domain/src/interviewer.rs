//! The embedded language model: a deterministic dialogue manager that interviews people to collect data.
//!
//! A reply is a pure function of the request: the history is replayed, and the next step follows from it.

mod answer;
mod appointment;
mod asking;
mod dialogue;
mod dictated;
mod language_wish;
mod meaning;
mod numbers;
mod outside;
pub mod phrases;
mod question;
mod reply;
mod slot;

use futures_util::{StreamExt, stream, stream::BoxStream};

pub use self::reply::plan;
pub(crate) use self::{
    answer::{understand, yes_or_no},
    numbers::{corrected, number},
    question::in_words,
};
use crate::ports::language_model::{LanguageError, LanguageModel, ReplyEvent, ReplyRequest};

/// Asks for the agent's entities one by one, in English, and says goodbye. Needs no provider.
#[derive(Debug, Clone, Copy, Default)]
pub struct Interviewer;

impl LanguageModel for Interviewer {
    fn reply(&self, request: ReplyRequest) -> BoxStream<'static, Result<ReplyEvent, LanguageError>> {
        stream::iter(plan(&request).into_iter().map(Ok)).boxed()
    }
}

#[cfg(test)]
mod tests;
