//! The command line.

mod parsed;
pub mod unknown;

use std::{net::SocketAddr, path::PathBuf};

use clap::{
    Args, Parser, Subcommand,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};

use crate::{
    config::{ServeConfig, StorageConfig, TlsConfig},
    telemetry::LogFormat,
};
use carriers::check::CarriersCheckArgs;
use domain::secret_token::SecretToken;
use integrations::documents::extract::child::ExtractArgs;
use net::{
    bind::reachable,
    http_client::{parse_base_url, parse_local_base_url},
    setting::{listen_address, whole},
};
use providers::{check::ProvidersCheckArgs, name::ProviderName};
use sim::{
    stub_carriers::{KINDS, SERVICE, reordering, run::StubKind},
    stub_providers::StubTimes,
};

/// A self-hosted service for AI voice agents that place and receive phone calls.
#[derive(Debug, Parser)]
#[command(name = "ringback", version, about)]
pub struct Cli {
    /// Format of log lines
    #[arg(long, env = "RINGBACK_LOG_FORMAT", value_enum, default_value = "text", global = true)]
    pub log_format: LogFormat,

    /// Worker threads [default: one for each core]
    #[arg(long, env = "RINGBACK_WORKERS", global = true, value_parser = whole(1..=1024_u16))]
    pub workers: Option<u16>,

    /// Command to run
    #[command(subcommand)]
    pub command: Command,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the service
    Serve(Box<ServeConfig>),
    /// Run a whole campaign on simulated phones, with progress and transcripts
    Demo(DemoArgs),
    /// Run a simulated telephone exchange as a separate process
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
        /// All further arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Create accounts and keys
    #[command(subcommand)]
    Account(AccountCommand),
    /// Print the API's description (OpenAPI 3.1)
    Openapi {
        /// Address at which clients reach the service
        #[arg(long, env = "RINGBACK_PUBLIC_URL", default_value = "http://127.0.0.1:8080", value_parser = parse_base_url)]
        public_url: String,
    },
    /// Read one document, started by the service
    #[command(hide = true)]
    Extract(ExtractArgs),
}

/// Arguments of `ringback demo`.
#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// Contacts to call instead of the sample (columns: phone, name, and optionally persona)
    #[arg(long)]
    pub csv: Option<PathBuf>,

    /// Call only the first N contacts of the sample
    #[arg(long, conflicts_with = "csv", value_parser = whole(1..=16_u16))]
    pub contacts: Option<u16>,

    /// Let the agent speak with another voice than babble, as provider or provider:voice, such as
    /// espeak; calls three phones
    #[arg(long, conflicts_with_all = ["csv", "contacts"])]
    pub voice: Option<ProviderName>,

    /// Address that `ringback serve` is to serve on afterwards, for the links printed at the end
    #[arg(long, env = "RINGBACK_LISTEN", default_value = "127.0.0.1:8080", value_parser = listen_address)]
    pub listen: SocketAddr,
}

/// Arguments of `ringback phones`.
#[derive(Debug, Clone, Args)]
pub struct PhonesArgs {
    /// Address to serve the exchange's dial API on
    #[arg(long, value_parser = listen_address)]
    pub listen: SocketAddr,

    /// Append events to this file, one JSON object a line; a dial is on disk before it is answered
    #[arg(long)]
    pub log: Option<PathBuf>,

    /// Concurrent calls
    #[arg(long, default_value_t = 1_000, value_parser = at_least_one)]
    pub max_calls: usize,

    /// Seed of the phones' behaviour
    #[arg(long, default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    pub seed: u64,

    /// Milliseconds of ringing before the callee acts [default: 2000 to 6000, by the number]
    #[arg(long, value_parser = whole(0..=600_000_u64))]
    pub pick_up_ms: Option<u64>,

    /// Address to announce the phones' own calls to: the service, or the full address of its inbound webhook
    #[arg(long, default_value = "http://127.0.0.1:8080", value_parser = announce_to)]
    pub announce_to: String,

    /// Steady noise on every line, in dBFS from -120 to 0 (such as -50) [default: none]
    #[arg(long, allow_negative_numbers = true, value_parser = dbfs)]
    pub line_noise_dbfs: Option<f64>,
}

/// Subcommands of `ringback providers`.
#[derive(Debug, Clone, Subcommand)]
pub enum ProvidersCommand {
    /// Make one small real request to each configured provider: what works, how fast, what is wrong
    Check(ProvidersCheckArgs),
    /// Run stubs of the providers on a real socket, for tests and benches; they speak and understand babble
    Stub(ProvidersStubArgs),
}

/// Arguments of `ringback providers stub`.
#[derive(Debug, Clone, Args)]
pub struct ProvidersStubArgs {
    /// Address to serve on
    #[arg(long, value_parser = listen_address)]
    pub listen: SocketAddr,

    /// Delays of the stubs
    #[arg(long, value_enum, default_value_t = StubTimesMode::AtOnce)]
    pub times: StubTimesMode,

    /// The only key that they accept [default: any]
    #[arg(long)]
    pub key: Option<String>,

    /// Seed of the delays
    #[arg(long, default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    pub seed: u64,
}

/// Delays of the stubs of providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum StubTimesMode {
    /// No delays.
    AtOnce,
    /// Delays measured at hosted providers.
    Published,
}

impl StubTimesMode {
    /// Returns its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AtOnce => "at-once",
            Self::Published => "published",
        }
    }

    /// Returns the delays.
    pub fn times(self) -> StubTimes {
        match self {
            Self::AtOnce => StubTimes::AT_ONCE,
            Self::Published => StubTimes::PUBLISHED,
        }
    }
}

/// Subcommands of `ringback carriers`.
#[derive(Debug, Clone, Subcommand)]
pub enum CarriersCommand {
    /// Make one small read request to each configured carrier: shows whether the account is accepted, its
    /// numbers, and the exact addresses to enter there
    Check(CarriersCheckArgs),
    /// Run a stub of a carrier on a real socket, with simulated phones behind it; prints the environment that makes the
    /// service use it
    Stub(CarriersStubArgs),
}

/// Arguments of `ringback carriers stub`.
#[derive(Debug, Clone, Args)]
pub struct CarriersStubArgs {
    /// Carrier
    #[arg(value_parser = stub_kind())]
    pub carrier: &'static StubKind,

    /// Address to serve on
    #[arg(long, value_parser = listen_address)]
    pub listen: SocketAddr,

    /// Address of the service: calls of phones are announced there
    #[arg(long, default_value = SERVICE, value_parser = parse_local_base_url)]
    pub service: String,

    /// Send every report twice
    #[arg(long, help = format!("Send every report twice, and for {} also late and in another order", reordering()))]
    pub untidy: bool,

    /// Break the first media socket of each call after this many seconds
    #[arg(long, value_parser = whole(1..=3_600_u64))]
    pub cut_after_seconds: Option<u64>,
}

/// Returns the parser of a carrier that has a stub to run.
fn stub_kind() -> impl TypedValueParser<Value = &'static StubKind> {
    let names = KINDS.iter().map(|kind| PossibleValue::new(kind.name).help(kind.title));
    PossibleValuesParser::new(names).try_map(|name| {
        let mut kinds = KINDS.iter().copied();
        kinds.find(|kind| kind.name == name).ok_or("no such stub")
    })
}

/// Subcommands of `ringback account`.
#[derive(Debug, Clone, Subcommand)]
pub enum AccountCommand {
    /// Create an account; its key and secret are shown only once
    Create(AccountArgs),
    /// Replace an account's key; the old one stops working at once
    RegenerateKey(AccountArgs),
    /// Print a link that signs a browser in to the dashboard, once and within 10 minutes
    LoginLink(LoginLinkArgs),
}

/// Account and database.
#[derive(Debug, Clone, Args)]
pub struct AccountArgs {
    /// E-mail address of the account
    #[arg(long)]
    pub email: String,

    /// Database.
    #[command(flatten)]
    pub storage: StorageConfig,
}

/// Account, and the address and database of the service.
#[derive(Debug, Clone, Args)]
pub struct LoginLinkArgs {
    /// E-mail address of the account [default: the only account]
    pub email: Option<String>,

    /// Address that the service serves on
    #[arg(long, env = "RINGBACK_LISTEN", default_value = "127.0.0.1:8080", value_parser = listen_address)]
    pub listen: SocketAddr,

    /// Address at which browsers reach the service, if it is https:// [default: the address served]
    #[arg(long, env = "RINGBACK_PUBLIC_URL", value_parser = parse_base_url)]
    pub public_url: Option<String>,

    /// TLS certificate and key of the service
    #[command(flatten)]
    pub tls: TlsConfig,

    /// Database.
    #[command(flatten)]
    pub storage: StorageConfig,
}

impl LoginLinkArgs {
    /// Returns the link with a secret. The secret is in the fragment, which browsers send to nobody.
    pub fn link(&self, token: &SecretToken) -> String {
        let public = self.public_url.clone().filter(|url| url.starts_with("https://"));
        let served = || format!("{}://{}", self.tls.scheme(), reachable(self.listen));
        login_link(&public.unwrap_or_else(served), token)
    }
}

/// Returns the login link of a service at this address.
pub fn login_link(address: &str, token: &SecretToken) -> String {
    format!("{address}/#token={}", token.as_str())
}

fn at_least_one(text: &str) -> Result<usize, &'static str> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or("write a whole number, 1 or more")
}

/// Returns the address of the service's inbound webhook, or the address as given if it has a path.
fn announce_to(text: &str) -> Result<String, String> {
    let wrong = |why: &str| format!("{why}; write http://HOST:PORT of the service, such as http://127.0.0.1:8080");
    let mut url = url::Url::parse(text).map_err(|_| wrong("not an http:// address"))?;
    if url.scheme() != "http" || url.host().is_none() {
        return Err(wrong("not an http:// address"));
    }
    if url.path() == "/" {
        url.set_path("/carriers/simulated/inbound");
    }
    Ok(url.into())
}

/// Parses a level from that of one part in a million to the loudest possible.
fn dbfs(text: &str) -> Result<f64, &'static str> {
    // No range contains NaN.
    let level = text.parse().ok().filter(|level| (-120.0..=0.0).contains(level));
    level.ok_or("write a number from -120 to 0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_announced_at_a_service_or_at_an_endpoint_that_is_named_whole() {
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
