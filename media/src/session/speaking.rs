//! The speaking side of a session: one speech at a time, with the parts of its audio that were sent, played and heard.
//! Keys that the agent presses and an operator's audio play in place of a speech.

mod live;
mod pace;
mod playback;

use std::collections::VecDeque;

use live::{FRAME_MS, Live};
use pace::Pace;
use playback::{Playback, Source};

use super::{
    levels::SILENT_DB,
    messages::{LineOutput, Say, SessionConfig, SessionEvent, SpeechId, SynthesisJob},
    tracks::Tracks,
};
use crate::{
    codec,
    format::LineFormat,
    playout::{Ledger, WordEnd},
    tone::generate,
};

/// Waiting audio in milliseconds below which the next text is synthesised.
const LOOKAHEAD_MS: u64 = 3_000;

/// Waiting audio in milliseconds above which synthesis pauses.
const WELL_AHEAD_MS: u64 = 6_000;

/// Duration in milliseconds in which audio that is cut falls silent.
const FADE_MS: u64 = 20;

/// Most keys played at once.
const MOST_KEYS: usize = 64;

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

pub(super) struct Speaking {
    format: LineFormat,
    samples_per_ms: u64,
    pace: Pace,
    ledger: Ledger,
    can_clear: bool,
    current: Option<Playback>,
    /// The next speech, prepared beside the present one and not sent before it is released.
    held: Option<Playback>,
    /// The newest speech so far.
    newest: Option<SpeechId>,
    generation: u64,
    encoded: Vec<u8>,
    outputs: VecDeque<LineOutput>,
}

impl Speaking {
    pub(super) fn new(config: &SessionConfig) -> Self {
        Self {
            format: config.format,
            samples_per_ms: u64::from(config.format.sample_rate / 1_000),
            pace: Pace::of(config),
            ledger: Ledger::new(config.abilities, config.format.sample_rate),
            can_clear: config.abilities.clear,
            current: None,
            held: None,
            newest: None,
            generation: 0,
            encoded: Vec::new(),
            outputs: VecDeque::new(),
        }
    }

    pub(super) fn speech(&self) -> Option<SpeechId> {
        self.current.as_ref().and_then(Playback::id)
    }

    /// Returns the time of the present speech's first synthesised audio.
    pub(super) fn audio_ms(&self) -> Option<u64> {
        self.current.as_ref().and_then(Playback::audio_ms)
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.current.is_none()
    }

    /// Returns whether audio of an unfinished speech was sent, paused or not. An operator's audio is no speech.
    pub(super) fn is_audible(&self) -> bool {
        let audible = |current: &Playback| current.is_audible() && !current.is_live();
        self.current.as_ref().is_some_and(audible)
    }

    /// Returns whether barge-in may stop the present speech.
    pub(super) fn is_interruptible(&self) -> bool {
        self.current.as_ref().is_some_and(Playback::is_interruptible)
    }

    pub(super) fn is_paused(&self) -> bool {
        self.current.as_ref().is_some_and(Playback::is_paused)
    }

    /// Returns whether keys or an operator's audio are played, after which pressed keys follow.
    pub(super) fn takes_keys(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.id().is_none())
    }

    pub(super) fn is_live(&self) -> bool {
        self.current.as_ref().is_some_and(Playback::is_live)
    }

    /// Returns whether text of this speech would begin a new one.
    pub(super) fn is_new(&self, speech: SpeechId) -> bool {
        self.newest.is_none_or(|newest| speech > newest)
    }

    pub(super) fn say(&mut self, say: Say) {
        let id = say.speech;
        if self.is_new(id) {
            self.newest = Some(id);
            let begun = Some(Playback::new(Source::Speech(id), self.format));
            self.held = None;
            match say.held {
                true => self.held = begun,
                false => self.current = begun,
            }
        }
        if let Some(speech) = self.speeches().find(|speech| speech.id() == Some(id)) {
            speech.say(say);
        }
    }

    /// Returns the present speech and the held one.
    fn speeches(&mut self) -> impl Iterator<Item = &mut Playback> {
        self.current.iter_mut().chain(&mut self.held)
    }

    pub(super) fn is_held(&self, speech: SpeechId) -> bool {
        self.held.as_ref().is_some_and(|held| held.id() == Some(speech))
    }

    /// Makes the held speech the present one, which must have been dropped.
    pub(super) fn release(&mut self) {
        if let Some(held) = self.held.take() {
            self.current = Some(held);
        }
    }

    pub(super) fn drop_held(&mut self) {
        self.held = None;
    }

    /// Plays keys, after others that are still playing, or after an operator's audio. A present speech must have been
    /// dropped.
    pub(super) fn press(&mut self, keys: &str) {
        let keys: String = keys.chars().take(MOST_KEYS).collect();
        let tones = generate::keys(&keys, self.format.sample_rate);
        let format = self.format;
        self.current
            .get_or_insert_with(|| Playback::new(Source::Keys, format))
            .press(&tones);
    }

    /// Begins an operator's audio. The present speech must have been dropped.
    pub(super) fn begin_live(&mut self) {
        let live = Live::new(self.samples_per_ms, self.pace.ahead / self.samples_per_ms);
        self.current = Some(Playback::new(Source::Operator(live), self.format));
    }

    fn live(&mut self) -> Option<&mut Live> {
        self.current.as_mut().and_then(Playback::live)
    }

    /// Takes an operator's audio. Returns the number of samples that were dropped.
    pub(super) fn live_audio(&mut self, samples: &[i16], now_ms: u64) -> usize {
        self.live().map_or(0, |live| live.push(samples, now_ms))
    }

    /// Ends an operator's audio once what has arrived was played.
    pub(super) fn end_live(&mut self) {
        if let Some(live) = self.live() {
            live.end();
        }
    }

    pub(super) fn next_text(&mut self) -> Option<SynthesisJob> {
        if self.job().is_some() {
            return None;
        }
        let lookahead = LOOKAHEAD_MS * self.samples_per_ms;
        let (text, manner) = self.speeches().find_map(|speech| speech.next_text(lookahead))?;
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
        speeches.any(Playback::expects_audio).then_some(self.generation)
    }

    /// Returns the speech that is being synthesised.
    fn in_work(&mut self, generation: u64) -> Option<&mut Playback> {
        let wanted = generation == self.generation;
        self.speeches().find(|speech| wanted && speech.expects_audio())
    }

    /// Returns the speech of a synthesis whose audio is still wanted, and whether it is held.
    pub(super) fn speech_of(&mut self, generation: u64) -> Option<(SpeechId, bool)> {
        let id = self.in_work(generation)?.id()?;
        Some((id, self.is_held(id)))
    }

    pub(super) fn is_well_ahead(&self) -> bool {
        let enough = WELL_AHEAD_MS * self.samples_per_ms;
        let mut speeches = self.current.iter().chain(&self.held);
        speeches.any(|speech| speech.expects_audio() && speech.unsent() > enough)
    }

    pub(super) fn synthesized(&mut self, generation: u64, samples: &[i16], words: &[WordEnd], now_ms: u64) {
        let mut encoded = std::mem::take(&mut self.encoded);
        let encoding = self.format.encoding;
        if let Some(speech) = self.in_work(generation) {
            encoded.clear();
            codec::encode(encoding, samples, &mut encoded);
            speech.synthesized(samples, &encoded, words, now_ms);
        }
        self.encoded = encoded;
    }

    pub(super) fn synthesis_ended(&mut self, generation: u64) {
        if let Some(speech) = self.in_work(generation) {
            speech.synthesis_ended();
        }
    }

    pub(super) fn marked(&mut self, name: &str, now_ms: u64) {
        if let Some(id) = name.strip_prefix('m').and_then(|id| id.parse().ok()) {
            self.ledger.marked(id, now_ms);
        }
    }

    /// Sends the audio that the line should have now, and records it where it will play; `position` is now.
    pub(super) fn pump(&mut self, now_ms: u64, position: u64, tracks: &mut Tracks) {
        while let Some(current) = &mut self.current
            && let Some(audio) = current.next_message(now_ms, &self.ledger, self.pace)
        {
            self.send(audio, now_ms, position, tracks);
        }
    }

    fn send(&mut self, audio: Vec<u8>, now_ms: u64, position: u64, tracks: &mut Tracks) {
        // The line's time moves in frames, which may be late, and playout's time does not. Audio that
        // continues other audio is therefore placed directly after it.
        let earliest = match self.ledger.outstanding(now_ms) > 0 {
            true => 0,
            false => position,
        };
        tracks.agent(earliest, &audio);
        let samples = audio.len() / self.format.encoding.bytes_per_sample();
        self.ledger.send(samples as u64, now_ms);
        self.outputs.push_back(LineOutput::Audio(audio));
        self.outputs
            .extend(self.ledger.mark().map(|id| LineOutput::Mark(format!("m{id}"))));
    }

    pub(super) fn poll_output(&mut self) -> Option<LineOutput> {
        self.outputs.pop_front()
    }

    /// Drops the outputs, since the line is gone.
    pub(super) fn drop_outputs(&mut self) {
        self.outputs.clear();
    }

    /// Stops playout at once and keeps the rest.
    pub(super) fn pause(&mut self, now_ms: u64, tracks: &mut Tracks) {
        if self.current.is_some() {
            self.cut(now_ms, tracks);
        }
    }

    /// Resumes from the start of the word where it was cut.
    pub(super) fn resume(&mut self) {
        if let Some(current) = &mut self.current {
            current.resume(self.ledger.sent());
        }
    }

    /// Returns whether the speech has been played to its end.
    pub(super) fn is_finished(&self, now_ms: u64) -> bool {
        let finished = |current: &Playback| current.is_finished(now_ms, &self.ledger);
        self.current.as_ref().is_some_and(finished)
    }

    /// Ends the speech, and clears it from the line. Returns the event to report, if any.
    pub(super) fn drop_speech(
        &mut self,
        how: Drop,
        now_ms: u64,
        position: u64,
        tracks: &mut Tracks,
    ) -> Option<SessionEvent> {
        if self.is_live() {
            self.fade_out(now_ms, position, tracks);
        }
        let at_ms = now_ms;
        let finished = self.is_finished(at_ms);
        if !finished && self.current.as_ref().is_some_and(|current| !current.is_paused()) {
            self.cut(at_ms, tracks);
        }
        let current = self.current.take()?;
        let speech = current.id()?;
        // Texts without any audio count as said only if the speech came to its end.
        let heard = match finished {
            true => current.text().trim_end(),
            false => current.heard(),
        };
        let heard = heard.to_owned();
        match how {
            Drop::BargedIn => Some(SessionEvent::BargedIn { speech, heard, at_ms }),
            Drop::Failed if !current.is_audible() => None,
            Drop::Ended | Drop::Failed => Some(SessionEvent::SpeakingEnded { speech, heard, at_ms }),
        }
    }

    /// Stops the present audio: clears the line, and sends its next moment, in which it falls silent.
    pub(super) fn fade_out(&mut self, now_ms: u64, position: u64, tracks: &mut Tracks) {
        if self.ledger.outstanding(now_ms) == 0 {
            return;
        }
        let head = match self.can_clear {
            true => self.ledger.frame_end(now_ms, FRAME_MS * self.samples_per_ms),
            false => self.ledger.sent(),
        };
        let Some(current) = self.current.as_mut().filter(|current| current.is_playing()) else {
            return;
        };
        let tail = current.fading(head, FADE_MS * self.samples_per_ms);
        self.cut(now_ms, tracks);
        if !tail.is_empty() {
            self.send(tail, now_ms, position, tracks);
        }
    }

    /// Clears the line, and its recording, and notes the part that was heard.
    fn cut(&mut self, now_ms: u64, tracks: &mut Tracks) {
        let outstanding = self.ledger.outstanding(now_ms) > 0;
        let cleared = self.ledger.cleared();
        let head = self.ledger.clear(now_ms);
        tracks.clear_agent(self.ledger.cleared() - cleared);
        if let Some(current) = &mut self.current {
            current.pause(head);
        }
        // A line that cannot clear keeps its little audio. A line without outstanding audio in our account
        // may still lag.
        if self.can_clear && outstanding {
            self.outputs
                .retain(|output| !matches!(output, LineOutput::Audio(_) | LineOutput::Mark(_)));
            self.outputs.push_back(LineOutput::Clear);
        }
    }

    /// Returns when the line or the end of the speech needs attention.
    pub(super) fn deadline(&self, now_ms: u64) -> Option<u64> {
        let current = self.current.as_ref()?;
        current.deadline(now_ms, &self.ledger, self.pace)
    }

    pub(super) fn ahead_ms(&self, now_ms: u64) -> u64 {
        self.ledger.outstanding(now_ms) / self.samples_per_ms
    }

    /// Returns the level of the audio that the line plays at a moment, in dBFS.
    pub(super) fn level_db(&self, at_ms: u64) -> f32 {
        let current = self.current.as_ref();
        current.map_or(SILENT_DB, |current| current.level_db(self.ledger.head(at_ms)))
    }

    /// Returns the text of the present speech, as far as it may have been heard.
    pub(super) fn text(&self) -> &str {
        self.current
            .as_ref()
            .filter(|current| current.is_audible())
            .map_or("", Playback::text)
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
