//! Transfers: whom they ring, and how the ringing ends.

use std::{collections::BTreeMap, time::Duration};

use super::{
    log::LogEvent,
    persona::{Callee, Persona},
    settings::{ExchangeSettings, SET_UP},
};

/// Kind of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The caller's stream ends at once.
    Blind,
    /// The caller's stream stays until the target answers.
    Conference,
}

/// A requested transfer and its planned result.
#[derive(Debug, Clone)]
pub(super) struct Onward {
    pub(super) kind: Kind,
    pub(super) to: String,
    /// Address at which to reopen the caller's stream if nobody answers.
    pub(super) stream_url: String,
    /// Ringing time of the target.
    pub(super) rings: Duration,
    /// Reason why nobody answers; `None` if the target answers.
    pub(super) refusal: Option<&'static str>,
    pub(super) callee: Callee,
}

impl Onward {
    /// Plans a transfer. The number alone determines who is there.
    pub(super) fn plan(
        settings: &ExchangeSettings,
        kind: Kind,
        to: String,
        stream_url: String,
        ring_timeout: Duration,
    ) -> Self {
        let callee = Callee::choose(&BTreeMap::new(), &to, &settings.scripts);
        let rings = settings.pick_up_after(&to);
        let (rings, refusal) = match callee.persona {
            Persona::Busy => (SET_UP, Some("busy")),
            Persona::Invalid => (SET_UP, Some("invalid-number")),
            Persona::Rejects => (rings.min(ring_timeout), Some("rejected")),
            Persona::NoAnswer => (ring_timeout, Some("no-answer")),
            _ if rings >= ring_timeout => (ring_timeout, Some("no-answer")),
            _ => (rings, None),
        };
        Self {
            kind,
            to,
            stream_url,
            rings,
            refusal,
            callee,
        }
    }
}

/// Returns the record entry of the request.
pub(super) fn asked(onward: &Onward) -> LogEvent {
    LogEvent::TransferAsked {
        to: onward.to.clone(),
        kind: match onward.kind {
            Kind::Blind => "blind",
            Kind::Conference => "conference",
        }
        .to_owned(),
    }
}
