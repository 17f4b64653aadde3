//! The dial journal: each permit once more, in files of this node's own, on disk before its one dial request is sent.
//!
//! A database may forget what it answered: a standby that took over had not yet heard of the last commits, or a backup
//! was put back. What it forgot about permits would be dialed a second time; these files tell
//! (`SqlStore::reconcile_dials`).
//!
//! Nodes may share the folder: then each compares what all dialed. One line of JSON a note, a file an hour, kept for three days. A thread of its own writes; what waits when it begins
//! shares one sync. A line that a crash cut off was never answered for, so nothing was sent on it.

use std::{
    collections::HashSet,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
};

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

/// Microseconds of the time that one file takes in.
const FILE_US: i64 = 3_600 * 1_000_000;
/// How many hours a file is kept. A database that was put back by more than this forgot more than we remember.
const KEPT_HOURS: i64 = 72;
/// Notes that wait to be written; the next permit waits for a place.
const QUEUE: usize = 4_096;
/// Bytes of a line. Longer ones are not ours.
const LONGEST_LINE: usize = 16 * 1024;

/// A permit, with all that is needed to make its row again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DialNote {
    /// The attempt.
    pub attempt: String,
    /// Its claim's epoch at the permit.
    pub epoch: i64,
    /// When the permit was given: microseconds since 1970.
    pub at: i64,
    /// The account.
    pub account: String,
    /// Who dials.
    pub agent: String,
    /// The campaign; none for a single call.
    pub campaign: Option<String>,
    /// The contact's list; none for a single call.
    pub contact_list: Option<i64>,
    /// The contact's place in it.
    pub contact_index: Option<i64>,
    /// Counts from 1 per contact.
    pub attempt_no: i64,
    /// Which follow-up.
    pub follow_up_no: i64,
    /// Which retry of it.
    pub retry_no: i64,
    /// Call-backs the contact was given.
    pub call_backs: i64,
    /// `first`, `retry` …
    pub kind: String,
    /// Who is called.
    pub phone_number: String,
    /// What the addresses of the call are proved by.
    pub dial_token: String,
    /// The carrier.
    pub carrier: String,
    /// The number shown.
    pub caller_id: Option<String>,
}

/// A line of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    Permitted(Box<DialNote>),
    /// The permit was not used: certainly nothing was sent.
    TakenBack {
        attempt: String,
        epoch: i64,
    },
}

struct Entry {
    at: i64,
    line: Line,
    written: Option<oneshot::Sender<io::Result<()>>>,
}

/// The journal. Dropping it ends its thread when all is written.
#[derive(Debug)]
pub struct DialJournal {
    folder: PathBuf,
    queue: mpsc::SyncSender<Entry>,
}

impl DialJournal {
    /// Uses `folder`, which is made where it is missing, for its owner alone.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made.
    pub fn open(folder: PathBuf) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let (queue, waiting) = mpsc::sync_channel(QUEUE);
        let files = Files {
            folder: folder.clone(),
            open: None,
        };
        thread::Builder::new()
            .name("dial journal".to_owned())
            .spawn(move || files.write_all(&waiting))?;
        Ok(Self { folder, queue })
    }

    /// Notes a permit. On disk when it returns.
    ///
    /// # Errors
    ///
    /// When it could not be written: the permit must not be used.
    pub async fn permitted(&self, note: DialNote) -> io::Result<()> {
        let (written, done) = oneshot::channel();
        let entry = Entry {
            at: note.at,
            line: Line::Permitted(Box::new(note)),
            written: Some(written),
        };
        self.queue.try_send(entry).map_err(|error| match error {
            mpsc::TrySendError::Full(_) => io::Error::other("too many permits wait for the dial journal"),
            mpsc::TrySendError::Disconnected(_) => io::Error::other("the dial journal has ended"),
        })?;
        done.await
            .unwrap_or_else(|_| Err(io::Error::other("the dial journal has ended")))
    }

    /// Notes that a permit was not used. Nobody waits for it: what is not written costs a look at the carrier.
    pub fn taken_back(&self, attempt: String, epoch: i64, at: i64) {
        let line = Line::TakenBack { attempt, epoch };
        let written = None;
        let _ = self.queue.try_send(Entry { at, line, written });
    }

    /// The permits of the files, the newest first, each attempt once, without those that were not used.
    ///
    /// # Errors
    ///
    /// When a file cannot be read.
    pub fn newest_first(&self) -> io::Result<impl Iterator<Item = io::Result<DialNote>> + use<>> {
        let mut files = files(&self.folder)?;
        files.sort_unstable_by(|a, b| b.cmp(a));
        let (mut unused, mut seen) = (HashSet::new(), HashSet::new());
        let lines = files.into_iter().flat_map(|(_, path)| match lines(&path) {
            Ok(lines) => lines.into_iter().rev().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        });
        Ok(lines.filter_map(move |line| match line {
            Err(error) => Some(Err(error)),
            Ok(Line::TakenBack { attempt, epoch }) => {
                unused.insert((attempt, epoch));
                None
            }
            Ok(Line::Permitted(note)) => {
                // A later permit of the attempt is read before this one.
                let used = !unused.contains(&(note.attempt.clone(), note.epoch));
                (used && seen.insert(note.attempt.clone())).then_some(Ok(*note))
            }
        }))
    }
}

/// The journal's files with the hour each begins.
fn files(folder: &Path) -> io::Result<Vec<(i64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let hour = path.file_name().and_then(|name| name.to_str()).and_then(hour_of);
        found.extend(hour.map(|hour| (hour, path)));
    }
    Ok(found)
}

fn hour_of(name: &str) -> Option<i64> {
    name.strip_prefix("dials-")?.strip_suffix(".jsonl")?.parse().ok()
}

fn lines(path: &Path) -> io::Result<Vec<Line>> {
    let mut reader = BufReader::new(File::open(path)?);
    let (mut lines, mut text) = (Vec::new(), Vec::new());
    while reader.read_until(b'\n', &mut text)? > 0 {
        // One that a crash cut off has no end, or another one behind it that cannot be read with it.
        if text.ends_with(b"\n") && text.len() <= LONGEST_LINE {
            lines.extend(serde_json::from_slice::<Line>(&text).ok());
        }
        text.clear();
    }
    Ok(lines)
}

/// What the thread has.
struct Files {
    folder: PathBuf,
    /// The file of the present hour.
    open: Option<(i64, File)>,
}

impl Files {
    fn write_all(mut self, waiting: &mpsc::Receiver<Entry>) {
        while let Ok(first) = waiting.recv() {
            let mut group = vec![first];
            group.extend(waiting.try_iter().take(QUEUE));
            let written = self.write(&group);
            if let Err(error) = &written {
                tracing::error!(%error, folder = %self.folder.display(), "the dial journal cannot be written; nothing is dialed");
                // Nobody knows what a file has in it whose sync failed: the next group begins behind it on a line of its
                // own, in a file that is opened anew.
                self.open = None;
            }
            for told in group.into_iter().filter_map(|entry| entry.written) {
                let result = match &written {
                    Ok(()) => Ok(()),
                    Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
                };
                // Whoever asked may have given up.
                let _ = told.send(result);
            }
        }
    }

    fn write(&mut self, group: &[Entry]) -> io::Result<()> {
        let mut text = Vec::new();
        for entry in group {
            serde_json::to_writer(&mut text, &entry.line)?;
            text.push(b'\n');
        }
        let hour = group.iter().map(|entry| entry.at).max().unwrap_or_default() / FILE_US;
        let file = self.file_of(hour)?;
        file.write_all(&text)?;
        file.sync_data()
    }

    fn file_of(&mut self, hour: i64) -> io::Result<&mut File> {
        let file = match self.open.take() {
            Some((open, file)) if open == hour => file,
            _ => self.next(hour)?,
        };
        Ok(&mut self.open.insert((hour, file)).1)
    }

    fn next(&self, hour: i64) -> io::Result<File> {
        let path = self.folder.join(format!("dials-{hour}.jsonl"));
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
        if file.metadata()?.len() > 0 {
            // Ends a line that was cut off.
            file.write_all(b"\n")?;
        }
        // The file's name has to be on disk, too.
        File::open(&self.folder)?.sync_all()?;
        for (old, path) in files(&self.folder)? {
            if old < hour - KEPT_HOURS {
                match fs::remove_file(path) {
                    // Nodes may share the folder.
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(attempt: &str, epoch: i64, hour: i64) -> DialNote {
        DialNote {
            attempt: attempt.to_owned(),
            epoch,
            at: hour * FILE_US,
            account: "a".to_owned(),
            agent: "g".to_owned(),
            campaign: None,
            contact_list: None,
            contact_index: None,
            attempt_no: 1,
            follow_up_no: 0,
            retry_no: 0,
            call_backs: 0,
            kind: "first".to_owned(),
            phone_number: "+15550001".to_owned(),
            dial_token: "t".to_owned(),
            carrier: "simulated".to_owned(),
            caller_id: None,
        }
    }

    fn read(journal: &DialJournal) -> Vec<(String, i64)> {
        let notes = journal.newest_first().unwrap().map(Result::unwrap);
        notes.map(|note| (note.attempt, note.epoch)).collect()
    }

    #[tokio::test]
    async fn permits_are_read_back_newest_first_and_each_attempt_once() {
        let folder = tempfile::tempdir().unwrap();
        let journal = DialJournal::open(folder.path().join("dials")).unwrap();
        for (attempt, epoch, hour) in [("one", 1, 10), ("two", 1, 10), ("three", 1, 11), ("one", 3, 11)] {
            journal.permitted(note(attempt, epoch, hour)).await.unwrap();
        }
        journal.taken_back("three".to_owned(), 1, 11 * FILE_US);
        journal.permitted(note("four", 1, 11)).await.unwrap();
        let expected = [("four", 1), ("one", 3), ("two", 1)].map(|(name, epoch)| (name.to_owned(), epoch));
        assert_eq!(read(&journal), expected);
        // Another process reads the same.
        let again = DialJournal::open(folder.path().join("dials")).unwrap();
        assert_eq!(read(&again), expected);
    }

    #[tokio::test]
    async fn a_line_that_was_cut_off_costs_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let journal = DialJournal::open(folder.path().to_owned()).unwrap();
        journal.permitted(note("one", 1, 10)).await.unwrap();
        drop(journal);
        let path = folder.path().join("dials-10.jsonl");
        let whole = fs::read(&path).unwrap();
        for cut in 1..whole.len() {
            let mut torn = whole.clone();
            torn.extend(&whole[..cut]);
            fs::write(&path, &torn).unwrap();
            let journal = DialJournal::open(folder.path().to_owned()).unwrap();
            journal.permitted(note("two", 1, 10)).await.unwrap();
            let names: Vec<String> = read(&journal).into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, ["two", "one"], "{cut}");
        }
    }

    #[tokio::test]
    async fn old_files_go_and_a_folder_that_is_gone_refuses_permits() {
        let folder = tempfile::tempdir().unwrap();
        let journal = DialJournal::open(folder.path().join("dials")).unwrap();
        for hour in [10, 10 + KEPT_HOURS, 11 + KEPT_HOURS] {
            journal.permitted(note(&hour.to_string(), 1, hour)).await.unwrap();
        }
        let kept: HashSet<i64> = files(&folder.path().join("dials"))
            .unwrap()
            .into_iter()
            .map(|f| f.0)
            .collect();
        assert_eq!(kept, HashSet::from([10 + KEPT_HOURS, 11 + KEPT_HOURS]));
        fs::remove_dir_all(folder.path().join("dials")).unwrap();
        assert!(journal.permitted(note("late", 1, 200)).await.is_err());
        fs::create_dir(folder.path().join("dials")).unwrap();
        journal.permitted(note("later", 1, 200)).await.unwrap();
        assert_eq!(read(&journal), [("later".to_owned(), 1)]);
    }
}
