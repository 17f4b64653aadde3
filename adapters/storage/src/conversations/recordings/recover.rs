//! Recovery of recordings that a crash cut off: writes the lengths into their headers and gives them their names.

use std::{
    ffi::OsStr,
    fs::{self, DirEntry, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
    time::Duration,
};

use domain::id::AttemptId;

use super::paths::{file_of, part_of};

/// Size of the header before the samples: `RIFF`, a length, `WAVE`, the format, `data`, a length.
const HEADER: usize = 44;
/// Offsets of the two lengths.
const RIFF_LENGTH: u64 = 4;
const DATA_LENGTH: u64 = 40;
/// Time within which a new recording gets its `.part` name.
const BEGUN_WITHIN: Duration = Duration::from_secs(60);
/// Size of a stereo sample, in bytes.
const FRAME: u64 = 4;

/// Completes all recordings that nobody writes to any more. A file without audio is deleted; a file that
/// cannot be completed is left, with a log line.
pub(super) fn finish_all(dir: &Path) {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) => return tracing::warn!(%error, folder = %dir.display(), "recordings folder cannot be read"),
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if was_just_begun(&name) && is_old(&entry) {
            // Its process died before it wrote anything.
            let _ = fs::remove_file(entry.path());
            continue;
        }
        let attempt = name.to_str().and_then(|name| name.strip_suffix(".wav.part"));
        let Some(attempt) = attempt.and_then(|stem| stem.parse::<AttemptId>().ok()) else {
            continue;
        };
        match finish(dir, attempt) {
            Ok(()) => {}
            Err(error) => tracing::warn!(%attempt, %error, "recording not recovered"),
        }
    }
}

/// Returns whether this is the name that a recording has until it is locked.
fn was_just_begun(name: &OsStr) -> bool {
    let attempt = name.to_str().and_then(|name| name.strip_suffix(".wav.new"));
    attempt.is_some_and(|stem| stem.parse::<AttemptId>().is_ok())
}

fn is_old(entry: &DirEntry) -> bool {
    let written = entry.metadata().and_then(|metadata| metadata.modified()).ok();
    written
        .and_then(|at| at.elapsed().ok())
        .is_some_and(|age| age > BEGUN_WITHIN)
}

/// Completes the file that another process left of the recording that continues at `path`.
///
/// # Errors
///
/// Returns an error if that process still writes it or the disk fails.
pub(super) fn take_over(path: &Path) -> io::Result<()> {
    match part_of(path).is_file() && !finish_at(path)? {
        true => Err(io::Error::other("another process still writes the recording")),
        false => Ok(()),
    }
}

fn finish(dir: &Path, attempt: AttemptId) -> io::Result<()> {
    finish_at(&file_of(dir, attempt)).map(drop)
}

/// Completes one file. Returns false if another process writes it.
fn finish_at(path: &Path) -> io::Result<bool> {
    let part = part_of(path);
    let mut file = OpenOptions::new().read(true).write(true).open(&part)?;
    // Its writer may have completed it since it was opened.
    if file.try_lock().is_err() || !names(&part, &file)? {
        return Ok(false);
    }
    // Its age counts from the last sample, not from now.
    let written = file.metadata()?.modified()?;
    let name = path.file_name().unwrap_or_default().display();
    if path.exists() || !complete(&mut file)? {
        tracing::warn!(%name, "recording without audio removed");
        fs::remove_file(part)?;
        return Ok(true);
    }
    file.set_modified(written)?;
    fs::rename(part, path)?;
    tracing::info!(%name, "recording recovered");
    Ok(true)
}

/// Returns whether a path still names an open file.
#[cfg(unix)]
fn names(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match fs::metadata(path) {
        Ok(named) => Ok(id(named) == id(file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn names(path: &Path, _: &File) -> io::Result<bool> {
    path.try_exists()
}

/// Writes the lengths into the header. Returns false if there is no audio.
fn complete(file: &mut File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let mut header = [0; HEADER];
    let samples = length.saturating_sub(HEADER as u64) / FRAME * FRAME;
    let (Ok(data), Ok(riff)) = (u32::try_from(samples), u32::try_from(samples + HEADER as u64 - 8)) else {
        return Ok(false);
    };
    if data == 0 {
        return Ok(false);
    }
    file.read_exact(&mut header)?;
    if !header.starts_with(b"RIFF") || !header[8..].starts_with(b"WAVEfmt ") || !header[36..].starts_with(b"data") {
        return Ok(false);
    }
    file.set_len(HEADER as u64 + samples)?;
    for (at, number) in [(RIFF_LENGTH, riff), (DATA_LENGTH, data)] {
        file.seek(SeekFrom::Start(at))?;
        file.write_all(&number.to_le_bytes())?;
    }
    file.sync_all()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::{thread, time::SystemTime};

    use domain::ports::recordings::Recordings as _;

    use super::*;
    use crate::conversations::recordings::WavRecordings;

    /// Creates a recording as a crash leaves it: the lengths in its header are not written.
    fn cut_off(dir: &Path, samples: &[i16], more: &[u8]) -> AttemptId {
        let attempt = AttemptId::new();
        let recordings = WavRecordings::new(dir.to_owned()).unwrap();
        recordings.open(attempt, 8_000).unwrap().write(samples.to_vec());
        drop(recordings);
        let path = file_of(dir, attempt);
        let mut bytes = fs::read(&path).unwrap();
        bytes[4..8].fill(0);
        bytes[40..44].fill(0);
        bytes.extend_from_slice(more);
        fs::remove_file(&path).unwrap();
        fs::write(part_of(&path), bytes).unwrap();
        attempt
    }

    #[test]
    fn a_call_that_another_process_held_is_recorded_on_behind_what_that_left() {
        let dir = tempfile::tempdir().unwrap();
        let heir = WavRecordings::new(dir.path().to_owned()).unwrap();
        let attempt = cut_off(dir.path(), &[1, -1, 2, -2], &[7, 7, 7]);
        heir.open(attempt, 8_000).unwrap().write(vec![3, -3]);
        drop(heir);
        let mut reader = hound::WavReader::open(file_of(dir.path(), attempt)).unwrap();
        let samples: Vec<i16> = reader.samples::<i16>().map(Result::unwrap).collect();
        assert_eq!(samples, [1, -1, 2, -2, 3, -3]);
    }

    #[test]
    fn what_another_process_writes_is_not_gone_on_with() {
        let dir = tempfile::tempdir().unwrap();
        let heir = WavRecordings::new(dir.path().to_owned()).unwrap();
        let held = cut_off(dir.path(), &[1, -1], &[]);
        let part = File::open(part_of(&file_of(dir.path(), held))).unwrap();
        part.lock().unwrap();
        heir.open(held, 8_000).unwrap().write(vec![3, -3]);
        drop(heir);
        let left = fs::metadata(part_of(&file_of(dir.path(), held))).unwrap().len();
        assert_eq!(left, HEADER as u64 + 4, "what another process writes is left to it");
    }

    #[test]
    fn what_a_crash_cut_off_can_be_played_after_the_next_start() {
        let dir = tempfile::tempdir().unwrap();
        let attempt = cut_off(dir.path(), &[1, -1, 2, -2], &[7, 7, 7]);
        let path = file_of(dir.path(), attempt);
        let then = SystemTime::now() - Duration::from_secs(86_400);
        let part = OpenOptions::new().write(true).open(part_of(&path)).unwrap();
        part.set_modified(then).unwrap();
        drop((part, WavRecordings::new(dir.path().to_owned()).unwrap()));
        let mut reader = hound::WavReader::open(&path).unwrap();
        let samples: Vec<i16> = reader.samples::<i16>().map(Result::unwrap).collect();
        assert_eq!(samples, [1, -1, 2, -2]);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), then);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no part is left");
    }

    #[test]
    fn what_cannot_be_played_is_removed_and_other_files_stay() {
        let dir = tempfile::tempdir().unwrap();
        let empty = part_of(&file_of(dir.path(), AttemptId::new()));
        let noise = part_of(&file_of(dir.path(), AttemptId::new()));
        let silent = cut_off(dir.path(), &[], &[]);
        fs::write(&empty, "").unwrap();
        fs::write(&noise, [9; 100]).unwrap();
        let others = dir.path().join("notes.wav.part");
        fs::write(&others, "mine").unwrap();
        drop(WavRecordings::new(dir.path().to_owned()).unwrap());
        assert!(!empty.exists() && !noise.exists() && others.exists());
        assert!(!part_of(&file_of(dir.path(), silent)).exists());
    }

    #[test]
    fn what_another_process_writes_is_left_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let attempt = cut_off(dir.path(), &[1, -1], &[]);
        let part = part_of(&file_of(dir.path(), attempt));
        let writes = File::open(&part).unwrap();
        writes.lock().unwrap();
        drop(WavRecordings::new(dir.path().to_owned()).unwrap());
        assert!(part.exists());
        drop(writes);
        drop(WavRecordings::new(dir.path().to_owned()).unwrap());
        assert!(!part.exists() && file_of(dir.path(), attempt).exists());
    }

    #[test]
    fn a_recording_is_locked_before_a_process_that_starts_can_find_it() {
        let dir = tempfile::tempdir().unwrap();
        let recordings = WavRecordings::new(dir.path().to_owned()).unwrap();
        let attempts: Vec<AttemptId> = (0..2_000).map(|_| AttemptId::new()).collect();
        thread::scope(|scope| {
            let writing = scope.spawn(|| {
                for attempt in &attempts {
                    // The media connection breaks for a while and comes back.
                    for _ in 0..2 {
                        recordings.open(*attempt, 8_000).unwrap().write(vec![1, -1]);
                    }
                }
                drop(recordings);
            });
            while !writing.is_finished() {
                finish_all(dir.path());
            }
        });
        let whole = attempts
            .iter()
            .filter_map(|attempt| hound::WavReader::open(file_of(dir.path(), *attempt)).ok())
            .filter(|recording| recording.duration() == 2);
        assert_eq!(whole.count(), attempts.len());
    }
}
