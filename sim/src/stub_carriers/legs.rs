//! The legs that a stub knows: their stage, reports about them, and pending changes for their phones.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock},
};

use domain::time::Timestamp;
use tokio::sync::{mpsc, watch};

use super::{
    base::{
        delivery,
        phones::{Cause, Progress},
    },
    settings::locked,
};

/// Most changes that may wait for a phone.
const CHANGES: usize = 16;

/// Stage of a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Its phone has not been rung.
    Queued,
    Started,
    Ringing,
    Answered,
    Over(Cause),
}

impl Stage {
    pub fn is_over(self) -> bool {
        matches!(self, Self::Over(_))
    }
}

impl From<Progress> for Stage {
    fn from(progress: Progress) -> Self {
        match progress {
            Progress::Ringing => Self::Ringing,
            Progress::Answered => Self::Answered,
            Progress::Ended { cause } => Self::Over(cause),
        }
    }
}

/// A leg that was created by an order `O`, takes changes `C`, and is reported as `T`.
pub struct Leg<O, C, T> {
    pub id: String,
    pub order: O,
    pub created: Timestamp,
    /// The exchange's id of its line, once the exchange has accepted it.
    pub line: OnceLock<String>,
    stage: watch::Sender<Stage>,
    told: Mutex<Option<mpsc::Sender<T>>>,
    changes: mpsc::Sender<C>,
    waiting: Mutex<Option<mpsc::Receiver<C>>>,
}

impl<O, C, T> Leg<O, C, T> {
    pub fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    pub fn stages(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    pub fn is_at(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }

    pub fn is_over(&self) -> bool {
        self.stage().is_over()
    }

    /// Waits until the leg is answered or over.
    pub async fn settled(&self) {
        let settled = |stage: &Stage| matches!(stage, Stage::Answered | Stage::Over(_));
        let _ = self.stages().wait_for(settled).await;
    }

    pub async fn ended(&self) {
        let _ = self.stages().wait_for(|stage| stage.is_over()).await;
    }

    /// Queues a report about the leg, unless its end was already reported; the queue never fills.
    pub fn tell(&self, what: T) {
        if let Some(told) = locked(&self.told).as_ref() {
            let _ = told.try_send(what);
        }
    }

    /// Closes the queue of reports.
    pub fn told_all(&self) {
        *locked(&self.told) = None;
    }

    /// Returns the receiver of changes to the first caller, then `None`.
    pub fn changes(&self) -> Option<mpsc::Receiver<C>> {
        locked(&self.waiting).take()
    }

    /// Queues a change; returns whether the leg accepts it, which it does once answered.
    pub fn change(&self, change: C) -> bool {
        self.stage() == Stage::Answered && self.changes.try_send(change).is_ok()
    }
}

/// A leg and the receiver of reports about it.
pub type Added<O, C, T> = (Arc<Leg<O, C, T>>, mpsc::Receiver<T>);

type ById<L> = BTreeMap<String, Arc<L>>;

/// All legs of a stub.
pub struct Legs<O, C, T>(Mutex<ById<Leg<O, C, T>>>);

impl<O, C, T> Default for Legs<O, C, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<O, C, T> Legs<O, C, T> {
    /// Adds a leg; reports about it arrive at the returned receiver.
    pub fn add(&self, id: String, order: O, created: Timestamp) -> Added<O, C, T> {
        let (told, all) = mpsc::channel(delivery::WAITING);
        let (changes, waiting) = mpsc::channel(CHANGES);
        let leg = Arc::new(Leg {
            id,
            order,
            created,
            line: OnceLock::new(),
            stage: watch::Sender::new(Stage::Queued),
            told: Mutex::new(Some(told)),
            changes,
            waiting: Mutex::new(Some(waiting)),
        });
        locked(&self.0).insert(leg.id.clone(), leg.clone());
        (leg, all)
    }

    pub fn get(&self, id: &str) -> Option<Arc<Leg<O, C, T>>> {
        locked(&self.0).get(id).cloned()
    }

    pub fn remove(&self, id: &str) {
        locked(&self.0).remove(id);
    }

    /// Returns all legs, oldest first.
    pub fn all(&self) -> Vec<Arc<Leg<O, C, T>>> {
        let mut all: Vec<_> = locked(&self.0).values().cloned().collect();
        all.sort_by_key(|leg| leg.created);
        all
    }
}
