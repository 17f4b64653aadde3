//! `ringback-bench hostile`: the cost of thousands of idle sockets, and the effect of one hostile socket of
//! each kind on the service's memory and on concurrent calls.

mod idle;
mod media;
mod neighbourhood;
mod requests;

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;

use self::neighbourhood::{Neighbourhood, Talk};
use super::{
    BenchError,
    figures::{Figure, table, write_json},
};
use crate::cli::BenchHostileArgs;

/// Most memory of an idle socket, in KiB.
const IDLE_KIB: f64 = 10.0;
/// Most memory that one hostile socket may make the service take, in MiB.
const ATTACK_MIB: f64 = 2.0;
/// Largest delay of other responses compared with calls without hostile sockets, in ms at the 95th percentile.
const LATER_MS: f64 = 10.0;
/// A figure above this multiple of its target is missed by far.
const BY_FAR: f64 = 2.0;
/// … and a latency above this many ms.
const LATER_BY_FAR_MS: f64 = 100.0;

/// Phones whose frames are later than this at the 99th percentile distort the latencies.
const PHONES_LATE_MS: usize = 5;

/// Runs the measurement. Returns `true` if nothing was missed by far and every call ended as it should; with
/// `--strict`, if nothing was missed.
pub async fn run(args: BenchHostileArgs) -> Result<bool, BenchError> {
    let sockets = within_limits(args.sockets);
    let mut figures = Vec::new();
    for (kind, kib) in idle::measure(sockets).await? {
        // The HTTP library's memory for a connection that was answered cannot be reduced here.
        let by_far = if kind == idle::SILENT {
            IDLE_KIB
        } else {
            BY_FAR * IDLE_KIB
        };
        let name = format!("{sockets} idle sockets, {kind}: each");
        figures.push(Figure::new(name, kib, "KiB", 2).at_most(IDLE_KIB).by_far(by_far));
    }
    let lasts = requests::ALL.len() + media::ALL.len();
    let seconds = u32::try_from(lasts)?.saturating_mul(args.seconds + 2);
    let mut talks = Vec::new();
    if !args.no_comparison {
        println!("{} calls by themselves …", args.calls);
        let alone = Neighbourhood::start(args.calls, seconds).await?;
        tokio::time::sleep(Duration::from_secs(seconds.into())).await;
        talks.push(("alone", alone.end().await?));
    }
    println!("the same calls beside hostile sockets …");
    let beside = Neighbourhood::start(args.calls, seconds).await?;
    talks.push(("beside them", attacked(beside, &args, &mut figures).await?));
    figures.push(later(&talks, args.calls));
    let json: Value = figures.iter().map(Figure::json).collect();
    write_json(args.json.as_deref(), &json)?;
    let held = figures.iter().all(|figure| match args.strict {
        true => figure.met(),
        false => !figure.is_far_off(),
    });
    println!("\n{}", table(std::iter::once("hostile sockets".into()), &[figures]));
    for (when, talk) in &talks {
        println!("{when}: {talk}");
    }
    Ok(held && talks.iter().all(|(_, talk)| talk.is_whole()))
}

/// Runs each attack, one after the other, and records its effect on memory and on the calls meanwhile.
async fn attacked(
    mut beside: Neighbourhood,
    args: &BenchHostileArgs,
    figures: &mut Vec<Figure>,
) -> Result<Talk, BenchError> {
    let each = Duration::from_secs(args.seconds.into());
    let mut of_attack = |name: &str, mib: f64| {
        let figure = Figure::new(format!("{name}: memory"), mib, "MiB", 2);
        figures.push(figure.at_most(ATTACK_MIB).by_far(BY_FAR * ATTACK_MIB));
    };
    for attack in requests::ALL {
        let mib = beside.growth(requests::run(attack, &beside, each)).await?;
        of_attack(attack.name(), mib);
    }
    for attack in media::ALL {
        let line = beside.hostile_call().await?;
        let mib = beside.growth(media::run(attack, &line, each)).await?;
        of_attack(attack.name(), mib);
    }
    beside.end().await
}

/// Returns how much later the calls were answered beside hostile sockets, or how late if there is nothing to compare.
fn later(talks: &[(&str, Talk)], calls: u32) -> Figure {
    let is_quiet = talks.iter().all(|(_, talk)| talk.phones_late_ms() <= PHONES_LATE_MS);
    if !is_quiet {
        println!("the phones themselves were late because the machine was busy; latency is not judged");
    }
    let p95_ms = |at: usize| talks[at].1.p95_ms;
    let (name, ms) = match talks.len() {
        1 => (format!("{calls} calls answer, p95 beyond the pause"), p95_ms(0)),
        _ => (format!("{calls} calls answer later, p95"), p95_ms(1) - p95_ms(0)),
    };
    let figure = Figure::new(name, ms, "ms", 2).at_most(is_quiet.then_some(LATER_MS));
    figure.by_far(LATER_BY_FAR_MS)
}

/// Returns as many sockets as this process and the service, which inherits its limit, may open.
fn within_limits(wanted: u32) -> u32 {
    /// Files besides the sockets.
    const OTHERS: u64 = 512;
    let limit = getrlimit(Resource::Nofile);
    let needed = u64::from(wanted) + OTHERS;
    if limit.current.is_none_or(|current| current >= needed) {
        return wanted;
    }
    let raised = Rlimit {
        current: Some(limit.maximum.map_or(needed, |most| most.min(needed))),
        maximum: limit.maximum,
    };
    let allowed = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => raised.current,
        Err(_) => limit.current,
    };
    let sockets = allowed.map_or(wanted, |allowed| {
        u32::try_from(allowed.saturating_sub(OTHERS))
            .unwrap_or(u32::MAX)
            .min(wanted)
    });
    if sockets < wanted {
        println!(
            "only {sockets} idle sockets instead of {wanted}: this machine allows no more open files (ulimit -Hn)"
        );
    }
    sockets
}
