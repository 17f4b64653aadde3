//! Client of `/v1/embeddings`, for OpenAI and compatible servers.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::redirect;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::{
    endpoint::{Endpoint, NotConfigured},
    failure::{embeddings::EmbeddingsError, probe::ProbeError},
    name::ProviderName,
    provider::Provider,
    registry,
    settings::ProviderSettings,
};
use net::{http_client, socket::CONNECT_WITHIN};

/// How long a turn waits for the vector of its question. Hosted models take about 50 to 150 ms.
const QUESTION_WITHIN: Duration = Duration::from_millis(200);

/// Pause after a failure, in which no turn asks for a vector.
const REST: Duration = Duration::from_secs(10);

/// How long one batch of passages may take. A self-hosted server may have no graphics processor.
const BATCH_WITHIN: Duration = Duration::from_secs(60);

/// Passages per request. OpenAI accepts 2,048, smaller servers far fewer.
pub(super) const BATCH: usize = 32;

/// Maximum size of an answer: 32 vectors of 4,096 numbers with 20 digits each.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Model that turns texts into vectors. Clones share it.
#[derive(Clone)]
pub struct Embeddings {
    inner: Arc<Inner>,
    question_within: Duration,
}

struct Inner {
    http: reqwest::Client,
    endpoint: Endpoint,
    model: String,
    rests_until: Mutex<Option<Instant>>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    embedding: Vec<f32>,
}

impl Embeddings {
    /// Creates a client of the named model.
    pub fn new(name: &ProviderName, settings: &ProviderSettings) -> Result<Self, NotConfigured> {
        let has_embeddings = |known: &'static Provider| known.embeddings.then_some(&());
        let provider = registry::offering(&name.provider, "embeddings", has_embeddings)?.0.name;
        let endpoint = settings.endpoint(provider)?.clone();
        let unnamed = || NotConfigured::NoModel(provider.to_owned());
        let model = name.model.clone().ok_or_else(unnamed)?;
        let http = http_client::builder()
            .connect_timeout(CONNECT_WITHIN)
            .tcp_nodelay(true)
            .redirect(redirect::Policy::none())
            .user_agent(concat!("ringback/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| NotConfigured::Broken(error.to_string()))?;
        Ok(Self {
            inner: Arc::new(Inner {
                http,
                endpoint,
                model,
                rests_until: Mutex::default(),
            }),
            question_within: QUESTION_WITHIN,
        })
    }

    /// Sets how long a turn may wait for the vector of its question.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        Self {
            question_within: limit,
            ..self
        }
    }

    /// Returns the vector of a question. Returns `None` if it does not come in time, and then for some
    /// seconds without asking.
    pub(super) async fn of_question(&self, words: &str) -> Option<Vec<f32>> {
        if self.rests() {
            return None;
        }
        let limit = self.question_within;
        let words = [words.to_owned()];
        let failed = match self.ask_within(limit, &words).await {
            Ok(mut vectors) => return vectors.pop(),
            Err(error) => error,
        };
        let mut rests = self.inner.rests_until.lock().unwrap_or_else(PoisonError::into_inner);
        *rests = Some(Instant::now() + REST);
        tracing::warn!(model = %self.inner.model, %failed, pause_s = REST.as_secs(), "embedding of a question failed, searching documents by words alone");
        None
    }

    /// Returns the vectors of a batch of passages, in their order.
    pub(super) async fn of_batch(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingsError> {
        self.ask_within(BATCH_WITHIN, texts).await
    }

    /// Requests the vector of one word and returns its number of dimensions.
    pub async fn probe(&self) -> Result<usize, ProbeError> {
        let vectors = self.of_batch(&["Hello".to_owned()]).await;
        Ok(vectors?.first().map_or(0, Vec::len))
    }

    fn rests(&self) -> bool {
        let rests = self.inner.rests_until.lock().unwrap_or_else(PoisonError::into_inner);
        rests.is_some_and(|until| Instant::now() < until)
    }

    async fn ask_within(&self, limit: Duration, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingsError> {
        let asked = timeout(limit, self.ask(texts)).await;
        asked.unwrap_or(Err(EmbeddingsError::Late(limit)))
    }

    async fn ask(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingsError> {
        let body = json!({ "model": self.inner.model, "input": texts, "encoding_format": "float" });
        let request = self.inner.http.post(self.inner.endpoint.url("/embeddings")).json(&body);
        let request = self.inner.endpoint.signed(request);
        let broken_off = |error: reqwest::Error| EmbeddingsError::BrokenOff(error.without_url().to_string());
        let response = request.send().await.map_err(broken_off)?;
        if !response.status().is_success() {
            return Err(EmbeddingsError::Refused(response.status().as_u16()));
        }
        let bytes = http_client::body_within(response, MOST_BYTES).await;
        let bytes = bytes.map_err(|error| EmbeddingsError::BrokenOff(error.to_string()))?;
        let answer = crate::json::read(&String::from_utf8_lossy(&bytes));
        let answer: Answer = answer.map_err(|error| EmbeddingsError::Protocol(error.to_string()))?;
        in_order(answer.data, texts.len())
    }
}

fn in_order(mut items: Vec<Item>, texts: usize) -> Result<Vec<Vec<f32>>, EmbeddingsError> {
    items.sort_by_key(|item| item.index);
    let whole = items.len() == texts && items.iter().enumerate().all(|(at, item)| item.index == at);
    if !whole {
        let vectors = items.len();
        return Err(EmbeddingsError::Count { vectors, texts });
    }
    Ok(items.into_iter().map(|item| item.embedding).collect())
}
