//! Fixed sentences in the agent's language, made in the background if there are none.

use super::EffectHandler;
use crate::call::tasks;

impl EffectHandler {
    /// Has the sentences in the present agent's language made. Until they are there, the English ones stay.
    pub(super) fn have_phrases_made(&mut self) {
        let (agent, analyst) = (&self.plan.agent, &self.with.ports.analyst);
        if !self.with.phrases.lacks(agent) || !analyst.is_asked(agent) {
            return;
        }
        let (book, meter) = (self.with.phrases.clone(), self.meter.clone());
        let task = tasks::make_phrases(book, analyst.clone(), (agent.clone(), meter), self.me.clone());
        self.spawn(task);
    }
}
