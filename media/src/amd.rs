//! Who answered: a person, a mailbox, a menu or assistant, an announcement. Fed with voice, words and beeps beside the
//! conversation; it delays nobody, and changes its mind when somebody picks up in the middle of a greeting.
//!
//! A machine is never found by its shape alone: words decide, shape and beep are second witnesses (`judge`).

mod hints;
mod judge;
mod menu;
mod phrase;
mod shape;
#[cfg(test)]
mod tests;

use hints::{Hints, normalised};
use judge::Evidence;
pub use menu::{announces_somebody, key_to_a_person, names_keys};
use phrase::Hint;
use shape::Shape;

/// A greeting that begins so long after the answer is no longer looked at: by then somebody talks with the agent.
pub const WINDOW_MS: u64 = 25_000;

/// A greeting that goes on for so long is none.
const LONGEST_GREETING_MS: u64 = 60_000;

/// Silence after the answer before which nobody is missed.
const NO_SPEECH_MS: u64 = 10_000;

/// People answer in less than this ...
const SHORT_MS: u64 = 1_800;

/// ... and then wait for so long.
const WAITS_MS: u64 = 1_000;

/// A beep so long after the last word belongs to the greeting.
const BEEP_AFTER_MS: u64 = 3_000;

/// A greeting's words beyond this are not kept.
const MAX_BYTES: usize = 4_000;

/// A sentence of so many words that comes again is read out.
const REPEATED_WORDS: usize = 8;

/// The three rising tones before an announcement, in Hz (ITU-T E.180), their spread, and the longest they take.
const SPECIAL_TONES_HZ: [f32; 3] = [950.0, 1_400.0, 1_777.0];
const SPECIAL_TONES_SPREAD: f32 = 0.05;
const SPECIAL_TONES_MS: u64 = 1_600;

/// Who is on the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// A person.
    Human,
    /// A mailbox that takes a message.
    Voicemail,
    /// A menu, or an assistant that asks before it connects.
    Ivr,
    /// An announcement, or a mailbox that takes no message.
    Unavailable,
    /// Nobody can say.
    Unknown,
}

impl Verdict {
    /// Its name in facts and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Voicemail => "voicemail",
            Self::Ivr => "ivr",
            Self::Unavailable => "unavailable",
            Self::Unknown => "unknown",
        }
    }

    /// Whether no person is on the line.
    pub fn is_machine(self) -> bool {
        matches!(self, Self::Voicemail | Self::Ivr | Self::Unavailable)
    }
}

/// What a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A few words, then silence: somebody waits for the caller.
    ShortAndWaits,
    /// Words said to somebody who can answer.
    Converses,
    /// A person's words after a machine's.
    PickedUp,
    /// Words of mailboxes.
    MachineWords,
    /// Long steady talk, and words that hint at a mailbox.
    ShapeAndWords,
    /// A beep after a machine-like greeting.
    BeepAfterGreeting,
    /// A menu that wants a key.
    Menu,
    /// The same announcement again.
    Repeated,
    /// An assistant asks who calls and why.
    Screening,
    /// The mailbox is full or not set up.
    MailboxFull,
    /// The callee's telephone is off or out of reach.
    NotReachable,
    /// There is no such number.
    NotInService,
    /// The three tones before an announcement.
    SpecialTones,
    /// Nobody said anything.
    Silence,
    /// The evidence tells nothing.
    Undecided,
}

impl Reason {
    /// Its name in facts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ShortAndWaits => "short-and-waits",
            Self::Converses => "converses",
            Self::PickedUp => "picked-up",
            Self::MachineWords => "machine-words",
            Self::ShapeAndWords => "shape-and-words",
            Self::BeepAfterGreeting => "beep-after-greeting",
            Self::Menu => "menu",
            Self::Repeated => "repeated",
            Self::Screening => "screening",
            Self::MailboxFull => "mailbox-full",
            Self::NotReachable => "not-reachable",
            Self::NotInService => "not-in-service",
            Self::SpecialTones => "special-tones",
            Self::Silence => "silence",
            Self::Undecided => "undecided",
        }
    }
}

/// A verdict that is new, or differs from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// The verdict.
    pub verdict: Verdict,
    /// What it rests on.
    pub reason: Reason,
    /// When it was reached, in milliseconds of the stream.
    pub at_ms: u64,
}

/// A single tone that has ended, in the stream's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tone {
    /// Its pitch.
    pub frequency_hz: f32,
    /// Its beginning.
    pub start_ms: u64,
    /// Its end.
    pub end_ms: u64,
    /// No other tone sounded directly before or after it.
    pub alone: bool,
}

/// Listens to the first words of a call. Times are milliseconds of the stream and never go back.
#[derive(Debug, Clone, Default)]
pub struct Detector {
    shape: Shape,
    /// The words of the greeting's turns that are over, normalised.
    said: String,
    /// The last of these was a question.
    question: bool,
    repeated: bool,
    beep_ms: Option<u64>,
    tones: Vec<Tone>,
    verdict: Option<Verdict>,
    reason: Option<Reason>,
    /// A person was once taken to be on the line.
    was_human: bool,
    /// Nothing more is to be found.
    closed: bool,
}

impl Detector {
    /// A detector that has heard nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A block of the line up to `at_ms`: since when there is voice, and how much of the block is voiced.
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

    /// The words so far of the user's turn, which may change.
    pub fn words(&mut self, text: &str, at_ms: u64) -> Option<Finding> {
        if self.closed || text.is_empty() || self.is_late() {
            return None;
        }
        self.shape.words(at_ms, at_ms);
        let evidence = self.evidence(text, false);
        self.judge(&evidence, at_ms)
    }

    /// A turn of the user is over.
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
        if self.said.len() + words.len() < MAX_BYTES {
            self.said.push(' ');
            self.said.push_str(&words);
        }
        found
    }

    /// A single tone has ended.
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

    /// The present verdict.
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// Silence tells a person who waits, and that nobody is there.
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

    /// Past the window, nothing that is said counts any more.
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

    /// A person speaks: instead of a machine, or so that it is plain what answered.
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

    fn find(&mut self, verdict: Verdict, reason: Reason, at_ms: u64) -> Option<Finding> {
        if (self.verdict, self.reason) == (Some(verdict), Some(reason)) {
            return None;
        }
        self.verdict = Some(verdict);
        self.reason = Some(reason);
        if verdict == Verdict::Human {
            self.was_human = true;
            // What the machine said before is not said by this person.
            self.said.clear();
            self.beep_ms = None;
            self.repeated = false;
        }
        Some(Finding { verdict, reason, at_ms })
    }

    /// Whether `tone` is the last of the three.
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

/// Whether these words ask the caller to wait for somebody, as an assistant does that looks for the person called.
pub fn asks_to_wait(text: &str) -> bool {
    Hints::of(&normalised(text)).has(Hint::Holds)
}

/// Whether these words ask who calls or why.
pub fn asks_who_calls(text: &str) -> bool {
    Hints::of(&normalised(text)).any(&[Hint::Who, Hint::Why, Hint::Screening])
}

/// Whether these words are how a person answers the telephone.
pub fn says_hello(text: &str) -> bool {
    let words = normalised(text);
    Hints::of(&words).has(Hint::Hello) && words.split(' ').count() <= judge::HELLO_WORDS
}
