//! Indexed documents, as calls search them.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use domain::{
    id::DocumentId,
    knowledge::{Hit, Knowledge, Library, Question, fused},
    ports::knowledge::{FoundPassage, OpenKnowledge},
};

use crate::knowledge::{embeddings::Embeddings, vectors::Vectors};

/// Passages considered from each ranking before the rankings are merged.
const ORDER: usize = 30;

/// Passages kept of the merged ranking.
const KEPT: usize = 10;

/// Number of passages above which a search may take a millisecond or more and so runs on a blocking thread.
const MANY_PASSAGES: usize = 2_000;

/// Size of the vectors, in bytes, up to which they are compared on the async thread. Two million numbers take
/// about a millisecond.
const MANY_BYTES: usize = 8 * 1024 * 1024;

/// Documents of one agent, or of several agents with the same documents.
pub(super) struct Book {
    pub(super) library: Library,
    /// Ids of the library's documents, in their order.
    pub(super) ids: Vec<DocumentId>,
    pub(super) embeddings: Option<Embeddings>,
    /// Vectors of the passages, set once the embeddings model has answered.
    pub(super) vectors: OnceLock<Vectors>,
}

impl Book {
    /// Returns the approximate memory use in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.library.bytes() + self.vectors.get().map_or(0, Vectors::bytes)
    }

    fn takes_long(&self) -> bool {
        self.library.passages().len() > MANY_PASSAGES
            || self.vectors.get().is_some_and(|vectors| vectors.bytes() > MANY_BYTES)
    }

    fn hits(&self, question: &Question, meaning: Option<Vec<f32>>) -> Vec<Hit> {
        let by_words = self.library.search(question, ORDER);
        let by_meaning: Vec<Hit> = match (meaning, self.vectors.get()) {
            (Some(meaning), Some(vectors)) => vectors.nearest(meaning, ORDER),
            _ => Vec::new(),
        };
        match by_meaning.is_empty() {
            true => by_words,
            false => fused(&[by_words, by_meaning], KEPT),
        }
    }
}

/// Book opened by a call.
pub(super) struct Reading(pub(super) Arc<Book>);

impl Reading {
    /// Searches on a blocking thread if that takes long.
    async fn hits(&self, question: &Question) -> Vec<Hit> {
        let book = &self.0;
        let meaning = match (&book.embeddings, book.vectors.get()) {
            (Some(embeddings), Some(_)) if !question.words.is_empty() => embeddings.of_question(&told(question)).await,
            _ => None,
        };
        if !book.takes_long() {
            return book.hits(question, meaning);
        }
        let (book, question) = (book.clone(), question.clone());
        let found = tokio::task::spawn_blocking(move || book.hits(&question, meaning)).await;
        found.unwrap_or_default()
    }
}

#[async_trait]
impl OpenKnowledge for Reading {
    async fn find(&self, question: Option<&Question>) -> Knowledge {
        let question = question.cloned().unwrap_or_default();
        let hits = self.hits(&question).await;
        self.0.library.knowledge(&question, &hits)
    }

    async fn passages(&self, question: &Question) -> Vec<FoundPassage> {
        let hits = self.hits(question).await;
        let Book { library, ids, .. } = &*self.0;
        let given = match library.is_small() {
            true => hits.len(),
            false => library.knowledge(question, &hits).found.len(),
        };
        let shown = |(at, hit): (usize, &Hit)| {
            let excerpt = library.excerpt(hit.passage)?;
            Some(FoundPassage {
                document_id: *ids.get(library.passages().get(hit.passage)?.document)?,
                document_name: excerpt.document,
                heading: Some(excerpt.heading).filter(|heading| !heading.is_empty()),
                text: excerpt.text,
                score: (f64::from(hit.score) * 1e6).round() / 1e6,
                given: at < given,
            })
        };
        hits.iter().enumerate().filter_map(shown).collect()
    }
}

/// Returns a question as it is compared by meaning. The line said before it tells what short words refer to.
fn told(question: &Question) -> String {
    let before = question.context.lines().next_back().unwrap_or_default();
    format!("{before}\n{}", question.words).trim().to_owned()
}
