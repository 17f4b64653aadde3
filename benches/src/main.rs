//! `ringback-bench`: figures of a build. The service and the phones run as separate processes.

mod api;
mod calls;
mod claims;
mod cli;
mod connection;
mod crashes;
mod dialer;
mod figures;
mod hostile;
mod overload;
mod plot;
mod processes;
mod seeds;
mod site;
mod turns;

use std::process::ExitCode;

use clap::Parser;
use net::http_client;
use ringback::telemetry;

use cli::{Cli, Command};

/// The service's own allocator, for the service that `turns` runs in this process.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Reason why a measurement could not be made.
type BenchError = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let cli = Cli::parse();
    http_client::install_cryptography();
    telemetry::init_logs(cli.log_format, "warn");
    let outcome = cli
        .runtime()
        .map_err(BenchError::from)
        .and_then(|runtime| runtime.block_on(run(cli.command)));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("ringback-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a measurement; returns whether its requirements held.
async fn run(command: Command) -> Result<bool, BenchError> {
    match command {
        Command::Api(args) => api::run(args).await,
        Command::Calls(args) => calls::run(args).await,
        Command::Claims(args) => claims::run(args).await,
        Command::Crashes(args) => crashes::run(args).await,
        Command::Turns(args) => turns::run(args).await,
        Command::Dialer(args) => dialer::run(args).await,
        Command::Hostile(args) => hostile::run(args).await,
        Command::Overload(args) => overload::run(args).await,
    }
}
