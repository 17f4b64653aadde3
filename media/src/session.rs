//! Audio of one call without I/O: combines decoding, voice activity, turns, barge-in, playout and recording.
//! Line bytes, words and synthesised speech go in with the time; line output, samples for the recogniser and
//! facts come out. The session itself only passes these on between its parts, each of which owns its state.

mod clock;
mod echo;
mod hearing;
mod levels;
mod messages;
mod overlap;
mod speaking;
mod tracks;
mod turn_taking;
mod user_turn;

use std::collections::VecDeque;

use echo::Echo;
use hearing::Hearing;
pub use messages::{Cue, LineOutput, Manner, Say, SessionConfig, SessionError, SessionEvent, SpeechId, SynthesisJob};
use overlap::Overlap;
use speaking::{Drop, Speaking};
use tracks::Tracks;
use user_turn::UserTurn;

use crate::{
    amd,
    playout::WordEnd,
    turn::endpointing::{Capabilities, Endpointing, PausePolicy, Told, evidence::Moment},
};

/// Audio of one call. Times are milliseconds since it began and never decrease.
pub struct AudioSession {
    hearing: Hearing,
    echo: Echo,
    endpointing: Endpointing,
    user: UserTurn,
    overlap: Overlap,
    /// Detector of who answered. `None` for inbound calls.
    who_answered: Option<amd::Detector>,
    speaking: Speaking,
    tracks: Tracks,
    events: VecDeque<SessionEvent>,
    now_ms: u64,
}

impl AudioSession {
    /// Creates a session in which nothing was heard or said. Barge-in is not allowed yet.
    ///
    /// # Errors
    /// Returns an error if the line's rate is neither 8000 nor 16000 Hz, or cannot be converted to the recogniser's.
    pub fn new(config: &SessionConfig) -> Result<Self, SessionError> {
        Ok(Self {
            hearing: Hearing::new(config)?,
            echo: Echo::new(),
            endpointing: Endpointing::new(config.pause),
            user: UserTurn::default(),
            overlap: Overlap::new(),
            who_answered: None,
            speaking: Speaking::new(config),
            tracks: Tracks::of(config),
            events: VecDeque::new(),
            now_ms: 0,
        })
    }

    /// Starts detecting who answered, for calls that we placed. The detector delays nothing.
    pub fn find_out_who_answered(&mut self) {
        self.who_answered = Some(amd::Detector::new());
    }

    /// Sets the recogniser's capabilities. They may be set at any time.
    pub fn recogniser(&mut self, recogniser: Capabilities) {
        self.endpointing.recogniser(recogniser);
    }

    /// Notes that another recogniser gets the samples from here on, at its rate in Hz.
    ///
    /// # Errors
    /// Returns an error if the line cannot be converted to that rate. The samples then keep the old one.
    pub fn recogniser_replaced(&mut self, rate: u32) -> Result<(), SessionError> {
        self.hearing.recogniser_replaced(rate)?;
        self.endpointing.recogniser_replaced();
        Ok(())
    }

    /// Sets the pause policy from here on.
    pub fn set_pause_policy(&mut self, policy: PausePolicy) {
        self.endpointing.set_policy(policy);
    }

    /// Takes audio of any length in the line's encoding. Frames that arrived together should be passed as one.
    pub fn receive(&mut self, audio: &[u8], now_ms: u64) {
        let now_ms = self.advance(now_ms);
        self.hearing.receive(audio, now_ms, &mut self.tracks);
        while let Some(block) = self.hearing.poll_block() {
            self.hear(block);
        }
        while let Some(tone) = self.hearing.poll_tone() {
            self.tone_ended(tone);
        }
        self.settle();
    }

    /// Handles a mark that came back from the carrier. Unknown marks are ignored.
    pub fn mark(&mut self, name: &str, now_ms: u64) {
        let now_ms = self.advance(now_ms);
        self.speaking.marked(name, now_ms);
        self.settle();
    }

    /// Takes the recogniser's words since its last final. They replace the previous ones.
    pub fn interim(&mut self, text: &str, now_ms: u64) {
        let at_ms = self.stream_time(now_ms);
        let own = self.echo.without(text, at_ms, &self.endpointing, &self.speaking);
        let began = self.endpointing.interim(own.unwrap_or(text), at_ms);
        self.words_changed(began);
    }

    /// Takes final words of the recogniser. With `damaged`, part of the speech may have been heard and not understood.
    pub fn settled(&mut self, text: &str, damaged: bool, now_ms: u64) {
        let at_ms = self.stream_time(now_ms);
        let says_something = damaged || !text.is_empty();
        self.user.answered(says_something.then_some(self.now_ms));
        let own = self.echo.without(text, at_ms, &self.endpointing, &self.speaking);
        // Words lost from an echo are no loss.
        let damaged = damaged && own.is_none_or(|words| !words.is_empty());
        let began = self.endpointing.settle(own.unwrap_or(text), damaged, at_ms);
        self.words_changed(began);
    }

    /// Takes a turn signal of a recogniser that listens for turns. Its words were passed before.
    pub fn told(&mut self, told: Told, now_ms: u64) {
        let at_ms = self.stream_time(now_ms);
        self.endpointing.told(told, at_ms);
        self.settle();
    }

    /// Queues text of a speech. A new speech drops an unfinished one, a held one only another held one. Text of an
    /// earlier speech is ignored.
    pub fn say(&mut self, say: Say, now_ms: u64) {
        self.advance(now_ms);
        if self.speaking.is_new(say.speech) && !say.held {
            self.make_way();
        }
        self.speaking.say(say);
        self.settle();
    }

    /// Lets a held speech play in place of an unfinished one. Any other number is ignored.
    pub fn release(&mut self, speech: SpeechId, now_ms: u64) {
        self.advance(now_ms);
        if self.speaking.is_held(speech) {
            self.make_way();
            self.speaking.release();
        }
        self.settle();
    }

    /// Presses keys: `0` to `9`, `*`, `#`, `A` to `D`; `w` is a pause of half a second. Their tones replace the present
    /// speech, or an operator's audio while they play.
    pub fn press(&mut self, keys: &str, now_ms: u64) {
        self.advance(now_ms);
        if !self.speaking.takes_keys() {
            self.make_way();
        }
        self.speaking.press(keys);
        self.settle();
    }

    /// Drops everything not played yet, and the held speech. The latter is not reported, since nobody heard it.
    pub fn stop_speaking(&mut self, now_ms: u64) {
        self.advance(now_ms);
        self.speaking.drop_held();
        self.drop_speech(Drop::Ended);
        self.settle();
    }

    /// Lets an operator speak in place of the agent. The agent's present speech falls silent within
    /// milliseconds and is over; the operator's audio follows. The user's speech does not interrupt it.
    pub fn operator_joins(&mut self, now_ms: u64) {
        self.advance(now_ms);
        self.speaking.drop_held();
        let position = self.hearing.position(self.now_ms);
        self.speaking.fade_out(self.now_ms, position, &mut self.tracks);
        self.make_way();
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
        self.agent_said(words, false);
    }

    /// Ends the operator's audio. What has arrived is still played, unless a speech of the agent replaces it.
    pub fn operator_leaves(&mut self, now_ms: u64) {
        self.advance(now_ms);
        self.speaking.end_live();
        self.settle();
    }

    /// Sets whether the user's speech interrupts playout. Speech counts from the moment at which this is allowed.
    pub fn allow_barge_in(&mut self, allowed: bool, now_ms: u64) {
        let at_ms = self.stream_time(now_ms);
        self.overlap.allow_barge_in(allowed, at_ms);
        self.settle();
    }

    /// Returns the text to synthesise next, if one is needed now; at most one at a time.
    pub fn next_text(&mut self) -> Option<SynthesisJob> {
        self.speaking.next_text()
    }

    /// Returns the synthesis whose audio is still wanted.
    pub fn synthesis(&self) -> Option<u64> {
        self.speaking.job()
    }

    /// Returns whether so much audio waits that synthesis should pause.
    pub fn is_well_ahead(&self) -> bool {
        self.speaking.is_well_ahead()
    }

    /// Takes a piece of synthesised speech at the line's rate, with the words that end in it. Stale pieces are dropped.
    pub fn synthesized(&mut self, generation: u64, samples: &[i16], words: &[WordEnd], now_ms: u64) {
        let now_ms = self.advance(now_ms);
        self.speaking.synthesized(generation, samples, words, now_ms);
        self.settle();
    }

    /// Ends a synthesis that has no more audio.
    pub fn synthesis_ended(&mut self, generation: u64, now_ms: u64) {
        self.advance(now_ms);
        self.speaking.synthesis_ended(generation);
        self.settle();
    }

    /// Handles a failed synthesis: nothing more of its speech plays. Returns the speech, unless the synthesis
    /// was stale.
    pub fn synthesis_failed(&mut self, generation: u64, now_ms: u64) -> Option<SpeechId> {
        self.advance(now_ms);
        let (speech, held) = self.speaking.speech_of(generation)?;
        match held {
            true => self.speaking.drop_held(),
            false => self.drop_speech(Drop::Failed),
        }
        self.settle();
        Some(speech)
    }

    /// Performs the work that is due by now.
    pub fn tick(&mut self, now_ms: u64) {
        self.advance(now_ms);
        self.settle();
    }

    /// Ends the session because the line is gone: ends the user's turn with the words so far, and the agent's speech.
    pub fn close(&mut self, now_ms: u64) {
        self.advance(now_ms);
        self.speaking.drop_held();
        self.drop_speech(Drop::Ended);
        self.speaking.drop_outputs();
        if let Some(utterance) = self.endpointing.flush() {
            self.user.end();
            self.utterance_ended(utterance);
        }
    }

    /// Returns when [`Self::tick`] is needed if nothing else happens before.
    pub fn next_deadline(&self) -> Option<u64> {
        let seen = self.user.observation(self.now_ms, false);
        let paused = self.overlap.deadline(&self.speaking, &seen);
        let hearing = [self.endpointing.deadline(), paused].into_iter().flatten().min();
        let hearing = hearing.map(|at_ms| self.hearing.clock_time(at_ms));
        let next = [hearing, self.speaking.deadline(self.now_ms)]
            .into_iter()
            .flatten()
            .min();
        next.map(|at_ms| at_ms.max(self.now_ms + 1))
    }

    /// Returns the next fact.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    /// Returns the next output for the line.
    pub fn poll_output(&mut self) -> Option<LineOutput> {
        self.speaking.poll_output()
    }

    /// Returns the samples for the recogniser, at its rate, since they were last cleared.
    pub fn recogniser_samples(&mut self) -> &mut Vec<i16> {
        self.hearing.recogniser_samples()
    }

    /// Stops recording. Returns the rest of the recording.
    pub fn stop_recording(&mut self) -> Vec<i16> {
        self.tracks.stop_recording(self.hearing.settled_position(self.now_ms))
    }

    /// Returns the recorded audio that will not change, interleaved (user, agent), if it is a second or more,
    /// or everything if `all`. The result is empty if the call is not recorded.
    pub fn take_recording(&mut self, all: bool) -> Vec<i16> {
        self.tracks
            .take_recording(all, self.hearing.settled_position(self.now_ms))
    }

    /// Begins to keep both sides for listeners, from now on. Does nothing if it has begun. Of the agent's audio that was
    /// sent ahead before, they get only what a recording still has.
    pub fn start_tap(&mut self) {
        self.tracks.start_tap(self.hearing.position(self.now_ms));
    }

    /// Ends what [`Self::start_tap`] began.
    pub fn stop_tap(&mut self) {
        self.tracks.stop_tap();
    }

    /// Returns the next 20 ms for listeners, interleaved (user, agent), once they are complete.
    pub fn take_tap(&mut self) -> Option<Vec<i16>> {
        self.tracks.take_tap(self.hearing.settled_position(self.now_ms))
    }

    /// Returns whether voice began since the last call: at first, after a silence, or after words were requested.
    pub fn voice_began(&mut self) -> bool {
        self.user.voice_began()
    }

    /// Returns whether the user has a turn that is not over.
    pub fn is_in_turn(&self) -> bool {
        self.endpointing.in_turn()
    }

    /// Returns the knowledge about the end of the user's present turn, for those who train and explain the model.
    pub fn moment(&mut self, now_ms: u64) -> Option<Moment> {
        let at_ms = self.stream_time(now_ms);
        self.endpointing.moment(at_ms)
    }

    /// Returns whether nothing is being said or waits to be said. A held speech does not count.
    pub fn is_quiet(&self) -> bool {
        self.speaking.is_quiet()
    }

    /// Returns whether no audio has come for so long that the line counts as silent. Delayed audio arrives
    /// all at once and must be passed to [`Self::receive`] as one piece. In several pieces it would count as
    /// audio after a silence.
    pub fn is_stalled(&self, now_ms: u64) -> bool {
        self.hearing.is_stalled(now_ms)
    }

    /// Returns by how many milliseconds the received audio is ahead of the clock.
    pub fn lead_ms(&self) -> u64 {
        self.hearing.heard_ms().saturating_sub(self.now_ms)
    }

    /// Returns the milliseconds of audio sent and not played yet.
    pub fn ahead_ms(&self) -> u64 {
        self.speaking.ahead_ms(self.now_ms)
    }

    /// Returns the numbers of samples sent, played, cleared and outstanding.
    pub fn account(&self) -> [u64; 4] {
        self.speaking.account(self.now_ms)
    }

    fn advance(&mut self, now_ms: u64) -> u64 {
        self.now_ms = self.now_ms.max(now_ms);
        self.now_ms
    }

    fn stream_time(&mut self, now_ms: u64) -> u64 {
        let now_ms = self.advance(now_ms);
        self.hearing.now(now_ms)
    }

    /// Performs everything that may follow from any input.
    fn settle(&mut self) {
        let at_ms = self.hearing.now(self.now_ms);
        // Audio that did not arrive in time counts as silence.
        if at_ms > self.hearing.heard_ms() {
            self.user.fall_silent();
        }
        self.judge(at_ms);
        self.play();
    }

    fn play(&mut self) {
        let before = self.speaking.is_audible();
        let position = self.hearing.position(self.now_ms);
        self.speaking.pump(self.now_ms, position, &mut self.tracks);
        if !before && self.speaking.is_audible() {
            let began_ms = self.hearing.now(self.now_ms);
            self.overlap.agent_began(began_ms);
            self.endpointing.agent_began(began_ms);
            let (at_ms, audio_ms) = (self.now_ms, self.speaking.audio_ms());
            let started = self.speaking.speech().map(|speech| SessionEvent::SpeakingStarted {
                speech,
                at_ms,
                audio_ms,
            });
            self.events.extend(started);
        }
        if self.speaking.is_finished(self.now_ms) {
            self.drop_speech(Drop::Ended);
            let now_ms = self.hearing.now(self.now_ms);
            let answer = self.overlap.take_answer(self.endpointing.expectation(), now_ms);
            if let Some(answer) = answer {
                self.utterance_ended(answer);
            }
        }
    }

    /// Drops the present speech for something else that is said.
    fn make_way(&mut self) {
        self.drop_speech(Drop::Ended);
        self.overlap.forget_backchannel();
    }

    fn drop_speech(&mut self, how: Drop) {
        let position = self.hearing.position(self.now_ms);
        let dropped = self.speaking.drop_speech(how, self.now_ms, position, &mut self.tracks);
        let Some(event) = dropped else { return };
        if let SessionEvent::BargedIn { heard, .. } | SessionEvent::SpeakingEnded { heard, .. } = &event
            && !heard.is_empty()
        {
            self.agent_said(heard, matches!(event, SessionEvent::SpeakingEnded { .. }));
        }
        self.events.push_back(event);
    }

    /// Updates the expected answer, and the words that may come back as echo, from the agent's last words.
    fn agent_said(&mut self, words: &str, to_the_end: bool) {
        let at_ms = self.hearing.now(self.now_ms);
        self.echo.agent_said(words, at_ms);
        self.overlap.agent_said(to_the_end, at_ms);
        self.endpointing.agent_said(words);
    }
}

#[cfg(test)]
mod tests;
