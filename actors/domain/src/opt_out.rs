//! Whether somebody asks never to be called again, by words alone: in English, Hindi in either script, Spanish, French
//! and German, whatever language the call is held in and whichever model speaks for the agent.
//!
//! Each language is a table of patterns; a wish that is for some time only, of somebody else, or told of the past is none.

mod answer;
mod english;
mod french;
mod german;
mod hindi;
mod pattern;
mod spanish;
mod words;

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

pub use self::answer::answer;
use self::{
    pattern::{Language, Table},
    words::clauses,
};

/// How sure a wish never to be called again is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// It may be meant: worth asking once.
    Likely,
    /// It was asked for in as many words.
    Clear,
}

static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let tables: [&Table; 5] = [
        &english::TABLE,
        &hindi::TABLE,
        &spanish::TABLE,
        &french::TABLE,
        &german::TABLE,
    ];
    tables.into_iter().map(Language::of).collect()
});

/// The wish never to be called again in an utterance, if there is one.
pub fn wish(text: &str) -> Option<Wish> {
    let clauses = clauses(text);
    LANGUAGES.iter().filter_map(|language| language.wish(&clauses)).max()
}
