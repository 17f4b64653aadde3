//! Calls at an Asterisk. Each has its own task, which handles the call's events in order.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
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
use crate::{link::CarrierLink, lock::locked};

/// Queue length per call. Asterisk sends about a dozen events per call.
const WAITING: usize = 64;
/// Time that a dial waits for the event connection. Without events the answer of the call would go unnoticed.
const EVENTS_WITHIN: Duration = Duration::from_secs(2);

/// State of the connection to Asterisk's events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connection {
    /// Not connected, with the reason.
    Down(String),
    /// Asterisk refused the connection; contains its error text.
    Refused(String),
    /// Connected.
    Up,
}

/// Handle to a call's task.
#[derive(Clone)]
struct Handle {
    call: CarrierCallId,
    /// Orders to the task. Dropping the sender ends it.
    orders: mpsc::Sender<Order>,
    /// Distinguishes this task from an earlier one of the same attempt.
    serial: u64,
}

#[derive(Default)]
struct Calls {
    by_attempt: HashMap<AttemptId, Handle>,
    /// Inbound calls, by the channel id that Asterisk assigned.
    came_in: HashMap<String, AttemptId>,
    begun: u64,
}

/// All calls at an Asterisk.
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
    /// Creates a switch without calls.
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

    /// Returns the link that reports to calls, once the service has started.
    pub(super) fn link(&self) -> Option<&CarrierLink> {
        self.link.get()
    }

    /// Sets the link when the service has started.
    pub(super) fn opens(&self, link: CarrierLink) {
        let _ = self.link.set(link);
    }

    /// Sets the state of the event connection.
    pub(super) fn connection_is(&self, connection: Connection) {
        self.connection.send_replace(connection);
    }

    /// Waits until the event connection is up.
    pub(super) async fn hears(&self) -> Result<(), Connection> {
        let mut connection = self.connection.subscribe();
        let settled = connection.wait_for(|connection| !matches!(connection, Connection::Down(_)));
        let settled = tokio::time::timeout(EVENTS_WITHIN, settled).await.is_ok();
        match connection.borrow().clone() {
            Connection::Up if settled => Ok(()),
            other => Err(other),
        }
    }

    /// Starts the task of a dialed or inbound call. The task ends with the call.
    pub(super) fn begin(self: &Arc<Self>, call: CarrierCallId, back: WayBack, state: CallState) {
        let (orders, waiting) = mpsc::channel(WAITING);
        let attempt = back.attempt;
        let mut calls = locked(&self.calls);
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
            effects::run(&switch, call, back, state, waiting).await;
            switch.end(attempt, serial);
        });
    }

    /// Removes a call.
    pub(super) fn forget(&self, attempt: AttemptId) {
        let mut calls = locked(&self.calls);
        if let Some(handle) = calls.by_attempt.remove(&attempt) {
            calls.came_in.remove(&handle.call.0);
        }
    }

    fn end(&self, attempt: AttemptId, serial: u64) {
        let living = locked(&self.calls).by_attempt.get(&attempt).map(|handle| handle.serial);
        match living {
            Some(living) if living == serial => self.forget(attempt),
            // It was dialed again meanwhile and is another call.
            Some(_) => return,
            None => {}
        }
        self.tickets.forget(attempt);
    }

    /// Returns the owner of a channel and the channel's part in the call.
    pub(super) fn owner(&self, channel: &str) -> Option<(AttemptId, Part)> {
        let came_in = || Some((*locked(&self.calls).came_in.get(channel)?, Part::Call));
        self.names.read(channel).or_else(came_in)
    }

    /// Returns the attempt of a carrier call id, if the call has a task here.
    pub(super) fn attempt_of(&self, call: &CarrierCallId) -> Option<AttemptId> {
        let (attempt, part) = self.owner(&call.0)?;
        (part == Part::Call && self.knows(attempt)).then_some(attempt)
    }

    /// Returns whether a call has a task here.
    pub(super) fn knows(&self, attempt: AttemptId) -> bool {
        locked(&self.calls).by_attempt.contains_key(&attempt)
    }

    /// Returns the calls that have a task here, with Asterisk's ids for them.
    pub(super) fn living(&self) -> Vec<(AttemptId, CarrierCallId)> {
        let calls = locked(&self.calls);
        let living = calls.by_attempt.iter();
        living
            .map(|(attempt, handle)| (*attempt, handle.call.clone()))
            .collect()
    }

    /// Queues an order for a call. Returns false if the call has no task here or its queue is full.
    pub(super) fn order(&self, attempt: AttemptId, order: Order) -> bool {
        let handle = locked(&self.calls).by_attempt.get(&attempt).cloned();
        let Some(handle) = handle else { return false };
        match handle.orders.try_send(order) {
            Ok(()) => true,
            Err(error) => {
                metrics::counter!("ringback_asterisk_orders_lost_total").increment(1);
                tracing::warn!(%attempt, %error, "Asterisk command queue is full; command dropped");
                false
            }
        }
    }

    /// Queues an event for a call. Returns false if the call has no task here or its queue is full.
    pub(super) fn happens(&self, attempt: AttemptId, happening: Happening) -> bool {
        self.order(attempt, Order::Happening(happening))
    }
}
