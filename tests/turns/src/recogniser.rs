//! A speech recogniser that knows the script. It hands out each word after it was said, late and with errors, as
//! the recognisers of the field do; the audio does not matter to it.

mod manner;
mod text;

use std::{cmp::Ordering, collections::VecDeque};

use media::session::AudioSession;

pub use manner::{MANNERS, Manner};
use text::Heard;

use crate::{chance::Chance, voice::SpokenWord};

/// Shortest word of which a part is shown while it is said.
const PARTIAL_FROM: usize = 5;

/// A final that will be sent.
#[derive(Debug, Clone, Copy)]
struct Final {
    due_ms: u64,
    /// Number of the first word that it does not contain.
    to: usize,
    /// Whether it answers a request, which it does even without words.
    requested: bool,
}

/// The recogniser of one call.
pub struct Recogniser<'a> {
    manner: &'a Manner,
    chance: Chance,
    /// Words of digits in order, to be written as numerals.
    digits: &'a [String],
    /// Words for which others are mistaken.
    confusions: Vec<String>,
    /// Factor of the errors: noise makes more of them.
    errors: f64,
    /// All words of the call so far.
    words: Vec<Heard>,
    /// Number of the first word that is not final.
    open: usize,
    finals: VecDeque<Final>,
    /// Interim that was sent last, its time, and the earliest time of the next one.
    shown: String,
    shown_ms: u64,
    next_ms: u64,
}

impl<'a> Recogniser<'a> {
    /// Creates a recogniser of a manner. In noise it makes twice as many errors.
    pub fn new(
        manner: &'a Manner,
        digits: &'a [String],
        confusions: Vec<String>,
        is_noisy: bool,
        chance: Chance,
    ) -> Self {
        Self {
            manner,
            chance,
            digits,
            confusions,
            errors: if is_noisy { 2.0 * manner.errors } else { manner.errors },
            words: Vec::new(),
            open: 0,
            finals: VecDeque::new(),
            shown: String::new(),
            shown_ms: 0,
            next_ms: 0,
        }
    }

    /// Takes the words of a speech that begins at a time.
    pub fn hear(&mut self, words: &[SpokenWord], start_ms: u64) {
        let first = self.words.len();
        for word in words {
            if let Some(heard) = self.understand(word, start_ms) {
                self.words.push(heard);
            }
        }
        self.plan_own_finals(first);
    }

    /// Takes a sound without words, which it now and then mistakes for a word.
    pub fn hear_sound(&mut self, from_ms: u64, to_ms: u64) {
        if self.chance.happens(self.errors)
            && let Some(text) = self.chance.pick(&self.confusions).cloned()
        {
            let word = SpokenWord {
                text,
                filler: false,
                from_ms,
                to_ms,
                before_pause: true,
            };
            self.hear(&[word], 0);
        }
    }

    /// Takes the request for final words.
    pub fn finalize(&mut self, now_ms: u64) {
        let to = self.words.partition_point(|word| word.to_ms <= now_ms);
        let reply_ms = match self.manner.interims {
            true => self.manner.delay_ms / 4,
            false => self.manner.draw_delay(&mut self.chance),
        };
        let last = self.words[self.open.min(to)..to].last();
        let known_ms = last.map_or(0, |word| word.known_ms);
        self.plan(Final {
            due_ms: known_ms.max(now_ms + reply_ms),
            to,
            requested: true,
        });
    }

    /// Returns the time of the next result, if one is to come.
    pub fn next_due(&self) -> Option<u64> {
        let settled = self.finals.front().map(|settled| settled.due_ms);
        [settled, self.next_interim()].into_iter().flatten().min()
    }

    /// Passes the result that is due on to the session.
    pub fn deliver(&mut self, now_ms: u64, session: &mut AudioSession) {
        if self.finals.front().is_none_or(|settled| settled.due_ms > now_ms) {
            self.interim(now_ms, session);
            return;
        }
        let Some(settled) = self.finals.pop_front() else {
            return;
        };
        let words = &self.words[self.open.min(settled.to)..settled.to];
        if words.is_empty() && !settled.requested {
            return;
        }
        let text = text::settled(words, self.manner);
        self.open = self.open.max(settled.to);
        // Words behind these are shown anew.
        self.shown.clear();
        self.shown_ms = 0;
        session.settled(&text, false, now_ms);
    }

    fn interim(&mut self, now_ms: u64, session: &mut AudioSession) {
        self.shown_ms = now_ms;
        self.next_ms = now_ms + self.manner.interval_ms;
        let text = text::interim(&self.words[self.open..], self.manner, now_ms);
        if text != self.shown && !text.is_empty() {
            session.interim(&text, now_ms);
            self.shown = text;
        }
    }

    /// Returns the time at which the words not yet final look different for the next time.
    fn next_interim(&self) -> Option<u64> {
        if !self.manner.interims {
            return None;
        }
        let changes = self.words[self.open..].iter().flat_map(Heard::changes);
        let next = changes.filter(|at| *at > self.shown_ms).min()?;
        Some(next.max(self.next_ms))
    }

    /// Returns a word as it will be shown, or `None` if it is missed.
    fn understand(&mut self, word: &SpokenWord, start_ms: u64) -> Option<Heard> {
        if word.filler && !self.manner.fillers {
            return None;
        }
        let (from_ms, to_ms) = (start_ms + word.from_ms, start_ms + word.to_ms);
        let before_ms = self.words.last().map_or(0, |word| word.known_ms);
        let delay_ms = self.manner.draw_delay(&mut self.chance);
        let known_ms = before_ms.max(to_ms + delay_ms);
        let written = text::written(word, self.manner, self.digits, &mut self.chance);
        let is_wrong = self.chance.happens(self.errors);
        let is_wrong_at_first = self.chance.happens(self.errors);
        let other = self.chance.pick(&self.confusions).cloned();
        let mut heard = Heard {
            first: written.clone(),
            text: written,
            part: None,
            from_ms,
            to_ms,
            known_ms,
            corrected_ms: known_ms,
        };
        match other {
            Some(_) if is_wrong && self.chance.happens(0.33) => return None,
            Some(other) if is_wrong => {
                heard.first.clone_from(&other);
                heard.text = other;
            }
            Some(other) if is_wrong_at_first => {
                heard.first = other;
                heard.corrected_ms = known_ms + self.manner.interval_ms.max(150);
            }
            _ => {}
        }
        let length = heard.first.chars().count();
        if self.manner.partials && length >= PARTIAL_FROM {
            let part = heard.first.chars().take(length / 2 + 1).collect();
            heard.part = Some((part, before_ms.max(from_ms.midpoint(to_ms) + delay_ms)));
        }
        Some(heard)
    }

    /// Plans the finals that it sends of itself after silences.
    fn plan_own_finals(&mut self, first: usize) {
        let Some(silence_ms) = self.manner.own_finals_ms else {
            return;
        };
        for at in first..self.words.len() {
            let word = &self.words[at];
            let silent_ms = word.to_ms + silence_ms;
            let is_silent = |next: &Heard| next.from_ms > silent_ms;
            if self.words.get(at + 1).is_none_or(is_silent) {
                let due_ms = word.known_ms.max(silent_ms);
                self.plan(Final {
                    due_ms,
                    to: at + 1,
                    requested: false,
                });
            }
        }
    }

    /// Keeps the finals in the order of their times.
    fn plan(&mut self, settled: Final) {
        let at = self
            .finals
            .partition_point(|other| other.due_ms.cmp(&settled.due_ms) != Ordering::Greater);
        self.finals.insert(at, settled);
    }
}
