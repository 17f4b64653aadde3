//! The codec of a Telnyx line: the requested one, the received one, and the conversion between them if they
//! differ. Pure.

use media::{
    format::{Encoding, LineFormat},
    translate::Translator,
};

use crate::kind::Choice;

/// Requested codec, both ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Codec {
    /// Mu-law at 8 kHz.
    #[default]
    Pcmu,
    /// A-law at 8 kHz.
    Pcma,
    /// Linear 16-bit at 16 kHz.
    L16,
}

impl Choice for Codec {
    const ALL: &'static [(&'static str, Self)] = &[("PCMU", Self::Pcmu), ("PCMA", Self::Pcma), ("L16", Self::L16)];
}

impl Codec {
    /// Returns the line format with this codec.
    pub fn format(self) -> LineFormat {
        let (encoding, sample_rate) = match self {
            Self::Pcmu => (Encoding::MuLaw, 8_000),
            Self::Pcma => (Encoding::ALaw, 8_000),
            Self::L16 => (Encoding::Linear16, 16_000),
        };
        LineFormat { encoding, sample_rate }
    }
}

/// Byte order of an L16 sample. RFC 3551 puts the high byte first. Telnyx's documentation does not say, and
/// existing clients differ, so it is a setting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ByteOrder {
    /// High byte first.
    #[default]
    Big,
    /// Low byte first.
    Little,
}

impl Choice for ByteOrder {
    const ALL: &'static [(&'static str, Self)] = &[("big", Self::Big), ("little", Self::Little)];
}

/// Line options of every call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineChoice {
    /// Codec of the line.
    pub codec: Codec,
    /// Byte order of L16 samples.
    pub order: ByteOrder,
}

impl LineChoice {
    /// Converts audio between the line's format and the byte order of messages, both ways.
    pub fn reorder(self, encoding: Encoding, audio: &mut [u8]) {
        if encoding == Encoding::Linear16 && self.order == ByteOrder::Big {
            for sample in audio.chunks_exact_mut(2) {
                sample.swap(0, 1);
            }
        }
    }
}

/// Converter of received audio into the line's format. If Telnyx cannot transcode, it sends the telephone
/// network's codec and says so only when the stream starts. Our audio stays in the requested codec.
#[derive(Debug)]
pub struct CallerAudio {
    choice: LineChoice,
    from: LineFormat,
    /// Converter; `None` if audio arrives as requested.
    translator: Option<Translator>,
}

impl CallerAudio {
    /// Creates a converter for audio that arrives as requested.
    pub fn as_asked(choice: LineChoice) -> Self {
        Self {
            choice,
            from: choice.codec.format(),
            translator: None,
        }
    }

    /// Creates a converter for audio in `encoding` at `rate` Hz, as Telnyx writes them. Returns `None` if we
    /// cannot decode it.
    pub fn of(choice: LineChoice, encoding: &str, rate: &str) -> Option<Self> {
        let from = match (Codec::named(encoding)?, rate) {
            (codec @ (Codec::Pcmu | Codec::Pcma), "8000") | (codec @ Codec::L16, "16000") => codec.format(),
            (Codec::L16, "8000") => LineFormat {
                encoding: Encoding::Linear16,
                sample_rate: 8_000,
            },
            _ => return None,
        };
        Some(Self {
            choice,
            from,
            translator: Translator::between(from, choice.codec.format()).ok()?,
        })
    }

    /// Returns whether audio arrives as requested.
    pub fn is_as_asked(&self) -> bool {
        self.translator.is_none()
    }

    /// Converts a frame into the line's format.
    pub fn take(&mut self, mut audio: Vec<u8>) -> Vec<u8> {
        self.choice.reorder(self.from.encoding, &mut audio);
        match &mut self.translator {
            Some(translator) => translator.translate(&audio),
            None => audio,
        }
    }
}

#[cfg(test)]
mod tests {
    use media::codec;
    use proptest::prelude::*;

    use super::*;

    const L16_BIG: LineChoice = LineChoice {
        codec: Codec::L16,
        order: ByteOrder::Big,
    };

    fn asked(codec: Codec) -> LineChoice {
        LineChoice {
            codec,
            order: ByteOrder::Big,
        }
    }

    #[test]
    fn names_are_read() {
        for (_, codec) in Codec::ALL.iter().copied() {
            assert_eq!(Codec::named(codec.name()), Some(codec));
            assert_eq!(Codec::named(&codec.name().to_lowercase()), Some(codec));
        }
        assert_eq!((Codec::named("OPUS"), ByteOrder::named("middle")), (None, None));
        assert_eq!(ByteOrder::named("big"), Some(ByteOrder::Big));
        assert_eq!(ByteOrder::named("little"), Some(ByteOrder::Little));
    }

    #[test]
    fn what_comes_as_asked_is_passed_on_as_it_is() {
        for codec in [Codec::Pcmu, Codec::Pcma] {
            let mut heard = CallerAudio::of(asked(codec), codec.name(), "8000").unwrap();
            assert!(heard.is_as_asked());
            assert_eq!(heard.take(vec![1, 2, 3]), [1, 2, 3]);
        }
        let mut heard = CallerAudio::of(L16_BIG, "L16", "16000").unwrap();
        assert_eq!(heard.take(vec![0x12, 0x34, 0x56, 0x78]), [0x34, 0x12, 0x78, 0x56]);
        let little = LineChoice {
            order: ByteOrder::Little,
            ..L16_BIG
        };
        let mut heard = CallerAudio::of(little, "L16", "16000").unwrap();
        assert_eq!(heard.take(vec![0x12, 0x34]), [0x12, 0x34]);
        // Half a sample at the end is not changed.
        assert_eq!(CallerAudio::as_asked(L16_BIG).take(vec![1, 2, 3]), [2, 1, 3]);
    }

    #[test]
    fn a_line_of_another_law_is_translated() {
        let mut heard = CallerAudio::of(asked(Codec::Pcmu), "PCMA", "8000").unwrap();
        assert!(!heard.is_as_asked());
        let (mut alaw, mut mulaw) = (Vec::new(), Vec::new());
        let samples = [-12_000, -500, 0, 500, 12_000];
        codec::encode(Encoding::ALaw, &samples, &mut alaw);
        let mut through = Vec::new();
        codec::decode(Encoding::ALaw, &alaw, &mut through);
        codec::encode(Encoding::MuLaw, &through, &mut mulaw);
        assert_eq!(heard.take(alaw), mulaw);
    }

    #[test]
    fn a_line_of_another_rate_keeps_its_tone_and_its_length() {
        // A tone of 500 Hz at 8 kHz.
        let samples: Vec<i16> = (0..1_600)
            .map(|n| ((f64::from(n) * std::f64::consts::TAU / 16.0).sin() * 8_000.0) as i16)
            .collect();
        let mut mulaw = Vec::new();
        codec::encode(Encoding::MuLaw, &samples, &mut mulaw);
        let mut heard = CallerAudio::of(L16_BIG, "PCMU", "8000").unwrap();
        let mut linear = Vec::new();
        for frame in mulaw.chunks(160) {
            let out = heard.take(frame.to_vec());
            assert_eq!(out.len(), 640);
            codec::decode(Encoding::Linear16, &out, &mut linear);
        }
        let crossings = linear
            .windows(2)
            .filter(|pair| pair[0] < 4_000 && pair[1] >= 4_000)
            .count();
        assert!((98..=101).contains(&crossings), "{crossings}");
    }

    #[test]
    fn what_cannot_be_decoded_is_none() {
        for (encoding, rate) in [
            ("OPUS", "16000"),
            ("G722", "8000"),
            ("PCMU", "16000"),
            ("L16", "24000"),
            ("", ""),
        ] {
            assert!(CallerAudio::of(L16_BIG, encoding, rate).is_none(), "{encoding} {rate}");
        }
    }

    proptest! {
        #[test]
        fn reordering_twice_changes_nothing(audio in proptest::collection::vec(any::<u8>(), 0..99), big in any::<bool>()) {
            let order = if big { ByteOrder::Big } else { ByteOrder::Little };
            let choice = LineChoice { order, ..L16_BIG };
            let mut twice = audio.clone();
            choice.reorder(Encoding::Linear16, &mut twice);
            choice.reorder(Encoding::Linear16, &mut twice);
            prop_assert_eq!(&twice, &audio);
            choice.reorder(Encoding::MuLaw, &mut twice);
            prop_assert_eq!(&twice, &audio);
        }

        #[test]
        fn any_frame_of_any_length_is_taken(
            frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..700), 0..8),
            asked_for in 0..3_usize,
            comes in 0..4_usize,
        ) {
            let (encoding, rate) = [("PCMU", "8000"), ("PCMA", "8000"), ("L16", "16000"), ("L16", "8000")][comes];
            let mut heard = CallerAudio::of(asked(Codec::ALL[asked_for].1), encoding, rate).unwrap();
            for frame in frames {
                heard.take(frame);
            }
        }
    }
}
