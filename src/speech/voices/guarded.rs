//! A synthesis under its provider's guard: let through or not, and judged by how it goes, even when it is dropped.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use actors::ports::synthesizer::SpeechPiece;
use futures_util::{Stream, StreamExt, stream};
use tokio::time::Instant;

use super::{mouth::Pieces, trouble::Trouble};
use crate::providers::guard::{Guard, Pass};

/// A provider that had said nothing for so long when it was given up is unwell.
const SLOW: Duration = Duration::from_millis(1_200);

/// Begins a synthesis if its provider may be asked.
pub(super) fn guarded(guard: Option<&Guard>, start: impl FnOnce() -> Pieces) -> Pieces {
    let Some(guard) = guard else { return start() };
    match guard.admit() {
        Ok(pass) => Guarded {
            pieces: start(),
            pass: Some(pass),
            begun: false,
            waiting_since: Some(Instant::now()),
        }
        .boxed(),
        Err(tripped) => {
            let why = format!("{}: {tripped}", guard.provider());
            stream::iter([Err(Trouble::Unavailable(why))]).boxed()
        }
    }
}

struct Guarded {
    pieces: Pieces,
    pass: Option<Pass>,
    begun: bool,
    /// Nothing has come since.
    waiting_since: Option<Instant>,
}

impl Stream for Guarded {
    type Item = Result<SpeechPiece, Trouble>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.pieces.poll_next_unpin(cx);
        match &polled {
            Poll::Pending => {
                self.waiting_since.get_or_insert_with(Instant::now);
            }
            Poll::Ready(Some(Ok(_))) => (self.begun, self.waiting_since) = (true, None),
            Poll::Ready(None) => {
                if let Some(pass) = self.pass.take() {
                    pass.succeeded();
                }
            }
            Poll::Ready(Some(Err(trouble))) => {
                if let Some(pass) = self.pass.take() {
                    pass.failed(trouble.verdict(), &trouble.to_string());
                }
            }
        }
        polled
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let Some(pass) = self.pass.take() else { return };
        let slow = self.waiting_since.is_some_and(|since| since.elapsed() >= SLOW);
        match (slow, self.begun) {
            (true, _) => pass.failed(crate::providers::guard::Verdict::Unwell, "no audio in time"),
            (false, true) => pass.succeeded(),
            (false, false) => drop(pass),
        }
    }
}
