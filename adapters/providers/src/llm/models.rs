//! Which models there are, and which of them an agent's `llm` names.

use std::{collections::BTreeMap, sync::Arc};

use domain::{
    agent::DEFAULT_LLM,
    interviewer::Interviewer,
    ports::{
        NotReady,
        language_model::{LanguageError, LanguageModel, ReplyRequest},
        usage::Meter,
    },
    prompt::Prompt,
};
use futures_util::{StreamExt, TryStreamExt};
use serde_json::Value;

use crate::failure::Failure;
use crate::llm::{
    client::{self, Client},
    reply_stream::{Delta, Deltas},
};
use crate::{
    name::{ProviderName, is_segment, is_sound},
    settings::{NotConfigured, ProviderSettings},
};
use net::guard::{Guard, Guards, Kind};

/// The model inside this process.
pub(super) const INTERVIEWER: &str = "interviewer";

/// The endpoint of a model that is named without its provider.
const BARE: &str = "openai";

/// Who has language models, each with the model to take when none is named: a fast one, as a call wants it. Servers of
/// one's own have none that everybody has; llama.cpp serves but one, whatever it is called.
const PROVIDERS: [(&str, Option<&str>); 8] = [
    ("openai", Some("gpt-4.1-mini")),
    ("anthropic", Some("claude-haiku-4-5")),
    ("groq", Some("llama-3.3-70b-versatile")),
    ("gemini", Some("gemini-2.5-flash")),
    ("azure", None),
    ("ollama", None),
    ("vllm", None),
    ("llamacpp", Some("default")),
];

/// A model that may be asked.
#[derive(Clone)]
pub(super) struct Model {
    /// None is the interviewer.
    client: Option<(Arc<Client>, String)>,
    /// None for what is never down.
    pub guard: Option<Guard>,
    pub provider: String,
}

impl Model {
    fn interviewer() -> Self {
        Self {
            client: None,
            guard: None,
            provider: INTERVIEWER.to_owned(),
        }
    }

    /// The model's name; none inside this process.
    pub(super) fn model(&self) -> Option<&str> {
        self.client.as_ref().map(|(_, model)| model.as_str())
    }

    /// Asks for a reply.
    pub(super) fn ask(&self, request: &ReplyRequest, prompt: &Arc<Prompt>) -> Deltas {
        let Some((client, model)) = &self.client else {
            let events = Interviewer.reply(request.clone());
            let failed = |error: LanguageError| Failure::unavailable(error.to_string());
            return events.map_ok(Delta::Event).map_err(failed).boxed();
        };
        let meter = request.meter.clone();
        client.clone().ask(model.clone(), prompt.clone(), meter, None)
    }

    /// Asks for an answer in JSON of a shape; none of the model inside this process, which cannot.
    pub(super) fn ask_shaped(&self, prompt: &Arc<Prompt>, meter: &Meter, schema: &Value) -> Option<Deltas> {
        let (client, model) = self.client.clone()?;
        Some(client.ask(model, prompt.clone(), meter.clone(), Some(schema.clone())))
    }
}

/// Every model that can be had.
pub(super) struct Models {
    /// The service's own, in order.
    choices: Vec<(ProviderName, Model)>,
    clients: BTreeMap<&'static str, Arc<Client>>,
    settings: ProviderSettings,
    guards: Guards,
}

impl Models {
    /// Reads the service's choices.
    pub(super) fn new(
        choices: Vec<ProviderName>,
        settings: &ProviderSettings,
        guards: &Guards,
    ) -> Result<Self, NotConfigured> {
        let http = client::http().map_err(|error| NotConfigured::Broken(error.to_string()))?;
        let configured = PROVIDERS.iter().filter_map(|(provider, _)| {
            let endpoint = settings.endpoint(provider).ok()?.clone();
            Some((*provider, Arc::new(Client::new(http.clone(), endpoint))))
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

    /// The model of a name.
    pub(super) fn model(&self, name: &ProviderName) -> Result<Model, NotConfigured> {
        let provider = name.provider.as_str();
        if provider == INTERVIEWER {
            return Ok(Model::interviewer());
        }
        let known = PROVIDERS.iter().find(|(known, _)| *known == provider);
        let Some((_, default)) = known else {
            // It may have speech.
            return Err(match self.settings.endpoint(provider) {
                Err(NotConfigured::Unknown(name)) => NotConfigured::Unknown(name),
                _ => NotConfigured::Unfit {
                    provider: provider.to_owned(),
                    what: "language models",
                },
            });
        };
        self.settings.endpoint(provider)?;
        let client = self.clients.get(provider).cloned();
        let chosen = || {
            let mut of_provider = self.choices.iter().filter(|(choice, _)| choice.provider == provider);
            of_provider.next()?.0.model.clone()
        };
        let model = name.model.clone().or_else(chosen).or(default.map(str::to_owned));
        let model = model.ok_or_else(|| NotConfigured::NoModel(provider.to_owned()))?;
        // Azure's are a part of the address.
        let sound = if provider == "azure" { is_segment } else { is_sound };
        if !sound(&model) {
            return Err(NotConfigured::Odd(model));
        }
        let client = client.ok_or_else(|| NotConfigured::Unknown(provider.to_owned()))?;
        Ok(Model {
            client: Some((client, model)),
            guard: Some(self.guard(name)),
            provider: provider.to_owned(),
        })
    }

    /// The provider's guard for what the service asks of it, and one of its own for a model that an agent names.
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

    /// The models to ask for an agent, in order: its own, then the service's of other providers.
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

    /// The service's own, in order.
    pub(super) fn service(&self) -> Vec<Model> {
        self.choices.iter().map(|(_, model)| model.clone()).collect()
    }
}

/// A name without a provider is a model of the default endpoint.
fn named(llm: &str) -> Result<ProviderName, NotReady> {
    let llm = llm.trim();
    let is_provider = llm == INTERVIEWER
        || PROVIDERS
            .iter()
            .any(|(provider, _)| *provider == llm.to_ascii_lowercase());
    if !is_provider && !llm.contains('/') && !llm.contains(char::is_whitespace) {
        return Ok(ProviderName {
            model: Some(llm.to_owned()),
            ..ProviderName::of(BARE)
        });
    }
    Ok(llm.parse()?)
}
