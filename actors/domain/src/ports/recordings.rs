//! Where recordings are kept: stereo, user left, agent right.

use crate::id::AttemptId;

/// Opens one sink for each recorded call.
pub trait Recordings: Send + Sync {
    /// Starts a recording at `sample_rate` Hz; none when it cannot be kept (logged by the adapter, the call goes on).
    fn open(&self, attempt: AttemptId, sample_rate: u32) -> Option<Box<dyn RecordingSink>>;
}

/// Takes a call's audio in order. Dropping it finishes the file, on every exit path.
pub trait RecordingSink: Send {
    /// Appends interleaved stereo samples (left, right, left …). Never blocks: the adapter writes elsewhere.
    fn write(&mut self, interleaved: Vec<i16>);
}
