//! Requests for providers' lists of voices and models, and lenient reading of the answers.

use domain::ports::catalog::OfferedVoice;
use net::http_client;
use reqwest::header::HeaderValue;
use serde_json::Value;

use crate::{
    endpoint::Endpoint,
    name::{is_segment, is_sound, path_segment},
    provider::List,
};

/// Maximum pages of a list.
const MOST_PAGES: usize = 10;
/// Maximum items of a list. Further ones are left out.
const MOST_ITEMS: usize = 1_000;
/// Maximum bytes of a page.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// Maximum characters of an id, a name or a label. Items with a longer id are left out.
const MOST_CHARACTERS: usize = 200;
/// Maximum bytes of the address of a sample.
const MOST_ADDRESS: usize = 2_000;
/// Maximum languages, and maximum labels, of a voice.
const MOST_DETAILS: usize = 50;
/// Parts of the names of models that do not hold conversations, which lists of language models contain, too.
const OTHER_MODELS: [&str; 11] = [
    "embed",
    "whisper",
    "tts",
    "dall-e",
    "moderation",
    "image",
    "realtime",
    "transcribe",
    "sora",
    "audio",
    "veo",
];

/// Reason why a list could not be fetched, for people.
#[derive(Debug, thiserror::Error)]
pub(super) enum ListError {
    #[error("has a key with invalid characters")]
    Key,
    #[error("cannot be reached")]
    Unreached,
    #[error("answered with status {0}")]
    Status(u16),
    #[error("sent an answer that is too large or broke off")]
    BrokenOff,
    #[error("sent an answer that is not JSON")]
    NotJson,
    #[error("answered without a list")]
    NoList,
}

/// Returns a voice of which only the id is known. An empty id is the provider's default.
pub(super) fn voice(provider: &str, id: &str) -> OfferedVoice {
    let id = if id.is_empty() { "default" } else { id };
    OfferedVoice {
        voice_id: format!("{provider}:{id}"),
        name: id.to_owned(),
        ..OfferedVoice::default()
    }
}

/// Requests all voices of a provider.
pub(super) async fn voices(
    http: reqwest::Client,
    endpoint: Endpoint,
    list: &List,
) -> Result<Vec<OfferedVoice>, ListError> {
    list.fetch(&http, &endpoint, |item| read_voice(endpoint.provider, item))
        .await
}

/// Requests all language models of a provider, each as `provider/model`.
pub(super) async fn models(http: reqwest::Client, endpoint: Endpoint, list: &List) -> Result<Vec<String>, ListError> {
    list.fetch(&http, &endpoint, |item| {
        let id = item.get("id")?.as_str()?;
        // Gemini writes `models/` before each name.
        let id = id.strip_prefix("models/").unwrap_or(id);
        let is_other = OTHER_MODELS.iter().any(|part| id.to_lowercase().contains(part));
        let fits = is_sound(id) && id.chars().count() <= MOST_CHARACTERS && !id.contains([' ', ',']);
        (fits && !is_other).then(|| format!("{}/{id}", endpoint.provider))
    })
    .await
}

impl List {
    async fn fetch<T>(
        &self,
        http: &reqwest::Client,
        endpoint: &Endpoint,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Vec<T>, ListError> {
        let (mut found, mut url) = (Vec::new(), endpoint.url(self.path));
        for _ in 0..MOST_PAGES {
            let page = get(http, endpoint, &url).await?;
            let items = page.get(self.items).and_then(Value::as_array);
            let items = items.ok_or(ListError::NoList)?;
            let room = MOST_ITEMS - found.len();
            found.extend(items.iter().filter_map(&read).take(room));
            let Some((token, next)) = self.page.zip(next(&page)).filter(|_| found.len() < MOST_ITEMS) else {
                break;
            };
            url = format!("{}&{token}={}", endpoint.url(self.path), path_segment(next));
        }
        Ok(found)
    }
}

/// Returns the place of the next page, if there is one.
fn next(page: &Value) -> Option<&str> {
    page.get("has_more").and_then(Value::as_bool).filter(|more| *more)?;
    let place = ["next_page_token", "next_page", "last_id"];
    place.iter().find_map(|name| page.get(*name)?.as_str())
}

async fn get(http: &reqwest::Client, endpoint: &Endpoint, url: &str) -> Result<Value, ListError> {
    let mut request = http.get(url).header("accept", "application/json");
    for (name, value) in endpoint.headers() {
        let mut value = HeaderValue::from_str(&value).map_err(|_| ListError::Key)?;
        value.set_sensitive(true);
        request = request.header(name, value);
    }
    let answer = request.send().await.map_err(|_| ListError::Unreached)?;
    let status = answer.status().as_u16();
    if status != 200 {
        return Err(ListError::Status(status));
    }
    let body = http_client::body_within(answer, MOST_BYTES).await;
    let body = body.map_err(|_| ListError::BrokenOff)?;
    serde_json::from_slice(&body).map_err(|_| ListError::NotJson)
}

fn read_voice(provider: &'static str, item: &Value) -> Option<OfferedVoice> {
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    let id = ["voice_id", "canonical_name", "id"].into_iter().find_map(text);
    let id = id.or(item.as_str())?;
    if !is_segment(id) || id.chars().count() > MOST_CHARACTERS {
        return None;
    }
    let metadata = item.get("metadata").unwrap_or(&Value::Null);
    let labels = item.get("labels").unwrap_or(metadata).as_object();
    let labels = labels.into_iter().flatten();
    let labels = labels.filter_map(|(name, value)| Some((cut(name), cut(value.as_str()?))));
    let is_address = |(name, value): &(String, String)| name == "image" || name == "sample" || value.contains("://");
    let preview = text("preview_url").or(metadata.get("sample").and_then(Value::as_str));
    let web = |url: &&str| url.starts_with("https://") || url.starts_with("http://");
    Some(OfferedVoice {
        name: cut(text("name").filter(|name| !name.trim().is_empty()).unwrap_or(id)),
        languages: languages(item),
        labels: labels.filter(|label| !is_address(label)).take(MOST_DETAILS).collect(),
        preview_url: preview
            .filter(|url| web(url) && url.len() <= MOST_ADDRESS)
            .map(str::to_owned),
        ..voice(provider, id)
    })
}

/// Returns the languages of a voice, each once.
fn languages(item: &Value) -> Vec<String> {
    let lists = ["languages", "verified_languages"].map(|name| item.get(name).and_then(Value::as_array));
    let listed = lists.into_iter().flatten().flatten();
    let listed = listed.filter_map(|one| one.as_str().or_else(|| one.get("language")?.as_str()));
    let mut languages: Vec<String> = Vec::new();
    for language in item.get("language").and_then(Value::as_str).into_iter().chain(listed) {
        let language = cut(language);
        if languages.len() < MOST_DETAILS && !languages.contains(&language) {
            languages.push(language);
        }
    }
    languages
}

fn cut(text: &str) -> String {
    text.chars().take(MOST_CHARACTERS).collect()
}
