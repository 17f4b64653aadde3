//! Agents' documents: split into passages, searched by words, and combined for a reply.
//!
//! Pure and synchronous; the adapter does loading, caching and vector search.

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
    index::Hit,
    passage::{Document, MOST_CHARACTERS as PASSAGE_CHARACTERS, Passage, passages},
    question::Question,
};
pub use crate::excerpt::Excerpt;

use self::{index::Index, language::Language, words::Words};

/// Total length up to which documents are given to a reply as a whole, in characters: about 2,000 tokens (4
/// characters each, OpenAI's rule of thumb), which a provider's prompt cache serves from the second reply on.
/// ElevenLabs' agents do so below 500 bytes per document; with a cached prompt, more costs less than a
/// passage that is not found.
pub const WHOLE_CHARACTERS: usize = 8_000;

/// Total length of the passages given to one reply, in characters. They are processed again in every turn.
/// ElevenLabs' agents take at most 20 passages; on the phone each thousand tokens adds audible silence.
pub const FOUND_CHARACTERS: usize = 4_000;

/// Most passages given to one reply.
pub const MOST_FOUND: usize = 6;

/// Returns the words of content of a text in their indexed form, in the language of another text.
pub(crate) fn terms(text: &str, like: &str) -> Vec<Box<str>> {
    Words::default().of(Language::of(like), text)
}

/// Returns the code of the language of a text, by its function words; none if it is unclear.
pub(crate) fn language_of(text: &str) -> Option<&'static str> {
    Language::guess(text).map(|language| match language {
        Language::English => "en",
        Language::German => "de",
        Language::French => "fr",
        Language::Spanish => "es",
        Language::Hindi => "hi",
    })
}

/// Returns whether a word is a function word in any language.
pub(crate) fn is_function_word(word: &str) -> bool {
    language::is_stop_word(word, None)
}

/// Knowledge that a reply may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Knowledge {
    /// All documents, if they are short together; the same for every reply of a call.
    pub whole: Option<Arc<[Excerpt]>>,
    /// Otherwise the passages that match the last turn best, best first.
    pub found: Vec<Excerpt>,
    /// One or two sentences that answer the last turn, if the documents certainly contain the answer.
    pub answer: Option<String>,
}

impl Knowledge {
    /// Returns the passages that the reply is given.
    pub fn given(self) -> Vec<Excerpt> {
        self.whole.map_or(self.found, |whole| whole.to_vec())
    }
}

/// Searchable documents.
#[derive(Debug)]
pub struct Library {
    documents: Vec<Document>,
    passages: Vec<Passage>,
    index: Index,
    whole: Option<Arc<[Excerpt]>>,
    bytes: usize,
}

impl Library {
    /// Splits and indexes documents. Takes about 80 µs per passage.
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

    /// Returns whether replies get the documents as a whole.
    pub fn is_small(&self) -> bool {
        self.whole.is_some()
    }

    /// Returns all passages.
    pub fn passages(&self) -> &[Passage] {
        &self.passages
    }

    /// Returns a passage with the name of its document and its heading, as used for comparison by meaning.
    pub fn told(&self, passage: usize) -> Option<String> {
        let excerpt = self.excerpt(passage)?;
        Some(format!("{}\n{}\n{}", excerpt.document, excerpt.heading, excerpt.text))
    }

    /// Returns the approximate memory use, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the best passages by words (BM25), best first, at most `most`.
    pub fn search(&self, question: &Question, most: usize) -> Vec<Hit> {
        self.index.search(question, most)
    }

    /// Returns the knowledge for a reply from the passages that were found.
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

    /// Returns the best passages that fit into the limits together.
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

    /// Returns a passage by its index.
    pub fn excerpt(&self, passage: usize) -> Option<Excerpt> {
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
