//! The command line of `ringback-bench`.

mod claims;
mod hostile;

use std::{io, path::PathBuf};

use clap::{Args, Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};

use ringback::{cli::StubTimesMode, config::SpeculationMode, telemetry::LogFormat};

pub use claims::BenchClaimsArgs;
pub use hostile::BenchHostileArgs;

/// Measures a build of Ringback; expects the program `ringback` in the same folder.
#[derive(Debug, Parser)]
#[command(name = "ringback-bench", version, about)]
pub struct Cli {
    /// Format of log lines
    #[arg(long, env = "RINGBACK_LOG_FORMAT", value_enum, default_value = "text", global = true)]
    pub log_format: LogFormat,

    /// Worker threads [default: one for each core]
    #[arg(long, env = "RINGBACK_WORKERS", global = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,

    /// Measurement to run
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Builds the runtime of the measurement.
    ///
    /// # Errors
    /// Returns an error if the system provides no threads.
    pub fn runtime(&self) -> io::Result<Runtime> {
        let mut builder = Builder::new_multi_thread();
        if let Some(workers) = self.workers {
            builder.worker_threads(usize::from(workers));
        }
        builder.enable_all().build()
    }
}

/// Measurements.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// The REST API: import, reads and lists of a large account, start and memory
    Api(BenchApiArgs),
    /// Concurrent calls: cores, memory and latency per call
    Calls(BenchCallsArgs),
    /// Contacts claimed and permitted per second, by several nodes on one database
    Claims(BenchClaimsArgs),
    /// Kill the service at random moments of a campaign: nobody may be dialed twice, and nobody forgotten
    Crashes(BenchCrashesArgs),
    /// Scripted conversations in real time: cut-offs, dead air, missed and false barge-ins, heard words
    Turns(BenchTurnsArgs),
    /// Identical campaigns of very short calls: contacts per second, and nothing left behind; or commands
    /// against a dialer at full speed
    Dialer(BenchDialerArgs),
    /// Hostile sockets: the cost of thousands of idle ones, and the effect of one of each kind on memory and calls
    Hostile(BenchHostileArgs),
    /// Several times as many requests as the service can answer, beside live calls: what it still answers,
    /// and how soon it recovers
    Overload(BenchOverloadArgs),
}

/// Stubs of providers that a bench puts behind the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Trio {
    /// OpenAI's language model, Deepgram's stt, ElevenLabs' tts.
    Hosted,
    /// Ollama's language model, speaches' stt, Kokoro's tts.
    Local,
}

/// The sound of a line on which nobody speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum QuietLine {
    /// Steady noise of -50 dBFS.
    Noise,
    /// Digital silence, which most carriers send.
    Silence,
}

/// Arguments of `ringback-bench api`.
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

    /// Make the database with this earlier version of the program, without a left-over import, and measure its update
    #[arg(long)]
    pub previous: Option<PathBuf>,

    /// Only make the database with the conversations, in this new folder, and print its account
    #[arg(long, conflicts_with_all = ["previous", "strict", "json"])]
    pub keep: Option<PathBuf>,

    /// Also fail if a figure misses its target
    #[arg(long)]
    pub strict: bool,

    /// Also write the figures as JSON to this file
    #[arg(long)]
    pub json: Option<PathBuf>,
}

/// Arguments of `ringback-bench calls`.
#[derive(Debug, Clone, Args)]
pub struct BenchCallsArgs {
    /// Concurrent calls; several numbers, as in 100,300,500, are measured in turn, each with a new service
    #[arg(long, default_value = "100", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=5_000))]
    pub calls: Vec<u32>,

    /// Seconds to measure once all calls are in conversation; the calls last a little longer
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(3..=600))]
    pub seconds: u32,

    /// How many of a hundred phones interrupt the agent once
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=50))]
    pub interrupts: u32,

    /// How many of a hundred phones speak in loud noise; every second of them interrupts the agent once
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=50))]
    pub noisy: u32,

    /// What a line carries while nobody speaks
    #[arg(long, value_enum, default_value_t = QuietLine::Noise)]
    pub line: QuietLine,

    /// Use stubs of these providers, over sockets, instead of the embedded language and speech
    #[arg(long, value_enum)]
    pub providers: Option<Trio>,

    /// Delays of the stubs; with published delays the agent's own pause is used, and the whole silence is measured
    #[arg(long, value_enum, default_value_t = StubTimesMode::AtOnce, requires = "providers")]
    pub times: StubTimesMode,

    /// How many of a hundred calls have providers that hang or drop midway, at every third request
    #[arg(long, default_value_t = 0, requires = "providers", value_parser = clap::value_parser!(u32).range(0..=50))]
    pub faulty: u32,

    /// Clients that read the account's event stream meanwhile
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    pub streams: u32,

    /// Measure each number of calls twice, without and with this many open dashboards: their sessions, streams and
    /// requests. Meanwhile a call starts and ends every second
    #[arg(long, default_value_t = 0, conflicts_with_all = ["streams", "plot"],
        value_parser = clap::value_parser!(u32).range(0..=500))]
    pub dashboards: u32,

    /// Measure each number of calls twice, without and with this many listeners, spread over the calls
    #[arg(long, default_value_t = 0, conflicts_with_all = ["streams", "dashboards", "plot"],
        value_parser = clap::value_parser!(u32).range(0..=2_000))]
    pub listeners: u32,

    /// The same with this many listeners that never read, and with the memory of the service that they take
    #[arg(long, default_value_t = 0, conflicts_with_all = ["streams", "dashboards", "plot"],
        value_parser = clap::value_parser!(u32).range(0..=2_000))]
    pub stalled_listeners: u32,

    /// Measure each number of calls twice, without and with a conversation graph of the agent, whose edges the model
    /// judges after each turn
    #[arg(long, conflicts_with_all = ["streams", "dashboards", "listeners", "stalled_listeners", "faulty", "plot"],
        requires = "providers")]
    pub graph: bool,

    /// All listeners hear the same call
    #[arg(long)]
    pub on_one: bool,

    /// Record the calls, and check that every recording decodes and contains the words of its transcript
    #[arg(long)]
    pub recordings: bool,

    /// How far the service prepares replies ahead
    #[arg(long, value_enum, default_value_t = SpeculationMode::Voice)]
    pub speculation: SpeculationMode,

    /// Also fail if a figure misses its target
    #[arg(long)]
    pub strict: bool,

    /// Also write the figures as JSON to this file
    #[arg(long)]
    pub json: Option<PathBuf>,

    /// Also draw latency and cores over the number of calls to this file, as SVG
    #[arg(long)]
    pub plot: Option<PathBuf>,
}

/// Arguments of `ringback-bench crashes`.
#[derive(Debug, Clone, Args)]
pub struct BenchCrashesArgs {
    /// Number of times the service is killed
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub kills: u32,

    /// Contacts of the campaign
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u32).range(10..=10_000))]
    pub contacts: u32,

    /// Seed of the random moments
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Arguments of `ringback-bench turns`.
#[derive(Debug, Clone, Args)]
pub struct BenchTurnsArgs {
    /// Only conversations whose name contains this, such as `echo`
    #[arg(long)]
    pub only: Option<String>,

    /// Seed of the imperfect recogniser's delays and errors
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Also write the figures as JSON to this file
    #[arg(long)]
    pub json: Option<PathBuf>,
}

/// Arguments of `ringback-bench overload`.
#[derive(Debug, Clone, Args)]
pub struct BenchOverloadArgs {
    /// Seconds of each phase
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(3..=600))]
    pub seconds: u32,

    /// Request rate of the storm, as a multiple of the highest rate that the service can answer
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=20))]
    pub times: u32,

    /// Calls that talk throughout
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=200))]
    pub calls: u32,

    /// Also fail if a figure misses its target
    #[arg(long)]
    pub strict: bool,

    /// Also write the figures as JSON to this file
    #[arg(long)]
    pub json: Option<PathBuf>,
}

/// Arguments of `ringback-bench dialer`.
#[derive(Debug, Clone, Args)]
pub struct BenchDialerArgs {
    /// Contacts of each campaign
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub contacts: u32,

    /// Concurrent calls
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    pub lines: u32,

    /// Identical campaigns, one after the other
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,

    /// Measure commands instead: pause, stop and opt-out at random moments of campaigns that are
    /// dialed at 200 per second
    #[arg(long, conflicts_with_all = ["contacts", "lines", "rounds"])]
    pub controls: bool,

    /// Number of commands
    #[arg(long, default_value_t = 200, requires = "controls", value_parser = clap::value_parser!(u32).range(5..=5_000))]
    pub commands: u32,

    /// Seed of the moments of the commands
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Also write the figures as JSON to this file
    #[arg(long)]
    pub json: Option<PathBuf>,
}
