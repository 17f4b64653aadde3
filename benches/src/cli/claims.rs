//! Arguments of `ringback-bench claims`.

use std::path::PathBuf;

use clap::Args;

use storage::DatabaseUrl;

/// Arguments of `ringback-bench claims`.
#[derive(Debug, Clone, Args)]
pub struct BenchClaimsArgs {
    /// An empty PostgreSQL database, as postgres://USER:PASSWORD@HOST/DATABASE; without it, a new SQLite file
    #[arg(long, env = "BENCH_DATABASE_URL", hide_env_values = true, value_parser = DatabaseUrl::parse)]
    pub database_url: Option<DatabaseUrl>,

    /// Nodes, each with its own connections and dial journal
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub nodes: u32,

    /// Contacts of the campaign
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pub contacts: u32,

    /// Permits that each node asks for concurrently
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub callers: u32,

    /// Also fail if the rate misses its target
    #[arg(long)]
    pub strict: bool,

    /// Also write the figures as JSON to this file
    #[arg(long)]
    pub json: Option<PathBuf>,
}
