//! Starts the call's audio streams, or the text stream of a call that is held in text.

use std::time::Duration;

use ractor::{Actor, ActorId, ActorRef, SpawnErr};

use crate::audio_stream::{AudioStreamActor, StreamArguments, StreamMessage};
use crate::call::effects::{EffectHandler, leg};
use crate::call::{CallMessage, Event, LegRefusal, state::State};
use crate::supervision::Reports;
use crate::text_stream::TextStreamActor;
use domain::ports::media_leg::MediaLeg;

/// Time that a replaced audio stream has to write its recording.
const STOPS_WITHIN: Duration = Duration::from_secs(1);

pub async fn open_stream(call: &mut EffectHandler) {
    if call.plan.is_text {
        return open_text_stream(call).await;
    }
    let Some(leg) = call.audio.offered.take() else { return };
    call.audio.stream_presses = leg.abilities.digits;
    call.audio.operators.line_rate = leg.format.sample_rate;
    if let Some(probe) = &call.audio.probe {
        call.audio.stream = Some(probe.clone());
        return;
    }
    if let Some(replaced) = call.audio.stream.take() {
        // Its recording must be written before the next one begins.
        let _ = replaced.stop_and_wait(None, Some(STOPS_WITHIN)).await;
    }
    call.audio.streams += 1;
    let plan = &call.plan;
    let likely = call.machine.as_ref().map(State::likely_said).unwrap_or_default();
    let number = call.audio.streams;
    let arguments = StreamArguments {
        leg,
        attempt: plan.attempt.claim.attempt,
        agent: plan.agent.clone(),
        ports: call.with.ports.clone(),
        call: Reports::to(&call.me, move |event| CallMessage::Stream { number, event }),
        settings: call.with.stream,
        meter: call.meter.clone(),
        likely,
        feed: call.audio.followers.feed.clone(),
    };
    let spawned = Actor::spawn_linked(None, AudioStreamActor, arguments, call.me.get_cell()).await;
    opened(call, spawned.map(|(stream, _)| stream));
}

/// Opens the text stream.
async fn open_text_stream(call: &mut EffectHandler) {
    call.audio.streams += 1;
    let number = call.audio.streams;
    let reports = Reports::to(&call.me, move |event| CallMessage::Stream { number, event });
    let spawned = Actor::spawn_linked(None, TextStreamActor, reports, call.me.get_cell()).await;
    opened(call, spawned.map(|(stream, _)| stream));
}

fn opened(call: &mut EffectHandler, spawned: Result<ActorRef<StreamMessage>, SpawnErr>) {
    match spawned {
        Ok(stream) => call.audio.stream = Some(stream),
        Err(error) => {
            let crash = Some(error.to_string());
            call.audio.stream = None;
            let _ = call.me.cast(CallMessage::StreamGone { stream: None, crash });
        }
    }
}

pub fn tell_stream(call: &EffectHandler, message: StreamMessage) {
    if let Some(stream) = &call.audio.stream {
        // A supervision event has reported, or will report, that the stream is gone.
        let _ = stream.cast(message);
    }
}

pub fn is_present(call: &EffectHandler, stream: ActorId) -> bool {
    call.audio
        .stream
        .as_ref()
        .is_some_and(|present| present.get_id() == stream)
}

pub async fn media(call: &mut EffectHandler, proof: &str, leg: MediaLeg) -> Result<(), LegRefusal> {
    leg::may_take_media(call, proof, true)?;
    leg::adopt_leg(call, leg.call.clone(), false).await?;
    // A leg that was awaited only to be hung up takes no media.
    leg::may_take_media(call, proof, true)?;
    call.audio.offered = Some(leg);
    call.apply(Event::MediaOpened).await;
    Ok(())
}
