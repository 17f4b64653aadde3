//! The command `ringback carriers check`. It sends small requests without an effect to each configured carrier and
//! shows whether the account is accepted, which numbers it has, and what must be entered there to receive
//! inbound calls.

use std::process::ExitCode;

use clap::Args;
use domain::{
    phone_number::PhoneNumber,
    ports::services::{CarrierEntry, CheckReport},
};
use futures_util::future::join_all;
use net::http_client::{parse_base_url, parse_local_base_url};
use serde_json::{Value, json};

use super::settings::{CarrierSettings, SetCarrier};
use crate::{
    kind::{
        Entries,
        ask::{Asker, Check, Problem},
    },
    registry, simulated,
};

/// Arguments of `ringback carriers check`.
#[derive(Debug, Clone, Args)]
pub struct CarriersCheckArgs {
    /// Address at which carriers reach the service
    #[arg(long, env = "RINGBACK_PUBLIC_URL", value_parser = parse_base_url)]
    pub public_url: Option<String>,

    /// Carrier for calls whose agent has no phone number at another carrier
    #[arg(long, env = "RINGBACK_CARRIER", default_value = simulated::NAME, value_parser = registry::name_parser())]
    pub carrier: String,

    /// Address of a telephone exchange (`ringback phones`)
    #[arg(long, env = "RINGBACK_SIMULATED_URL", value_parser = parse_local_base_url)]
    pub simulated_url: Option<String>,

    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
}

/// Result of the check of one carrier.
struct Finding {
    carrier: &'static str,
    /// Short description by the carrier, or the problem.
    result: Result<String, Problem>,
    /// Phone numbers, if the carrier lists them.
    numbers: Vec<PhoneNumber>,
    /// Settings to enter at the carrier: place and value.
    entries: Entries,
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
            Err(Problem(why)) => shown["problem"] = why.as_str().into(),
        }
        shown
    }

    /// Reports for clients of the API, without the address of the carrier's API.
    fn report(self) -> CheckReport {
        let entries = self.entries.into_iter();
        let result = self.result.map_err(|Problem(why)| match why.strip_prefix("asked at ") {
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
pub async fn run(args: CarriersCheckArgs) -> Result<ExitCode, Box<dyn std::error::Error + Send + Sync>> {
    let settings = CarrierSettings::from_environment()?.with_exchange(args.simulated_url.as_deref());
    let (ask, public) = (Asker::new()?, args.public_url.as_deref());
    // All at once, since each may take as long as the timeout.
    let findings = settings.carriers().iter().map(|set| find(set, &ask, public));
    let findings = join_all(findings).await;
    let embedded = args.carrier == simulated::NAME && args.simulated_url.is_none();
    if !embedded && !findings.iter().any(|finding| finding.carrier == args.carrier) {
        return Err(format!("RINGBACK_CARRIER {}: {}", args.carrier, registry::wanted(&args.carrier)).into());
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

/// Checks one carrier as the command does. Carriers reach the service at `public`. Returns `None` if the carrier is not
/// configured.
pub async fn one(settings: &CarrierSettings, carrier: &str, public: Option<&str>) -> Option<CheckReport> {
    let set = settings.carriers().iter().find(|set| set.kind.name == carrier)?;
    match Asker::new() {
        Ok(ask) => Some(find(set, &ask, public).await.report()),
        Err(error) => Some(CheckReport::of(Err(error.to_string()))),
    }
}

async fn find(SetCarrier { kind, account }: &SetCarrier, ask: &Asker, public: Option<&str>) -> Finding {
    let carrier = kind.name;
    let check = Check { ask, carrier, public };
    let state = account.state(&check).await;
    let numbers = match &state {
        Ok(_) => account.numbers(ask).await.unwrap_or_default(),
        Err(_) => Vec::new(),
    };
    let result = match state {
        Ok(said) if kind.calls_back => match check.reachable(account.api()) {
            Ok(public) => account.try_out(&check, public).await.map(|more| said + &more),
            Err(why) => Err(why),
        },
        state => state,
    };
    Finding {
        carrier,
        result,
        numbers,
        entries: account.entries(&check),
    }
}
