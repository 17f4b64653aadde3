//! Encoding of an utterance as a file, and a check for voice.

use std::io::Cursor;

use media::resample::HalfBandUp;

/// Level (-45 dBFS) below which a frame of 20 ms is not voice.
const VOICE_RMS: f64 = 184.0;

/// Minimum number of voiced frames. A click has fewer.
const VOICE_FRAMES: usize = 3;

/// Returns whether there may be voice. Recognisers of this kind invent words for silence.
pub(super) fn has_voice(samples: &[i16], sample_rate: u32) -> bool {
    let frames = samples.chunks((sample_rate / 50).max(1) as usize);
    let loud = frames.filter(|frame| {
        let power: f64 = frame.iter().map(|s| f64::from(*s) * f64::from(*s)).sum();
        power >= VOICE_RMS * VOICE_RMS * frame.len() as f64
    });
    loud.take(VOICE_FRAMES).count() == VOICE_FRAMES
}

/// Encodes samples as a WAV file, at 16 kHz if `wideband` is set.
pub(super) fn wav(samples: &[i16], sample_rate: u32, wideband: bool) -> Result<Vec<u8>, hound::Error> {
    let mut wide = Vec::new();
    let (samples, sample_rate) = match wideband && sample_rate == 8_000 {
        true => {
            HalfBandUp::new().process(samples, &mut wide);
            (wide.as_slice(), 16_000)
        }
        false => (samples, sample_rate),
    };
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut file = Cursor::new(Vec::with_capacity(44 + samples.len() * 2));
    let mut writer = hound::WavWriter::new(&mut file, spec)?;
    let mut block = writer.get_i16_writer(u32::try_from(samples.len()).unwrap_or(u32::MAX));
    for sample in samples {
        block.write_sample(*sample);
    }
    block.flush()?;
    writer.finalize()?;
    Ok(file.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_rate_and_its_samples() {
        let samples: Vec<i16> = (0..800).map(|n| n * 20).collect();
        for (wideband, rate, length) in [(false, 8_000, 800), (true, 16_000, 1_600)] {
            let bytes = wav(&samples, 8_000, wideband).unwrap();
            assert_eq!(bytes.len(), 44 + 2 * length);
            let reader = hound::WavReader::new(Cursor::new(bytes)).unwrap();
            assert_eq!((reader.spec().sample_rate, reader.spec().channels), (rate, 1));
            let back: Vec<i16> = reader.into_samples().map(Result::unwrap).collect();
            assert!(wideband || back == samples);
        }
    }

    #[test]
    fn silence_and_clicks_are_no_voice() {
        let mut samples = vec![20_i16; 8_000];
        assert!(!has_voice(&samples, 8_000));
        samples[4_000..4_160].fill(9_000);
        assert!(!has_voice(&samples, 8_000));
        samples[4_000..4_800].fill(900);
        assert!(has_voice(&samples, 8_000));
        assert!(!has_voice(&[], 8_000));
    }
}
