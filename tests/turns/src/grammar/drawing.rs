//! Draws a sentence from a template.

use super::{
    Grammar,
    template::{Node, Template},
};
use crate::{
    chance::Chance,
    sentence::{Part, Sentence, Word, ends_sentence},
};

/// Shortest and longest pause in milliseconds.
const PAUSE_MS: std::ops::RangeInclusive<u64> = 200..=2_500;

/// Draws a sentence.
pub(super) fn draw(grammar: &Grammar, template: &Template, pace: f64, chance: &mut Chance) -> Sentence {
    let mut drawing = Drawing {
        grammar,
        pace,
        chance,
        used: Vec::new(),
        text: String::new(),
        sentence: Sentence::default(),
    };
    drawing.nodes(&template.nodes);
    drawing.finish()
}

struct Drawing<'a> {
    grammar: &'a Grammar,
    pace: f64,
    chance: &'a mut Chance,
    /// Lists and places of the things that the sentence has named.
    used: Vec<(&'a str, usize)>,
    /// Text since the last pause.
    text: String,
    sentence: Sentence,
}

impl<'a> Drawing<'a> {
    fn nodes(&mut self, nodes: &'a [Node]) {
        for node in nodes {
            match node {
                Node::Text(text) => self.text.push_str(text),
                Node::Choice(choices) => {
                    let at = self.chance.index(choices.len());
                    if let Some(choice) = choices.get(at) {
                        self.nodes(choice);
                    }
                }
                Node::Item(list) => {
                    if let Some(item) = self.item(list) {
                        self.text.push_str(item);
                    }
                }
                Node::Digits(from, to) => {
                    let count = self.chance.between(*from, *to);
                    self.row("digit", count);
                }
                Node::Groups(from, to) => self.groups(*from, *to),
                Node::Pairs(from, to) => self.pairs(*from, *to),
                Node::Spell(list) => self.spell(list),
                Node::Pause { from_ms, to_ms, whole } => self.pause(*from_ms, *to_ms, *whole),
            }
        }
    }

    /// Draws something of a list that the sentence has not named yet.
    fn item(&mut self, list: &'a str) -> Option<&'a str> {
        let items = self.grammar.lists.get(list)?;
        let is_free = |at: &usize| !self.used.contains(&(list, *at));
        let mut free: Vec<usize> = (0..items.len()).filter(is_free).collect();
        if free.is_empty() {
            free = (0..items.len()).collect();
        }
        let at = *self.chance.pick(&free)?;
        // A digit may come again.
        if list != "digit" {
            self.used.push((list, at));
        }
        items.get(at).map(String::as_str)
    }

    /// Adds `count` things of a list that may come again.
    fn row(&mut self, list: &str, count: u64) {
        let Some(items) = self.grammar.lists.get(list) else {
            return;
        };
        for at in 0..count {
            if at > 0 {
                self.text.push(' ');
            }
            if let Some(item) = self.chance.pick(items) {
                self.text.push_str(item);
            }
        }
    }

    /// Adds digits in groups. Some people use groups of one size, and each has a pace of their own.
    fn groups(&mut self, from: u64, to: u64) {
        let mut left = self.chance.between(from, to);
        let even = self.chance.happens(0.5).then(|| self.chance.between(2, 4));
        let pace = self.chance.between(250, 900);
        loop {
            let size = even.unwrap_or_else(|| self.chance.between(1, 4)).min(left);
            self.row("digit", size);
            left -= size;
            if left == 0 {
                return;
            }
            self.pause(pace * 3 / 4, pace * 4 / 3, false);
        }
    }

    fn pairs(&mut self, from: u64, to: u64) {
        let count = self.chance.between(from, to);
        let pace = self.chance.between(250, 900);
        for at in 0..count {
            if at > 0 {
                self.pause(pace * 3 / 4, pace * 4 / 3, false);
            }
            self.row("pair", 1);
        }
    }

    /// Adds the letters of something, with pauses after a few.
    fn spell(&mut self, list: &'a str) {
        let Some(item) = self.meant(list).or_else(|| self.item(list)) else {
            return;
        };
        let letters: Vec<char> = item.chars().filter(|c| c.is_alphabetic()).collect();
        let pace = self.chance.between(220, 700);
        let mut until = self.chance.between(2, 5);
        for (at, letter) in letters.iter().enumerate() {
            let at = at as u64;
            if at == until {
                self.pause(pace * 3 / 4, pace * 4 / 3, false);
                until += self.chance.between(1, 5);
            } else if at > 0 {
                self.text.push(' ');
            }
            let name = self.letter(*letter);
            self.text.push_str(&name);
        }
    }

    /// Returns the entry of a list that belongs to something which the sentence has named: itself, the surname in
    /// a name, or the entry at the same place of the list of surnames.
    fn meant(&self, list: &str) -> Option<&'a str> {
        let items = self.grammar.lists.get(list)?;
        if let Some((_, at)) = self.used.iter().rev().find(|(used, _)| *used == list) {
            return items.get(*at).map(String::as_str);
        }
        let surnames = self.grammar.lists.get("surname")?;
        let (used, at) = self
            .used
            .iter()
            .rev()
            .find(|(used, _)| matches!(*used, "name" | "surname"))?;
        let named = self.grammar.lists.get(*used)?.get(*at)?;
        let place = surnames.iter().position(|surname| named.ends_with(surname.as_str()))?;
        items.get(place).map(String::as_str)
    }

    /// Returns the name of a letter.
    fn letter(&self, letter: char) -> String {
        let lower: String = letter.to_lowercase().collect();
        let mut names = self.grammar.lists.get("letter").into_iter().flatten();
        let name = names.find_map(|entry| entry.split_once(' ').filter(|(of, _)| *of == lower));
        name.map_or_else(|| letter.to_uppercase().collect(), |(_, name)| name.to_owned())
    }

    fn pause(&mut self, from_ms: u64, to_ms: u64, whole: bool) {
        self.flush();
        let ms = (self.chance.between(from_ms, to_ms) as f64 * self.pace) as u64;
        let ms = ms.clamp(*PAUSE_MS.start(), *PAUSE_MS.end());
        if let Some(Part::Word(_)) = self.sentence.parts.last() {
            self.sentence.parts.push(Part::Pause { ms, whole });
        }
    }

    /// Adds the words since the last pause. A sentence begins with a capital.
    fn flush(&mut self) {
        for written in std::mem::take(&mut self.text).split_whitespace() {
            let filler = written.starts_with('~');
            let mut text = written.trim_start_matches('~').to_owned();
            if self
                .sentence
                .words()
                .last()
                .is_none_or(|word| ends_sentence(&word.text))
            {
                text = capitalised(&text);
            }
            // Punctuation that stands alone, as in French, belongs to the word before.
            match self.sentence.parts.last_mut() {
                Some(Part::Word(before)) if text.chars().all(crate::sentence::is_punctuation) => {
                    before.text.push_str(&text);
                }
                _ => self.sentence.parts.push(Part::Word(Word { text, filler })),
            }
        }
    }

    fn finish(mut self) -> Sentence {
        self.flush();
        while let Some(Part::Pause { .. }) = self.sentence.parts.last() {
            self.sentence.parts.pop();
        }
        self.sentence
    }
}

/// Returns a word whose first letter is a capital.
fn capitalised(word: &str) -> String {
    let mut done = false;
    let raise = |c: char| -> String {
        if done || !c.is_alphabetic() {
            return c.to_string();
        }
        done = true;
        c.to_uppercase().collect()
    };
    word.chars().map(raise).collect()
}
