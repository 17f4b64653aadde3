//! The audio stream actor.

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::{StreamEvent, StreamMessage, stream::Stream};
use crate::supervision::Reports;
use domain::{
    agent::Agent,
    id::AttemptId,
    ports::{Ports, media_leg::MediaLeg, synthesizer::Likely, usage::Meter},
};

/// What the service's settings say about every audio stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamSettings {
    /// The pause that ends a user's turn whatever its words, in milliseconds (`RINGBACK_FIXED_PAUSE_MS`).
    pub fixed_pause_ms: Option<u64>,
}

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
    pub call: Reports<StreamEvent>,
    /// What the service's settings say.
    pub settings: StreamSettings,
    /// Counts what the call uses of its providers.
    pub meter: Meter,
    /// Texts that are likely to be said, the soonest first.
    pub likely: Vec<Likely>,
}

/// Hears and speaks for one call.
pub struct AudioStreamActor;

/// Its state. Dropping it stops its tasks, the recogniser and the recording.
pub struct AudioStreamState(Stream);

impl Actor for AudioStreamActor {
    type Msg = StreamMessage;
    type State = AudioStreamState;
    type Arguments = StreamArguments;

    async fn pre_start(
        &self,
        me: ActorRef<StreamMessage>,
        arguments: StreamArguments,
    ) -> Result<AudioStreamState, ActorProcessingErr> {
        Ok(AudioStreamState(Stream::open(arguments, me)?))
    }

    async fn handle(
        &self,
        me: ActorRef<StreamMessage>,
        message: StreamMessage,
        state: &mut AudioStreamState,
    ) -> Result<(), ActorProcessingErr> {
        state.0.handle(message);
        if state.0.is_over() {
            me.stop(None);
        }
        Ok(())
    }

    async fn post_stop(
        &self,
        _me: ActorRef<StreamMessage>,
        state: &mut AudioStreamState,
    ) -> Result<(), ActorProcessingErr> {
        state.0.finish();
        Ok(())
    }
}
