//! Storage of recordings: stereo, the user on the left channel, the agent on the right.

use crate::id::AttemptId;

/// Opens one sink for each recorded call.
pub trait Recordings: Send + Sync {
    /// Starts a recording at `sample_rate` Hz. Returns none if it cannot be stored; the adapter logs that,
    /// and the call continues.
    fn open(&self, attempt: AttemptId, sample_rate: u32) -> Option<Box<dyn RecordingSink>>;
}

/// Takes a call's audio in order. Dropping it completes the file, on every exit path.
pub trait RecordingSink: Send {
    /// Appends interleaved stereo samples (left, right, left …). Never blocks: the adapter writes elsewhere.
    fn write(&mut self, interleaved: Vec<i16>);
}
