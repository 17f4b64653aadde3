//! AudioSocket's frames: a type, a length and a payload. Pure.
//!
//! Source: `include/asterisk/res_audiosocket.h` and `res/res_audiosocket.c` of Asterisk.

use uuid::Uuid;

/// Bytes before the payload: the type, and the length with the high byte first.
const HEADER: usize = 3;
const HANG_UP: u8 = 0x00;
const UUID: u8 = 0x01;
const DTMF: u8 = 0x03;
/// Linear 16-bit at 8 kHz, low byte first.
const SLIN: u8 = 0x10;
/// Linear at other rates, up to 192 kHz.
const OTHER_AUDIO: std::ops::RangeInclusive<u8> = 0x11..=0x18;
const ERROR: u8 = 0xff;

/// A frame from Asterisk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The call is over.
    HangUp,
    /// UUID of the connection; the first frame.
    Uuid(Uuid),
    /// A key that the other side pressed.
    Digit(char),
    /// Linear 16-bit at 8 kHz, low byte first.
    Audio(Vec<u8>),
    /// An error at Asterisk, by its own number.
    Error(u8),
    /// A frame of an unknown type; contains the type.
    Unknown(u8),
}

/// A malformed AudioSocket frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum FrameError {
    #[error("UUID has {0} bytes instead of 16")]
    Uuid(usize),
    #[error("key has {0} bytes instead of 1")]
    Digit(usize),
    #[error("audio has {0} bytes, which is not a whole number of 16-bit samples")]
    Audio(usize),
    #[error("audio of type {0:#04x}; only 8 kHz (0x10) is accepted")]
    Rate(u8),
}

/// Decoder that splits a byte stream into frames. Holds one frame at most: 65,538 bytes.
#[derive(Debug, Default)]
pub struct Decoder {
    waiting: Vec<u8>,
}

impl Decoder {
    /// Adds received bytes. All frames must have been taken before.
    pub fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// Takes the next complete frame.
    pub fn take(&mut self) -> Result<Option<Frame>, FrameError> {
        let &[kind, high, low, ..] = &*self.waiting else {
            return Ok(None);
        };
        let whole = HEADER + usize::from(u16::from_be_bytes([high, low]));
        if self.waiting.len() < whole {
            return Ok(None);
        }
        let frame = read(kind, &self.waiting[HEADER..whole]);
        self.waiting.drain(..whole);
        frame.map(Some)
    }
}

fn read(kind: u8, payload: &[u8]) -> Result<Frame, FrameError> {
    let length = payload.len();
    Ok(match kind {
        HANG_UP => Frame::HangUp,
        UUID => Frame::Uuid(Uuid::from_slice(payload).map_err(|_| FrameError::Uuid(length))?),
        DTMF => match *payload {
            [key] => Frame::Digit(char::from(key)),
            _ => return Err(FrameError::Digit(length)),
        },
        SLIN if length.is_multiple_of(2) => Frame::Audio(payload.to_vec()),
        SLIN => return Err(FrameError::Audio(length)),
        kind if OTHER_AUDIO.contains(&kind) => return Err(FrameError::Rate(kind)),
        ERROR => Frame::Error(payload.first().copied().unwrap_or_default()),
        kind => Frame::Unknown(kind),
    })
}

/// Appends an audio frame for Asterisk. Audio beyond 65,535 bytes is cut off.
pub fn audio(samples: &[u8], into: &mut Vec<u8>) {
    let length = u16::try_from(samples.len()).unwrap_or(u16::MAX);
    into.push(SLIN);
    into.extend_from_slice(&length.to_be_bytes());
    into.extend_from_slice(&samples[..usize::from(length)]);
}

/// Frame that ends a connection.
pub const GOODBYE: [u8; HEADER] = [HANG_UP, 0, 0];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(bytes: &[u8]) -> Result<Vec<Frame>, FrameError> {
        let mut decoder = Decoder::default();
        decoder.push(bytes);
        let mut frames = Vec::new();
        while let Some(frame) = decoder.take()? {
            frames.push(frame);
        }
        Ok(frames)
    }

    #[test]
    fn every_type_is_read() {
        let id = Uuid::from_u128(0x4032_5ec2_5efd_4bd3_805f_5357_6e58_1d13);
        let mut bytes = vec![1, 0, 16];
        bytes.extend_from_slice(id.as_bytes());
        bytes.extend_from_slice(&[
            3, 0, 1, b'5', 0x10, 0, 4, 1, 2, 3, 4, 0xff, 0, 1, 4, 0xff, 0, 0, 0x42, 0, 2, 9, 9, 0, 0, 0,
        ]);
        let frames = [
            Frame::Uuid(id),
            Frame::Digit('5'),
            Frame::Audio(vec![1, 2, 3, 4]),
            Frame::Error(4),
            Frame::Error(0),
            Frame::Unknown(0x42),
            Frame::HangUp,
        ];
        assert_eq!(decoded(&bytes).unwrap(), frames);
    }

    #[test]
    fn what_is_no_frame_is_an_error() {
        assert_eq!(decoded(&[1, 0, 2, 0, 0]), Err(FrameError::Uuid(2)));
        assert_eq!(decoded(&[3, 0, 0]), Err(FrameError::Digit(0)));
        assert_eq!(decoded(&[0x10, 0, 1, 7]), Err(FrameError::Audio(1)));
        assert_eq!(decoded(&[0x12, 0, 0]), Err(FrameError::Rate(0x12)));
    }

    #[test]
    fn our_frames_have_their_length_in_front() {
        let mut bytes = Vec::new();
        audio(&[7; 320], &mut bytes);
        assert_eq!((bytes.len(), &bytes[..4]), (323, &[0x10, 0x01, 0x40, 7][..]));
        assert_eq!(decoded(&bytes).unwrap(), [Frame::Audio(vec![7; 320])]);
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic_and_pieces_change_nothing(
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
            cuts in proptest::collection::vec(0..400_usize, 0..6),
        ) {
            let whole = decoded(&bytes);
            let mut decoder = Decoder::default();
            let mut frames = Ok(Vec::new());
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            'pieces: for pair in cuts.windows(2) {
                decoder.push(&bytes[pair[0]..pair[1]]);
                loop {
                    match decoder.take() {
                        Ok(Some(frame)) => frames.as_mut().map(|all: &mut Vec<_>| all.push(frame)).unwrap(),
                        Ok(None) => break,
                        Err(error) => { frames = Err(error); break 'pieces }
                    }
                }
            }
            prop_assert_eq!(frames, whole);
        }
    }
}
