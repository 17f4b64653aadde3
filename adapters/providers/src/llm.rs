//! Language models: adapters of the port `LanguageModel`, and the router that chooses one for each reply.

mod accepted_fields;
mod analyst;
mod client;
mod models;
mod probe;
mod race;
mod reply_check;

use std::sync::Arc;

use domain::{
    agent::Agent,
    ports::{
        NotReady,
        language_model::{LanguageError, LanguageModel, ReplyEvent, ReplyRequest},
    },
    prompt::Prompt,
};
use futures_util::{StreamExt, stream, stream::BoxStream};

pub use self::probe::ProbeReport;
use self::{
    models::{Model, Models},
    race::{Race, Speaking, by},
};
use crate::{endpoint::NotConfigured, name::ProviderName, settings::ProviderSettings};
use net::guard::{Guard, Guards};

/// All language models of the service. It asks the model that an agent names, and others when that one is unavailable.
#[derive(Clone)]
pub struct LanguageModels {
    models: Arc<Models>,
}

impl LanguageModels {
    /// Sets up the service's choices. The first is the default; the others are asked when it is unavailable.
    pub fn new(
        choices: Vec<ProviderName>,
        settings: &ProviderSettings,
        guards: &Guards,
    ) -> Result<Self, NotConfigured> {
        let models = Arc::new(Models::new(choices, settings, guards)?);
        Ok(Self { models })
    }

    /// Checks that an agent's `llm` can be used.
    pub fn check(&self, llm: &str) -> Result<(), NotReady> {
        self.models.of(llm).map(drop)
    }

    /// Returns the provider of each of the service's models, with the model as an agent's `llm`.
    pub(crate) fn named(&self) -> Vec<(String, String)> {
        let models = self.models.service();
        models
            .into_iter()
            .map(|model| (model.provider.to_owned(), model.name()))
            .collect()
    }

    /// Returns the guards of the providers that a call of this agent could use. The list is empty if one of
    /// them is never down.
    pub fn guards(&self, agent: &Agent) -> Vec<Guard> {
        let models = self.of(&agent.conversation_config.agent.prompt.llm);
        let guards: Option<Vec<Guard>> = models.into_iter().map(|model| model.guard).collect();
        guards.unwrap_or_default()
    }

    fn of(&self, llm: &str) -> Vec<Model> {
        self.models.of(llm).unwrap_or_else(|NotReady(why)| {
            tracing::warn!(llm, why, "agent's language model not usable, using the service's");
            self.models.service()
        })
    }
}

impl LanguageModel for LanguageModels {
    fn reply(&self, request: ReplyRequest) -> BoxStream<'static, Result<ReplyEvent, LanguageError>> {
        let mut models = self.of(&request.agent.conversation_config.agent.prompt.llm);
        if !models.is_empty() {
            // A model that broke off in the middle of a reply may still be asked by other calls. This call,
            // after failures in a row, begins with another model.
            let turn = request.failures % models.len();
            models.rotate_left(turn);
        }
        let asking = Stage::Asking(Box::new(Asking { request, models }));
        stream::unfold(asking, |stage| async {
            match stage {
                Stage::Asking(asking) => asking.begin().await,
                Stage::Speaking(mut speaking) => {
                    let event = speaking.next().await?;
                    let next = if event.is_ok() {
                        Stage::Speaking(speaking)
                    } else {
                        Stage::Over
                    };
                    Some((event, next))
                }
                Stage::Over => None,
            }
        })
        .boxed()
    }
}

/// State of a reply.
enum Stage {
    Asking(Box<Asking>),
    /// Something was given out, so no other model is asked any more.
    Speaking(Box<Speaking>),
    Over,
}

/// Reply of which nothing was given out yet.
struct Asking {
    request: ReplyRequest,
    models: Vec<Model>,
}

impl Asking {
    /// Asks one model after the other until one speaks.
    async fn begin(self: Box<Self>) -> Option<(Result<ReplyEvent, LanguageError>, Stage)> {
        let prompt = Arc::new(Prompt::of(&self.request));
        let mut failures = Vec::new();
        for (at, model) in self.models.iter().enumerate() {
            let others = &self.models[at + 1..];
            let is_down = |model: &Model| model.guard.as_ref().is_some_and(Guard::is_down);
            let race = Race {
                model,
                request: &self.request,
                prompt: &prompt,
                is_last: others.iter().all(is_down),
            };
            match race.run().await {
                Ok(mut speaking) => {
                    self.request.meter.answers(model.name());
                    let event = speaking.next().await?;
                    return Some((event, Stage::Speaking(speaking)));
                }
                Err(failure) => {
                    let provider = model.provider;
                    let error = LanguageError::from(failure);
                    tracing::warn!(provider, %error, "no reply from the language model");
                    failures.push((provider, error));
                }
            }
        }
        Some((Err(together(failures)), Stage::Over))
    }
}

/// Combines the failures of all models into one error.
fn together(failures: Vec<(&str, LanguageError)>) -> LanguageError {
    if failures.is_empty() {
        return LanguageError::Rejected("no language model is configured: set RINGBACK_LLM".into());
    }
    let pauses = failures.iter().map(|(_, error)| match error {
        LanguageError::Busy { retry_after } => Some(*retry_after),
        LanguageError::Rejected(_) | LanguageError::Unavailable(_) | LanguageError::Protocol(_) => None,
    });
    if let Some(pauses) = pauses.collect::<Option<Vec<_>>>() {
        let retry_after = pauses.into_iter().flatten().min();
        return LanguageError::Busy { retry_after };
    }
    let rejected = |(_, error): &(_, LanguageError)| matches!(error, LanguageError::Rejected(_));
    let lasting = failures.iter().all(rejected);
    let failures = failures.into_iter().map(|(provider, error)| match error {
        busy @ LanguageError::Busy { .. } => LanguageError::Unavailable(format!("{provider}: {busy}")),
        error => by(provider, error),
    });
    let mut failures: Vec<LanguageError> = failures.collect();
    if failures.len() == 1 {
        return failures.remove(0);
    }
    let words: Vec<String> = failures.iter().map(ToString::to_string).collect();
    match lasting {
        true => LanguageError::Rejected(words.join("; ")),
        false => LanguageError::Unavailable(words.join("; ")),
    }
}
