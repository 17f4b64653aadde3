//! Texts that become known or change during a call: values of placeholders, and fixed sentences in another language.

use std::sync::Arc;

use crate::call::effects::{EffectHandler, planned::planned_rules, tasks, workflow};
use crate::call::state::State;
use domain::template::CALL_DURATION;

/// Sets the duration of the call, which is 0 until the answer. Texts that name it are rendered again.
pub fn tell_duration(call: &mut EffectHandler, now_ms: u64) {
    let elapsed_ms = call.machine.as_ref().map_or(0, |machine| machine.elapsed_ms(now_ms));
    let changed = fill(call, CALL_DURATION, (elapsed_ms / 1_000).to_string());
    if changed && call.machine.as_ref().is_some_and(State::says_duration) {
        read_texts_again(call);
    }
}

/// Sets the value of a placeholder. Returns whether it was another one.
pub fn fill(call: &mut EffectHandler, name: &str, text: String) -> bool {
    let variables = &mut call.plan.variables;
    let changes = variables.get(name) != Some(&text);
    if changes {
        Arc::make_mut(variables).insert(name.to_owned(), text);
    }
    changes
}

/// Applies values or sentences that changed.
pub fn read_texts_again(call: &mut EffectHandler) {
    let graph = workflow::graph(call);
    if let Some(machine) = &mut call.machine {
        let rules = planned_rules(&call.plan, &call.with, graph);
        machine.read_texts_again(rules);
    }
}

/// Has the sentences in the present agent's language made. Until they are there, the English ones stay.
pub fn have_phrases_made(call: &mut EffectHandler) {
    let (agent, analyst) = (&call.plan.agent, &call.with.ports.analyst);
    if !call.with.phrases.lacks(agent) || !analyst.is_asked(agent) {
        return;
    }
    let (book, meter) = (call.with.phrases.clone(), call.meter.clone());
    let task = tasks::make_phrases(book, analyst.clone(), (agent.clone(), meter), call.me.clone());
    call.spawn(task);
}
