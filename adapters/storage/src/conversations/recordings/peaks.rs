//! Peaks of a recording, to draw its waveform.

use std::{
    io::{self, Read},
    path::Path,
};

use hound::WavReader;

/// Bytes per read; whole frames of two 16-bit samples.
const PIECE: usize = 64 * 1024;
/// Bytes of a frame.
const FRAME: usize = 4;

/// The loudest samples of both channels in equal spans of the recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peaks {
    /// Duration of the recording in milliseconds.
    pub duration_ms: u64,
    /// Peaks of the user, 0 to 255.
    pub user: Vec<u8>,
    /// Peaks of the agent, 0 to 255.
    pub agent: Vec<u8>,
}

/// Reads a whole recording, and returns at most `points` peaks of each channel. An hour takes some tenths of a second.
///
/// # Errors
///
/// Returns an error if the file cannot be read or is not a recording.
pub fn peaks(path: &Path, points: u32) -> io::Result<Peaks> {
    let reader = WavReader::open(path).map_err(|error| match error {
        hound::Error::IoError(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidData, other),
    })?;
    let (spec, frames) = (reader.spec(), u64::from(reader.duration()));
    if spec.channels != 2 || spec.bits_per_sample != 16 || spec.sample_rate == 0 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "not a stereo file of 16-bit samples",
        ));
    }
    let mut peaks = Peaks {
        duration_ms: frames * 1_000 / u64::from(spec.sample_rate),
        ..Peaks::default()
    };
    let span = frames.div_ceil(u64::from(points)).max(1);
    let mut data = reader.into_inner().take(frames * FRAME as u64);
    let mut piece = Vec::with_capacity(PIECE);
    let (mut read, mut loudest) = (0, [0_u16; 2]);
    loop {
        piece.clear();
        data.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
        for frame in piece.chunks_exact(FRAME) {
            for (loudest, sample) in loudest.iter_mut().zip(frame.chunks_exact(2)) {
                *loudest = (*loudest).max(i16::from_le_bytes([sample[0], sample[1]]).unsigned_abs());
            }
            read += 1;
            if read % span == 0 {
                peaks.add(std::mem::take(&mut loudest));
            }
        }
        if piece.len() < PIECE {
            break;
        }
    }
    if read % span != 0 {
        peaks.add(loudest);
    }
    Ok(peaks)
}

impl Peaks {
    fn add(&mut self, loudest: [u16; 2]) {
        let [user, agent] = loudest.map(|sample| u8::try_from(sample / 128).unwrap_or(u8::MAX));
        self.user.push(user);
        self.agent.push(agent);
    }
}
