//! Parts that the stubs of tts providers share: babble in any format and rate, with the time of every
//! character, and the faults of their output.

mod body;
mod client;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use media::{
    babble::{Speaker, Voice},
    codec,
    format::{Encoding, LineFormat},
    playout::WordEnd,
    resample::Resampler,
};
use tokio::time::Instant;

pub(super) use self::body::Body;
pub(super) use self::client::{ClientSocket, Closing, Gone, upgrade};

/// Bytes of cached speeches: many calls say the same.
const MOST_KEPT_BYTES: usize = 16 * 1024 * 1024;

/// The longest text that is spoken.
const MOST_CHARACTERS: usize = 5_000;

/// A text as audio.
#[derive(Debug)]
pub(super) struct Spoken {
    /// Audio in the requested format.
    pub audio: Vec<u8>,
    /// Every character and its time.
    pub characters: Vec<Character>,
    format: LineFormat,
}

/// A character and its time, in milliseconds from the start of the audio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Character {
    pub text: char,
    pub start_ms: u64,
    pub end_ms: u64,
}

impl Spoken {
    fn new(text: &str, voice: &str, format: LineFormat) -> Option<Self> {
        let rate = if format.sample_rate == 8_000 { 8_000 } else { 16_000 };
        let mut speaker = Speaker::new(text, Voice::named(voice), rate).ok()?;
        let characters = characters(text, speaker.words(), rate);
        let mut resampler = Resampler::new(rate, format.sample_rate).ok()?;
        let mut samples = Vec::new();
        while let Some(chunk) = speaker.next_chunk(rate as usize) {
            resampler.process(&chunk, &mut samples);
        }
        resampler.flush(&mut samples);
        let mut audio = Vec::new();
        codec::encode(format.encoding, &samples, &mut audio);
        Some(Self {
            audio,
            characters,
            format,
        })
    }

    /// Returns the audio of some milliseconds, and the characters that begin in it.
    pub(super) fn chunk(&self, from_ms: u64, ms: u64) -> Option<(&[u8], &[Character])> {
        let bytes = |at_ms: u64| {
            let samples = at_ms * u64::from(self.format.sample_rate) / 1_000;
            (samples as usize * self.format.encoding.bytes_per_sample()).min(self.audio.len())
        };
        let (from, to) = (bytes(from_ms), bytes(from_ms + ms));
        let audio = self.audio.get(from..to).filter(|audio| !audio.is_empty())?;
        let begins = |at_ms: u64| self.characters.partition_point(|c| c.start_ms < at_ms);
        // A character that begins at the end of the audio belongs to its last chunk.
        let last = if to == self.audio.len() { u64::MAX } else { from_ms + ms };
        Some((
            audio,
            self.characters.get(begins(from_ms)..begins(last)).unwrap_or_default(),
        ))
    }
}

/// A speech being sent.
pub(super) struct Speech {
    spoken: Arc<Spoken>,
    at_ms: u64,
    /// Time of its next chunk.
    pub due: Instant,
}

impl Speech {
    pub(super) fn new(spoken: Arc<Spoken>, due: Instant) -> Self {
        Self { spoken, at_ms: 0, due }
    }

    /// Returns the speech, the start of its next chunk and the chunk's milliseconds: the smallest if it drips.
    pub(super) fn next(&mut self, drip: Option<Duration>) -> (Arc<Spoken>, u64, u64) {
        let (from_ms, ms) = (self.at_ms, chunk_ms(drip));
        self.at_ms += ms;
        self.due += drip.unwrap_or_default();
        (self.spoken.clone(), from_ms, ms)
    }
}

/// Returns the milliseconds of audio in a message.
fn chunk_ms(drip: Option<Duration>) -> u64 {
    if drip.is_some() { 20 } else { 400 }
}

/// Returns the characters of a text. Words end where the speaker says; their characters are spread evenly before that.
fn characters(text: &str, words: &[WordEnd], rate: u32) -> Vec<Character> {
    let ms = |samples: u64| samples * 1_000 / u64::from(rate);
    let mut all = Vec::with_capacity(text.len());
    let (mut text_start, mut start_ms) = (0, 0);
    let tail = WordEnd {
        text_end: text.len(),
        sample_end: words.last().map_or(0, |word| word.sample_end),
    };
    for word in words.iter().chain([&tail]) {
        let part = text.get(text_start..word.text_end).unwrap_or_default();
        let (count, end_ms) = (part.chars().count() as u64, ms(word.sample_end));
        let at = |n: u64| start_ms + (end_ms - start_ms) * n / count.max(1);
        all.extend(part.chars().zip(0..).map(|(text, n)| Character {
            text,
            start_ms: at(n),
            end_ms: at(n + 1),
        }));
        (text_start, start_ms) = (word.text_end, end_ms);
    }
    all
}

type Key = (String, String, LineFormat);

/// Cache of speeches; the newest are kept.
#[derive(Debug, Default)]
pub(super) struct Speeches(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    made: HashMap<Key, Arc<Spoken>>,
    order: VecDeque<Key>,
    bytes: usize,
}

impl Speeches {
    /// Returns the text in this voice and format, or `None` if the stub does not support the format.
    pub(super) fn of(&self, text: &str, voice: &str, format: LineFormat) -> Option<Arc<Spoken>> {
        let text: String = text.trim().chars().take(MOST_CHARACTERS).collect();
        let key = (text, voice.to_owned(), format);
        if let Some(spoken) = self.kept().made.get(&key) {
            return Some(spoken.clone());
        }
        let spoken = Arc::new(Spoken::new(&key.0, voice, format)?);
        let mut kept = self.kept();
        kept.bytes += spoken.audio.len();
        kept.made.insert(key.clone(), spoken.clone());
        kept.order.push_back(key);
        while kept.bytes > MOST_KEPT_BYTES
            && let Some(oldest) = kept.order.pop_front()
        {
            let gone = kept.made.remove(&oldest).map_or(0, |spoken| spoken.audio.len());
            kept.bytes -= gone;
        }
        Some(spoken)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates a format from its parts.
pub(super) fn format(encoding: Encoding, sample_rate: u32) -> LineFormat {
    LineFormat { encoding, sample_rate }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_make_up_the_audio_and_the_text() {
        let speeches = Speeches::default();
        let text = "Good morning, this is Ann.";
        for format in [LineFormat::MULAW_8000, format(Encoding::Linear16, 24_000)] {
            let spoken = speeches.of(text, "ann", format).unwrap();
            let (mut audio, mut said, mut at) = (Vec::new(), String::new(), 0);
            while let Some((bytes, characters)) = spoken.chunk(at, 300) {
                audio.extend_from_slice(bytes);
                said.extend(characters.iter().map(|c| c.text));
                assert!(characters.iter().all(|c| c.start_ms >= at && c.end_ms >= c.start_ms));
                at += 300;
            }
            assert_eq!((audio.len(), said.as_str()), (spoken.audio.len(), text));
        }
        assert!(Arc::ptr_eq(
            &speeches.of(text, "ann", LineFormat::MULAW_8000).unwrap(),
            &speeches.of(text, "ann", LineFormat::MULAW_8000).unwrap()
        ));
    }
}
