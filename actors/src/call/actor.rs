//! The call actor: performs what the state machine wants done, and turns results into its events.

use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};

use super::{CallMessage, CallReport, Speculation, effects::EffectHandler};
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

/// What all calls of a node share.
#[derive(Clone)]
pub struct CallContext {
    /// This process.
    pub node: NodeId,
    /// The outside.
    pub ports: Ports,
    /// Where calls send their facts.
    pub journal: Journal,
    /// What the service's settings say about every audio stream.
    pub stream: StreamSettings,
    /// How far a reply is made ahead of the end of the user's turn.
    pub speculation: Speculation,
    /// The times on which nodes agree.
    pub times: Times,
    /// Whether this process may dial.
    pub gate: DialGate,
}

/// What a call is started with.
pub struct CallArguments {
    /// What to dial and who speaks.
    pub plan: CallPlan,
    /// What it shares with the others.
    pub with: CallContext,
    /// The line pool.
    pub lines: Reports<CallReport>,
    /// Counts what it uses of its providers; whoever settles it, should it crash, has a clone.
    pub meter: Meter,
}

/// One attempt.
#[derive(Default)]
pub struct CallActor {
    /// Stands in for the audio stream, in tests of the call alone.
    pub probe: Option<ActorRef<StreamMessage>>,
}

/// Its state. Dropping it stops every task and timer of the call.
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

/// The audio stream's end overtakes its last messages, so it goes to the end of the mailbox.
fn report_child(me: &ActorRef<CallMessage>, event: SupervisionEvent) {
    let (stream, crash) = match event {
        SupervisionEvent::ActorFailed(stream, error) => (stream, Some(error.to_string())),
        SupervisionEvent::ActorTerminated(stream, ..) => (stream, None),
        _ => return,
    };
    let stream = Some(stream.get_id());
    let _ = me.cast(CallMessage::StreamGone { stream, crash });
}
