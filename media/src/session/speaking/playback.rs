//! One thing that the line plays: a speech of the agent, keys that it presses, or an operator's audio. Nothing
//! interrupts the latter two, and they have no words.

use std::collections::VecDeque;

use super::{
    live::{Live, fade_end},
    pace::Pace,
};
use crate::{
    codec,
    format::LineFormat,
    playout::{Ledger, Speech, WordEnd},
    session::{
        levels::{Levels, SILENT_DB},
        messages::{Manner, Say, SpeechId},
    },
};

/// Interval in milliseconds of further looks if neither a mark nor the clock tells when the line has room.
const LOOK_AGAIN_MS: u64 = 20;

/// What is played.
pub(super) enum Source {
    Speech(SpeechId),
    Keys,
    /// An operator's audio, which is played as it comes.
    Operator(Live),
}

pub(super) struct Playback {
    source: Source,
    protected: bool,
    format: LineFormat,
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
}

impl Playback {
    /// Creates it without text or audio.
    pub(super) fn new(source: Source, format: LineFormat) -> Self {
        let is_speech = matches!(source, Source::Speech(_));
        Self {
            source,
            protected: !is_speech,
            format,
            speech: Speech::new(format),
            levels: Levels::new(format.sample_rate),
            queue: VecDeque::new(),
            last: !is_speech,
            audio_ms: None,
            audible: false,
            paused: false,
            sent_base: 0,
            speech_base: 0,
            heard: 0,
        }
    }

    pub(super) fn id(&self) -> Option<SpeechId> {
        match self.source {
            Source::Speech(id) => Some(id),
            Source::Keys | Source::Operator(_) => None,
        }
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self.source, Source::Operator(_))
    }

    pub(super) fn live(&mut self) -> Option<&mut Live> {
        match &mut self.source {
            Source::Operator(live) => Some(live),
            Source::Speech(_) | Source::Keys => None,
        }
    }

    pub(super) fn audio_ms(&self) -> Option<u64> {
        self.audio_ms
    }

    /// Returns whether audio of it was sent, paused or not.
    pub(super) fn is_audible(&self) -> bool {
        self.audible
    }

    pub(super) fn is_interruptible(&self) -> bool {
        self.audible && !self.protected
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused
    }

    /// Returns whether audio of it was sent and goes on.
    pub(super) fn is_playing(&self) -> bool {
        self.audible && !self.paused
    }

    pub(super) fn say(&mut self, say: Say) {
        if !say.text.trim().is_empty() {
            self.queue.push_back((say.text, say.manner));
        }
        self.protected = say.protected;
        self.last |= say.last;
    }

    /// Takes the next text to synthesise, if fewer than `lookahead` samples wait.
    pub(super) fn next_text(&mut self, lookahead: u64) -> Option<(String, Manner)> {
        if self.speech.unsent() > lookahead {
            return None;
        }
        let next = self.queue.pop_front()?;
        self.speech.begin_text(&next.0);
        Some(next)
    }

    pub(super) fn expects_audio(&self) -> bool {
        self.speech.expects_audio()
    }

    /// Returns the number of samples that wait to be sent.
    pub(super) fn unsent(&self) -> u64 {
        self.speech.unsent()
    }

    /// Takes synthesised audio: its samples, the same encoded, and the words that end in it.
    pub(super) fn synthesized(&mut self, samples: &[i16], encoded: &[u8], words: &[WordEnd], now_ms: u64) {
        self.speech.push(encoded, words);
        self.levels.push(samples);
        self.audio_ms.get_or_insert(now_ms);
    }

    pub(super) fn synthesis_ended(&mut self) {
        self.speech.end_text();
    }

    pub(super) fn press(&mut self, tones: &[i16]) {
        match self.live() {
            Some(live) => live.press(tones),
            None => self.push(tones),
        }
    }

    fn push(&mut self, samples: &[i16]) {
        let mut encoded = Vec::new();
        codec::encode(self.format.encoding, samples, &mut encoded);
        self.speech.push(&encoded, &[]);
        self.levels.push(samples);
    }

    /// Returns the next message for the line, if it is time.
    pub(super) fn next_message(&mut self, now_ms: u64, ledger: &Ledger, pace: Pace) -> Option<Vec<u8>> {
        if self.paused {
            return None;
        }
        let message = match self.live() {
            Some(live) => {
                let mut samples = live.next(now_ms)?;
                if pace.whole {
                    samples.resize(pace.message as usize, 0);
                }
                self.push(&samples);
                samples.len() as u64
            }
            None => {
                if !self.has_message(ledger.outstanding(now_ms), pace) {
                    return None;
                }
                pace.message
            }
        };
        if !self.audible {
            self.audible = true;
            self.sent_base = ledger.sent();
        }
        let position = self.position(ledger.head(now_ms));
        self.speech.release(position);
        let mut audio = self.speech.take(message);
        if pace.whole {
            let encoding = self.format.encoding;
            audio.resize(
                pace.message as usize * encoding.bytes_per_sample(),
                codec::silence(encoding),
            );
        }
        Some(audio)
    }

    /// Returns whether a message should follow what the line still has, `ahead`.
    fn has_message(&self, ahead: u64, pace: Pace) -> bool {
        if self.unsent() == 0 || (ahead > 0 && ahead + pace.message > pace.ahead) {
            return false;
        }
        !self.is_short(pace) || !(pace.whole || ahead >= pace.low)
    }

    /// Returns whether the waiting audio is less than a message and more may come.
    fn is_short(&self, pace: Pace) -> bool {
        self.unsent() < pace.message && !self.is_complete()
    }

    /// Returns when the line or the end of the speech needs attention.
    pub(super) fn deadline(&self, now_ms: u64, ledger: &Ledger, pace: Pace) -> Option<u64> {
        match &self.source {
            _ if self.paused => return None,
            Source::Operator(live) if !live.is_over() => return live.deadline(),
            _ => {}
        }
        let short = self.is_short(pace);
        if short && pace.whole {
            return None;
        }
        if self.unsent() > 0 {
            let enough = match short {
                true => pace.low,
                false => pace.ahead - pace.message,
            };
            let due = ledger.reached_at_ms(ledger.sent().saturating_sub(enough));
            // If the clock is past the due time, a mark or audio is awaited and the only choice is to look again.
            return Some(if due > now_ms { due } else { now_ms + LOOK_AGAIN_MS });
        }
        (self.is_complete() && self.audible).then(|| ledger.idle_at_ms())
    }

    fn is_complete(&self) -> bool {
        let live = matches!(&self.source, Source::Operator(live) if !live.is_over());
        self.last && self.queue.is_empty() && !self.speech.expects_audio() && !live
    }

    /// Returns whether it has been played to its end.
    pub(super) fn is_finished(&self, now_ms: u64, ledger: &Ledger) -> bool {
        let sent = self.is_complete() && self.unsent() == 0 && !self.paused;
        sent && (!self.audible || ledger.is_idle(now_ms))
    }

    /// Stops it at a position of the line's account.
    pub(super) fn pause(&mut self, head: u64) {
        self.heard = self.heard.max(self.position(head));
        self.paused = true;
    }

    /// Resumes from the start of the word where it was cut; `sent` is the end of the line's account.
    pub(super) fn resume(&mut self, sent: u64) {
        if self.paused {
            self.speech.step_back(self.heard);
            self.sent_base = sent;
            self.speech_base = self.speech.cursor();
            self.paused = false;
        }
    }

    fn position(&self, head: u64) -> u64 {
        if self.paused {
            return self.heard;
        }
        let since = head.saturating_sub(self.sent_base);
        (self.speech_base + since).min(self.speech.cursor())
    }

    /// Returns the next `samples` after a position of the line's account, which fall silent, in the line's encoding.
    /// They are padded to whole frames, so that the next message begins with a frame.
    pub(super) fn fading(&mut self, head: u64, samples: u64) -> Vec<u8> {
        let encoding = self.format.encoding;
        if let Some(live) = self.live() {
            let rest = live.take_rest();
            self.push(&rest);
        }
        let mut tail = Vec::new();
        codec::decode(encoding, self.speech.peek(self.position(head), samples), &mut tail);
        let seam = tail.len();
        fade_end(&mut tail, seam);
        if seam > 0 {
            tail.resize(samples as usize, 0);
        }
        let mut encoded = Vec::new();
        codec::encode(encoding, &tail, &mut encoded);
        encoded
    }

    /// Returns the level of what is played at a position of the line's account, in dBFS.
    pub(super) fn level_db(&self, head: u64) -> f32 {
        let position = self.position(head);
        match self.is_playing() && position < self.speech.cursor() {
            true => self.levels.at(position),
            false => SILENT_DB,
        }
    }

    pub(super) fn text(&self) -> &str {
        self.speech.text()
    }

    /// Returns the words whose audio was played before the last cut.
    pub(super) fn heard(&self) -> &str {
        self.speech.heard(self.heard)
    }
}
