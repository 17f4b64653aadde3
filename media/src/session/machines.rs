//! Feeds the machine detector of a session with voice, words and tones. The detector delays nothing.

use super::{AudioSession, SessionEvent, hearing::HeardBlock};
use crate::{
    amd::{Detector, Finding, Tone, Verdict},
    turn::endpointing::Utterance,
};

impl AudioSession {
    /// Starts detecting who answered, for calls that we placed.
    pub fn find_out_who_answered(&mut self) {
        self.who_answered = Some(Detector::new());
    }

    pub(super) fn look_at_voice(&mut self, block: HeardBlock) {
        if let Some(detector) = &mut self.who_answered {
            let found = detector.block(block.onset_ms, block.voiced_ms, block.at_ms);
            self.found(found);
        }
    }

    pub(super) fn look_at_words(&mut self) {
        let at_ms = self.hearing.now(self.now_ms);
        if let Some(detector) = &mut self.who_answered {
            let found = detector.words(&self.words, at_ms);
            self.found(found);
        }
    }

    /// Ends a turn. The call learns of a machine before it would answer the machine's words.
    pub(super) fn look_at_turn(&mut self, utterance: Utterance, at_ms: u64) {
        let Utterance {
            text,
            started_ms,
            ended_ms,
            ..
        } = &utterance;
        let detector = self.who_answered.as_mut();
        let found = detector.and_then(|detector| detector.turn_ended(text, *started_ms, *ended_ms, at_ms));
        let (person, machine) = match found {
            Some(found) if found.verdict == Verdict::Human => (Some(found), None),
            found => (None, found),
        };
        self.found(machine);
        self.turn_over(utterance);
        self.found(person);
    }

    pub(super) fn tone_ended(&mut self, tone: Tone) {
        if tone.alone {
            let at_ms = tone.end_ms;
            self.events.push_back(SessionEvent::BeepEnded { at_ms });
        }
        if let Some(detector) = &mut self.who_answered {
            let found = detector.tone(tone);
            self.found(found);
        }
    }

    fn found(&mut self, found: Option<Finding>) {
        if let Some(found) = found {
            self.endpointing.listens_to(found.verdict.is_machine());
            self.events.push_back(SessionEvent::Amd(found));
        }
    }
}
