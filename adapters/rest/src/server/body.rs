//! A request body with time limits for silent and slow clients. If nobody reads it to its end, some of the
//! rest is drained.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep};

use super::idle_stream::{During, Turn};

/// Maximum bytes of an unread body that are discarded, so that the client reads its response instead of a reset.
const DRAIN_BYTES: usize = 16 * 1024 * 1024;
/// Maximum time for that.
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// Maximum time to wait for a body of any speed.
const GRACE: Duration = Duration::from_secs(10);
/// Minimum average rate after that: a quarter of the slowest modem's rate.
const BYTES_PER_SECOND: u32 = 1_000;

/// Reason why a body was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyStalled {
    /// The client sent nothing within the idle limit.
    #[error("the body stalled: no data for {} s", .0.as_secs())]
    Silent(Duration),
    /// The total wait was too long for the size of the body.
    #[error("the body arrived too slowly: waited {} s", .0.as_secs())]
    Slow(Duration),
}

/// Time limits of a body. Time during which the service does not read does not count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Maximum time between two pieces.
    idle: Duration,
    /// Bytes that allow another second after the first ten. `None` if there is no extension.
    bytes_per_second: Option<u32>,
}

impl Pace {
    /// Returns the limits of a body of any size.
    pub(super) fn of_any_size(idle: Duration) -> Self {
        Self {
            idle,
            bytes_per_second: Some(BYTES_PER_SECOND),
        }
    }

    /// Returns the limits of a small body.
    pub(super) fn of_small(idle: Duration) -> Self {
        Self {
            idle,
            bytes_per_second: None,
        }
    }

    /// Returns the maximum total wait after this many bytes.
    fn allows(&self, bytes: u64) -> Duration {
        let earned = self.bytes_per_second.map(|rate| bytes / u64::from(rate));
        GRACE.max(Duration::from_secs(earned.unwrap_or(0)))
    }
}

/// A wait for the next piece.
struct Wait {
    since: Instant,
    timer: Pin<Box<Sleep>>,
}

/// A body that enforces its time limits; see the module.
pub(super) struct GuardedBody {
    inner: Option<During<Incoming>>,
    pace: Pace,
    bytes: u64,
    /// Total wait before the present one.
    waited: Duration,
    wait: Option<Wait>,
    drain: bool,
}

impl GuardedBody {
    pub(super) fn new(inner: Incoming, pace: Pace, drain: bool, turn: Turn) -> Self {
        Self {
            inner: Some(During::new(inner, turn)),
            pace,
            bytes: 0,
            waited: Duration::ZERO,
            wait: None,
            drain,
        }
    }

    fn came(&mut self, frame: Option<&Frame<Bytes>>) {
        if let Some(wait) = self.wait.take() {
            self.waited += wait.since.elapsed();
        }
        match frame {
            Some(frame) => self.bytes += frame.data_ref().map_or(0, |data| data.len() as u64),
            None => self.inner = None,
        }
    }

    /// Resolves when the time limit is reached.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<BodyStalled> {
        let left = self.pace.allows(self.bytes).saturating_sub(self.waited);
        let idle = self.pace.idle;
        let wait = self.wait.get_or_insert_with(|| {
            let since = Instant::now();
            let timer = Box::pin(tokio::time::sleep_until(since + left.min(idle)));
            Wait { since, timer }
        });
        ready!(wait.timer.as_mut().poll(cx));
        let waited = wait.since.elapsed();
        Poll::Ready(match waited < idle {
            true => BodyStalled::Slow(self.waited + waited),
            false => BodyStalled::Silent(idle),
        })
    }
}

impl Body for GuardedBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let this = self.get_mut();
        let Some(inner) = this.inner.as_mut() else {
            return Poll::Ready(None);
        };
        if let Poll::Ready(frame) = Pin::new(inner).poll_frame(cx) {
            this.came(frame.as_ref().and_then(|frame| frame.as_ref().ok()));
            return Poll::Ready(frame.map(|f| f.map_err(Into::into)));
        }
        let stalled = ready!(this.poll_patience(cx));
        this.inner = None;
        Poll::Ready(Some(Err(stalled.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(SizeHint::default, Body::size_hint)
    }
}

impl Drop for GuardedBody {
    fn drop(&mut self) {
        let Some(inner) = self.inner.take().filter(|body| self.drain && !body.is_end_stream()) else {
            return;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(tokio::time::timeout(DRAIN_TIME, discard(inner)));
        }
    }
}

async fn discard(mut body: During<Incoming>) {
    let mut left = DRAIN_BYTES;
    while !body.is_end_stream()
        && let Some(Ok(frame)) = body.frame().await
    {
        let size = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(size) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}
