//! Converts received audio into the user's turn, without the agent's echo in voice and words.

use super::{AudioSession, SessionEvent, echo_words, hearing::HeardBlock};
use crate::turn::{
    barge_in::floor::Floor,
    endpointing::{Capabilities, Told, evidence::Moment},
};

/// Time in milliseconds after an echo within which its words may come: its delay, and the recogniser's.
const ECHO_WORDS_MS: u64 = 2_000;

/// Time in milliseconds after an echo within which a turn counts as begun in the middle of it.
const AMIDST_MS: u64 = 100;

/// Time in milliseconds after a turn began within which the recogniser's earlier words may come.
const STRAGGLING_MS: u64 = 400;

/// Number of successive words of the agent that count as its echo too, if the voice is weaker than the
/// agent's by [`WEAK_DB`].
const ECHO_WORDS: usize = 3;

/// Loss in dB against the agent from which a voice is weak.
const WEAK_DB: f32 = 6.0;

/// Tracks voice that the recogniser has not been told of.
#[derive(Debug, Default)]
pub(super) struct VoiceNews {
    /// Whether the voice has continued since it was reported, without a request for words.
    is_known: bool,
    /// Whether voice began that was not reported.
    began: bool,
}

impl AudioSession {
    /// Sets the recogniser's capabilities. They may be set at any time.
    pub fn recogniser(&mut self, recogniser: Capabilities) {
        self.endpointing.recogniser(recogniser);
    }

    /// Returns the knowledge about the end of the user's present turn, for those who train and explain the model.
    pub fn moment(&mut self, now_ms: u64) -> Option<Moment> {
        let at_ms = self.stream_time(now_ms);
        self.endpointing.moment(at_ms)
    }

    /// Takes a turn signal of a recogniser that listens for turns. Its words were passed before.
    pub fn told(&mut self, told: Told, now_ms: u64) {
        let at_ms = self.stream_time(now_ms);
        self.endpointing.told(told, at_ms);
        self.settle();
    }

    /// Returns whether voice began since the last call: at first, after a silence, or after words were requested.
    pub fn voice_began(&mut self) -> bool {
        std::mem::take(&mut self.voice.began)
    }

    pub(super) fn want_final(&mut self) {
        self.voice.is_known = false;
        self.is_asked = self.endpointing.answers_each();
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

    /// Reports an echo, once for each speech.
    fn tell_echo(&mut self, at_ms: u64) {
        let speech = self.speaking.speech();
        if speech.is_some() && speech != self.echo_told && self.echo.heard_within(0, at_ms) {
            self.echo_told = speech;
            let at_ms = self.now_ms;
            self.events.push_back(SessionEvent::EchoIgnored { at_ms });
        }
    }

    /// Returns the words without those of the agent's echo, if there may be any.
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

    /// Returns whether words that come now may belong to the user's voice, possibly of a turn that is over.
    fn may_be_voiced(&self, at_ms: u64) -> bool {
        let late = self
            .unworded_ms
            .is_some_and(|ended_ms| at_ms < ended_ms + ECHO_WORDS_MS);
        late || self.endpointing.has_voice()
    }

    /// Returns whether words that come now may have been said before the user's turn: the turn has not begun
    /// or only just, or it began in the middle of an echo.
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
            self.floor = Floor::so_far(&words);
            self.events.push_back(SessionEvent::Interim { text: words });
            self.look_at_words();
        }
        self.settle();
    }

    pub(super) fn forget_words(&mut self) {
        self.words.clear();
        self.floor = Floor::Silent;
    }

    fn began(&mut self, began: Option<u64>) {
        if let Some(at_ms) = began {
            self.backchannel = None;
            self.final_ms = None;
            self.events.push_back(SessionEvent::SpeechStarted { at_ms });
        }
    }

    /// Updates the expected answer, and the words that may come back as echo, from the agent's last words.
    pub(super) fn agent_said(&mut self, event: &SessionEvent) {
        if let SessionEvent::BargedIn { heard, .. } | SessionEvent::SpeakingEnded { heard, .. } = event
            && !heard.is_empty()
        {
            self.said.clone_from(heard);
            self.said_ms = self.hearing.now(self.now_ms);
            let to_the_end = matches!(event, SessionEvent::SpeakingEnded { .. });
            self.spoke_ms = to_the_end.then_some(self.began_ms..self.said_ms);
            self.endpointing.agent_said(heard);
        }
    }
}
