//! The judge's own log: one JSON object a line, append-only. A dial is on disk before it is answered.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

/// Events that the judge saw.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A request for a call was received; `node` is the address of its callbacks.
    Dial {
        attempt: String,
        to: String,
        call: String,
        node: String,
        outcome: Outcome,
    },
    /// A status callback was sent; an `answer` of 0 means no response.
    Callback {
        call: String,
        attempt: String,
        status: String,
        answer: u16,
    },
    /// A media socket was requested; 101 if it was opened.
    Media { call: String, attempt: String, answer: u16 },
    /// First sound of the agent over a media socket.
    Spoke { call: String, attempt: String },
    /// A call asked for instructions after its media socket; an `answer` of 0 means no response.
    Back { call: String, attempt: String, answer: u16 },
    /// The service closed a call's media socket while its callee was on the line.
    Left { call: String, attempt: String },
    /// The service asked for the end of a call.
    HangUp { call: String, attempt: String },
    /// A call is over; `by_callee` if the callee hung up after the answer.
    Over {
        call: String,
        attempt: String,
        status: String,
        by_callee: bool,
    },
    /// A webhook was received.
    Webhook { id: String, attempt: String, answer: u16 },
}

impl Event {
    /// Returns the attempt of the event.
    pub fn attempt(&self) -> &str {
        match self {
            Self::Dial { attempt, .. }
            | Self::Callback { attempt, .. }
            | Self::Media { attempt, .. }
            | Self::Spoke { attempt, .. }
            | Self::Back { attempt, .. }
            | Self::Left { attempt, .. }
            | Self::HangUp { attempt, .. }
            | Self::Over { attempt, .. }
            | Self::Webhook { attempt, .. } => attempt,
        }
    }
}

/// Outcome of a request for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Placed and answered so.
    Placed,
    /// Placed, and the response breaks off.
    AnswerBroken,
    /// Placed, and no response ever comes.
    AnswerLost,
    /// Placed, and answered with 500.
    PlacedAndFailed,
    /// Not placed, and answered with 500.
    Failed,
    /// Not placed: 429.
    Throttled,
    /// Not placed: no such number.
    Refused,
}

impl Outcome {
    /// Returns whether a telephone rings.
    pub fn rings(self) -> bool {
        matches!(
            self,
            Self::Placed | Self::AnswerBroken | Self::AnswerLost | Self::PlacedAndFailed
        )
    }

    /// Returns whether the response shows that nobody was called.
    pub fn is_certainly_not_dialed(self) -> bool {
        matches!(self, Self::Throttled | Self::Refused)
    }
}

/// An event and its time, in microseconds since 1970.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    pub at: i64,
    #[serde(flatten)]
    pub event: Event,
}

/// Returns the microseconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The open log.
pub struct Journal(Mutex<File>);

impl Journal {
    /// Opens or creates the log.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self(Mutex::new(file)))
    }

    /// Appends an event.
    pub fn write(&self, event: Event) -> io::Result<()> {
        self.append(event, false)
    }

    /// Appends an event, and returns once it is on disk.
    pub fn keep(&self, event: Event) -> io::Result<()> {
        self.append(event, true)
    }

    fn append(&self, event: Event, sync: bool) -> io::Result<()> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut line = serde_json::to_vec(&Entry { at: now(), event })?;
        line.push(b'\n');
        file.write_all(&line)?;
        if sync { file.sync_data() } else { Ok(()) }
    }
}

/// Reads everything logged so far; a line that is being written is left out.
pub fn read(path: &Path) -> io::Result<Vec<Entry>> {
    let text = std::fs::read_to_string(path)?;
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).map_err(io::Error::from))
        .collect()
}
