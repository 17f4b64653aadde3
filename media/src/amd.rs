//! Detects who answered: a person, a mailbox, a menu or assistant, or an announcement. The detector is fed
//! with voice, words and beeps beside the conversation. It delays nobody, and changes its verdict when
//! somebody picks up in the middle of a greeting.
//!
//! A machine is never detected by its shape alone: words decide, and shape and beep only confirm them
//! (`judge`).

mod finding;
mod hints;
mod judge;
mod menu;
mod phrase;
mod shape;
#[cfg(test)]
mod tests;

pub use finding::{Finding, Reason, Verdict};
use hints::{Hints, normalised};
use judge::Evidence;
pub use menu::{announces_somebody, key_to_a_person, names_keys};
use phrase::Hint;
use shape::Shape;

use crate::turn::words::STOPS;

/// Time in milliseconds after the answer at which a greeting must have begun to be considered. Later,
/// somebody is talking with the agent.
pub const WINDOW_MS: u64 = 25_000;

/// Duration in milliseconds beyond which speech is not a greeting.
const LONGEST_GREETING_MS: u64 = 60_000;

/// Silence in milliseconds after the answer before nobody is assumed to be there.
const NO_SPEECH_MS: u64 = 10_000;

/// People answer with less speech than this, in milliseconds, ...
const SHORT_MS: u64 = 1_800;

/// ... and then wait at least this long, in milliseconds.
const WAITS_MS: u64 = 1_000;

/// Longest time in milliseconds from the last word to a beep of the greeting.
const BEEP_AFTER_MS: u64 = 3_000;

/// Most bytes of a greeting's words that are kept.
const MAX_BYTES: usize = 4_000;

/// Number of words from which a repeated sentence counts as read out by a machine.
const REPEATED_WORDS: usize = 8;

/// The three rising tones before an announcement, in Hz (ITU-T E.180).
const SPECIAL_TONES_HZ: [f32; 3] = [950.0, 1_400.0, 1_777.0];
/// Tolerance of their frequencies, as a share.
const SPECIAL_TONES_SPREAD: f32 = 0.05;
/// Longest time that the three tones take, in milliseconds.
const SPECIAL_TONES_MS: u64 = 1_600;

/// A single tone that has ended. Times are milliseconds of the stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tone {
    /// Frequency in Hz.
    pub frequency_hz: f32,
    /// Start of the tone.
    pub start_ms: u64,
    /// End of the tone.
    pub end_ms: u64,
    /// Whether no other tone sounded directly before or after it.
    pub alone: bool,
}

/// Detector that listens to the first words of a call. Times are milliseconds of the stream and never decrease.
#[derive(Debug, Clone, Default)]
pub struct Detector {
    shape: Shape,
    /// Normalised words of the greeting's turns that are over.
    said: String,
    /// Whether the last of these turns was a question.
    question: bool,
    repeated: bool,
    beep_ms: Option<u64>,
    tones: Vec<Tone>,
    verdict: Option<Verdict>,
    reason: Option<Reason>,
    /// Whether a person was once assumed to be on the line.
    was_human: bool,
    /// Whether nothing more can be detected.
    closed: bool,
}

impl Detector {
    /// Creates a detector that has heard nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a block of the line that ends at `at_ms`, with the start of the present voice and the voiced
    /// duration of the block.
    pub fn block(&mut self, onset_ms: Option<u64>, voiced_ms: u64, at_ms: u64) -> Option<Finding> {
        if self.closed {
            return None;
        }
        if voiced_ms > 0 {
            let onset_ms = onset_ms.unwrap_or_else(|| at_ms.saturating_sub(voiced_ms));
            if self.shape.voiced(onset_ms, at_ms) {
                self.forget_greeting();
            }
            return None;
        }
        self.silence(at_ms)
    }

    /// Takes the words so far of the user's turn, which may change.
    pub fn words(&mut self, text: &str, at_ms: u64) -> Option<Finding> {
        if self.closed || text.is_empty() || self.is_late() {
            return None;
        }
        self.shape.words(at_ms, at_ms);
        let evidence = self.evidence(text, false);
        self.judge(&evidence, at_ms)
    }

    /// Takes a turn of the user that is over.
    pub fn turn_ended(&mut self, text: &str, started_ms: u64, ended_ms: u64, at_ms: u64) -> Option<Finding> {
        if self.closed || text.trim().is_empty() {
            return None;
        }
        self.shape.words(started_ms, ended_ms);
        let words = normalised(text);
        self.repeated |= words.split(' ').count() >= REPEATED_WORDS && self.said.contains(&words);
        let evidence = self.evidence(text, true);
        self.question = evidence.question;
        let found = if self.is_late() {
            None
        } else {
            self.judge(&evidence, at_ms)
        };
        let found = found.or_else(|| self.person(&words, at_ms));
        let picked_up = self.hello_at_the_end(text, at_ms);
        // A turn in which somebody picked up also holds the machine's words.
        if picked_up.is_none() && self.said.len() + words.len() < MAX_BYTES {
            self.said.push(' ');
            self.said.push_str(&words);
        }
        picked_up.or(found)
    }

    /// Takes a single tone that has ended.
    pub fn tone(&mut self, tone: Tone) -> Option<Finding> {
        if self.closed {
            return None;
        }
        let at_ms = tone.end_ms;
        if self.are_special(tone) && !self.was_human {
            return self.find(Verdict::Unavailable, Reason::SpecialTones, at_ms);
        }
        let last = self.shape.last_voiced_ms()?;
        if tone.alone && tone.start_ms <= last + BEEP_AFTER_MS && !self.is_late() {
            self.beep_ms = Some(at_ms);
            let evidence = self.evidence("", true);
            return self.judge(&evidence, at_ms);
        }
        None
    }

    /// Returns the present verdict.
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// Judges silence: a person waits, or nobody is there.
    fn silence(&mut self, at_ms: u64) -> Option<Finding> {
        let silent_ms = self.shape.silent_ms(at_ms);
        match self.verdict {
            None if self.shape.began_ms().is_none() => (silent_ms >= NO_SPEECH_MS)
                .then(|| self.find(Verdict::Unknown, Reason::Silence, at_ms))
                .flatten(),
            None | Some(Verdict::Unknown) => {
                let short = !self.said.is_empty() && self.shape.steady_ms() < SHORT_MS;
                if short && silent_ms >= WAITS_MS {
                    return self.find(Verdict::Human, Reason::ShortAndWaits, at_ms);
                }
                self.undecided(at_ms)
            }
            Some(Verdict::Human) => self.undecided(at_ms),
            Some(Verdict::Voicemail | Verdict::Ivr | Verdict::Unavailable) => None,
        }
    }

    /// Stops considering words after the window.
    fn undecided(&mut self, at_ms: u64) -> Option<Finding> {
        let known = self.verdict.is_some();
        let greeting_over = self.shape.silent_ms(at_ms) >= BEEP_AFTER_MS;
        if at_ms < WINDOW_MS || !(known || greeting_over || at_ms >= LONGEST_GREETING_MS) {
            return None;
        }
        self.closed = true;
        match self.verdict {
            None => self.find(Verdict::Unknown, Reason::Undecided, at_ms),
            Some(_) => None,
        }
    }

    fn is_late(&self) -> bool {
        let machine = self.verdict.is_some_and(Verdict::is_machine);
        !machine && self.shape.began_ms().is_some_and(|began| began > WINDOW_MS)
    }

    fn forget_greeting(&mut self) {
        if !self.verdict.is_some_and(Verdict::is_machine) {
            self.said.clear();
            self.question = false;
            self.beep_ms = None;
        }
    }

    fn evidence(&self, text: &str, ended: bool) -> Evidence {
        let words = match text.is_empty() {
            true => self.said.clone(),
            false => format!("{} {}", self.said, normalised(text)),
        };
        Evidence {
            hints: Hints::of(&words),
            question: match text.is_empty() {
                true => self.question,
                false => text.trim_end().ends_with(['?', '？']),
            },
            steady_ms: self.shape.steady_ms(),
            beep: self.beep_ms.is_some(),
            repeated: self.repeated,
            ended,
            was_human: self.was_human,
        }
    }

    fn judge(&mut self, evidence: &Evidence, at_ms: u64) -> Option<Finding> {
        let (verdict, reason) = judge::machine(evidence)?;
        let lawful = match self.verdict {
            None | Some(Verdict::Unknown | Verdict::Human) => true,
            Some(Verdict::Voicemail) => verdict == Verdict::Unavailable,
            Some(Verdict::Ivr) => verdict != Verdict::Ivr || reason == Reason::Screening,
            Some(Verdict::Unavailable) => false,
        };
        if lawful {
            self.find(verdict, reason, at_ms)
        } else {
            None
        }
    }

    /// Judges words of a person, instead of a machine or as a first verdict.
    fn person(&mut self, words: &str, at_ms: u64) -> Option<Finding> {
        let hints = Hints::of(words);
        let count = words.split(' ').count();
        let repeats = count > 3 && self.said.contains(words);
        let machine = match self.verdict {
            Some(Verdict::Human) => return None,
            Some(verdict) => verdict.is_machine(),
            None => false,
        };
        let speaks = match machine {
            true => judge::is_person(hints, count) && !repeats,
            false => hints.any(&[Hint::Person, Hint::Asks]) && judge::is_person(hints, count),
        };
        let reason = if machine { Reason::PickedUp } else { Reason::Converses };
        speaks.then(|| self.find(Verdict::Human, reason, at_ms)).flatten()
    }

    /// Judges a hello after the sentences of a machine: who picks up at once continues the machine's turn.
    fn hello_at_the_end(&mut self, text: &str, at_ms: u64) -> Option<Finding> {
        if !self.verdict.is_some_and(Verdict::is_machine) {
            return None;
        }
        // A hello is short: sentences further back are the machine's.
        let marks = text.rmatch_indices(STOPS).take(2 * judge::HELLO_WORDS);
        let rests = marks.map(|(at, mark)| normalised(&text[at + mark.len()..]));
        let mut short = rests.take_while(|rest| rest.split(' ').count() <= judge::HELLO_WORDS);
        let hello = short.find(|rest| Hints::of(rest).has(Hint::Hello))?;
        self.person(&hello, at_ms)
    }

    fn find(&mut self, verdict: Verdict, reason: Reason, at_ms: u64) -> Option<Finding> {
        if (self.verdict, self.reason) == (Some(verdict), Some(reason)) {
            return None;
        }
        self.verdict = Some(verdict);
        self.reason = Some(reason);
        if verdict == Verdict::Human {
            self.was_human = true;
            // The machine's words do not belong to this person.
            self.said.clear();
            self.beep_ms = None;
            self.repeated = false;
        }
        Some(Finding { verdict, reason, at_ms })
    }

    /// Returns whether `tone` is the last of the three special tones.
    fn are_special(&mut self, tone: Tone) -> bool {
        self.tones.push(tone);
        if self.tones.len() > SPECIAL_TONES_HZ.len() {
            self.tones.remove(0);
        }
        let rising = self.tones.len() == SPECIAL_TONES_HZ.len()
            && self
                .tones
                .iter()
                .zip(SPECIAL_TONES_HZ)
                .all(|(tone, hz)| (tone.frequency_hz - hz).abs() <= SPECIAL_TONES_SPREAD * hz);
        rising && tone.end_ms.saturating_sub(self.tones[0].start_ms) <= SPECIAL_TONES_MS
    }
}

/// Returns whether these words ask the caller to wait, like an assistant that looks for the person called.
pub fn asks_to_wait(text: &str) -> bool {
    Hints::of(&normalised(text)).has(Hint::Holds)
}

/// Returns whether these words ask who calls or why.
pub fn asks_who_calls(text: &str) -> bool {
    Hints::of(&normalised(text)).any(&[Hint::Who, Hint::Why, Hint::Screening])
}

/// Returns whether a person answers the telephone with such words.
pub fn says_hello(text: &str) -> bool {
    let words = normalised(text);
    Hints::of(&words).has(Hint::Hello) && words.split(' ').count() <= judge::HELLO_WORDS
}
