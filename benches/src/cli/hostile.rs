//! Arguments of `ringback-bench hostile`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `ringback-bench hostile`.
#[derive(Debug, Clone, Args)]
pub struct BenchHostileArgs {
    /// Idle sockets of each kind
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=100_000))]
    pub sockets: u32,

    /// Calls that talk beside the hostile sockets
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub calls: u32,

    /// Seconds that each hostile socket lasts, unless it is closed before
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub seconds: u32,

    /// Skip the calls without hostile sockets that the latency is compared with
    #[arg(long)]
    pub no_comparison: bool,

    /// Fail on every miss, not only if a target is missed by far
    #[arg(long)]
    pub strict: bool,

    /// Also write the figures as JSON to this file
    #[arg(long)]
    pub json: Option<PathBuf>,
}
