//! Starts the model's replies.

use std::sync::Arc;

use crate::audio_stream::performable;
use crate::call::effects::{EffectHandler, outside_tools, tasks, workflow};
use crate::call::state::State;
use domain::{
    agent::Agent,
    knowledge::{Excerpt, Knowledge},
    ports::language_model::ReplyRequest,
};

/// Asks the model to reply, as the agent talks in this node if there is one.
pub fn start_reply(call: &mut EffectHandler, node: Option<&str>) {
    cancel_reply(call);
    let agent = node.map_or_else(|| call.plan.agent.clone(), |node| workflow::agent_in(call, node));
    let Some(machine) = &call.machine else { return };
    let request = request(call, machine, &agent);
    let model = call.with.ports.language_model.clone();
    let speaker = (model, call.model.knowledge.clone());
    let asked = (request, outside_tools::offers(call));
    let reply = (call.model.reply_generation, call.plan.test.is_some());
    let task = tasks::reply(speaker, asked, reply, call.me.clone());
    call.model.reply_task = Some(call.spawn(task));
}

/// Returns the request for a reply, without tools and knowledge.
pub fn request(call: &EffectHandler, machine: &State, agent: &Arc<Agent>) -> ReplyRequest {
    let plan = &call.plan;
    ReplyRequest {
        agent: performable(agent, &*call.with.ports.synthesizer),
        variables: plan.variables.clone(),
        tools: Arc::default(),
        direction: plan.told_direction(),
        history: machine.asked(),
        notes: machine.notes().to_vec(),
        knowledge: Knowledge::default(),
        now: call.with.ports.clock.now(),
        failures: machine.failures(),
        meter: call.meter.clone(),
    }
}

/// Keeps the passages that a reply was given, for the record of its turn.
pub fn knowledge_given(call: &mut EffectHandler, generation: u64, passages: Vec<Excerpt>) {
    if generation == call.model.reply_generation {
        call.model.passages = passages;
    }
}

pub fn cancel_reply(call: &mut EffectHandler) {
    call.model.reply_generation += 1;
    if let Some(task) = call.model.reply_task.take() {
        task.abort();
    }
}
