//! Interprets the answer to the question whether somebody never wants to be called again.

use super::words::clauses;
use crate::spoken;

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
        let is = |meant: &[&str]| spoken::tokens(word).any(|token| meant.contains(&token));
        match (is(&["<no>", "<not>"]), is(&["<yes>"])) {
            (true, _) => Some(false),
            (_, true) => Some(true),
            _ => None,
        }
    })
}
