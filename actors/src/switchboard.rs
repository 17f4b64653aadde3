//! The way into a node from outside: users' commands, carriers' requests, what other nodes tell, and figures.

mod snapshot;

use std::time::Duration;

use tokio::sync::watch;

pub use snapshot::*;

use crate::{
    call::{CallMessage, GoesOn, LegRefusal, LegReply},
    campaign::{CampaignCommand, CommandError},
    campaigns::CampaignsMessage,
    lines::{Asking, LinesMessage, LinesSnapshot, NotGoingOn, WantedAgent},
    single_calls::{PlaceError, SingleCallsMessage},
    supervision::Sibling,
};
use domain::{
    id::{AccountId, AttemptId, CampaignId},
    ports::{
        carrier::{InboundCall, InboundRefusal, WayBack},
        store::{CampaignRow, KeyTicket, NewCall, QueuedCall},
    },
};

/// How long a command or a carrier's request may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// How long a figure may take, or a word about one call.
pub(crate) const INSPECTION: Duration = Duration::from_secs(1);

/// The addresses of the actors that the outside speaks to. Clones share them, and they outlive a crash: a question waits
/// for the restart of an actor that is gone. It is not answered (none) when the restart or the answer takes too long.
#[derive(Clone, Default)]
pub struct Switchboard {
    /// The campaign supervisor.
    pub campaigns: Sibling<CampaignsMessage>,
    /// The dialer of single calls.
    pub single_calls: Sibling<SingleCallsMessage>,
    /// The line pool.
    pub lines: Sibling<LinesMessage>,
    /// No new work is taken.
    pub draining: watch::Sender<bool>,
}

impl Switchboard {
    /// Has a campaign obey a user's command: the campaign as it is after the commit.
    pub async fn command(
        &self,
        account: AccountId,
        campaign: CampaignId,
        command: CampaignCommand,
    ) -> Option<Result<CampaignRow, CommandError>> {
        let message = |reply| CampaignsMessage::Command {
            account,
            campaign,
            command,
            reply,
        };
        self.campaigns.ask(message, ANSWER_WITHIN).await
    }

    /// Queues a call that belongs to no campaign; answered after its commit. `ticket` is the request's idempotency key.
    pub async fn place_call(
        &self,
        account: AccountId,
        new: NewCall,
        ticket: Option<KeyTicket>,
    ) -> Option<Result<QueuedCall, PlaceError>> {
        let message = |reply| SingleCallsMessage::Place {
            account,
            new: Box::new(new),
            ticket,
            reply,
        };
        self.single_calls.ask(message, ANSWER_WITHIN).await
    }

    /// Ends a call for good that the caller has seen to be the account's own: whether it lives on this node. Its row tells
    /// how it ended.
    pub async fn end_call(&self, attempt: AttemptId) -> Option<bool> {
        let message = |reply| LinesMessage::EndCall { attempt, reply };
        self.lines.ask(message, INSPECTION).await
    }

    /// Whether this node holds an attempt: one that is being made, in a call, or being settled.
    pub async fn holds(&self, attempt: AttemptId) -> Option<bool> {
        let message = |reply| LinesMessage::Holds { attempt, reply };
        self.lines.ask(message, INSPECTION).await
    }

    /// Another node says that it took over a call of this one: it is let go if that is so. False when nobody was told.
    pub fn was_taken_over(&self, attempt: AttemptId) -> bool {
        let attempt = Some(attempt);
        self.lines.cast(LinesMessage::DoubtClaims { attempt }).is_ok()
    }

    /// A call from outside; announced again while it lives, it is the same call. Whoever names the agent that is `wanted`
    /// has seen to it that the caller may.
    ///
    /// # Errors
    /// Why it is not taken.
    pub async fn announce(&self, call: InboundCall, wanted: Option<WantedAgent>) -> Result<WayBack, InboundRefusal> {
        let message = |reply| LinesMessage::Inbound { call, wanted, reply };
        let answer = self.lines.ask(message, ANSWER_WITHIN).await;
        answer.unwrap_or(Err(InboundRefusal::Unavailable))
    }

    /// Passes a carrier's report, or its media socket, on to a call of that carrier.
    pub async fn tell_call(
        &self,
        (carrier, attempt): (&'static str, AttemptId),
        message: impl FnOnce(LegReply) -> CallMessage,
    ) -> Option<Result<(), LegRefusal>> {
        let message = |reply| LinesMessage::ToCall {
            carrier,
            attempt,
            message: message(reply),
        };
        self.lines.ask(message, ANSWER_WITHIN).await
    }

    /// A carrier asks how a call goes on whose media socket broke. One of a process that is gone goes on here.
    ///
    /// # Errors
    /// Why it does not, or not here.
    pub async fn came_back(&self, asking: Asking) -> Result<GoesOn, NotGoingOn> {
        let message = |reply| LinesMessage::CameBack { asking, reply };
        let answer = self.lines.ask(message, ANSWER_WITHIN).await;
        answer.unwrap_or(Err(NotGoingOn::NotKnown))
    }

    /// Rows of the queue were changed beside the node: campaigns and single calls look at what is left to do. An actor
    /// that is being restarted looks as it begins.
    pub fn look_again(&self) {
        let _ = self.campaigns.cast(CampaignsMessage::LookAgain);
        let _ = self.single_calls.cast(SingleCallsMessage::Look);
    }

    /// Whether the node was told to end.
    pub fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// How the node stands; what does not answer counts as none.
    pub async fn inspect(&self) -> NodeSnapshot {
        let campaigns = self.campaigns.ask(CampaignsMessage::Inspect, INSPECTION).await;
        let lines: Option<LinesSnapshot> = self.lines.ask(LinesMessage::Inspect, INSPECTION).await;
        let lines = lines.unwrap_or_default();
        NodeSnapshot {
            live_calls: lines.calls.len(),
            lines: lines.lines,
            campaigns: campaigns.unwrap_or_default(),
            draining: self.is_draining(),
            holds_back: lines.holds_back,
        }
    }
}
