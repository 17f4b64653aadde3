//! Operators who take the call.

use super::EffectHandler;
use crate::{
    audio_stream::{OperatorLeg, StreamMessage},
    call::{CallMessage, OperateRefusal, OperatorLeft, OperatorLine, state::Event},
    supervision::Reports,
};

/// Operators of a call.
#[derive(Default)]
pub(super) struct Operators {
    /// Number of operators so far.
    count: u32,
    /// The operator who was accepted last.
    offered: Option<OperatorLeg>,
    /// Rate of the media socket in Hz, once it was open.
    pub(super) line_rate: u32,
}

impl EffectHandler {
    /// Gives the call to an operator, or refuses it.
    pub(super) async fn operate(&mut self, by: String) -> Result<OperatorLine, OperateRefusal> {
        let machine = self.machine.as_ref().ok_or(OperateRefusal::NotHere)?;
        if let Some(refusal) = machine.operate_refusal() {
            return Err(refusal);
        }
        if self.plan.is_text {
            return Err(OperateRefusal::NotNow("the call is held in text".to_owned()));
        }
        self.operators.count += 1;
        let number = self.operators.count;
        let left = Reports::to(&self.me, move |left| CallMessage::OperatorLeft { number, left });
        let (line, leg) = OperatorLine::open(self.operators.line_rate, left);
        self.operators.offered = Some(leg);
        self.apply(Event::OperatorJoined { by }).await;
        Ok(line)
    }

    /// Handles the end of an operator's connection.
    pub(super) async fn operator_left(&mut self, number: u32, left: OperatorLeft) {
        if number == self.operators.count {
            self.apply(Event::OperatorLeft(left)).await;
        }
    }

    pub(super) fn seat_operator(&mut self) {
        if let Some(leg) = self.operators.offered.take() {
            self.tell_stream(StreamMessage::OperatorJoins(leg));
        }
    }
}
