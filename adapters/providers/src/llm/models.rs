//! Available models, and the choice of one by an agent's `llm`.

use std::{collections::BTreeMap, sync::Arc};

use domain::{
    agent::DEFAULT_LLM,
    ports::{
        NotReady,
        language_model::{LanguageError, LanguageModel, ReplyRequest},
        usage::Meter,
    },
    prompt::Prompt,
};
use futures_util::{StreamExt, TryStreamExt};
use serde_json::Value;

use crate::{
    endpoint::NotConfigured,
    failure::Failure,
    llm::client::{self, Client},
    name::{ProviderName, is_segment, is_sound},
    protocols::llm::reply_stream::{Delta, Deltas},
    provider::LlmWay,
    registry::{self, BARE, PROVIDERS},
    settings::ProviderSettings,
};
use net::guard::{Guard, Guards, Kind};

/// Model that can be used.
#[derive(Clone)]
pub(super) struct Model {
    way: Way,
    /// Guard of the provider; `None` for a model that is never down.
    pub guard: Option<Guard>,
    pub provider: &'static str,
}

/// Way of asking a model.
#[derive(Clone)]
enum Way {
    /// Inside this process.
    Inside(&'static dyn LanguageModel),
    /// By a client, with the model's name.
    Client(Arc<Client>, String),
}

impl Model {
    /// Returns the model's name, or `None` for the one inside this process.
    pub(super) fn model(&self) -> Option<&str> {
        match &self.way {
            Way::Inside(_) => None,
            Way::Client(_, model) => Some(model),
        }
    }

    /// Returns the provider's name and the model's.
    pub(super) fn name(&self) -> String {
        match self.model() {
            Some(model) => format!("{}/{model}", self.provider),
            None => self.provider.to_owned(),
        }
    }

    /// Requests a reply.
    pub(super) fn ask(&self, request: &ReplyRequest, prompt: &Arc<Prompt>) -> Deltas {
        match &self.way {
            Way::Inside(inside) => {
                let failed = |error: LanguageError| Failure::unavailable(error.to_string());
                inside
                    .reply(request.clone())
                    .map_ok(Delta::Event)
                    .map_err(failed)
                    .boxed()
            }
            Way::Client(client, model) => {
                let meter = request.meter.clone();
                client.clone().ask(model.clone(), prompt.clone(), meter, None)
            }
        }
    }

    /// Requests an answer in JSON. Returns `None` for the model inside this process, which cannot give one.
    pub(super) fn ask_shaped(&self, prompt: &Arc<Prompt>, meter: &Meter, schema: &Value) -> Option<Deltas> {
        let Way::Client(client, model) = self.way.clone() else {
            return None;
        };
        Some(client.ask(model, prompt.clone(), meter.clone(), Some(schema.clone())))
    }
}

/// All available models.
pub(super) struct Models {
    /// Models of the service, in order.
    choices: Vec<(ProviderName, Model)>,
    clients: BTreeMap<&'static str, Arc<Client>>,
    settings: ProviderSettings,
    guards: Guards,
}

impl Models {
    /// Sets up the service's choices.
    pub(super) fn new(
        choices: Vec<ProviderName>,
        settings: &ProviderSettings,
        guards: &Guards,
    ) -> Result<Self, NotConfigured> {
        let http = client::http().map_err(|error| NotConfigured::Broken(error.to_string()))?;
        let configured = PROVIDERS.iter().filter_map(|provider| {
            let LlmWay::Api(api) = provider.llm.as_ref()?.way else {
                return None;
            };
            let endpoint = settings.endpoint(provider.name).ok()?.clone();
            let format = settings.format(&endpoint);
            let client = Client::new(http.clone(), endpoint, api, format);
            Some((provider.name, Arc::new(client)))
        });
        let mut models = Self {
            choices: Vec::new(),
            clients: configured.collect(),
            settings: settings.clone(),
            guards: guards.clone(),
        };
        for name in choices {
            let model = models.model(&name)?;
            models.choices.push((name, model));
        }
        Ok(models)
    }

    /// Returns the model of a name.
    pub(super) fn model(&self, name: &ProviderName) -> Result<Model, NotConfigured> {
        // The provider may offer speech only.
        let (known, llm) = registry::offering(&name.provider, "language models", |known| known.llm.as_ref())?;
        let provider = known.name;
        let api = match llm.way {
            LlmWay::Api(api) => api,
            LlmWay::Inside(inside, _) => {
                return Ok(Model {
                    way: Way::Inside(inside),
                    guard: None,
                    provider,
                });
            }
        };
        self.settings.endpoint(provider)?;
        let client = self.clients.get(provider).cloned();
        let chosen = || {
            let mut of_provider = self.choices.iter().filter(|(choice, _)| choice.provider == provider);
            of_provider.next()?.0.model.clone()
        };
        let model = name.model.clone().or_else(chosen);
        let model = model.or(Some(llm.model).filter(|model| !model.is_empty()).map(str::to_owned));
        let model = model.ok_or_else(|| NotConfigured::NoModel(provider.to_owned()))?;
        let sound = if api.has_model_in_path() { is_segment } else { is_sound };
        if !sound(&model) {
            return Err(NotConfigured::Odd(model));
        }
        let client = client.ok_or_else(|| NotConfigured::Broken(format!("{provider} has none")))?;
        Ok(Model {
            way: Way::Client(client, model),
            guard: Some(self.guard(name)),
            provider,
        })
    }

    /// Returns the provider's guard for the service's own models, or a separate guard for a model that only
    /// an agent names.
    fn guard(&self, name: &ProviderName) -> Guard {
        let own = name.model.as_deref().filter(|model| {
            let mut listed = self
                .choices
                .iter()
                .filter(|(choice, _)| choice.provider == name.provider);
            !self.choices.is_empty() && !listed.any(|(choice, _)| choice.model.as_deref() == Some(model))
        });
        self.guards
            .get_named(Kind::LanguageModel, &name.provider, own.unwrap_or_default())
    }

    /// Returns the models to ask for an agent, in order: its own, then the service's models of other providers.
    pub(super) fn of(&self, llm: &str) -> Result<Vec<Model>, NotReady> {
        let service = self.choices.iter();
        if llm.trim().is_empty() || llm.trim() == DEFAULT_LLM {
            return Ok(service.map(|(_, model)| model.clone()).collect());
        }
        let own = self.model(&named(llm)?)?;
        let others = service.filter(|(name, _)| name.provider != own.provider);
        Ok(std::iter::once(own.clone())
            .chain(others.map(|(_, model)| model.clone()))
            .collect())
    }

    /// Returns the service's models, in order.
    pub(super) fn service(&self) -> Vec<Model> {
        self.choices.iter().map(|(_, model)| model.clone()).collect()
    }
}

/// Parses an agent's `llm`. A name without a provider is a model of the default provider.
fn named(llm: &str) -> Result<ProviderName, NotReady> {
    let llm = llm.trim();
    let is_provider = registry::find(&llm.to_ascii_lowercase()).is_some_and(|known| known.llm.is_some());
    if !is_provider && !llm.contains('/') && !llm.contains(char::is_whitespace) {
        return Ok(ProviderName {
            model: Some(llm.to_owned()),
            ..ProviderName::of(BARE)
        });
    }
    Ok(llm.parse()?)
}
