//! The carrier, which places calls on the telephone network, hangs them up, and lists the calls it knows.

mod call_id;
mod control;

pub use call_id::CarrierCallId;
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

/// Longest text of a carrier, in characters: it becomes part of a contact's outcome.
const WORDS_CHARS: usize = 200;

/// Returns a carrier's text in a form that may be stored and shown. Its length is limited. Control
/// characters, some of which PostgreSQL cannot store, and characters that break a line or change its
/// direction are removed.
pub fn plain_words(text: &str) -> String {
    let words = text.chars().filter(|c| !is_odd(*c) && !is_format(*c)).take(WORDS_CHARS);
    words.collect::<String>().trim().to_owned()
}

/// Check whether a dial may still be sent, made as the last step before its first byte is written. Time may
/// have passed since the permit while waiting for a slot or a connection. By default the dial may be sent.
#[derive(Clone, Default)]
pub struct LastLook(Option<Arc<dyn Fn() -> Option<String> + Send + Sync>>);

impl LastLook {
    /// Creates a check that asks `refusal`, which returns the reason for a refusal.
    pub fn new(refusal: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(refusal)))
    }

    /// Returns why the dial must not be sent any more; none while it may be.
    pub fn refusal(&self) -> Option<String> {
        self.0.as_ref().and_then(|refusal| refusal())
    }
}

impl fmt::Debug for LastLook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastLook")
    }
}

/// A request to place a call. It is sent at most once per permit.
#[derive(Debug, Clone)]
pub struct DialRequest {
    /// The attempt, which is part of the URLs that the carrier calls back.
    pub attempt: AttemptId,
    /// Caller ID; none to use the carrier's default.
    pub from: Option<PhoneNumber>,
    /// Number to call.
    pub to: PhoneNumber,
    /// Time that it may ring.
    pub ring_timeout: Duration,
    /// Proof that a status callback belongs to this permit; part of the callback's URL.
    pub status_token: String,
    /// Proof that a media socket belongs to this permit; part of the stream's URL.
    pub media_token: String,
    /// Whether the carrier should detect if a person or a machine answered, if it can.
    pub detect_machine: bool,
    /// Fields of the contact. Real carriers ignore them; the simulated carrier reads `persona` and `script`.
    pub hints: BTreeMap<String, String>,
    /// Check made before the request is written.
    pub last_look: LastLook,
}

/// Reason why a dial failed, sorted by what the dialer may do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    /// The carrier rejected this number. Certainly not dialed, and it never will be.
    #[error("invalid number: {0}")]
    InvalidNumber(String),
    /// The carrier does not call this number. Certainly not dialed; other numbers may be called.
    #[error("refused: {0}")]
    Rejected(String),
    /// The carrier refused for a reason that its documents do not explain. Certainly not dialed.
    #[error("refused for an unknown reason ({kind}): {words}")]
    Unclassified {
        /// Name of the reason, from status and error code: the same for each refusal of this kind.
        kind: String,
        /// The carrier's text.
        words: String,
    },
    /// Too many requests, or no line. Certainly not dialed; try later.
    #[error("carrier is busy")]
    Busy {
        /// Pause requested by the carrier, if it named one.
        retry_after: Option<Duration>,
    },
    /// The carrier rejects the whole account. Certainly not dialed, and no other call will be either.
    #[error("account refused: {0}")]
    AccountRefused(String),
    /// No byte of the request was written. Certainly not dialed.
    #[error("carrier unreachable: {0}")]
    Unreachable(String),
    /// We held it back ourselves because it was too late. Certainly not dialed, and no fault of the carrier.
    #[error("not sent: {0}")]
    HeldBack(String),
    /// The request failed after a byte was written, so the call may ring. Never sent again.
    #[error("outcome unknown: {0}")]
    Unknown(String),
}

/// Reason why a carrier request other than dialing failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CarrierError {
    /// The carrier does not know the call, or no longer.
    #[error("call not found")]
    NotFound,
    /// The carrier is unreachable or unhealthy. The request may be tried again.
    #[error("carrier unavailable: {0}")]
    Unavailable(String),
    /// The answer breaks the carrier's own format.
    #[error("invalid answer from the carrier: {0}")]
    Protocol(String),
    /// The carrier rejects the request with this text, and would do so again.
    #[error("rejected by the carrier: {0}")]
    Refused(String),
    /// The carrier has no such function.
    #[error("this carrier does not support {0}")]
    NotOffered(&'static str),
}

/// Cause of the end of a leg, as the carrier reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndCause {
    /// The call was answered, and either side hung up.
    Completed,
    /// The callee was busy.
    Busy,
    /// The ring timeout passed without an answer.
    NoAnswer,
    /// The callee declined.
    Rejected,
    /// There is no such number.
    InvalidNumber,
    /// We hung up before the answer.
    Canceled,
    /// The network failed, with the carrier's text.
    Failed(String),
}

/// Content of a status callback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegReport {
    /// The carrier's id of the leg, if the callback contains it. It replaces a lost answer to the dial.
    pub call: Option<CarrierCallId>,
    /// The reported fact.
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
    /// The carrier has accepted the call.
    Placed,
    /// The phone rings.
    Ringing,
    /// The call was answered.
    Answered,
    /// The carrier has detected a person or a machine.
    Machine(MachineVerdict),
    /// The call was transferred, and somebody answered there.
    Transferred,
    /// The transfer failed because nobody answered there, with the carrier's text.
    TransferFailed(String),
    /// The call is over.
    Ended(EndCause),
}

/// Kind of callee, as the carrier detected it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MachineVerdict {
    /// A person answered.
    Human,
    /// A mailbox or another machine with a greeting answered.
    Machine,
    /// A mailbox answered and has ended its greeting; it records now.
    Beep,
    /// A fax answered.
    Fax,
}

/// A call in the carrier's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCall {
    /// The carrier's id.
    pub call: CarrierCallId,
    /// Attempt that it was placed for, if the carrier stores our reference with a call.
    pub attempt: Option<AttemptId>,
    /// Number that was called.
    pub to: String,
    /// Whether it still rings or is answered.
    pub live: bool,
}

/// A carrier account.
#[async_trait]
pub trait Carrier: Send + Sync {
    /// Returns the name used in settings, routes and rows: `simulated`, `twilio` …
    fn name(&self) -> &'static str;

    /// Returns whether it places calls at all. A carrier for incoming calls only is never chosen for a dial.
    fn dials(&self) -> bool {
        true
    }

    /// Places one call. It never retries or follows redirects; the limits are 3 s to connect and 10 s in total.
    async fn dial(&self, request: &DialRequest) -> Result<CarrierCallId, DialError>;

    /// Ends a leg, ringing or answered. Returns `NotFound` if the leg is already over.
    async fn hang_up(&self, call: &CarrierCallId) -> Result<(), CarrierError>;

    /// Returns the calls placed to `to` since `since`, to settle an unknown outcome.
    async fn find_calls(&self, to: &PhoneNumber, since: Timestamp) -> Result<Vec<ListedCall>, CarrierError>;

    /// Returns its abilities beyond placing and ending calls.
    fn abilities(&self) -> CarrierAbilities {
        CarrierAbilities::default()
    }

    /// Returns whether it transfers calls to numbers. A carrier that places calls can.
    fn transfers(&self) -> bool {
        self.dials()
    }

    /// Transfers an answered call. When this returns, the carrier has accepted the request; its reports tell
    /// the result. The media socket may close at any time from then on.
    async fn transfer(&self, _call: &CarrierCallId, _transfer: &Transfer) -> Result<(), CarrierError> {
        Err(CarrierError::NotOffered("call transfers"))
    }

    /// Presses keys in an answered call: `0` to `9`, `*`, `#`, `A` to `D`, and `w` for a pause of half a
    /// second. Called only if [`CarrierAbilities::digits`] is set.
    async fn send_digits(&self, _call: &CarrierCallId, _digits: &str) -> Result<(), CarrierError> {
        Err(CarrierError::NotOffered("key presses"))
    }

    /// Opens the media socket of an answered call again after it was lost.
    async fn reopen_media(&self, _call: &CarrierCallId, _back: &WayBack) -> Result<(), CarrierError> {
        Err(CarrierError::NotOffered("reopening a lost media socket"))
    }
}

/// The carriers of a node, with distinct names. The first one places calls for which no carrier is named.
#[derive(Clone)]
pub struct Carriers {
    first: Arc<dyn Carrier>,
    others: Arc<[Arc<dyn Carrier>]>,
}

impl Carriers {
    /// Creates the set from the default carrier and others that agents' numbers may name.
    pub fn new(first: Arc<dyn Carrier>, others: Vec<Arc<dyn Carrier>>) -> Self {
        Self {
            first,
            others: others.into(),
        }
    }

    /// Returns the default carrier.
    pub fn first(&self) -> &Arc<dyn Carrier> {
        &self.first
    }

    /// Returns the carrier of this name.
    pub fn named(&self, name: &str) -> Option<&Arc<dyn Carrier>> {
        self.all().find(|carrier| carrier.name() == name)
    }

    /// Returns all carriers.
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
