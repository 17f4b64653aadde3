//! Synthesis in progress, shared by all calls that want it. It goes on as long as one call listens.

use std::sync::Mutex;

use domain::ports::synthesizer::SpeechPiece;
use futures_util::{StreamExt, stream};
use std::sync::Arc;
use tokio::sync::watch;

use super::speech::{Speech, locked};
use crate::{failure::Failure, protocols::tts::provider::Pieces};

#[derive(Debug, Clone)]
enum Stage {
    Flying,
    Over(Result<(), Failure>),
}

#[derive(Debug)]
pub(super) struct Flight {
    pieces: Mutex<Vec<SpeechPiece>>,
    /// Stage, updated with every piece. Its receivers are the listeners.
    stage: watch::Sender<Stage>,
}

impl Flight {
    pub(super) fn new() -> Self {
        Self {
            pieces: Mutex::default(),
            stage: watch::Sender::new(Stage::Flying),
        }
    }

    /// Returns all pieces from the start, including those to come.
    pub(super) fn listen(self: &Arc<Self>) -> Pieces {
        let listener = (self.clone(), self.stage.subscribe(), 0);
        stream::unfold(Some(listener), async |listener| {
            let (flight, mut stage, at) = listener?;
            loop {
                // The stage is read before the pieces, so that a later piece shows as a change.
                let now = stage.borrow_and_update().clone();
                let piece = locked(&flight.pieces).get(at).cloned();
                match (piece, now) {
                    (Some(piece), _) => return Some((Ok(piece), Some((flight, stage, at + 1)))),
                    (None, Stage::Over(Ok(()))) => return None,
                    (None, Stage::Over(Err(failure))) => return Some((Err(failure), None)),
                    // The sender lives as long as the flight, which this stream holds.
                    (None, Stage::Flying) => drop(stage.changed().await),
                }
            }
        })
        .boxed()
    }

    /// Returns whether nobody listens.
    pub(super) fn is_left(&self) -> bool {
        self.stage.receiver_count() == 0
    }

    /// Runs a synthesis to its end. Returns `None` if it failed, or if nobody listened any more and
    /// `may_leave` returned true.
    pub(super) async fn carry(&self, mut pieces: Pieces, may_leave: impl Fn() -> bool) -> Option<Speech> {
        loop {
            let piece = tokio::select! {
                biased;
                piece = pieces.next() => piece,
                () = self.stage.closed() => match may_leave() {
                    true => return None,
                    false => continue,
                },
            };
            match piece {
                Some(Ok(piece)) => {
                    locked(&self.pieces).push(piece);
                    self.stage.send_replace(Stage::Flying);
                }
                Some(Err(failure)) => {
                    self.stage.send_replace(Stage::Over(Err(failure)));
                    return None;
                }
                None => {
                    self.stage.send_replace(Stage::Over(Ok(())));
                    let pieces = locked(&self.pieces).clone();
                    return (!pieces.is_empty()).then(|| Speech(pieces.into()));
                }
            }
        }
    }

    /// Ends the flight with a failure unless it has ended already.
    pub(super) fn break_off(&self) {
        self.stage.send_if_modified(|stage| {
            let flying = matches!(stage, Stage::Flying);
            if flying {
                let why = "the synthesis broke off without a result";
                *stage = Stage::Over(Err(Failure::Protocol(why.into())));
            }
            flying
        });
    }
}
