//! Sends one random text through a simulated telephone line and judges the result.

use media::{
    babble::{Listener, ListenerEvent, Speaker, Voice},
    codec,
    format::Encoding,
    resample::HalfBandDown,
};

/// Samples of a frame of 20 ms at 8 kHz.
const FRAME: usize = 160;

/// Damage to the line's audio, besides 30 dB of noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineQuality {
    /// No damage.
    Clean,
    /// 5 % of the frames are silenced, replaced by the previous one, or replaced by random bytes.
    Corrupted,
}

/// Result of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It arrived as sent, and nothing was reported missing.
    Exact,
    /// It was reported as damaged, and the part that arrived is right.
    Flagged,
    /// A word is wrong, or missing without a report.
    Silent(String),
}

/// Result of one case.
#[derive(Debug, Clone)]
pub struct Report {
    /// Result of the text.
    pub outcome: Outcome,
    /// Number of characters of the text.
    pub characters: usize,
    /// Number of samples of the speech, at 16 kHz.
    pub samples: u64,
    /// Number of interim texts that were not a true continuation.
    pub wrong_interims: usize,
}

/// A small random generator (xorshift64*), so that a case is determined by its seed.
pub struct Random(u64);

impl Random {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Returns a number from `low` to `high`.
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.next() as f32 / (1u64 << 53) as f32
    }

    /// Returns an approximately normally distributed number of variance 1.
    fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.between(0.0, 1.0)).sum::<f32>() - 6.0
    }
}

/// Returns a random text: words in two thirds of the cases, any characters in one third.
pub fn random_text(random: &mut Random) -> String {
    if random.below(3) > 0 {
        let words: Vec<String> = (0..=random.below(12))
            .map(|_| {
                (0..=random.below(9))
                    .map(|_| char::from(b'a' + random.below(26) as u8))
                    .collect()
            })
            .collect();
        words.join(" ")
    } else {
        const RANGES: [(u32, u32); 6] = [
            (0x20, 0x7F),
            (0xA0, 0x180),
            (0x900, 0x980),
            (0x1E00, 0x1F00),
            (0x4E00, 0x9FFF),
            (0x1_F600, 0x1_F650),
        ];
        (0..=random.below(30))
            .filter_map(|_| {
                let (from, to) = RANGES[random.below(RANGES.len())];
                char::from_u32(from + random.below((to - from) as usize) as u32)
            })
            .collect()
    }
}

/// Speaks a text at 16 kHz.
pub fn speak(text: &str, voice: Voice) -> Vec<i16> {
    let mut speaker = Speaker::new(text, voice, 16_000).expect("16 kHz is spoken");
    let mut audio = Vec::new();
    while let Some(chunk) = speaker.next_chunk(3_200) {
        audio.extend(chunk);
    }
    audio
}

/// Converts audio at 16 kHz to mu-law frames, noisy and softer, after silence of a random length.
fn transmit(audio: &[i16], random: &mut Random) -> Vec<[u8; FRAME]> {
    let gain = random.between(0.3, 1.0);
    let mut narrow = vec![0; random.below(1_600)];
    HalfBandDown::new().process(audio, &mut narrow);
    narrow.resize((narrow.len() + 6_400).next_multiple_of(FRAME), 0);
    // 30 dB below the speech, whose RMS is a tenth of full scale.
    let noise = gain * 3_276.7 * 10.0_f32.powf(-1.5);
    for sample in &mut narrow {
        *sample = (f32::from(*sample) * gain + noise * random.normal()).round() as i16;
    }
    let mut bytes = Vec::new();
    codec::encode(Encoding::MuLaw, &narrow, &mut bytes);
    bytes.as_chunks::<FRAME>().0.to_vec()
}

fn corrupt(frames: &mut [[u8; FRAME]], random: &mut Random) {
    for n in 0..frames.len() {
        if random.below(20) > 0 {
            continue;
        }
        frames[n] = match random.below(3) {
            0 => [0xFF; FRAME],
            1 if n > 0 => frames[n - 1],
            _ => std::array::from_fn(|_| random.below(256) as u8),
        };
    }
}

/// Returns everything a listener hears in the frames.
pub fn listen(frames: &[[u8; FRAME]]) -> Vec<ListenerEvent> {
    let mut listener = Listener::new();
    let (mut heard, mut samples) = (Vec::new(), Vec::new());
    for frame in frames {
        samples.clear();
        codec::decode(Encoding::MuLaw, frame, &mut samples);
        listener.push(&samples, &mut heard);
    }
    listener.finish(&mut heard);
    heard
}

/// Judges the events heard against the text `sent`.
fn judge(sent: &str, heard: &[ListenerEvent]) -> (Outcome, usize) {
    let (mut arrived, mut from, mut gap, mut ends, mut wrong_interims) = (String::new(), 0, false, 0, 0);
    for event in heard {
        match event {
            ListenerEvent::Gap => gap = true,
            ListenerEvent::End => ends += 1,
            ListenerEvent::Interim { text } => {
                wrong_interims += usize::from(!gap && !sent.starts_with(&format!("{arrived}{text}")));
            }
            ListenerEvent::Packet { text, last, .. } => {
                let Some(at) = sent[from..].find(text.as_str()) else {
                    return (
                        Outcome::Silent(format!("`{text}` was never said in `{sent}`")),
                        wrong_interims,
                    );
                };
                from += at + text.len();
                arrived.push_str(text);
                ends += usize::from(*last);
            }
        }
    }
    let outcome = match gap {
        true => Outcome::Flagged,
        false if arrived == sent && ends == 1 => Outcome::Exact,
        false => Outcome::Silent(format!("`{sent}` became `{arrived}`, {ends} ends: {heard:?}")),
    };
    (outcome, wrong_interims)
}

/// Runs the case of a seed.
pub fn run(seed: u64, line: LineQuality) -> Report {
    let mut random = Random::new(seed);
    let text = random_text(&mut random);
    let audio = speak(&text, Voice::new(random.between(105.0, 165.0)));
    let mut frames = transmit(&audio, &mut random);
    if line == LineQuality::Corrupted {
        corrupt(&mut frames, &mut random);
    }
    let (outcome, wrong_interims) = judge(&text, &listen(&frames));
    Report {
        outcome,
        characters: text.chars().count(),
        samples: audio.len() as u64,
        wrong_interims,
    }
}
