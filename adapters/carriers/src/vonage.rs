//! Vonage, through its Voice API: calls placed with inline instructions, signed webhooks that may be answered
//! with further instructions, and media sockets of binary frames.

pub mod account;
pub mod answers;
mod client;
pub mod event;
mod instructions;
pub mod refusal;
mod reopened;
pub mod signature;
pub mod stream;
pub mod token;
mod webhooks;

use std::sync::Arc;

use async_trait::async_trait;
use domain::time::Clock;
use serde::de::IgnoredAny;

pub use self::account::NAME;
use self::{
    account::{VARIABLES, VonageAccount},
    client::VonageCarrier,
    signature::WebhookKey,
};
use crate::{
    http::SetupError,
    kind::{
        Account, CarrierKind, Entries, Trunk,
        ask::{Check, Problem},
    },
};

/// Vonage. It lists numbers only to other credentials than those that place calls.
pub static KIND: CarrierKind = CarrierKind {
    name: NAME,
    title: "Vonage",
    dials_per_second: 3,
    variables: VARIABLES,
    begun_by: VARIABLES,
    account: Some(|variables| Ok(Arc::new(VonageAccount::read(variables)?))),
    ..CarrierKind::USUAL
};

#[async_trait]
impl Account for VonageAccount {
    fn api(&self) -> &str {
        &self.base_url
    }

    fn trunk(&self, public: &str, clock: Arc<dyn Clock>) -> Result<Trunk, SetupError> {
        let key = WebhookKey::new(self.signature_secret.secret(), &self.application);
        let carrier = Arc::new(VonageCarrier::new(self.clone(), public, clock.clone())?);
        let routes = webhooks::routes(key, clock, carrier.clone());
        Ok(Trunk::new(carrier, routes))
    }

    async fn state(&self, check: &Check<'_>) -> Result<String, Problem> {
        let now = chrono::Utc::now().timestamp();
        let token = self.key.token(&self.application, now);
        let token = token.map_err(|error| Problem(error.to_string()))?;
        let request = check.ask.get(&format!("{}/v1/calls?page_size=1", self.base_url));
        let asked = check.ask.json::<IgnoredAny>(request.bearer_auth(token)).await;
        asked.map_err(|why| why.at(&self.base_url, "VONAGE_APPLICATION_ID, VONAGE_PRIVATE_KEY"))?;
        Ok("the application's calls can be read".to_owned())
    }

    fn entries(&self, check: &Check<'_>) -> Entries {
        vec![
            ("the application, answer URL, POST", check.callback("inbound")),
            ("the application, event URL, POST", check.callback("events")),
        ]
    }
}
