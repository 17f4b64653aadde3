//! `ringback-bench calls`: N phones in a separate process talk with the service on one core. Measures cores,
//! memory and latency per call, and checks every word of every transcript against what the phones said and heard.

pub(super) mod class;
mod dashboards;
mod delays;
pub(super) mod judge;
mod listeners;
mod providers;
mod recordings;
mod report;
pub(super) mod round;

use self::round::{Clients, Round};
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
    let mut beside = vec![Clients::default()];
    let clients = Clients::of(&args);
    if clients.any() {
        stay_on(round::client_core()).await?;
        beside.push(clients);
    }
    for calls in &args.calls {
        for clients in &beside {
            println!("{} …", clients.beside(*calls));
            rounds.push(round::run(*calls, *clients, &args).await?);
        }
    }
    let mut figures: Vec<_> = rounds.iter().map(report::figures).collect();
    let runs = rounds.iter().map(Round::name);
    println!("\n{}{}", table(runs, &figures), report::late_phones(&rounds));
    let moved = report::moved(&rounds);
    if !moved.is_empty() {
        let runs = rounds.iter().filter(|round| round.clients.any()).map(Round::name);
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
