//! `ringback-bench hostile`: what thousands of idle sockets cost, and what one hostile socket of each kind does to the
//! service's memory and to calls that talk meanwhile.

mod idle;
mod media;
mod neighbourhood;
mod requests;

use comfy_table::{Table, presets::UTF8_BORDERS_ONLY};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use self::neighbourhood::{Neighbourhood, Talk};
use super::BenchError;
use crate::cli::BenchHostileArgs;

/// Most memory of an idle socket, in KiB.
const IDLE_KIB: f64 = 10.0;
/// Most memory that one hostile socket may bring the service to take, in MiB.
const ATTACK_MIB: f64 = 2.0;
/// How much later than without hostile sockets others may be answered, in ms at the 95th percentile.
const LATER_MS: f64 = 10.0;
/// A figure above so many times its target is missed by far.
const BY_FAR: f64 = 2.0;
/// … and a latency above so many ms.
const LATER_BY_FAR_MS: f64 = 100.0;

/// Phones whose frames are later than this at the 99th percentile spoil the latencies.
const PHONES_LATE_MS: usize = 5;

/// A figure and the most it may be.
struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    target: f64,
    by_far: f64,
}

impl Figure {
    fn met(&self) -> bool {
        self.value <= self.target
    }

    fn verdict(&self) -> &'static str {
        match () {
            () if self.met() => "met",
            () if self.value <= self.by_far => "missed",
            () => "missed by far",
        }
    }

    fn json(&self) -> Value {
        json!({ "name": self.name, "value": self.value, "unit": self.unit, "target": self.target,
            "verdict": self.verdict() })
    }
}

/// Runs the measurement. True when nothing was missed by far and every call ended as it should; with `--strict`, when
/// nothing was missed.
pub async fn run(args: BenchHostileArgs) -> Result<bool, BenchError> {
    let sockets = within_limits(args.sockets);
    let mut figures = Vec::new();
    for (kind, kib) in idle::measure(sockets).await? {
        figures.push(Figure {
            name: format!("{sockets} idle sockets, {kind}: each"),
            value: kib,
            unit: "KiB",
            target: IDLE_KIB,
            // What HTTP keeps for a connection that was answered is not ours to shrink.
            by_far: if kind == idle::SILENT {
                IDLE_KIB
            } else {
                BY_FAR * IDLE_KIB
            },
        });
    }
    let lasts = requests::ALL.len() + media::ALL.len();
    let seconds = u32::try_from(lasts)
        .unwrap_or(u32::MAX)
        .saturating_mul(args.seconds + 2);
    let before = match args.no_comparison {
        true => None,
        false => {
            println!("{} calls by themselves …", args.calls);
            let alone = Neighbourhood::start(args.calls, seconds).await?;
            tokio::time::sleep(std::time::Duration::from_secs(seconds.into())).await;
            Some(alone.end().await?)
        }
    };
    println!("the same calls beside hostile sockets …");
    let mut beside = Neighbourhood::start(args.calls, seconds).await?;
    let each = std::time::Duration::from_secs(args.seconds.into());
    for attack in requests::ALL {
        let mib = beside.growth(requests::run(attack, beside.target(), each)).await?;
        figures.push(of_attack(attack.name(), mib));
    }
    for attack in media::ALL {
        let line = beside.hostile_call().await?;
        let mib = beside.growth(media::run(attack, &line, each)).await?;
        figures.push(of_attack(attack.name(), mib));
    }
    let after = beside.end().await?;
    let compared = before.as_ref().map_or(0.0, |before| before.p95_ms);
    let is_quiet = before
        .iter()
        .chain([&after])
        .all(|talk| talk.phones_late_ms() <= PHONES_LATE_MS);
    if !is_quiet {
        println!("the phones themselves were late: the machine had other things to do, and latency is not judged");
    }
    figures.push(Figure {
        name: match before.is_some() {
            true => format!("{} calls answer later, p95", args.calls),
            false => format!("{} calls answer, p95 beyond the pause", args.calls),
        },
        value: after.p95_ms - compared,
        unit: "ms",
        target: if is_quiet { LATER_MS } else { f64::INFINITY },
        by_far: LATER_BY_FAR_MS.max(if is_quiet { 0.0 } else { f64::INFINITY }),
    });
    println!("\n{}", table(&figures));
    for (when, talk) in before
        .iter()
        .map(|talk| ("alone", talk))
        .chain([("beside them", &after)])
    {
        println!("{when}: {talk}");
    }
    if let Some(path) = &args.json {
        let figures: Vec<Value> = figures.iter().map(Figure::json).collect();
        std::fs::write(path, serde_json::to_vec_pretty(&figures)?)?;
    }
    let talked = before.iter().chain([&after]).all(Talk::is_whole);
    let held = figures.iter().all(|figure| match args.strict {
        true => figure.met(),
        false => figure.value <= figure.by_far,
    });
    Ok(talked && held)
}

fn of_attack(name: &str, mib: f64) -> Figure {
    Figure {
        name: format!("{name}: memory"),
        value: mib,
        unit: "MiB",
        target: ATTACK_MIB,
        by_far: BY_FAR * ATTACK_MIB,
    }
}

fn table(figures: &[Figure]) -> Table {
    let mut table = Table::new();
    table
        .load_style(UTF8_BORDERS_ONLY)
        .set_header(["hostile sockets", "value", "target", ""]);
    for figure in figures {
        let value = format!("{:.2} {}", figure.value, figure.unit);
        let target = format!("{} {}", figure.target, figure.unit);
        table.add_row([figure.name.clone(), value, target, figure.verdict().to_owned()]);
    }
    table
}

/// As many sockets as this process and the service, which inherits its limit, may open.
fn within_limits(wanted: u32) -> u32 {
    /// Files beside the sockets.
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
