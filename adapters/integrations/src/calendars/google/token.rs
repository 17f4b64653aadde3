//! Access tokens of a Google service account. A signed statement is exchanged for a token, which is kept
//! while it is valid (RFC 7523; <https://developers.google.com/identity/protocols/oauth2/service-account>).

use std::{fs, io, path::Path, sync::Arc, time::Duration};

use domain::time::{Clock, Timestamp};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::{Client, header::CONTENT_TYPE};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;

use crate::calendars::{api::send, port::CalendarError};
use net::{http_client::base_url, redact};

/// Scope of the token.
const SCOPE: &str = "https://www.googleapis.com/auth/calendar";
/// Grant type of the exchange.
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// Validity of a statement: the maximum that Google accepts.
const STATEMENT_SECONDS: i64 = 3_600;
/// Remaining validity below which a token is no longer used.
const LEFT: Duration = Duration::from_secs(60);

/// Key file of a service account, reduced to the fields that are needed.
#[derive(Deserialize)]
struct Credentials {
    client_email: String,
    private_key: String,
    #[serde(default)]
    private_key_id: Option<String>,
    #[serde(default = "token_uri")]
    token_uri: String,
}

fn token_uri() -> String {
    "https://oauth2.googleapis.com/token".to_owned()
}

/// Reason why a service account's file cannot be used. It does not contain the key.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file cannot be read.
    #[error("{0}")]
    Unread(#[from] io::Error),
    /// The file is not the JSON that Google issues.
    #[error("not the JSON key of a service account (line {line}, column {column})")]
    Json {
        /// Line of the error, from 1.
        line: usize,
        /// Column of the error.
        column: usize,
    },
    /// The private key is not an RSA key.
    #[error("its private_key is not an RSA key in PEM (PKCS #8)")]
    Key,
    /// The token address is invalid.
    #[error("its token_uri {0} is not an address")]
    TokenUri(String),
}

/// Source of tokens.
pub(super) struct Tokens {
    client: Client,
    clock: Arc<dyn Clock>,
    key: EncodingKey,
    key_id: Option<String>,
    email: String,
    subject: Option<String>,
    uri: String,
    /// Current token and the end of its validity.
    kept: Mutex<Option<(String, Timestamp)>>,
}

impl Tokens {
    /// Reads the key file of a service account.
    ///
    /// # Errors
    ///
    /// Returns an error that says what is wrong with the file, without its key.
    pub(super) fn read(
        client: Client,
        file: &Path,
        subject: Option<&str>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, CredentialsError> {
        let text = fs::read_to_string(file)?;
        let credentials: Credentials = serde_json::from_str(&text).map_err(|error| CredentialsError::Json {
            line: error.line(),
            column: error.column(),
        })?;
        let key = EncodingKey::from_rsa_pem(credentials.private_key.as_bytes());
        let key = key.map_err(|_| CredentialsError::Key)?;
        // A damaged key is noticed only when it signs.
        let header = Header::new(Algorithm::RS256);
        jsonwebtoken::encode(&header, &json!({}), &key).map_err(|_| CredentialsError::Key)?;
        let uri = base_url(&credentials.token_uri);
        Ok(Self {
            client,
            clock,
            key,
            key_id: credentials.private_key_id,
            email: credentials.client_email,
            subject: subject.map(str::to_owned),
            uri: uri.ok_or(CredentialsError::TokenUri(credentials.token_uri))?,
            kept: Mutex::new(None),
        })
    }

    /// Returns whether appointments are made in the name of a user, who may invite people.
    pub(super) fn invites(&self) -> bool {
        self.subject.is_some()
    }

    /// Returns a valid token.
    pub(super) async fn get(&self) -> Result<String, CalendarError> {
        let mut kept = self.kept.lock().await;
        let now = self.clock.now();
        if let Some((token, until)) = &*kept
            && *until > now.plus(LEFT)
        {
            return Ok(token.clone());
        }
        let (token, seconds) = self.exchange(now).await?;
        redact::hide(&token);
        *kept = Some((token.clone(), now.plus(Duration::from_secs(seconds))));
        Ok(token)
    }

    /// Drops a token that Google no longer accepts.
    pub(super) async fn forget(&self, token: &str) {
        let mut kept = self.kept.lock().await;
        if kept.as_ref().is_some_and(|(known, _)| known == token) {
            *kept = None;
        }
    }

    async fn exchange(&self, now: Timestamp) -> Result<(String, u64), CalendarError> {
        let statement = self.statement(now)?;
        let form = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", GRANT)
            .append_pair("assertion", &statement)
            .finish();
        let request = self
            .client
            .post(&self.uri)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form);
        // Without a token the calendar was not asked, whatever happened to the exchange.
        let answered = send(request).await.map_err(|error| match error {
            CalendarError::Unknown(_) => CalendarError::Unavailable,
            other => other,
        })?;
        if !answered.status.is_success() {
            let why = answered.body["error"].as_str().unwrap_or_default();
            let described = answered.body["error_description"].as_str().unwrap_or_default();
            let said = redact::fit(&format!("{why} {described}"));
            tracing::warn!(status = %answered.status, said, "Google refused a token to the service account");
            return Err(match answered.status.as_u16() {
                400..=403 => CalendarError::Refused("the service has no access to it".into()),
                _ => CalendarError::Unavailable,
            });
        }
        let token = answered.body["access_token"].as_str();
        let token = token.ok_or(CalendarError::Unavailable)?.to_owned();
        Ok((token, answered.body["expires_in"].as_u64().unwrap_or(0)))
    }

    fn statement(&self, now: Timestamp) -> Result<String, CalendarError> {
        let mut header = Header::new(Algorithm::RS256);
        header.kid.clone_from(&self.key_id);
        let issued = now.unix_seconds();
        let mut claims = json!({
            "iss": self.email,
            "scope": SCOPE,
            "aud": self.uri,
            "iat": issued,
            "exp": issued + STATEMENT_SECONDS,
        });
        if let Some(subject) = &self.subject {
            claims["sub"] = json!(subject);
        }
        let signed = jsonwebtoken::encode(&header, &claims, &self.key);
        signed.map_err(|_| CalendarError::Refused("the service account's key does not sign".into()))
    }
}
