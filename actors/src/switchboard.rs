//! Access to a node from outside: users' commands, carriers' requests, messages of other nodes, and figures.

mod snapshot;

use std::{collections::HashMap, time::Duration};

use futures_util::future::join_all;
use tokio::sync::watch;

pub use snapshot::*;

use crate::{
    call::{
        CallCommand, CallMessage, CallSnapshot, CommandAnswer, GoesOn, LegRefusal, LegReply, OperateRefusal,
        OperatorLine,
    },
    campaign::{CampaignCommand, CommandError},
    campaigns::CampaignsMessage,
    lines::{Asking, LinesMessage, LinesSnapshot, NotGoingOn, WantedAgent},
    live_feed::{Following, LivePresent},
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

/// Time limit for a command or a carrier's request.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Time limit for a figure or a question about one call.
pub(crate) const INSPECTION: Duration = Duration::from_secs(1);

/// Time limit for the states of calls in a list. Another node waits for a second.
const LISTED_WITHIN: Duration = Duration::from_millis(500);

/// Addresses of the actors that the outside uses. Clones share them, and they outlive a crash: a question
/// waits for the restart of an actor that is gone. If the restart or the answer takes too long, the result is
/// `None`.
#[derive(Clone, Default)]
pub struct Switchboard {
    /// The campaign supervisor.
    pub campaigns: Sibling<CampaignsMessage>,
    /// The dialer of single calls.
    pub single_calls: Sibling<SingleCallsMessage>,
    /// The line pool.
    pub lines: Sibling<LinesMessage>,
    /// Whether no new work is taken.
    pub draining: watch::Sender<bool>,
}

impl Switchboard {
    /// Passes a user's command to a campaign. Returns the campaign after the commit.
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

    /// Queues a call that belongs to no campaign. Answered after its commit. `ticket` is the request's idempotency key.
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

    /// Ends a call for good. The caller must have checked that it belongs to the account. Returns whether the
    /// call lives on this node. Its row tells how it ended.
    pub async fn end_call(&self, attempt: AttemptId) -> Option<bool> {
        let message = |reply| LinesMessage::EndCall { attempt, reply };
        self.lines.ask(message, INSPECTION).await
    }

    /// Passes a client's command to a live call of this node. The caller must have checked that it belongs to the
    /// account.
    pub async fn command_call(&self, attempt: AttemptId, command: CallCommand) -> Option<CommandAnswer> {
        let command = Box::new(command);
        let message = |reply| LinesMessage::Command {
            attempt,
            command,
            reply,
        };
        self.lines.ask(message, INSPECTION).await
    }

    /// Lets a client follow a live call of this node. A `listener` also gets its audio, and its name is recorded. The caller
    /// must have checked that the call belongs to the account. Returns `None` if the call is not here.
    pub async fn follow_call(&self, attempt: AttemptId, listener: Option<String>) -> Option<Following> {
        let message = |reply| LinesMessage::Follow {
            attempt,
            message: CallMessage::Follow { listener, reply },
        };
        self.lines.ask(message, INSPECTION).await.flatten()
    }

    /// Returns the present states of live calls of this node. Calls that are not here or do not answer are left out. The
    /// caller must have checked that they belong to the account.
    pub async fn present(&self, attempts: &[AttemptId]) -> HashMap<AttemptId, LivePresent> {
        let asked = attempts.iter().copied().map(|attempt| async move {
            let message = |reply| LinesMessage::Follow {
                attempt,
                message: CallMessage::Present(reply),
            };
            Some((attempt, self.lines.ask(message, LISTED_WITHIN).await?))
        });
        join_all(asked).await.into_iter().flatten().collect()
    }

    /// Gives a live call of this node to an operator, who speaks in place of the agent. The caller must have checked
    /// that it belongs to the account.
    pub async fn operate_call(&self, attempt: AttemptId, by: String) -> Option<Result<OperatorLine, OperateRefusal>> {
        let message = |reply| LinesMessage::Operate { attempt, by, reply };
        self.lines.ask(message, INSPECTION).await
    }

    /// Returns a snapshot of a live call of this node. `None` if it does not live here.
    pub async fn inspect_call(&self, attempt: AttemptId) -> Option<CallSnapshot> {
        let message = |reply| LinesMessage::InspectCall { attempt, reply };
        self.lines.ask(message, INSPECTION).await
    }

    /// Returns whether this node holds an attempt: being created, in a call, or being settled.
    pub async fn holds(&self, attempt: AttemptId) -> Option<bool> {
        let message = |reply| LinesMessage::Holds { attempt, reply };
        self.lines.ask(message, INSPECTION).await
    }

    /// Handles another node's message that it took over a call of this one. The call is dropped if that is
    /// so. Returns false if the line pool is gone.
    pub fn was_taken_over(&self, attempt: AttemptId) -> bool {
        let attempt = Some(attempt);
        self.lines.cast(LinesMessage::DoubtClaims { attempt }).is_ok()
    }

    /// Announces an inbound call. A repeated announcement while it lives refers to the same call. The caller
    /// must have checked that it may use the `wanted` agent.
    ///
    /// # Errors
    /// Returns the reason for which the call is not taken.
    pub async fn announce(&self, call: InboundCall, wanted: Option<WantedAgent>) -> Result<WayBack, InboundRefusal> {
        let message = |reply| LinesMessage::Inbound { call, wanted, reply };
        let answer = self.lines.ask(message, ANSWER_WITHIN).await;
        answer.unwrap_or(Err(InboundRefusal::Unavailable))
    }

    /// Passes a carrier's report or its media socket on to a call of that carrier.
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

    /// Answers a carrier that asks how a call with a broken media socket goes on. A call of a process that is gone
    /// continues here.
    ///
    /// # Errors
    /// Returns the reason for which the call does not go on, or not here.
    pub async fn came_back(&self, asking: Asking) -> Result<GoesOn, NotGoingOn> {
        let message = |reply| LinesMessage::CameBack { asking, reply };
        let answer = self.lines.ask(message, ANSWER_WITHIN).await;
        answer.unwrap_or(Err(NotGoingOn::NotKnown))
    }

    /// Tells campaigns and single calls to count the remaining work, because rows of the queue were changed outside the
    /// node. A restarting actor counts by itself.
    pub fn look_again(&self) {
        let _ = self.campaigns.cast(CampaignsMessage::LookAgain);
        let _ = self.single_calls.cast(SingleCallsMessage::Look);
    }

    /// Returns whether the node was told to end.
    pub fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Returns a snapshot of the node. Actors that do not answer count as empty.
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
