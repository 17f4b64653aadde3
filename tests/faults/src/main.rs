//! Breaks running nodes by a seed, and judges from outside what happened to their calls: `tests/faults/run --help`.

mod api;
mod caller;
mod campaigns;
mod chance;
mod commits;
mod deaths;
mod evidence;
mod front;
mod http;
mod journal;
mod judge;
mod keeper;
mod node;
mod operator;
mod operators;
mod postgres;
mod promotion;
mod proxy;
mod report;
mod rolling;
mod rules;
mod run;
mod schedule;
mod trace;
mod traffic;
mod world;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

#[derive(Debug, Parser)]
#[command(name = "faults", about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Break nodes by a seeded schedule, and judge
    Run(run::RunArgs),
    /// Kill a node at every one of its fsyncs (on PostgreSQL: commits), and judge
    Deaths(deaths::DeathsArgs),
    /// Take calls over, lose the operators in every way, and measure the silence at the phone
    Operators(operators::OperatorsArgs),
    /// Kill the database and promote a standby that lacks the last commits
    Promotion(promotion::PromotionArgs),
    /// Replace every node by a new process under load, one after the other, and judge
    Rolling(rolling::RollingArgs),
    /// Kill a process at one of its fsyncs
    #[command(hide = true)]
    Trace(trace::TraceArgs),
    /// Play carrier and receiver of webhooks
    #[command(hide = true)]
    Judge(judge::JudgeArgs),
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(args) => until_told(run::run(args)).await,
        Command::Deaths(args) => until_told(deaths::run(args)).await,
        Command::Operators(args) => until_told(operators::run(args)).await,
        Command::Promotion(args) => until_told(promotion::run(args)).await,
        Command::Rolling(args) => until_told(rolling::run(args)).await,
        Command::Trace(args) => trace::trace(&args),
        Command::Judge(args) => judge::serve(args).await.map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Ends the work and everything it started when this process gets a stop signal.
async fn until_told(work: impl Future<Output = std::io::Result<bool>>) -> std::io::Result<bool> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        done = work => done,
        _ = tokio::signal::ctrl_c() => Err(std::io::Error::other("interrupted")),
        _ = terminate.recv() => Err(std::io::Error::other("terminated")),
    }
}
