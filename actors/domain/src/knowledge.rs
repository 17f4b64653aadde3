//! What an agent's documents say: cut into passages, searched by words, and put together for a reply.
//!
//! Pure and synchronous; loading, caching and vectors are the adapter's.

mod answer;
mod fusion;
mod index;
mod language;
mod passage;
mod question;
mod sentence;
mod words;

use std::sync::Arc;

pub use self::{
    fusion::fused,
    passage::{MOST_CHARACTERS as PASSAGE_CHARACTERS, Passage, passages},
    question::Question,
};
use self::{index::Index, language::Language, words::Words};

/// Documents that have no more characters together are read whole: about 2,000 tokens (4 characters each, OpenAI's rule of
/// thumb), which a provider's prompt cache holds from the second reply on. ElevenLabs' agents do so below 500 bytes a
/// document; a cached prompt makes more affordable than a passage that is not found.
pub const WHOLE_CHARACTERS: usize = 8_000;

/// Characters of the passages that one reply is given: they are read anew in every turn. ElevenLabs' agents take 20
/// passages at most; on the telephone each thousand tokens is heard as silence.
pub const FOUND_CHARACTERS: usize = 4_000;

/// Passages of one reply.
pub const MOST_FOUND: usize = 6;

/// A document with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// For people.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// A piece of a document as a reply is given it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The document's name.
    pub document: String,
    /// The heading it stands under; empty where there is none.
    pub heading: String,
    /// The words.
    pub text: String,
}

/// What a reply may draw on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Knowledge {
    /// Every document, where they are short together: the same in every reply of a call.
    pub whole: Option<Arc<[Excerpt]>>,
    /// Else the passages that fit the last words best, best first.
    pub found: Vec<Excerpt>,
    /// One or two sentences that answer the last words, where the documents surely have them.
    pub answer: Option<String>,
}

/// A passage that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Its place in [`Library::passages`].
    pub passage: usize,
    /// The higher the better; comparable within one search only.
    pub score: f32,
}

/// Documents that can be searched.
#[derive(Debug)]
pub struct Library {
    documents: Vec<Document>,
    passages: Vec<Passage>,
    index: Index,
    whole: Option<Arc<[Excerpt]>>,
    bytes: usize,
}

impl Library {
    /// Cuts and indexes documents. Takes about 80 µs a passage.
    pub fn new(documents: Vec<Document>) -> Self {
        let mut cut = Vec::new();
        let mut words = Words::default();
        let mut index = Index::default();
        for (at, document) in documents.iter().enumerate() {
            let language = Language::of(&document.text);
            for passage in passages(at, &document.text) {
                let mut terms = words.of(language, &document.name);
                terms.extend(words.of(language, &passage.heading));
                terms.extend(words.of(language, passage.text(&documents)));
                index.add(terms);
                cut.push(passage);
            }
        }
        index.finish(&words.languages());
        let characters: usize = documents.iter().map(|document| document.text.chars().count()).sum();
        let whole = (characters <= WHOLE_CHARACTERS).then(|| {
            let whole = documents.iter().map(|document| Excerpt {
                document: document.name.clone(),
                heading: String::new(),
                text: document.text.trim().to_owned(),
            });
            whole.collect()
        });
        let texts: usize = documents.iter().map(|document| document.text.len()).sum();
        let headings: usize = cut
            .iter()
            .map(|passage| passage.heading.len() + size_of::<Passage>())
            .sum();
        let bytes = texts + whole.as_ref().map_or(0, |_| texts) + headings + index.bytes();
        Self {
            documents,
            passages: cut,
            index,
            whole,
            bytes,
        }
    }

    /// Whether a reply is given the documents whole.
    pub fn is_small(&self) -> bool {
        self.whole.is_some()
    }

    /// All passages.
    pub fn passages(&self) -> &[Passage] {
        &self.passages
    }

    /// A passage with the name of its document and its heading, as it is compared by meaning.
    pub fn told(&self, passage: usize) -> Option<String> {
        let excerpt = self.excerpt(passage)?;
        Some(format!("{}\n{}\n{}", excerpt.document, excerpt.heading, excerpt.text))
    }

    /// About how much memory it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The best passages by words (BM25), best first, at most `most`.
    pub fn search(&self, question: &Question, most: usize) -> Vec<Hit> {
        self.index.search(question, most)
    }

    /// What a reply is given of the passages that were found.
    pub fn knowledge(&self, question: &Question, hits: &[Hit]) -> Knowledge {
        let found = match &self.whole {
            Some(_) => Vec::new(),
            None => self.within_bounds(hits),
        };
        Knowledge {
            whole: self.whole.clone(),
            found,
            answer: answer::answer(self, question, hits),
        }
    }

    /// The best passages that fit together.
    fn within_bounds(&self, hits: &[Hit]) -> Vec<Excerpt> {
        let mut left = FOUND_CHARACTERS;
        let mut found = Vec::new();
        for excerpt in hits.iter().take(MOST_FOUND).filter_map(|hit| self.excerpt(hit.passage)) {
            let characters = excerpt.text.chars().count();
            if characters > left {
                break;
            }
            left -= characters;
            found.push(excerpt);
        }
        found
    }

    fn excerpt(&self, passage: usize) -> Option<Excerpt> {
        let passage = self.passages.get(passage)?;
        Some(Excerpt {
            document: self.documents.get(passage.document)?.name.clone(),
            heading: passage.heading.clone(),
            text: passage.text(&self.documents).to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
