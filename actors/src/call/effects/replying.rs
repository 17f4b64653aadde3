//! Starts the model's replies.

use std::sync::Arc;

use super::EffectHandler;
use crate::{
    audio_stream::performable,
    call::{state::State, tasks},
};
use domain::{
    agent::Agent,
    knowledge::{Excerpt, Knowledge},
    ports::language_model::ReplyRequest,
};

impl EffectHandler {
    /// Asks the model to reply, as the agent talks in this node if there is one.
    pub(super) fn start_reply(&mut self, node: Option<&str>) {
        self.cancel_reply();
        let agent = node.map_or_else(|| self.plan.agent.clone(), |node| self.agent_in(node));
        let Some(machine) = &self.machine else { return };
        let request = self.request(machine, &agent);
        let model = self.with.ports.language_model.clone();
        let speaker = (model, self.knowledge.clone());
        let asked = (request, self.offers());
        let reply = (self.reply_generation, self.plan.test.is_some());
        let task = tasks::reply(speaker, asked, reply, self.me.clone());
        self.reply_task = Some(self.spawn(task));
    }

    /// Returns the request for a reply, without tools and knowledge.
    pub(super) fn request(&self, machine: &State, agent: &Arc<Agent>) -> ReplyRequest {
        let plan = &self.plan;
        ReplyRequest {
            agent: performable(agent, &*self.with.ports.synthesizer),
            variables: plan.variables.clone(),
            tools: Arc::default(),
            direction: plan.told_direction(),
            history: machine.asked(),
            notes: machine.notes().to_vec(),
            knowledge: Knowledge::default(),
            now: self.with.ports.clock.now(),
            failures: machine.failures(),
            meter: self.meter.clone(),
        }
    }

    /// Keeps the passages that a reply was given, for the record of its turn.
    pub(super) fn knowledge_given(&mut self, generation: u64, passages: Vec<Excerpt>) {
        if generation == self.reply_generation {
            self.passages = passages;
        }
    }

    pub(super) fn cancel_reply(&mut self) {
        self.reply_generation += 1;
        if let Some(task) = self.reply_task.take() {
            task.abort();
        }
    }
}
