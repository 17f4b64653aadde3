//! Documents that were read and indexed, as calls look into them.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use domain::{
    knowledge::{Hit, Knowledge, Library, Question, fused},
    ports::knowledge::OpenKnowledge,
};

use super::{embeddings::Embeddings, vectors::Vectors};

/// Passages looked at in each order before they are put together.
const ORDER: usize = 30;

/// Passages kept of the order they make together.
const KEPT: usize = 10;

/// From so many passages on a search may take a millisecond or more, which other tasks would wait for.
const MANY_PASSAGES: usize = 2_000;

/// Numbers of vectors that are compared without thinking of others: two million take about a millisecond.
const MANY_BYTES: usize = 8 * 1024 * 1024;

/// One agent's documents, or several agents' that hold the same.
pub(super) struct Book {
    pub(super) library: Library,
    pub(super) embeddings: Option<Embeddings>,
    /// There once they were asked for.
    pub(super) vectors: OnceLock<Vectors>,
}

impl Book {
    /// About how much memory it takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.library.bytes() + self.vectors.get().map_or(0, Vectors::bytes)
    }

    fn takes_long(&self) -> bool {
        self.library.passages().len() > MANY_PASSAGES
            || self.vectors.get().is_some_and(|vectors| vectors.bytes() > MANY_BYTES)
    }

    fn found(&self, question: &Question, meaning: Option<Vec<f32>>) -> Knowledge {
        let by_words = self.library.search(question, ORDER);
        let by_meaning: Vec<Hit> = match (meaning, self.vectors.get()) {
            (Some(meaning), Some(vectors)) => vectors.nearest(meaning, ORDER),
            _ => Vec::new(),
        };
        let hits = match by_meaning.is_empty() {
            true => by_words,
            false => fused(&[by_words, by_meaning], KEPT),
        };
        self.library.knowledge(question, &hits)
    }
}

/// A book in the hands of a call.
pub(super) struct Reading(pub(super) Arc<Book>);

#[async_trait]
impl OpenKnowledge for Reading {
    async fn find(&self, question: Option<&Question>) -> Knowledge {
        let book = &self.0;
        let question = question.cloned().unwrap_or_default();
        let meaning = match (&book.embeddings, book.vectors.get()) {
            (Some(embeddings), Some(_)) if !question.words.is_empty() => embeddings.of_question(&told(&question)).await,
            _ => None,
        };
        if !book.takes_long() {
            return book.found(&question, meaning);
        }
        let book = book.clone();
        let found = tokio::task::spawn_blocking(move || book.found(&question, meaning)).await;
        found.unwrap_or_default()
    }
}

/// A question as it is compared by meaning: what was said before it tells what short words are about.
fn told(question: &Question) -> String {
    let before = question.context.lines().next_back().unwrap_or_default();
    format!("{before}\n{}", question.words).trim().to_owned()
}
