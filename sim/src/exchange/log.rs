//! The exchange's own record of its calls, one JSON object a line. Crash tests, demos and benches judge
//! Ringback by it. A dial is on disk before it is answered.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
};

use domain::time::{Clock, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::handset::meter::Figures;

/// Most entries that may wait for the disk.
const WAITING: usize = 65_536;
/// Most entries per write.
const BATCH: usize = 1_024;

/// One line of the record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    /// Wall-clock time, in microseconds.
    pub at: Timestamp,
    /// The exchange's id of the call.
    pub call_id: String,
    /// The event.
    #[serde(flatten)]
    pub event: LogEvent,
}

/// Events of a call. Times in `…Ms` count from the opening of the call's media.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum LogEvent {
    /// A dial was accepted; written before it is answered.
    Accepted {
        /// The caller's id of the attempt. Two entries with the same id are a double dial.
        attempt: String,
        /// Number called.
        to: String,
        /// Caller ID.
        from: Option<String>,
        /// Persona of the callee.
        persona: String,
        /// Requested persona, if no persona has this name.
        unknown_persona: Option<String>,
        /// Script of the callee.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script: Option<String>,
        /// Requested script, if no script has this name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unknown_script: Option<String>,
    },
    /// A phone makes a call; written before the call is announced.
    CalledIn {
        /// Number of the phone.
        from: String,
        /// Whether the number is hidden.
        withheld: bool,
        /// Number called.
        to: String,
        /// Persona of the caller.
        persona: String,
        /// Requested persona, if no persona has this name.
        unknown_persona: Option<String>,
    },
    /// The phone rings.
    Ringing,
    /// The callee picked up.
    Answered,
    /// The phone's media socket is open.
    MediaOpened,
    /// The media socket could not be opened, or it broke.
    MediaFailed {
        /// Reason.
        reason: String,
    },
    /// The phone said something.
    Said {
        /// Words.
        text: String,
        /// First voiced frame.
        from_ms: u64,
        /// Last voiced frame.
        to_ms: u64,
        /// Whether it began while the agent was talking.
        over_agent: bool,
        /// Whether it was not meant to make the agent stop ("mm-hm").
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        aside: bool,
    },
    /// The phone made a sound other than speech.
    Sounded {
        /// `cough`, `hum`, `music`, `noise`, `click` or `key`.
        sound: String,
        /// First loud frame.
        from_ms: u64,
        /// Last loud frame.
        to_ms: u64,
        /// Whether it began while the agent was talking.
        over_agent: bool,
    },
    /// The phone heard speech, so the speech was really played.
    Heard {
        /// Words.
        text: String,
        /// First voiced frame.
        from_ms: u64,
        /// Last voiced frame.
        to_ms: u64,
        /// Whether nothing is missing at its end or in the middle.
        whole: bool,
    },
    /// The caller discarded the audio that it had sent ahead.
    Cleared {
        /// Time of the `clear`.
        at_ms: u64,
        /// Milliseconds of it that had not been played.
        unplayed_ms: u64,
    },
    /// The agent's voice came back after a `clear` that nothing the callee said explains.
    Resumed {
        /// Arrival time of its audio.
        at_ms: u64,
        /// Milliseconds since the end of the callee's sound, or since the `clear` if the callee made no sound.
        after_ms: u64,
    },
    /// A beep was sent.
    Beeped {
        /// End of the beep.
        to_ms: u64,
    },
    /// The phone's socket died because its persona or script said so. The call goes on without media.
    Dropped,
    /// The phone's socket died; the carrier may be asked for another one.
    MediaLost,
    /// The phone pressed a key.
    Pressed {
        /// Key.
        key: char,
    },
    /// The phone heard a key.
    HeardKey {
        /// Key.
        key: char,
    },
    /// The caller asked for a transfer.
    TransferAsked {
        /// Target of the transfer.
        to: String,
        /// `blind` or `conference`.
        kind: String,
    },
    /// The call was transferred: the target and the callee talk to each other.
    Joined {
        /// Target of the transfer.
        to: String,
    },
    /// The target of the transfer did not answer.
    TransferFailed {
        /// Reason.
        reason: String,
    },
    /// The call is over.
    Ended {
        /// Cause, as in the status callback.
        cause: String,
        /// Measurements of the phone, if the call was answered.
        figures: Option<Figures>,
    },
    /// A status callback was given up.
    StatusLost {
        /// Status of the callback.
        status: String,
        /// Last response or error.
        reason: String,
    },
}

/// Reads a log. Ignores a last line that a crash cut off; any other damage is an error.
pub fn read_log(path: &Path) -> io::Result<Vec<LogEntry>> {
    let text = std::fs::read_to_string(path)?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .enumerate()
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| {
                let place = format!("{} line {}: {error}", path.display(), at + 1);
                io::Error::new(io::ErrorKind::InvalidData, place)
            })
        })
        .collect()
}

enum Job {
    Line(String),
    Sync(String, oneshot::Sender<io::Result<()>>),
}

/// Sinks of the entries: a file, a list in memory, both or neither.
#[derive(Clone)]
pub(super) struct Log {
    clock: Arc<dyn Clock>,
    memory: Option<Arc<Mutex<Vec<LogEntry>>>>,
    file: Option<SyncSender<Job>>,
    lost: Arc<AtomicU64>,
}

impl Log {
    /// Opens `path` to append, and keeps a list in memory too if `keep` is set.
    pub(super) fn open(path: Option<&Path>, keep: bool, clock: Arc<dyn Clock>) -> io::Result<Self> {
        Ok(Self {
            clock,
            memory: keep.then(Arc::default),
            file: path.map(start_writer).transpose()?,
            lost: Arc::default(),
        })
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Adds an entry, which is written to disk later.
    pub(super) fn add(&self, call_id: &str, event: LogEvent) {
        let Some((file, line)) = self.prepare(call_id, event) else {
            return;
        };
        if file.try_send(Job::Line(line)).is_err() {
            let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::error!(lost, "exchange log entry lost");
        }
    }

    /// Adds an entry and returns when it is on disk.
    pub(super) async fn add_synced(&self, call_id: &str, event: LogEvent) -> io::Result<()> {
        match self.prepare(call_id, event) {
            Some((file, line)) => sync(file, line).await,
            None => Ok(()),
        }
    }

    /// Returns when all entries so far are on disk.
    pub(super) async fn flush(&self) -> io::Result<()> {
        match &self.file {
            Some(file) => sync(file, String::new()).await,
            None => Ok(()),
        }
    }

    /// Returns the entries kept in memory.
    pub(super) fn entries(&self) -> Vec<LogEntry> {
        let kept = self.memory.as_ref();
        kept.map(|list| list.lock().unwrap_or_else(PoisonError::into_inner).clone())
            .unwrap_or_default()
    }

    fn prepare(&self, call_id: &str, event: LogEvent) -> Option<(&SyncSender<Job>, String)> {
        if self.memory.is_none() && self.file.is_none() {
            return None;
        }
        let entry = LogEntry {
            at: self.clock.now(),
            call_id: call_id.to_owned(),
            event,
        };
        let line = self.file.as_ref().map(|file| {
            // An entry has only strings and numbers, so it can always be serialised.
            let mut line = serde_json::to_string(&entry).unwrap_or_default();
            line.push('\n');
            (file, line)
        });
        if let Some(list) = &self.memory {
            list.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        }
        line
    }
}

async fn sync(file: &SyncSender<Job>, line: String) -> io::Result<()> {
    let (done, written) = oneshot::channel();
    file.try_send(Job::Sync(line, done))
        .map_err(|_| io::Error::other("exchange log cannot keep up"))?;
    written
        .await
        .unwrap_or_else(|_| Err(io::Error::other("exchange log is closed")))
}

fn start_writer(path: &Path) -> io::Result<SyncSender<Job>> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let (jobs, waiting) = sync_channel(WAITING);
    std::thread::Builder::new()
        .name("exchange-log".to_owned())
        .spawn(move || write_all(file, &waiting))?;
    Ok(jobs)
}

/// Writes until the last sender is gone or the disk fails. After a failure it takes no more entries, so no
/// dial is accepted that is not on record.
fn write_all(mut file: File, waiting: &Receiver<Job>) {
    while let Ok(first) = waiting.recv() {
        let mut text = String::new();
        let mut acks = Vec::new();
        for job in std::iter::once(first).chain(waiting.try_iter().take(BATCH)) {
            match job {
                Job::Line(line) => text.push_str(&line),
                Job::Sync(line, done) => {
                    text.push_str(&line);
                    acks.push(done);
                }
            }
        }
        let mut written = file.write_all(text.as_bytes());
        if written.is_ok() && !acks.is_empty() {
            written = file.sync_data();
        }
        let failed = written.as_ref().err().map(|error| (error.kind(), error.to_string()));
        for ack in acks {
            let result = failed
                .as_ref()
                .map_or(Ok(()), |(kind, text)| Err(io::Error::new(*kind, text.clone())));
            let _ = ack.send(result);
        }
        if let Some((_, text)) = failed {
            tracing::error!(error = text, "exchange log write failed");
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::time::SystemClock;

    use super::*;

    fn accepted(attempt: &str) -> LogEvent {
        LogEvent::Accepted {
            attempt: attempt.into(),
            to: "+15551234567".into(),
            from: None,
            persona: "cooperative".into(),
            unknown_persona: None,
            script: None,
            unknown_script: None,
        }
    }

    #[tokio::test]
    async fn what_is_synced_is_read_back_and_a_torn_last_line_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exchange.jsonl");
        let log = Log::open(Some(&path), true, Arc::new(SystemClock)).unwrap();
        log.add_synced("CA1", accepted("a")).await.unwrap();
        log.add("CA1", LogEvent::Ringing);
        log.flush().await.unwrap();
        assert_eq!(read_log(&path).unwrap(), log.entries());
        assert_eq!(log.entries().len(), 2);

        let again = Log::open(Some(&path), false, Arc::new(SystemClock)).unwrap();
        again.add_synced("CA2", accepted("a")).await.unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(br#"{"at":1,"callId":"CA3","eve"#).unwrap();
        assert_eq!(read_log(&path).unwrap().len(), 3);
        file.write_all(b"\n").unwrap();
        assert!(read_log(&path).unwrap_err().to_string().contains("line 4"));
    }
}
