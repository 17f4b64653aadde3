//! An operator who speaks in place of the agent.

use super::{AudioSession, speaking::Drop};

impl AudioSession {
    /// Lets an operator speak in place of the agent. The agent's present speech falls silent within
    /// milliseconds and is over; the operator's audio follows. The user's speech does not interrupt it.
    pub fn operator_joins(&mut self, now_ms: u64) {
        let now_ms = self.advance(now_ms);
        self.speaking.drop_held();
        self.fade_out();
        self.drop_speech(Drop::Ended, now_ms);
        self.backchannel = None;
        self.speaking.begin_live();
        self.settle();
    }

    /// Takes audio of the operator at the line's rate, which plays as it comes. Returns the number of samples
    /// that were dropped, the oldest first, because more than 400 ms waited. Without an operator it is ignored.
    pub fn operator_audio(&mut self, samples: &[i16], now_ms: u64) -> usize {
        let now_ms = self.advance(now_ms);
        let dropped = self.speaking.live_audio(samples, now_ms);
        self.settle();
        dropped
    }

    /// Takes the operator's words, which tell what answer is expected and what may come back as echo.
    pub fn operator_said(&mut self, words: &str) {
        words.clone_into(&mut self.said);
        self.said_ms = self.hearing.now(self.now_ms);
        self.spoke_ms = None;
        self.endpointing.agent_said(words);
    }

    /// Ends the operator's audio. What has arrived is still played, unless a speech of the agent replaces it.
    pub fn operator_leaves(&mut self, now_ms: u64) {
        self.advance(now_ms);
        self.speaking.end_live();
        self.settle();
    }

    /// Returns whether the user has a turn that is not over.
    pub fn is_in_turn(&self) -> bool {
        self.endpointing.in_turn()
    }

    pub(super) fn fade_out(&mut self) {
        let position = self.hearing.position(self.now_ms);
        let recorded = (&mut self.tracks, position);
        self.speaking.fade_out(self.now_ms, &mut self.outputs, recorded);
    }
}
