//! The thread that writes recordings: takes orders one after the other and never stops for a broken file.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::BufWriter,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

/// Counts samples as waiting for as long as it lives.
pub(super) struct Ticket {
    cost: usize,
    counters: [Arc<AtomicUsize>; 2],
}

impl Ticket {
    /// What an order costs besides its samples, so that many small ones are bounded, too.
    const OVERHEAD: usize = 64;

    pub(super) fn new(samples: usize, counters: [&Arc<AtomicUsize>; 2]) -> Self {
        let cost = samples + Self::OVERHEAD;
        for counter in counters {
            counter.fetch_add(cost, Ordering::Relaxed);
        }
        Self {
            cost,
            counters: counters.map(Arc::clone),
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        for counter in &self.counters {
            counter.fetch_sub(self.cost, Ordering::Relaxed);
        }
    }
}

/// What is to be done. A number stands for one recording.
pub(super) enum Order {
    /// Begin the recording that will be at `path`.
    Open {
        number: u64,
        path: PathBuf,
        sample_rate: u32,
    },
    /// Append samples.
    Write {
        number: u64,
        interleaved: Vec<i16>,
        /// Given back once written.
        ticket: Ticket,
    },
    /// The call is over: give the file its name.
    Finish { number: u64 },
    /// Throw the recording away.
    Abandon { number: u64 },
    /// Finish all and end.
    FinishAll,
}

struct Recording {
    path: PathBuf,
    wav: hound::WavWriter<BufWriter<File>>,
}

/// Where a recording is until it is complete.
fn part_of(path: &Path) -> PathBuf {
    path.with_added_extension("part")
}

impl Recording {
    fn open(path: PathBuf, sample_rate: u32) -> hound::Result<Self> {
        let spec = hound::WavSpec {
            channels: 2,
            sample_rate,
            bits_per_sample: 16,
            sample_format: hound::SampleFormat::Int,
        };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(part_of(&path))?;
        let wav = hound::WavWriter::new(BufWriter::new(file), spec)?;
        Ok(Self { path, wav })
    }

    fn write(&mut self, interleaved: &[i16]) -> hound::Result<()> {
        interleaved.iter().try_for_each(|&sample| self.wav.write_sample(sample))
    }

    fn finish(self) -> hound::Result<()> {
        self.wav.finalize()?;
        Ok(fs::rename(part_of(&self.path), &self.path)?)
    }

    fn abandon(self) {
        let part = part_of(&self.path);
        drop(self.wav);
        if let Err(error) = fs::remove_file(&part) {
            tracing::warn!("could not remove {}: {error}", part.display());
        }
    }
}

/// Carries out orders until the last sender is gone or [`Order::FinishAll`] comes.
pub(super) fn run(orders: &mpsc::Receiver<Order>) {
    let mut open = HashMap::new();
    for order in orders {
        match order {
            Order::Open {
                number,
                path,
                sample_rate,
            } => match Recording::open(path.clone(), sample_rate) {
                Ok(recording) => {
                    open.insert(number, recording);
                }
                Err(error) => tracing::error!("recording {} cannot be written: {error}", path.display()),
            },
            Order::Write {
                number,
                interleaved,
                ticket,
            } => {
                write(&mut open, number, &interleaved);
                drop(ticket);
            }
            Order::Finish { number } => {
                if let Some(recording) = open.remove(&number) {
                    finish(recording);
                }
            }
            Order::Abandon { number } => {
                if let Some(recording) = open.remove(&number) {
                    recording.abandon();
                }
            }
            Order::FinishAll => break,
        }
    }
    open.into_values().for_each(finish);
}

fn write(open: &mut HashMap<u64, Recording>, number: u64, interleaved: &[i16]) {
    let Some(recording) = open.get_mut(&number) else { return };
    if let Err(error) = recording.write(interleaved) {
        tracing::error!("recording {} given up: {error}", recording.path.display());
        if let Some(recording) = open.remove(&number) {
            recording.abandon();
        }
    }
}

fn finish(recording: Recording) {
    let path = recording.path.clone();
    if let Err(error) = recording.finish() {
        tracing::error!("recording {} could not be finished: {error}", path.display());
    }
}
