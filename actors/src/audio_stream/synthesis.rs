//! Synthesis of one text: a task that pulls pieces only as far as they are wanted and sends them back.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use ractor::ActorRef;
use tokio::{sync::Semaphore, task::AbortHandle, time::timeout};

use super::StreamMessage;
use domain::ports::synthesizer::{SpeechError, SpeechPiece, SpeechStream};

/// Number of pieces that may be in flight at once.
const PIECES_AHEAD: usize = 4;

/// Time limit for the first piece of a voice, including its fallback providers.
const FIRST_PIECE: Duration = Duration::from_secs(8);
/// Time limit for each further piece.
const NEXT_PIECE: Duration = Duration::from_secs(10);

/// A running synthesis. Dropping it cancels it.
pub(super) struct Synthesis {
    generation: u64,
    permits: Arc<Semaphore>,
    /// Number of pieces taken whose permit has not been returned yet.
    withheld: usize,
    task: AbortHandle,
}

impl Synthesis {
    pub(super) fn start(generation: u64, pieces: SpeechStream, me: ActorRef<StreamMessage>) -> Self {
        let permits = Arc::new(Semaphore::new(PIECES_AHEAD));
        let report = Report {
            generation,
            me,
            ended: false,
        };
        let task = tokio::spawn(pull(pieces, permits.clone(), report));
        Self {
            generation,
            permits,
            withheld: 0,
            task: task.abort_handle(),
        }
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Notes that a piece was taken.
    pub(super) fn taken(&mut self) {
        self.withheld += 1;
    }

    /// Lets the synthesis continue, since more is wanted.
    pub(super) fn release(&mut self) {
        self.permits.add_permits(std::mem::take(&mut self.withheld));
    }

    /// Returns whether it waits for a release.
    pub(super) fn is_withheld(&self) -> bool {
        self.withheld > 0
    }
}

impl Drop for Synthesis {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reports pieces to the actor. It also reports the end, even if the provider's code panics.
struct Report {
    generation: u64,
    me: ActorRef<StreamMessage>,
    ended: bool,
}

impl Report {
    fn piece(&mut self, piece: Option<Result<SpeechPiece, SpeechError>>) {
        self.ended = !matches!(piece, Some(Ok(_)));
        let generation = self.generation;
        // The actor may be gone.
        let _ = self.me.cast(StreamMessage::Synthesized { generation, piece });
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if !self.ended {
            let error = SpeechError::Protocol("the synthesis broke off without a result".into());
            self.piece(Some(Err(error)));
        }
    }
}

async fn pull(mut pieces: SpeechStream, permits: Arc<Semaphore>, mut report: Report) {
    let mut patience = FIRST_PIECE;
    while !report.ended {
        // The semaphore is never closed.
        let Ok(permit) = permits.acquire().await else { return };
        permit.forget();
        let piece = timeout(patience, pieces.next()).await.unwrap_or_else(|_| {
            let within_s = patience.as_secs();
            Some(Err(SpeechError::Unavailable(format!(
                "nothing came within {within_s} s"
            ))))
        });
        report.piece(piece);
        patience = NEXT_PIECE;
    }
}
