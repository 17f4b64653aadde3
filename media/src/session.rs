//! Audio of one call without I/O: combines decoding, voice activity, turns, barge-in, playout and recording.
//! Line bytes, words and synthesised speech go in with the time; line output, samples for the recogniser and
//! facts come out.

mod adopting;
mod clock;
mod echo;
mod echo_words;
mod hearing;
mod keys;
mod levels;
mod listening;
mod machines;
mod operator;
mod recorded;
mod speaking;
mod types;

use std::{collections::VecDeque, ops::Range};

use echo::EchoGuard;
use hearing::{HeardBlock, Hearing};
use recorded::Tracks;
use speaking::{Drop, Speaking};
pub use types::{Cue, LineOutput, Manner, Say, SessionConfig, SessionError, SessionEvent, SpeechId, SynthesisJob};

use crate::{
    amd,
    playout::WordEnd,
    turn::{
        barge_in::{
            self, BargeIn, Observation,
            floor::{self, Floor},
        },
        endpointing::{self, Endpointing, Utterance},
        words,
    },
};

/// Time in milliseconds before the agent's last word within which a backchannel counts as an answer after all.
const ANSWER_SLACK_MS: u64 = 1_500;

/// Seconds of recorded audio that may wait to be taken.
const RECORDING_SECONDS: usize = 10;

/// Audio of one call. Times are milliseconds since it began and never decrease.
pub struct AudioSession {
    hearing: Hearing,
    blocks: Vec<HeardBlock>,
    echo: EchoGuard,
    /// Blocks that the guard passed on. Kept to reuse the allocation.
    passed: Vec<HeardBlock>,
    /// The agent's last words, and the time of their end in the stream.
    said: String,
    said_ms: u64,
    /// End of the last voice whose turn ended without words. Its words may still come.
    unworded_ms: Option<u64>,
    /// The speech whose echo was reported.
    echo_told: Option<SpeechId>,
    endpointing: Endpointing,
    /// The words so far of the user's turn. Kept because barge-in needs them for every block.
    words: String,
    /// Their meaning over the agent's speech.
    floor: Floor,
    /// Whether a recogniser that answers each request was asked and has not answered.
    is_asked: bool,
    voice: listening::VoiceNews,
    /// Start of the present voice, and the end of the last voiced block.
    onset_ms: Option<u64>,
    last_voiced_ms: u64,
    barge_in: BargeIn,
    /// Time of the stream since which the user's speech interrupts, or `None` while it does not.
    barge_in_from_ms: Option<u64>,
    speaking: Speaking,
    /// Whether a pause of this turn was reported.
    pause_told: bool,
    /// A backchannel during playout that may turn out to be an answer.
    backchannel: Option<Utterance>,
    /// Time of the recogniser's last final words in this turn.
    final_ms: Option<u64>,
    /// Time at which the agent last began to speak, in the time of the line's audio.
    began_ms: u64,
    /// Time span of the agent's last words, unless it was interrupted.
    spoke_ms: Option<Range<u64>>,
    events: VecDeque<SessionEvent>,
    outputs: VecDeque<LineOutput>,
    tracks: Tracks,
    /// Detector of who answered. `None` for inbound calls.
    who_answered: Option<amd::Detector>,
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
            blocks: Vec::new(),
            echo: EchoGuard::new(),
            passed: Vec::new(),
            said: String::new(),
            said_ms: 0,
            unworded_ms: None,
            echo_told: None,
            endpointing: Endpointing::new(config.pause),
            words: String::new(),
            floor: Floor::Silent,
            is_asked: false,
            voice: listening::VoiceNews::default(),
            onset_ms: None,
            last_voiced_ms: 0,
            barge_in: BargeIn::new(0),
            barge_in_from_ms: None,
            speaking: Speaking::new(config),
            pause_told: false,
            backchannel: None,
            final_ms: None,
            began_ms: 0,
            spoke_ms: None,
            events: VecDeque::new(),
            outputs: VecDeque::new(),
            tracks: Tracks::of(config),
            who_answered: None,
            now_ms: 0,
        })
    }

    /// Takes audio of any length in the line's encoding. Frames that arrived together should be passed as one.
    pub fn receive(&mut self, audio: &[u8], now_ms: u64) {
        let now_ms = self.advance(now_ms);
        let mut blocks = std::mem::take(&mut self.blocks);
        self.hearing.receive(audio, now_ms, &mut blocks, &mut self.tracks);
        for block in blocks.drain(..) {
            self.hear(block);
        }
        self.blocks = blocks;
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
        let own = self.without_echo(text, at_ms);
        let began = self.endpointing.interim(own.unwrap_or(text), at_ms);
        self.words_changed(began);
    }

    /// Takes final words of the recogniser. With `damaged`, part of the speech may have been heard and not understood.
    pub fn settled(&mut self, text: &str, damaged: bool, now_ms: u64) {
        let at_ms = self.stream_time(now_ms);
        self.is_asked = false;
        if damaged || !text.is_empty() {
            self.final_ms = Some(self.now_ms);
        }
        let own = self.without_echo(text, at_ms);
        // Words lost from an echo are no loss.
        let damaged = damaged && own.is_none_or(|words| !words.is_empty());
        let began = self.endpointing.settle(own.unwrap_or(text), damaged, at_ms);
        self.words_changed(began);
    }

    /// Queues text of a speech. A new speech drops an unfinished one, a held one only another held one. Text of an
    /// earlier speech is ignored.
    pub fn say(&mut self, say: Say, now_ms: u64) {
        let now_ms = self.advance(now_ms);
        if self.speaking.is_new(say.speech) && !say.held {
            self.drop_speech(Drop::Ended, now_ms);
            self.backchannel = None;
        }
        self.speaking.say(say);
        self.settle();
    }

    /// Lets a held speech play in place of an unfinished one. Any other number is ignored.
    pub fn release(&mut self, speech: SpeechId, now_ms: u64) {
        let now_ms = self.advance(now_ms);
        if self.speaking.is_held(speech) {
            self.drop_speech(Drop::Ended, now_ms);
            self.backchannel = None;
            self.speaking.release();
        }
        self.settle();
    }

    /// Drops everything not played yet, and the held speech. The latter is not reported, since nobody heard it.
    pub fn stop_speaking(&mut self, now_ms: u64) {
        let now_ms = self.advance(now_ms);
        self.speaking.drop_held();
        self.drop_speech(Drop::Ended, now_ms);
        self.settle();
    }

    /// Sets whether the user's speech interrupts playout. Speech counts from the moment at which this is allowed.
    pub fn allow_barge_in(&mut self, allowed: bool, now_ms: u64) {
        let at_ms = self.stream_time(now_ms);
        self.barge_in_from_ms = allowed.then_some(at_ms);
        self.barge_in.count_from(at_ms);
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
        let now_ms = self.advance(now_ms);
        let (speech, held) = self.speaking.speech_of(generation)?;
        match held {
            true => self.speaking.drop_held(),
            false => self.drop_speech(Drop::Failed, now_ms),
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
        let now_ms = self.advance(now_ms);
        self.speaking.drop_held();
        self.drop_speech(Drop::Ended, now_ms);
        self.outputs.clear();
        if let Some(utterance) = self.endpointing.flush() {
            self.forget_words();
            self.utterance_ended(utterance);
        }
    }

    /// Returns when [`Self::tick`] is needed if nothing else happens before.
    pub fn next_deadline(&self) -> Option<u64> {
        let paused = self.barge_in.deadline(self.last_voiced_ms, self.floor, self.is_asked);
        let paused = paused.filter(|_| self.speaking.is_paused());
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
        self.outputs.pop_front()
    }

    /// Returns the samples for the recogniser, at its rate, since they were last cleared.
    pub fn recogniser_samples(&mut self) -> &mut Vec<i16> {
        self.hearing.recogniser_samples()
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
            self.onset_ms = None;
        }
        self.judge(at_ms);
        self.play();
    }

    fn judge(&mut self, at_ms: u64) {
        if self.speaking.is_interruptible() && self.barge_in_from_ms.is_some() {
            let seen = Observation {
                at_ms,
                onset_ms: self.onset_ms,
                last_voiced_ms: self.last_voiced_ms,
                words: &self.words,
                floor: self.floor,
                is_speech: self.endpointing.is_speech(),
                is_asked: self.is_asked,
            };
            match self.barge_in.observe(&seen) {
                Some(barge_in::Verdict::Pause) => self.pause_playout(),
                Some(barge_in::Verdict::Resume) => self.resume_playout(),
                Some(barge_in::Verdict::BargeIn) => self.drop_speech(Drop::BargedIn, self.now_ms),
                None => {}
            }
        } else if self.speaking.is_paused() {
            self.resume_playout();
            self.barge_in = BargeIn::new(at_ms);
        }
        while let Some(verdict) = self.endpointing.tick(at_ms) {
            match verdict {
                endpointing::Verdict::Finalize => self.want_final(),
                endpointing::Verdict::Paused(text) => self.turn_paused(text),
                endpointing::Verdict::Resumed if std::mem::take(&mut self.pause_told) => {
                    let at_ms = self.now_ms;
                    self.events.push_back(SessionEvent::TurnResumed { at_ms });
                }
                endpointing::Verdict::Resumed => {}
                endpointing::Verdict::Ended(utterance) => self.look_at_turn(utterance, at_ms),
            }
        }
    }

    fn pause_playout(&mut self) {
        self.speaking.pause(self.now_ms, &mut self.outputs);
        self.truncate_recording();
        let at_ms = self.now_ms;
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
        let began_ms = self.endpointing.started_ms();
        if floor::is_nod(&text)
            && (self.speaking.is_audible() || began_ms.is_some_and(|at| self.is_only_attention(at, &text)))
        {
            return;
        }
        self.pause_told = true;
        let at_ms = self.now_ms;
        self.events.push_back(SessionEvent::TurnPaused { text, at_ms });
    }

    /// Returns whether a turn is only a backchannel: it began at `began_ms`, while the agent was speaking, and
    /// its words are no answer that the agent expects.
    fn is_only_attention(&self, began_ms: u64, text: &str) -> bool {
        let over_agent = self.spoke_ms.as_ref().is_some_and(|spoke| spoke.contains(&began_ms));
        over_agent && floor::is_nod(text) && !self.endpointing.expectation().takes_backchannel(text)
    }

    /// Ends a turn. During playout a turn of backchannels or without words is not reported. Other turns interrupt
    /// the agent, if it may be interrupted and their words are not as likely misheard.
    fn turn_over(&mut self, utterance: Utterance) {
        self.forget_words();
        self.pause_told = false;
        self.unworded_ms = utterance.text.is_empty().then_some(utterance.ended_ms);
        if self.speaking.is_audible() {
            if floor::is_nod(&utterance.text) {
                self.backchannel = Some(utterance);
                return;
            }
            if !words::any(&utterance.text) {
                return;
            }
            // Words begun earlier belong to the pick-up, however late they are recognised.
            let interrupts = self
                .barge_in_from_ms
                .is_some_and(|from_ms| utterance.started_ms >= from_ms);
            let is_likely = Floor::of_turn(&utterance.text) >= Floor::Likely;
            if self.speaking.is_interruptible() && interrupts && is_likely {
                self.drop_speech(Drop::BargedIn, self.now_ms);
            }
        } else if self.is_only_attention(utterance.started_ms, &utterance.text) {
            return;
        }
        self.utterance_ended(utterance);
    }

    fn utterance_ended(&mut self, mut utterance: Utterance) {
        utterance.final_ms = self.final_ms;
        self.events.push_back(SessionEvent::UtteranceEnded(utterance));
    }

    fn play(&mut self) {
        let position = self.hearing.position(self.now_ms);
        let before = self.speaking.is_audible();
        self.speaking
            .pump(self.now_ms, &mut self.outputs, (&mut self.tracks, position));
        if !before && self.speaking.is_audible() {
            self.barge_in = BargeIn::new(self.hearing.now(self.now_ms));
            self.began_ms = self.hearing.now(self.now_ms);
            self.endpointing.agent_began(self.began_ms);
            if let Some(speech) = self.speaking.speech() {
                let (at_ms, audio_ms) = (self.now_ms, self.speaking.audio_ms());
                self.events.push_back(SessionEvent::SpeakingStarted {
                    speech,
                    at_ms,
                    audio_ms,
                });
            }
        }
        if self.speaking.is_finished(self.now_ms) {
            self.drop_speech(Drop::Ended, self.now_ms);
            let now_ms = self.hearing.now(self.now_ms);
            let answer = self.backchannel.take().filter(|said| {
                let expected = self.endpointing.expectation();
                said.ended_ms + ANSWER_SLACK_MS >= now_ms && expected.takes_backchannel(&said.text)
            });
            if let Some(answer) = answer {
                self.utterance_ended(answer);
            }
        }
    }

    fn drop_speech(&mut self, how: Drop, now_ms: u64) {
        if self.speaking.is_live() {
            self.fade_out();
        }
        let dropped = self.speaking.drop_speech(how, now_ms, &mut self.outputs);
        self.truncate_recording();
        if let Some(event) = dropped {
            self.agent_said(&event);
            self.events.push_back(event);
        }
    }
}

#[cfg(test)]
mod tests;
