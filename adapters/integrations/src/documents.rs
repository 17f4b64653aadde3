//! Import of knowledge base documents: fetched from an address or uploaded, and converted to text. Samples of voices
//! are fetched in the same way.

pub mod extract;
pub mod fetch;
pub mod format;

use std::{
    fs::File,
    io::{Read, Seek},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::{Semaphore, SemaphorePermit};

use extract::{ExtractError, Extractor, Source};
use fetch::{FetchError, Fetched, Fetcher, InvalidUrl};
use format::{NotTaken, Recognised, SNIFFED_BYTES, recognise};
use net::address_policy::{AddressPolicy, NotAllowed, Resolver};

/// Maximum number of concurrent fetches. Each may hold [`fetch::BODY_BYTES`] in memory.
const FETCHES: usize = 8;
/// How long a request may wait for its turn.
const TURN: Duration = Duration::from_secs(5);

/// Reason why there is no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// The address cannot be that of a document.
    #[error("{0}")]
    Address(#[from] InvalidUrl),
    /// The address, or one that it leads to, is not allowed.
    #[error("{0}")]
    NotAllowed(#[from] NotAllowed),
    /// The remote server failed.
    #[error("{0}")]
    Upstream(String),
    /// The content cannot be read as a document.
    #[error("{0}")]
    Unreadable(String),
    /// Too many documents at once.
    #[error("too many documents are being read at the moment")]
    Busy,
    /// An internal error of this process.
    #[error("{0}")]
    Broken(String),
}

impl From<FetchError> for DocumentError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Address(why) => Self::Address(why),
            FetchError::NotAllowed(refusal) => Self::NotAllowed(refusal),
            FetchError::Upstream(text) => Self::Upstream(text),
        }
    }
}

impl From<NotTaken> for DocumentError {
    fn from(why: NotTaken) -> Self {
        Self::Unreadable(why.to_string())
    }
}

impl From<ExtractError> for DocumentError {
    fn from(error: ExtractError) -> Self {
        match error {
            ExtractError::Unreadable(text) => Self::Unreadable(text),
            ExtractError::Busy => Self::Busy,
            ExtractError::Broken(text) => Self::Broken(text),
        }
    }
}

/// Settings of the document import.
#[derive(Clone)]
pub struct DocumentSettings {
    /// Policy on the addresses that may be fetched.
    pub policy: AddressPolicy,
    /// Resolver of host names.
    pub resolver: Arc<dyn Resolver>,
    /// Path of this program, which is started for each document: see [`extract`].
    pub program: PathBuf,
}

/// Converter of documents to text.
pub struct Documents {
    fetcher: Fetcher,
    extractor: Extractor,
    turns: Semaphore,
}

impl Documents {
    /// Creates the converter.
    ///
    /// # Errors
    ///
    /// Returns an error if the HTTP client cannot be built.
    pub fn new(settings: DocumentSettings) -> Result<Self, reqwest::Error> {
        Ok(Self {
            fetcher: Fetcher::new(settings.policy, settings.resolver)?,
            extractor: Extractor::new(settings.program),
            turns: Semaphore::new(FETCHES),
        })
    }

    /// Returns the text of the document at an address.
    ///
    /// # Errors
    /// Returns an error if there is no text, for any reason.
    pub async fn of_url(&self, url: &str) -> Result<String, DocumentError> {
        // Held until the text is ready, because the body stays in memory that long.
        let _turn = turn(&self.turns).await.ok_or(DocumentError::Busy)?;
        let Fetched { body, content_type } = self.fetcher.fetch(url).await?;
        let head = &body[..body.len().min(SNIFFED_BYTES)];
        let recognised = recognise(content_type.as_deref(), head)?;
        self.text(Source::Bytes(body), recognised).await
    }

    /// Returns the audio at an address, and its media type without parameters.
    ///
    /// # Errors
    /// Returns an error if there is no audio, for any reason.
    pub async fn audio_of_url(&self, url: &str) -> Result<(Bytes, String), DocumentError> {
        let _turn = turn(&self.turns).await.ok_or(DocumentError::Busy)?;
        let Fetched { body, content_type } = self.fetcher.fetch(url).await?;
        let stated = content_type.unwrap_or_default().to_ascii_lowercase();
        let media_type = stated.split(';').next().unwrap_or_default().trim();
        match media_type.starts_with("audio/") && media_type.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok((body, media_type.to_owned())),
            false => Err(DocumentError::Unreadable(format!(
                "is not audio, but `{media_type:.40}`"
            ))),
        }
    }

    /// Returns the text of an uploaded file, read from its start.
    ///
    /// # Errors
    /// Returns an error if there is no text, for any reason.
    pub async fn of_file(&self, mut file: File, content_type: Option<&str>) -> Result<String, DocumentError> {
        let head = head(&mut file).map_err(|error| DocumentError::Broken(format!("cannot read an upload: {error}")))?;
        let recognised = recognise(content_type, &head)?;
        self.text(Source::File(file), recognised).await
    }

    async fn text(&self, source: Source, recognised: Recognised) -> Result<String, DocumentError> {
        Ok(self.extractor.text(source, &recognised).await?)
    }
}

/// Waits for a turn, within a time limit.
async fn turn(turns: &Semaphore) -> Option<SemaphorePermit<'_>> {
    tokio::time::timeout(TURN, turns.acquire()).await.ok()?.ok()
}

/// Returns the first bytes of a file and rewinds it.
fn head(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.take(SNIFFED_BYTES as u64).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(head)
}
