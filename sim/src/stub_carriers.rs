//! Carriers for tests: the real ones' APIs, signed callbacks and media sockets on real sockets, in front of the phones
//! of an exchange. Written from the carriers' documents and not from our clients, so that a mistake in one is not
//! repeated in the other. They lose answers, repeat and reorder callbacks, and refuse, by order.

pub mod asterisk;
mod base;
mod bridge;
mod caller;
mod delivery;
mod ear;
mod flow;
mod legs;
mod line;
mod phones;
mod rooms;
pub mod run;
mod sound;
mod stall;
pub mod telnyx;
pub mod twilio;
pub mod vonage;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    ops::RangeInclusive,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::time::Clock;

pub use self::{
    base::{Handle, StubBase},
    delivery::Callbacks,
    stall::Stall,
};
use crate::exchange::Script;

/// The one number of each stub's account.
pub const NUMBER: &str = "+15550000001";
/// Where a service is that was told nothing else.
pub const SERVICE: &str = "http://127.0.0.1:8080";

/// How a stub carrier is to behave.
#[derive(Debug, Clone)]
pub struct StubCarrierSettings {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Who picks up at which number, by the personas of the exchange or the names of scripts.
    pub personas: BTreeMap<String, String>,
    /// What phones may follow.
    pub scripts: BTreeMap<String, Script>,
    /// In which order callbacks come, and how often.
    pub callbacks: Callbacks,
    /// What becomes of the dials, in order; behind the last one all is well.
    pub dials: Vec<DialFault>,
    /// The first media socket of each call breaks after so many frames of the phone's.
    pub cut_after: Option<u64>,
    /// The first media socket of each call stands still.
    pub stall: Option<Stall>,
    /// How long it rings before somebody picks up, where that is not the exchange's own choice.
    pub pick_up: Option<RangeInclusive<Duration>>,
    /// Wall clock of its list of calls.
    pub clock: Arc<dyn Clock>,
    /// Where the service is that calls from outside are announced to, without a slash at the end.
    pub service: String,
}

impl StubCarrierSettings {
    /// A sound carrier on a free loopback port, with these callees.
    pub fn on_loopback(clock: Arc<dyn Clock>, personas: &[(&str, &str)]) -> Self {
        let personas = personas
            .iter()
            .map(|(number, persona)| ((*number).to_owned(), (*persona).to_owned()));
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            personas: personas.collect(),
            scripts: BTreeMap::new(),
            callbacks: Callbacks::InOrder,
            dials: Vec::new(),
            cut_after: None,
            stall: None,
            pick_up: None,
            clock,
            service: SERVICE.to_owned(),
        }
    }
}

/// What becomes of a dial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialFault {
    /// It is answered.
    None,
    /// The call is placed, and the answer never comes.
    LoseAnswer,
    /// Too many requests.
    Throttle {
        /// The pause asked for.
        retry_after: Option<Duration>,
    },
    /// The account's key is not taken.
    RefuseAccount,
    /// Refused with an error of the carrier's own, by its number.
    Refuse(u32),
    /// An error of the server's before the call is placed.
    Break,
}

/// A dial as it came in, whatever became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dial {
    /// Who is called.
    pub to: String,
    /// Caller ID.
    pub from: String,
    /// Where callbacks go.
    pub status_url: String,
    /// Where the media socket goes.
    pub stream_url: String,
}

/// A callback that was delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// The status it told.
    pub status: String,
    /// The HTTP status it was answered with; 0 for no answer.
    pub answer: u16,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // No panic leaves what is kept here half-changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
