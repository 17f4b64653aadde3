//! Conversion of a provider's audio to pieces of speech: decoded, at the line's rate, in pieces of 100 to 200
//! ms, with the words that end in each.

use std::collections::VecDeque;

use domain::ports::synthesizer::{SpeechPiece, WordEnd};
use media::{
    codec,
    format::{Encoding, LineFormat},
    resample::Resampler,
};

use crate::failure::Failure;

/// Minimum length of a piece, except at the end.
const LEAST_MS: usize = 100;
/// Maximum length of a piece.
const MOST_MS: usize = 200;

/// Maximum length of a text's audio: a base, plus a time per character. The slowest voices take about 100 ms
/// per character, so longer audio is not speech of this text.
const MOST_SECONDS: u64 = 20;
const MOST_MS_A_CHARACTER: u64 = 500;

/// Audio of one text in progress.
pub(crate) struct Frames {
    encoding: Encoding,
    /// First byte of a sample whose second byte has not come.
    odd: Option<u8>,
    resampler: Option<Resampler>,
    decoded: Vec<i16>,
    waiting: Vec<i16>,
    words: VecDeque<WordEnd>,
    samples_per_ms: usize,
    given: u64,
    /// Whether a sample has come.
    begun: bool,
    most: u64,
    finished: bool,
}

impl Frames {
    /// Creates a converter from `format` to a line of `line_rate` Hz, for a text of `characters` characters.
    pub(crate) fn new(format: LineFormat, line_rate: u32, characters: usize) -> Result<Self, Failure> {
        let resampler = match format.sample_rate == line_rate {
            true => None,
            false => Some(Resampler::new(format.sample_rate, line_rate).map_err(|e| Failure::OurFault(e.to_string()))?),
        };
        let most_ms = MOST_SECONDS * 1_000 + MOST_MS_A_CHARACTER * characters as u64;
        Ok(Self {
            encoding: format.encoding,
            odd: None,
            resampler,
            decoded: Vec::new(),
            waiting: Vec::new(),
            words: VecDeque::new(),
            samples_per_ms: line_rate as usize / 1_000,
            given: 0,
            begun: false,
            most: most_ms * u64::from(line_rate) / 1_000,
            finished: false,
        })
    }

    /// Returns the number of samples received, at the line's rate.
    pub(crate) fn received(&self) -> u64 {
        self.given + self.waiting.len() as u64
    }

    /// Adds audio. It may end within a sample.
    /// Refuses more audio than the text can have.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        let mut decoded = std::mem::take(&mut self.decoded);
        decoded.clear();
        if self.encoding == Encoding::Linear16 {
            if let (Some(low), Some((&high, rest))) = (self.odd, bytes.split_first()) {
                codec::decode(self.encoding, &[low, high], &mut decoded);
                (self.odd, bytes) = (None, rest);
            }
            if let (1, Some((&low, whole))) = (bytes.len() % 2, bytes.split_last()) {
                (self.odd, bytes) = (Some(low), whole);
            }
        }
        codec::decode(self.encoding, bytes, &mut decoded);
        self.begun |= !decoded.is_empty();
        match &mut self.resampler {
            Some(resampler) => resampler.process(&decoded, &mut self.waiting),
            None => self.waiting.extend_from_slice(&decoded),
        }
        self.decoded = decoded;
        match self.received() > self.most {
            true => Err(Failure::Protocol("the audio is much too long for its text".into())),
            false => Ok(()),
        }
    }

    /// Adds the end of a word. Words come in order.
    pub(crate) fn word(&mut self, word: WordEnd) {
        self.words.push_back(word);
    }

    /// Marks the end of the audio. The rest is given out whatever its length.
    pub(crate) fn finish(&mut self) {
        // A resampler would make samples even from nothing.
        if let Some(resampler) = self.resampler.as_mut().filter(|_| self.begun) {
            resampler.flush(&mut self.waiting);
        }
        self.finished = true;
    }

    /// Returns the next piece if there is enough audio.
    pub(crate) fn next(&mut self) -> Option<SpeechPiece> {
        let waiting = self.waiting.len();
        let enough = match self.finished {
            true => waiting > 0 || !self.words.is_empty(),
            false => waiting >= LEAST_MS * self.samples_per_ms,
        };
        if !enough {
            return None;
        }
        // The samples are copied, so that a piece does not keep the whole buffer alive.
        let samples: Vec<i16> = self
            .waiting
            .drain(..waiting.min(MOST_MS * self.samples_per_ms))
            .collect();
        self.given += samples.len() as u64;
        let mut words = Vec::new();
        // A provider's last word may end a little after its audio.
        let end = match self.finished && self.waiting.is_empty() {
            true => u64::MAX,
            false => self.given,
        };
        while let Some(word) = self.words.pop_front_if(|word| word.sample_end <= end) {
            words.push(WordEnd {
                sample_end: word.sample_end.min(self.given),
                ..word
            });
        }
        Some(SpeechPiece { samples, words })
    }
}

#[cfg(test)]
mod tests {
    use media::format::LineFormat;
    use proptest::prelude::*;

    use super::*;

    const PCM_16000: LineFormat = LineFormat {
        encoding: Encoding::Linear16,
        sample_rate: 16_000,
    };

    fn pieces(format: LineFormat, line_rate: u32, chunks: &[&[u8]]) -> Vec<SpeechPiece> {
        let mut frames = Frames::new(format, line_rate, 100).unwrap();
        let mut pieces = Vec::new();
        for chunk in chunks {
            frames.push(chunk).unwrap();
            pieces.extend(std::iter::from_fn(|| frames.next()));
        }
        frames.finish();
        pieces.extend(std::iter::from_fn(|| frames.next()));
        pieces
    }

    fn samples(pieces: &[SpeechPiece]) -> Vec<i16> {
        pieces.iter().flat_map(|piece| piece.samples.clone()).collect()
    }

    #[test]
    fn a_sample_cut_in_two_is_put_together() {
        let all: Vec<i16> = (0..5_000).map(|n| n * 6).collect();
        let mut bytes = Vec::new();
        codec::encode(Encoding::Linear16, &all, &mut bytes);
        let (one, rest) = bytes.split_at(1);
        let (two, three) = rest.split_at(4_001);
        let pieces = pieces(PCM_16000, 16_000, &[one, &[], two, three]);
        assert_eq!(samples(&pieces), all);
    }

    #[test]
    fn of_nothing_comes_nothing() {
        for rate in [8_000, 16_000, 24_000] {
            let format = LineFormat {
                encoding: Encoding::Linear16,
                sample_rate: rate,
            };
            assert_eq!(pieces(format, 8_000, &[&[], &[7]]), [], "{rate}");
        }
    }

    #[test]
    fn audio_without_end_is_refused() {
        let mut frames = Frames::new(LineFormat::MULAW_8000, 8_000, 4).unwrap();
        let second = [0xFF; 8_000];
        let taken = (0..1_000).take_while(|_| frames.push(&second).is_ok()).count();
        assert_eq!(taken, 22);
    }

    #[test]
    fn a_word_goes_with_the_piece_in_which_it_ends() {
        let mut frames = Frames::new(LineFormat::MULAW_8000, 8_000, 10).unwrap();
        for (text_end, sample_end) in [(3, 900), (7, 2_000), (9, 9_999)] {
            frames.word(WordEnd { text_end, sample_end });
        }
        frames.push(&[0xFF; 1_600]).unwrap();
        frames.push(&[0xFF; 800]).unwrap();
        let ends = |piece: SpeechPiece| {
            piece
                .words
                .iter()
                .map(|w| (w.text_end, w.sample_end))
                .collect::<Vec<_>>()
        };
        assert_eq!(ends(frames.next().unwrap()), [(3, 900)]);
        assert_eq!(ends(frames.next().unwrap()), [(7, 2_000)]);
        assert_eq!(frames.next(), None);
        frames.finish();
        assert_eq!(
            ends(frames.next().unwrap()),
            [(9, 2_400)],
            "no word ends behind the audio"
        );
        assert_eq!(frames.next(), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn how_audio_is_cut_changes_no_sample(
            all in prop::collection::vec(any::<i16>(), 0..6_000),
            cuts in prop::collection::vec(1usize..900, 1..40),
            rates in prop::sample::select(vec![(16_000, 16_000), (24_000, 8_000), (24_000, 16_000), (22_050, 8_000)]),
        ) {
            let format = LineFormat { encoding: Encoding::Linear16, sample_rate: rates.0 };
            let mut bytes = Vec::new();
            codec::encode(Encoding::Linear16, &all, &mut bytes);
            let whole = samples(&pieces(format, rates.1, &[&bytes]));
            let mut chunks: Vec<&[u8]> = Vec::new();
            let mut rest = bytes.as_slice();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (chunk, behind) = rest.split_at((*cut).min(rest.len()));
                chunks.push(chunk);
                rest = behind;
            }
            let pieces = pieces(format, rates.1, &chunks);
            prop_assert_eq!(samples(&pieces), whole);
            let most = rates.1 as usize / 5;
            prop_assert!(pieces.iter().all(|piece| piece.samples.len() <= most));
            let all_but_last = pieces.len().saturating_sub(1);
            prop_assert!(pieces[..all_but_last].iter().all(|piece| piece.samples.len() >= most / 2));
        }
    }
}
