//! Attempts: claim, permit, fencing and outcome. An attempt is dialed at most once and no contact is lost.
//!
//! The states are `queued → claimed → dialing → dialed → answered → final`, and `unknown` for a dial whose
//! outcome nobody knows. An incoming call begins as `dialed`. Every write that follows a claim is guarded by
//! owner and epoch; the store offers no unguarded one.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{directory::CampaignContact, error::StoreResult};
use crate::{
    dial_token::DialToken,
    id::{AccountId, AgentId, AttemptId, CampaignId, NodeId},
    node_times::Patience,
    phone_number::PhoneNumber,
    ports::carrier::CarrierCallId,
    time::Timestamp,
};

/// Error of an attempt whose dial outcome nobody knows.
pub const UNKNOWN_OUTCOME: &str = "carrier-error: outcome unknown";

/// Proof of a claim: the attempt's owner and epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The attempt.
    pub attempt: AttemptId,
    /// The process that holds it.
    pub owner: NodeId,
    /// Increases by 1 with each change of owner and each return to the queue.
    pub epoch: i64,
}

/// Purpose of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptKind {
    /// The contact's first call.
    First,
    /// A repetition of the same call after it did not get through.
    Retry,
    /// A further call, planned by the campaign.
    FollowUp,
    /// A call at a time that the callee asked for.
    CallBack,
    /// An incoming call.
    Inbound,
}

spelled!(AttemptKind, First "first", Retry "retry", FollowUp "follow_up", CallBack "call_back", Inbound "inbound");

/// Direction of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallDirection {
    /// We dialed.
    #[default]
    Outbound,
    /// We were called.
    Inbound,
}

spelled!(CallDirection, Outbound "outbound", Inbound "inbound");

impl CallDirection {
    /// Returns the direction of an attempt whose row has this `kind`.
    pub fn of_kind(kind: &str) -> Self {
        if kind == AttemptKind::Inbound.as_str() {
            Self::Inbound
        } else {
            Self::Outbound
        }
    }
}

/// Position of an attempt among those of its contact. Follow-up 0 is the first call. Retries are counted
/// separately within each planned call, whether it is a follow-up or a call-back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Tries {
    /// Number of the follow-up.
    pub follow_up: i64,
    /// Number of the retry within it.
    pub retry: i64,
    /// Number of call-backs the contact was given.
    pub call_backs: i64,
}

impl Tries {
    /// Returns the position of the next attempt of this `kind`.
    #[must_use]
    pub fn next(self, kind: AttemptKind) -> Self {
        match kind {
            AttemptKind::First | AttemptKind::Inbound => Self::default(),
            AttemptKind::Retry => Self {
                retry: self.retry + 1,
                ..self
            },
            AttemptKind::FollowUp => Self {
                follow_up: self.follow_up + 1,
                retry: 0,
                ..self
            },
            AttemptKind::CallBack => Self {
                retry: 0,
                call_backs: self.call_backs + 1,
                ..self
            },
        }
    }
}

/// Plan for the attempt after one that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextAttempt {
    /// `Retry`, `FollowUp` or `CallBack`.
    pub kind: AttemptKind,
    /// Earliest time of its dial.
    pub due_at: Timestamp,
}

/// Stored state of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptState {
    /// It waits for its due time.
    Queued,
    /// A node holds it; nothing was sent.
    Claimed,
    /// The permit is on disk; the one request may have been sent.
    Dialing,
    /// The carrier gave it an id.
    Dialed,
    /// Somebody, or something, answered.
    Answered,
    /// It is not known whether it was dialed. Never sent again.
    Unknown,
    /// The attempt is over, and its outcome is stored.
    Final,
}

spelled!(AttemptState, Queued "queued", Claimed "claimed", Dialing "dialing", Dialed "dialed", Answered "answered",
    Unknown "unknown", Final "final");

/// A claimed attempt with everything needed to dial it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedAttempt {
    /// Proof of the claim.
    pub claim: Claim,
    /// Owner of the call.
    pub account: AccountId,
    /// The campaign; none for a single call.
    pub campaign: Option<CampaignId>,
    /// Agent that calls.
    pub agent: AgentId,
    /// Index of the contact in the campaign; 0 for a single call.
    pub contact_index: i64,
    /// Number of the attempt, counted from 1 per contact or per single call.
    pub attempt_no: i64,
    /// Position among the contact's attempts.
    pub tries: Tries,
    /// Contact to call.
    pub contact: CampaignContact,
    /// Further fields of the account's saved contact with this number, as they are now; empty if there is none.
    pub saved_extra: Map<String, Value>,
    /// Values of placeholders given for this single call; empty in a campaign.
    pub variables: Map<String, Value>,
}

/// Number that a call shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerId {
    /// Always the same number.
    Fixed(PhoneNumber),
    /// One of several numbers in turn, counted by the agent's permits.
    InTurn(Rotation),
}

impl CallerId {
    /// Returns the caller ID for the agent's permit number `permit`, counted from 0; none without a number.
    pub fn of_permit(&self, permit: i64) -> Option<&PhoneNumber> {
        match self {
            Self::Fixed(number) => Some(number),
            Self::InTurn(rotation) => rotation.of_permit(permit),
        }
    }
}

/// Numbers that take turns as caller ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    /// The numbers in order.
    pub numbers: Vec<PhoneNumber>,
    /// Calls with each number before the next one's turn; less than one counts as one.
    pub calls_each: i64,
}

impl Rotation {
    fn of_permit(&self, permit: i64) -> Option<&PhoneNumber> {
        let turn = usize::try_from(permit.max(0) / self.calls_each.max(1)).ok()?;
        self.numbers.get(turn.checked_rem(self.numbers.len())?)
    }
}

/// Values that a permit needs in addition to the claim.
#[derive(Debug, Clone)]
pub struct PermitRequest {
    /// Carrier that will place the call.
    pub carrier: String,
    /// Caller ID; none to use the carrier's default.
    pub caller_id: Option<CallerId>,
    /// Version of the agent that the call is planned with.
    pub agent_version: Option<i64>,
    /// Prefixes that must not be dialed (`stateRestrictedNumbers`, if enabled).
    pub restricted_prefixes: Vec<String>,
}

/// Answer to a permit request. Unless it is `Granted`, the dial must not be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permit {
    /// The attempt is `dialing` on disk. Send the dial once, within 5 s of the request.
    Granted {
        /// Token, new with every permit.
        token: DialToken,
        /// Number to show, whose turn it is.
        caller_id: Option<PhoneNumber>,
    },
    /// The campaign no longer runs, or its window closed. The attempt was given back as by [`AttemptStore::release`].
    CampaignNotRunning,
    /// The number is on the do-not-call list. Final: `cancelled`, `do-not-call`.
    DoNotCall,
    /// The number begins with a restricted prefix. Final: `cancelled`, `restricted`.
    Restricted,
    /// Another open attempt of the account dials this number now. The attempt is queued again, due in 30 s.
    NumberBusy,
    /// A safeguard of the account does not allow it before `until`. The attempt is queued again, due then.
    PutOff {
        /// Time when it is allowed.
        until: Timestamp,
    },
    /// A safeguard of the account never allows it. Final: `failed`, with this error, `not-allowed: …`.
    NotAllowed {
        /// Error of the attempt, `not-allowed: …`.
        error: String,
    },
    /// The account has used up its calls of the day. The attempt was given back as by [`AttemptStore::release`].
    DayUsedUp {
        /// Reason, as shown to people.
        reason: String,
    },
}

/// State of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConversationStatus {
    /// Answered and over.
    Completed,
    /// Between the dial and the end.
    InProgress,
    /// Ended by us before it was answered.
    Cancelled,
    /// Not reached, or broken off.
    Failed,
    /// Waits for its time.
    Scheduled,
}

spelled!(ConversationStatus, Completed "completed", InProgress "in_progress", Cancelled "cancelled",
    Failed "failed", Scheduled "scheduled");

/// Outcome of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// `Completed`, `Failed` or `Cancelled`.
    pub status: ConversationStatus,
    /// `busy`, `no-answer`, `rejected`, `invalid-number`, `carrier-error: …`, `media-lost`, `agent-error: …`,
    /// `restricted`, `do-not-call`, `not-allowed: …`.
    pub error: Option<String>,
    /// Whether a machine answered.
    pub voicemail: bool,
    /// Whether the call was transferred.
    pub transferred: bool,
    /// Values that the agent collected, by entity.
    pub collected: BTreeMap<String, String>,
    /// Times of the answer and the end; the store may receive them much later.
    pub times: CallTimes,
    /// Whether facts of the call may arrive after it. Then its analysis is not due before [`FACTS_FOLLOW_MS`].
    pub facts_follow: bool,
    /// Kind of the carrier's refusal, if the service does not know its reason; see [`REFUSALS_IN_A_ROW`].
    pub refusal: Option<String>,
}

/// Number of refusals of one unknown kind in a row, without a call that got through, after which a campaign is
/// delayed. From then on it calls one contact after each [`REFUSED_PAUSE`] until a call gets through.
pub const REFUSALS_IN_A_ROW: i64 = 3;
/// Pause of a campaign after these refusals.
pub const REFUSED_PAUSE: Duration = Duration::from_secs(600);

/// Times of a call's answer and end, by its holder's clock. The store writes no time before the dial, none
/// after its own present, and no end before the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallTimes {
    /// Time of the answer, in case it was never written; none keeps the stored one.
    pub answered_at: Option<Timestamp>,
    /// Time of the end; none means the moment of the write.
    pub ended_at: Option<Timestamp>,
}

/// Delay of a call's analysis if the outcome came before the last facts. Writing them is tried again every
/// few seconds, and a process that has died delivers none.
pub const FACTS_FOLLOW_MS: i64 = 30_000;

impl Outcome {
    /// Returns whether the call got through to the callee's telephone.
    pub fn got_through(&self) -> bool {
        let answer = matches!(self.error.as_deref(), Some("busy" | "no-answer" | "rejected"));
        self.status == ConversationStatus::Completed || answer
    }

    /// Returns whether the carrier refused the call.
    pub fn is_refused(&self) -> bool {
        let error = self.error.as_deref().unwrap_or_default();
        error == "invalid-number" || error.starts_with("carrier-error")
    }

    /// Returns the outcome without characters in its texts that a database may be unable to store.
    pub fn cleaned(&self) -> Self {
        let plain = |text: &String| text.chars().filter(|c| !c.is_control()).take(CLEANED_CHARS).collect();
        Self {
            error: self.error.as_ref().map(plain),
            collected: self
                .collected
                .iter()
                .map(|(name, value)| (plain(name), plain(value)))
                .collect(),
            ..self.clone()
        }
    }
}

/// Characters kept of each text of an outcome that the database rejected.
const CLEANED_CHARS: usize = 1_000;

/// Work left in a campaign.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Remaining {
    /// Contacts never dialed, and queued attempts that are due.
    pub due: i64,
    /// Queued attempts that are due later.
    pub later: i64,
    /// Time when the first of those is due.
    pub next_due: Option<Timestamp>,
    /// Attempts that are claimed or in a call, on any node.
    pub open: i64,
}

/// An attempt of this node without a call, usually left behind by a dead process.
#[derive(Debug, Clone, PartialEq)]
pub struct OrphanedAttempt {
    /// Proof of the claim, with this process as its owner.
    pub claim: Claim,
    /// Owner of the call.
    pub account: AccountId,
    /// Agent that called.
    pub agent: AgentId,
    /// Its campaign; none for a single call.
    pub campaign: Option<CampaignId>,
    /// Position among the contact's attempts.
    pub tries: Tries,
    /// Direction of the call.
    pub direction: CallDirection,
    /// `Dialing`, `Dialed`, `Answered` or `Unknown`; claimed ones were queued again.
    pub state: AttemptState,
    /// Number of the other person, who was called or who called.
    pub phone_number: PhoneNumber,
    /// The carrier it was sent to.
    pub carrier: String,
    /// The carrier's id, if it arrived.
    pub carrier_call: Option<CarrierCallId>,
    /// Time of the permit.
    pub dialing_at: Timestamp,
}

/// Carrier and token that the dial request of an attempt was sent with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentWith {
    /// The carrier.
    pub carrier: String,
    /// Token that the proofs in the carrier's URLs are made from.
    pub token: DialToken,
}

/// Attempts.
#[async_trait]
pub trait AttemptStore: Send + Sync {
    /// Declares silent processes dead, unless this process was silent for as long itself, and takes over
    /// their attempts. Claimed attempts are queued again (epoch + 1); attempts that may have been dialed
    /// become this node's. Answered calls covered by `patience` stay with their owner for now. Call this
    /// every few seconds. Returns `Fenced` if this process was declared dead.
    async fn take_orphaned(&self, node: NodeId, patience: &Patience) -> StoreResult<Vec<OrphanedAttempt>>;

    /// Claims at most `limit` attempts of a running campaign: due retries first, then contacts never dialed,
    /// in order. The row of a contact's first attempt is created here. Returns nothing if the campaign does
    /// not run.
    async fn claim(&self, node: NodeId, campaign: CampaignId, limit: i64) -> StoreResult<Vec<ClaimedAttempt>>;

    /// Ends or puts off those of a running campaign's next `window` attempts that would be refused a permit whenever
    /// they asked: numbers on the do-not-call list, numbers with a `restricted` prefix, and numbers that a safeguard
    /// on destinations or calling hours does not allow now. They are claimed and refused in one transaction, as by
    /// [`permit`](Self::permit). Returns how many there were; nothing is written if there are none.
    async fn pass_over(
        &self,
        node: NodeId,
        campaign: CampaignId,
        window: i64,
        restricted: &[String],
    ) -> StoreResult<u64>;

    /// Gives claims back unsent. A contact's first attempt is deleted. Other attempts are queued again with
    /// epoch + 1 (single calls always), or `cancelled` if the campaign was stopped meanwhile.
    async fn release(&self, claims: &[Claim]) -> StoreResult<()>;

    /// Returns this node's claims that are older than `older_than_ms` and have asked for no permit, the
    /// oldest first, at most a thousand. A claim that no call and no campaign knows was lost on its way and
    /// must be released.
    async fn stale_claims(&self, node: NodeId, older_than_ms: i64) -> StoreResult<Vec<Claim>>;

    /// Returns this node's attempts that may have been sent and are not over `older_than_ms` after their
    /// permit, the oldest first, at most a thousand. An attempt that no call holds must be settled: its
    /// outcome was not written or was lost.
    async fn unsettled(&self, node: NodeId, older_than_ms: i64) -> StoreResult<Vec<OrphanedAttempt>>;

    /// Makes all checks and the step to `dialing` in one transaction, which is on disk when this returns. If
    /// caller IDs take turns, the same transaction counts the agent's permit, so a refused permit takes no
    /// turn. Returns `Fenced`.
    async fn permit(&self, claim: Claim, request: PermitRequest) -> StoreResult<Permit>;

    /// Takes back a claim or permit that was not used, so certainly nothing was sent. The attempt is queued
    /// again after `delay_ms` with epoch + 1, or given back as by [`AttemptStore::release`] if the campaign
    /// was stopped meanwhile. `why` is kept for the outcome of a single call that is never sent. Returns
    /// `Fenced`.
    async fn not_sent(&self, claim: Claim, delay_ms: i64, why: Option<String>) -> StoreResult<()>;

    /// Stores the carrier's id of the call. Returns `Fenced`, `Exists("call")`.
    async fn dialed(&self, claim: Claim, call: &CarrierCallId) -> StoreResult<()>;

    /// Records the answer. The time is written as [`CallTimes`] says; the first one stays. Returns `Fenced`.
    async fn answered(&self, claim: Claim, at: Timestamp) -> StoreResult<()>;

    /// Records that the dial's outcome is unknown and has to be settled. Returns `Fenced`.
    async fn unknown(&self, claim: Claim) -> StoreResult<()>;

    /// Writes the outcome in one transaction: final state, the contact's state, the analysis job, and the
    /// next attempt, with which the contact stays pending. No attempt is planned if the campaign was stopped
    /// or deleted meanwhile. Values that follow from the write itself, such as the order of changes, use its
    /// time and not the call's. Returns `Fenced`.
    async fn finish(&self, claim: Claim, outcome: Outcome, next: Option<NextAttempt>) -> StoreResult<()>;

    /// Returns the work left in a campaign.
    async fn remaining(&self, campaign: CampaignId) -> StoreResult<Remaining>;

    /// Returns the attempt that a carrier's call belongs to, open or over.
    async fn attempt_of_call(&self, carrier: &str, call: &CarrierCallId) -> StoreResult<Option<AttemptId>>;

    /// Returns what the dial of an attempt was sent with, if the attempt and its leg are over. Returns none
    /// if it is open, was transferred to somebody who may still talk, was never sent, or is unknown.
    async fn sent_with(&self, attempt: AttemptId) -> StoreResult<Option<SentWith>>;

    /// Returns the dial token of an open attempt, to check a callback that no live call takes. Returns `NotFound`.
    async fn dial_token(&self, attempt: AttemptId) -> StoreResult<DialToken>;
}
