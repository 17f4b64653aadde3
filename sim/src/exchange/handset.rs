//! A telephone without its socket. It plays what the caller sent, hears it, speaks, and measures. Pure; time
//! is in microseconds since the media opened.

mod backdrop;
mod background;
pub(super) mod meter;
mod recogniser;
mod synthesiser;

use std::time::Duration;

use media::{
    babble::Voice,
    codec,
    format::{Encoding, LineFormat},
    tone::keys::KeyDetector,
};

pub(super) use self::background::Background;
pub use self::meter::Figures;
use self::{
    backdrop::Backdrop,
    meter::Meter,
    recogniser::{Noticed, Recogniser},
    synthesiser::{Output, Synthesiser},
};
use super::{
    audio::{
        line::{self, Line},
        played::Played,
        sound::loud,
    },
    log::LogEvent,
    persona::{Act, Behaviour, Sense},
    protocol::Incoming,
    script::LineSound,
};

/// Output of the telephone after a frame.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// The callee's voice in mu-law; `None` while it is silent.
    pub(super) voice: Option<Vec<u8>>,
    /// Marks that have come due.
    pub(super) marks: Vec<String>,
    /// Keys that the callee pressed.
    pub(super) keys: Vec<char>,
    /// Whether the callee hangs up after this frame.
    pub(super) hang_up: bool,
    /// Whether the socket is lost after this frame; it may be reopened.
    pub(super) lose: bool,
    /// Whether the telephone dies after this frame.
    pub(super) drop: bool,
}

/// A telephone in use.
pub(super) struct Handset {
    line: Line,
    recogniser: Recogniser,
    synthesiser: Synthesiser,
    backdrop: Option<Backdrop>,
    behaviour: Box<dyn Behaviour>,
    meter: Meter,
    log: Vec<LogEvent>,
    playing: Vec<u8>,
    /// Takes all that plays, if it is kept.
    played: Option<Played>,
    key_detector: KeyDetector,
    keys: Vec<char>,
    hang_up: bool,
    lose: bool,
    drop: bool,
}

fn ms(us: u64) -> u64 {
    us / 1_000
}

impl Handset {
    /// Creates a telephone whose user has this behaviour and the voice of `name`.
    pub(super) fn new(behaviour: Box<dyn Behaviour>, name: &str) -> Self {
        Self {
            line: Line::default(),
            recogniser: Recogniser::default(),
            synthesiser: Synthesiser::new(Voice::named(name)),
            backdrop: None,
            behaviour,
            meter: Meter::default(),
            log: Vec::new(),
            playing: Vec::with_capacity(line::FRAME),
            played: None,
            key_detector: KeyDetector::default(),
            keys: Vec::new(),
            hang_up: false,
            lose: false,
            drop: false,
        }
    }

    /// Puts the telephone on a line with this background sound; `name` makes lines differ.
    pub(super) fn on_line(mut self, sound: &LineSound, name: &str) -> Self {
        let seed = name
            .bytes()
            .fold(0, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
        self.backdrop = Backdrop::new(sound, seed);
        self
    }

    /// Keeps all that plays from now on.
    pub(super) fn keep_audio(&mut self, played: Played) {
        self.played = Some(played);
    }

    /// Takes a message of the caller; returns the marks to send back at once.
    pub(super) fn receive(&mut self, incoming: Incoming, now_us: u64) -> Vec<String> {
        match incoming {
            Incoming::Audio(audio) => {
                let voiced = self.meter.awaits_voice() && is_voiced(&audio);
                if let Some(after_us) = self.meter.audio_arrived(now_us, voiced) {
                    self.log.push(LogEvent::Resumed {
                        at_ms: ms(now_us),
                        after_ms: ms(after_us),
                    });
                }
                self.line.audio(audio);
                Vec::new()
            }
            Incoming::Mark(name) => {
                self.line.mark(name);
                Vec::new()
            }
            Incoming::Clear => {
                let unplayed_ms = self.line.unplayed_ms();
                self.meter.cleared(now_us, unplayed_ms > 0);
                self.log.push(LogEvent::Cleared {
                    at_ms: ms(now_us),
                    unplayed_ms,
                });
                self.line.clear()
            }
        }
    }

    /// Ends a frame of 20 ms and begins the next one.
    pub(super) fn tick(&mut self, now_us: u64) -> Frame {
        let marks = self.line.tick(&mut self.playing);
        self.hear(now_us);
        self.think(Sense::Tick, now_us);
        let voice = self.speak(now_us);
        Frame {
            voice,
            marks,
            keys: std::mem::take(&mut self.keys),
            hang_up: self.hang_up,
            lose: self.lose,
            drop: self.drop,
        }
    }

    /// Counts the lateness of the frame that ends now.
    pub(super) fn frame_late(&mut self, by: Duration) {
        self.meter.frame_late(by);
    }

    /// Returns the events since the last call.
    pub(super) fn take_log(&mut self) -> Vec<LogEvent> {
        std::mem::take(&mut self.log)
    }

    /// Handles a lost socket: everything heard and said so far is final, and waiting audio is never heard.
    pub(super) fn cut_off(&mut self) {
        self.line.clear();
        if let Some(speech) = self.recogniser.finish() {
            self.log.push(speech.into_log());
        }
        if let Some(said) = self.synthesiser.cut_off() {
            self.log.push(said);
        }
    }

    /// Continues after the socket was reopened.
    pub(super) fn rejoin(&mut self, now_us: u64) {
        if std::mem::take(&mut self.lose) {
            self.think(Sense::Spoken, now_us);
        }
    }

    /// Ends the call and returns its measurements.
    pub(super) fn end(&mut self) -> Figures {
        self.cut_off();
        self.meter.figures(self.line.discarded)
    }

    #[cfg(test)]
    fn both_talk(&self) -> bool {
        self.synthesiser.is_speaking() && self.recogniser.agent_talks()
    }

    fn hear(&mut self, now_us: u64) {
        if let Some(played) = &self.played {
            played.add(&self.playing);
        }
        self.meter.played(now_us, self.playing.len(), self.line.is_empty());
        let noticed = self.recogniser.hear(&self.playing, ms(now_us), &mut self.meter);
        if self.behaviour.follows_the_agent()
            && let Some((words, silent_ms)) = self.recogniser.so_far(ms(now_us))
        {
            let words = &words;
            self.think(Sense::AgentSaying { words, silent_ms }, now_us);
        }
        if self.behaviour.takes_keys() {
            self.hear_keys(now_us);
        }
        let Some(noticed) = noticed else {
            return;
        };
        match noticed {
            Noticed::Started => {
                self.meter.agent_started();
                self.think(Sense::AgentStarted, now_us);
            }
            Noticed::Said(speech) => {
                self.meter.agent_ended();
                let words = speech.words();
                self.log.push(speech.into_log());
                self.think(Sense::AgentSaid(&words), now_us);
            }
        }
    }

    fn hear_keys(&mut self, now_us: u64) {
        let mut samples = Vec::with_capacity(line::FRAME);
        codec::decode(Encoding::MuLaw, &self.playing, &mut samples);
        samples.resize(line::FRAME, 0);
        let mut pressed = Vec::new();
        self.key_detector.push(&samples, &mut pressed);
        for key in pressed {
            self.log.push(LogEvent::HeardKey { key });
            self.think(Sense::Key(key), now_us);
        }
    }

    fn think(&mut self, sense: Sense<'_>, now_us: u64) {
        match self.behaviour.sense(ms(now_us), sense) {
            None => {}
            Some(Act::HangUp) => self.hang_up = true,
            Some(Act::Drop) => self.drop = true,
            Some(Act::Lose) => self.lose = true,
            Some(Act::Press(key)) => {
                self.log.push(LogEvent::Pressed { key });
                self.keys.push(key);
                self.think(Sense::Spoken, now_us);
            }
            Some(Act::Say(text)) => self.synthesiser.say(text.into(), self.recogniser.agent_talks()),
            Some(Act::Speak(words)) => self.synthesiser.say(words, self.recogniser.agent_talks()),
            Some(Act::Sound(sound)) => self.synthesiser.sound(sound, self.recogniser.agent_talks()),
        }
    }

    /// Returns the next 20 ms for the line, as mu-law; `None` if it is silent.
    fn speak(&mut self, now_us: u64) -> Option<Vec<u8>> {
        let voice = self.voice(now_us);
        if let Some(backdrop) = &mut self.backdrop {
            return Some(backdrop.beneath(voice.as_deref().unwrap_or_default(), &self.playing));
        }
        voice.map(|samples| {
            let mut bytes = Vec::with_capacity(samples.len());
            codec::encode(Encoding::MuLaw, &samples, &mut bytes);
            bytes
        })
    }

    fn voice(&mut self, now_us: u64) -> Option<Vec<i16>> {
        match self.synthesiser.frame(ms(now_us)) {
            Output::Silence => None,
            Output::Sound(samples) => {
                let meant = self.synthesiser.is_meant();
                if !meant {
                    self.recogniser.own_aside(ms(now_us));
                }
                if loud(&samples) {
                    self.meter.voice_sent(now_us, self.recogniser.agent_talks(), meant);
                }
                Some(samples)
            }
            Output::Finished(event) => {
                self.log.push(event);
                self.meter.voice_ended(self.recogniser.agent_talks());
                self.think(Sense::Spoken, now_us);
                None
            }
        }
    }
}

/// Returns whether any 20 ms of the mu-law are loud.
fn is_voiced(audio: &[u8]) -> bool {
    let mut samples = Vec::with_capacity(audio.len());
    codec::decode(Encoding::MuLaw, audio, &mut samples);
    samples.chunks(LineFormat::MULAW_8000.bytes_for_ms(20)).any(loud)
}

#[cfg(test)]
mod tests;
