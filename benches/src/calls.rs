//! `ringback-bench calls`: N phones in a separate process talk with the service on one core. Measures cores,
//! memory and latency per call, and checks every word of every transcript against what the phones said and heard.

pub(super) mod class;
mod dashboards;
mod delays;
mod graph;
pub(super) mod judge;
mod listeners;
mod providers;
mod recordings;
mod report;
pub(super) mod round;

use self::round::{Extra, Round};
use super::{
    BenchError,
    figures::{Figure, table, write_json},
    processes::stay_on,
};
use crate::cli::BenchCallsArgs;

/// Pause that ends a turn in this bench, in milliseconds: the same as in the measurements of peers.
pub(super) const PAUSE_MS: u64 = 200;

/// Runs the measurement. Returns `true` if no transcript was wrong, no playout gap too long and, with
/// `--strict`, every figure met its target.
pub async fn run(args: BenchCallsArgs) -> Result<bool, BenchError> {
    let mut rounds = Vec::new();
    let mut extras = vec![Extra::default()];
    let extra = Extra::of(&args);
    if extra.any() {
        stay_on(round::client_core()).await?;
        extras.push(extra);
    }
    for calls in &args.calls {
        for extra in &extras {
            println!("{} …", extra.name(*calls));
            rounds.push(round::run(*calls, *extra, &args).await?);
        }
    }
    let mut figures: Vec<_> = rounds.iter().map(report::figures).collect();
    let runs = rounds.iter().map(Round::name);
    println!("\n{}{}", table(runs, &figures), report::late_phones(&rounds));
    let moved = report::moved(&rounds);
    if !moved.is_empty() {
        let runs = rounds.iter().filter(|round| round.extra.any()).map(Round::name);
        println!("\n{}", table(runs, &moved));
        figures.extend(moved);
    }
    write_json(args.json.as_deref(), &report::as_json(&rounds))?;
    if let Some(file) = &args.plot {
        report::plot(&rounds, file)?;
    }
    let good = rounds.iter().all(Round::good);
    Ok(good && (!args.strict || figures.iter().flatten().all(Figure::met)))
}
