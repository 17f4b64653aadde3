//! `ringback-bench dialer`: identical campaigns of very short calls through the whole path, from the CSV file to the
//! last outcome, and what the service holds before and after each; or, with `--controls`, how soon pause, stop and
//! opt-out hold while campaigns are dialed at full speed. The exchange's own log is the judge.

mod commands;
mod controls;
mod counts;
mod dials;
mod judge;
mod rounds;

use std::path::Path;

use serde_json::{Value, json};

use super::{
    BenchError,
    processes::{Process, ServiceSettings, create_account, free_address},
};
use crate::cli::BenchDialerArgs;
use ringback::api_client::ApiClient;

/// Milliseconds the phones ring: long enough for a ringing state, short enough to keep the dialer busy.
const PICK_UP_MS: u64 = 200;

/// Runs one of the two measurements. True when everything held that must.
pub async fn run(args: BenchDialerArgs) -> Result<bool, BenchError> {
    if args.controls {
        controls::run(&args).await
    } else {
        rounds::run(&args).await
    }
}

/// What a measurement came to.
struct Figures {
    table: String,
    json: Value,
    misses: Vec<String>,
}

/// The service and the phones, each a process of its own.
struct Bench {
    folder: tempfile::TempDir,
    log: std::path::PathBuf,
    settings: ServiceSettings,
    key: String,
    agent: String,
    service: Process,
    phones: Process,
}

impl Bench {
    /// Starts both. `calls_per_second` 0 is no limit.
    async fn start(lines: u32, calls_per_second: f64) -> Result<Self, BenchError> {
        let folder = tempfile::Builder::new().prefix("ringback-dialer-").tempdir()?;
        let log = folder.path().join("exchange.jsonl");
        let exchange = free_address()?;
        let phones = Process::quick_phones(exchange, &log, PICK_UP_MS).await?;
        let settings = ServiceSettings {
            listen: free_address()?,
            folder: folder.path().to_owned(),
            exchange,
            max_calls: lines,
            calls_per_second,
            fixed_pause_ms: None,
            workers: 2,
            core: None,
            environment: Vec::new(),
        };
        let key = create_account(&settings).await?;
        let service = Process::service(&settings).await?;
        let agent = ApiClient::new(settings.base_url(), key.clone())?
            .create_agent(agent())
            .await?;
        Ok(Self {
            folder,
            log,
            settings,
            key,
            agent,
            service,
            phones,
        })
    }

    /// Prints the figures, writes them where they are asked for, names each miss, and ends both processes. True without
    /// a miss. What they left is kept when it should be looked at.
    async fn report(self, json: Option<&Path>, figures: Figures) -> Result<bool, BenchError> {
        println!("\n{}", figures.table);
        if let Some(path) = json {
            std::fs::write(path, serde_json::to_vec_pretty(&figures.json)?)?;
        }
        for miss in &figures.misses {
            println!("MISSED: {miss}");
        }
        self.service.kill().await?;
        self.phones.kill().await?;
        let good = figures.misses.is_empty();
        if !good {
            println!("kept for inspection: {}", self.folder.keep().display());
        }
        Ok(good)
    }

    /// A client of its own, whose connections end with it.
    fn api(&self) -> Result<ApiClient, BenchError> {
        Ok(ApiClient::new(self.settings.base_url(), self.key.clone())?)
    }
}

/// An agent that greets, asks nothing and says goodbye.
fn agent() -> Value {
    json!({
        "name": "Dialer",
        "conversationConfig": { "agent": {
            "prompt": { "prompt": "Say goodbye." },
            "greetingMessage": "Hello."
        }, "turn": { "silenceEndCallTimeout": 8 } }
    })
}
