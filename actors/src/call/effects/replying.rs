//! Starts the model's replies.

use std::sync::Arc;

use super::EffectHandler;
use crate::{audio_stream::performable, call::tasks};
use domain::{
    knowledge::{Excerpt, Knowledge},
    ports::language_model::ReplyRequest,
};

impl EffectHandler {
    pub(super) fn start_reply(&mut self) {
        self.cancel_reply();
        let Some(machine) = &self.machine else { return };
        let plan = &self.plan;
        let request = ReplyRequest {
            agent: performable(&plan.agent, &*self.with.ports.synthesizer),
            variables: plan.variables.clone(),
            tools: Arc::default(),
            direction: plan.told_direction(),
            history: machine.asked(),
            notes: machine.notes().to_vec(),
            knowledge: Knowledge::default(),
            now: self.with.ports.clock.now(),
            failures: machine.failures(),
            meter: self.meter.clone(),
        };
        let model = self.with.ports.language_model.clone();
        let speaker = (model, self.knowledge.clone());
        let asked = (request, self.offers());
        let reply = (self.reply_generation, plan.test.is_some());
        let task = tasks::reply(speaker, asked, reply, self.me.clone());
        self.reply_task = Some(self.spawn(task));
    }

    /// Keeps what a reply was given, for the record of its turn.
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
