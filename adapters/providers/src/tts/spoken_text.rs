//! One text as it is spoken: its audio as it comes, and where its words end in it.

use base64::{Engine, engine::GeneralPurpose, engine::general_purpose};
use domain::ports::synthesizer::{SpeechPiece, WordEnd};
use media::format::LineFormat;

use crate::failure::Failure;
use crate::tts::{alignment::Aligner, frames::Frames, protocol::VoiceEvent};

/// Providers differ in whether they pad.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    general_purpose::PAD.with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent),
);

/// The text, its audio and its words.
pub(crate) struct SpokenText {
    frames: Frames,
    aligner: Aligner,
    samples_per_ms: f64,
    decoded: Vec<u8>,
    last: u64,
}

impl SpokenText {
    /// Nothing of the text has come.
    ///
    /// # Errors
    ///
    /// When the audio cannot be brought to the line's rate.
    pub(crate) fn new(text: &str, format: LineFormat, line_rate: u32) -> Result<Self, Failure> {
        Ok(Self {
            frames: Frames::new(format, line_rate, text.chars().count())?,
            aligner: Aligner::new(text),
            samples_per_ms: f64::from(line_rate) / 1_000.0,
            decoded: Vec::new(),
            last: 0,
        })
    }

    /// Takes audio and times.
    ///
    /// # Errors
    ///
    /// When the audio is no base64, or far too much.
    pub(crate) fn take(&mut self, event: &VoiceEvent<'_>) -> Result<(), Failure> {
        let here = self.frames.received();
        let audio = event.audio.as_deref().filter(|audio| !audio.is_empty());
        if let Some(audio) = audio {
            let mut decoded = std::mem::take(&mut self.decoded);
            decoded.clear();
            let taken = BASE64
                .decode_vec(audio.as_bytes(), &mut decoded)
                .map_err(|error| Failure::Protocol(format!("audio is no base64: {error}")));
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

    /// Takes audio as bytes.
    ///
    /// # Errors
    ///
    /// When it is far too much.
    pub(crate) fn audio(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.frames.push(bytes)
    }

    /// Nothing more comes.
    pub(crate) fn finish(&mut self) {
        self.frames.finish();
    }

    /// The next piece that is ready.
    pub(crate) fn next(&mut self) -> Option<SpeechPiece> {
        self.frames.next()
    }

    fn word(&mut self, text_end: usize, base: u64, end_ms: f64) {
        // The cast saturates: nonsense becomes zero or the far end, and is held within what comes.
        let offset = (end_ms * self.samples_per_ms).round() as u64;
        self.last = base.saturating_add(offset).max(self.last);
        self.frames.word(WordEnd {
            text_end,
            sample_end: self.last,
        });
    }
}
