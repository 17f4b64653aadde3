//! Telnyx, through Call Control version 2: commands, signed webhooks that determine the next command, and
//! media sockets.

pub mod account;
mod api;
mod client;
pub mod event;
mod legs;
pub mod line;
pub mod mark;
pub mod refusal;
pub mod signature;
pub mod stream;
mod ways;
mod webhooks;

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{CarrierCallId, CarrierError, WayBack},
    time::Clock,
};
use serde::Deserialize;

pub use self::account::NAME;
use self::{
    account::{TelnyxAccount, VARIABLES},
    client::TelnyxCarrier,
    webhooks::TelnyxWebhooks,
};
use crate::{
    http::{SetupError, words::plain_words},
    kind::{
        Account, CarrierKind, Entries, Trunk,
        ask::{Asker, Check, ListedNumber, MOST_PAGES, Problem, valid},
    },
};

/// Telnyx.
pub static KIND: CarrierKind = CarrierKind {
    name: NAME,
    title: "Telnyx",
    lists_numbers: true,
    variables: VARIABLES,
    begun_by: VARIABLES,
    account: Some(|variables| Ok(Arc::new(TelnyxAccount::read(variables)?))),
    ..CarrierKind::USUAL
};

#[derive(Deserialize)]
struct Answer<T> {
    data: T,
    meta: Option<Pages>,
}

#[derive(Deserialize)]
struct Balance {
    balance: String,
    currency: String,
}

#[derive(Deserialize)]
struct Pages {
    total_pages: Option<u32>,
}

#[async_trait]
impl Account for TelnyxAccount {
    fn api(&self) -> &str {
        &self.base_url
    }

    fn trunk(&self, public: &str, clock: Arc<dyn Clock>) -> Result<Trunk, SetupError> {
        let tokens = mark::stream_tokens(self.api_key.secret());
        let carrier = Arc::new(TelnyxCarrier::new(self.clone(), public, tokens.clone())?);
        let routes = webhooks::routes(TelnyxWebhooks {
            key: self.public_key.clone(),
            tokens,
            clock,
            line: self.line,
            carrier: carrier.clone(),
        });
        Ok(Trunk::new(carrier, routes))
    }

    async fn state(&self, check: &Check<'_>) -> Result<String, Problem> {
        let request = check.ask.get(&format!("{}/balance", self.base_url));
        let asked = check.ask.json(request.bearer_auth(self.api_key.secret())).await;
        let said: Answer<Balance> = asked.map_err(|why| why.at(&self.base_url, "TELNYX_API_KEY"))?;
        let Balance { balance, currency } = said.data;
        Ok(format!("balance {} {}", plain_words(&balance), plain_words(&currency)))
    }

    /// Sends the commands of an inbound call, as in a call. This call does not exist, so they must fail for that
    /// reason alone.
    async fn try_out(&self, _: &Check<'_>, public: &str) -> Result<String, Problem> {
        let tokens = mark::stream_tokens(self.api_key.secret());
        let carrier = TelnyxCarrier::new(self.clone(), public, tokens).map_err(|error| Problem(error.to_string()))?;
        let call = CarrierCallId(format!("v3:{}", uuid::Uuid::new_v4().simple()));
        let back = WayBack {
            attempt: AttemptId::new(),
            status_token: "0".repeat(64),
            media_token: "0".repeat(64),
        };
        for (command, answer) in [
            ("answer", carrier.answer(&call, &back).await),
            ("streaming_start", carrier.start_stream(&call, &back).await),
        ] {
            match answer {
                Ok(()) | Err(CarrierError::NotFound) => {}
                Err(error) => {
                    return Err(Problem(format!(
                        "the command {command} fails for inbound calls: {error}"
                    )));
                }
            }
        }
        Ok(String::new())
    }

    fn entries(&self, check: &Check<'_>) -> Entries {
        vec![(
            "the Call Control application, webhook URL (API v2)",
            check.callback("inbound"),
        )]
    }

    async fn numbers(&self, ask: &Asker) -> Result<Vec<PhoneNumber>, Problem> {
        let mut found = Vec::new();
        for number in 1..=MOST_PAGES {
            let path = format!("/phone_numbers?page%5Bnumber%5D={number}&page%5Bsize%5D=100");
            let request = ask.get(&format!("{}{path}", self.base_url));
            let page: Answer<Vec<ListedNumber>> = ask.json(request.bearer_auth(self.api_key.secret())).await?;
            found.extend(valid(page.data));
            let pages = page.meta.and_then(|meta| meta.total_pages).unwrap_or(1);
            if number >= pages {
                break;
            }
        }
        Ok(found)
    }
}
