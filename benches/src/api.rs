//! `ringback-bench api`: import, lists and reads of a large account, start and memory, each against its
//! target. The service is a separate process on a database that is seeded through the storage layer.

mod import;
mod reads;
mod seed;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    BenchError,
    figures::{Figure, table, write_json},
    processes::{ACCOUNT_EMAIL, Process, ServiceSettings},
    site::Site,
};
use crate::cli::BenchApiArgs;

/// Results of the measurement.
#[derive(Default)]
struct Report {
    figures: Vec<Figure>,
    /// Wrong responses: none are allowed.
    faults: Vec<String>,
}

impl Report {
    fn fault(&mut self, text: impl Into<String>) {
        self.faults.push(text.into());
    }

    fn at_least(&mut self, name: impl Into<String>, value: f64, unit: &'static str, target: f64) {
        self.add(Figure::new(name, value, unit, 1).at_least(target));
    }

    fn at_most(&mut self, name: impl Into<String>, value: f64, unit: &'static str, target: f64) {
        self.add(Figure::new(name, value, unit, 1).at_most(target));
    }

    /// Prints the figure at once, since the whole measurement takes long.
    fn add(&mut self, figure: Figure) {
        println!("{}", figure.line());
        self.figures.push(figure);
    }

    /// Prints the report and writes it to a file. Returns `true` if every response was right and, with
    /// `--strict`, every figure met its target.
    fn end(self, args: &BenchApiArgs) -> Result<bool, BenchError> {
        let (Self { figures, faults }, right) = (&self, self.faults.is_empty());
        let json: Vec<Value> = figures.iter().map(Figure::json).collect();
        write_json(args.json.as_deref(), &json!({ "figures": json, "faults": faults }))?;
        let met = figures.iter().all(Figure::met);
        println!("\n{}", table(std::iter::once("api".into()), &[self.figures]));
        for fault in &self.faults {
            println!("WRONG: {fault}");
        }
        Ok(right && (met || !args.strict))
    }
}

/// Runs the measurement. Returns `true` if every response was right and, with `--strict`, every figure met its target.
pub async fn run(args: BenchApiArgs) -> Result<bool, BenchError> {
    let mut site = Site::open(&[], None).await?;
    site.settings.workers = 2;
    let mut report = Report::default();
    println!(
        "seeding {} conversations and {} left-over rows …",
        args.conversations, args.rows
    );
    let seeded = seed::fill(&mut site, &args).await?;

    let settings = &site.settings;
    let (service, start) = Process::timed_service(settings).await?;
    if args.keep.is_some() {
        until_idle(&service).await?;
        service.kill().await?;
        let database = settings.database_url();
        println!(
            "kept {database}, of the account {ACCOUNT_EMAIL} with the key {}",
            site.key
        );
        return Ok(true);
    }
    match args.previous {
        Some(_) => report.at_most("start on the previous version's database", ms(start), "ms", 10_000.0),
        None => report.at_most("start to the first healthy answer", ms(start), "ms", 300.0),
    }
    let service = restarted_idle(service, settings, &mut report).await?;
    println!("reading …");
    reads::lists(&site, &seeded, &mut report).await?;
    reads::records(&site, &seeded, &mut report).await?;
    reads::agent(&site, &seeded.agents[0].to_string(), args.seconds, &mut report).await?;
    println!("importing {} rows …", args.rows);
    import::measure(&site, &service, &args, &mut report).await?;
    service.kill().await?;
    seed::permit_waits(settings, &mut report).await?;
    report.end(&args)
}

/// Half-seconds without work after which the service counts as idle.
const QUIET_WINDOWS: u32 = 20;

/// Waits until the background work after the start has ended, restarts on the large database, and measures the idle
/// memory.
async fn restarted_idle(
    service: Process,
    settings: &ServiceSettings,
    report: &mut Report,
) -> Result<Process, BenchError> {
    let worked = until_idle(&service).await?;
    report.at_most(
        "work in the background after it",
        worked.as_secs_f64(),
        "s",
        f64::INFINITY,
    );
    service.kill().await?;
    let (service, start) = Process::timed_service(settings).await?;
    report.at_most("start on the prepared database", ms(start), "ms", 300.0);
    tokio::time::sleep(Duration::from_secs(1)).await;
    report.at_most("idle memory", service.resident_mib()?, "MiB", 30.0);
    Ok(service)
}

/// Waits until the background work after the start has ended; returns how long it took.
async fn until_idle(service: &Process) -> Result<Duration, BenchError> {
    let began = Instant::now();
    let mut before = service.cpu_seconds()?;
    let mut quiet = 0;
    while quiet < QUIET_WINDOWS {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = service.cpu_seconds()?;
        quiet = if now - before < 0.05 { quiet + 1 } else { 0 };
        before = now;
    }
    Ok(began
        .elapsed()
        .saturating_sub(Duration::from_millis(500) * QUIET_WINDOWS))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
