//! The call actor.

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::{CallMessage, CallParents, CallPlan};
use crate::{id::NodeId, ports::Ports};

/// What a call is started with.
pub struct CallArguments {
    /// What to dial and who speaks.
    pub plan: CallPlan,
    /// The outside.
    pub ports: Ports,
    /// Whom it tells.
    pub parents: CallParents,
    /// This process.
    pub node: NodeId,
}

/// One attempt.
pub struct CallActor;

/// Its state.
pub struct CallActorState;

impl Actor for CallActor {
    type Msg = CallMessage;
    type State = CallActorState;
    type Arguments = CallArguments;

    async fn pre_start(
        &self,
        _me: ActorRef<CallMessage>,
        _arguments: CallArguments,
    ) -> Result<CallActorState, ActorProcessingErr> {
        Ok(CallActorState)
    }
}
