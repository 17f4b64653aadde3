//! The user's present turn: its voice, its words, and the times of the request to the recogniser and of its end.

use super::{
    pauses::{PAUSE_MS, Pauses},
    recogniser::{ASK_MS, Capabilities, FINAL_WAIT_MS},
};
use crate::turn::words;

/// Time in milliseconds without voice after which no voice is in progress: three of the detector's blocks.
const QUIET_MS: u64 = 48;

/// Time in milliseconds before the end of the pause in which a new sound may be the voice again: the detector
/// opens 24 to 88 ms after a voice begins on a quiet line, and up to 250 ms after it in noise.
const ONSET_WAIT_MS: u64 = 256;

/// Time in milliseconds before the last voiced block within which a final covers it, since the detector
/// closes late in noise.
const SETTLED_SLACK_MS: u64 = 120;

/// Voice in milliseconds below which sound without a word is noise, such as a cough or a click.
const NOISE_MS: u64 = 300;

/// Silence in milliseconds after which a recogniser that listens for turns, and has not reported the end of
/// this one, is asked for its final words. A longer pause that the words ask for takes precedence. The
/// slowest twentieth of a recogniser's verdicts takes 1500 ms.
const TURN_FALLBACK_MS: u64 = 1_500;

/// Voice in milliseconds after the recogniser reported the end of the turn that counts as the detector's
/// hangover or a last breath.
const TOLD_SLACK_MS: u64 = 300;

/// Most bytes of one turn's words: about five minutes of speech. Further words count as damage.
pub(super) const MOST_WORDS: usize = 32 * 1024;

/// A turn of the user that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Utterance {
    /// Its words; empty if none was understood.
    pub text: String,
    /// Whether part of it was not understood. Without words: there was voice beyond a noise.
    pub damaged: bool,
    /// Start of the turn.
    pub started_ms: u64,
    /// End of its last voiced block.
    pub ended_ms: u64,
    /// Time of the recogniser's last final words, set by the session. `None` if none came in this turn.
    pub final_ms: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Turn {
    pub(super) started_ms: u64,
    pub(super) last_voiced_ms: u64,
    pub(super) pauses: Pauses,
    pub(super) last_word_ms: Option<u64>,
    pub(super) settled: String,
    /// Time of the last final that may cover all of the voice so far.
    pub(super) settled_ms: Option<u64>,
    pub(super) interim: String,
    pub(super) damaged: bool,
    pub(super) wordless: bool,
    /// The pause that its words ask for. Kept because every frame needs it and only words change it.
    pub(super) pause_ms: u64,
    /// Time of the request to the recogniser, or `None` since there was voice again.
    pub(super) asked_ms: Option<u64>,
    /// Time of a request before whose answer there was voice: the next final does not cover that voice.
    pub(super) overtaken_ms: Option<u64>,
    /// Time at which the recogniser reported the end of the turn, with no words since.
    pub(super) told_over_ms: Option<u64>,
    /// Whether the recogniser reported that the turn may be over.
    pub(super) may_be_over: bool,
    pub(super) telling: Telling,
    /// Whether it goes on after the agent answered into it.
    pub(super) goes_on: bool,
    /// Whether a word was understood.
    pub(super) has_words: bool,
}

/// Last report about a pause within the turn.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Telling {
    /// No report, or the last one is withdrawn.
    Nothing,
    /// These words may be the whole turn.
    Paused(String),
    /// The voice continues, which is not reported yet.
    Resumed,
}

impl Turn {
    pub(super) fn starting(at_ms: u64, pause_ms: u64) -> Self {
        Self {
            started_ms: at_ms,
            last_voiced_ms: at_ms,
            pauses: Pauses::default(),
            last_word_ms: None,
            settled: String::new(),
            settled_ms: None,
            interim: String::new(),
            damaged: false,
            wordless: false,
            pause_ms,
            asked_ms: None,
            overtaken_ms: None,
            told_over_ms: None,
            may_be_over: false,
            telling: Telling::Nothing,
            goes_on: false,
            has_words: false,
        }
    }

    pub(super) fn words(&self) -> String {
        let mut words = self.settled.clone();
        append(&mut words, &self.interim);
        words
    }

    /// Returns whether the recogniser has reported all words so far.
    pub(super) fn is_settled(&self, recogniser: Capabilities) -> bool {
        let by_itself = (!recogniser.answers_each).then(|| self.last_voiced_ms.saturating_sub(SETTLED_SLACK_MS));
        let Some(since) = self.asked_ms.or(by_itself) else {
            return false;
        };
        self.interim.is_empty() && self.settled_ms.is_some_and(|at| at >= since)
    }

    /// Returns whether the recogniser decides the end of the turn: it listens for turns, and knows of this one.
    fn is_recognisers(&self, recogniser: Capabilities) -> bool {
        recogniser.tells_turns && self.has_words && !self.wordless && self.told_over_ms.is_none()
    }

    /// Notes voice up to `at_ms`, of which `voiced_ms` are new. Returns the pause before it, if there was one.
    pub(super) fn voice(&mut self, at_ms: u64, voiced_ms: u64) -> Option<u64> {
        let silent_ms = at_ms.saturating_sub(self.last_voiced_ms + voiced_ms);
        let pause_ms = (silent_ms >= PAUSE_MS && self.pauses.voiced_ms > 0).then_some(silent_ms);
        if let Some(pause_ms) = pause_ms {
            let words = self.settled.split_whitespace().count() + self.interim.split_whitespace().count();
            self.pauses.pause(pause_ms, words);
        }
        self.last_voiced_ms = self.last_voiced_ms.max(at_ms);
        self.pauses.voice(voiced_ms);
        if let Some(asked) = self.asked_ms.take()
            && self.settled_ms.is_none_or(|settled| settled < asked)
        {
            self.overtaken_ms = Some(asked);
        }
        if matches!(self.telling, Telling::Paused(_)) {
            self.telling = Telling::Resumed;
        }
        self.may_be_over = false;
        pause_ms
    }

    /// Sets the words since the last final.
    pub(super) fn unsettled(&mut self, text: &str) {
        let room = MOST_WORDS.saturating_sub(self.settled.len() + 1);
        fitting(text, room).clone_into(&mut self.interim);
    }

    /// Takes a final, with whether it is the last of those requested, if known. A final that answers a
    /// request from before there was voice again is stale: it covers only the part before.
    pub(super) fn settle(&mut self, text: &str, at_ms: u64, is_last: Option<bool>) {
        let room = fitting(text, MOST_WORDS.saturating_sub(self.settled.len() + 1));
        append(&mut self.settled, room);
        self.damaged |= room.len() < text.len();
        self.interim.clear();
        let answered = self.overtaken_ms.take();
        if is_last.unwrap_or(answered.is_none_or(|asked| at_ms > asked + FINAL_WAIT_MS)) {
            self.settled_ms = Some(at_ms);
        }
    }

    /// Returns when the recogniser should be asked, if at all.
    pub(super) fn ask_at_ms(&self, recogniser: Capabilities) -> Option<u64> {
        let silence_ms = match recogniser.tells_turns {
            _ if self.is_recognisers(recogniser) => self.pause_ms.max(TURN_FALLBACK_MS),
            true => self.pause_ms,
            false => ASK_MS.min(self.pause_ms),
        };
        let open = self.asked_ms.is_none() && self.told_over_ms.is_none() && !self.is_settled(recogniser);
        open.then_some(self.last_voiced_ms + silence_ms)
    }

    /// Returns when a pause should be reported, if at all.
    pub(super) fn tell_at_ms(&self, recogniser: Capabilities) -> Option<u64> {
        let untold = self.telling == Telling::Nothing && self.has_words;
        match recogniser.tells_turns {
            true => (untold && self.may_be_over).then_some(self.last_voiced_ms),
            false => untold.then_some(self.last_voiced_ms + ASK_MS.min(self.pause_ms)),
        }
    }

    /// Returns when its pause is over and the recogniser has had its time, or has reported the end. It is
    /// later if a sound has just begun.
    pub(super) fn over_at_ms(&self, sound_ms: Option<u64>, recogniser: Capabilities) -> u64 {
        let pause_ms = match self.wordless {
            true => 0,
            false if self.is_recognisers(recogniser) => self.pause_ms.max(TURN_FALLBACK_MS),
            false => self.pause_ms,
        };
        let over = self.last_voiced_ms + pause_ms;
        let over = match self.asked_ms {
            Some(asked) if !self.is_settled(recogniser) => over.max(asked + recogniser.final_wait_ms()),
            _ => over,
        };
        let told = self
            .told_over_ms
            .filter(|told| self.last_voiced_ms <= told + TOLD_SLACK_MS);
        let over = told.map_or(over, |told| told.max(self.last_voiced_ms + QUIET_MS));
        match sound_ms {
            // Only once: sounds one after the other do not hold the turn.
            Some(began) if self.last_voiced_ms < began && began < over => over.max(began + ONSET_WAIT_MS),
            _ => over,
        }
    }

    /// Sets the pause after the words changed.
    pub(super) fn rethink(&mut self, words: &str, pause_ms: u64) {
        self.has_words = words::any(words);
        self.pause_ms = pause_ms;
        if matches!(&self.telling, Telling::Paused(told) if told != words) {
            self.telling = Telling::Nothing;
        }
    }

    /// Ends the turn. Voice that never became words is not speech, unless the recogniser says so or it was
    /// short. Neither is voice that has stopped while its sound continues: music or a machine that the
    /// detector took for a voice at first.
    pub(super) fn close(self, sound_ms: Option<u64>) -> Utterance {
        let text = self.words();
        let goes_on = sound_ms.is_some_and(|began| began <= self.last_voiced_ms);
        let unclear = text.is_empty() && self.pauses.voiced_ms >= NOISE_MS && !self.wordless && !goes_on;
        Utterance {
            damaged: self.damaged || unclear,
            text,
            started_ms: self.started_ms,
            ended_ms: self.last_voiced_ms,
            final_ms: None,
        }
    }
}

/// Returns as much of a text as fits into `room` bytes.
fn fitting(text: &str, room: usize) -> &str {
    let end = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

pub(super) fn append(words: &mut String, more: &str) {
    if !words.is_empty() && !more.is_empty() {
        words.push(' ');
    }
    words.push_str(more);
}
