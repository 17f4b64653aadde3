//! An operator's connection to a call.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::state::OperatorLeft;
use crate::{
    audio_stream::{OperatorLeg, OperatorQueue},
    supervision::Reports,
};

/// Frames of the user's audio that wait for an operator: 1 s.
const HEARD_FRAMES: usize = 50;

/// An operator's connection to a call. An operator who drops it without [`OperatorLine::give_back`] was lost.
pub struct OperatorLine {
    sample_rate: u32,
    audio: Arc<OperatorQueue>,
    heard: mpsc::Receiver<Vec<i16>>,
    left: Option<Reports<OperatorLeft>>,
}

impl OperatorLine {
    /// Creates the two ends of a connection whose audio has this rate in Hz, and who is told that it ended.
    pub(super) fn open(sample_rate: u32, left: Reports<OperatorLeft>) -> (Self, OperatorLeg) {
        let (hears, heard) = mpsc::channel(HEARD_FRAMES);
        let audio = OperatorQueue::new(sample_rate);
        let leg = OperatorLeg {
            audio: audio.clone(),
            hears,
        };
        let line = Self {
            sample_rate,
            audio,
            heard,
            left: Some(left),
        };
        (line, leg)
    }

    /// Returns the rate of all audio in Hz, mono.
    pub fn sample_rate(&self) -> u32 {
        self.sample_rate
    }

    /// Speaks to the user. Audio that comes faster than time is dropped, the oldest first.
    pub fn speak(&self, samples: &[i16]) {
        self.audio.push(samples);
    }

    /// Returns the milliseconds of audio that were dropped since this was asked last.
    pub fn take_lost_ms(&self) -> u64 {
        self.audio.take_lost() * 1_000 / u64::from(self.sample_rate.max(1))
    }

    /// Returns the user's next audio, or `None` once the operator no longer has the call.
    pub async fn heard(&mut self) -> Option<Vec<i16>> {
        self.heard.recv().await
    }

    /// Gives the call back to the agent. Only the model reads the note.
    pub fn give_back(mut self, note: Option<String>) {
        self.leave(OperatorLeft::GivenBack { note });
    }

    /// Takes the call from an operator who may no longer have it. The agent continues as after a lost one.
    pub fn revoke(mut self) {
        self.leave(OperatorLeft::NotAllowed);
    }

    fn leave(&mut self, left: OperatorLeft) {
        if let Some(call) = self.left.take() {
            // The call may be over.
            call.send(left);
        }
    }
}

impl Drop for OperatorLine {
    fn drop(&mut self) {
        self.leave(OperatorLeft::Lost);
    }
}
