//! Examples from which the weights are learned.

use std::collections::BTreeSet;

use media::turn::barge_in::floor::tokens;

use crate::{
    chance::Chance,
    grammar::{Grammar, GrammarError, OverlapKind, Template},
    language::{Language, Third, grammar},
};

/// Stands for a word that is not in the table.
pub(super) const UNKNOWN: &str = "?";

/// Draws of each sentence.
const DRAWS: usize = 40;

/// Share of the words that a recogniser gets wrong.
const ERRORS: f64 = 0.08;

/// Share of the words that are treated as unknown, so that it is learned what such a word tells.
const STRANGE: f64 = 0.15;

/// Share of the nods of which a recogniser hears one word that was not said, as of a cough.
const MISHEARD: f64 = 0.15;

/// Weight of the pieces of longer turns against interruptions.
const PIECES: f64 = 0.3;

/// Kinds of turns whose words tell the agent something of the caller's own accord.
const KINDS: [&str; 6] = ["request", "story", "hesitation", "correction", "thinking", "date"];

/// An example.
#[derive(Debug, Clone)]
pub(super) struct Example {
    pub(super) tokens: Vec<String>,
    /// Whether it takes the floor.
    pub(super) takes: bool,
    pub(super) weight: f64,
    /// Whether it is a whole sentence without errors.
    pub(super) is_whole: bool,
}

/// Draws the examples of all languages, in a random order.
pub(super) fn examples(seed: u64) -> Result<Vec<Example>, GrammarError> {
    let mut all = Vec::new();
    for language in Language::ALL {
        let mut drawing = Drawing::new(seed, language, grammar(language, Third::Tune)?);
        drawing.overlaps(&[OverlapKind::Interruption], true);
        drawing.overlaps(&[OverlapKind::Nod, OverlapKind::OkayNod], false);
        drawing.pieces();
        all.extend(drawing.examples);
    }
    Chance::new(seed, "order").shuffle(&mut all);
    Ok(all)
}

struct Drawing {
    grammar: Grammar,
    chance: Chance,
    /// Words that stand in the sentences themselves, not in lists such as names.
    known: BTreeSet<String>,
    /// Words for which a recogniser takes others.
    confusions: Vec<String>,
    examples: Vec<Example>,
}

impl Drawing {
    fn new(seed: u64, language: Language, grammar: Grammar) -> Self {
        let known = grammar.templates().flat_map(own_words).collect();
        let mut drawing = Self {
            chance: Chance::new(seed, &format!("words {language}")),
            known,
            confusions: Vec::new(),
            examples: Vec::new(),
            grammar,
        };
        let grammar = drawing.grammar.clone();
        for template in grammar.templates() {
            let words = drawing.draw(template);
            drawing.confusions.extend(words);
        }
        drawing
    }

    fn draw(&mut self, template: &Template) -> Vec<String> {
        let sentence = self.grammar.draw(template, 1.0, &mut self.chance);
        let words: Vec<&str> = sentence.words().map(|word| word.text.as_str()).collect();
        tokens(&words.join(" "))
    }

    fn overlaps(&mut self, kinds: &[OverlapKind], takes: bool) {
        let grammar = self.grammar.clone();
        let templates = kinds.iter().flat_map(|kind| grammar.overlaps(*kind));
        let drawn: Vec<Vec<Vec<String>>> = templates
            .map(|template| (0..DRAWS).map(|_| self.draw(template)).collect())
            .collect();
        // A template of many sentences counts more, but not as much as so many templates.
        let counts = drawn.iter().map(|draws| draws.iter().collect::<BTreeSet<_>>().len());
        let counts: Vec<f64> = counts.map(|count| (count as f64).sqrt()).collect();
        let whole = counts.iter().sum::<f64>() * DRAWS as f64;
        for (draws, count) in drawn.into_iter().zip(counts) {
            let weight = count / whole;
            for words in draws {
                self.add(words.clone(), takes, weight, true);
                if takes && words.len() > 2 {
                    // So much may be known when it is decided.
                    let length = self.chance.between(2, words.len() as u64 - 1) as usize;
                    self.add(words.into_iter().take(length).collect(), takes, weight / 2.0, false);
                } else if !takes && self.chance.happens(MISHEARD) {
                    let word = self.chance.pick(&self.confusions).cloned();
                    self.add(word.into_iter().collect(), takes, weight, false);
                }
            }
        }
    }

    /// Adds two to five successive words of longer turns: whoever says them wants to speak.
    fn pieces(&mut self) {
        let grammar = self.grammar.clone();
        let rules: Vec<_> = KINDS
            .iter()
            .filter_map(|kind| grammar.turns().get(*kind))
            .flatten()
            .collect();
        let weight = PIECES / (rules.len() * DRAWS) as f64;
        for rule in rules {
            for _ in 0..DRAWS {
                let words = self.draw(&rule.template);
                let length = (self.chance.between(2, 5) as usize).min(words.len());
                let from = self.chance.index(words.len() - length + 1);
                self.add(words[from..from + length].to_vec(), true, weight, false);
            }
        }
    }

    /// Adds an example with the errors of a recogniser.
    fn add(&mut self, words: Vec<String>, takes: bool, weight: f64, is_whole: bool) {
        let mut tokens = Vec::new();
        let mut has_errors = false;
        for mut word in words {
            if self.chance.happens(ERRORS) {
                has_errors = true;
                word = self.chance.pick(&self.confusions).cloned().unwrap_or(word);
            }
            if self.chance.happens(STRANGE) || !self.known.contains(&word) {
                word = UNKNOWN.to_owned();
            }
            tokens.push(word);
        }
        self.examples.push(Example {
            tokens,
            takes,
            weight,
            is_whole: is_whole && !has_errors,
        });
    }
}

/// Words that a template names itself.
fn own_words(template: &Template) -> Vec<String> {
    let (mut text, mut depth) = (String::new(), 0);
    for c in template.source().chars() {
        match c {
            '{' | '<' => depth += 1,
            '}' | '>' => depth -= 1,
            '(' | ')' | '|' | '~' => text.push(' '),
            c if depth == 0 => text.push(c),
            _ => {}
        }
    }
    tokens(&text)
}
