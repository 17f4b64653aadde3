//! Counts the commits that a node sends to PostgreSQL, and injects a fault at one of them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::sync::watch;

/// Fault at a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The node is killed, and the commit never reaches the server.
    Before,
    /// The server has committed, and the node is killed before it gets the response.
    After,
    /// The server has committed, and the connection ends before the node gets the response.
    AnswerLost,
}

/// A trap for one node.
#[derive(Debug, Default)]
pub struct Trap(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    seen: u64,
    set: Option<Set>,
    has_sprung: bool,
}

#[derive(Debug, Clone, Copy)]
struct Set {
    pid: i32,
    at: u64,
    when: When,
}

impl Trap {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the trap for a process, at one of the commits from now on, counted from 1.
    pub fn set(&self, pid: i32, at: u64, when: When) {
        *self.lock() = State {
            set: Some(Set { pid, at, when }),
            ..State::default()
        };
    }

    /// Removes the trap; returns whether it sprang, and the number of commits.
    pub fn take(&self) -> (bool, u64) {
        let state = std::mem::take(&mut *self.lock());
        (state.has_sprung, state.seen)
    }

    /// Counts a commit; returns the fault to inject, if any.
    fn commit(&self) -> Option<Set> {
        let mut state = self.lock();
        state.seen += 1;
        let set = state.set.filter(|set| set.at == state.seen)?;
        state.has_sprung = true;
        Some(set)
    }
}

/// State of one connection.
#[derive(Debug, Clone, Copy)]
enum Stage {
    /// Messages without a type come first.
    Opening,
    Talking,
    /// The response to this commit is never forwarded.
    Awaits(Set),
    Sprung,
}

/// Messages that a client sends over one connection.
pub struct Frames<'a> {
    trap: &'a Trap,
    stage: watch::Sender<Stage>,
}

/// Version in a startup message; the messages after it have a type.
const STARTUP: [u8; 4] = [0, 3, 0, 0];

impl<'a> Frames<'a> {
    pub fn new(trap: &'a Trap) -> Self {
        Self {
            trap,
            stage: watch::Sender::new(Stage::Opening),
        }
    }

    /// Waits until the connection must end.
    pub async fn sprung(&self) {
        let mut stage = self.stage.subscribe();
        let _ = stage.wait_for(|stage| matches!(stage, Stage::Sprung)).await;
    }

    /// Takes from the buffer the complete messages to forward.
    pub fn pass(&self, buffer: &mut Vec<u8>) -> Vec<u8> {
        let mut passed = Vec::new();
        loop {
            let stage = *self.stage.borrow();
            let typed = usize::from(!matches!(stage, Stage::Opening));
            let Some(length) = buffer.get(typed..typed + 4).and_then(|bytes| bytes.try_into().ok()) else {
                return passed;
            };
            let whole = typed + u32::from_be_bytes(length) as usize;
            if buffer.len() < whole {
                return passed;
            }
            let message: Vec<u8> = buffer.drain(..whole).collect();
            match stage {
                Stage::Opening if message.get(4..8) == Some(&STARTUP) => drop(self.stage.send_replace(Stage::Talking)),
                Stage::Talking if message.starts_with(b"Q") && message[5..].starts_with(b"COMMIT") => {
                    match self.trap.commit() {
                        Some(set) if set.when == When::Before => {
                            self.spring(set);
                            return passed;
                        }
                        Some(set) => drop(self.stage.send_replace(Stage::Awaits(set))),
                        None => {}
                    }
                }
                Stage::Sprung => return passed,
                _ => {}
            }
            passed.extend_from_slice(&message);
        }
    }

    /// Handles the server's response.
    pub fn answered(&self) {
        let stage = *self.stage.borrow();
        if let Stage::Awaits(set) = stage {
            self.spring(set);
        }
    }

    fn spring(&self, set: Set) {
        if set.when != When::AnswerLost {
            let _ = kill(Pid::from_raw(set.pid), Signal::SIGKILL);
        }
        self.stage.send_replace(Stage::Sprung);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, text: &str) -> Vec<u8> {
        let length = u32::try_from(text.len() + 5).unwrap().to_be_bytes();
        [&[kind][..], &length, text.as_bytes(), &[0]].concat()
    }

    fn opening() -> Vec<u8> {
        let ask_for_tls = [0, 0, 0, 8, 4, 210, 22, 47];
        [&ask_for_tls[..], &[0, 0, 0, 9], &STARTUP, &[0]].concat()
    }

    #[test]
    fn the_answer_to_one_commit_is_held_back() {
        let trap = Trap::default();
        trap.set(0, 2, When::AnswerLost);
        let frames = Frames::new(&trap);
        let sent = [
            opening(),
            message(b'Q', "BEGIN"),
            message(b'Q', "COMMIT"),
            message(b'Q', "COMMIT"),
        ]
        .concat();
        // In two pieces, the second of which begins in the middle of a message.
        let mut buffer = sent[..20].to_vec();
        let mut passed = frames.pass(&mut buffer);
        frames.answered();
        buffer.extend_from_slice(&sent[20..]);
        passed.extend(frames.pass(&mut buffer));
        assert_eq!(passed, sent);
        assert!(matches!(*frames.stage.borrow(), Stage::Awaits(_)));
        frames.answered();
        assert!(matches!(*frames.stage.borrow(), Stage::Sprung));
        assert_eq!(trap.take(), (true, 2));
    }
}
