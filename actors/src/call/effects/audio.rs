//! The audio of a call: its streams, operators, and those who follow it.

pub mod following;
pub mod streams;

use ractor::ActorRef;

use self::following::Followers;
use crate::audio_stream::{OperatorLeg, StreamMessage};
use crate::call::effects::EffectHandler;
use crate::call::{CallMessage, Event, OperateRefusal, OperatorLeft, OperatorLine};
use crate::supervision::Reports;
use domain::{ports::media_leg::MediaLeg, time::Timestamp};

/// The present stream, and who hears it.
pub struct AudioSide {
    /// The media leg that was accepted last.
    offered: Option<MediaLeg>,
    stream: Option<ActorRef<StreamMessage>>,
    /// Number of audio streams that the call has had.
    streams: u32,
    /// Whether the media socket takes keys to press.
    stream_presses: bool,
    operators: Operators,
    probe: Option<ActorRef<StreamMessage>>,
    followers: Followers,
}

impl AudioSide {
    pub fn new(probe: Option<ActorRef<StreamMessage>>, now: Timestamp) -> Self {
        Self {
            offered: None,
            stream: None,
            streams: 0,
            stream_presses: false,
            operators: Operators::default(),
            probe,
            followers: Followers::none(now),
        }
    }

    pub fn is_stream(&self, number: u32) -> bool {
        number == self.streams || self.probe.is_some()
    }

    pub fn stream(&self) -> Option<ActorRef<StreamMessage>> {
        self.stream.clone()
    }

    pub fn presses_keys(&self) -> bool {
        self.stream_presses
    }

    pub fn followers(&self) -> &Followers {
        &self.followers
    }

    pub fn lose_stream(&mut self) {
        self.stream = None;
    }
}

#[derive(Default)]
struct Operators {
    /// Number of operators so far.
    count: u32,
    /// The operator who was accepted last.
    offered: Option<OperatorLeg>,
    /// Rate of the media socket in Hz, once it was open.
    line_rate: u32,
}

/// Gives the call to an operator, or refuses it.
pub async fn operate(call: &mut EffectHandler, by: String) -> Result<OperatorLine, OperateRefusal> {
    let machine = call.machine.as_ref().ok_or(OperateRefusal::NotHere)?;
    if let Some(refusal) = machine.operate_refusal() {
        return Err(refusal);
    }
    if call.plan.is_text {
        return Err(OperateRefusal::NotNow("the call is held in text".to_owned()));
    }
    call.audio.operators.count += 1;
    let number = call.audio.operators.count;
    let left = Reports::to(&call.me, move |left| CallMessage::OperatorLeft { number, left });
    let (line, leg) = OperatorLine::open(call.audio.operators.line_rate, left);
    call.audio.operators.offered = Some(leg);
    call.apply(Event::OperatorJoined { by }).await;
    Ok(line)
}

/// Handles the end of an operator's connection.
pub async fn operator_left(call: &mut EffectHandler, number: u32, left: OperatorLeft) {
    if number == call.audio.operators.count {
        call.apply(Event::OperatorLeft(left)).await;
    }
}

pub fn seat_operator(call: &mut EffectHandler) {
    if let Some(leg) = call.audio.operators.offered.take() {
        streams::tell_stream(call, StreamMessage::OperatorJoins(leg));
    }
}
