//! Recordings as WAV files in a folder: `<attempt>.wav`, written as `<attempt>.wav.part` until the call is
//! over. Files that a crash left unfinished are completed at the next start.
//!
//! One thread writes all files; a call only hands its samples over. The backlog is limited per recording and
//! in total, so a disk that cannot keep up costs recordings, never a call.

mod paths;
pub mod peaks;
mod recover;
mod writer;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::SystemTime,
};

use domain::{
    id::AttemptId,
    ports::recordings::{RecordingSink, Recordings},
};
pub use paths::file_of;
use paths::part_of;
use writer::{Order, Ticket};

/// Most samples of one recording that may wait for the disk: a minute of stereo at 8 kHz.
const WAITING_PER_RECORDING: usize = 60 * 2 * 8_000;
/// Most samples of all recordings that may wait: 64 MiB.
const WAITING_IN_ALL: usize = 32 << 20;

/// Keeps recordings in a folder. Dropping it completes every open file.
pub struct WavRecordings {
    dir: PathBuf,
    orders: mpsc::Sender<Order>,
    next: AtomicU64,
    waiting: Arc<AtomicUsize>,
    writer: Option<thread::JoinHandle<()>>,
}

impl WavRecordings {
    /// Creates the folder if it is missing, and starts the writer thread. The thread first completes files
    /// that a crash left unfinished.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be created or the thread cannot be started.
    pub fn new(dir: PathBuf) -> io::Result<Self> {
        std::fs::create_dir_all(&dir)
            .map_err(|error| io::Error::new(error.kind(), format!("recordings folder {}: {error}", dir.display())))?;
        let (orders, incoming) = mpsc::channel();
        let left = dir.clone();
        let writer = thread::Builder::new().name("recordings".into()).spawn(move || {
            recover::finish_all(&left);
            writer::run(&incoming);
        })?;
        Ok(Self {
            dir,
            orders,
            next: AtomicU64::new(0),
            waiting: Arc::default(),
            writer: Some(writer),
        })
    }

    /// Returns the path of the completed recording of an attempt, if there is one.
    pub fn path_of(&self, attempt: AttemptId) -> Option<PathBuf> {
        let path = file_of(&self.dir, attempt);
        path.is_file().then_some(path)
    }
}

/// Deletes the recording of a call that is over, if there is one, even if a crash left it unfinished.
///
/// # Errors
///
/// Returns an error if the recording exists and cannot be deleted.
pub fn erase(dir: &Path, attempt: AttemptId) -> io::Result<()> {
    let path = file_of(dir, attempt);
    // Delete the unfinished file first, because it may get its final name meanwhile.
    for file in [part_of(&path), path] {
        match std::fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Deletes recordings that were last written to before an instant, including unfinished ones that a crash
/// left behind. Returns their number. Other files are not touched.
///
/// # Errors
///
/// Returns an error if the folder cannot be read or a file cannot be deleted.
pub fn erase_older(dir: &Path, before: SystemTime) -> io::Result<usize> {
    let mut erased = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let stem = name.strip_suffix(".wav").or_else(|| name.strip_suffix(".wav.part"));
        let is_recording = stem.is_some_and(|stem| stem.parse::<AttemptId>().is_ok());
        if !is_recording {
            continue;
        }
        let removed = match entry.metadata().and_then(|file| file.modified()) {
            Ok(written) if written < before => std::fs::remove_file(entry.path()),
            Ok(_) => continue,
            Err(error) => Err(error),
        };
        match removed {
            Ok(()) => erased += 1,
            // Another node that shares the folder deleted it, or the call has just ended.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(erased)
}

impl Recordings for WavRecordings {
    fn open(&self, attempt: AttemptId, sample_rate: u32) -> Option<Box<dyn RecordingSink>> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let order = Order::Open {
            number,
            path: file_of(&self.dir, attempt),
            sample_rate,
        };
        if self.orders.send(order).is_err() {
            tracing::error!(%attempt, "recording not started: writer ended");
            return None;
        }
        Some(Box::new(WavSink {
            attempt,
            number,
            orders: self.orders.clone(),
            waiting: Arc::default(),
            waiting_in_all: self.waiting.clone(),
            given_up: false,
        }))
    }
}

impl Drop for WavRecordings {
    fn drop(&mut self) {
        // This order comes after everything handed over so far; sinks that are still alive find the channel closed.
        let _ = self.orders.send(Order::FinishAll);
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("recordings writer panicked");
        }
    }
}

/// One call's recording.
struct WavSink {
    attempt: AttemptId,
    number: u64,
    orders: mpsc::Sender<Order>,
    waiting: Arc<AtomicUsize>,
    waiting_in_all: Arc<AtomicUsize>,
    given_up: bool,
}

impl WavSink {
    fn give_up(&mut self, why: &str) {
        tracing::error!(attempt = %self.attempt, why, "recording given up");
        self.given_up = true;
        let _ = self.orders.send(Order::Abandon { number: self.number });
    }
}

impl RecordingSink for WavSink {
    fn write(&mut self, interleaved: Vec<i16>) {
        if self.given_up || interleaved.is_empty() {
            return;
        }
        let ticket = Ticket::new(interleaved.len(), [&self.waiting, &self.waiting_in_all]);
        if self.waiting.load(Ordering::Relaxed) > WAITING_PER_RECORDING
            || self.waiting_in_all.load(Ordering::Relaxed) > WAITING_IN_ALL
        {
            self.give_up("the disk is too slow; put recordings on a faster one");
            return;
        }
        let order = Order::Write {
            number: self.number,
            interleaved,
            ticket,
        };
        if self.orders.send(order).is_err() {
            self.give_up("the writer has ended");
        }
    }
}

impl Drop for WavSink {
    fn drop(&mut self) {
        if !self.given_up {
            let _ = self.orders.send(Order::Finish { number: self.number });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, WavRecordings) {
        let dir = tempfile::tempdir().unwrap();
        let recordings = WavRecordings::new(dir.path().join("kept/here")).unwrap();
        (dir, recordings)
    }

    #[test]
    fn a_recording_is_there_under_its_name_when_its_sink_is_gone() {
        let (_dir, recordings) = folder();
        let attempt = AttemptId::new();
        let mut sink = recordings.open(attempt, 8_000).unwrap();
        sink.write(vec![1, -1, 2, -2]);
        sink.write(Vec::new());
        sink.write(vec![3, -3]);
        assert_eq!(recordings.path_of(attempt), None, "not before it is complete");
        drop(sink);
        let dir = recordings.dir.clone();
        drop(recordings);
        let mut reader = hound::WavReader::open(dir.join(format!("{attempt}.wav"))).unwrap();
        assert_eq!(
            (
                reader.spec().channels,
                reader.spec().sample_rate,
                reader.spec().bits_per_sample
            ),
            (2, 8_000, 16)
        );
        let samples: Vec<i16> = reader.samples::<i16>().map(Result::unwrap).collect();
        assert_eq!(samples, [1, -1, 2, -2, 3, -3]);
        assert_eq!(std::fs::read_dir(dir).unwrap().count(), 1, "no part is left");
    }

    #[test]
    fn a_recording_that_is_begun_again_goes_on_in_the_same_file() {
        for finished in [true, false] {
            let (_dir, recordings) = folder();
            let attempt = AttemptId::new();
            let mut first = recordings.open(attempt, 8_000).unwrap();
            first.write((0..20_000).collect());
            let kept = finished.then(|| drop(first));
            let mut second = recordings.open(attempt, 8_000).unwrap();
            second.write(vec![-1, -2]);
            drop((kept, second));
            let other_rate = recordings.open(attempt, 16_000).map(|mut sink| sink.write(vec![9; 2]));
            let dir = recordings.dir.clone();
            drop((other_rate, recordings));
            let mut reader = hound::WavReader::open(file_of(&dir, attempt)).unwrap();
            let samples: Vec<i16> = reader.samples::<i16>().map(Result::unwrap).collect();
            assert!(
                samples.iter().copied().eq((0..20_000).chain([-1, -2])),
                "{}",
                samples.len()
            );
            assert_eq!(std::fs::read_dir(dir).unwrap().count(), 1, "no part is left");
        }
    }

    #[test]
    fn erasing_a_recording_removes_one_that_a_crash_cut_off_too() {
        let dir = tempfile::tempdir().unwrap();
        let attempt = AttemptId::new();
        for files in [vec![".wav"], vec![".wav.part"], vec![".wav", ".wav.part"], vec![]] {
            for ending in files {
                std::fs::write(dir.path().join(format!("{attempt}{ending}")), "voice").unwrap();
            }
            erase(dir.path(), attempt).unwrap();
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn recordings_of_a_certain_age_are_erased_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (AttemptId::new(), AttemptId::new());
        let names = [
            format!("{old}.wav"),
            format!("{old}.wav.part"),
            format!("{new}.wav"),
            "notes.wav".into(),
        ];
        let now = SystemTime::now();
        for name in &names {
            let file = std::fs::File::create(dir.path().join(name)).unwrap();
            if !name.starts_with(&new.to_string()) {
                file.set_modified(now - std::time::Duration::from_secs(100)).unwrap();
            }
        }
        let before = now - std::time::Duration::from_secs(50);
        assert_eq!(erase_older(dir.path(), before).unwrap(), 2);
        let left = names.iter().filter(|name| dir.path().join(name).exists());
        assert_eq!(left.collect::<Vec<_>>(), [&names[2], &names[3]]);
        assert_eq!(erase_older(dir.path(), before).unwrap(), 0);
    }

    #[test]
    fn dropping_the_adapter_finishes_what_is_open() {
        let (_dir, recordings) = folder();
        let dir = recordings.dir.clone();
        let attempts: Vec<AttemptId> = (0..20).map(|_| AttemptId::new()).collect();
        let mut sinks: Vec<_> = attempts
            .iter()
            .map(|&id| recordings.open(id, 16_000).unwrap())
            .collect();
        for (n, sink) in (0..).zip(&mut sinks) {
            sink.write(vec![n; 2_000]);
        }
        drop(recordings);
        for sink in &mut sinks {
            sink.write(vec![0; 2]);
        }
        for (n, attempt) in (0..).zip(attempts) {
            let mut reader = hound::WavReader::open(dir.join(format!("{attempt}.wav"))).unwrap();
            assert!(reader.samples::<i16>().map(Result::unwrap).eq([n; 2_000]));
        }
    }

    #[test]
    fn a_recording_that_cannot_be_written_leaves_nothing_behind() {
        let (_dir, recordings) = folder();
        let attempt = AttemptId::new();
        let dir = recordings.dir.clone();
        std::fs::create_dir(dir.join(format!("{attempt}.wav.part"))).unwrap();
        let mut sink = recordings.open(attempt, 8_000).unwrap();
        sink.write(vec![0; 100]);
        drop(sink);
        let other = AttemptId::new();
        drop(recordings.open(other, 8_000));
        drop(recordings);
        assert!(!dir.join(format!("{attempt}.wav")).exists());
        assert!(dir.join(format!("{other}.wav")).exists(), "others are not harmed");
    }

    #[test]
    fn a_disk_that_does_not_keep_up_costs_the_recording_and_nothing_else() {
        // A channel that nobody reads stands for the slow disk.
        let (orders, incoming) = mpsc::channel();
        let all = Arc::new(AtomicUsize::new(0));
        let mut sink = WavSink {
            attempt: AttemptId::new(),
            number: 7,
            orders,
            waiting: Arc::default(),
            waiting_in_all: all.clone(),
            given_up: false,
        };
        for _ in 0..1_000 {
            sink.write(vec![0; 10_000]);
        }
        drop(sink);
        let orders: Vec<Order> = incoming.iter().collect();
        assert!(orders.len() < 100 && matches!(orders.last(), Some(Order::Abandon { number: 7 })));
        drop(orders);
        assert_eq!(all.load(Ordering::Relaxed), 0, "what waited is given back");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_read_a_recording() {
        use std::os::unix::fs::PermissionsExt as _;

        let (_dir, recordings) = folder();
        let attempt = AttemptId::new();
        drop(recordings.open(attempt, 8_000));
        let path = file_of(&recordings.dir, attempt);
        drop(recordings);
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
