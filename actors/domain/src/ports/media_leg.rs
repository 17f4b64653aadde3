//! A call's audio connection to the carrier's socket: a bounded queue in, a bounded channel out.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use media::format::LineFormat;
use tokio::{sync::mpsc, time::Instant};

use super::carrier::CarrierCallId;

/// Most frames that wait for the audio stream: 2 s at 20 ms. Media runs over TCP, so after a stall a second
/// arrives at once.
pub const INBOUND_FRAMES: usize = 100;

/// Abilities of a carrier's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegAbilities {
    /// It buffers audio sent ahead of time and plays it in order.
    pub buffers: bool,
    /// It returns a mark when the audio before it has been played.
    pub marks: bool,
    /// It can drop audio it has buffered.
    pub clear: bool,
    /// It accepts keys to press.
    pub digits: bool,
}

/// An item from the carrier, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboundItem {
    /// Audio in the line's encoding.
    Audio(Vec<u8>),
    /// A mark sent earlier came back.
    Mark(String),
    /// A key was pressed.
    Digit(char),
    /// The socket is closed; nothing follows.
    Closed {
        /// Whether the carrier announced the end (a `stop` message); otherwise the connection just broke.
        clean: bool,
    },
}

/// An item for the carrier, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboundItem {
    /// Audio in the line's encoding, any length.
    Audio(Vec<u8>),
    /// Ask to be told when everything before this has been played.
    Mark(String),
    /// Drop audio that is not yet played.
    Clear,
    /// Press a key; only if [`LegAbilities::digits`] is set.
    Digit(char),
    /// Close the socket.
    Close,
}

/// Called when items wait; runs on the socket's task and must not block.
pub type Waker = Box<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct Queue {
    items: VecDeque<InboundItem>,
    audio: usize,
    dropped: u64,
    announced: bool,
    waker: Option<Waker>,
    /// Arrival time of the oldest waiting audio.
    oldest: Option<Instant>,
    /// Time when clearing was decided, until the socket was told.
    clear_decided: Option<Instant>,
}

/// Statistics of a drained queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drained {
    /// Frames dropped since the last drain.
    pub dropped: u64,
    /// Arrival time of the oldest audio; none without audio.
    pub oldest: Option<Instant>,
}

/// The bounded queue between the socket's reader and the audio stream. Beyond [`INBOUND_FRAMES`] frames the oldest
/// audio is dropped and counted; marks, digits and the end are never dropped.
#[derive(Default)]
pub struct InboundQueue(Mutex<Queue>);

impl InboundQueue {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // A panic cannot leave the queue half-changed, so a poisoned lock is safe to use.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item and wakes the reader if it was not woken since it last emptied the queue.
    pub fn push(&self, item: InboundItem) {
        let mut queue = self.lock();
        if matches!(item, InboundItem::Audio(_)) {
            if queue.audio == INBOUND_FRAMES
                && let Some(oldest) = queue.items.iter().position(|i| matches!(i, InboundItem::Audio(_)))
            {
                queue.items.remove(oldest);
                queue.audio -= 1;
                queue.dropped += 1;
            }
            queue.audio += 1;
            queue.oldest.get_or_insert_with(Instant::now);
        }
        queue.items.push_back(item);
        Self::announce(&mut queue);
    }

    /// Sets the waker. If items already wait, it is woken at once.
    pub fn set_waker(&self, waker: Waker) {
        let mut queue = self.lock();
        queue.waker = Some(waker);
        queue.announced = false;
        if !queue.items.is_empty() {
            Self::announce(&mut queue);
        }
    }

    /// Moves all waiting items into `into`, and returns how many frames were dropped since the last call.
    pub fn drain(&self, into: &mut Vec<InboundItem>) -> u64 {
        self.drain_all(into).dropped
    }

    /// Moves all waiting items into `into`, and also returns the arrival time of the oldest audio.
    pub fn drain_all(&self, into: &mut Vec<InboundItem>) -> Drained {
        let mut queue = self.lock();
        queue.announced = false;
        queue.audio = 0;
        into.extend(queue.items.drain(..));
        Drained {
            dropped: std::mem::take(&mut queue.dropped),
            oldest: queue.oldest.take(),
        }
    }

    /// Records that the stream sends [`OutboundItem::Clear`].
    pub fn clear_decided(&self) {
        self.lock().clear_decided.get_or_insert_with(Instant::now);
    }

    /// Records that the socket was told to clear, and returns when that was decided.
    pub fn clear_sent(&self) -> Option<Instant> {
        self.lock().clear_decided.take()
    }

    fn announce(queue: &mut Queue) {
        if !queue.announced
            && let Some(waker) = &queue.waker
        {
            waker();
            queue.announced = true;
        }
    }
}

/// One call's audio connection, passed from the socket's task to the call.
pub struct MediaLeg {
    /// The carrier's id of the leg, if the socket tells it.
    pub call: Option<CarrierCallId>,
    /// Encoding and rate of the line.
    pub format: LineFormat,
    /// Abilities of the carrier's stream.
    pub abilities: LegAbilities,
    /// Audio and marks from the carrier.
    pub inbound: Arc<InboundQueue>,
    /// Audio and marks to the carrier; a full channel means the socket is stuck.
    pub outbound: mpsc::Sender<OutboundItem>,
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn the_oldest_audio_is_dropped_and_counted_and_nothing_else() {
        let queue = InboundQueue::default();
        queue.push(InboundItem::Mark("m".into()));
        for n in 0..=INBOUND_FRAMES {
            queue.push(InboundItem::Audio(vec![u8::try_from(n).unwrap()]));
        }
        queue.push(InboundItem::Closed { clean: true });
        let mut items = Vec::new();
        assert_eq!(queue.drain(&mut items), 1);
        assert_eq!(items.len(), INBOUND_FRAMES + 2);
        assert_eq!(items[0], InboundItem::Mark("m".into()));
        assert_eq!(items[1], InboundItem::Audio(vec![1]));
        assert_eq!(queue.drain(&mut items), 0);
    }

    #[test]
    fn the_reader_is_woken_once_for_each_time_it_empties_the_queue() {
        let woken = Arc::new(AtomicUsize::new(0));
        let queue = InboundQueue::default();
        queue.push(InboundItem::Digit('1'));
        let count = woken.clone();
        queue.set_waker(Box::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        }));
        queue.push(InboundItem::Digit('2'));
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        queue.drain(&mut Vec::new());
        queue.push(InboundItem::Digit('3'));
        assert_eq!(woken.load(Ordering::Relaxed), 2);
    }
}
