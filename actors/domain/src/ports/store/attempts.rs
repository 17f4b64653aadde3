//! Attempts: claim, permit, fencing and outcome. An attempt is dialed at most once and no contact is lost.
//!
//! `queued → claimed → dialing → dialed → answered → final`, with `unknown` beside: a dial whose fate nobody knows. A
//! call from outside begins as `dialed`.
//! Every write that follows a claim is guarded by owner and epoch; the store offers no unguarded one.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{CampaignContact, Patience, StoreResult};
use crate::{
    dial_token::DialToken,
    id::{AccountId, AgentId, AttemptId, CampaignId, NodeId},
    phone_number::PhoneNumber,
    ports::carrier::CarrierCallId,
    time::Timestamp,
};

/// Proof of a claim: who holds the attempt, and since which change of owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The attempt.
    pub attempt: AttemptId,
    /// The process that holds it.
    pub owner: NodeId,
    /// +1 on each change of owner and on each return to the queue.
    pub epoch: i64,
}

/// What an attempt is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptKind {
    /// The contact's first call.
    First,
    /// The same call once more, after it did not get through.
    Retry,
    /// A further call, planned by the campaign.
    FollowUp,
    /// A call at the time that the callee asked for.
    CallBack,
    /// A call from outside.
    Inbound,
}

spelled!(AttemptKind, First "first", Retry "retry", FollowUp "follow_up", CallBack "call_back", Inbound "inbound");

/// Which way a call went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, utoipa::ToSchema)]
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
    /// Of an attempt whose row has this `kind`.
    pub fn of_kind(kind: &str) -> Self {
        if kind == AttemptKind::Inbound.as_str() {
            Self::Inbound
        } else {
            Self::Outbound
        }
    }
}

/// Where an attempt stands among those of its contact: follow-up 0 is the first call; retries count anew in each
/// planned call, be it a follow-up or a call-back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Tries {
    /// Which follow-up.
    pub follow_up: i64,
    /// Which retry of it.
    pub retry: i64,
    /// How many call-backs the contact was given.
    pub call_backs: i64,
}

impl Tries {
    /// Of the attempt that follows as `kind`.
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

/// The attempt that follows one that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextAttempt {
    /// `Retry`, `FollowUp` or `CallBack`.
    pub kind: AttemptKind,
    /// When it may be dialed.
    pub due_at: Timestamp,
}

/// An attempt's stored state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptState {
    /// Waits for its due time.
    Queued,
    /// Held by a node, nothing sent.
    Claimed,
    /// The permit is on disk: the one request may have been sent.
    Dialing,
    /// The carrier gave it an id.
    Dialed,
    /// Somebody, or something, answered.
    Answered,
    /// Nobody knows whether it was dialed. Never sent again.
    Unknown,
    /// Over.
    Final,
}

spelled!(AttemptState, Queued "queued", Claimed "claimed", Dialing "dialing", Dialed "dialed", Answered "answered",
    Unknown "unknown", Final "final");

/// A claimed attempt with all that is needed to dial it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedAttempt {
    /// The proof.
    pub claim: Claim,
    /// Owner of the call.
    pub account: AccountId,
    /// The campaign; none for a single call.
    pub campaign: Option<CampaignId>,
    /// Who dials.
    pub agent: AgentId,
    /// Index of the contact in the campaign; 0 for a single call.
    pub contact_index: i64,
    /// Counts from 1 per contact, or per single call.
    pub attempt_no: i64,
    /// Where it stands among the contact's attempts.
    pub tries: Tries,
    /// Who is dialed.
    pub contact: CampaignContact,
    /// The further fields of the account's saved contact with this number, as they are now; empty if there is none.
    pub saved_extra: Map<String, Value>,
    /// Values of placeholders that were given for this single call; empty in a campaign.
    pub variables: Map<String, Value>,
}

/// Which number a call shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerId {
    /// Always this one.
    Fixed(PhoneNumber),
    /// One of several in turn, as the agent's permits are counted.
    InTurn(Rotation),
}

impl CallerId {
    /// The caller ID of the agent's permit number `permit`, counted from 0; none without a number.
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
    /// In their order.
    pub numbers: Vec<PhoneNumber>,
    /// Calls of each before the next one's turn; less than one counts as one.
    pub calls_each: i64,
}

impl Rotation {
    fn of_permit(&self, permit: i64) -> Option<&PhoneNumber> {
        let turn = usize::try_from(permit.max(0) / self.calls_each.max(1)).ok()?;
        self.numbers.get(turn.checked_rem(self.numbers.len())?)
    }
}

/// What the permit needs to know beside the claim.
#[derive(Debug, Clone)]
pub struct PermitRequest {
    /// The carrier that will be asked.
    pub carrier: String,
    /// The caller ID; none where the carrier has a default.
    pub caller_id: Option<CallerId>,
    /// Prefixes that are not dialed (`stateRestrictedNumbers`, when enabled).
    pub restricted_prefixes: Vec<String>,
}

/// The answer to a permit request. Everything but `Granted` means: do not send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permit {
    /// On disk as `dialing`. Send within 5 s of asking, once.
    Granted {
        /// New with every permit.
        token: DialToken,
        /// The number to show: the one whose turn it is.
        caller_id: Option<PhoneNumber>,
    },
    /// The campaign no longer runs, or its window closed. The attempt was given back as by [`AttemptStore::release`].
    CampaignNotRunning,
    /// The number is on the do-not-call list: final, `cancelled`, `do-not-call`.
    DoNotCall,
    /// The number begins with a restricted prefix: final, `cancelled`, `restricted`.
    Restricted,
    /// Another open attempt of the account dials this number now. The attempt is queued again, due in 30 s.
    NumberBusy,
    /// A safeguard of the account does not allow it before `until`. The attempt is queued again, due then.
    PutOff {
        /// When it is allowed.
        until: Timestamp,
    },
    /// A safeguard of the account never allows it: final, `failed`, with this error, `not-allowed: …`.
    NotAllowed {
        /// The attempt's error.
        error: String,
    },
    /// The account's calls of the day are made. The attempt was given back as by [`AttemptStore::release`].
    DayUsedUp {
        /// What people read.
        reason: String,
    },
}

/// Where a conversation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConversationStatus {
    /// Answered and over.
    Completed,
    /// From dialing to the end.
    InProgress,
    /// Ended before it was answered, by us.
    Cancelled,
    /// Not reached, or broken.
    Failed,
    /// Waits for its time.
    Scheduled,
}

spelled!(ConversationStatus, Completed "completed", InProgress "in_progress", Cancelled "cancelled",
    Failed "failed", Scheduled "scheduled");

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// `Completed`, `Failed` or `Cancelled`.
    pub status: ConversationStatus,
    /// `busy`, `no-answer`, `rejected`, `invalid-number`, `carrier-error: …`, `media-lost`, `agent-error: …`,
    /// `restricted`, `do-not-call`, `not-allowed: …`.
    pub error: Option<String>,
    /// A machine answered.
    pub voicemail: bool,
    /// The call was handed on.
    pub transferred: bool,
    /// What the agent collected, entity to value.
    pub collected: BTreeMap<String, String>,
    /// When it was answered and ended, which the store may hear of much later.
    pub times: CallTimes,
    /// Facts of the call may come after it: its analysis is not due before [`FACTS_FOLLOW_MS`].
    pub facts_follow: bool,
}

/// When a call was answered and ended, by the clock of whoever held it. The store writes no instant before the dial, none
/// after its own present, and no end before the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallTimes {
    /// When it was answered, in case that this was never written; none leaves what was.
    pub answered_at: Option<Timestamp>,
    /// When it ended; none is the moment of the write.
    pub ended_at: Option<Timestamp>,
}

/// How long the analysis of a call waits whose outcome came before its last facts. They are tried again every few seconds,
/// and a process that has died brings none.
pub const FACTS_FOLLOW_MS: i64 = 30_000;

impl Outcome {
    /// The same with nothing in its texts that a database could have no place for.
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

/// Characters of each text of an outcome that was refused as it was.
const CLEANED_CHARS: usize = 1_000;

/// What is left to do in a campaign.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Remaining {
    /// Contacts never dialed, and queued attempts that are due.
    pub due: i64,
    /// Queued attempts that are due later.
    pub later: i64,
    /// When the first of those is due.
    pub next_due: Option<Timestamp>,
    /// Attempts claimed or in a call, anywhere.
    pub open: i64,
}

/// An attempt of ours without a call, mostly one that a dead process left behind.
#[derive(Debug, Clone, PartialEq)]
pub struct Orphan {
    /// The proof, with this process as its owner.
    pub claim: Claim,
    /// Owner of the call.
    pub account: AccountId,
    /// Who dialed.
    pub agent: AgentId,
    /// Its campaign; none for a single call.
    pub campaign: Option<CampaignId>,
    /// Where it stands among the contact's attempts.
    pub tries: Tries,
    /// Who began it.
    pub direction: CallDirection,
    /// `Dialing`, `Dialed`, `Answered` or `Unknown`; claimed ones were queued again.
    pub state: AttemptState,
    /// The person: who was called, or who called.
    pub phone_number: PhoneNumber,
    /// The carrier it was sent to.
    pub carrier: String,
    /// The carrier's id, if it arrived.
    pub carrier_call: Option<CarrierCallId>,
    /// When the permit was given.
    pub dialing_at: Timestamp,
}

/// What the one dial request of an attempt was sent with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentWith {
    /// The carrier.
    pub carrier: String,
    /// What the addresses that it was given are proved by.
    pub token: DialToken,
}

/// Attempts.
#[async_trait]
pub trait AttemptStore: Send + Sync {
    /// Declares silent processes dead, if this one was not silent itself for as long, and takes over what dead ones
    /// held: claimed attempts are queued again (epoch + 1), those that may have been dialed become this node's. To be
    /// asked every few seconds. Answered calls that `patience` speaks of stay where they are for now. `Fenced` when this
    /// process was declared dead.
    async fn take_orphans(&self, node: NodeId, patience: &Patience) -> StoreResult<Vec<Orphan>>;

    /// Claims at most `limit` attempts of a running campaign: due retries first, then contacts never dialed, in
    /// order (their first attempt's row is made here). Empty when the campaign does not run.
    async fn claim(&self, node: NodeId, campaign: CampaignId, limit: i64) -> StoreResult<Vec<ClaimedAttempt>>;

    /// Gives claims back unsent: gone if it was the contact's first attempt, else queued again with epoch + 1 (single
    /// calls always), or `cancelled` if the campaign was stopped meanwhile.
    async fn release(&self, claims: &[Claim]) -> StoreResult<()>;

    /// The oldest of this node's claims that are `older_than_ms` old and for which no permit was asked, at most a
    /// thousand. One that no call and no campaign knows of was lost on its way: it is to be released.
    async fn stale_claims(&self, node: NodeId, older_than_ms: i64) -> StoreResult<Vec<Claim>>;

    /// The oldest of this node's attempts that may have been sent and are not over, `older_than_ms` after their permit, at
    /// most a thousand. One that no call holds is to be settled: its outcome was not written, or was forgotten.
    async fn unsettled(&self, node: NodeId, older_than_ms: i64) -> StoreResult<Vec<Orphan>>;

    /// All checks and the step to `dialing` in one transaction, on disk when it returns. Where caller IDs take turns,
    /// the same transaction counts the agent's permit: one that is refused takes no turn. `Fenced`.
    async fn permit(&self, claim: Claim, request: PermitRequest) -> StoreResult<Permit>;

    /// The claim or its permit was not used: certainly nothing was sent. Queued again after `delay_ms`, epoch + 1; given
    /// back as by [`AttemptStore::release`] if the campaign was stopped meanwhile. `why` is kept for the outcome of a
    /// single call that is never sent. `Fenced`.
    async fn not_sent(&self, claim: Claim, delay_ms: i64, why: Option<String>) -> StoreResult<()>;

    /// The carrier gave the call an id. `Fenced`, `Exists("call")`.
    async fn dialed(&self, claim: Claim, call: &CarrierCallId) -> StoreResult<()>;

    /// It was answered, at an instant that is written as [`CallTimes`] says. The first one stays. `Fenced`.
    async fn answered(&self, claim: Claim, at: Timestamp) -> StoreResult<()>;

    /// The dial's fate is not known; it will be settled. `Fenced`.
    async fn unknown(&self, claim: Claim) -> StoreResult<()>;

    /// The outcome, in one transaction: final state, the contact's state, the analysis job, and the next attempt, with
    /// which the contact stays pending. None is planned for a campaign that was stopped or removed meanwhile. What follows
    /// from the write itself, such as the order of changes, has its time and not the call's. `Fenced`.
    async fn finish(&self, claim: Claim, outcome: Outcome, next: Option<NextAttempt>) -> StoreResult<()>;

    /// What is left to do in a campaign.
    async fn remaining(&self, campaign: CampaignId) -> StoreResult<Remaining>;

    /// The attempt that a carrier's call is bound to, open or over.
    async fn attempt_of_call(&self, carrier: &str, call: &CarrierCallId) -> StoreResult<Option<AttemptId>>;

    /// What an attempt that is over, and its leg with it, was sent with. None for one that is open, that was handed on
    /// to somebody who may still talk, that was never sent, or that nobody knows.
    async fn sent_with(&self, attempt: AttemptId) -> StoreResult<Option<SentWith>>;

    /// The dial token and owner of an open attempt, to check a callback that no live call takes. `NotFound`.
    async fn dial_token(&self, attempt: AttemptId) -> StoreResult<DialToken>;
}
