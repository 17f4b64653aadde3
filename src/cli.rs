//! The command line.

mod parsed;

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};

use crate::{
    config::{ServeConfig, StorageConfig},
    telemetry::LogFormat,
};
use carriers::check::CarriersCheckArgs;
use integrations::documents::extract::child::ExtractArgs;
use net::http_client::parse_base_url;
use providers::{check::ProvidersCheckArgs, name::ProviderName};
use sim::{
    stub_carriers::{SERVICE, run::Name},
    stub_providers::StubTimes,
};

/// A self-hosted service for AI voice agents that place and receive phone calls.
#[derive(Debug, Parser)]
#[command(name = "ringback", version, about)]
pub struct Cli {
    /// How log lines look
    #[arg(long, env = "RINGBACK_LOG_FORMAT", value_enum, default_value = "text", global = true)]
    pub log_format: LogFormat,

    /// Worker threads [default: one for each core]
    #[arg(long, env = "RINGBACK_WORKERS", global = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,

    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the service
    Serve(Box<ServeConfig>),
    /// Run a whole campaign on simulated phones, with progress and transcripts
    Demo(DemoArgs),
    /// Run a simulated telephone exchange as a process of its own
    Phones(PhonesArgs),
    /// Check the providers of language and speech, or run stubs of them
    #[command(subcommand)]
    Providers(ProvidersCommand),
    /// Check the carriers: accounts, numbers, and the addresses to enter there; or run a stub of one
    #[command(subcommand)]
    Carriers(CarriersCommand),
    /// Moved to the program `ringback-bench`
    #[command(hide = true, disable_help_flag = true)]
    Bench {
        /// Whatever follows.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Make accounts and keys
    #[command(subcommand)]
    Account(AccountCommand),
    /// Print the API's description (OpenAPI 3.1)
    Openapi,
    /// Read one document, started by the service
    #[command(hide = true)]
    Extract(ExtractArgs),
}

/// `ringback demo`.
#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// Contacts to call instead of the sample (columns: phone, name, and optionally persona)
    #[arg(long)]
    pub csv: Option<PathBuf>,

    /// Call only the first N contacts of the sample
    #[arg(long, conflicts_with = "csv", value_parser = clap::value_parser!(u16).range(1..=16))]
    pub contacts: Option<u16>,

    /// Let the agent speak with another voice than babble, as provider or provider:voice, such as espeak; calls three
    /// phones
    #[arg(long, conflicts_with_all = ["csv", "contacts"])]
    pub voice: Option<ProviderName>,
}

/// `ringback phones`.
#[derive(Debug, Clone, Args)]
pub struct PhonesArgs {
    /// Address to serve the exchange's dial API on
    #[arg(long)]
    pub listen: SocketAddr,

    /// Append what happens to this file, one JSON object a line, each on disk before it is answered
    #[arg(long)]
    pub log: Option<PathBuf>,

    /// Calls at once
    #[arg(long, default_value_t = 1_000, value_parser = at_least_one)]
    pub max_calls: usize,

    /// Chooses the answers of the phones
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Milliseconds it rings before somebody acts [default: 2000 to 6000, by the number]
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=600_000))]
    pub pick_up_ms: Option<u64>,

    /// Where the calls that phones make are announced: the service, or the whole address of a door for them
    #[arg(long, default_value = "http://127.0.0.1:8080", value_parser = announce_to)]
    pub announce_to: String,

    /// Steady noise on every line, in dBFS from -120 to 0 (such as -50) [default: none]
    #[arg(long, allow_negative_numbers = true, value_parser = dbfs)]
    pub line_noise_dbfs: Option<f64>,
}

/// `ringback providers`.
#[derive(Debug, Clone, Subcommand)]
pub enum ProvidersCommand {
    /// Make one small real request to each configured provider: what works, how fast, what is wrong
    Check(ProvidersCheckArgs),
    /// Run stubs of the providers on a real socket, for tests and benches; they speak and understand babble
    Stub(ProvidersStubArgs),
}

/// `ringback providers stub`.
#[derive(Debug, Clone, Args)]
pub struct ProvidersStubArgs {
    /// Address to serve on
    #[arg(long)]
    pub listen: SocketAddr,

    /// How long they take
    #[arg(long, value_enum, default_value_t = StubTimesMode::AtOnce)]
    pub times: StubTimesMode,

    /// The one key they take [default: any]
    #[arg(long)]
    pub key: Option<String>,

    /// Chooses their times
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// How long stubs of providers take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum StubTimesMode {
    /// No time at all.
    AtOnce,
    /// As long as hosted providers were measured to take.
    Published,
}

impl StubTimesMode {
    /// Its word on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AtOnce => "at-once",
            Self::Published => "published",
        }
    }

    /// The times.
    pub fn times(self) -> StubTimes {
        match self {
            Self::AtOnce => StubTimes::AT_ONCE,
            Self::Published => StubTimes::PUBLISHED,
        }
    }
}

/// `ringback carriers`.
#[derive(Debug, Clone, Subcommand)]
pub enum CarriersCommand {
    /// Make one small reading request to each configured carrier: whether the account is taken, its numbers, and the
    /// exact addresses to enter there
    Check(CarriersCheckArgs),
    /// Run a stub of a carrier on a real socket, with simulated phones behind it; prints the environment that makes the
    /// service use it
    Stub(CarriersStubArgs),
}

/// `ringback carriers stub`.
#[derive(Debug, Clone, Args)]
pub struct CarriersStubArgs {
    /// Which carrier
    #[arg(value_enum)]
    pub carrier: Name,

    /// Address to serve on
    #[arg(long)]
    pub listen: SocketAddr,

    /// Where the service is: phones that call in are announced there
    #[arg(long, default_value = SERVICE, value_parser = parse_base_url)]
    pub service: String,

    /// Report everything twice, and at Telnyx late and in another order too
    #[arg(long)]
    pub untidy: bool,

    /// Break the first media socket of each call after so many seconds
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub cut_after_seconds: Option<u64>,
}

/// `ringback account`.
#[derive(Debug, Clone, Subcommand)]
pub enum AccountCommand {
    /// Make an account; its key and secret are shown this once
    Create(AccountArgs),
    /// Replace an account's key; the old one stops working at once
    RegenerateKey(AccountArgs),
}

/// Which account.
#[derive(Debug, Clone, Args)]
pub struct AccountArgs {
    /// E-mail address of the account
    #[arg(long)]
    pub email: String,

    /// Where it is stored
    #[command(flatten)]
    pub storage: StorageConfig,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("0 is not in 1 and more".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{error}")),
    }
}

/// The door of the service for calls that phones make, or another one that is named whole.
fn announce_to(text: &str) -> Result<String, String> {
    let wrong = |why: &str| format!("{why}; write http://HOST:PORT of the service, such as http://127.0.0.1:8080");
    let mut url = url::Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
    if url.scheme() != "http" || url.host().is_none() {
        return Err(wrong("it is no http:// address"));
    }
    if url.path() == "/" {
        url.set_path("/carriers/simulated/inbound");
    }
    Ok(url.into())
}

/// A level from that of one part in a million to the loudest there is.
fn dbfs(text: &str) -> Result<f64, String> {
    let level: f64 = text.parse().map_err(|error| format!("{error}"))?;
    // No range holds what is not a number.
    let sound = (-120.0..=0.0).contains(&level);
    sound
        .then_some(level)
        .ok_or_else(|| format!("{text} is not in -120 to 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_announced_at_a_service_or_at_a_door_that_is_named_whole() {
        for (given, taken) in [
            ("http://127.0.0.1:9", "http://127.0.0.1:9/carriers/simulated/inbound"),
            (
                "http://ring.example:80/",
                "http://ring.example/carriers/simulated/inbound",
            ),
            ("http://127.0.0.1:9/door", "http://127.0.0.1:9/door"),
        ] {
            assert_eq!(announce_to(given).as_deref(), Ok(taken));
        }
        for wrong in ["127.0.0.1:8080", "localhost:8080", "https://ring.example", "", "ring"] {
            let error = announce_to(wrong).unwrap_err();
            assert!(error.contains("write http://HOST:PORT"), "{wrong}: {error}");
        }
    }
}
