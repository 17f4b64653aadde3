//! Passes the body of a form to its parser in pieces, because the parser reads everything it can get and
//! buffers it until a field's headers are complete.

use std::{
    error::Error,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};

/// Maximum bytes between the contents of two fields. It exceeds the size of headers, because one piece of the
/// body can also contain the start of the content.
const HEAD_BYTES: usize = 1024 * 1024;

/// A form whose headers do not end.
#[derive(Debug, thiserror::Error)]
#[error("the form cannot be read: it has more than {HEAD_BYTES} bytes before the content of a field")]
pub struct HeadTooLong;

/// Bytes that may still be read.
#[derive(Debug, Clone, Default)]
pub struct Allowance(Arc<AtomicUsize>);

impl Allowance {
    /// Limits the bytes while the parser searches for the next field.
    pub fn head(&self) {
        self.0.store(HEAD_BYTES, Ordering::Relaxed);
    }

    /// Removes the limit while a field's content is read.
    pub fn content(&self) {
        self.0.store(usize::MAX, Ordering::Relaxed);
    }

    fn take(&self, bytes: usize) -> Result<(), HeadTooLong> {
        let rest = self.0.load(Ordering::Relaxed).checked_sub(bytes).ok_or(HeadTooLong)?;
        self.0.store(rest, Ordering::Relaxed);
        Ok(())
    }
}

/// A body with an allowance.
pub struct Paced<S> {
    body: S,
    allowance: Allowance,
    /// Whether the last poll returned a piece, which the parser must process before the next.
    gave: bool,
}

impl<S> Paced<S> {
    /// Limits `body` to `allowance`.
    pub fn new(body: S, allowance: Allowance) -> Self {
        Self {
            body,
            allowance,
            gave: false,
        }
    }
}

impl<S, E> Stream for Paced<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: Error + Send + Sync + 'static,
{
    type Item = Result<Bytes, Box<dyn Error + Send + Sync>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.gave) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = std::task::ready!(self.body.poll_next_unpin(context));
        self.gave = next.is_some();
        Poll::Ready(next.map(|piece| {
            let piece = piece?;
            self.allowance.take(piece.len())?;
            Ok(piece)
        }))
    }
}
