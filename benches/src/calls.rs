//! `ringback-bench calls`: N phones in a process of their own talk with the service on one core. Cores, memory and
//! latency per call; every word of every transcript is checked against what the phones said and heard.

pub(super) mod class;
mod delays;
pub(super) mod judge;
mod providers;
mod recordings;
mod report;
pub(super) mod round;

use self::round::Round;
use super::{
    BenchError,
    figures::{Figure, table, write_json},
};
use crate::cli::BenchCallsArgs;

/// The pause that ends a turn in this bench, in milliseconds: the one peers were measured with.
pub(super) const PAUSE_MS: u64 = 200;

/// Runs the measurement. True when no transcript was wrong and no playout gap too long, and with `--strict` when every
/// figure met its target.
pub async fn run(args: BenchCallsArgs) -> Result<bool, BenchError> {
    let mut rounds = Vec::new();
    for calls in &args.calls {
        println!("{calls} calls …");
        rounds.push(round::run(*calls, &args).await?);
    }
    let figures: Vec<_> = rounds.iter().map(report::figures).collect();
    let runs = rounds.iter().map(|round| format!("{} calls", round.calls));
    println!("\n{}{}", table(runs, &figures), report::late_phones(&rounds));
    write_json(args.json.as_deref(), &report::as_json(&rounds))?;
    if let Some(file) = &args.plot {
        report::plot(&rounds, file)?;
    }
    let good = rounds.iter().all(Round::good);
    Ok(good && (!args.strict || figures.iter().flatten().all(Figure::met)))
}
