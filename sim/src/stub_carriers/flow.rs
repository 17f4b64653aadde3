//! Flow of an answered leg that follows instructions: it streams, waits, and talks with other legs until it
//! receives other instructions.

use std::time::Duration;

use axum::extract::ws::WebSocket;
use tokio::{
    sync::{broadcast, mpsc, watch},
    time::sleep,
};

use super::{
    base::{StubBase, rooms::Said, stall::Standstill},
    bridge::{MediaSocket, Told},
    legs::Stage,
    line::{FromPhone, Line},
};

/// A change to a leg that follows instructions `I`.
pub enum Change<I> {
    /// Replacement instructions.
    Instead(Vec<I>),
    /// Keys to press.
    Keys(String),
}

/// End of an instruction.
pub enum Next<I> {
    /// Continue with the next one.
    Done,
    /// Continue with other ones.
    Instead(Vec<I>),
    /// The phone was hung up.
    Gone,
}

/// End of a media socket.
pub enum Streamed<I> {
    /// The socket broke as ordered.
    Cut,
    /// The service closed it.
    Closed,
    /// The leg continues without it.
    Next(Next<I>),
}

/// A leg that talks.
pub struct Talk<I> {
    pub line: Line,
    id: String,
    changes: mpsc::Receiver<Change<I>>,
    /// Whether the first media socket has been opened; only that one breaks or stalls.
    had_socket: bool,
}

impl<I> Talk<I> {
    pub fn new(id: &str, phone: WebSocket, changes: mpsc::Receiver<Change<I>>) -> Self {
        Self {
            line: Line::new(phone),
            id: id.to_owned(),
            changes,
            had_socket: false,
        }
    }

    async fn changed(&mut self, change: Option<Change<I>>) -> Option<Next<I>> {
        match change? {
            Change::Instead(others) => Some(Next::Instead(others)),
            Change::Keys(keys) => {
                self.line.press(&keys).await;
                None
            }
        }
    }

    /// Returns instructions that arrived in the meantime.
    pub fn instead(&mut self) -> Option<Vec<I>> {
        match self.changes.try_recv() {
            Ok(Change::Instead(others)) => Some(others),
            _ => None,
        }
    }

    /// Waits for `what` while nothing is said.
    pub async fn until<T>(&mut self, what: impl Future<Output = T>) -> Result<T, Next<I>> {
        tokio::pin!(what);
        loop {
            tokio::select! {
                done = &mut what => return Ok(done),
                said = self.line.hear() => if said.is_none() {
                    return Err(Next::Gone);
                },
                Some(change) = self.changes.recv() => if let Some(next) = self.changed(Some(change)).await {
                    return Err(next);
                },
            }
        }
    }

    pub async fn wait(&mut self, lasts: Duration) -> Next<I> {
        match self.until(sleep(lasts)).await {
            Ok(()) => Next::Done,
            Err(next) => next,
        }
    }

    /// Passes audio between phone and service; `hears` gets the phone's audio.
    pub async fn stream<M: MediaSocket>(
        &mut self,
        base: &StubBase,
        socket: &mut M,
        mut hears: impl FnMut(&[u8]) + Send,
    ) -> Streamed<I> {
        let is_first = !std::mem::replace(&mut self.had_socket, true);
        let cut_after = base.cut_after.filter(|_| is_first);
        let mut standstill = Standstill::new(base.stall.filter(|_| is_first));
        let mut frames = 0;
        loop {
            let still = standstill.is_on(frames);
            if cut_after.is_some_and(|most| frames >= most) {
                return Streamed::Cut;
            }
            tokio::select! {
                said = self.line.hear() => match said {
                    Some(FromPhone::Audio(mulaw)) => {
                        frames += 1;
                        hears(&mulaw);
                        if !still {
                            socket.audio(&mulaw).await;
                        }
                    }
                    Some(FromPhone::Key(key)) => socket.key(&key).await,
                    Some(FromPhone::Mark(mark)) => socket.played(&mark).await,
                    None => return Streamed::Next(Next::Gone),
                },
                told = socket.told(), if !still => match told {
                    Told::Audio(mulaw) => self.line.say(&mulaw).await,
                    Told::Mark(mark) => self.line.mark(&mark).await,
                    Told::Clear => self.line.clear().await,
                    Told::Key(key) => {
                        self.line.press(&key).await;
                        base.pressed(&key);
                    }
                    Told::Nonsense(why) => base.complain(why),
                    Told::Gone => return Streamed::Closed,
                },
                Some(change) = self.changes.recv() => if let Some(next) = self.changed(Some(change)).await {
                    return Streamed::Next(next);
                },
            }
        }
    }

    /// Talks with the others in a room.
    pub async fn converse(&mut self, room: &broadcast::Sender<Said>) -> Next<I> {
        let mut others = room.subscribe();
        loop {
            tokio::select! {
                said = self.line.hear() => match said {
                    Some(FromPhone::Audio(mulaw)) => drop(room.send(Said::Audio(self.id.clone(), mulaw))),
                    Some(_) => {}
                    None => return Next::Gone,
                },
                said = others.recv() => match said {
                    Ok(Said::Audio(by, mulaw)) if by != self.id => self.line.say(&mulaw).await,
                    Ok(Said::Audio(..)) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Ok(Said::Over) | Err(broadcast::error::RecvError::Closed) => return Next::Done,
                },
                Some(change) = self.changes.recv() => if let Some(next) = self.changed(Some(change)).await {
                    return next;
                },
            }
        }
    }

    /// Talks with another leg until that leg is over (`None`), or until this leg ends or gets other instructions.
    pub async fn until_over(
        &mut self,
        room: &broadcast::Sender<Said>,
        mut stages: watch::Receiver<Stage>,
    ) -> Option<Next<I>> {
        let over = async { drop(stages.wait_for(|stage| stage.is_over()).await) };
        tokio::pin!(over);
        tokio::select! {
            () = &mut over => None,
            next = self.converse(room) => match next {
                // The other leg left the room; its line ends any moment.
                Next::Done => None,
                next => Some(next),
            },
        }
    }
}
