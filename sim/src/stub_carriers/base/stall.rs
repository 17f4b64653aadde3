//! Stalled media sockets: for a while nothing is sent and nothing is read, and they stay open.

use std::time::Duration;

use tokio::time::Instant;

/// Start and duration of a stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// Start, in frames of the telephone, of 20 ms each.
    pub after_frames: u64,
    /// Duration. The telephone's audio in this time is lost.
    pub lasts: Duration,
}

/// State of one socket's stall.
#[derive(Debug)]
pub struct Standstill {
    stall: Option<Stall>,
    until: Option<Instant>,
}

impl Standstill {
    pub fn new(stall: Option<Stall>) -> Self {
        Self { stall, until: None }
    }

    /// Returns whether the socket is stalled, this many frames after it was opened.
    pub fn is_on(&mut self, frames: u64) -> bool {
        let Some(stall) = self.stall.filter(|stall| frames >= stall.after_frames) else {
            return false;
        };
        let now = Instant::now();
        now < *self.until.get_or_insert(now + stall.lasts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_begins_with_a_frame_and_ends_with_time() {
        let stall = Stall {
            after_frames: 3,
            lasts: Duration::from_secs(2),
        };
        let mut still = Standstill::new(Some(stall));
        assert!(!still.is_on(2) && still.is_on(3));
        tokio::time::advance(Duration::from_millis(1_999)).await;
        assert!(still.is_on(90));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!still.is_on(100));
        assert!(!Standstill::new(None).is_on(100));
    }
}
