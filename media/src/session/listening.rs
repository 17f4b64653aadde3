//! From what was heard to the user's turn: the agent's echo is left out of voice and words.

use super::{AudioSession, SessionEvent, echo_words, hearing::HeardBlock};
use crate::turn::endpointing::{Promise, Told};

/// How long after an echo its words may come: its delay, and the recogniser's.
const ECHO_WORDS_MS: u64 = 2_000;

/// A turn that began so shortly after an echo began in the midst of it.
const AMIDST_MS: u64 = 100;

/// How long the recogniser's words of before a turn may come after it began.
const STRAGGLING_MS: u64 = 400;

/// So many words of the agent's in a row, from a voice weaker than the agent's by [`WEAK_DB`], are its echo too.
const ECHO_WORDS: usize = 3;

/// Weaker than the agent by so much.
const WEAK_DB: f32 = 6.0;

/// Whether there is voice that the recogniser does not know of.
#[derive(Debug, Default)]
pub(super) struct VoiceNews {
    /// It goes on since it was told, and no words were asked for.
    is_known: bool,
    /// It began, and that was not told.
    began: bool,
}

impl AudioSession {
    /// What the recogniser promises; may be said at any time, and costs nothing.
    pub fn recogniser(&mut self, recogniser: Promise) {
        self.endpointing.recogniser(recogniser);
    }

    /// What a recogniser that listens for turns says of the user's; the words it is about were given before.
    pub fn told(&mut self, told: Told, now_ms: u64) {
        let at_ms = self.stream_time(now_ms);
        self.endpointing.told(told, at_ms);
        self.settle();
    }

    /// Whether voice began since this was asked last: at first, after a silence, or after words were asked for.
    pub fn voice_began(&mut self) -> bool {
        std::mem::take(&mut self.voice.began)
    }

    pub(super) fn want_final(&mut self) {
        self.voice.is_known = false;
        self.events.push_back(SessionEvent::FinalWanted);
    }

    pub(super) fn hear(&mut self, block: HeardBlock) {
        let behind_ms = self.hearing.heard_ms().saturating_sub(block.at_ms);
        let played_db = self.speaking.level_db(self.now_ms.saturating_sub(behind_ms));
        let mut passed = std::mem::take(&mut self.passed);
        self.echo.hear(block, played_db, &mut passed);
        for block in passed.drain(..) {
            self.heard(block);
        }
        self.passed = passed;
        self.tell_echo(block.at_ms);
    }

    fn heard(&mut self, block: HeardBlock) {
        self.endpointing.sound(block.sound_ms);
        let began = self
            .endpointing
            .block(block.onset_ms, block.voiced_ms, block.voiced_until_ms);
        let heeded = self.endpointing.heeds_voice();
        self.onset_ms = block.onset_ms.filter(|_| heeded);
        self.voice.is_known &= block.onset_ms.is_some();
        if block.voiced_ms > 0 && heeded {
            self.voice.began |= !std::mem::replace(&mut self.voice.is_known, true);
            self.last_voiced_ms = self.last_voiced_ms.max(block.voiced_until_ms);
        }
        self.began(began);
        self.look_at_voice(block);
        self.judge(block.at_ms);
    }

    /// Once for each speech.
    fn tell_echo(&mut self, at_ms: u64) {
        let speech = self.speaking.speech();
        if speech.is_some() && speech != self.echo_told && self.echo.heard_within(0, at_ms) {
            self.echo_told = speech;
            let at_ms = self.now_ms;
            self.events.push_back(SessionEvent::EchoIgnored { at_ms });
        }
    }

    /// The words without those of the agent's echo, if there may be any.
    pub(super) fn without_echo<'a>(&self, text: &'a str, at_ms: u64) -> Option<&'a str> {
        let by_shape = self.echo.heard_within(ECHO_WORDS_MS, at_ms) && self.may_be_echo(at_ms);
        let speaking = self.speaking.is_audible() || at_ms < self.said_ms + ECHO_WORDS_MS;
        if !(by_shape || speaking && self.echo.is_weak(WEAK_DB)) {
            return None;
        }
        let mut said = self.said.clone();
        said.push(' ');
        said.push_str(self.speaking.text());
        let own = match by_shape && !self.may_be_voiced(at_ms) {
            true => echo_words::without_misheard(text, &said),
            false => echo_words::without_own(text, &said),
        };
        let enough = by_shape || (own.is_empty() && text.split_whitespace().count() >= ECHO_WORDS);
        enough.then_some(own)
    }

    /// Whether words that come now may belong to a voice of the user's, be it of a turn that is over.
    fn may_be_voiced(&self, at_ms: u64) -> bool {
        let late = self
            .unworded_ms
            .is_some_and(|ended_ms| at_ms < ended_ms + ECHO_WORDS_MS);
        late || self.endpointing.has_voice()
    }

    /// Whether words that come now may have been said before the user's turn: it has not begun or only just, or it
    /// began in the midst of an echo.
    fn may_be_echo(&self, at_ms: u64) -> bool {
        self.endpointing.started_ms().is_none_or(|started_ms| {
            let amidst = self.echo.heard_within(AMIDST_MS, started_ms);
            amidst || at_ms < started_ms + STRAGGLING_MS
        })
    }

    pub(super) fn words_changed(&mut self, began: Option<u64>) {
        self.began(began);
        let words = self.endpointing.words();
        if words != self.words {
            self.words.clone_from(&words);
            self.events.push_back(SessionEvent::Interim { text: words });
            self.look_at_words();
        }
        self.settle();
    }

    fn began(&mut self, began: Option<u64>) {
        if let Some(at_ms) = began {
            self.backchannel = None;
            self.final_ms = None;
            self.events.push_back(SessionEvent::SpeechStarted { at_ms });
        }
    }
}
