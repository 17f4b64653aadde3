//! Starts the call's audio streams, or the text stream of a call that is held in text.

use std::time::Duration;

use ractor::{Actor, ActorId, ActorRef, SpawnErr};

use super::EffectHandler;
use crate::{
    audio_stream::{AudioStreamActor, StreamArguments, StreamMessage},
    call::{CallMessage, state::State},
    supervision::Reports,
    text_stream::TextStreamActor,
};

/// Time that a replaced audio stream has to write its recording.
const STOPS_WITHIN: Duration = Duration::from_secs(1);

impl EffectHandler {
    pub(super) async fn open_stream(&mut self) {
        if self.plan.is_text {
            return self.open_text_stream().await;
        }
        let Some(leg) = self.offered.take() else { return };
        self.stream_presses = leg.abilities.digits;
        self.operators.line_rate = leg.format.sample_rate;
        if let Some(probe) = &self.probe {
            self.stream = Some(probe.clone());
            return;
        }
        if let Some(replaced) = self.stream.take() {
            // Its recording must be written before the next one begins.
            let _ = replaced.stop_and_wait(None, Some(STOPS_WITHIN)).await;
        }
        self.streams += 1;
        let plan = &self.plan;
        let likely = self.machine.as_ref().map(State::likely_said).unwrap_or_default();
        let number = self.streams;
        let arguments = StreamArguments {
            leg,
            attempt: plan.attempt.claim.attempt,
            agent: plan.agent.clone(),
            ports: self.with.ports.clone(),
            call: Reports::to(&self.me, move |event| CallMessage::Stream { number, event }),
            settings: self.with.stream,
            meter: self.meter.clone(),
            likely,
            feed: self.followers.feed.clone(),
        };
        let opened = Actor::spawn_linked(None, AudioStreamActor, arguments, self.me.get_cell()).await;
        self.opened(opened.map(|(stream, _)| stream));
    }

    /// Opens the text stream.
    async fn open_text_stream(&mut self) {
        self.streams += 1;
        let number = self.streams;
        let call = Reports::to(&self.me, move |event| CallMessage::Stream { number, event });
        let opened = Actor::spawn_linked(None, TextStreamActor, call, self.me.get_cell()).await;
        self.opened(opened.map(|(stream, _)| stream));
    }

    fn opened(&mut self, opened: Result<ActorRef<StreamMessage>, SpawnErr>) {
        match opened {
            Ok(stream) => self.stream = Some(stream),
            Err(error) => {
                let crash = Some(error.to_string());
                self.stream = None;
                let _ = self.me.cast(CallMessage::StreamGone { stream: None, crash });
            }
        }
    }

    pub(super) fn tell_stream(&self, message: StreamMessage) {
        if let Some(stream) = &self.stream {
            // A supervision event has reported, or will report, that the stream is gone.
            let _ = stream.cast(message);
        }
    }

    pub(super) fn is_present(&self, stream: ActorId) -> bool {
        self.stream.as_ref().is_some_and(|present| present.get_id() == stream)
    }
}
