//! The thread that writes recordings: it carries out orders one after the other, and a broken file never stops it.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use super::{
    paths::{begun_of, part_of},
    recover,
};

/// Counts samples as waiting while it exists.
pub(super) struct Ticket {
    cost: usize,
    counters: [Arc<AtomicUsize>; 2],
}

impl Ticket {
    /// Fixed cost of an order in samples, so that many small orders are limited, too.
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

/// An order for the writer. The number identifies a recording.
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
        /// Dropped once the samples are written.
        ticket: Ticket,
    },
    /// The call is over: give the file its name.
    Finish { number: u64 },
    /// Discard the recording.
    Abandon { number: u64 },
    /// Complete all recordings and stop.
    FinishAll,
}

struct Recording {
    path: PathBuf,
    wav: hound::WavWriter<Disk>,
    /// The same file once more: it is locked until it has its name.
    lock: File,
}

/// A file that is written in larger blocks and read only before anything is written.
struct Disk(BufWriter<File>);

impl Read for Disk {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.get_mut().read(into)
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// Locks a file so that another process starting in the same folder sees that it is in use. This happens
/// before the file gets the name by which that process finds it, and waits for a process that examines the
/// file at this moment. If files cannot be locked, none counts as left behind.
fn held(file: File) -> io::Result<(File, File)> {
    if let Err(error) = file.lock() {
        tracing::debug!(%error, "recording not locked");
    }
    Ok((file.try_clone()?, file))
}

impl Recording {
    fn open(path: PathBuf, sample_rate: u32) -> hound::Result<Self> {
        let spec = hound::WavSpec {
            channels: 2,
            sample_rate,
            bits_per_sample: 16,
            sample_format: hound::SampleFormat::Int,
        };
        // This may be a call whose media connection broke for a while or that another process held. The
        // earlier recording stays, and this one follows it.
        if !path.is_file() {
            recover::take_over(&path)?;
        }
        if path.is_file() {
            return Self::go_on(path, spec);
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let (lock, file) = held(options.open(begun_of(&path))?)?;
        fs::rename(begun_of(&path), part_of(&path))?;
        let wav = hound::WavWriter::new(Disk(BufWriter::new(file)), spec)?;
        Ok(Self { path, wav, lock })
    }

    fn go_on(path: PathBuf, spec: hound::WavSpec) -> hound::Result<Self> {
        if hound::WavReader::open(&path)?.spec() != spec {
            return Err(hound::Error::FormatError("it was begun at another sample rate"));
        }
        let (lock, file) = held(OpenOptions::new().read(true).write(true).open(&path)?)?;
        fs::rename(&path, part_of(&path))?;
        let wav = hound::WavWriter::new_append(Disk(BufWriter::new(file)))?;
        Ok(Self { path, wav, lock })
    }

    fn write(&mut self, interleaved: &[i16]) -> hound::Result<()> {
        interleaved.iter().try_for_each(|&sample| self.wav.write_sample(sample))
    }

    fn finish(self) -> hound::Result<()> {
        self.wav.finalize()?;
        fs::rename(part_of(&self.path), &self.path)?;
        drop(self.lock);
        Ok(())
    }

    fn abandon(self) {
        let part = part_of(&self.path);
        drop(self.wav);
        if let Err(error) = fs::remove_file(&part) {
            tracing::warn!(%error, path = %part.display(), "recording not removed");
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
            } => begin(&mut open, number, &path, sample_rate),
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

fn begin(open: &mut HashMap<u64, Recording>, number: u64, path: &Path, sample_rate: u32) {
    // The first part of a recording may still be open when the second begins.
    let before = open.iter().find(|(_, recording)| recording.path == *path);
    if let Some(before) = before
        .map(|(number, _)| *number)
        .and_then(|number| open.remove(&number))
    {
        finish(before);
    }
    match Recording::open(path.to_owned(), sample_rate) {
        Ok(recording) => {
            open.insert(number, recording);
        }
        Err(error) => tracing::error!(%error, path = %path.display(), "recording cannot be written"),
    }
}

fn write(open: &mut HashMap<u64, Recording>, number: u64, interleaved: &[i16]) {
    let Some(recording) = open.get_mut(&number) else { return };
    if let Err(error) = recording.write(interleaved) {
        tracing::error!(%error, path = %recording.path.display(), "recording given up");
        if let Some(recording) = open.remove(&number) {
            recording.abandon();
        }
    }
}

fn finish(recording: Recording) {
    let path = recording.path.clone();
    if let Err(error) = recording.finish() {
        tracing::error!(%error, path = %path.display(), "recording not completed");
    }
}
