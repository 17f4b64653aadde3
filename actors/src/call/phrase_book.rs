//! Fixed sentences that language models made for languages without built-in ones, for all calls of a node.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::OnceCell;

use domain::{
    agent::Agent,
    phrases::Phrases,
    ports::{
        analyst::{Analyst, AnalystError},
        usage::Meter,
    },
};

/// Most pairs of a model and a language that are kept.
const MOST: usize = 256;

/// Sentences of one language by one model; empty until they are made.
type Slot = Arc<OnceCell<Phrases>>;

/// The sentences, by model and language.
#[derive(Clone, Default)]
pub struct PhraseBook(Arc<Mutex<HashMap<(String, String), Slot>>>);

impl PhraseBook {
    /// Returns the sentences for an agent: built in, made before, or English ones.
    pub(super) fn phrases(&self, agent: &Agent) -> Phrases {
        let language = &agent.conversation_config.agent.primary_language;
        let made = || self.slot(agent)?.get().copied();
        Phrases::built_in(language)
            .or_else(made)
            .unwrap_or_else(Phrases::foreign)
    }

    /// Returns whether sentences have to be made for an agent.
    pub(super) fn lacks(&self, agent: &Agent) -> bool {
        let language = &agent.conversation_config.agent.primary_language;
        Phrases::built_in(language).is_none() && self.slot(agent).is_some_and(|slot| !slot.initialized())
    }

    /// Has the sentences made for an agent, unless they are there or another call is about to have them made. A
    /// model whose answer is of no use is not asked again.
    pub(super) async fn make(
        &self,
        analyst: &dyn Analyst,
        agent: &Arc<Agent>,
        meter: &Meter,
    ) -> Result<(), AnalystError> {
        let Some(slot) = self.slot(agent) else {
            return Ok(());
        };
        let made = slot.get_or_try_init(|| async {
            let answer = analyst.answer(Phrases::question(agent, meter.clone())).await;
            match answer.map(|answer| Phrases::made(&answer)) {
                Ok(Some(phrases)) => Ok(phrases),
                Ok(None) | Err(AnalystError::BadAnswer(_)) => {
                    let language = &agent.conversation_config.agent.primary_language;
                    tracing::warn!(language, "model's fixed phrases unusable, English ones stay");
                    Ok(Phrases::foreign())
                }
                Err(error @ AnalystError::Unavailable(_)) => Err(error),
            }
        });
        made.await?;
        Ok(())
    }

    fn slot(&self, agent: &Agent) -> Option<Slot> {
        let section = &agent.conversation_config.agent;
        let key = (
            section.prompt.llm.clone(),
            section.primary_language.to_ascii_lowercase(),
        );
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = slots.len() < MOST;
        match slots.get(&key) {
            Some(slot) => Some(slot.clone()),
            None => room.then(|| slots.entry(key).or_default().clone()),
        }
    }
}
