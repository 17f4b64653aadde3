//! `ringback-bench api`: import, lists and reads of a large account, start and memory, each against its target. The
//! service is a process of its own on a database that is seeded through the storage layer.

mod import;
mod reads;
mod seed;

use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};

use super::{
    BenchError,
    processes::{Process, ServiceSettings, create_account, free_address},
};
use crate::cli::BenchApiArgs;
use ringback::api_client::ApiClient;

/// One measured figure.
struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    /// At least, or at most.
    at_least: bool,
    target: f64,
}

impl Figure {
    fn at_least(name: impl Into<String>, value: f64, unit: &'static str, target: f64) -> Self {
        let name = name.into();
        Self {
            name,
            value,
            unit,
            at_least: true,
            target,
        }
    }

    fn at_most(name: impl Into<String>, value: f64, unit: &'static str, target: f64) -> Self {
        Self {
            at_least: false,
            ..Self::at_least(name, value, unit, target)
        }
    }

    fn met(&self) -> bool {
        if self.at_least {
            self.value >= self.target
        } else {
            self.value <= self.target
        }
    }
}

/// What was found.
#[derive(Default)]
struct Report {
    figures: Vec<Figure>,
    /// Answers that were wrong: none may be.
    faults: Vec<String>,
}

impl Report {
    fn fault(&mut self, text: impl Into<String>) {
        self.faults.push(text.into());
    }

    fn table(&self) -> String {
        let mut text = String::new();
        for figure in &self.figures {
            let (sign, mark) = (
                if figure.at_least { "≥" } else { "≤" },
                if figure.met() { "" } else { "   missed" },
            );
            let _ = writeln!(
                text,
                "{:<44} {:>12.1} {:<7} {sign} {}{mark}",
                figure.name, figure.value, figure.unit, figure.target
            );
        }
        for fault in &self.faults {
            let _ = writeln!(text, "WRONG: {fault}");
        }
        text
    }

    fn json(&self) -> Value {
        let figures = self.figures.iter().map(|figure| {
            json!({ "name": figure.name, "value": figure.value, "unit": figure.unit, "target": figure.target,
                "met": figure.met() })
        });
        json!({ "figures": figures.collect::<Vec<_>>(), "faults": self.faults })
    }
}

/// Runs the measurement. True when every answer was right, and with `--strict` every figure met its target.
pub async fn run(args: BenchApiArgs) -> Result<bool, BenchError> {
    let folder = tempfile::Builder::new().prefix("ringback-bench-api-").tempdir()?;
    let exchange = free_address()?;
    let _phones = Process::phones(exchange, &folder.path().join("exchange.jsonl"), None, None).await?;
    let settings = ServiceSettings {
        listen: free_address()?,
        folder: folder.path().to_owned(),
        exchange,
        max_calls: 20,
        calls_per_second: 20.0,
        fixed_pause_ms: None,
        workers: 2,
        core: None,
        environment: Vec::new(),
    };
    let mut report = Report::default();
    let key = create_account(&settings).await?;
    println!(
        "seeding {} conversations and {} left-over rows …",
        args.conversations, args.rows
    );
    let seeded = seed::fill(&settings, &key, &args).await?;

    let (service, start) = Process::timed_service(&settings).await?;
    report.figures.push(Figure::at_most(
        "start to the first healthy answer",
        ms(start),
        "ms",
        300.0,
    ));
    let service = restarted_idle(service, &settings, &mut report).await?;
    let api = ApiClient::new(settings.base_url(), key.clone())?;
    let target = reads::Target {
        address: settings.listen,
        key: key.clone(),
    };
    println!("reading …");
    reads::lists(&target, &seeded, &mut report).await?;
    reads::agent(&target, &seeded.agents[0].to_string(), args.seconds, &mut report).await?;
    println!("importing {} rows …", args.rows);
    import::measure(&api, &target, &service, &args, &mut report).await?;
    service.kill().await?;
    seed::permit_waits(&settings, &mut report).await?;

    println!("\n{}", report.table());
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&report.json())?)?;
    }
    let met = report.figures.iter().all(Figure::met);
    Ok(report.faults.is_empty() && (met || !args.strict))
}

/// Lets the sweep behind the start end, then starts once more on the large database and looks at the idle memory.
async fn restarted_idle(
    service: Process,
    settings: &ServiceSettings,
    report: &mut Report,
) -> Result<Process, BenchError> {
    let mut before = service.cpu_seconds()?;
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = service.cpu_seconds()?;
        if now - before < 0.05 {
            break;
        }
        before = now;
    }
    service.kill().await?;
    let (service, start) = Process::timed_service(settings).await?;
    report
        .figures
        .push(Figure::at_most("start on the swept database", ms(start), "ms", 300.0));
    tokio::time::sleep(Duration::from_secs(1)).await;
    report
        .figures
        .push(Figure::at_most("idle memory", service.resident_mib()?, "MiB", 30.0));
    Ok(service)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
