//! A phone whose user and agent speak babble over mu-law, with echo, noise and a slow recogniser.

use std::collections::VecDeque;

use super::carrier::{CARRIER, Carrier, config};
use crate::{
    babble::{Listener, ListenerEvent, Speaker, Transcript, Voice},
    codec,
    format::Encoding,
    playout::WordEnd,
    session::{AudioSession, LineOutput, Manner, Say, SessionEvent, SpeechId},
};

const FRAME: usize = 160;

/// The agent's audio as the user's side returns it.
#[derive(Debug, Clone, Copy)]
pub struct Echo {
    pub gain_db: f64,
    pub delay_ms: usize,
}

pub struct Phone {
    pub session: AudioSession,
    pub carrier: Carrier,
    pub events: Vec<(u64, SessionEvent)>,
    pub now_ms: u64,
    pub cleared: Vec<u64>,
    pub resumed: Vec<u64>,
    pub echo: Option<Echo>,
    /// Delay of the recogniser in milliseconds.
    pub delay_ms: u64,
    /// Recognition errors: maps the index of a word in its utterance and the word to the reported word.
    pub mishears: fn(usize, &str) -> String,
    /// Noise of the line, in dBFS.
    pub noise_dbfs: Option<f64>,
    played: VecDeque<i16>,
    /// Audio that the user's side sends from now on.
    sound: VecDeque<i16>,
    listener: Listener,
    transcript: Transcript,
    recognised: VecDeque<(u64, Recognised)>,
    noise: Pink,
    waiting_for_audio: bool,
}

enum Recognised {
    Interim(String),
    Final(String, bool),
}

impl Phone {
    pub fn new() -> Self {
        let mut session = AudioSession::new(&crate::session::SessionConfig {
            recogniser_rate: 8_000,
            ..config(CARRIER)
        })
        .unwrap();
        session.allow_barge_in(true, 0);
        Self {
            session,
            carrier: Carrier::default(),
            events: Vec::new(),
            now_ms: 0,
            cleared: Vec::new(),
            resumed: Vec::new(),
            echo: None,
            delay_ms: 0,
            mishears: |_, word| word.to_owned(),
            noise_dbfs: None,
            played: VecDeque::new(),
            sound: VecDeque::new(),
            listener: Listener::new(),
            transcript: Transcript::default(),
            recognised: VecDeque::new(),
            noise: Pink::default(),
            waiting_for_audio: false,
        }
    }

    /// Lets the agent say a text.
    pub fn agent(&mut self, speech: u64, text: &str) {
        let say = Say {
            speech: SpeechId(speech),
            text: text.to_owned(),
            manner: Manner::default(),
            last: true,
            protected: false,
            held: false,
        };
        self.session.say(say, self.now_ms);
        self.collect();
    }

    /// Lets the user say a text from now on. Returns its duration in milliseconds.
    pub fn user(&mut self, text: &str) -> u64 {
        self.user_at(text, 0.0)
    }

    /// Does the same, louder or quieter than usual.
    pub fn user_at(&mut self, text: &str, gain_db: f64) -> u64 {
        let gain = 10f64.powf(gain_db / 20.0);
        let samples = spoken(text, "caller").0.into_iter();
        self.sounds(samples.map(|sample| (f64::from(sample) * gain) as i16))
    }

    pub fn sounds(&mut self, samples: impl IntoIterator<Item = i16>) -> u64 {
        let before = self.sound.len();
        self.sound.extend(samples);
        (self.sound.len() - before) as u64 / 8
    }

    pub fn run(&mut self, ms: u64) {
        for _ in 0..ms / 20 {
            self.step();
        }
    }

    fn step(&mut self) {
        self.now_ms += 20;
        for name in self.carrier.play(20) {
            self.session.mark(&name, self.now_ms);
        }
        let mut frame: Vec<f64> = (0..FRAME)
            .map(|_| f64::from(self.sound.pop_front().unwrap_or(0)))
            .collect();
        self.add_echo(&mut frame);
        if let Some(dbfs) = self.noise_dbfs {
            let rms = 10f64.powf(dbfs / 20.0) * 32_768.0;
            frame.iter_mut().for_each(|sample| *sample += self.noise.next() * rms);
        }
        let frame: Vec<i16> = frame.into_iter().map(|sample| sample as i16).collect();
        let mut bytes = Vec::new();
        codec::encode(Encoding::MuLaw, &frame, &mut bytes);
        self.session.receive(&bytes, self.now_ms);
        self.recognise();
        self.collect();
    }

    fn add_echo(&mut self, frame: &mut [f64]) {
        let mut pcm = Vec::new();
        codec::decode(Encoding::MuLaw, &self.carrier.last_played(20), &mut pcm);
        self.played.extend(pcm);
        let Some(echo) = self.echo else { return };
        let back = FRAME + echo.delay_ms * 8;
        let gain = 10f64.powf(echo.gain_db / 20.0);
        for (at, sample) in frame.iter_mut().enumerate() {
            let from = (self.played.len() + at).checked_sub(back);
            let played = from.and_then(|from| self.played.get(from)).copied().unwrap_or(0);
            *sample += f64::from(played) * gain;
        }
    }

    fn recognise(&mut self) {
        let mut heard = Vec::new();
        self.listener.push(self.session.recogniser_samples(), &mut heard);
        self.session.recogniser_samples().clear();
        self.understand(heard);
        while self.recognised.front().is_some_and(|(at, _)| *at <= self.now_ms) {
            match self.recognised.pop_front().unwrap().1 {
                Recognised::Interim(text) => self.session.interim(&text, self.now_ms),
                Recognised::Final(text, damaged) => self.session.settled(&text, damaged, self.now_ms),
            }
        }
    }

    fn understand(&mut self, heard: Vec<ListenerEvent>) {
        let at = self.now_ms + self.delay_ms;
        let any = !heard.is_empty();
        for event in heard {
            if let Some(utterance) = self.transcript.take(event) {
                let result = Recognised::Final(self.told(&utterance.text), utterance.damaged);
                self.recognised.push_back((at, result));
            }
        }
        let text = self.transcript.so_far();
        if any && text.chars().any(char::is_alphanumeric) {
            self.recognised.push_back((at, Recognised::Interim(self.told(&text))));
        }
    }

    fn told(&self, text: &str) -> String {
        let words = text.split_whitespace().enumerate();
        let told: Vec<String> = words.map(|(at, word)| (self.mishears)(at, word)).collect();
        told.join(" ")
    }

    fn collect(&mut self) {
        while let Some(job) = self.session.next_text() {
            let (samples, words) = spoken(&job.text, "agent");
            self.session.synthesized(job.generation, &samples, &words, self.now_ms);
            self.session.synthesis_ended(job.generation, self.now_ms);
        }
        while let Some(output) = self.session.poll_output() {
            match output {
                LineOutput::Clear => {
                    self.cleared.push(self.now_ms);
                    self.waiting_for_audio = true;
                }
                LineOutput::Audio(_) if std::mem::take(&mut self.waiting_for_audio) => self.resumed.push(self.now_ms),
                LineOutput::Audio(_) | LineOutput::Mark(_) => {}
            }
            for name in self.carrier.take(output, self.now_ms) {
                self.session.mark(&name, self.now_ms);
            }
        }
        while let Some(event) = self.session.poll_event() {
            if event == SessionEvent::FinalWanted {
                let mut heard = Vec::new();
                self.listener.finish(&mut heard);
                self.understand(heard);
            }
            self.events.push((self.now_ms, event));
        }
    }

    /// Returns the words of each turn that ended, with its time.
    pub fn turns(&self) -> Vec<(u64, &str)> {
        let turns = self.events.iter().filter_map(|(at, event)| match event {
            SessionEvent::UtteranceEnded(utterance) => Some((*at, utterance.text.as_str())),
            _ => None,
        });
        turns.collect()
    }

    pub fn texts(&self) -> Vec<&str> {
        self.turns().into_iter().map(|(_, text)| text).collect()
    }

    pub fn count(&self, wanted: impl Fn(&SessionEvent) -> bool) -> usize {
        self.events.iter().filter(|(_, event)| wanted(event)).count()
    }

    pub fn barged_in(&self) -> Option<&str> {
        self.events.iter().find_map(|(_, event)| match event {
            SessionEvent::BargedIn { heard, .. } => Some(heard.as_str()),
            _ => None,
        })
    }
}

/// Returns audio of a text at 8 kHz, with its words.
pub fn spoken(text: &str, voice: &str) -> (Vec<i16>, Vec<WordEnd>) {
    let mut speaker = Speaker::new(text, Voice::named(voice), 8_000).unwrap();
    let words = speaker.words().to_vec();
    let mut samples = Vec::new();
    while let Some(chunk) = speaker.next_chunk(1_600) {
        samples.extend(chunk);
    }
    (samples, words)
}

/// Pink noise from white noise through three filters (Paul Kellet's "economy" filter), with a root mean square of 1.
#[derive(Default)]
pub struct Pink {
    state: u64,
    rows: [f64; 3],
}

impl Pink {
    pub fn next(&mut self) -> f64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let white = (self.state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0;
        self.rows[0] = 0.99765 * self.rows[0] + white * 0.099_046_0;
        self.rows[1] = 0.96300 * self.rows[1] + white * 0.296_516_4;
        self.rows[2] = 0.57000 * self.rows[2] + white * 1.052_691_3;
        (self.rows.iter().sum::<f64>() + white * 0.1848) / 1.72
    }
}
