//! The body of a form, given to its parser piece by piece: the parser takes all it can get, and keeps what it gets
//! until the end of a field's headers has come.

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

/// Bytes between the content of one field and that of the next. One piece of the body can hold the start of the
/// content too, so that this is more than headers need.
const HEAD_BYTES: usize = 1024 * 1024;

/// A form whose headers do not end.
#[derive(Debug, thiserror::Error)]
#[error("the form cannot be read: there are more than {HEAD_BYTES} bytes before the content of a field")]
pub struct HeadTooLong;

/// Bytes that may still come.
#[derive(Debug, Clone, Default)]
pub struct Allowance(Arc<AtomicUsize>);

impl Allowance {
    /// From here on the parser looks for the next field.
    pub fn head(&self) {
        self.0.store(HEAD_BYTES, Ordering::Relaxed);
    }

    /// From here on the reader takes a field's content as it comes.
    pub fn content(&self) {
        self.0.store(usize::MAX, Ordering::Relaxed);
    }

    fn take(&self, bytes: usize) -> Result<(), HeadTooLong> {
        let rest = self.0.load(Ordering::Relaxed).checked_sub(bytes).ok_or(HeadTooLong)?;
        self.0.store(rest, Ordering::Relaxed);
        Ok(())
    }
}

/// A body within an allowance.
pub struct Paced<S> {
    body: S,
    allowance: Allowance,
    /// The last poll gave a piece, which the parser is to look at before the next.
    gave: bool,
}

impl<S> Paced<S> {
    /// Gives `body` as far as `allowance` goes.
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
