//! A scripted carrier and the bench that runs a session against it, 20 ms at a time.

use std::collections::VecDeque;

use crate::{
    codec,
    format::{Encoding, LineFormat},
    playout::{LineAbilities, WordEnd},
    session::{AudioSession, LineOutput, Manner, Say, SessionConfig, SessionEvent, SpeechId},
    turn::endpointing::{PausePolicy, Utterance},
};

pub const CARRIER: LineAbilities = LineAbilities {
    buffers: true,
    marks: true,
    clear: true,
};
pub const MARKLESS: LineAbilities = LineAbilities {
    marks: false,
    ..CARRIER
};
pub const PACED: LineAbilities = LineAbilities {
    buffers: false,
    marks: false,
    clear: false,
};

/// Duration of every word of the agent in milliseconds.
pub const WORD_MS: usize = 400;

pub fn config(abilities: LineAbilities) -> SessionConfig {
    SessionConfig {
        format: LineFormat::MULAW_8000,
        abilities,
        recogniser_rate: 16_000,
        pause: PausePolicy {
            base_ms: 450,
            fixed_ms: None,
            spelling_patience: true,
        },
        record: false,
    }
}

/// Plays the audio sent to it sample by sample, and returns marks.
#[derive(Default)]
pub struct Carrier {
    buffer: VecDeque<u8>,
    /// Marks with the number of samples before them.
    marks: VecDeque<(u64, String)>,
    received: u64,
    played: u64,
    played_audio: Vec<u8>,
    /// Number of samples played last.
    playing: usize,
    silent_ms: u64,
    gaps: Vec<u64>,
    last_mark: u64,
    pub most_ahead_ms: u64,
    pub most_between_marks_ms: u64,
    pub messages: usize,
    pub cleared_at_ms: Option<u64>,
    pub resumed_at_ms: Option<u64>,
}

impl Carrier {
    pub fn take(&mut self, output: LineOutput, now_ms: u64) -> Vec<String> {
        match output {
            LineOutput::Audio(audio) => {
                self.messages += 1;
                self.received += audio.len() as u64;
                self.buffer.extend(audio);
                self.most_ahead_ms = self.most_ahead_ms.max(self.buffer.len() as u64 / 8);
                if self.cleared_at_ms.is_some() && self.resumed_at_ms.is_none() {
                    self.resumed_at_ms = Some(now_ms);
                }
                Vec::new()
            }
            LineOutput::Mark(name) => {
                self.most_between_marks_ms = self.most_between_marks_ms.max((self.received - self.last_mark) / 8);
                self.last_mark = self.received;
                self.marks.push_back((self.received, name));
                Vec::new()
            }
            LineOutput::Clear => {
                self.cleared_at_ms.get_or_insert(now_ms);
                self.played += self.buffer.len() as u64;
                self.buffer.clear();
                // Like Twilio: pending marks come back at once.
                self.marks.drain(..).map(|(_, name)| name).collect()
            }
        }
    }

    /// Returns the audio played in the last `ms`, with silence where nothing was played.
    pub fn last_played(&self, ms: usize) -> Vec<u8> {
        let mut audio = vec![0xFF; ms * 8];
        let playing = self.playing.min(audio.len());
        let from = self.played_audio.len() - playing;
        audio[..playing].copy_from_slice(&self.played_audio[from..]);
        audio
    }

    /// Returns all audio played, without the silence between.
    pub fn all_played(&self) -> Vec<i16> {
        let mut pcm = Vec::new();
        codec::decode(Encoding::MuLaw, &self.played_audio, &mut pcm);
        pcm
    }

    pub fn play(&mut self, ms: u64) -> Vec<String> {
        let playing = self.buffer.len().min(ms as usize * 8);
        self.played += playing as u64;
        self.playing = playing;
        self.played_audio.extend(self.buffer.drain(..playing));
        self.silent_ms += ms - playing as u64 / 8;
        if playing > 0 && self.silent_ms > 0 {
            if self.played_audio.len() > playing {
                self.gaps.push(self.silent_ms);
            }
            self.silent_ms = 0;
        }
        let mut returned = Vec::new();
        while self.marks.front().is_some_and(|(position, _)| *position <= self.played) {
            returned.extend(self.marks.pop_front().map(|(_, name)| name));
        }
        returned
    }

    /// Returns the gaps of more than 60 ms between pieces of audio.
    pub fn gaps_ms(&self) -> Vec<u64> {
        self.gaps.iter().copied().filter(|&gap| gap > 60).collect()
    }

    /// Returns the words whose audio was played, the last one perhaps in part. The level of a word's audio
    /// encodes its number.
    pub fn words_played(&self) -> String {
        let mut pcm = Vec::new();
        codec::decode(Encoding::MuLaw, &self.played_audio, &mut pcm);
        let names = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
        let mut words: Vec<&str> = pcm
            .iter()
            .filter_map(|&sample| {
                names
                    .get((f64::from(sample.abs()) / 1_000.0).round() as usize - 1)
                    .copied()
            })
            .collect();
        words.dedup();
        words.join(" ")
    }
}

/// Returns audio of a text in which every word has a level of its own.
pub fn speak(text: &str) -> (Vec<i16>, Vec<WordEnd>) {
    let mut samples = Vec::new();
    let mut words = Vec::new();
    let mut text_end = 0;
    for (n, word) in text.split(' ').enumerate() {
        let level = 1_000 * (n as i16 + 1);
        samples.extend((0..WORD_MS * 8).map(|i| if i / 10 % 2 == 0 { level } else { -level }));
        text_end += word.len() + usize::from(n > 0);
        words.push(WordEnd {
            text_end,
            sample_end: samples.len() as u64,
        });
    }
    (samples, words)
}

pub struct Bench {
    pub session: AudioSession,
    pub carrier: Carrier,
    pub events: Vec<(u64, SessionEvent)>,
    pub recorded: Vec<i16>,
    pub now_ms: u64,
    phase: usize,
}

impl Bench {
    pub fn new(abilities: LineAbilities) -> Self {
        Self::with(&config(abilities))
    }

    pub fn recording() -> Self {
        Self::with(&SessionConfig {
            record: true,
            ..config(CARRIER)
        })
    }

    fn with(config: &SessionConfig) -> Self {
        Self {
            session: AudioSession::new(config).unwrap(),
            carrier: Carrier::default(),
            events: Vec::new(),
            recorded: Vec::new(),
            now_ms: 0,
            phase: 0,
        }
    }

    pub fn say(&mut self, speech: u64, text: &str, last: bool) {
        self.session.say(
            Say {
                speech: SpeechId(speech),
                text: text.to_owned(),
                manner: Manner::default(),
                last,
                protected: false,
                held: false,
            },
            self.now_ms,
        );
        self.collect();
    }

    pub fn say_more(&mut self, speech: u64, text: &str) {
        self.say(speech, text, true);
    }

    /// Lets the user be silent.
    pub fn silence(&mut self, ms: u64) {
        for _ in 0..ms / 20 {
            self.step(Some([0; 160]));
        }
    }

    /// Lets the user speak vowels in syllables.
    pub fn voice(&mut self, ms: u64) {
        for _ in 0..ms / 20 {
            let frame = std::array::from_fn(|i| vowel(self.phase + i));
            self.phase += 160;
            self.step(Some(frame));
        }
    }

    /// Delivers no frames; only deadlines are met.
    pub fn stall(&mut self, ms: u64) {
        for _ in 0..ms / 20 {
            self.step(None);
        }
    }

    fn step(&mut self, frame: Option<[i16; 160]>) {
        self.now_ms += 20;
        for name in self.carrier.play(20) {
            self.session.mark(&name, self.now_ms);
        }
        match frame {
            Some(frame) => {
                let mut bytes = Vec::new();
                codec::encode(Encoding::MuLaw, &frame, &mut bytes);
                self.session.receive(&bytes, self.now_ms);
            }
            None if self.session.next_deadline().is_some_and(|at| at <= self.now_ms) => self.session.tick(self.now_ms),
            None => {}
        }
        self.session.recogniser_samples().clear();
        self.recorded.extend(self.session.take_recording(false));
        self.collect();
    }

    pub fn collect(&mut self) {
        while let Some(job) = self.session.next_text() {
            let (samples, words) = speak(&job.text);
            self.session.synthesized(job.generation, &samples, &words, self.now_ms);
            self.session.synthesis_ended(job.generation, self.now_ms);
        }
        while let Some(output) = self.session.poll_output() {
            for name in self.carrier.take(output, self.now_ms) {
                self.session.mark(&name, self.now_ms);
            }
        }
        while let Some(event) = self.session.poll_event() {
            self.events.push((self.now_ms, event));
        }
    }

    pub fn time_of(&self, wanted: impl Fn(&SessionEvent) -> bool) -> u64 {
        self.events.iter().find(|(_, event)| wanted(event)).unwrap().0
    }

    pub fn utterance(&self) -> Option<Utterance> {
        self.events.iter().find_map(|(_, event)| match event {
            SessionEvent::UtteranceEnded(utterance) => Some(utterance.clone()),
            _ => None,
        })
    }

    pub fn barged_in(&self) -> Option<String> {
        self.events.iter().find_map(|(_, event)| match event {
            SessionEvent::BargedIn { heard, .. } => Some(heard.clone()),
            _ => None,
        })
    }

    pub fn all_heard(&self) -> Vec<(u64, String)> {
        let ended = self.events.iter().filter_map(|(_, event)| match event {
            SessionEvent::SpeakingEnded { speech, heard, .. } => Some((speech.0, heard.clone())),
            _ => None,
        });
        ended.collect()
    }

    pub fn heard(&self) -> Option<String> {
        self.all_heard().pop().map(|(_, heard)| heard)
    }
}

fn vowel(n: usize) -> i16 {
    let t = n as f64 / 8_000.0;
    let turn = 2.0 * std::f64::consts::PI;
    let (f1, f2) = (
        500.0 + 250.0 * (t * turn * 3.0).sin(),
        1_500.0 + 500.0 * (t * turn * 2.3).sin(),
    );
    let sum: f64 = (1..28)
        .map(|harmonic| {
            let f = 120.0 * f64::from(harmonic);
            let near = |centre: f64| 1.0 / (1.0 + ((f - centre) / 90.0).powi(2));
            (near(f1) + 0.7 * near(f2) + 0.3 * near(2_600.0)) * (turn * f * t).sin()
        })
        .sum();
    (sum * (0.6 + 0.4 * (t * turn * 4.0).sin()) * 4_000.0) as i16
}
