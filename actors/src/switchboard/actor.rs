//! The switchboard: every message goes on to the actor it is for, or is refused in its name.

use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::SwitchboardMessage;
use crate::{
    call::LegRefusal,
    campaign::CommandError,
    campaigns::CampaignsMessage,
    lines::{LinesMessage, LinesSnapshot, WantedAgent},
    single_calls::{PlaceError, SingleCallsMessage},
    supervision::Sibling,
    switchboard::NodeSnapshot,
};
use domain::ports::carrier::InboundRefusal;

/// How long a figure is waited for.
pub(crate) const INSPECTION: Duration = Duration::from_secs(1);

/// What the switchboard is started with.
#[derive(Clone)]
pub struct SwitchboardArguments {
    /// Where commands go.
    pub campaigns: Sibling<CampaignsMessage>,
    /// Where calls without a campaign go.
    pub single_calls: Sibling<SingleCallsMessage>,
    /// Where callbacks and media go.
    pub lines: Sibling<LinesMessage>,
    /// Nothing is dialed any more.
    pub draining: bool,
}

/// The switchboard.
pub struct SwitchboardActor;

impl Actor for SwitchboardActor {
    type Msg = SwitchboardMessage;
    type State = SwitchboardArguments;
    type Arguments = SwitchboardArguments;

    async fn pre_start(
        &self,
        _me: ActorRef<SwitchboardMessage>,
        arguments: SwitchboardArguments,
    ) -> Result<SwitchboardArguments, ActorProcessingErr> {
        Ok(arguments)
    }

    async fn handle(
        &self,
        _me: ActorRef<SwitchboardMessage>,
        message: SwitchboardMessage,
        to: &mut SwitchboardArguments,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SwitchboardMessage::Command {
                account,
                campaign,
                command,
                reply,
            } => to.command(CampaignsMessage::Command {
                account,
                campaign,
                command,
                reply,
            }),
            SwitchboardMessage::PlaceCall {
                account,
                new,
                ticket,
                reply,
            } => to.place(SingleCallsMessage::Place {
                account,
                new,
                ticket,
                reply,
            }),
            SwitchboardMessage::EndCall { attempt, reply } => {
                // One that finds nobody drops its reply, which reads as no answer.
                let _ = to.lines.cast(LinesMessage::EndCall { attempt, reply });
            }
            SwitchboardMessage::WasTakenOver { attempt } => {
                let attempt = Some(attempt);
                let _ = to.lines.cast(LinesMessage::DoubtClaims { attempt });
            }
            SwitchboardMessage::Holds { attempt, reply } => {
                let _ = to.lines.cast(LinesMessage::Holds { attempt, reply });
            }
            SwitchboardMessage::Inbound { call, reply } => to.announce(LinesMessage::Inbound {
                call,
                wanted: None,
                reply,
            }),
            SwitchboardMessage::DialIn {
                call,
                account,
                agent,
                ticket,
                variables,
                reply,
            } => to.announce(LinesMessage::Inbound {
                call,
                wanted: Some(WantedAgent {
                    account,
                    agent,
                    ticket,
                    variables,
                }),
                reply,
            }),
            SwitchboardMessage::Progress {
                carrier,
                attempt,
                proof,
                report,
                reply,
            } => to.call(LinesMessage::Progress {
                carrier,
                attempt,
                proof,
                report,
                reply,
            }),
            SwitchboardMessage::AskMedia {
                carrier,
                attempt,
                proof,
                replacing,
                reply,
            } => to.call(LinesMessage::AskMedia {
                carrier,
                attempt,
                proof,
                replacing,
                reply,
            }),
            SwitchboardMessage::CameBack { asking, reply } => {
                // One that finds nobody drops its reply, which reads as no answer.
                let _ = to.lines.cast(LinesMessage::CameBack { asking, reply });
            }
            SwitchboardMessage::Media {
                carrier,
                attempt,
                proof,
                leg,
                reply,
            } => to.call(LinesMessage::Media {
                carrier,
                attempt,
                proof,
                leg,
                reply,
            }),
            SwitchboardMessage::LookAgain => {
                // An actor that is being restarted looks as it begins.
                let _ = to.campaigns.cast(CampaignsMessage::LookAgain);
                let _ = to.single_calls.cast(SingleCallsMessage::Look);
            }
            SwitchboardMessage::Drain => {
                to.draining = true;
                let _ = to.campaigns.cast(CampaignsMessage::Drain);
                let _ = to.single_calls.cast(SingleCallsMessage::Drain);
            }
            SwitchboardMessage::Inspect(reply) => {
                tokio::spawn(inspect(to.clone(), reply));
            }
        }
        Ok(())
    }
}

impl SwitchboardArguments {
    fn command(&self, message: CampaignsMessage) {
        if let Err(Some(CampaignsMessage::Command { reply, .. })) = self.campaigns.cast(message) {
            let _ = reply.send(Err(CommandError::Unavailable("the dialer is being restarted".into())));
        }
    }

    fn place(&self, message: SingleCallsMessage) {
        if let Err(Some(SingleCallsMessage::Place { reply, .. })) = self.single_calls.cast(message) {
            let _ = reply.send(Err(PlaceError::Refused("the dialer is being restarted")));
        }
    }

    /// Also while draining: a call that lives may be announced again, and the line pool says whether it takes a new one.
    fn announce(&self, message: LinesMessage) {
        if let Err(Some(LinesMessage::Inbound { reply, .. })) = self.lines.cast(message) {
            let _ = reply.send(Err(InboundRefusal::Unavailable));
        }
    }

    fn call(&self, message: LinesMessage) {
        if let Err(Some(
            LinesMessage::Progress { reply, .. }
            | LinesMessage::AskMedia { reply, .. }
            | LinesMessage::Media { reply, .. },
        )) = self.lines.cast(message)
        {
            let _ = reply.send(Err(LegRefusal::UnknownCall));
        }
    }
}

async fn inspect(of: SwitchboardArguments, reply: RpcReplyPort<NodeSnapshot>) {
    let campaigns = of.campaigns.ask(CampaignsMessage::Inspect, INSPECTION).await;
    let lines: Option<LinesSnapshot> = of.lines.ask(LinesMessage::Inspect, INSPECTION).await;
    let lines = lines.unwrap_or_default();
    let _ = reply.send(NodeSnapshot {
        live_calls: lines.calls.len(),
        lines: lines.lines,
        campaigns: campaigns.unwrap_or_default(),
        draining: of.draining,
        holds_back: lines.holds_back,
    });
}
