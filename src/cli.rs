//! The command line.

mod claims;
mod hostile;
mod parsed;

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};

use crate::{
    carriers::settings::NAMES,
    config::{ProviderConfig, ServeConfig, SpeculationMode, StorageConfig, parse_base_url},
    documents::extract::child::ExtractArgs,
    providers::name::ProviderName,
    stub_carriers::{SERVICE, run::Name},
    stub_providers::StubTimes,
    telemetry::LogFormat,
};

pub use claims::BenchClaimsArgs;
pub use hostile::BenchHostileArgs;

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
    /// Measure this build
    #[command(subcommand)]
    Bench(BenchCommand),
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

/// `ringback providers check`.
#[derive(Debug, Clone, Args)]
pub struct ProvidersCheckArgs {
    /// Which providers
    #[command(flatten)]
    pub providers: ProviderConfig,

    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
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

/// Which stubs of providers a bench puts behind the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Trio {
    /// OpenAI's language model, Deepgram's ears, ElevenLabs' voice.
    Hosted,
    /// Ollama's language model, speaches' ears, Kokoro's voice.
    Local,
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

/// `ringback carriers check`.
#[derive(Debug, Clone, Args)]
pub struct CarriersCheckArgs {
    /// Address at which carriers reach the service
    #[arg(long, env = "RINGBACK_PUBLIC_URL", value_parser = parse_base_url)]
    pub public_url: Option<String>,

    /// Carrier that places the calls for which nothing else is said
    #[arg(long, env = "RINGBACK_CARRIER", default_value = "simulated", value_parser = NAMES)]
    pub carrier: String,

    /// Address of a telephone exchange (`ringback phones`)
    #[arg(long, env = "RINGBACK_SIMULATED_URL", value_parser = parse_base_url)]
    pub simulated_url: Option<String>,

    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
}

/// `ringback bench`.
#[derive(Debug, Clone, Subcommand)]
pub enum BenchCommand {
    /// The REST API: import, reads and lists of a large account, start and memory
    Api(BenchApiArgs),
    /// Concurrent calls: cores, memory and latency per call
    Calls(BenchCallsArgs),
    /// Contacts claimed and permitted a second, by several nodes on one database
    Claims(BenchClaimsArgs),
    /// Kill the service at random moments of a campaign: nobody is dialed twice, nobody forgotten
    Crashes(BenchCrashesArgs),
    /// Scripted conversations in real time: cut-offs, dead air, missed and false barge-ins, heard words
    Turns(BenchTurnsArgs),
    /// Identical campaigns of very short calls: contacts a second, and nothing left behind; or commands against a dialer
    /// at full speed
    Dialer(BenchDialerArgs),
    /// Sockets that mean harm: what thousands of idle ones cost, and what one of each kind does to memory and to calls
    Hostile(BenchHostileArgs),
    /// Several times as many requests as the service can answer, beside live calls: what it still answers, and how soon it
    /// is well again
    Overload(BenchOverloadArgs),
}

/// `ringback bench api`.
#[derive(Debug, Clone, Args)]
pub struct BenchApiArgs {
    /// Rows of the imported CSV file, and of the import that an earlier start left behind
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1_000..=1_000_000))]
    pub rows: u32,

    /// Conversations of the account whose lists are read
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    pub conversations: u32,

    /// Seconds of reading one agent
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub seconds: u32,

    /// Fail also when a figure misses its target
    #[arg(long)]
    pub strict: bool,

    /// Also write the figures as JSON to this file
    #[arg(long)]
    pub json: Option<PathBuf>,
}

/// `ringback bench calls`.
#[derive(Debug, Clone, Args)]
pub struct BenchCallsArgs {
    /// Calls at once; several numbers, as in 100,300,500, are measured in turn, each with a service of its own
    #[arg(long, default_value = "100", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=5_000))]
    pub calls: Vec<u32>,

    /// Seconds to measure once all calls are in conversation; the calls last a little longer
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(3..=600))]
    pub seconds: u32,

    /// Of a hundred phones, how many interrupt the agent once
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=50))]
    pub interrupts: u32,

    /// Of a hundred phones, how many speak in loud noise; every second of them interrupts the agent once
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=50))]
    pub noisy: u32,

    /// Hold the calls through stubs of these providers, over sockets, instead of the embedded language and speech
    #[arg(long, value_enum)]
    pub providers: Option<Trio>,

    /// How long the stubs take; with published times the pause is that of the agent, and the whole silence is measured
    #[arg(long, value_enum, default_value_t = StubTimesMode::AtOnce, requires = "providers")]
    pub times: StubTimesMode,

    /// Of a hundred calls, how many have providers that hang or drop in the midst, at every third request
    #[arg(long, default_value_t = 0, requires = "providers", value_parser = clap::value_parser!(u32).range(0..=50))]
    pub faulty: u32,

    /// Record the calls, and check that every recording decodes and holds the words of its transcript
    #[arg(long)]
    pub recordings: bool,

    /// How far the service makes replies ahead
    #[arg(long, value_enum, default_value_t = SpeculationMode::Voice)]
    pub speculation: SpeculationMode,

    /// Fail also when a figure misses its target
    #[arg(long)]
    pub strict: bool,

    /// Also write the figures as JSON to this file
    #[arg(long)]
    pub json: Option<PathBuf>,

    /// Also draw latency and cores over the number of calls to this file, as SVG
    #[arg(long)]
    pub plot: Option<PathBuf>,
}

/// `ringback bench crashes`.
#[derive(Debug, Clone, Args)]
pub struct BenchCrashesArgs {
    /// How often the service is killed
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub kills: u32,

    /// Contacts of the campaign
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u32).range(10..=10_000))]
    pub contacts: u32,

    /// Chooses the moments
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// `ringback bench turns`.
#[derive(Debug, Clone, Args)]
pub struct BenchTurnsArgs {
    /// Only conversations with this in their name, such as `echo`
    #[arg(long)]
    pub only: Option<String>,

    /// Chooses the imperfect recogniser's delays and errors
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Also write the figures as JSON to this file
    #[arg(long)]
    pub json: Option<PathBuf>,
}

/// `ringback bench overload`.
#[derive(Debug, Clone, Args)]
pub struct BenchOverloadArgs {
    /// Seconds of each phase
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(3..=600))]
    pub seconds: u32,

    /// So many times what the service answers at most
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=20))]
    pub times: u32,

    /// Calls that talk all the while
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=200))]
    pub calls: u32,

    /// Fail also when a figure misses its target
    #[arg(long)]
    pub strict: bool,

    /// Also write the figures into this file, as JSON
    #[arg(long)]
    pub json: Option<PathBuf>,
}

/// `ringback bench dialer`.
#[derive(Debug, Clone, Args)]
pub struct BenchDialerArgs {
    /// Contacts of each campaign
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub contacts: u32,

    /// Calls at once
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    pub lines: u32,

    /// Identical campaigns, one after the other
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,

    /// Measure commands instead: pause, stop and opt-out at random moments of campaigns that are dialed at 200 a second
    #[arg(long, conflicts_with_all = ["contacts", "lines", "rounds"])]
    pub controls: bool,

    /// Commands
    #[arg(long, default_value_t = 200, requires = "controls", value_parser = clap::value_parser!(u32).range(5..=5_000))]
    pub commands: u32,

    /// Chooses the moments of the commands
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Also write the figures as JSON to this file
    #[arg(long)]
    pub json: Option<PathBuf>,
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
