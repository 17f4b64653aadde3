//! Cost of 20 ms of a call in its audio session: silence, speech, playout, playout with the agent's echo.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use media::{
    babble::{Speaker, Voice},
    codec,
    format::{Encoding, LineFormat},
    playout::LineAbilities,
    session::{AudioSession, LineOutput, Manner, Say, SessionConfig, SpeechId},
    turn::endpointing::PausePolicy,
};

/// Bytes of 20 ms of mu-law.
const FRAME: usize = 160;

/// Returns babble of a few seconds, with its level changed by `gain`.
fn speech(gain: f64) -> Vec<i16> {
    let text = "The parcel has left the depot and will be with you before noon. ".repeat(3);
    let mut speaker = Speaker::new(&text, Voice::named("bench"), 8_000).expect("a rate that is spoken");
    let mut samples = Vec::new();
    while let Some(chunk) = speaker.next_chunk(1_600) {
        samples.extend(chunk.into_iter().map(|sample| (f64::from(sample) * gain) as i16));
    }
    samples
}

fn mu_law(samples: &[i16]) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec::encode(Encoding::MuLaw, samples, &mut bytes);
    bytes
}

/// A call at its current frame.
struct Call {
    session: AudioSession,
    line: Vec<u8>,
    voice: Vec<i16>,
    at: usize,
    now_ms: u64,
    speech: u64,
    agent_speaks: bool,
}

impl Call {
    fn new(line: Vec<u8>, agent_speaks: bool) -> Self {
        let config = SessionConfig {
            format: LineFormat::MULAW_8000,
            abilities: LineAbilities {
                buffers: true,
                marks: false,
                clear: true,
            },
            recogniser_rate: 8_000,
            pause: PausePolicy {
                base_ms: 450,
                fixed_ms: None,
                spelling_patience: true,
            },
            record: false,
        };
        let mut session = AudioSession::new(&config).expect("a line that is supported");
        session.allow_barge_in(true, 0);
        Self {
            session,
            line,
            voice: speech(1.0),
            at: 0,
            now_ms: 0,
            speech: 0,
            agent_speaks,
        }
    }

    fn frame(&mut self) {
        self.now_ms += 20;
        let frame = self.line.get(self.at..self.at + FRAME).unwrap_or(&[0xFF; FRAME]);
        self.session.receive(black_box(frame), self.now_ms);
        self.at = (self.at + FRAME) % self.line.len();
        if self.agent_speaks && self.session.is_quiet() {
            self.speak();
        }
        self.session.recogniser_samples().clear();
        while let Some(output) = self.session.poll_output() {
            assert!(output != LineOutput::Clear, "nobody interrupts");
        }
        while self.session.poll_event().is_some() {}
    }

    fn speak(&mut self) {
        self.speech += 1;
        let say = Say {
            speech: SpeechId(self.speech),
            text: "The parcel has left the depot.".to_owned(),
            last: true,
            protected: false,
            held: false,
            manner: Manner::default(),
        };
        self.session.say(say, self.now_ms);
        if let Some(job) = self.session.next_text() {
            self.session.synthesized(job.generation, &self.voice, &[], self.now_ms);
            self.session.synthesis_ended(job.generation, self.now_ms);
        }
        self.at = 0;
    }
}

fn session(c: &mut Criterion) {
    let silence = vec![0xFF; 200 * FRAME];
    let mut echo = vec![0; 1_200];
    echo.extend(speech(0.1));
    for (name, line, agent_speaks) in [
        ("silence", silence.clone(), false),
        ("speech", mu_law(&speech(1.0)), false),
        ("playout", silence, true),
        ("playout and its echo", mu_law(&echo), true),
    ] {
        let mut call = Call::new(line, agent_speaks);
        c.bench_function(&format!("session: 20 ms of {name}"), |b| b.iter(|| call.frame()));
    }
}

criterion_group!(benches, session);
criterion_main!(benches);
