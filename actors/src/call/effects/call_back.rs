//! Call-backs that the agent promised, and wishes never to be called again. Call-backs are recorded in the journal
//! at once, for a process that takes the call over, and written with the outcome.

use serde_json::{Value, json};

use super::EffectHandler;
use crate::{attempt::Inheritance, call::writer::Write};
use domain::{
    callback_time::SpokenTime,
    ports::store::{CALL_BACK, OPTED_OUT},
    retry::CallBackWish,
};

/// Returns the call-back that was promised last, unless the callee has opted out of calls since.
pub(super) fn planned_before(inherited: &Inheritance) -> Option<CallBackWish> {
    if inherited.call.opted_out {
        return None;
    }
    let events = &inherited.call.events;
    let last = events.iter().rfind(|event| event.name == CALL_BACK)?;
    serde_json::from_str(&last.detail).ok()
}

impl EffectHandler {
    /// Plans another call at that time. The outcome will contain it, whichever process writes the outcome.
    pub(super) fn plan_call_back(&mut self, time: SpokenTime) {
        let said_at = self.with.ports.clock.now();
        let wish = CallBackWish { time, said_at };
        self.call_back = Some(wish);
        self.record_event(CALL_BACK, &serde_json::to_value(wish).unwrap_or(Value::Null));
    }

    pub(super) fn opt_out(&mut self) {
        self.call_back = None;
        let attempt = &self.plan.attempt;
        let (account, number) = (attempt.account, attempt.contact.phone_number.clone());
        if !number.is_nobodys() && !std::mem::replace(&mut self.opted_out, true) {
            self.write(Write::OptOut(account, number));
            self.record_event(OPTED_OUT, &json!({}));
        }
    }
}
