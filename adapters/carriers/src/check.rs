//! The command `ringback carriers check`. It sends small requests without an effect to each configured carrier and
//! shows whether the account is accepted, which numbers it has, and what must be entered there to receive
//! inbound calls.

use std::{process::ExitCode, sync::Arc};

use clap::Args;
use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::{
        carrier::{CarrierCallId, CarrierError, WayBack},
        services::{CarrierEntry, CheckReport},
    },
    time::SystemClock,
};
use net::http_client::{parse_base_url, parse_local_base_url};

use futures_util::future::{OptionFuture, join_all};
use reqwest::StatusCode;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::{
    ask::{Asker, NOT_ITS_OWN, asked_of},
    asterisk::account::{AsteriskAccount, Media},
    numbers,
    settings::{CarrierSettings, NAMES, wanted},
    telnyx::{account::TelnyxAccount, client::TelnyxCarrier, mark::StreamTokens},
    twilio::{
        account::{Flavour, TwilioAccount},
        documents::Documents,
        instructions::HANG_UP,
        signature::Guard,
    },
    vonage::account::VonageAccount,
    words::plain_words,
};

/// Arguments of `ringback carriers check`.
#[derive(Debug, Clone, Args)]
pub struct CarriersCheckArgs {
    /// Address at which carriers reach the service
    #[arg(long, env = "RINGBACK_PUBLIC_URL", value_parser = parse_base_url)]
    pub public_url: Option<String>,

    /// Carrier for calls whose agent has no phone number at another carrier
    #[arg(long, env = "RINGBACK_CARRIER", default_value = "simulated", value_parser = NAMES)]
    pub carrier: String,

    /// Address of a telephone exchange (`ringback phones`)
    #[arg(long, env = "RINGBACK_SIMULATED_URL", value_parser = parse_local_base_url)]
    pub simulated_url: Option<String>,

    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
}

/// Placeholder in addresses if the public address is not set.
const UNKNOWN: &str = "RINGBACK_PUBLIC_URL";

/// Twilio's account, or a page of its calls.
#[derive(Deserialize)]
struct TwilioAnswer {
    status: Option<String>,
    calls: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
struct TelnyxAnswer<T> {
    data: T,
}

#[derive(Deserialize)]
struct Balance {
    balance: String,
    currency: String,
}

#[derive(Deserialize)]
struct AsteriskInfo {
    system: System,
}

#[derive(Deserialize)]
struct System {
    version: String,
}

/// Result of the check of one carrier.
struct Finding {
    carrier: &'static str,
    /// Short description by the carrier, or the problem.
    result: Result<String, String>,
    /// Phone numbers, if the carrier lists them.
    numbers: Vec<PhoneNumber>,
    /// Settings to enter at the carrier: place and value.
    entries: Vec<(&'static str, String)>,
}

impl Finding {
    fn json(&self) -> Value {
        let entries: Vec<Value> = self
            .entries
            .iter()
            .map(|(at, what)| json!({ "at": at, "value": what }))
            .collect();
        let mut shown =
            json!({ "carrier": self.carrier, "works": self.result.is_ok(), "numbers": self.numbers, "enter": entries });
        match &self.result {
            Ok(said) => shown["answer"] = said.as_str().into(),
            Err(why) => shown["problem"] = why.as_str().into(),
        }
        shown
    }

    /// Reports for clients of the API, without the address of the carrier's API.
    fn report(self) -> CheckReport {
        let entries = self.entries.into_iter();
        let result = self.result.map_err(|why| match why.strip_prefix("asked at ") {
            Some(asked) => asked.split_once(": ").map_or(asked, |(_, why)| why).to_owned(),
            None => why,
        });
        CheckReport {
            numbers: self.numbers.into_iter().map(String::from).collect(),
            enter: entries.map(|(at, value)| CarrierEntry { at, value }).collect(),
            ..CheckReport::of(result)
        }
    }

    fn print(&self) {
        match &self.result {
            Ok(said) => println!("{}: works ({said})", self.carrier),
            Err(why) => println!("{}: DOES NOT WORK: {why}", self.carrier),
        }
        if !self.numbers.is_empty() {
            let numbers: Vec<&str> = self.numbers.iter().map(PhoneNumber::as_str).collect();
            println!("  numbers: {}", numbers.join(", "));
        }
        for (at, what) in &self.entries {
            println!("  {at}: {what}");
        }
    }
}

/// Asks each configured carrier. The exit code is 0 only if all of them work, including the chosen one.
///
/// # Errors
///
/// Returns an error if a setting cannot be read or the chosen carrier is not configured.
pub async fn run(args: CarriersCheckArgs) -> Result<ExitCode, Box<dyn std::error::Error + Send + Sync>> {
    let settings = CarrierSettings::from_environment()?;
    let check = Check {
        ask: Asker::new()?,
        public: args.public_url.clone(),
    };
    let findings = check.all(&settings, args.simulated_url.as_deref()).await;
    let embedded = args.carrier == "simulated" && args.simulated_url.is_none();
    if !embedded && !findings.iter().any(|finding| finding.carrier == args.carrier) {
        return Err(format!("RINGBACK_CARRIER {}: {}", args.carrier, wanted(&args.carrier)).into());
    }
    if args.json {
        let all: Vec<Value> = findings.iter().map(Finding::json).collect();
        println!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        findings.iter().for_each(Finding::print);
        if findings.is_empty() {
            println!("no carrier is configured: calls go to the simulated phones inside the service");
        }
    }
    let all_work = findings.iter().all(|finding| finding.result.is_ok());
    Ok(if all_work { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks one carrier as the command does. The addresses are those at which carriers reach the service, and of a
/// telephone exchange. Returns `None` if it is not configured.
pub async fn one(
    settings: &CarrierSettings,
    carrier: &str,
    (public, simulated): (Option<&str>, Option<&str>),
) -> Option<CheckReport> {
    let (ask, public) = match Asker::new() {
        Ok(ask) => (ask, public.map(str::to_owned)),
        Err(error) => return Some(CheckReport::of(Err(error.to_string()))),
    };
    let check = Check { ask, public };
    let found = match carrier {
        "twilio" => check.twilio(settings.twilio.as_ref()?).await,
        "signalwire" => check.twilio(settings.signalwire.as_ref()?).await,
        "telnyx" => check.telnyx(settings.telnyx.as_ref()?).await,
        "vonage" => check.vonage(settings.vonage.as_ref()?).await,
        "asterisk" => check.asterisk(settings.asterisk.as_ref()?).await,
        _ => check.simulated(simulated?).await,
    };
    Some(found.report())
}

struct Check {
    ask: Asker,
    public: Option<String>,
}

impl Check {
    async fn all(&self, settings: &CarrierSettings, simulated: Option<&str>) -> Vec<Finding> {
        let both = [&settings.twilio, &settings.signalwire].into_iter().flatten();
        // All at once, since each may take as long as the timeout.
        let (both, telnyx, vonage, asterisk, simulated) = tokio::join!(
            join_all(both.map(|account| self.twilio(account))),
            OptionFuture::from(settings.telnyx.as_ref().map(|account| self.telnyx(account))),
            OptionFuture::from(settings.vonage.as_ref().map(|account| self.vonage(account))),
            OptionFuture::from(settings.asterisk.as_ref().map(|account| self.asterisk(account))),
            OptionFuture::from(simulated.map(|url| self.simulated(url))),
        );
        let others = [telnyx, vonage, asterisk, simulated].into_iter().flatten();
        both.into_iter().chain(others).collect()
    }

    async fn simulated(&self, url: &str) -> Finding {
        let request = self.ask.get(&format!("{url}/v1/calls?to=%2B15550100010&sinceMicros=0"));
        let asked = self.ask.json::<IgnoredAny>(request).await;
        Finding {
            carrier: "simulated",
            result: asked
                .map(|_| "the exchange answers".to_owned())
                .map_err(|why| asked_of(url, &why, "RINGBACK_SIMULATED_URL")),
            numbers: Vec::new(),
            entries: Vec::new(),
        }
    }

    fn callback(&self, carrier: &str, path: &str) -> String {
        let public = self.public.as_deref().unwrap_or(UNKNOWN);
        format!("{public}/carriers/{carrier}/{path}")
    }

    /// Checks that a carrier on the internet can reach the service, which needs an `https://` address.
    /// Returns that address.
    fn reachable(&self, carrier: &str, api: &str) -> Result<&str, String> {
        match self.public.as_deref() {
            Some(public) if public.starts_with("https://") || api.starts_with("http://") => Ok(public),
            _ => Err(format!(
                "the account is accepted, but {carrier} must reach the service: set RINGBACK_PUBLIC_URL to its https:// address"
            )),
        }
    }

    async fn twilio(&self, account: &TwilioAccount) -> Finding {
        let carrier = account.flavour.name();
        // An API key may be allowed to place calls but not to read its own account.
        let asks_with_a_key = !account.user.eq_ignore_ascii_case(&account.account);
        let path = match asks_with_a_key {
            true => "/Calls.json?PageSize=1",
            false => ".json",
        };
        let request = self.ask.get(&account.resource(path));
        let request = request.basic_auth(&account.user, Some(account.password.secret()));
        let asked = self.ask.json(request).await;
        let settings = match account.flavour {
            Flavour::Twilio if asks_with_a_key => "TWILIO_ACCOUNT_SID, TWILIO_API_KEY, TWILIO_API_SECRET",
            Flavour::Twilio => "TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN",
            Flavour::SignalWire => "SIGNALWIRE_SPACE, SIGNALWIRE_PROJECT_ID, SIGNALWIRE_TOKEN",
        };
        let asked = asked.map_err(|why| asked_of(&account.base_url, &why, settings));
        let result = asked.and_then(|said: TwilioAnswer| match said.status.as_deref() {
            _ if said.calls.is_some() => Ok("the account's calls can be read".to_owned()),
            Some("active") => Ok("account active".to_owned()),
            Some(status) => Err(format!("the account is {}: it places no calls", plain_words(status))),
            None => Err(asked_of(&account.base_url, NOT_ITS_OWN, settings)),
        });
        let numbers = match &result {
            Ok(_) => numbers::of_twilio(&self.ask, account).await.unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        let public = self.reachable(carrier, &account.base_url);
        let result = match result.and_then(|said| public.map(|public| (said, public))) {
            Ok((said, public)) if account.flavour == Flavour::SignalWire => {
                let fetched = self.document(account, public).await;
                fetched.map(|fetched| format!("{said}; {fetched}"))
            }
            other => other.map(|(said, _)| said),
        };
        Finding {
            carrier,
            result,
            numbers,
            entries: vec![
                (
                    "each number, \"A call comes in\", webhook, POST",
                    self.callback(carrier, "inbound"),
                ),
                (
                    "each number, \"Call status changes\", POST",
                    self.callback(carrier, "events"),
                ),
            ],
        }
    }

    /// Fetches instructions from the service as SignalWire does in each call: at an address that holds them sealed, with
    /// the account's signature. The service need not run yet.
    async fn document(&self, account: &TwilioAccount, public: &str) -> Result<String, String> {
        let guard = Guard::new(account, public);
        let documents = Documents::new(guard.document_key(), Arc::new(SystemClock));
        let sealed = documents.seal(HANG_UP).map_err(|error| error.to_string())?;
        let address = self.callback("signalwire", &format!("document/{sealed}"));
        match self.ask.posted(&address, guard.signature_of(&address)).await {
            Some((StatusCode::OK, said)) if said == HANG_UP => Ok("instructions can be fetched".to_owned()),
            // A proxy says so of a service that does not run.
            Some((status, _)) if !status.is_server_error() => Err(format!(
                "instructions cannot be fetched: asked at {public}/carriers/signalwire/document/…, the service answers \
                 {status}. It must run with the same SIGNALWIRE_SIGNING_KEY and RINGBACK_PUBLIC_URL, behind a proxy that \
                 changes no path"
            )),
            _ => Ok(format!(
                "no service answers at {public} yet, so the addresses of instructions are not checked"
            )),
        }
    }

    async fn telnyx(&self, account: &TelnyxAccount) -> Finding {
        let request = self.ask.get(&format!("{}/balance", account.base_url));
        let asked = self.ask.json(request.bearer_auth(account.api_key.secret())).await;
        let asked = asked.map_err(|why| asked_of(&account.base_url, &why, "TELNYX_API_KEY"));
        let result = asked.map(|said: TelnyxAnswer<Balance>| {
            let Balance { balance, currency } = said.data;
            format!("balance {} {}", plain_words(&balance), plain_words(&currency))
        });
        let numbers = match &result {
            Ok(_) => numbers::of_telnyx(&self.ask, account).await.unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        let public = self.reachable("telnyx", &account.base_url);
        let result = match result.and_then(|said| public.map(|public| (said, public))) {
            Ok((said, public)) => inbound_commands(account, public).await.map(|()| said),
            Err(why) => Err(why),
        };
        Finding {
            carrier: "telnyx",
            result,
            numbers,
            entries: vec![(
                "the Call Control application, webhook URL (API v2)",
                self.callback("telnyx", "inbound"),
            )],
        }
    }

    async fn vonage(&self, account: &VonageAccount) -> Finding {
        let now = chrono::Utc::now().timestamp();
        let result = match account.key.token(&account.application, now) {
            Ok(token) => {
                let request = self.ask.get(&format!("{}/v1/calls?page_size=1", account.base_url));
                let asked = self.ask.json::<IgnoredAny>(request.bearer_auth(token)).await;
                asked.map_err(|why| asked_of(&account.base_url, &why, "VONAGE_APPLICATION_ID, VONAGE_PRIVATE_KEY"))
            }
            Err(error) => Err(error.to_string()),
        };
        Finding {
            carrier: "vonage",
            result: result
                .and_then(|_| self.reachable("vonage", &account.base_url))
                .map(|_| "the application's calls can be read".to_owned()),
            numbers: Vec::new(),
            entries: vec![
                ("the application, answer URL, POST", self.callback("vonage", "inbound")),
                ("the application, event URL, POST", self.callback("vonage", "events")),
            ],
        }
    }

    async fn asterisk(&self, account: &AsteriskAccount) -> Finding {
        let request = self.ask.get(&format!("{}/asterisk/info", account.ari_url));
        let request = request.basic_auth(&account.user, Some(account.password.secret()));
        let asked = self.ask.json(request).await;
        let asked = asked.map(|said: AsteriskInfo| format!("Asterisk {}", plain_words(&said.system.version)));
        let settings = "ASTERISK_ARI_URL, ASTERISK_ARI_USER, ASTERISK_ARI_PASSWORD";
        let result = asked.map_err(|why| asked_of(&account.ari_url, &why, settings));
        let mut entries = vec![(
            "extensions.conf, for calls that come in",
            format!("Stasis({})", account.app),
        )];
        entries.push(match &account.media {
            Media::WebSocket { .. } => {
                let address = self.callback("asterisk", "media");
                ("websocket_client.conf, uri", super::http::socket_address(&address))
            }
            Media::AudioSocket { reached_at, .. } => ("reachable from Asterisk by TCP", reached_at.clone()),
        });
        Finding {
            carrier: "asterisk",
            result,
            numbers: Vec::new(),
            entries,
        }
    }
}

/// Sends Telnyx the commands of an inbound call, as in a call. This call does not exist, so they must fail for that
/// reason alone.
async fn inbound_commands(account: &TelnyxAccount, public: &str) -> Result<(), String> {
    let tokens = StreamTokens::new(account.api_key.secret());
    let carrier = TelnyxCarrier::new(account.clone(), public, tokens).map_err(|error| error.to_string())?;
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
            Err(error) => return Err(format!("the command {command} fails for inbound calls: {error}")),
        }
    }
    Ok(())
}
