//! The carrier's side of a call: its permit, its leg, and who owns it.

pub mod coming_back;
pub mod leg;

use tokio::{
    sync::oneshot,
    task::{AbortHandle, JoinHandle},
    time::Instant,
};

use domain::{dial_token::DialToken, phone_number::PhoneNumber, time::Timestamp};

/// What is known of the leg, and the requests about it that run.
pub struct CarrierSide {
    token: Option<DialToken>,
    /// Our number on the line: the caller ID from the permit, or the number that was called.
    caller_id: Option<PhoneNumber>,
    /// Time of the permit request, by the monotonic and the wall clock.
    permit_asked: (Instant, Timestamp),
    dialing_at: Timestamp,
    /// Ends when the keys were pressed that the carrier was asked for last.
    pressed: Option<oneshot::Receiver<()>>,
    /// Task that asks the carrier for lost media.
    reopening: Option<AbortHandle>,
    /// Task that checks who owns the call while its media is lost.
    watching: Option<AbortHandle>,
    /// Hang-up tasks. They are not aborted, since a leg must go down even if its call crashes.
    hang_ups: Vec<JoinHandle<()>>,
}

impl CarrierSide {
    pub fn new(token: Option<DialToken>, caller_id: Option<PhoneNumber>, now: Timestamp) -> Self {
        Self {
            token,
            caller_id,
            permit_asked: (Instant::now(), now),
            dialing_at: now,
            pressed: None,
            reopening: None,
            watching: None,
            hang_ups: Vec::new(),
        }
    }

    pub fn stop_reopening(&mut self) {
        if let Some(reopening) = self.reopening.take() {
            reopening.abort();
        }
    }

    pub fn take_hang_ups(&mut self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut self.hang_ups)
    }
}
