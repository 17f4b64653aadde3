//! The sentences that answer a question, for an agent without a language model: taken from the documents word for word,
//! and only where they surely fit.

use std::collections::BTreeSet;

use super::{Excerpt, Hit, Library, Question, language::Language, sentence, words};

/// Share of what is asked for that a passage has to speak of, weighed by how much each word says.
const SURE: f32 = 0.5;

/// Passages that are looked through.
const PASSAGES: usize = 3;

/// A longer sentence is not said: nobody listens to it on the telephone.
const SENTENCE_CHARACTERS: usize = 280;

/// The sentence after the best one goes along up to so many characters in all.
const SPOKEN_CHARACTERS: usize = 240;

/// A word that is asked for: the terms it may be, and how much it says.
type Asked = (BTreeSet<Box<str>>, f32);

/// A sentence that may be said.
struct Sentence<'a> {
    text: &'a str,
    terms: BTreeSet<Box<str>>,
}

/// Whether the documents answer a question, and with which words.
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

/// The best sentence of a passage, and the one after it, with how much of the question they and their headings cover.
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
    // Of sentences under the same headings the one that has the words itself.
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

/// What may be said of a passage. A question among its sentences belongs to the sentence after it, as in lists of questions
/// and answers.
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
        words::tokens(text).flat_map(|token| languages.iter().map(move |language| words::term(&token, *language)));
    terms.collect()
}

/// A line without what marks it in a list.
fn spoken(text: &str) -> &str {
    text.trim()
        .trim_start_matches(['-', '*', '\u{2022}', '#', '>', ' '])
        .trim_end_matches(['*', ' '])
}

fn is_heading(text: &str, heading: &str) -> bool {
    !heading.is_empty() && text.trim_end_matches([':', '*', '_']).ends_with(heading)
}

/// With a stop at its end, so that what is said next is a sentence of its own.
fn ended(text: &str) -> String {
    match text.ends_with(['.', '!', '?', '\u{2026}', '\u{964}']) {
        true => text.to_owned(),
        false => format!("{}.", text.trim_end_matches([',', ';', ':', ' '])),
    }
}
