//! Settings of a stub carrier, and what it remembers of a dial.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    ops::RangeInclusive,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::time::Clock;

use super::base::{delivery::Callbacks, stall::Stall};
use crate::exchange::Script;

/// The number of each stub's account that calls use.
pub const NUMBER: &str = "+15550000001";
/// All numbers of each stub's account.
pub const NUMBERS: [&str; 3] = [NUMBER, "+15550000002", "+15550000003"];
/// Numbers on one page of a list, whatever was requested.
pub(super) const NUMBERS_PER_PAGE: usize = 2;
/// Default address of the service.
pub const SERVICE: &str = "http://127.0.0.1:8080";

/// Settings of a stub carrier.
#[derive(Debug, Clone)]
pub struct StubCarrierSettings {
    /// Listen address; port 0 takes a free port.
    pub listen: SocketAddr,
    /// Callee of each number: a persona of the exchange or the name of a script.
    pub personas: BTreeMap<String, String>,
    /// Scripts for phones.
    pub scripts: BTreeMap<String, Script>,
    /// Order and repetition of callbacks.
    pub callbacks: Callbacks,
    /// Faults of the dials, in order; dials after the last one succeed.
    pub dials: Vec<DialFault>,
    /// Number of the phone's frames after which the first media socket of each call breaks.
    pub cut_after: Option<u64>,
    /// Stall of the first media socket of each call.
    pub stall: Option<Stall>,
    /// Range of the ringing time; `None` leaves it to the exchange.
    pub pick_up: Option<RangeInclusive<Duration>>,
    /// Keeps the audio that the phones play, for [`played`](super::StubBase::played).
    pub keep_audio: bool,
    /// Wall clock of its list of calls.
    pub clock: Arc<dyn Clock>,
    /// Base URL of the service to which inbound calls are announced, without a trailing slash.
    pub service: String,
}

impl StubCarrierSettings {
    /// Returns a carrier without faults on a free loopback port, with these callees.
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
            keep_audio: false,
            clock,
            service: SERVICE.to_owned(),
        }
    }
}

/// Fault of a dial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialFault {
    /// The dial is answered.
    None,
    /// The call is placed, and the response never arrives.
    LoseAnswer,
    /// Too many requests.
    Throttle {
        /// Requested pause.
        retry_after: Option<Duration>,
    },
    /// The account's key is rejected.
    RefuseAccount,
    /// Refused with one of the carrier's own errors, by its number.
    Refuse(u32),
    /// Refused with this status and body, as the real carrier writes them.
    Answer(u16, &'static str),
    /// The server fails before the call is placed.
    Break,
}

/// A dial as it was received, whatever its result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dial {
    /// Number called.
    pub to: String,
    /// Caller ID.
    pub from: String,
    /// Address of the callbacks.
    pub status_url: String,
    /// Address of the media socket.
    pub stream_url: String,
}

/// A delivered callback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// Reported status.
    pub status: String,
    /// HTTP status of the response; 0 for no response.
    pub answer: u16,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // No panic leaves the content half-changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
