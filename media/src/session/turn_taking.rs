//! Turn-taking of a session: what follows from a block, from words, and from the passing of time.

use super::{AudioSession, hearing::HeardBlock, messages::SessionEvent, speaking::Drop};
use crate::{
    amd,
    turn::{
        barge_in::{self, floor},
        endpointing::{self, Utterance},
        words,
    },
};

impl AudioSession {
    pub(super) fn hear(&mut self, block: HeardBlock) {
        let behind_ms = self.hearing.heard_ms().saturating_sub(block.at_ms);
        let played_db = self.speaking.level_db(self.now_ms.saturating_sub(behind_ms));
        self.echo.hear(block, played_db);
        while let Some(block) = self.echo.poll() {
            self.hear_user(block);
        }
        if self.echo.is_news(self.speaking.speech(), block.at_ms) {
            let at_ms = self.now_ms;
            self.events.push_back(SessionEvent::EchoIgnored { at_ms });
        }
    }

    fn hear_user(&mut self, block: HeardBlock) {
        self.endpointing.sound(block.sound_ms);
        let began = self
            .endpointing
            .block(block.onset_ms, block.voiced_ms, block.voiced_until_ms);
        self.user.hear(&block, self.endpointing.heeds_voice());
        self.began(began);
        let detector = self.who_answered.as_mut();
        let found = detector.and_then(|detector| detector.block(block.onset_ms, block.voiced_ms, block.at_ms));
        self.found(found);
        self.judge(block.at_ms);
    }

    pub(super) fn tone_ended(&mut self, tone: amd::Tone) {
        if tone.alone {
            let at_ms = tone.end_ms;
            self.events.push_back(SessionEvent::BeepEnded { at_ms });
        }
        let found = self.who_answered.as_mut().and_then(|detector| detector.tone(tone));
        self.found(found);
    }

    fn found(&mut self, found: Option<amd::Finding>) {
        if let Some(found) = found {
            self.endpointing.listens_to(found.verdict.is_machine());
            self.events.push_back(SessionEvent::Amd(found));
        }
    }

    pub(super) fn words_changed(&mut self, began: Option<u64>) {
        self.began(began);
        let text = self.endpointing.words();
        if self.user.set_words(&text) {
            self.events.push_back(SessionEvent::Interim { text });
            let at_ms = self.hearing.now(self.now_ms);
            let detector = self.who_answered.as_mut();
            let found = detector.and_then(|detector| detector.words(self.user.words(), at_ms));
            self.found(found);
        }
        self.settle();
    }

    fn began(&mut self, began: Option<u64>) {
        if let Some(at_ms) = began {
            self.overlap.forget_backchannel();
            self.user.begin();
            self.events.push_back(SessionEvent::SpeechStarted { at_ms });
        }
    }

    pub(super) fn judge(&mut self, at_ms: u64) {
        let seen = self.user.observation(at_ms, self.endpointing.is_speech());
        match self.overlap.observe(&self.speaking, &seen) {
            Some(barge_in::Verdict::Pause) => self.pause_playout(),
            Some(barge_in::Verdict::Resume) => self.resume_playout(),
            Some(barge_in::Verdict::BargeIn) => self.drop_speech(Drop::BargedIn),
            None => {}
        }
        while let Some(verdict) = self.endpointing.tick(at_ms) {
            match verdict {
                endpointing::Verdict::Finalize => {
                    self.user.asked(self.endpointing.answers_each());
                    self.events.push_back(SessionEvent::FinalWanted);
                }
                endpointing::Verdict::Paused(text) => self.turn_paused(text),
                endpointing::Verdict::Resumed if self.user.resume() => {
                    let at_ms = self.now_ms;
                    self.events.push_back(SessionEvent::TurnResumed { at_ms });
                }
                endpointing::Verdict::Resumed => {}
                endpointing::Verdict::Ended(utterance) => self.turn_ended(utterance, at_ms),
            }
        }
    }

    fn pause_playout(&mut self) {
        let at_ms = self.now_ms;
        self.speaking.pause(at_ms, &mut self.tracks);
        let speech = self.speaking.speech();
        self.events
            .extend(speech.map(|speech| SessionEvent::PlayoutPaused { speech, at_ms }));
    }

    fn resume_playout(&mut self) {
        self.speaking.resume();
        let at_ms = self.now_ms;
        let speech = self.speaking.speech();
        self.events
            .extend(speech.map(|speech| SessionEvent::PlayoutResumed { speech, at_ms }));
    }

    /// Reports a pause in the turn. A backchannel while the agent speaks is not a turn that might be over.
    fn turn_paused(&mut self, text: String) {
        let only_attention = |began_ms| {
            self.overlap
                .is_only_attention(began_ms, &text, self.endpointing.expectation())
        };
        let over_agent = self.speaking.is_audible() || self.endpointing.started_ms().is_some_and(only_attention);
        if floor::is_nod(&text) && over_agent {
            return;
        }
        self.user.pause();
        let at_ms = self.now_ms;
        self.events.push_back(SessionEvent::TurnPaused { text, at_ms });
    }

    /// Ends a turn. The call learns of a machine before it would answer the machine's words, of a person after them.
    fn turn_ended(&mut self, utterance: Utterance, at_ms: u64) {
        let (text, started_ms, ended_ms) = (&utterance.text, utterance.started_ms, utterance.ended_ms);
        let detector = self.who_answered.as_mut();
        let found = detector.and_then(|detector| detector.turn_ended(text, started_ms, ended_ms, at_ms));
        let is_person = |found: &amd::Finding| found.verdict == amd::Verdict::Human;
        self.found(found.filter(|found| !is_person(found)));
        self.turn_over(utterance);
        self.found(found.filter(is_person));
    }

    /// Handles a turn that is over. During playout a turn of backchannels or without words is not reported. Other turns
    /// may interrupt the agent.
    fn turn_over(&mut self, utterance: Utterance) {
        self.user.end();
        self.echo.turn_ended(&utterance);
        if self.speaking.is_audible() {
            if floor::is_nod(&utterance.text) {
                return self.overlap.keep_backchannel(utterance);
            }
            if !words::any(&utterance.text) {
                return;
            }
            if self.speaking.is_interruptible() && self.overlap.interrupts(&utterance) {
                self.drop_speech(Drop::BargedIn);
            }
        } else {
            let expected = self.endpointing.expectation();
            if self
                .overlap
                .is_only_attention(utterance.started_ms, &utterance.text, expected)
            {
                return;
            }
        }
        self.utterance_ended(utterance);
    }

    pub(super) fn utterance_ended(&mut self, mut utterance: Utterance) {
        utterance.final_ms = self.user.final_ms();
        self.events.push_back(SessionEvent::UtteranceEnded(utterance));
    }
}
