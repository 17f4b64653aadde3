//! The true events of a call at its carrier.

use actors::call::machine::Ending;
use domain::ports::store::ConversationStatus;
use rand::{Rng, SeedableRng, rngs::StdRng};

/// Longer than the delay of any callback, so that our own time limit decides nothing.
pub const RING_TIMEOUT_MS: u64 = 60_000;

/// Course of a life after the ringing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Busy,
    Rejected,
    InvalidNumber,
    NoAnswer,
    NetworkFailed,
    /// Answered, talked, ended by the callee.
    Talked,
    /// Answered, but no media socket ever came.
    NoMedia,
    /// We end the call while it rings.
    Cancelled,
    /// We end the call while it talks.
    EndedByUs,
    /// The media socket dies without a goodbye, and the call with it.
    Torn,
}

/// A fact that a callback reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    Placed,
    Ringing,
    Answered,
    Ended(Cause),
}

/// Cause of an end, in the carrier's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Completed,
    Busy,
    Rejected,
    InvalidNumber,
    NoAnswer,
    Canceled,
    Failed,
}

/// One life; times in milliseconds after the dial.
#[derive(Debug, Clone)]
pub struct Life {
    pub kind: Kind,
    pub ringing_ms: u64,
    /// Time of the answer, or of whatever else ends the ringing.
    pub decided_ms: u64,
    /// Delay of the media socket after the answer.
    pub media_after_ms: u64,
    /// Length of the conversation.
    pub talk_ms: u64,
}

/// An outcome, as far as the life determines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    Completed,
    Cancelled,
    Failed(&'static str),
    OutcomeUnknown,
    Other,
}

impl Ends {
    pub fn of(ending: &Ending) -> Self {
        let Ending::Outcome(outcome) = ending else {
            return Self::Other;
        };
        match (outcome.status, outcome.error.as_deref()) {
            (ConversationStatus::Completed, None) => Self::Completed,
            (ConversationStatus::Cancelled, None) => Self::Cancelled,
            (ConversationStatus::Failed, Some(error)) => {
                let known = ["busy", "rejected", "invalid-number", "no-answer", "media-lost"];
                match known.into_iter().find(|known| *known == error) {
                    Some(known) => Self::Failed(known),
                    None if error == "carrier-error: outcome unknown" => Self::OutcomeUnknown,
                    None if error.starts_with("carrier-error: ") && !error.contains("unknown") => {
                        Self::Failed("carrier-error")
                    }
                    None => Self::Other,
                }
            }
            _ => Self::Other,
        }
    }
}

impl Life {
    pub fn of(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let kinds = [
            Kind::Busy,
            Kind::Rejected,
            Kind::InvalidNumber,
            Kind::NoAnswer,
            Kind::NetworkFailed,
            Kind::Talked,
            Kind::Talked,
            Kind::NoMedia,
            Kind::Cancelled,
            Kind::EndedByUs,
        ];
        let kind = kinds[random.random_range(0..kinds.len())];
        Self::with(kind, &mut random)
    }

    pub fn torn(seed: u64) -> Self {
        Self::with(Kind::Torn, &mut StdRng::seed_from_u64(seed))
    }

    fn with(kind: Kind, random: &mut StdRng) -> Self {
        let ringing_ms = random.random_range(200..3_000);
        Self {
            kind,
            ringing_ms,
            decided_ms: match kind {
                Kind::NoAnswer => RING_TIMEOUT_MS,
                _ => ringing_ms + random.random_range(1..12_000),
            },
            media_after_ms: random.random_range(1..1_500),
            talk_ms: random.random_range(2_000..40_000),
        }
    }

    /// Returns the outcome of the life.
    pub fn ends(&self) -> Ends {
        match self.kind {
            Kind::Busy => Ends::Failed("busy"),
            Kind::Rejected => Ends::Failed("rejected"),
            Kind::InvalidNumber => Ends::Failed("invalid-number"),
            Kind::NoAnswer => Ends::Failed("no-answer"),
            Kind::NetworkFailed => Ends::Failed("carrier-error"),
            Kind::NoMedia => Ends::Failed("media-lost"),
            Kind::Cancelled => Ends::Cancelled,
            Kind::Talked | Kind::EndedByUs | Kind::Torn => Ends::Completed,
        }
    }

    /// Returns whether somebody picks up.
    pub fn is_answered(&self) -> bool {
        matches!(self.kind, Kind::Talked | Kind::NoMedia | Kind::EndedByUs | Kind::Torn)
    }

    /// Returns when the media socket opens and closes, unless something else ends the call.
    pub fn media_ms(&self) -> Option<(u64, u64)> {
        let opens = self.decided_ms + self.media_after_ms;
        (self.is_answered() && self.kind != Kind::NoMedia).then_some((opens, opens + self.talk_ms))
    }

    /// Returns the carrier's facts, if we never hang up.
    pub fn facts(&self) -> Vec<(u64, Fact)> {
        let mut facts = vec![(1, Fact::Placed), (self.ringing_ms, Fact::Ringing)];
        let cause = match self.kind {
            Kind::Busy => Cause::Busy,
            Kind::Rejected => Cause::Rejected,
            Kind::InvalidNumber => Cause::InvalidNumber,
            Kind::NoAnswer | Kind::Cancelled => Cause::NoAnswer,
            Kind::NetworkFailed => Cause::Failed,
            Kind::Talked | Kind::NoMedia | Kind::EndedByUs | Kind::Torn => Cause::Completed,
        };
        if self.is_answered() {
            facts.push((self.decided_ms, Fact::Answered));
        }
        let ended_ms = match (self.media_ms(), self.kind) {
            (Some((_, closed)), _) => closed,
            (None, Kind::NoMedia) => self.decided_ms + 5_000,
            (None, Kind::Cancelled) => RING_TIMEOUT_MS,
            (None, _) => self.decided_ms,
        };
        facts.push((ended_ms, Fact::Ended(cause)));
        facts
    }

    /// Returns when we end the call ourselves.
    pub fn our_end_ms(&self) -> Option<u64> {
        match self.kind {
            Kind::Cancelled => Some(self.decided_ms),
            // Somebody talks by then, whichever callback is late.
            Kind::EndedByUs => Some(self.decided_ms + self.media_after_ms + self.talk_ms / 2),
            _ => None,
        }
    }
}
