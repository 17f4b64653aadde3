//! The path out to the carrier's socket. It never waits, keeps items for which the channel has no room, and
//! notices when the socket is stuck or gone.

use std::collections::VecDeque;

use tokio::sync::mpsc::{Sender, error::TrySendError};

use domain::ports::media_leg::OutboundItem;

/// Time in milliseconds after which a channel that stays full means that the socket is stuck.
const STUCK_MS: u64 = 5_000;

/// Interval in milliseconds at which a full channel is tried again.
const RETRY_MS: u64 = 20;

/// The socket is stuck or gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SocketLost;

/// Items to send to the line, in order.
pub(super) struct Outbox {
    outbound: Sender<OutboundItem>,
    backlog: VecDeque<OutboundItem>,
    full_since_ms: Option<u64>,
}

impl Outbox {
    pub(super) fn new(outbound: Sender<OutboundItem>) -> Self {
        Self {
            outbound,
            backlog: VecDeque::new(),
            full_since_ms: None,
        }
    }

    /// Queues an item. A clear removes the audio and marks that wait before it.
    pub(super) fn push(&mut self, item: OutboundItem) {
        if item == OutboundItem::Clear {
            self.backlog
                .retain(|waiting| !matches!(waiting, OutboundItem::Audio(_) | OutboundItem::Mark(_)));
        }
        self.backlog.push_back(item);
    }

    /// Sends as many items as the channel has room for.
    pub(super) fn flush(&mut self, now_ms: u64) -> Result<(), SocketLost> {
        while let Some(item) = self.backlog.pop_front() {
            match self.outbound.try_send(item) {
                Ok(()) => self.full_since_ms = None,
                Err(TrySendError::Closed(_)) => return Err(SocketLost),
                Err(TrySendError::Full(item)) => {
                    self.backlog.push_front(item);
                    let since_ms = *self.full_since_ms.get_or_insert(now_ms);
                    let stuck = now_ms >= since_ms + STUCK_MS;
                    return if stuck { Err(SocketLost) } else { Ok(()) };
                }
            }
        }
        Ok(())
    }

    /// Returns whether everything was sent.
    pub(super) fn is_flushed(&self) -> bool {
        self.backlog.is_empty()
    }

    /// Returns the time of the next flush, if items are left.
    pub(super) fn retry_at_ms(&self, now_ms: u64) -> Option<u64> {
        (!self.is_flushed()).then_some(now_ms + RETRY_MS)
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[test]
    fn a_full_channel_keeps_order_and_a_clear_drops_the_audio_before_it() {
        let (sender, mut receiver) = mpsc::channel(1);
        let mut outbox = Outbox::new(sender);
        for item in [
            OutboundItem::Audio(vec![1]),
            OutboundItem::Audio(vec![2]),
            OutboundItem::Mark("m".into()),
        ] {
            outbox.push(item);
        }
        assert_eq!(outbox.flush(0), Ok(()));
        assert_eq!(outbox.retry_at_ms(0), Some(RETRY_MS));
        outbox.push(OutboundItem::Clear);
        assert_eq!(receiver.try_recv(), Ok(OutboundItem::Audio(vec![1])));
        assert_eq!(outbox.flush(20), Ok(()));
        assert_eq!(receiver.try_recv(), Ok(OutboundItem::Clear));
        assert!(outbox.is_flushed());
    }

    #[test]
    fn a_channel_that_stays_full_or_closes_is_a_lost_line() {
        let (sender, receiver) = mpsc::channel(1);
        let mut outbox = Outbox::new(sender);
        outbox.push(OutboundItem::Clear);
        outbox.push(OutboundItem::Clear);
        assert_eq!(outbox.flush(1_000), Ok(()));
        assert_eq!(outbox.flush(5_999), Ok(()));
        assert_eq!(outbox.flush(6_000), Err(SocketLost));
        drop(receiver);
        assert_eq!(outbox.flush(1_000), Err(SocketLost));
    }
}
