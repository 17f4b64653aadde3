//! `ringback bench`: figures of this build, with the service and the phones as processes of their own.

mod api;
mod calls;
mod claims;
mod connection;
mod crashes;
mod dialer;
mod hostile;
mod overload;
mod plot;
mod processes;
mod seeds;
mod turns;

use std::process::ExitCode;

use crate::cli::BenchCommand;

/// Why a measurement could not be made.
type BenchError = Box<dyn std::error::Error + Send + Sync>;

/// Runs a measurement. The exit code is 0 only if what must hold held.
///
/// # Errors
///
/// When a process does not start or stops answering.
pub async fn run(command: BenchCommand) -> Result<ExitCode, BenchError> {
    let good = match command {
        BenchCommand::Api(args) => api::run(args).await?,
        BenchCommand::Calls(args) => calls::run(args).await?,
        BenchCommand::Claims(args) => claims::run(args).await?,
        BenchCommand::Crashes(args) => crashes::run(args).await?,
        BenchCommand::Turns(args) => turns::run(args).await?,
        BenchCommand::Dialer(args) => dialer::run(args).await?,
        BenchCommand::Hostile(args) => hostile::run(args).await?,
        BenchCommand::Overload(args) => overload::run(args).await?,
    };
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
