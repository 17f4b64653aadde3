//! Speech of espeak-ng, in several voices, rates and pitches of each language.

use std::process::{Command, Stdio};

use media::resample::Resampler;

use super::{Ending, Stretch, VoiceError, rms, trimmed};
use crate::{caller::Caller, language::Language, sentence::Word};

/// The program.
const PROGRAM: &str = "espeak-ng";

/// Bytes before the samples of a WAV file that espeak-ng writes.
const HEADER: usize = 44;

/// Place of the sample rate in the header.
const RATE_AT: std::ops::Range<usize> = 24..28;

/// Loudness to which every voice is brought: that of babble.
const RMS: f64 = 3_000.0;

/// Variants of a voice.
const VARIANTS: [&str; 6] = ["", "+m3", "+m7", "+f2", "+f4", "+f5"];

/// Returns whether espeak-ng can be run.
pub fn is_installed() -> bool {
    let mut command = Command::new(PROGRAM);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn voices(language: Language) -> &'static [&'static str] {
    match language {
        Language::En => &["en", "en-us", "en-gb-scotland"],
        Language::Es => &["es", "es-419"],
        Language::De => &["de"],
        Language::Fr => &["fr", "fr-be"],
        Language::Hi => &["hi"],
    }
}

/// Speaks words without a pause.
pub(super) fn speak(
    words: &[&Word],
    ending: Ending,
    caller: &Caller,
    language: Language,
) -> Result<Stretch, VoiceError> {
    let names = voices(language);
    let name = names[caller.voice as usize % names.len()];
    let variant = VARIANTS[(caller.voice >> 8) as usize % VARIANTS.len()];
    let output = Command::new(PROGRAM)
        .args(["--stdout", "-v", &format!("{name}{variant}")])
        .args(["-s", &format!("{:.0}", 165.0 * caller.rate)])
        .args(["-p", &format!("{:.0}", caller.pitch_hz - 85.0)])
        .arg(text(words, ending))
        .stderr(Stdio::null())
        .output()
        .map_err(|error| VoiceError::Espeak(error.to_string()))?;
    let samples = samples(&output.stdout)?;
    let spans = super::by_length(words, samples.len());
    Ok(Stretch { samples, words: spans })
}

/// Returns the words with the punctuation that gives the voice its ending.
fn text(words: &[&Word], ending: Ending) -> String {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let text = texts.join(" ");
    let text = text.trim_end_matches(crate::sentence::is_punctuation);
    let mark = match ending {
        Ending::Falling => '.',
        Ending::Rising => '?',
        Ending::Level => ',',
    };
    format!("{text}{mark}")
}

/// Reads a WAV file and brings it to 8 kHz and the usual loudness.
fn samples(wav: &[u8]) -> Result<Vec<i16>, VoiceError> {
    let problem = || VoiceError::Espeak("it wrote no sound".to_owned());
    let rate = wav.get(RATE_AT).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
    let rate = u32::from_le_bytes(rate.ok_or_else(problem)?);
    let bytes = wav.get(HEADER..).ok_or_else(problem)?;
    let (pairs, _half) = bytes.as_chunks::<2>();
    let samples: Vec<i16> = pairs.iter().map(|pair| i16::from_le_bytes(*pair)).collect();
    let mut to_8_khz = Resampler::new(rate, 8_000).map_err(|error| VoiceError::Espeak(error.to_string()))?;
    let mut narrow = Vec::new();
    to_8_khz.process(&samples, &mut narrow);
    to_8_khz.flush(&mut narrow);
    let gain = RMS / rms(trimmed(&narrow)).max(1.0);
    let loud = super::scaled(&narrow, gain);
    let voiced = trimmed(&loud);
    match voiced.is_empty() {
        true => Err(problem()),
        false => Ok(voiced.to_vec()),
    }
}
