//! Text that is being spoken: its audio as it comes, and the ends of its words in the audio.

use base64::{Engine, engine::GeneralPurpose, engine::general_purpose};
use domain::ports::synthesizer::{SpeechPiece, WordEnd};
use media::format::LineFormat;

use crate::{
    failure::Failure,
    protocols::tts::{alignment::Aligner, frames::Frames, protocol::VoiceEvent},
};

/// Providers differ in whether they pad base64.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    general_purpose::PAD.with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent),
);

/// Text with its audio and words.
pub(crate) struct SpokenText {
    frames: Frames,
    aligner: Aligner,
    samples_per_ms: f64,
    decoded: Vec<u8>,
    last: u64,
}

impl SpokenText {
    /// Starts with no audio.
    pub(crate) fn new(text: &str, format: LineFormat, line_rate: u32) -> Result<Self, Failure> {
        Ok(Self {
            frames: Frames::new(format, line_rate, text.chars().count())?,
            aligner: Aligner::new(text),
            samples_per_ms: f64::from(line_rate) / 1_000.0,
            decoded: Vec::new(),
            last: 0,
        })
    }

    /// Adds audio and times.
    /// Refuses audio that is far too long.
    pub(crate) fn take(&mut self, event: &VoiceEvent<'_>) -> Result<(), Failure> {
        let here = self.frames.received();
        let audio = event.audio.as_deref().filter(|audio| !audio.is_empty());
        if let Some(audio) = audio {
            let mut decoded = std::mem::take(&mut self.decoded);
            decoded.clear();
            let taken = BASE64
                .decode_vec(audio.as_bytes(), &mut decoded)
                .map_err(|error| Failure::Protocol(format!("audio is not base64: {error}")));
            let taken = taken.and_then(|()| self.frames.push(&decoded));
            self.decoded = decoded;
            taken?;
        }
        for spoken in &event.spoken {
            let end = match spoken.is_word {
                true => self.aligner.word(&spoken.text),
                false => self.aligner.character(&spoken.text),
            };
            if let Some(text_end) = end {
                let base = if spoken.from_here { here } else { 0 };
                self.word(text_end, base, spoken.end_ms);
            }
        }
        Ok(())
    }

    /// Adds audio as bytes.
    /// Refuses audio that is far too long.
    pub(crate) fn audio(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.frames.push(bytes)
    }

    /// Marks the end of the audio.
    pub(crate) fn finish(&mut self) {
        self.frames.finish();
    }

    /// Returns the next piece that is ready.
    pub(crate) fn next(&mut self) -> Option<SpeechPiece> {
        self.frames.next()
    }

    fn word(&mut self, text_end: usize, base: u64, end_ms: f64) {
        // The cast saturates: nonsense becomes zero or the maximum, and is limited to the audio received.
        let offset = (end_ms * self.samples_per_ms).round() as u64;
        self.last = base.saturating_add(offset).max(self.last);
        self.frames.word(WordEnd {
            text_end,
            sample_end: self.last,
        });
    }
}
