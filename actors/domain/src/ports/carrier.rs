//! The carrier: who places calls on the telephone network, hangs them up, and can say which it knows.

mod control;

pub use control::*;

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    id::AttemptId,
    phone_number::PhoneNumber,
    text::{is_format, is_odd},
    time::Timestamp,
};

/// The carrier's own name for a call leg.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CarrierCallId(pub String);

/// Bytes of a carrier's id of a call: it is the key of an index, and part of an address.
const ID_BYTES: usize = 256;
/// Characters of a carrier's words: they end up in a contact's outcome.
const WORDS_CHARS: usize = 200;

impl CarrierCallId {
    /// Takes what a carrier calls a call if it can be kept and asked for again: 1 to 256 visible ASCII characters that
    /// name a place below the collection of calls, not the collection itself or what is above it.
    pub fn checked(text: &str) -> Option<Self> {
        let plain = (1..=ID_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        (plain && !matches!(text, "." | "..")).then(|| Self(text.to_owned()))
    }
}

/// A carrier's words as they may be kept and shown: of bounded length, without control characters, which no PostgreSQL
/// text may hold all of, and without signs that break a line or turn it round.
pub fn plain_words(text: &str) -> String {
    let words = text.chars().filter(|c| !is_odd(*c) && !is_format(*c)).take(WORDS_CHARS);
    words.collect::<String>().trim().to_owned()
}

/// Whether a dial may still be sent, asked as the last step before its first byte is written: places and connections may
/// have been waited for since the permit. By default it may.
#[derive(Clone, Default)]
pub struct LastLook(Option<Arc<dyn Fn() -> Option<String> + Send + Sync>>);

impl LastLook {
    /// Asks `refusal`, which says why not.
    pub fn new(refusal: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(refusal)))
    }

    /// Why it must not be sent any more; none while it may.
    pub fn refusal(&self) -> Option<String> {
        self.0.as_ref().and_then(|refusal| refusal())
    }
}

impl fmt::Debug for LastLook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastLook")
    }
}

/// One request to place a call. Sent at most once for each permit.
#[derive(Debug, Clone)]
pub struct DialRequest {
    /// The attempt; part of the addresses the carrier calls back.
    pub attempt: AttemptId,
    /// Caller ID; none where the carrier has a default.
    pub from: Option<PhoneNumber>,
    /// Who is called.
    pub to: PhoneNumber,
    /// How long it may ring.
    pub ring_timeout: Duration,
    /// Proves that a status callback belongs to this permit; goes into the callback's address.
    pub status_token: String,
    /// Proves that a media socket belongs to this permit; goes into the stream's address.
    pub media_token: String,
    /// Ask the carrier to find out who answered, where it can.
    pub detect_machine: bool,
    /// The contact's fields. Real carriers ignore them; the simulated exchange reads `persona` and `script`.
    pub hints: BTreeMap<String, String>,
    /// Asked before the request is written.
    pub last_look: LastLook,
}

/// Why a dial failed, sorted by what the dialer may do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    /// The carrier refused this number: certainly not dialed, and never will be.
    #[error("invalid number: {0}")]
    InvalidNumber(String),
    /// The carrier refused the request: certainly not dialed.
    #[error("refused: {0}")]
    Rejected(String),
    /// Too many requests or no line: certainly not dialed, try later.
    #[error("carrier is busy")]
    Busy {
        /// The carrier's own wish for a pause, if it named one.
        retry_after: Option<Duration>,
    },
    /// The carrier refuses the whole account: certainly not dialed, nothing else will be either.
    #[error("account refused: {0}")]
    AccountRefused(String),
    /// No byte of the request was written: certainly not dialed.
    #[error("carrier unreachable: {0}")]
    Unreachable(String),
    /// We held it back ourselves, as it had come too late: certainly not dialed, and no fault of the carrier's.
    #[error("not sent: {0}")]
    HeldBack(String),
    /// Anything after a byte was written: nobody knows whether it rings. Never sent again.
    #[error("outcome unknown: {0}")]
    Unknown(String),
}

/// A carrier request other than dialing that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CarrierError {
    /// The carrier does not know the call (any more).
    #[error("call not found")]
    NotFound,
    /// Not reachable or not well; may be tried again.
    #[error("carrier unavailable: {0}")]
    Unavailable(String),
    /// An answer that is not in the carrier's own format.
    #[error("carrier spoke out of turn: {0}")]
    Protocol(String),
    /// The carrier refuses it, in its words; asked again it would do so again.
    #[error("carrier refuses: {0}")]
    Refused(String),
    /// This carrier has no such service.
    #[error("{0} is not offered by this carrier")]
    NotOffered(&'static str),
}

/// How a leg ended, in the carrier's eyes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndCause {
    /// It was answered and hung up by either side.
    Completed,
    /// Busy.
    Busy,
    /// Nobody answered within the ring timeout.
    NoAnswer,
    /// The callee declined.
    Rejected,
    /// No such number.
    InvalidNumber,
    /// We hung up before the answer.
    Canceled,
    /// The network failed; the carrier's words.
    Failed(String),
}

/// What a status callback tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegReport {
    /// The carrier's id of the leg, where the callback tells it: as good as the dial's answer, should that be lost.
    pub call: Option<CarrierCallId>,
    /// The fact.
    pub progress: CallProgress,
}

impl From<CallProgress> for LegReport {
    fn from(progress: CallProgress) -> Self {
        Self { call: None, progress }
    }
}

/// A fact about a leg, from a status callback or a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallProgress {
    /// The carrier has taken it.
    Placed,
    /// It rings.
    Ringing,
    /// It was answered.
    Answered,
    /// The carrier's verdict on who answered.
    Machine(MachineVerdict),
    /// The call was handed on, and somebody answered there.
    Transferred,
    /// It was to be handed on, and nobody answered there; the carrier's words.
    TransferFailed(String),
    /// It is over.
    Ended(EndCause),
}

/// Who answered, in the carrier's eyes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MachineVerdict {
    /// A person.
    Human,
    /// A mailbox or another machine that greets.
    Machine,
    /// A mailbox whose greeting is over: it records.
    Beep,
    /// A fax.
    Fax,
}

/// A call as the carrier lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCall {
    /// The carrier's id.
    pub call: CarrierCallId,
    /// The attempt it was placed for, where the carrier keeps our mark on a call.
    pub attempt: Option<AttemptId>,
    /// Who was called.
    pub to: String,
    /// Whether it still rings or talks.
    pub live: bool,
}

/// A carrier account.
#[async_trait]
pub trait Carrier: Send + Sync {
    /// The name in settings, routes and rows: `simulated`, `twilio` …
    fn name(&self) -> &'static str;

    /// Whether it places calls at all; one that only brings them in is never chosen for a dial.
    fn dials(&self) -> bool {
        true
    }

    /// Places one call. No retry and no redirect inside; connect 3 s, 10 s in all.
    async fn dial(&self, request: &DialRequest) -> Result<CarrierCallId, DialError>;

    /// Ends a leg, ringing or answered. A leg already over is `NotFound`.
    async fn hang_up(&self, call: &CarrierCallId) -> Result<(), CarrierError>;

    /// Calls placed to `to` since `since`, for settling an unknown fate.
    async fn find_calls(&self, to: &PhoneNumber, since: Timestamp) -> Result<Vec<ListedCall>, CarrierError>;

    /// What it offers beyond that.
    fn abilities(&self) -> CarrierAbilities {
        CarrierAbilities::default()
    }

    /// Whether it hands calls on to numbers; one that places calls can.
    fn transfers(&self) -> bool {
        self.dials()
    }

    /// Hands a call that talks on. When this returns the carrier has taken the wish; its reports tell the rest. The
    /// media socket may close at any time from then on.
    async fn transfer(&self, _call: &CarrierCallId, _transfer: &Transfer) -> Result<(), CarrierError> {
        Err(CarrierError::NotOffered("handing calls on"))
    }

    /// Presses keys in a call that talks: `0` to `9`, `*`, `#`, `A` to `D`, and `w` for half a second's pause. Asked
    /// only where [`CarrierAbilities::digits`] says so.
    async fn send_digits(&self, _call: &CarrierCallId, _digits: &str) -> Result<(), CarrierError> {
        Err(CarrierError::NotOffered("pressing keys"))
    }

    /// Opens the media socket of a call that talks again, after it was lost.
    async fn reopen_media(&self, _call: &CarrierCallId, _back: &WayBack) -> Result<(), CarrierError> {
        Err(CarrierError::NotOffered("opening a lost media socket again"))
    }
}

/// The carriers of a node, each with a name of its own. The first places the calls for which nothing else is said.
#[derive(Clone)]
pub struct Carriers {
    first: Arc<dyn Carrier>,
    others: Arc<[Arc<dyn Carrier>]>,
}

impl Carriers {
    /// One that is asked where nothing else is said, and others that agents' numbers may name.
    pub fn new(first: Arc<dyn Carrier>, others: Vec<Arc<dyn Carrier>>) -> Self {
        Self {
            first,
            others: others.into(),
        }
    }

    /// The one that is asked where nothing else is said.
    pub fn first(&self) -> &Arc<dyn Carrier> {
        &self.first
    }

    /// The one of this name.
    pub fn named(&self, name: &str) -> Option<&Arc<dyn Carrier>> {
        self.all().find(|carrier| carrier.name() == name)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Carrier>> {
        std::iter::once(&self.first).chain(self.others.iter())
    }
}

impl std::fmt::Debug for Carriers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.all().map(|carrier| carrier.name()))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_is_taken_that_can_be_kept_and_asked_for() {
        let longest = "x".repeat(256);
        for id in ["CA1", "a/b?c#d%2e", "...", longest.as_str()] {
            assert_eq!(CarrierCallId::checked(id), Some(CarrierCallId(id.to_owned())));
        }
        let too_long = "x".repeat(257);
        for id in ["", ".", "..", "a b", "a\0", "a\n", "é", "\u{7f}", too_long.as_str()] {
            assert_eq!(CarrierCallId::checked(id), None, "{id:?}");
        }
    }

    #[test]
    fn words_turn_and_break_no_line() {
        let told = "a\u{202e}b\u{2066}c\u{200b}d\u{feff}e\u{2028}f\u{2029}g\u{85}h\u{ad}i\u{e0041}j é – 👍";
        assert_eq!(plain_words(told), "abcdefghij é – 👍");
    }

    proptest! {
        #[test]
        fn words_are_plain_and_short(text in any::<String>(), more in "[a\\x00\n é]{0,600}") {
            let words = plain_words(&format!("{text}{more}"));
            prop_assert!(words.chars().count() <= WORDS_CHARS && !words.contains(char::is_control));
            prop_assert_eq!(plain_words(&words), words);
        }
    }
}
