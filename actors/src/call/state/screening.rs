//! A call-screening assistant answered. The agent says who calls and why, and waits to be connected.

use media::amd;

use super::{Effect, Phase, State, who_answered::Machine};
use crate::call::CallTimer;

/// Longest duration of the screening in milliseconds.
pub(super) const SCREENING_MS: u64 = 60_000;

/// Silence in milliseconds after which somebody is assumed to be on the line, waiting to be spoken to.
const CONNECTED_MS: u64 = 10_000;

/// Most introductions in one call.
const MOST_TOLD: u8 = 2;

impl State {
    pub(super) fn assistant_answered(&mut self) {
        self.fall_silent();
        self.fx.push(Effect::SetTimer(CallTimer::Machine, SCREENING_MS));
        self.introduce(0);
    }

    fn introduce(&mut self, told: u8) {
        self.fx.push(Effect::CancelTimer(CallTimer::Quiet));
        self.phase = Phase::Machine(Machine::Screening {
            told: told + 1,
            since_ms: self.stream_ms(self.now_ms),
        });
        if told == 0 {
            self.disclose_anew();
        }
        let introduction = self.rules.introduction.clone();
        self.say_all(&introduction, true);
    }

    /// Handles words of the assistant or of somebody who has come to the telephone.
    pub(super) fn assistant_said(&mut self, text: &str, told: u8) {
        if text.trim().is_empty() || amd::asks_to_wait(text) {
            self.wait_to_be_connected();
        } else if amd::asks_who_calls(text) && !amd::says_hello(text) && told < MOST_TOLD {
            self.introduce(told);
        } else {
            self.person_came();
        }
    }

    pub(super) fn wait_to_be_connected(&mut self) {
        if self.speech.is_none() {
            self.fx.push(Effect::SetTimer(CallTimer::Quiet, CONNECTED_MS));
        }
    }
}
