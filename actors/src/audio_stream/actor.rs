//! The audio stream actor.

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::{StreamEvent, StreamMessage, stream::Stream};
use crate::{live_feed::LiveFeed, supervision::Reports};
use domain::{
    agent::Agent,
    id::AttemptId,
    ports::{Ports, media_leg::MediaLeg, synthesizer::Likely, usage::Meter},
};

/// Service settings that apply to every audio stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamSettings {
    /// Pause in milliseconds that ends a user's turn regardless of the words (`RINGBACK_FIXED_PAUSE_MS`).
    pub fixed_pause_ms: Option<u64>,
}

/// Arguments with which an audio stream starts.
pub struct StreamArguments {
    /// The media socket.
    pub leg: MediaLeg,
    /// The call's attempt.
    pub attempt: AttemptId,
    /// The agent that speaks. It determines voice, language, turn-taking and recording.
    pub agent: Arc<Agent>,
    /// The ports to the outside.
    pub ports: Ports,
    /// Receiver of the stream's events.
    pub call: Reports<StreamEvent>,
    /// Service settings for audio streams.
    pub settings: StreamSettings,
    /// Counts the call's usage of its providers.
    pub meter: Meter,
    /// Texts that the agent will probably say, the soonest first.
    pub likely: Vec<Likely>,
    /// Clients that follow the call already.
    pub feed: Option<LiveFeed>,
}

/// Hears and speaks for one call.
pub struct AudioStreamActor;

/// State of the actor. Dropping it stops its tasks, the recogniser and the recording.
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
