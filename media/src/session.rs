//! One call's audio without I/O: decoding, voice activity, turns, barge-in, playout and recording joined. Line bytes,
//! words and synthesised speech go in with the time; line output, the recogniser's samples and facts come out.

mod adopting;
mod clock;
mod echo;
mod echo_words;
mod hearing;
mod keys;
mod levels;
mod listening;
mod machines;
mod recorded;
mod speaking;
mod types;

use std::{collections::VecDeque, ops::Range};

use echo::EchoGuard;
use hearing::{HeardBlock, Hearing};
use speaking::{Drop, Speaking};
pub use types::{Cue, LineOutput, Manner, Say, SessionConfig, SessionError, SessionEvent, SpeechId, SynthesisJob};

use crate::{
    amd,
    playout::WordEnd,
    recording::StereoMixer,
    turn::{
        barge_in::{self, BargeIn, Observation},
        endpointing::{self, Endpointing, Utterance},
        words,
    },
};

/// A backchannel that ended so shortly before the agent's last word is an answer after all.
const ANSWER_SLACK_MS: u64 = 1_500;

/// Recorded audio that may wait to be taken.
const RECORDING_SECONDS: usize = 10;

/// The audio of one call. Times are milliseconds since it began and never go back.
pub struct AudioSession {
    hearing: Hearing,
    blocks: Vec<HeardBlock>,
    echo: EchoGuard,
    /// Blocks the guard passed on; kept for its room.
    passed: Vec<HeardBlock>,
    /// What the agent said last, and when that was over, in the stream's time.
    said: String,
    said_ms: u64,
    /// The end of the last voice whose turn ended without words: they may come yet.
    unworded_ms: Option<u64>,
    /// The speech whose echo was reported.
    echo_told: Option<SpeechId>,
    endpointing: Endpointing,
    /// The words so far of the user's turn; kept, since barge-in looks at them at every block.
    words: String,
    voice: listening::VoiceNews,
    /// Since when there is voice, and the end of the last voiced block.
    onset_ms: Option<u64>,
    last_voiced_ms: u64,
    barge_in: BargeIn,
    /// Since when speech of the user interrupts, in the stream's time; none while it does not.
    barge_in_from_ms: Option<u64>,
    speaking: Speaking,
    /// A pause of this turn was reported.
    pause_told: bool,
    /// A backchannel said during playout, which may yet turn out an answer.
    backchannel: Option<Utterance>,
    /// When the recogniser's last final words of this turn came.
    final_ms: Option<u64>,
    /// When the agent began to speak last, in the time of the line's audio.
    began_ms: u64,
    /// From when to when it said its last words, unless it was interrupted.
    spoke_ms: Option<Range<u64>>,
    events: VecDeque<SessionEvent>,
    outputs: VecDeque<LineOutput>,
    mixer: Option<StereoMixer>,
    /// Finds out who answered; none where we were called.
    who_answered: Option<amd::Detector>,
    now_ms: u64,
}

impl AudioSession {
    /// A session in which nothing was heard or said. Barge-in is not allowed yet.
    ///
    /// # Errors
    /// A rate other than 8000 or 16000 Hz.
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
            mixer: config
                .record
                .then(|| StereoMixer::new(config.format.sample_rate as usize * RECORDING_SECONDS)),
            who_answered: None,
            now_ms: 0,
        })
    }

    /// Takes audio in the line's encoding, any length; several frames that came at once are best given as one.
    pub fn receive(&mut self, audio: &[u8], now_ms: u64) {
        let now_ms = self.advance(now_ms);
        let mut blocks = std::mem::take(&mut self.blocks);
        self.hearing.receive(audio, now_ms, &mut blocks, self.mixer.as_mut());
        for block in blocks.drain(..) {
            self.hear(block);
        }
        self.blocks = blocks;
        while let Some(tone) = self.hearing.poll_tone() {
            self.tone_ended(tone);
        }
        self.settle();
    }

    /// A mark came back from the carrier. One that is not ours counts for nothing.
    pub fn mark(&mut self, name: &str, now_ms: u64) {
        let now_ms = self.advance(now_ms);
        self.speaking.marked(name, now_ms);
        self.settle();
    }

    /// The recogniser's words since its last final, replacing those before.
    pub fn interim(&mut self, text: &str, now_ms: u64) {
        let at_ms = self.stream_time(now_ms);
        let own = self.without_echo(text, at_ms);
        let began = self.endpointing.interim(own.unwrap_or(text), at_ms);
        self.words_changed(began);
    }

    /// Words of the recogniser that will not change; part of the speech may have been heard and not understood.
    pub fn settled(&mut self, text: &str, damaged: bool, now_ms: u64) {
        let at_ms = self.stream_time(now_ms);
        if damaged || !text.is_empty() {
            self.final_ms = Some(self.now_ms);
        }
        let own = self.without_echo(text, at_ms);
        // What was lost of an echo is no loss.
        let damaged = damaged && own.is_none_or(|words| !words.is_empty());
        let began = self.endpointing.settle(own.unwrap_or(text), damaged, at_ms);
        self.words_changed(began);
    }

    /// Queues text of a speech. A new speech drops an unfinished one, unless it is held: then it only takes the place
    /// of another that is held. Text of an earlier speech is ignored.
    pub fn say(&mut self, say: Say, now_ms: u64) {
        let now_ms = self.advance(now_ms);
        if self.speaking.is_new(say.speech) && !say.held {
            self.drop_speech(Drop::Ended, now_ms);
            self.backchannel = None;
        }
        self.speaking.say(say);
        self.settle();
    }

    /// Lets a held speech play, in the place of an unfinished one. Any other number is ignored.
    pub fn release(&mut self, speech: SpeechId, now_ms: u64) {
        let now_ms = self.advance(now_ms);
        if self.speaking.is_held(speech) {
            self.drop_speech(Drop::Ended, now_ms);
            self.backchannel = None;
            self.speaking.release();
        }
        self.settle();
    }

    /// Drops everything not yet played, and what is held; that is not reported, since nobody heard of it.
    pub fn stop_speaking(&mut self, now_ms: u64) {
        let now_ms = self.advance(now_ms);
        self.speaking.drop_held();
        self.drop_speech(Drop::Ended, now_ms);
        self.settle();
    }

    /// Whether speech of the user interrupts playout. When it begins to, speech counts from that moment.
    pub fn allow_barge_in(&mut self, allowed: bool, now_ms: u64) {
        let at_ms = self.stream_time(now_ms);
        self.barge_in_from_ms = allowed.then_some(at_ms);
        self.barge_in.count_from(at_ms);
        self.settle();
    }

    /// The text to be synthesised next, if one is needed now; at most one at a time.
    pub fn next_text(&mut self) -> Option<SynthesisJob> {
        self.speaking.next_text()
    }

    /// The synthesis whose audio is still wanted.
    pub fn synthesis(&self) -> Option<u64> {
        self.speaking.job()
    }

    /// Whether enough audio waits that synthesis should pause.
    pub fn is_well_ahead(&self) -> bool {
        self.speaking.is_well_ahead()
    }

    /// A piece of synthesised speech at the line's rate, with the words that end in it. Stale ones are dropped.
    pub fn synthesized(&mut self, generation: u64, samples: &[i16], words: &[WordEnd], now_ms: u64) {
        let now_ms = self.advance(now_ms);
        self.speaking.synthesized(generation, samples, words, now_ms);
        self.settle();
    }

    /// A synthesis has no more audio.
    pub fn synthesis_ended(&mut self, generation: u64, now_ms: u64) {
        self.advance(now_ms);
        self.speaking.synthesis_ended(generation);
        self.settle();
    }

    /// A synthesis failed: nothing more of its speech plays. The speech, unless the synthesis was stale.
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

    /// What time brings.
    pub fn tick(&mut self, now_ms: u64) {
        self.advance(now_ms);
        self.settle();
    }

    /// The line is gone: ends the user's turn with the words so far, and the agent's speech.
    pub fn close(&mut self, now_ms: u64) {
        let now_ms = self.advance(now_ms);
        self.speaking.drop_held();
        self.drop_speech(Drop::Ended, now_ms);
        self.outputs.clear();
        if let Some(utterance) = self.endpointing.flush() {
            self.words.clear();
            self.utterance_ended(utterance);
        }
    }

    /// When [`Self::tick`] is needed, should nothing else happen before.
    pub fn next_deadline(&self) -> Option<u64> {
        let paused = self.barge_in.deadline(self.last_voiced_ms, &self.words);
        let paused = paused.filter(|_| self.speaking.is_paused());
        let hearing = [self.endpointing.deadline(), paused].into_iter().flatten().min();
        let hearing = hearing.map(|at_ms| self.hearing.clock_time(at_ms));
        let next = [hearing, self.speaking.deadline(self.now_ms)]
            .into_iter()
            .flatten()
            .min();
        next.map(|at_ms| at_ms.max(self.now_ms + 1))
    }

    /// The next fact.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    /// The next thing to send to the line.
    pub fn poll_output(&mut self) -> Option<LineOutput> {
        self.outputs.pop_front()
    }

    /// The samples for the recogniser since they were last discarded, at its rate.
    pub fn recogniser_samples(&mut self) -> &mut Vec<i16> {
        self.hearing.recogniser_samples()
    }

    /// Whether nothing is being said or waits to be said. A held speech does not count.
    pub fn is_quiet(&self) -> bool {
        self.speaking.is_quiet()
    }

    /// Whether no audio has come for so long that the line counts as silent. What was only held up comes all at once
    /// and is to be given to [`Self::receive`] as one; piece by piece it would be taken for audio after a silence.
    pub fn is_stalled(&self, now_ms: u64) -> bool {
        self.hearing.is_stalled(now_ms)
    }

    /// By how many milliseconds the audio received is ahead of the clock.
    pub fn lead_ms(&self) -> u64 {
        self.hearing.heard_ms().saturating_sub(self.now_ms)
    }

    /// Milliseconds of audio sent and not yet played.
    pub fn ahead_ms(&self) -> u64 {
        self.speaking.ahead_ms(self.now_ms)
    }

    /// Samples sent, played, cleared and outstanding.
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

    /// Everything that may follow from any input.
    fn settle(&mut self) {
        let at_ms = self.hearing.now(self.now_ms);
        // A stall of the line is silence.
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
                is_speech: self.endpointing.is_speech(),
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

    /// A sound of attention while the agent speaks is no turn that might be over.
    fn turn_paused(&mut self, text: String) {
        let began_ms = self.endpointing.started_ms();
        if words::is_backchannel(&text)
            && (self.speaking.is_audible() || began_ms.is_some_and(|at| self.is_only_attention(at, &text)))
        {
            return;
        }
        self.pause_told = true;
        let at_ms = self.now_ms;
        self.events.push_back(SessionEvent::TurnPaused { text, at_ms });
    }

    /// Whether the words of a turn that began then are a sound of attention over the agent's last words, which it said
    /// to the end, and no answer to them.
    fn is_only_attention(&self, began_ms: u64, text: &str) -> bool {
        let over_agent = self.spoke_ms.as_ref().is_some_and(|spoke| spoke.contains(&began_ms));
        over_agent && words::is_backchannel(text) && !self.endpointing.expectation().takes_backchannel(text)
    }

    /// A turn during playout that told nothing is not reported; one that told something interrupts.
    fn turn_over(&mut self, utterance: Utterance) {
        self.words.clear();
        self.pause_told = false;
        self.unworded_ms = utterance.text.is_empty().then_some(utterance.ended_ms);
        if self.speaking.is_audible() {
            if words::is_backchannel(&utterance.text) {
                self.backchannel = Some(utterance);
                return;
            }
            if !words::any(&utterance.text) {
                return;
            }
            // Words begun before that belong to the pick-up, however late they are understood.
            let interrupts = self
                .barge_in_from_ms
                .is_some_and(|from_ms| utterance.started_ms >= from_ms);
            if self.speaking.is_interruptible() && interrupts {
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
        self.speaking.pump(
            self.now_ms,
            &mut self.outputs,
            self.mixer.as_mut().map(|mixer| (mixer, position)),
        );
        if !before && self.speaking.is_audible() {
            self.barge_in = BargeIn::new(self.hearing.now(self.now_ms));
            self.began_ms = self.hearing.now(self.now_ms);
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
        let dropped = self.speaking.drop_speech(how, now_ms, &mut self.outputs);
        self.truncate_recording();
        if let Some(event) = dropped {
            self.agent_said(&event);
            self.events.push_back(event);
        }
    }

    /// What the agent said last tells which answer is expected, and which words may come back.
    fn agent_said(&mut self, event: &SessionEvent) {
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

#[cfg(test)]
mod tests;
