//! Words that still count at the end of a turn, after its negations and corrections, and its yes or no.

use super::word::Word;

/// Returns whether a word only links others, or says nothing.
pub(crate) fn is_link(word: &Word) -> bool {
    let tokens = [
        "<at>", "<to>", "<past>", "<in>", "<and>", "<as>", "<the>", "<um>", "<th>", "<this>", "<yes>", "<fine>", "<h>",
        "<next>", "<date>", "<1>", "<a>", "<pm>", "<am>", "ⓤ",
    ];
    word.is(&tokens) || crate::knowledge::is_function_word(&word.text)
}

/// Returns the answer that the first yes or no gives. A word such as "good" answers only in a few words, and a "please"
/// only alone. "Absolutely not" is a no.
pub(crate) fn yes_or_no(words: &[Word]) -> Option<bool> {
    let is_answer =
        |word: &Word| word.is(&Word::YES) || word.is(&Word::NO) || word.is(&["<please>"]) && words.len() == 1;
    let at = words.iter().position(is_answer)?;
    let first = words.get(at)?;
    let is_denied = words
        .get(at + 1)
        .is_some_and(|next| next.clause == first.clause && next.is(&Word::NO));
    let answers = !first.is(&["<fine>"]) || words.len() <= 6;
    answers.then(|| !first.is(&Word::NO) && !is_denied)
}

/// Returns whether a word takes back what was said before it.
pub(crate) fn is_correction(words: &[Word], at: usize) -> bool {
    let Some(word) = words.get(at) else { return false };
    let is_beside = |other: Option<&Word>| other.is_some_and(|other| other.clause == word.clause);
    let first = !is_beside(at.checked_sub(1).and_then(|at| words.get(at)));
    let alone = first && !is_beside(words.get(at + 1));
    word.is(&["<fix>"]) || word.is(&["<no>"]) && first || word.is(&["<not>"]) && alone
}

/// Returns the words with those left empty that the speaker negated, corrected or left open.
pub(crate) fn settled(words: &[Word]) -> Vec<Word> {
    let clauses: Vec<&[Word]> = words.chunk_by(|a, b| a.clause == b.clause).collect();
    let stands = |(at, clause): (usize, &&[Word])| !is_negated(clause, clauses.get(at + 1)) && !is_open(clause);
    let stands: Vec<bool> = clauses.iter().enumerate().map(stands).collect();
    let lengths = clauses.iter().map(|clause| clause.len());
    let stands = lengths
        .zip(stands)
        .flat_map(|(length, stands)| std::iter::repeat_n(stands, length));
    let mut kept = words.to_vec();
    kept.iter_mut()
        .zip(stands)
        .filter(|(_, stands)| !stands)
        .for_each(|(word, _)| word.text.clear());
    for at in (0..words.len()).filter(|at| is_correction(words, *at)) {
        let later = &words[at + 1..];
        let anew = later.iter().all(|word| word.kind().is_none()) && (1..=2).contains(&later.len());
        let clause = words.get(at).map_or(0, |word| word.clause);
        for word in kept.iter_mut().take(at) {
            let is_old = word.kind().is_some() && later.iter().any(|new| new.kind() == word.kind());
            if is_old || anew && word.clause + 1 >= clause {
                word.text.clear();
            }
        }
    }
    kept
}

/// Returns whether a clause is negated, by itself or by the next one: "Tuesday? That doesn't work."
fn is_negated(clause: &[Word], next: Option<&&[Word]>) -> bool {
    let is_no = |word: &Word| word.is(&Word::NO);
    let begun = usize::from(clause.first().is_some_and(|word| word.is(&["<no>"])));
    let bare = clause
        .iter()
        .all(|word| word.kind().is_some() || is_link(word) && !word.is(&Word::YES));
    let denies = |next: &&[Word]| {
        next.len() <= 4 && next.iter().any(is_no) && !(next.len() > 1 && next.first().is_some_and(is_no))
    };
    clause.len() > 1 && clause.iter().skip(begun).any(is_no) || bare && next.is_some_and(denies)
}

/// Returns whether a clause leaves a choice open: "four or five".
fn is_open(clause: &[Word]) -> bool {
    clause.iter().any(|word| word.is(&["<or>"]))
        && clause.iter().any(|word| clause.iter().any(|other| word.rivals(other)))
}
