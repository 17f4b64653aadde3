//! Words that tell whether a turn ends behind them.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    corpus::{Conversation, Item},
    sentence::{Part, bare, ends_sentence},
};

/// Fewest occurrences of a word.
const FEWEST: u32 = 6;

/// Fewest kinds of turns in which it occurs: names of one subject are not learned.
const KINDS: usize = 3;

/// Occurrences that are assumed before any is seen.
const ASSUMED: f64 = 4.0;

/// Score of log odds of 1.
const UNIT: f64 = 24.0;

#[derive(Default)]
struct Uses<'a> {
    ends: u32,
    all: u32,
    kinds: BTreeSet<&'a str>,
}

/// Scores of words.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lexicon(BTreeMap<String, i8>);

impl Lexicon {
    /// Learns from all turns.
    pub(super) fn of(conversations: &[Conversation]) -> Self {
        Self::learned(conversations, |_| true)
    }

    /// Learns from all turns but those of a kind.
    pub(super) fn without(conversations: &[Conversation], kind: &str) -> Self {
        Self::learned(conversations, |other| other != kind)
    }

    /// Returns the number of words.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the words with their scores.
    pub(super) fn words(&self) -> impl Iterator<Item = (&str, i8)> {
        self.0.iter().map(|(word, score)| (word.as_str(), *score))
    }

    fn learned(conversations: &[Conversation], is_wanted: impl Fn(&str) -> bool) -> Self {
        let mut uses: BTreeMap<String, Uses> = BTreeMap::new();
        let (mut ends, mut all) = (0, 0);
        let items = conversations.iter().flat_map(|conversation| &conversation.items);
        for item in items {
            let Item::Turn { kind, sentence, .. } = item else {
                continue;
            };
            if !is_wanted(kind) {
                continue;
            }
            for (at, part) in sentence.parts.iter().enumerate() {
                let Part::Word(word) = part else { continue };
                let is_end = at + 1 == sentence.parts.len() || ends_sentence(&word.text);
                let uses = uses.entry(bare(&word.text)).or_default();
                uses.all += 1;
                uses.ends += u32::from(is_end);
                uses.kinds.insert(kind);
                all += 1;
                ends += u32::from(is_end);
            }
        }
        let usual = f64::from(ends) / f64::from(all).max(1.0);
        let score = |uses: &Uses| {
            let odds =
                (f64::from(uses.ends) + ASSUMED * usual) / (f64::from(uses.all - uses.ends) + ASSUMED * (1.0 - usual));
            (UNIT * (odds * (1.0 - usual) / usual).ln()).clamp(-127.0, 127.0) as i8
        };
        let known = uses
            .iter()
            .filter(|(word, uses)| uses.all >= FEWEST && uses.kinds.len() >= KINDS && word.len() < 48);
        Self(known.map(|(word, uses)| (word.clone(), score(uses))).collect())
    }
}
