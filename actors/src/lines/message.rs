//! Messages to the line pool.

use ractor::{ActorRef, RpcReplyPort};
use serde::Serialize;

use crate::{
    call::CallPlan,
    campaign::CampaignMessage,
    id::{AttemptId, CampaignId},
    ports::{
        carrier::{CallProgress, CarrierCallId},
        media_leg::MediaLeg,
        store::Outcome,
    },
    switchboard::DoorRefusal,
};

/// Messages to the line pool.
pub enum LinesMessage {
    /// A campaign wants lines. It is granted what is free now, at the dialing rate; the rest of the wish waits and is
    /// granted later. A new wish replaces the campaign's old one; zero withdraws it.
    RequestLines {
        /// Who.
        campaign: CampaignId,
        /// How many.
        want: usize,
        /// Where grants go.
        requester: ActorRef<CampaignMessage>,
    },
    /// Lines granted but not needed. They name their campaign, so that a grant is never given back twice.
    ReturnLines {
        /// Who had them.
        campaign: CampaignId,
        /// How many.
        lines: usize,
    },
    /// A campaign wants no more lines for now. Grants on their way it gives back itself.
    WithdrawWish(CampaignId),
    /// A campaign's actor is gone: its wish and its unused grants are taken back.
    Withdraw(CampaignId),
    /// Place a call on a granted line.
    Dial(Box<CallPlan>),
    /// The carrier gave a call's leg an id, told by the call: it is hung up if the call dies.
    LegKnown {
        /// Which call.
        attempt: AttemptId,
        /// Its leg.
        leg: CarrierCallId,
    },
    /// A call is over and its outcome is on disk, told by the call.
    CallEnded {
        /// Which.
        attempt: AttemptId,
        /// How; none when nothing was dialed.
        outcome: Option<Outcome>,
    },
    /// A carrier reports on a leg.
    Progress {
        /// Which call.
        attempt: AttemptId,
        /// Proof from the address.
        proof: String,
        /// The fact.
        progress: CallProgress,
        /// Whether the call took it.
        reply: RpcReplyPort<Result<(), DoorRefusal>>,
    },
    /// A carrier opened a media socket.
    Media {
        /// Which call.
        attempt: AttemptId,
        /// Proof from the address.
        proof: String,
        /// The socket.
        leg: MediaLeg,
        /// Whether the call took it.
        reply: RpcReplyPort<Result<(), DoorRefusal>>,
    },
    /// A restarted campaign asks for its live calls, answered by `Attached`; their ends go to it from now on.
    Attach {
        /// Which.
        campaign: CampaignId,
        /// Its new actor.
        requester: ActorRef<CampaignMessage>,
    },
    /// Hang up every call of a campaign.
    HangUpCampaign(CampaignId),
    /// A call actor is gone (sent to itself from a supervision event).
    ChildGone {
        /// Which.
        attempt: AttemptId,
        /// The panic's or error's text, if it crashed.
        crash: Option<String>,
    },
    /// A crashed call's outcome was written, own.
    CrashSettled {
        /// Which.
        attempt: AttemptId,
        /// What was written; none when the attempt was no longer ours.
        outcome: Option<Outcome>,
    },
    /// The dialing rate allows more grants (a timer).
    Tick,
    /// Grant nothing more; hang up what still lives after the grace time.
    Drain {
        /// Milliseconds.
        grace_ms: u64,
    },
    /// The grace time of a drain is over, own.
    GraceOver,
    /// Figures.
    Inspect(RpcReplyPort<LinesSnapshot>),
    /// Makes a call or its audio stream panic, for tests of supervision.
    #[cfg(feature = "testkit")]
    Sabotage {
        /// Which call.
        attempt: AttemptId,
        /// The stream instead of the call.
        stream: bool,
    },
}

/// The line pool at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LinesSnapshot {
    /// Lines in all.
    pub lines: usize,
    /// Lines granted and not yet used.
    pub granted: usize,
    /// Live calls.
    pub calls: Vec<AttemptId>,
}
