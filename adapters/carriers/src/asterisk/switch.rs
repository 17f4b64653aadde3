//! The calls at an Asterisk: each has a task of its own, which takes what happens to it in order and does what follows.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use domain::{
    id::AttemptId,
    ports::carrier::{CarrierCallId, WayBack},
};
use tokio::sync::{mpsc, watch};

use super::{
    ari::Ari,
    audiosocket::tickets::Tickets,
    call::{CallState, Happening},
    effects::{self, Order},
    names::{Names, Part},
};
use crate::CarrierLink;

/// What may wait for one call: Asterisk tells a dozen things of one.
const WAITING: usize = 64;
/// A dial waits so long for the events to be heard: without them nobody would see the call answered.
const EVENTS_WITHIN: Duration = Duration::from_secs(2);

/// Whether Asterisk's events are heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connection {
    /// Not now; why.
    Down(String),
    /// Asterisk refuses us; its words.
    Refused(String),
    /// Yes.
    Up,
}

/// One call's task.
#[derive(Clone)]
struct Handle {
    call: CarrierCallId,
    /// Dropped, it ends the task.
    orders: mpsc::Sender<Order>,
    /// Tells it from an earlier one of the same attempt.
    serial: u64,
}

#[derive(Default)]
struct Calls {
    by_attempt: HashMap<AttemptId, Handle>,
    /// Calls that came in have names of Asterisk's own.
    came_in: HashMap<String, AttemptId>,
    begun: u64,
}

/// All of them.
pub struct Switch {
    pub(super) ari: Ari,
    pub(super) names: Names,
    pub(super) tickets: Tickets,
    connection: watch::Sender<Connection>,
    link: OnceLock<CarrierLink>,
    calls: Mutex<Calls>,
}

impl std::fmt::Debug for Switch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Switch")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

impl Switch {
    /// No call yet.
    pub fn new(ari: Ari) -> Self {
        Self {
            names: Names::new(&ari.account().app),
            ari,
            tickets: Tickets::default(),
            connection: watch::Sender::new(Connection::Down("not connected yet".to_owned())),
            link: OnceLock::new(),
            calls: Mutex::default(),
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        // No panic leaves what is kept here half-changed.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where calls are told what happens to them, once the service stands.
    pub(super) fn link(&self) -> Option<&CarrierLink> {
        self.link.get()
    }

    /// The service stands.
    pub(super) fn opens(&self, link: CarrierLink) {
        let _ = self.link.set(link);
    }

    /// Events are heard, or not.
    pub(super) fn connection_is(&self, connection: Connection) {
        self.connection.send_replace(connection);
    }

    /// Waits for the events to be heard.
    ///
    /// # Errors
    ///
    /// When they are not; how it stands.
    pub(super) async fn hears(&self) -> Result<(), Connection> {
        let mut connection = self.connection.subscribe();
        let settled = connection.wait_for(|connection| !matches!(connection, Connection::Down(_)));
        let settled = tokio::time::timeout(EVENTS_WITHIN, settled).await.is_ok();
        match connection.borrow().clone() {
            Connection::Up if settled => Ok(()),
            other => Err(other),
        }
    }

    /// A call begins, dialed or come in. Its task ends with it.
    pub(super) fn begin(self: &Arc<Self>, call: CarrierCallId, back: WayBack, state: CallState) {
        let (orders, waiting) = mpsc::channel(WAITING);
        let attempt = back.attempt;
        let mut calls = self.calls();
        if self.names.read(&call.0).is_none() {
            calls.came_in.insert(call.0.clone(), attempt);
        }
        calls.begun += 1;
        let serial = calls.begun;
        let handle = Handle {
            call: call.clone(),
            orders,
            serial,
        };
        calls.by_attempt.insert(attempt, handle);
        drop(calls);
        let switch = self.clone();
        tokio::spawn(async move {
            effects::run(&switch, (call, back), state, waiting).await;
            switch.end(attempt, serial);
        });
    }

    /// A call of which nothing more is to be known.
    pub(super) fn forget(&self, attempt: AttemptId) {
        let mut calls = self.calls();
        if let Some(handle) = calls.by_attempt.remove(&attempt) {
            calls.came_in.remove(&handle.call.0);
        }
    }

    fn end(&self, attempt: AttemptId, serial: u64) {
        let living = self.calls().by_attempt.get(&attempt).map(|handle| handle.serial);
        match living {
            Some(living) if living == serial => self.forget(attempt),
            // Dialed anew meanwhile, it is another call.
            Some(_) => return,
            None => {}
        }
        self.tickets.forget(attempt);
    }

    /// Whose channel this is, and what it is to its call.
    pub(super) fn owner(&self, channel: &str) -> Option<(AttemptId, Part)> {
        let came_in = || Some((*self.calls().came_in.get(channel)?, Part::Call));
        self.names.read(channel).or_else(came_in)
    }

    /// The call an id of the carrier's names, if it lives here.
    pub(super) fn attempt_of(&self, call: &CarrierCallId) -> Option<AttemptId> {
        let (attempt, part) = self.owner(&call.0)?;
        (part == Part::Call && self.knows(attempt)).then_some(attempt)
    }

    /// Whether a call lives here.
    pub(super) fn knows(&self, attempt: AttemptId) -> bool {
        self.calls().by_attempt.contains_key(&attempt)
    }

    /// The calls that live here, and Asterisk's names for them.
    pub(super) fn living(&self) -> Vec<(AttemptId, CarrierCallId)> {
        let calls = self.calls();
        let living = calls.by_attempt.iter();
        living
            .map(|(attempt, handle)| (*attempt, handle.call.clone()))
            .collect()
    }

    /// Gives a call an order; whether it lives here and could take it.
    pub(super) fn order(&self, attempt: AttemptId, order: Order) -> bool {
        let handle = self.calls().by_attempt.get(&attempt).cloned();
        let Some(handle) = handle else { return false };
        match handle.orders.try_send(order) {
            Ok(()) => true,
            Err(error) => {
                metrics::counter!("ringback_asterisk_orders_lost_total").increment(1);
                tracing::warn!(%attempt, %error, "a call at Asterisk is told more than it can take");
                false
            }
        }
    }

    /// Something happened to a call; whether it lives here.
    pub(super) fn happens(&self, attempt: AttemptId, happening: Happening) -> bool {
        self.order(attempt, Order::Happening(happening))
    }
}
