//! Splits a text into sentences by Unicode's rules.

use unicode_segmentation::UnicodeSegmentation;

/// Most letters of an abbreviation's last part, as in `e.g.` and `Dr.`, after which a sentence may continue.
const ABBREVIATION_LETTERS: usize = 2;

/// Returns the sentences with the white space after them, each with its position. The end of a line also ends
/// a sentence. Nothing is lost.
pub fn bounds(text: &str) -> Vec<(usize, &str)> {
    let mut sentences: Vec<(usize, &str)> = Vec::new();
    for (at, sentence) in text.split_sentence_bound_indices() {
        match sentences.last_mut() {
            Some((start, before)) if goes_on(before) => {
                *before = text.get(*start..at + sentence.len()).unwrap_or(before);
            }
            _ => sentences.push((at, sentence)),
        }
    }
    sentences
}

/// Returns whether the full stop at a sentence's end belongs to an abbreviation.
fn goes_on(sentence: &str) -> bool {
    let Some(words) = sentence.trim_end_matches(' ').strip_suffix('.') else {
        return false;
    };
    let last = words.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let letters = last.chars().count();
    let abbreviated = (1..=ABBREVIATION_LETTERS).contains(&letters) && words.len() > last.len();
    abbreviated && (letters == 1 || last.starts_with(char::is_uppercase))
}
