//! The speaking side of a session: one speech at a time, with the parts of its audio that were sent, played and heard.

mod keys;
mod live;
mod pace;

use std::collections::VecDeque;

use live::{LIVE, Live};
use pace::Pace;

use super::{
    LineOutput, Manner, Say, SessionConfig, SessionEvent, SpeechId, SynthesisJob, echo::SILENT_DB, levels::Levels,
    recorded::Tracks,
};
use crate::{
    codec,
    format::LineFormat,
    playout::{Ledger, Speech, WordEnd},
};

/// Waiting audio in milliseconds below which the next text is synthesised.
const LOOKAHEAD_MS: u64 = 3_000;

/// Waiting audio in milliseconds above which synthesis pauses.
const WELL_AHEAD_MS: u64 = 6_000;

/// Interval in milliseconds of further looks if neither a mark nor the clock tells when the line has room.
const LOOK_AGAIN_MS: u64 = 20;

/// Reason why a speech ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drop {
    /// It was played, or the agent no longer wants it.
    Ended,
    /// The user interrupted it.
    BargedIn,
    /// It could not be synthesised.
    Failed,
}

/// The speech that is being said.
struct Current {
    id: SpeechId,
    protected: bool,
    speech: Speech,
    levels: Levels,
    queue: VecDeque<(String, Manner)>,
    last: bool,
    /// Time of its first synthesised audio.
    audio_ms: Option<u64>,
    /// Whether audio of it was sent.
    audible: bool,
    paused: bool,
    /// Position of the line's account at which ...
    sent_base: u64,
    /// ... this position of the speech was sent.
    speech_base: u64,
    /// The furthest position that was played before the last cut.
    heard: u64,
    /// An operator's audio, which is played instead of a text.
    live: Option<Live>,
}

impl Current {
    fn new(id: SpeechId, protected: bool, format: LineFormat) -> Self {
        Self {
            id,
            protected,
            speech: Speech::new(format),
            levels: Levels::new(format.sample_rate),
            queue: VecDeque::new(),
            last: false,
            audio_ms: None,
            audible: false,
            paused: false,
            sent_base: 0,
            speech_base: 0,
            heard: 0,
            live: None,
        }
    }

    fn position(&self, head: u64) -> u64 {
        if self.paused {
            return self.heard;
        }
        let since = head.saturating_sub(self.sent_base);
        (self.speech_base + since).min(self.speech.cursor())
    }

    fn heard(&self, head: u64) -> u64 {
        self.heard.max(self.position(head))
    }

    fn is_complete(&self) -> bool {
        let live = self.live.as_ref().is_some_and(|live| !live.is_over());
        self.last && self.queue.is_empty() && !self.speech.expects_audio() && !live
    }
}

/// The speaking side of a session.
pub(super) struct Speaking {
    format: LineFormat,
    samples_per_ms: u64,
    pace: Pace,
    ledger: Ledger,
    can_clear: bool,
    current: Option<Current>,
    /// The next speech, prepared beside the present one and not sent before it is released.
    held: Option<Current>,
    /// The newest speech so far.
    newest: Option<SpeechId>,
    generation: u64,
    encoded: Vec<u8>,
    /// End of the agent's last sample in the recording.
    recorded_end: u64,
}

impl Speaking {
    pub(super) fn new(config: &SessionConfig) -> Self {
        Self {
            format: config.format,
            samples_per_ms: u64::from(config.format.sample_rate / 1_000),
            pace: Pace::of(config),
            ledger: Ledger::new(config.abilities, config.format.sample_rate),
            recorded_end: 0,
            can_clear: config.abilities.clear,
            current: None,
            held: None,
            newest: None,
            generation: 0,
            encoded: Vec::new(),
        }
    }

    /// Returns the speech that is being said.
    pub(super) fn speech(&self) -> Option<SpeechId> {
        let id = self.current.as_ref().map(|current| current.id);
        id.filter(|id| *id < LIVE)
    }

    /// Returns the time of the present speech's first synthesised audio.
    pub(super) fn audio_ms(&self) -> Option<u64> {
        self.current.as_ref().and_then(|current| current.audio_ms)
    }

    /// Returns whether nothing is played or waits to be played.
    pub(super) fn is_quiet(&self) -> bool {
        self.current.is_none()
    }

    /// Returns whether audio of an unfinished speech was sent, paused or not. An operator's audio is no speech.
    pub(super) fn is_audible(&self) -> bool {
        let audible = |current: &Current| current.audible && current.live.is_none();
        self.current.as_ref().is_some_and(audible)
    }

    /// Returns whether barge-in may stop the present speech.
    pub(super) fn is_interruptible(&self) -> bool {
        self.current
            .as_ref()
            .is_some_and(|current| current.audible && !current.protected)
    }

    pub(super) fn is_paused(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.paused)
    }

    /// Returns whether text of this speech would begin a new one.
    pub(super) fn is_new(&self, speech: SpeechId) -> bool {
        self.newest.is_none_or(|newest| speech > newest)
    }

    pub(super) fn say(&mut self, say: Say) {
        let id = say.speech;
        if self.is_new(id) {
            self.newest = Some(id);
            let begun = Some(Current::new(id, say.protected, self.format));
            self.held = None;
            match say.held {
                true => self.held = begun,
                false => self.current = begun,
            }
        }
        let mut speeches = self.current.iter_mut().chain(self.held.iter_mut());
        let Some(speech) = speeches.find(|speech| speech.id == id) else {
            return;
        };
        if !say.text.trim().is_empty() {
            speech.queue.push_back((say.text, say.manner));
        }
        speech.protected = say.protected;
        speech.last |= say.last;
    }

    /// Returns whether this speech waits for its release.
    pub(super) fn is_held(&self, speech: SpeechId) -> bool {
        self.held.as_ref().is_some_and(|held| held.id == speech)
    }

    /// Makes the held speech the present one, which must have been dropped.
    pub(super) fn release(&mut self) {
        if let Some(held) = self.held.take() {
            self.current = Some(held);
        }
    }

    /// Drops the held speech.
    pub(super) fn drop_held(&mut self) {
        self.held = None;
    }

    pub(super) fn next_text(&mut self) -> Option<SynthesisJob> {
        if self.job().is_some() {
            return None;
        }
        let lookahead = LOOKAHEAD_MS * self.samples_per_ms;
        let mut speeches = self.current.iter_mut().chain(self.held.iter_mut());
        let speech = speeches.find(|speech| !speech.queue.is_empty() && speech.speech.unsent() <= lookahead)?;
        let (text, manner) = speech.queue.pop_front()?;
        speech.speech.begin_text(&text);
        self.generation += 1;
        Some(SynthesisJob {
            generation: self.generation,
            text,
            manner,
        })
    }

    /// Returns the synthesis whose audio is still wanted.
    pub(super) fn job(&self) -> Option<u64> {
        let mut speeches = self.current.iter().chain(&self.held);
        speeches
            .any(|speech| speech.speech.expects_audio())
            .then_some(self.generation)
    }

    /// Returns the speech that is being synthesised.
    fn in_work(&mut self, generation: u64) -> Option<&mut Current> {
        let wanted = generation == self.generation;
        let mut speeches = self.current.iter_mut().chain(self.held.iter_mut());
        speeches.find(|speech| wanted && speech.speech.expects_audio())
    }

    /// Returns the speech of a synthesis whose audio is still wanted, and whether it is held.
    pub(super) fn speech_of(&mut self, generation: u64) -> Option<(SpeechId, bool)> {
        let id = self.in_work(generation)?.id;
        Some((id, self.is_held(id)))
    }

    pub(super) fn is_well_ahead(&self) -> bool {
        let enough = WELL_AHEAD_MS * self.samples_per_ms;
        let mut speeches = self.current.iter().chain(&self.held);
        speeches.any(|speech| speech.speech.expects_audio() && speech.speech.unsent() > enough)
    }

    pub(super) fn synthesized(&mut self, generation: u64, samples: &[i16], words: &[WordEnd], now_ms: u64) {
        let mut encoded = std::mem::take(&mut self.encoded);
        let format = self.format;
        if let Some(speech) = self.in_work(generation) {
            encoded.clear();
            codec::encode(format.encoding, samples, &mut encoded);
            speech.speech.push(&encoded, words);
            speech.levels.push(samples);
            speech.audio_ms.get_or_insert(now_ms);
        }
        self.encoded = encoded;
    }

    pub(super) fn synthesis_ended(&mut self, generation: u64) {
        if let Some(speech) = self.in_work(generation) {
            speech.speech.end_text();
        }
    }

    pub(super) fn marked(&mut self, name: &str, now_ms: u64) {
        if let Some(id) = name.strip_prefix('m').and_then(|id| id.parse().ok()) {
            self.ledger.marked(id, now_ms);
        }
    }

    /// Sends the audio that the line should have now, and records it where it will play; `position` is now.
    pub(super) fn pump(
        &mut self,
        now_ms: u64,
        outputs: &mut VecDeque<LineOutput>,
        (tracks, position): (&mut Tracks, u64),
    ) {
        while let Some(audio) = self.next_message(now_ms) {
            self.send(audio, now_ms, outputs, (&mut *tracks, position));
        }
    }

    fn send(
        &mut self,
        audio: Vec<u8>,
        now_ms: u64,
        outputs: &mut VecDeque<LineOutput>,
        (tracks, position): (&mut Tracks, u64),
    ) {
        let ahead = self.ledger.outstanding(now_ms);
        // The line's time moves in frames, which may be late, and playout's time does not. Audio that
        // continues other audio is therefore placed directly after it.
        let from = match ahead > 0 {
            true => self.recorded_end,
            false => self.recorded_end.max(position),
        };
        let samples = audio.len() / self.format.encoding.bytes_per_sample();
        self.recorded_end = tracks.agent(from, &audio, self.format.encoding) + samples as u64;
        self.ledger.send(samples as u64, now_ms);
        outputs.push_back(LineOutput::Audio(audio));
        outputs.extend(self.ledger.mark().map(|id| LineOutput::Mark(format!("m{id}"))));
    }

    /// Returns the end of the agent's recording, without cleared audio.
    pub(super) fn recorded_end(&self) -> u64 {
        self.recorded_end
    }

    fn next_message(&mut self, now_ms: u64) -> Option<Vec<u8>> {
        if self.is_live() {
            return self.next_live_message(now_ms);
        }
        let pace = self.pace;
        let head = self.ledger.head(now_ms);
        let ahead = self.ledger.outstanding(now_ms);
        let sent = self.ledger.sent();
        let current = self.current.as_mut().filter(|current| !current.paused)?;
        let unsent = current.speech.unsent();
        if unsent == 0 || (ahead > 0 && ahead + pace.message > pace.ahead) {
            return None;
        }
        let short = unsent < pace.message && !current.is_complete();
        if short && (pace.whole || ahead >= pace.low) {
            return None;
        }
        if !current.audible {
            current.audible = true;
            current.sent_base = sent;
        }
        let position = current.position(head);
        current.speech.release(position);
        let mut audio = current.speech.take(pace.message);
        if pace.whole {
            let whole = pace.message as usize * self.format.encoding.bytes_per_sample();
            audio.resize(whole, codec::silence(self.format.encoding));
        }
        Some(audio)
    }

    /// Stops playout at once and keeps the rest.
    pub(super) fn pause(&mut self, now_ms: u64, outputs: &mut VecDeque<LineOutput>) {
        if self.current.is_some() {
            self.cut(now_ms, outputs);
        }
    }

    /// Resumes from the start of the word where it was cut.
    pub(super) fn resume(&mut self) {
        let sent = self.ledger.sent();
        if let Some(current) = self.current.as_mut().filter(|current| current.paused) {
            current.speech.step_back(current.heard);
            current.sent_base = sent;
            current.speech_base = current.speech.cursor();
            current.paused = false;
        }
    }

    /// Returns whether the speech has been played to its end.
    pub(super) fn is_finished(&self, now_ms: u64) -> bool {
        self.current.as_ref().is_some_and(|current| {
            let sent = current.is_complete() && current.speech.unsent() == 0 && !current.paused;
            sent && (!current.audible || self.ledger.is_idle(now_ms))
        })
    }

    /// Ends the speech, and clears it from the line. Returns the event to report, if any.
    pub(super) fn drop_speech(
        &mut self,
        how: Drop,
        at_ms: u64,
        outputs: &mut VecDeque<LineOutput>,
    ) -> Option<SessionEvent> {
        let finished = self.is_finished(at_ms);
        if !finished && self.current.as_ref().is_some_and(|current| !current.paused) {
            self.cut(at_ms, outputs);
        }
        let current = self.current.take()?;
        // Texts without any audio count as said only if the speech came to its end.
        let heard = match finished {
            true => current.speech.text().trim_end(),
            false => current.speech.heard(current.heard),
        };
        let (speech, heard) = (current.id, heard.to_owned());
        match how {
            _ if speech >= LIVE => None,
            Drop::BargedIn => Some(SessionEvent::BargedIn { speech, heard, at_ms }),
            Drop::Failed if !current.audible => None,
            Drop::Ended | Drop::Failed => Some(SessionEvent::SpeakingEnded { speech, heard, at_ms }),
        }
    }

    /// Clears the line and notes the part that was heard.
    fn cut(&mut self, now_ms: u64, outputs: &mut VecDeque<LineOutput>) {
        let outstanding = self.ledger.outstanding(now_ms) > 0;
        let cleared = self.ledger.cleared();
        let head = self.ledger.clear(now_ms);
        self.recorded_end = self.recorded_end.saturating_sub(self.ledger.cleared() - cleared);
        if let Some(current) = &mut self.current {
            current.heard = current.heard(head);
            current.paused = true;
        }
        // A line that cannot clear keeps its little audio. A line without outstanding audio in our account
        // may still lag.
        if self.can_clear && outstanding {
            outputs.retain(|output| !matches!(output, LineOutput::Audio(_) | LineOutput::Mark(_)));
            outputs.push_back(LineOutput::Clear);
        }
    }

    /// Returns when the line or the end of the speech needs attention.
    pub(super) fn deadline(&self, now_ms: u64) -> Option<u64> {
        let current = self.current.as_ref().filter(|current| !current.paused)?;
        if let Some(live) = current.live.as_ref().filter(|live| !live.is_over()) {
            return live.deadline();
        }
        let unsent = current.speech.unsent();
        let short = unsent < self.pace.message && !current.is_complete();
        if short && self.pace.whole {
            return None;
        }
        if unsent > 0 {
            let enough = if short {
                self.pace.low
            } else {
                self.pace.ahead - self.pace.message
            };
            let due = self.ledger.reached_at_ms(self.ledger.sent().saturating_sub(enough));
            // If the clock is past the due time, a mark or audio is awaited and the only choice is to look again.
            return Some(if due > now_ms { due } else { now_ms + LOOK_AGAIN_MS });
        }
        (current.is_complete() && current.audible).then(|| self.ledger.idle_at_ms())
    }

    pub(super) fn ahead_ms(&self, now_ms: u64) -> u64 {
        self.ledger.outstanding(now_ms) / self.samples_per_ms
    }

    /// Returns the level of the audio that the line plays at a moment, in dBFS.
    pub(super) fn level_db(&self, at_ms: u64) -> f32 {
        let Some(current) = self
            .current
            .as_ref()
            .filter(|current| current.audible && !current.paused)
        else {
            return SILENT_DB;
        };
        let position = current.position(self.ledger.head(at_ms));
        match position < current.speech.cursor() {
            true => current.levels.at(position),
            false => SILENT_DB,
        }
    }

    /// Returns the text of the present speech, as far as it may have been heard.
    pub(super) fn text(&self) -> &str {
        self.current
            .as_ref()
            .filter(|current| current.audible)
            .map_or("", |current| current.speech.text())
    }

    /// Returns the numbers of samples sent, played, cleared and outstanding.
    pub(super) fn account(&self, now_ms: u64) -> [u64; 4] {
        let ledger = &self.ledger;
        [
            ledger.sent(),
            ledger.played(now_ms),
            ledger.cleared(),
            ledger.outstanding(now_ms),
        ]
    }
}
