//! Creates accounts and replaces keys, for the command line and the demo.

use crate::{
    api_key,
    ports::store::{Account, ApiKeyStore, DirectoryStore, NewAccount, SessionStore, StoreError},
    secret_token::SecretToken,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use rand::RngCore;
use serde::Serialize;

/// A new account with the secrets that are shown only once.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Created {
    /// Id of the account.
    pub user_id: String,
    /// E-mail address of the account.
    pub email: String,
    /// API key of the account.
    pub api_key: String,
    /// Secret that signs deliveries: `whsec_` and 32 random bytes in base64, as in the Standard Webhooks specification.
    pub webhook_secret: String,
}

/// Reason why an account was not created or changed.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// The text is not an e-mail address.
    #[error("`{0}` is not an e-mail address: write one such as you@example.com")]
    Email(String),
    /// The e-mail address is in use.
    #[error(
        "an account with the e-mail address {0} exists already; `ringback account regenerate-key` replaces its key"
    )]
    Exists(String),
    /// There is no such account.
    #[error("there is no account with the e-mail address {0}; `ringback account create` creates one")]
    NotFound(String),
    /// There is no account at all.
    #[error("there is no account yet; `ringback account create --email you@example.com` creates one")]
    None,
    /// There are several accounts, and none was named.
    #[error("there are several accounts; name one by its e-mail address: `ringback account login-link EMAIL`")]
    Several,
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

/// Creates an account.
///
/// # Errors
///
/// Returns an [`AccountError`].
pub async fn create(store: &dyn DirectoryStore, email: &str) -> Result<Created, AccountError> {
    let email = checked(email)?;
    let (api_key, stored) = api_key::generate_key();
    let webhook_secret = generate_webhook_secret();
    let account = Account::new(&email);
    let user_id = account.id.to_string();
    let new = NewAccount {
        account,
        webhook_secret: webhook_secret.clone(),
        key: stored,
    };
    match store.create_account(new).await {
        Ok(()) => Ok(Created {
            user_id,
            email,
            api_key,
            webhook_secret,
        }),
        Err(StoreError::Exists(_)) => Err(AccountError::Exists(email)),
        Err(error) => Err(AccountError::Store(error)),
    }
}

/// Replaces an account's own key and returns the new one.
///
/// # Errors
///
/// Returns an [`AccountError`].
pub async fn regenerate_key(store: &dyn ApiKeyStore, email: &str) -> Result<String, AccountError> {
    let email = checked(email)?;
    let (api_key, stored) = api_key::generate_key();
    match store.replace_api_key(&email, stored, None).await {
        Ok(()) => Ok(api_key),
        Err(StoreError::NotFound) => Err(AccountError::NotFound(email)),
        Err(error) => Err(AccountError::Store(error)),
    }
}

/// Makes a login link for an account, or for the only account there is. Returns the link's secret.
///
/// # Errors
///
/// Returns an [`AccountError`].
pub async fn login_link(store: &dyn SessionStore, email: Option<&str>) -> Result<SecretToken, AccountError> {
    let email = match email {
        Some(email) => checked(email)?,
        None => {
            let mut accounts = store.first_accounts(2).await.map_err(AccountError::Store)?.into_iter();
            match (accounts.next(), accounts.next()) {
                (Some(account), None) => account.email,
                (None, _) => return Err(AccountError::None),
                (Some(_), Some(_)) => return Err(AccountError::Several),
            }
        }
    };
    let token = SecretToken::random();
    match store.add_login_link(&email, token.hash()).await {
        Ok(()) => Ok(token),
        Err(StoreError::NotFound) => Err(AccountError::NotFound(email)),
        Err(error) => Err(AccountError::Store(error)),
    }
}

/// Returns a new secret for signing deliveries.
pub fn generate_webhook_secret() -> String {
    let mut secret = [0; 32];
    rand::rng().fill_bytes(&mut secret);
    format!("whsec_{}", BASE64_STANDARD.encode(secret))
}

fn checked(email: &str) -> Result<String, AccountError> {
    let email = email.trim();
    if crate::email::is_valid(email) {
        Ok(email.to_lowercase())
    } else {
        Err(AccountError::Email(email.to_owned()))
    }
}
