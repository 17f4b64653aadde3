//! Synthesis under its provider's guard. It is admitted or not, and its result is reported even when it is dropped.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use domain::ports::synthesizer::SpeechPiece;
use futures_util::{Stream, StreamExt, stream};
use tokio::time::Instant;

use crate::{failure::Failure, protocols::tts::provider::Pieces};
use net::guard::{Guard, Pass, Verdict};

/// Time without any audio after which a dropped synthesis counts against its provider.
const SLOW: Duration = Duration::from_millis(1_200);
/// Time by which the wait may exceed the audio's length before it counts against the provider. It is shorter
/// than the player's timeout.
const BEHIND: Duration = Duration::from_millis(2_000);

/// Call for which the text is spoken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listener {
    /// Number of the call.
    pub call: u64,
    /// Samples per millisecond on the line.
    pub samples_per_ms: u64,
}

/// Starts a synthesis if its provider may be asked.
pub(super) fn guarded(guard: Option<&Guard>, listener: Listener, start: impl FnOnce() -> Pieces) -> Pieces {
    let Some(guard) = guard else { return start() };
    match guard.admit() {
        Ok(pass) => Guarded {
            pieces: start(),
            pass: Some(pass.for_call(listener.call)),
            samples_per_ms: listener.samples_per_ms.max(1),
            begun: false,
            waited: Duration::ZERO,
            samples: 0,
            waiting_since: Some(Instant::now()),
        }
        .boxed(),
        Err(tripped) => {
            let why = format!("{}: {tripped}", guard.provider());
            stream::iter([Err(Failure::Unavailable(why))]).boxed()
        }
    }
}

struct Guarded {
    pieces: Pieces,
    pass: Option<Pass>,
    samples_per_ms: u64,
    begun: bool,
    /// Total wait for the pieces after the first.
    waited: Duration,
    samples: u64,
    /// Time since which nothing has come.
    waiting_since: Option<Instant>,
}

impl Guarded {
    fn waits(&self) -> Duration {
        self.waiting_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn took(&mut self, piece: &SpeechPiece) {
        if self.begun {
            self.waited += self.waits();
        }
        self.samples += piece.samples.len() as u64;
        (self.begun, self.waiting_since) = (true, None);
    }

    fn is_behind(&self) -> bool {
        let audio = Duration::from_millis(self.samples / self.samples_per_ms);
        self.begun && self.waited + self.waits() >= audio + BEHIND
    }

    fn settle(&mut self) {
        let behind = self.is_behind();
        match self.pass.take() {
            Some(pass) if behind => pass.failed(Verdict::Unhealthy, "slower than speech"),
            Some(pass) => pass.succeeded(),
            None => {}
        }
    }
}

impl Stream for Guarded {
    type Item = Result<SpeechPiece, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.pieces.poll_next_unpin(cx);
        match &polled {
            Poll::Pending => {
                self.waiting_since.get_or_insert_with(Instant::now);
            }
            Poll::Ready(Some(Ok(piece))) => self.took(piece),
            Poll::Ready(None) => self.settle(),
            Poll::Ready(Some(Err(failure))) => {
                if let (Some(pass), Some(verdict)) = (self.pass.take(), failure.verdict()) {
                    pass.failed(verdict, &failure.to_string());
                }
            }
        }
        polled
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        match (self.waits() >= SLOW, self.begun) {
            (true, _) => {
                if let Some(pass) = self.pass.take() {
                    pass.failed(Verdict::Unhealthy, "no audio in time");
                }
            }
            (false, true) => self.settle(),
            // The synthesis was cancelled.
            (false, false) => {}
        }
    }
}
