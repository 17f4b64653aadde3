//! Speech of a callee, frame by frame: words in parts with silences between them, and sounds other than words. Pure.

use std::{borrow::Cow, collections::VecDeque};

use media::{
    babble::{Speaker, Voice},
    tone::generate,
};

use crate::exchange::{
    audio::{
        line::FRAME,
        sound::{self, LOOP_DBFS, loud},
    },
    log::LogEvent,
    persona::{Part, Sound, Words},
};

/// Samples per second.
const RATE: u32 = 8_000;
const SAMPLES_PER_MS: u64 = 8;
const FRAME_MS: u64 = 20;
const BEEP_HZ: f32 = 1_000.0;
const BEEP_MS: u32 = 400;
const KEY_MS: u32 = 100;

/// Words being sent.
struct Talk {
    text: String,
    voice: Voice,
    gain: f64,
    aside: bool,
    waiting: VecDeque<Part>,
    speaker: Option<Box<Speaker>>,
    /// Pause after the part that is being said.
    pause_ms: u64,
    /// Frames left of the silence between two parts.
    silent_frames: u64,
}

/// A sound being sent; if it is longer than its samples, they repeat.
struct Noise {
    sound: Sound,
    samples: Cow<'static, [i16]>,
    gain: f64,
    at: usize,
    length: usize,
}

enum Source {
    Words(Talk),
    Noise(Noise),
}

struct Speaking {
    source: Source,
    over_agent: bool,
    from_ms: Option<u64>,
    to_ms: u64,
}

impl Speaking {
    fn into_log(self) -> LogEvent {
        let (from_ms, to_ms) = (self.from_ms.unwrap_or(self.to_ms), self.to_ms);
        let over_agent = self.over_agent;
        match self.source {
            Source::Words(Talk { text, aside, .. }) => LogEvent::Said {
                text,
                from_ms,
                to_ms,
                over_agent,
                aside,
            },
            Source::Noise(Noise { sound: Sound::Beep, .. }) => LogEvent::Beeped { to_ms },
            Source::Noise(Noise { sound, .. }) => LogEvent::Sounded {
                sound: sound.name().to_owned(),
                from_ms,
                to_ms,
                over_agent,
            },
        }
    }
}

/// Output of a frame.
pub(super) enum Output {
    /// Nothing, or a silence in mid-sentence.
    Silence,
    Sound(Vec<i16>),
    /// The previous frame contained the end of the sound.
    Finished(LogEvent),
}

pub(super) struct Synthesiser {
    voice: Voice,
    /// Counter that makes one cough differ from the next.
    coughs: u64,
    speaking: Option<Speaking>,
}

impl Synthesiser {
    pub(super) fn new(voice: Voice) -> Self {
        Self {
            voice,
            coughs: 0,
            speaking: None,
        }
    }

    pub(super) fn say(&mut self, words: Words, over_agent: bool) {
        let text = words.text();
        let talk = Talk {
            text,
            voice: words.voice.as_deref().map_or(self.voice, Voice::named),
            gain: sound::gain(words.gain_db),
            aside: words.aside,
            waiting: words.parts.into(),
            speaker: None,
            pause_ms: 0,
            silent_frames: 0,
        };
        self.begin(Source::Words(talk), over_agent);
    }

    pub(super) fn sound(&mut self, sound: Sound, over_agent: bool) {
        let (samples, dbfs): (Cow<'static, [i16]>, f64) = match sound {
            Sound::Beep => (generate::beep(BEEP_HZ, BEEP_MS).into(), LOOP_DBFS),
            Sound::Key(key) => (generate::dtmf(key, KEY_MS).into(), LOOP_DBFS),
            Sound::Click => (sound::click().into(), LOOP_DBFS),
            Sound::Cough => {
                self.coughs += 1;
                (sound::cough(self.coughs).into(), LOOP_DBFS)
            }
            Sound::Hum { dbfs, .. } => (sound::HUM.as_slice().into(), dbfs),
            Sound::Music { dbfs, .. } => (sound::MUSIC.as_slice().into(), dbfs),
            Sound::Noise { dbfs, .. } => (sound::PINK.as_slice().into(), dbfs),
        };
        let length = match sound {
            Sound::Hum { ms, .. } | Sound::Music { ms, .. } | Sound::Noise { ms, .. } => ms * SAMPLES_PER_MS,
            Sound::Beep | Sound::Key(_) | Sound::Click | Sound::Cough => samples.len() as u64,
        };
        let noise = Noise {
            sound,
            samples,
            gain: sound::gain(dbfs - LOOP_DBFS),
            at: 0,
            length: usize::try_from(length).unwrap_or(usize::MAX),
        };
        self.begin(Source::Noise(noise), over_agent);
    }

    fn begin(&mut self, source: Source, over_agent: bool) {
        self.speaking = Some(Speaking {
            source,
            over_agent,
            from_ms: None,
            to_ms: 0,
        });
    }

    #[cfg(test)]
    pub(super) fn is_speaking(&self) -> bool {
        self.speaking.is_some()
    }

    /// Returns whether the output is meant to be heard as a turn.
    pub(super) fn is_meant(&self) -> bool {
        let meant = |speaking: &Speaking| match &speaking.source {
            Source::Words(talk) => !talk.aside,
            Source::Noise(_) => false,
        };
        self.speaking.as_ref().is_some_and(meant)
    }

    /// Returns what was being said when the line went dead.
    pub(super) fn cut_off(&mut self) -> Option<LogEvent> {
        self.speaking.take().map(Speaking::into_log)
    }

    /// Returns the next 20 ms.
    pub(super) fn frame(&mut self, now_ms: u64) -> Output {
        let Some(speaking) = &mut self.speaking else {
            return Output::Silence;
        };
        let samples = match &mut speaking.source {
            Source::Words(talk) => talk.next(),
            Source::Noise(noise) => noise.next(),
        };
        match samples {
            Next::Sound(mut samples) => {
                samples.resize(FRAME, 0);
                if loud(&samples) {
                    speaking.from_ms.get_or_insert(now_ms);
                    speaking.to_ms = now_ms + FRAME_MS;
                }
                Output::Sound(samples)
            }
            Next::Silence => Output::Silence,
            Next::Nothing => self.cut_off().map_or(Output::Silence, Output::Finished),
        }
    }
}

/// Next output of a source.
enum Next {
    Sound(Vec<i16>),
    Silence,
    Nothing,
}

impl Talk {
    fn next(&mut self) -> Next {
        loop {
            if let Some(samples) = self.speaker.as_mut().and_then(|speaker| speaker.next_chunk(FRAME)) {
                return Next::Sound(self.amplified(samples));
            }
            if self.speaker.take().is_some() && !self.waiting.is_empty() {
                self.silent_frames = self.pause_ms / FRAME_MS;
            }
            if self.silent_frames > 0 {
                self.silent_frames -= 1;
                return Next::Silence;
            }
            let Some(part) = self.waiting.pop_front() else {
                return Next::Nothing;
            };
            self.pause_ms = part.pause_ms;
            // Never an error: the speaker supports this rate.
            self.speaker = Speaker::new(&part.text, self.voice, RATE).ok().map(Box::new);
        }
    }

    fn amplified(&self, mut samples: Vec<i16>) -> Vec<i16> {
        #[expect(clippy::float_cmp, reason = "0 dB is exactly 1")]
        if self.gain != 1.0 {
            for sample in &mut samples {
                *sample = (f64::from(*sample) * self.gain) as i16;
            }
        }
        samples
    }
}

impl Noise {
    fn next(&mut self) -> Next {
        let length = FRAME.min(self.length - self.at);
        if length == 0 || self.samples.is_empty() {
            return Next::Nothing;
        }
        let first = self.at % self.samples.len();
        self.at += length;
        let looped = self.samples.iter().cycle().skip(first).take(length);
        Next::Sound(looped.map(|sample| (f64::from(*sample) * self.gain) as i16).collect())
    }
}
