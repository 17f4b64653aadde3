//! What a call and the task behind it share: the buffer, and the finals that were asked for.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::ports::transcriber::Promise;
use tokio::sync::Notify;

use crate::stt::audio_buffer::AudioBuffer;

/// Finals that may be asked for and not given. The oldest beyond it are answered together.
const MOST_ASKED: usize = 8;

/// No final is promised later than this: whoever waits longer for an answer hangs up.
const MOST_WITHIN: Duration = Duration::from_secs(3);

/// What a connection that is not there yet takes.
const CONNECTING: Duration = Duration::from_millis(500);

/// A backlog up to this is on its way.
const UNDER_WAY_MS: u64 = 300;

/// Audio may be sent at so many hundredths of its speed.
pub(crate) const REPLAY_PERCENT: u64 = 125;

/// The shared state.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) buffer: AudioBuffer,
    /// Up to where the buffer was sent on this connection.
    pub(crate) sent: u64,
    /// Where finals were asked for that have not been given, in order.
    pub(crate) asked: VecDeque<u64>,
    /// A recogniser is there.
    pub(crate) connected: bool,
    /// What the recogniser promises when it is up to date.
    pub(crate) promise: Promise,
}

impl State {
    /// What can be promised now: later than usual while there is a backlog, or no connection.
    pub(crate) fn promise(&self) -> Promise {
        let backlog_ms = (self.buffer.end().saturating_sub(self.sent)) * 100 / self.buffer.ms(100).max(1);
        let mut within = self.promise.final_within;
        if !self.connected {
            within += CONNECTING;
        }
        if backlog_ms > UNDER_WAY_MS {
            within += Duration::from_millis(backlog_ms * 100 / REPLAY_PERCENT);
        }
        Promise {
            final_within: within.min(MOST_WITHIN.max(self.promise.final_within)),
            ..self.promise
        }
    }
}

/// Shared by the call's end and the task.
#[derive(Debug, Clone)]
pub(crate) struct Queue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    wake: Notify,
}

impl Queue {
    pub(crate) fn new(buffer: AudioBuffer, promise: Promise) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                buffer,
                sent: 0,
                asked: VecDeque::new(),
                connected: false,
                promise,
            }),
            wake: Notify::new(),
        }))
    }

    /// Locks it; never across an await.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a batch.
    pub(crate) fn push(&self, bytes: &[u8], peak: i16) -> Promise {
        let mut state = self.state();
        let sent = state.sent;
        state.buffer.push(bytes, peak, sent);
        let promise = state.promise();
        drop(state);
        self.0.wake.notify_one();
        promise
    }

    /// Asks for a final of everything so far.
    pub(crate) fn ask(&self) {
        let mut state = self.state();
        let end = state.buffer.end();
        if state.asked.len() < MOST_ASKED {
            state.asked.push_back(end);
        } else if let Some(last) = state.asked.back_mut() {
            *last = end;
        }
        drop(state);
        self.0.wake.notify_one();
    }

    /// Something was pushed or asked for since this was awaited last.
    pub(crate) async fn changed(&self) {
        self.0.wake.notified().await;
    }
}
