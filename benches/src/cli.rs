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
    /// How log lines look
    #[arg(long, env = "RINGBACK_LOG_FORMAT", value_enum, default_value = "text", global = true)]
    pub log_format: LogFormat,

    /// Worker threads [default: one for each core]
    #[arg(long, env = "RINGBACK_WORKERS", global = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,

    /// What to measure
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// The runtime that measures.
    ///
    /// # Errors
    ///
    /// When the system gives it no threads.
    pub fn runtime(&self) -> io::Result<Runtime> {
        let mut builder = Builder::new_multi_thread();
        if let Some(workers) = self.workers {
            builder.worker_threads(usize::from(workers));
        }
        builder.enable_all().build()
    }
}

/// What to measure.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
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

/// Which stubs of providers a bench puts behind the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Trio {
    /// OpenAI's language model, Deepgram's ears, ElevenLabs' voice.
    Hosted,
    /// Ollama's language model, speaches' ears, Kokoro's voice.
    Local,
}

/// `ringback-bench api`.
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

/// `ringback-bench calls`.
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

/// `ringback-bench crashes`.
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

/// `ringback-bench turns`.
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

/// `ringback-bench overload`.
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

/// `ringback-bench dialer`.
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
