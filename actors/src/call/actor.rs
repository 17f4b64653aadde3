//! The call actor: it performs the effects of the state machine and turns their results into its events.

use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};

use super::{CallMessage, CallReport, PhraseBook, Speculation, effects::EffectHandler};
use crate::{
    attempt::CallPlan,
    audio_stream::{StreamMessage, StreamSettings},
    dial_gate::DialGate,
    journal::Journal,
    supervision::Reports,
};
use domain::{
    id::NodeId,
    node_times::Times,
    ports::{Ports, usage::Meter},
};

/// Data that all calls of a node share.
#[derive(Clone)]
pub struct CallContext {
    /// Id of this process.
    pub node: NodeId,
    /// The ports to the outside.
    pub ports: Ports,
    /// Journal that records the facts of calls.
    pub journal: Journal,
    /// Service settings for audio streams.
    pub stream: StreamSettings,
    /// How far a reply is made ahead of the end of the user's turn.
    pub speculation: Speculation,
    /// Times for heartbeats and dials on which the nodes agree.
    pub times: Times,
    /// Fixed sentences that models made.
    pub phrases: PhraseBook,
    /// Tells whether this process may dial.
    pub gate: DialGate,
}

/// Arguments with which a call starts.
pub struct CallArguments {
    /// The number to dial and the agent that speaks.
    pub plan: CallPlan,
    /// Data shared with other calls.
    pub with: CallContext,
    /// The line pool.
    pub lines: Reports<CallReport>,
    /// Counts the call's usage of its providers. If the call crashes, its usage is settled from a clone.
    pub meter: Meter,
}

/// One attempt.
#[derive(Default)]
pub struct CallActor {
    /// Replaces the audio stream in tests of the call alone.
    pub probe: Option<ActorRef<StreamMessage>>,
}

/// State of the actor. Dropping it stops every task and timer of the call.
pub struct CallActorState(EffectHandler);

impl Actor for CallActor {
    type Msg = CallMessage;
    type State = CallActorState;
    type Arguments = CallArguments;

    async fn pre_start(
        &self,
        me: ActorRef<CallMessage>,
        arguments: CallArguments,
    ) -> Result<CallActorState, ActorProcessingErr> {
        Ok(CallActorState(
            EffectHandler::start(arguments, me, self.probe.clone()).await,
        ))
    }

    async fn handle(
        &self,
        _me: ActorRef<CallMessage>,
        message: CallMessage,
        state: &mut CallActorState,
    ) -> Result<(), ActorProcessingErr> {
        state.0.handle(message).await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<CallMessage>,
        event: SupervisionEvent,
        _state: &mut CallActorState,
    ) -> Result<(), ActorProcessingErr> {
        report_child(&me, event);
        Ok(())
    }
}

/// Reports the end of the audio stream to the call. The supervision event overtakes the stream's last
/// messages, so the report is sent to the end of the mailbox.
fn report_child(me: &ActorRef<CallMessage>, event: SupervisionEvent) {
    let (stream, crash) = match event {
        SupervisionEvent::ActorFailed(stream, error) => (stream, Some(error.to_string())),
        SupervisionEvent::ActorTerminated(stream, ..) => (stream, None),
        _ => return,
    };
    let stream = Some(stream.get_id());
    let _ = me.cast(CallMessage::StreamGone { stream, crash });
}
