//! The audio stream actor.

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::StreamMessage;
use crate::{
    agent::Agent,
    call::CallMessage,
    id::AttemptId,
    ports::{Ports, media_leg::MediaLeg},
};

/// What an audio stream is started with.
pub struct StreamArguments {
    /// The socket.
    pub leg: MediaLeg,
    /// The call's attempt.
    pub attempt: AttemptId,
    /// Who speaks: voice, language, turn-taking, recording.
    pub agent: Arc<Agent>,
    /// The outside.
    pub ports: Ports,
    /// Whom it tells.
    pub call: ActorRef<CallMessage>,
}

/// The ears and the mouth of one call.
pub struct AudioStreamActor;

/// Its state.
pub struct AudioStreamState;

impl Actor for AudioStreamActor {
    type Msg = StreamMessage;
    type State = AudioStreamState;
    type Arguments = StreamArguments;

    async fn pre_start(
        &self,
        _me: ActorRef<StreamMessage>,
        _arguments: StreamArguments,
    ) -> Result<AudioStreamState, ActorProcessingErr> {
        Ok(AudioStreamState)
    }
}
