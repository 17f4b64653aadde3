//! Finds the sentences that answer a question, for an agent without a language model. They are quoted from
//! the documents, and only if they certainly match.

use std::collections::BTreeSet;

use super::{
    Excerpt, Library,
    index::Hit,
    language::{self, Language},
    question::Question,
    sentence, words,
};

/// Share of the question that a passage must cover, weighted by the significance of each word.
const SURE: f32 = 0.5;

/// Number of passages examined.
const PASSAGES: usize = 3;

/// Longest sentence that is said, in characters; nobody listens to a longer one on the phone.
const SENTENCE_CHARACTERS: usize = 280;

/// Longest answer, in characters, that includes the sentence after the best one.
const SPOKEN_CHARACTERS: usize = 240;

/// A word of the question: the terms it may be, and its significance.
type Asked = (BTreeSet<Box<str>>, f32);

/// A sentence that may be said.
struct Sentence<'a> {
    text: &'a str,
    terms: BTreeSet<Box<str>>,
}

/// Returns the documents' answer to a question, if there is one.
pub(super) fn answer(library: &Library, question: &Question, hits: &[Hit]) -> Option<String> {
    let asked: Vec<Asked> = library
        .index
        .asked(&question.words)
        .into_iter()
        .map(|terms| {
            let worth = library.index.worth(&terms);
            (terms, worth)
        })
        .collect();
    let wanted: f32 = asked.iter().map(|(_, worth)| worth).sum();
    if asked.is_empty() {
        return None;
    }
    let passages = hits
        .iter()
        .take(PASSAGES)
        .map(|hit| best_of(library, &asked, hit.passage));
    let mut best: Option<(f32, String)> = None;
    for (score, words) in passages.flatten() {
        if best.as_ref().is_none_or(|(before, _)| score > *before) {
            best = Some((score, words));
        }
    }
    best.filter(|(score, _)| *score >= SURE * wanted)
        .map(|(_, words)| words)
}

/// Returns the best sentence of a passage with the one after it, and how much of the question they and their
/// headings cover.
fn best_of(library: &Library, asked: &[Asked], passage: usize) -> Option<(f32, String)> {
    let excerpt = library.excerpt(passage)?;
    let languages = library.index.languages();
    let mut above = terms(languages, &excerpt.document);
    above.extend(terms(languages, &excerpt.heading));
    let sentences = sentences(languages, &excerpt);
    let covered = |speaks: &dyn Fn(&BTreeSet<Box<str>>) -> bool| -> f32 {
        asked
            .iter()
            .filter(|(wanted, _)| speaks(wanted))
            .map(|(_, worth)| worth)
            .sum()
    };
    // Prefer, among sentences under the same headings, the one that contains the words itself.
    let mut best: Option<((f32, f32), usize)> = None;
    for (at, sentence) in sentences.iter().enumerate() {
        let own = covered(&|wanted| !sentence.terms.is_disjoint(wanted));
        let all = covered(&|wanted| !sentence.terms.is_disjoint(wanted) || !above.is_disjoint(wanted));
        let is_short = sentence.text.chars().count() <= SENTENCE_CHARACTERS;
        if is_short && all > 0.0 && best.is_none_or(|(before, _)| (all, own) > before) {
            best = Some(((all, own), at));
        }
    }
    let ((score, _), at) = best?;
    let first = sentences.get(at)?.text;
    let next = sentences.get(at + 1).map(|next| next.text);
    let next = next.filter(|next| first.chars().count() + next.chars().count() <= SPOKEN_CHARACTERS);
    let spoken: Vec<String> = [Some(first), next].into_iter().flatten().map(ended).collect();
    Some((score, spoken.join(" ")))
}

/// Returns the sentences of a passage that may be said. A question belongs to the sentence after it, as in
/// lists of questions and answers.
fn sentences<'a>(languages: &[Language], excerpt: &'a Excerpt) -> Vec<Sentence<'a>> {
    let mut sentences: Vec<Sentence<'_>> = Vec::new();
    let mut before = BTreeSet::new();
    for (_, text) in sentence::bounds(&excerpt.text) {
        let text = spoken(text);
        let mut said = terms(languages, text);
        if text.ends_with('?') {
            before = said;
        } else if !text.is_empty() && !is_heading(text, &excerpt.heading) {
            said.append(&mut before);
            sentences.push(Sentence { text, terms: said });
        }
    }
    sentences
}

fn terms(languages: &[Language], text: &str) -> BTreeSet<Box<str>> {
    let terms =
        language::tokens(text).flat_map(|token| languages.iter().map(move |language| words::term(&token, *language)));
    terms.collect()
}

/// Returns a line without the marks of a list.
fn spoken(text: &str) -> &str {
    text.trim()
        .trim_start_matches(['-', '*', '\u{2022}', '#', '>', ' '])
        .trim_end_matches(['*', ' '])
}

fn is_heading(text: &str, heading: &str) -> bool {
    !heading.is_empty() && text.trim_end_matches([':', '*', '_']).ends_with(heading)
}

/// Returns the text with a full stop at its end, so that the next text is a sentence of its own.
fn ended(text: &str) -> String {
    match text.ends_with(['.', '!', '?', '\u{2026}', '\u{964}']) {
        true => text.to_owned(),
        false => format!("{}.", text.trim_end_matches([',', ';', ':', ' '])),
    }
}
