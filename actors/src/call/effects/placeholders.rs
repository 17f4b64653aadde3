//! Placeholders whose values become known or change during a call.

use std::sync::Arc;

use super::{EffectHandler, planned_rules};
use crate::call::state::State;
use domain::{
    phone_number::PhoneNumber,
    template::{CALL_DURATION, CALLER_NUMBER},
};

impl EffectHandler {
    /// Sets our number on the line. If it is not the expected one, the texts are rendered again, since they
    /// may name it.
    pub(super) fn shows(&mut self, caller_id: Option<PhoneNumber>) {
        let text = caller_id.as_ref().map(ToString::to_string).unwrap_or_default();
        self.caller_id = caller_id;
        if self.fill(CALLER_NUMBER, text) {
            self.read_texts_again();
        }
    }

    /// Sets the duration of the call, which is 0 until the answer. Texts that name it are rendered again.
    pub(super) fn tell_duration(&mut self, now_ms: u64) {
        let elapsed_ms = self.machine.as_ref().map_or(0, |machine| machine.elapsed_ms(now_ms));
        let changed = self.fill(CALL_DURATION, (elapsed_ms / 1_000).to_string());
        if changed && self.machine.as_ref().is_some_and(State::says_duration) {
            self.read_texts_again();
        }
    }

    /// Sets the value of a placeholder. Returns whether it was another one.
    fn fill(&mut self, name: &str, text: String) -> bool {
        let variables = &mut self.plan.variables;
        let changes = variables.get(name) != Some(&text);
        if changes {
            Arc::make_mut(variables).insert(name.to_owned(), text);
        }
        changes
    }

    /// Applies values or sentences that changed.
    pub(super) fn read_texts_again(&mut self) {
        let graph = self.graph();
        if let Some(machine) = &mut self.machine {
            let rules = planned_rules(&self.plan, &self.with, graph);
            machine.read_texts_again(rules);
        }
    }
}
