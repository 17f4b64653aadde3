//! State shared by a call and its transcription task: the audio buffer and the requested finals.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::ports::transcriber::Capabilities;
use tokio::sync::Notify;

use crate::stt::audio_buffer::AudioBuffer;

/// Maximum number of outstanding requests for a final. The newest ones beyond it share one answer.
const MOST_ASKED: usize = 8;

/// Longest promise for a final. A caller who waits longer for an answer hangs up.
const MOST_WITHIN: Duration = Duration::from_secs(3);

/// Time added to the promise while there is no connection.
const CONNECTING: Duration = Duration::from_millis(500);

/// A backlog up to this length counts as normal transmission.
const UNDER_WAY_MS: u64 = 300;

/// Speed at which audio may be sent, in percent of real time.
pub(crate) const REPLAY_PERCENT: u64 = 125;

/// Shared state.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) buffer: AudioBuffer,
    /// Position up to which the buffer was sent on this connection.
    pub(crate) sent: u64,
    /// Positions of requested finals that have not been given, in order.
    pub(crate) asked: VecDeque<u64>,
    /// Whether a recogniser is connected.
    pub(crate) connected: bool,
    /// Promise of the recogniser when it is up to date.
    pub(crate) capabilities: Capabilities,
}

impl State {
    /// Returns the present promise. It is later than usual while there is a backlog or no connection.
    pub(crate) fn capabilities(&self) -> Capabilities {
        let backlog_ms = (self.buffer.end().saturating_sub(self.sent)) * 100 / self.buffer.ms(100).max(1);
        let mut within = self.capabilities.final_within;
        if !self.connected {
            within += CONNECTING;
        }
        if backlog_ms > UNDER_WAY_MS {
            within += Duration::from_millis(backlog_ms * 100 / REPLAY_PERCENT);
        }
        Capabilities {
            final_within: within.min(MOST_WITHIN.max(self.capabilities.final_within)),
            ..self.capabilities
        }
    }
}

/// Handle to the shared state, for the call and the task.
#[derive(Debug, Clone)]
pub(crate) struct Queue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    wake: Notify,
}

impl Queue {
    pub(crate) fn new(buffer: AudioBuffer, capabilities: Capabilities) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                buffer,
                sent: 0,
                asked: VecDeque::new(),
                connected: false,
                capabilities,
            }),
            wake: Notify::new(),
        }))
    }

    /// Locks the state. The lock must not be held across an await.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a batch and returns the present promise.
    pub(crate) fn push(&self, bytes: &[u8], peak: i16) -> Capabilities {
        let mut state = self.state();
        let sent = state.sent;
        state.buffer.push(bytes, peak, sent);
        let capabilities = state.capabilities();
        drop(state);
        self.0.wake.notify_one();
        capabilities
    }

    /// Requests a final of everything so far.
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

    /// Waits until something was pushed or requested since the last wait.
    pub(crate) async fn changed(&self) {
        self.0.wake.notified().await;
    }
}
