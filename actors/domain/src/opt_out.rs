//! Detects the wish never to be called again, by words alone. It works in English, Hindi in both scripts,
//! Spanish, French and German, whatever the language of the call and whichever model speaks for the agent.
//!
//! Each language is a table of patterns. A wish that is limited in time, belongs to somebody else, or is
//! reported about the past does not count.

mod answer;
mod english;
mod french;
mod german;
mod hindi;
mod pattern;
mod spanish;

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use self::pattern::{Language, Table};
pub use self::{answer::answer, pattern::Wish};
use crate::spoken::clauses;

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

/// Returns the wish never to be called again in an utterance, if there is one.
pub fn wish(text: &str) -> Option<Wish> {
    let clauses = clauses(text);
    LANGUAGES.iter().filter_map(|language| language.wish(&clauses)).max()
}
