//! Twilio's protocols and API, which SignalWire implements too. The simulated exchange streams audio in the
//! same format.

pub mod account;
pub mod callback;
mod client;
mod documents;
pub mod fields;
mod instructions;
mod queue;
pub mod refusal;
pub mod signature;
pub mod stream;
mod webhooks;

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    phone_number::PhoneNumber,
    time::{Clock, SystemClock},
};
use reqwest::StatusCode;
use serde::{Deserialize, de::IgnoredAny};

use self::{
    account::{BEGIN_SIGNALWIRE, BEGIN_TWILIO, Flavour, TwilioAccount},
    client::TwilioCarrier,
    documents::Documents,
    instructions::HANG_UP,
    signature::Guard,
};
use crate::{
    http::{SetupError, base, words::plain_words},
    kind::{
        Account, CarrierKind, Entries, Trunk,
        ask::{Asker, Check, ListedNumber, MOST_PAGES, NOT_ITS_OWN, Problem, valid},
    },
};

/// Twilio. It queues dials over one per second for up to a day.
pub static KIND: CarrierKind = CarrierKind {
    name: Flavour::Twilio.name(),
    title: "Twilio",
    lists_numbers: true,
    dials_per_second: 1,
    variables: &["TWILIO_ACCOUNT_SID", "TWILIO_AUTH_TOKEN"],
    begun_by: BEGIN_TWILIO,
    account: Some(|variables| Ok(Arc::new(TwilioAccount::of_twilio(variables)?))),
    ..CarrierKind::USUAL
};

/// SignalWire. It queues dials as Twilio does.
pub static SIGNALWIRE: CarrierKind = CarrierKind {
    name: Flavour::SignalWire.name(),
    title: "SignalWire",
    lists_numbers: true,
    dials_per_second: 1,
    variables: BEGIN_SIGNALWIRE,
    begun_by: BEGIN_SIGNALWIRE,
    account: Some(|variables| Ok(Arc::new(TwilioAccount::of_signalwire(variables)?))),
    ..CarrierKind::USUAL
};

/// The account, or a page of its calls.
#[derive(Deserialize)]
struct Shown {
    status: Option<String>,
    calls: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
struct Page {
    incoming_phone_numbers: Vec<ListedNumber>,
    next_page_uri: Option<String>,
}

#[async_trait]
impl Account for TwilioAccount {
    fn api(&self) -> &str {
        &self.base_url
    }

    fn trunk(&self, public: &str, clock: Arc<dyn Clock>) -> Result<Trunk, SetupError> {
        let guard = Arc::new(Guard::new(self, &base("public address", public)?));
        let carrier = Arc::new(TwilioCarrier::new(self.clone(), public, guard.clone(), clock)?);
        let routes = webhooks::routes(guard, carrier.clone());
        Ok(Trunk::new(carrier, routes))
    }

    async fn state(&self, check: &Check<'_>) -> Result<String, Problem> {
        // An API key may be allowed to place calls but not to read its own account.
        let asks_with_a_key = !self.user.eq_ignore_ascii_case(&self.account);
        let path = match asks_with_a_key {
            true => "/Calls.json?PageSize=1",
            false => ".json",
        };
        let request = check.ask.get(&self.resource(path));
        let request = request.basic_auth(&self.user, Some(self.password.secret()));
        let settings = match self.flavour {
            Flavour::Twilio if asks_with_a_key => "TWILIO_ACCOUNT_SID, TWILIO_API_KEY, TWILIO_API_SECRET",
            Flavour::Twilio => "TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN",
            Flavour::SignalWire => "SIGNALWIRE_SPACE, SIGNALWIRE_PROJECT_ID, SIGNALWIRE_TOKEN",
        };
        let asked: Result<Shown, Problem> = check.ask.json(request).await;
        let shown = asked.map_err(|why| why.at(&self.base_url, settings))?;
        match shown.status.as_deref() {
            _ if shown.calls.is_some() => Ok("the account's calls can be read".to_owned()),
            Some("active") => Ok("account active".to_owned()),
            Some(status) => Err(Problem(format!(
                "the account is {}: it places no calls",
                plain_words(status)
            ))),
            None => Err(Problem(NOT_ITS_OWN.to_owned()).at(&self.base_url, settings)),
        }
    }

    /// Fetches instructions from the service as SignalWire does in each call: at an address that holds them sealed, with
    /// the account's signature. The service need not run yet.
    async fn try_out(&self, check: &Check<'_>, public: &str) -> Result<String, Problem> {
        if self.flavour == Flavour::Twilio {
            return Ok(String::new());
        }
        let guard = Guard::new(self, public);
        let documents = Documents::new(guard.document_key(), Arc::new(SystemClock));
        let sealed = documents.seal(HANG_UP).map_err(|error| Problem(error.to_string()))?;
        let address = check.callback(&format!("document/{sealed}"));
        let (header, signature) = guard.signature_of(&address);
        let request = check.ask.post(&address).header(header, signature);
        match check.ask.submit(request).await {
            Some((StatusCode::OK, said)) if said == HANG_UP => Ok("; instructions can be fetched".to_owned()),
            // A proxy says so of a service that does not run.
            Some((status, _)) if !status.is_server_error() => Err(Problem(format!(
                "instructions cannot be fetched: asked at {}, the service answers {status}. It must run with the same \
                 SIGNALWIRE_SIGNING_KEY and RINGBACK_PUBLIC_URL, behind a proxy that changes no path",
                check.callback("document/…")
            ))),
            _ => Ok(format!(
                "; no service answers at {public} yet, so the addresses of instructions are not checked"
            )),
        }
    }

    fn entries(&self, check: &Check<'_>) -> Entries {
        vec![
            (
                "each number, \"A call comes in\", webhook, POST",
                check.callback("inbound"),
            ),
            ("each number, \"Call status changes\", POST", check.callback("events")),
        ]
    }

    async fn numbers(&self, ask: &Asker) -> Result<Vec<PhoneNumber>, Problem> {
        let (mut found, mut address) = (Vec::new(), self.resource("/IncomingPhoneNumbers.json?PageSize=100"));
        for _ in 0..MOST_PAGES {
            let request = ask.get(&address);
            let request = request.basic_auth(&self.user, Some(self.password.secret()));
            let page: Page = ask.json(request).await?;
            found.extend(valid(page.incoming_phone_numbers));
            // Another host must not get the password.
            let next = page.next_page_uri.filter(|uri| uri.starts_with('/'));
            let Some(next) = next else { break };
            address = format!("{}{next}", self.base_url);
        }
        Ok(found)
    }
}
