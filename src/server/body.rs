//! A request body that gives up on a silent client, and that is drained a little when nobody reads it to its end.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep};

/// How much of an unread body is thrown away so that the client reads its answer instead of a reset.
const DRAIN_BYTES: usize = 16 * 1024 * 1024;
/// … and for how long.
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// The client sent nothing for the idle limit in the middle of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body stopped: nothing came for {} s", .0.as_secs())]
pub struct BodyStalled(pub Duration);

/// See the module.
pub(super) struct GuardedBody {
    inner: Option<Incoming>,
    idle: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    drain: bool,
}

impl GuardedBody {
    pub(super) fn new(inner: Incoming, idle: Duration, drain: bool) -> Self {
        Self {
            inner: Some(inner),
            idle,
            timer: None,
            drain,
        }
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
            this.timer = None;
            if frame.is_none() {
                this.inner = None;
            }
            return Poll::Ready(frame.map(|f| f.map_err(Into::into)));
        }
        let idle = this.idle;
        let timer = this
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + idle)));
        ready!(timer.as_mut().poll(cx));
        this.inner = None;
        Poll::Ready(Some(Err(BodyStalled(idle).into())))
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

async fn discard(mut body: Incoming) {
    let mut left = DRAIN_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let size = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(size) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}
