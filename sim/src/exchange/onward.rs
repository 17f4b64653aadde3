//! Transfers: whom they ring, how the ringing ends, and the two joined telephones.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use super::{
    Switch,
    call::{Entry, SET_UP, pick_up_after},
    handset::{Frame, Handset},
    log::LogEvent,
    persona::{Callee, Person, Persona},
    protocol::Incoming,
    stagger::FRAME,
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
    callee: Callee,
}

impl Onward {
    /// Plans a transfer. The number alone determines who is there.
    pub(super) fn plan(switch: &Switch, kind: Kind, to: String, stream_url: String, ring_timeout: Duration) -> Self {
        let callee = Callee::choose(&BTreeMap::new(), &to, &switch.settings.scripts);
        let rings = pick_up_after(switch, &to);
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

/// Lets the two talk until one of them hangs up or the call is ended.
pub(super) async fn join(switch: &Switch, entry: &Entry, callee: (&mut Handset, Instant), onward: &Onward) {
    let person = Person::new(&onward.to, switch.settings.seed);
    let mut there =
        Handset::new(onward.callee.behaviour(person), &onward.to).on_line(&onward.callee.line(), &onward.to);
    let (here, opened) = callee;
    let joined = Instant::now();
    let talk = async {
        let mut frames = interval(FRAME);
        frames.set_missed_tick_behavior(MissedTickBehavior::Burst);
        loop {
            frames.tick().await;
            let one = pass(here, opened, &mut there, joined);
            for event in here.take_log() {
                switch.log.add(&entry.order.call_id, event);
            }
            let other = pass(&mut there, joined, here, opened);
            // Speech of the target is no part of this call's record.
            there.take_log();
            if [one, other]
                .iter()
                .any(|frame| frame.hang_up || frame.drop || frame.lose)
            {
                return;
            }
        }
    };
    tokio::select! {
        () = entry.hang_up.notified() => {}
        _ = timeout_at(joined + switch.settings.longest_call, talk) => {}
    }
}

/// Passes one frame from one telephone to the other.
fn pass(from: &mut Handset, opened: Instant, to: &mut Handset, other_opened: Instant) -> Frame {
    let mut frame = from.tick(micros(opened));
    if let Some(voice) = frame.voice.take() {
        to.receive(Incoming::Audio(voice), micros(other_opened));
    }
    frame
}

/// Returns the microseconds since then.
pub(super) fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
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
