//! What a call and the task behind it share: the tape, and the finals that were asked for.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::ports::transcriber::Promise;
use tokio::sync::Notify;

use super::tape::Tape;

/// Finals that may be asked for and not given. The oldest beyond it are answered together.
const MOST_ASKED: usize = 8;

/// No final is promised later than this: whoever waits longer for an answer hangs up.
const MOST_WITHIN: Duration = Duration::from_secs(3);

/// What a connection that is not there yet takes.
const CONNECTING: Duration = Duration::from_millis(500);

/// A backlog up to this is on its way.
const UNDER_WAY_MS: u64 = 300;

/// Audio may be sent at so many hundredths of its speed.
pub(in crate::speech) const REPLAY_PERCENT: u64 = 125;

/// The shared state.
#[derive(Debug)]
pub(in crate::speech) struct State {
    pub(in crate::speech) tape: Tape,
    /// Up to where the tape was sent on this connection.
    pub(in crate::speech) sent: u64,
    /// Where finals were asked for that have not been given, in order.
    pub(in crate::speech) asked: VecDeque<u64>,
    /// A recogniser is there.
    pub(in crate::speech) connected: bool,
    /// What the recogniser promises when it is up to date.
    pub(in crate::speech) promise: Promise,
}

impl State {
    /// What can be promised now: later than usual while there is a backlog, or no connection.
    pub(in crate::speech) fn promise(&self) -> Promise {
        let backlog_ms = (self.tape.end().saturating_sub(self.sent)) * 100 / self.tape.ms(100).max(1);
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
pub(in crate::speech) struct Inbox(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    wake: Notify,
}

impl Inbox {
    pub(in crate::speech) fn new(tape: Tape, promise: Promise) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                tape,
                sent: 0,
                asked: VecDeque::new(),
                connected: false,
                promise,
            }),
            wake: Notify::new(),
        }))
    }

    /// Locks it; never across an await.
    pub(in crate::speech) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a batch.
    pub(in crate::speech) fn push(&self, bytes: &[u8], peak: i16) -> Promise {
        let mut state = self.state();
        let sent = state.sent;
        state.tape.push(bytes, peak, sent);
        let promise = state.promise();
        drop(state);
        self.0.wake.notify_one();
        promise
    }

    /// Asks for a final of everything so far.
    pub(in crate::speech) fn ask(&self) {
        let mut state = self.state();
        let end = state.tape.end();
        if state.asked.len() < MOST_ASKED {
            state.asked.push_back(end);
        } else if let Some(last) = state.asked.back_mut() {
            *last = end;
        }
        drop(state);
        self.0.wake.notify_one();
    }

    /// Something was pushed or asked for since this was awaited last.
    pub(in crate::speech) async fn changed(&self) {
        self.0.wake.notified().await;
    }
}
