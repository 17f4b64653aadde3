//! Interprets the answer to the question whether somebody never wants to be called again.

use crate::spoken::{self, clauses};

/// Languages in which somebody may answer, whatever the agent's is.
const LANGUAGES: [&str; 5] = ["en", "hi", "es", "fr", "de"];

/// Returns the answer given by the first word that is a yes or a no. The French "tout à fait" and "c'est ça"
/// count as yes.
pub fn answer(text: &str) -> Option<bool> {
    let words: Vec<String> = clauses(text).into_iter().flatten().collect();
    let said = words.join(" ");
    if [
        "tout a fait",
        "c est ca",
        "de acuerdo",
        "d accord",
        "auf jeden fall",
        "of course",
    ]
    .iter()
    .any(|phrase| said.starts_with(phrase))
    {
        return Some(true);
    }
    words.iter().find_map(|word| {
        let tokens = LANGUAGES.iter().filter_map(|language| spoken::token(language, word));
        let is = |meant: &[&str]| tokens.clone().any(|token| meant.contains(&token));
        match (is(&["<no>", "<not>"]), is(&["<yes>", "<please>"])) {
            (true, _) => Some(false),
            (_, true) => Some(true),
            _ => None,
        }
    })
}
