//! The dial journal: a second record of each permit, in this node's own files, on disk before its dial request is sent.
//!
//! A database may lose commits that it acknowledged: a standby took over before it received the last ones, or
//! a backup was restored. Attempts whose permits are lost would be dialed a second time. These files reveal
//! them (`SqlStore::reconcile_dials`).
//!
//! The format is one line of JSON per note and one file per hour, kept for three days. Nodes may share the
//! folder: each writes its own files and compares the dials of all. A separate thread writes; all notes that
//! wait when it begins share one sync. A line that a crash cut off was never acknowledged, so nothing was
//! sent on it.

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use uuid::Uuid;

/// Time span of one file, in microseconds.
const FILE_US: i64 = 3_600 * 1_000_000;
/// Hours that a file is kept. A database restored to an earlier time than that has lost more than the journal holds.
const KEPT_HOURS: i64 = 72;
/// Most notes that wait to be written; a further one is rejected together with its permit.
const QUEUE: usize = 4_096;
/// Name of the file with the commit history that the notes belong to.
const HISTORY: &str = "lineage";
/// Longest line, in bytes. Longer lines are not ours.
const LONGEST_LINE: usize = 16 * 1024;

/// A permit, with everything needed to recreate its row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DialNote {
    /// Id of the attempt.
    pub attempt: String,
    /// Node that held the attempt; none in notes of older versions.
    pub owner: Option<String>,
    /// Epoch of the claim at the permit.
    pub epoch: i64,
    /// Time of the permit, in microseconds since 1970.
    pub at: i64,
    /// Id of the account.
    pub account: String,
    /// Id of the agent that calls.
    pub agent: String,
    /// Id of the campaign; none for a single call.
    pub campaign: Option<String>,
    /// Id of the contact's list; none for a single call.
    pub contact_list: Option<i64>,
    /// Index of the contact in its list; none for a single call.
    pub contact_index: Option<i64>,
    /// Number of the attempt, counted from 1 per contact.
    pub attempt_no: i64,
    /// Number of the follow-up.
    pub follow_up_no: i64,
    /// Number of the retry within the follow-up.
    pub retry_no: i64,
    /// Number of call-backs the contact was given.
    pub call_backs: i64,
    /// Kind of the attempt: `first`, `retry` …
    pub kind: String,
    /// Number that is called.
    pub phone_number: String,
    /// Token that the proofs in the call's URLs are made from.
    pub dial_token: String,
    /// Name of the carrier.
    pub carrier: String,
    /// Caller ID that is shown, if any.
    pub caller_id: Option<String>,
}

/// A line of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    Permitted(Box<DialNote>),
    /// The permit was not used; certainly nothing was sent.
    TakenBack {
        attempt: String,
        epoch: i64,
        at: i64,
    },
}

impl Line {
    fn at(&self) -> i64 {
        match self {
            Self::Permitted(note) => note.at,
            Self::TakenBack { at, .. } => *at,
        }
    }
}

struct Entry {
    line: Line,
    written: Option<oneshot::Sender<io::Result<()>>>,
}

/// The journal. When it is dropped, its thread ends after writing everything.
#[derive(Debug)]
pub struct DialJournal {
    folder: PathBuf,
    queue: mpsc::SyncSender<Entry>,
    /// Whether the last note could not be written.
    failing: Arc<AtomicBool>,
}

impl DialJournal {
    /// Opens the journal in `folder`. A missing folder is created with access for its owner only.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be created.
    pub fn open(folder: PathBuf) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let (queue, waiting) = mpsc::sync_channel(QUEUE);
        let failing = Arc::new(AtomicBool::new(false));
        let files = Files {
            folder: folder.clone(),
            writer: Uuid::new_v4(),
            open: None,
            failing: Arc::clone(&failing),
        };
        thread::Builder::new()
            .name("dial journal".to_owned())
            .spawn(move || files.write_all(&waiting))?;
        Ok(Self { folder, queue, failing })
    }

    /// Notes a permit. The note is on disk when this returns.
    ///
    /// # Errors
    ///
    /// Returns an error if the note could not be written; then the permit must not be used.
    pub async fn permitted(&self, note: DialNote) -> io::Result<()> {
        let (written, done) = oneshot::channel();
        let entry = Entry {
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

    /// Notes that a permit was not used. If the note cannot be written, the only cost is a lookup at the carrier.
    pub async fn taken_back(&self, attempt: String, epoch: i64, at: i64) {
        let line = Line::TakenBack { attempt, epoch, at };
        let (written, done) = oneshot::channel();
        let written = Some(written);
        if self.queue.try_send(Entry { line, written }).is_ok() {
            let _ = done.await;
        }
    }

    /// Returns the database's history as the last process stored it; none at the first start.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn history(&self) -> io::Result<Option<String>> {
        match fs::read_to_string(self.folder.join(HISTORY)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    /// Stores the database's history.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn keep_history(&self, history: &str) -> io::Result<()> {
        let new = self.folder.join(format!("{HISTORY}.{}", Uuid::new_v4()));
        fs::write(&new, history)?;
        fs::rename(new, self.folder.join(HISTORY))
    }

    /// Returns whether the last note could not be written, so that nothing is dialed.
    pub fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// Deletes the files that are older than three days at `now`, in microseconds since 1970.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be read or a file cannot be deleted.
    pub fn forget_old(&self, now: i64) -> io::Result<()> {
        for (hour, path) in files(&self.folder)? {
            if hour < now / FILE_US - KEPT_HOURS {
                match fs::remove_file(path) {
                    // Another node deleted it.
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Returns the permits in the files, the newest first, one per attempt, without unused permits.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be read.
    pub fn newest_first(&self) -> io::Result<impl Iterator<Item = io::Result<DialNote>> + use<>> {
        let mut hours: BTreeMap<i64, Vec<PathBuf>> = BTreeMap::new();
        for (hour, path) in files(&self.folder)? {
            hours.entry(hour).or_default().push(path);
        }
        let (mut unused, mut seen) = (HashSet::new(), HashSet::new());
        let lines = hours.into_values().rev().flat_map(|paths| match lines_of(&paths) {
            Ok(lines) => lines.into_iter().rev().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        });
        Ok(lines.filter_map(move |line| match line {
            Err(error) => Some(Err(error)),
            Ok(Line::TakenBack { attempt, epoch, .. }) => {
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

/// Returns the journal's files, each with its hour.
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
    let (hour, _) = name.strip_prefix("dials-")?.strip_suffix(".jsonl")?.split_once('-')?;
    hour.parse().ok()
}

/// Returns the lines of an hour's files, the oldest first.
fn lines_of(paths: &[PathBuf]) -> io::Result<Vec<Line>> {
    let mut all = Vec::new();
    for path in paths {
        match lines(path) {
            // The file was too old and was deleted meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            lines => all.extend(lines?),
        }
    }
    all.sort_by_key(Line::at);
    Ok(all)
}

fn lines(path: &Path) -> io::Result<Vec<Line>> {
    let mut reader = BufReader::new(File::open(path)?);
    let (mut lines, mut text) = (Vec::new(), Vec::new());
    while reader.read_until(b'\n', &mut text)? > 0 {
        // A line that a crash cut off has no end, or runs into the next one and makes both unreadable.
        if text.ends_with(b"\n") && text.len() <= LONGEST_LINE {
            lines.extend(serde_json::from_slice::<Line>(&text).ok());
        }
        text.clear();
    }
    Ok(lines)
}

/// State of the writer thread.
struct Files {
    folder: PathBuf,
    /// Part of its files' names, so that nobody else writes to them.
    writer: Uuid,
    /// File of the present hour.
    open: Option<(i64, File)>,
    failing: Arc<AtomicBool>,
}

impl Files {
    fn write_all(mut self, waiting: &mpsc::Receiver<Entry>) {
        while let Ok(first) = waiting.recv() {
            let mut group = vec![first];
            group.extend(waiting.try_iter().take(QUEUE));
            let written = self.write(&group);
            self.failing.store(written.is_err(), Ordering::Relaxed);
            if let Err(error) = &written {
                tracing::error!(%error, folder = %self.folder.display(), "dial journal write failed; dialing stopped");
                // The content of a file is unknown after a failed sync. The next group begins on a new line
                // of a file that is opened again.
                self.open = None;
            }
            for told in group.into_iter().filter_map(|entry| entry.written) {
                let result = match &written {
                    Ok(()) => Ok(()),
                    Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
                };
                // The caller may have stopped waiting.
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
        let hour = group.iter().map(|entry| entry.line.at()).max().unwrap_or_default() / FILE_US;
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
        let path = self.folder.join(format!("dials-{hour}-{}.jsonl", self.writer));
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
        if file.metadata()?.len() > 0 {
            // End a line that was cut off.
            file.write_all(b"\n")?;
        }
        // The file's name must be on disk, too.
        File::open(&self.folder)?.sync_all()?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(attempt: &str, epoch: i64, hour: i64) -> DialNote {
        DialNote {
            attempt: attempt.to_owned(),
            owner: Some("n".to_owned()),
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
        journal.taken_back("three".to_owned(), 1, 11 * FILE_US).await;
        journal.permitted(note("four", 1, 11)).await.unwrap();
        let expected = [("four", 1), ("one", 3), ("two", 1)].map(|(name, epoch)| (name.to_owned(), epoch));
        assert_eq!(read(&journal), expected);
        // Another process reads the same.
        let again = DialJournal::open(folder.path().join("dials")).unwrap();
        assert_eq!(read(&again), expected);
    }

    #[tokio::test]
    async fn a_note_of_an_older_version_names_no_owner() {
        let folder = tempfile::tempdir().unwrap();
        let journal = DialJournal::open(folder.path().to_owned()).unwrap();
        journal.permitted(note("one", 1, 10)).await.unwrap();
        let path = only(folder.path());
        let old = fs::read_to_string(&path).unwrap().replace(r#""owner":"n","#, "");
        fs::write(&path, old).unwrap();
        let read = journal.newest_first().unwrap().next().unwrap().unwrap();
        assert_eq!((read.attempt.as_str(), read.owner), ("one", None));
    }

    /// Returns the only file of a folder.
    fn only(folder: &Path) -> PathBuf {
        files(folder).unwrap().remove(0).1
    }

    #[tokio::test]
    async fn a_line_that_was_cut_off_costs_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let journal = DialJournal::open(folder.path().to_owned()).unwrap();
        journal.permitted(note("one", 1, 10)).await.unwrap();
        let path = only(folder.path());
        let whole = fs::read(&path).unwrap();
        for cut in 1..whole.len() {
            // A write that failed in its middle: the file is left, and opened again.
            let folder = tempfile::tempdir().unwrap();
            let mut files = Files {
                folder: folder.path().to_owned(),
                writer: Uuid::nil(),
                open: None,
                failing: Arc::default(),
            };
            let torn = [&whole[..], &whole[..cut]].concat();
            fs::write(folder.path().join(format!("dials-10-{}.jsonl", Uuid::nil())), torn).unwrap();
            let line = Line::Permitted(Box::new(note("two", 1, 10)));
            files.write(&[Entry { line, written: None }]).unwrap();
            let journal = DialJournal::open(folder.path().to_owned()).unwrap();
            let mut names: Vec<String> = read(&journal).into_iter().map(|(name, _)| name).collect();
            names.sort();
            assert_eq!(names, ["one", "two"], "{cut}");
        }
    }

    #[tokio::test]
    async fn nodes_that_share_a_folder_compare_what_all_dialed() {
        let folder = tempfile::tempdir().unwrap();
        let one = DialJournal::open(folder.path().to_owned()).unwrap();
        let two = DialJournal::open(folder.path().to_owned()).unwrap();
        let at = |epoch, at| DialNote {
            at,
            ..note("moved", epoch, 10)
        };
        // Not used on one node, queued again, dialed by the other.
        one.permitted(at(1, 100)).await.unwrap();
        one.taken_back("moved".to_owned(), 1, 200).await;
        two.permitted(at(3, 300)).await.unwrap();
        one.permitted(at(0, 50)).await.unwrap();
        for journal in [one, two] {
            assert_eq!(read(&journal), [("moved".to_owned(), 3)]);
        }
    }

    #[tokio::test]
    async fn old_files_go_and_a_folder_that_is_gone_refuses_permits() {
        let folder = tempfile::tempdir().unwrap();
        let dials = folder.path().join("dials");
        let journal = DialJournal::open(dials.clone()).unwrap();
        for hour in [10, 10 + KEPT_HOURS, 11 + KEPT_HOURS] {
            journal.permitted(note(&hour.to_string(), 1, hour)).await.unwrap();
        }
        journal.forget_old((11 + KEPT_HOURS) * FILE_US).unwrap();
        let kept: HashSet<i64> = files(&dials).unwrap().into_iter().map(|file| file.0).collect();
        assert_eq!(kept, HashSet::from([10 + KEPT_HOURS, 11 + KEPT_HOURS]));
        fs::remove_dir_all(&dials).unwrap();
        assert!(journal.permitted(note("late", 1, 200)).await.is_err());
        assert!(journal.is_failing());
        fs::create_dir(&dials).unwrap();
        journal.permitted(note("later", 1, 200)).await.unwrap();
        assert!(!journal.is_failing());
        assert_eq!(read(&journal), [("later".to_owned(), 1)]);
    }
}
