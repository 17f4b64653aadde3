//! Voices and language models that the configured providers offer. They are the same for all accounts.

use std::collections::BTreeMap;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use domain::{
    agent::Problem,
    ports::catalog::{Offer, OfferedVoice},
};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::{
    described::operation::Operation,
    request::query::{Parameters, Query, RawQuery},
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult},
    },
    state::RestState,
};
use integrations::documents::DocumentError;

/// Voices of the providers.
#[derive(Debug, Serialize, ToSchema)]
pub struct VoiceList {
    voices: Vec<VoiceDetails>,
    /// Providers whose voices are missing here.
    unavailable: Vec<UnavailableProvider>,
}

/// A voice that agents can use.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VoiceDetails {
    /// Name of the provider.
    provider: String,
    /// Value for an agent's `voiceId`.
    voice_id: String,
    /// Name for people.
    name: String,
    /// Languages as the provider names them; omitted if it names none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    languages: Vec<String>,
    /// Labels of the provider; omitted if there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    /// Address of a sample; omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    preview_url: Option<String>,
}

/// Language models of the providers.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelList {
    models: Vec<ModelDetails>,
    /// Providers whose models are missing here.
    unavailable: Vec<UnavailableProvider>,
}

/// A model that agents can use.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelDetails {
    /// Name of the provider.
    provider: String,
    /// Value for an agent's `llm`.
    model: String,
}

/// A provider whose list could not be read.
#[derive(Debug, Serialize, ToSchema)]
pub struct UnavailableProvider {
    /// Name of the provider.
    provider: String,
    /// Reason.
    error: String,
}

/// Items, each with its provider.
type Items<T> = Vec<(String, T)>;

/// Parameters of both lists.
#[derive(Debug, Clone)]
struct Filter {
    provider: Option<String>,
}

impl Parameters for Filter {
    const NAMES: &'static [&'static str] = &["provider"];

    fn read(query: &mut RawQuery) -> Self {
        Self {
            provider: query.text("provider"),
        }
    }
}

impl Filter {
    /// Splits the offers into items and failed providers. Refuses a provider without an offer.
    fn split<T>(&self, offers: Vec<Offer<T>>) -> ApiResult<(Items<T>, Vec<UnavailableProvider>)> {
        if let Some(provider) = self.provider.as_deref().filter(|_| offers.is_empty()) {
            let message = format!("`{provider}` is not a configured provider of these; leave it out to list all");
            let problem = Problem::new("provider", "invalid_value", message);
            return Err(ApiError::Invalid(vec![problem]));
        }
        let (mut found, mut unavailable) = (Vec::new(), Vec::new());
        for Offer { provider, items } in offers {
            match items {
                Ok(items) => found.extend(items.into_iter().map(|item| (provider.clone(), item))),
                Err(error) => unavailable.push(UnavailableProvider { provider, error }),
            }
        }
        Ok((found, unavailable))
    }
}

async fn voices(State(state): State<RestState>, Query(filter): Query<Filter>) -> ApiResult<Reply> {
    let offers = state.catalog.voices(filter.provider.as_deref()).await;
    let (voices, unavailable) = filter.split(offers)?;
    let voices = voices.into_iter().map(shown).collect();
    Ok(Reply::ok(VoiceList { voices, unavailable }))
}

/// Problem of a voice without a sample.
pub const NO_SAMPLE: &str = "is no voice with a `previewUrl`; list them with GET /voices";

/// Parameters of a sample.
#[derive(Debug, Clone)]
struct Wanted {
    voice_id: String,
}

impl Parameters for Wanted {
    const NAMES: &'static [&'static str] = &["voiceId"];

    fn read(query: &mut RawQuery) -> Self {
        let voice_id = query.text("voiceId");
        if voice_id.is_none() {
            query.problem("voiceId", "required", "is required");
        }
        Self {
            voice_id: voice_id.unwrap_or_default(),
        }
    }
}

/// Passes on the sample of a voice, only from the address that its provider lists.
async fn preview(State(state): State<RestState>, Query(wanted): Query<Wanted>) -> ApiResult<Response> {
    let provider = wanted.voice_id.split(':').next();
    let offers = state.catalog.voices(provider).await;
    let mut voices = offers.into_iter().flat_map(|offer| offer.items.unwrap_or_default());
    let voice = voices.find(|voice| voice.voice_id == wanted.voice_id);
    let url = voice.and_then(|voice| voice.preview_url);
    let url = url.ok_or_else(|| ApiError::field("voiceId", "invalid_value", NO_SAMPLE))?;
    let (audio, media_type) = state.documents.audio_of_url(&url).await.map_err(|error| match error {
        DocumentError::Busy => ApiError::Unavailable("too much is being fetched at the moment; try again".into()),
        error => ApiError::Upstream(format!("the provider's sample cannot be had: {error}")),
    })?;
    let headers = [
        (header::CONTENT_TYPE, &*media_type),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "private, max-age=600"),
    ];
    Ok((headers, audio).into_response())
}

async fn models(State(state): State<RestState>, Query(filter): Query<Filter>) -> ApiResult<Reply> {
    let offers = state.catalog.models(filter.provider.as_deref()).await;
    let (models, unavailable) = filter.split(offers)?;
    let details = |(provider, model)| ModelDetails { provider, model };
    let models = models.into_iter().map(details).collect();
    Ok(Reply::ok(ModelList { models, unavailable }))
}

fn shown((provider, voice): (String, OfferedVoice)) -> VoiceDetails {
    VoiceDetails {
        provider,
        voice_id: voice.voice_id,
        name: voice.name,
        languages: voice.languages,
        labels: voice.labels,
        preview_url: voice.preview_url,
    }
}

const NOTE: &str = "The same for all accounts. Lists are kept for 10 minutes. A provider whose list cannot be read is \
                    named in `unavailable`. At most 1,000 items of each provider are listed.";

fn of_provider(operation: Operation, schema: Value) -> Operation {
    let operation = operation.note(NOTE);
    operation.query("provider", "Only this provider", schema).invalid(
        "provider",
        "invalid_value",
        "`acme` is not a configured provider of these; leave it out to list all",
    )
}

/// Returns the operations of voices and models.
pub fn operations() -> Vec<Operation> {
    let schema = || json!({ "type": "string" });
    let failed = json!({ "provider": "deepgram", "error": "answered with status 401" });
    let voice = json!({
        "provider": "elevenlabs",
        "voiceId": "elevenlabs:JBFqnCBsd6RMkjVDRZzb",
        "name": "George",
        "languages": ["en"],
        "labels": { "accent": "british" },
        "previewUrl": "https://storage.example.com/george.mp3",
    });
    let model = json!({ "provider": "openai", "model": "openai/gpt-4.1-mini" });
    let voices = Operation::get("/public/v1/voices", "listVoices", "List the voices of the providers").by(voices);
    let models = Operation::get(
        "/public/v1/models",
        "listModels",
        "List the language models of the providers",
    )
    .by(models);
    let sample = Operation::get(
        "/public/v1/voices/preview",
        "getVoicePreview",
        "Get the sample of a voice",
    )
    .by(preview)
    .note("The audio at the voice's `previewUrl`, at most 10 MiB, for pages that may load nothing from elsewhere.")
    .query("voiceId", "A `voiceId` of the list; required", schema())
    .raw(
        "200",
        "audio/*",
        "The sample, as its provider has it",
        json!({}),
        Value::Null,
    )
    .invalid("voiceId", "required", "is required")
    .invalid("voiceId", "invalid_value", NO_SAMPLE)
    .fails(
        502,
        "upstream_failed",
        "the provider's sample cannot be had: https://storage.example.com/george.mp3 answered 404 Not Found",
    );
    vec![
        of_provider(voices, schema()).ok::<VoiceList>(json!({ "voices": [voice], "unavailable": [failed] })),
        of_provider(models, schema()).ok::<ModelList>(json!({ "models": [model], "unavailable": [] })),
        sample,
    ]
}
