//! What the outside may ask of a node.

use ractor::RpcReplyPort;
use serde_json::{Map, Value};

use crate::{
    call::LegRefusal,
    campaign::{CampaignCommand, CommandError},
    lines::{Asking, ReturnReply},
    single_calls::PlaceReply,
    switchboard::NodeSnapshot,
};
use domain::{
    id::{AccountId, AgentId, AttemptId, CampaignId},
    ports::{
        carrier::{InboundCall, InboundRefusal, LegReport, WayBack},
        media_leg::MediaLeg,
        store::{CampaignRow, KeyTicket, NewCall},
    },
};

/// Messages to the switchboard.
pub enum SwitchboardMessage {
    /// A user's command for a campaign; answered after its commit.
    Command {
        /// Owner.
        account: AccountId,
        /// Campaign.
        campaign: CampaignId,
        /// What to do.
        command: CampaignCommand,
        /// The campaign as it is afterwards.
        reply: RpcReplyPort<Result<CampaignRow, CommandError>>,
    },
    /// Queue a call that belongs to no campaign; answered after its commit.
    PlaceCall {
        /// Owner.
        account: AccountId,
        /// The call.
        new: Box<NewCall>,
        /// The request's idempotency key.
        ticket: Option<KeyTicket>,
        /// What became of it.
        reply: PlaceReply,
    },
    /// End a call for good that the caller has seen to be the account's own.
    EndCall {
        /// Which.
        attempt: AttemptId,
        /// Whether it lives on this node. Its row tells how it ended.
        reply: RpcReplyPort<bool>,
    },
    /// Another node says that it took a call over that was this one's: it is let go if that is so.
    WasTakenOver {
        /// Which.
        attempt: AttemptId,
    },
    /// Asks whether this node holds an attempt: one that is being made, in a call, or being settled.
    Holds {
        /// Which.
        attempt: AttemptId,
        /// Whether it does.
        reply: RpcReplyPort<bool>,
    },
    /// A carrier announces a call from outside. Announced again while it lives, it is the same call.
    Inbound {
        /// The call.
        call: InboundCall,
        /// The way to the call that takes it.
        reply: RpcReplyPort<Result<WayBack, InboundRefusal>>,
    },
    /// A call from outside that asks for one agent; whoever announces it has seen to it that the caller may.
    DialIn {
        /// The call.
        call: InboundCall,
        /// Owner of the agent.
        account: AccountId,
        /// Who is to answer, if its direction and the call's number allow.
        agent: AgentId,
        /// The request's idempotency key.
        ticket: Option<KeyTicket>,
        /// Values of the placeholders in this call.
        variables: Map<String, Value>,
        /// The way to the call that takes it.
        reply: RpcReplyPort<Result<WayBack, InboundRefusal>>,
    },
    /// A carrier reports on a leg.
    Progress {
        /// Whose door it came to; a call of another carrier takes nothing from it.
        carrier: &'static str,
        /// The attempt named in the callback's address.
        attempt: AttemptId,
        /// The proof named there (`Purpose::Status`).
        proof: String,
        /// What it tells.
        report: LegReport,
        /// Whether a live call took it.
        reply: RpcReplyPort<Result<(), LegRefusal>>,
    },
    /// A carrier asks to open a media socket: nothing is upgraded before the proof holds.
    AskMedia {
        /// Whose door it came to; a call of another carrier takes nothing from it.
        carrier: &'static str,
        /// The attempt named in the socket's address.
        attempt: AttemptId,
        /// The proof named there (`Purpose::Media`).
        proof: String,
        /// Whether a socket in the place of an open one is meant, too.
        replacing: bool,
        /// Whether the call would take it now.
        reply: RpcReplyPort<Result<(), LegRefusal>>,
    },
    /// A carrier asks how a call goes on whose media socket broke. One of a process that is gone goes on here.
    CameBack {
        /// What it shows.
        asking: Asking,
        /// How the call goes on.
        reply: ReturnReply,
    },
    /// A carrier opened a media socket.
    Media {
        /// Whose door it came to; a call of another carrier takes nothing from it.
        carrier: &'static str,
        /// The attempt named in the socket's address.
        attempt: AttemptId,
        /// The proof named there (`Purpose::Media`).
        proof: String,
        /// The socket.
        leg: MediaLeg,
        /// Whether the call took it.
        reply: RpcReplyPort<Result<(), LegRefusal>>,
    },
    /// Rows of the queue were changed beside the node: campaigns and single calls look at what is left to do.
    LookAgain,
    /// No new work from now on: commands that dial are refused, campaigns stop dialing.
    Drain,
    /// How the node stands.
    Inspect(RpcReplyPort<NodeSnapshot>),
}
