//! `ringback-bench dialer`: identical campaigns of very short calls through the whole path, from the CSV file
//! to the last outcome, and what the service holds before and after each. With `--controls`: how soon pause,
//! stop and opt-out take effect while campaigns are dialed at full speed. The exchange's own log is the judge.

mod commands;
mod controls;
mod counts;
mod dials;
mod judge;
mod rounds;

use std::path::Path;

use serde_json::{Value, json};

use super::{BenchError, figures::write_json, processes::Process, site::Site};
use crate::cli::BenchDialerArgs;

/// Ringing time of the phones: long enough for a ringing state, short enough to keep the dialer busy.
const PICK_UP: [&str; 2] = ["--pick-up-ms", "200"];

/// Runs one of the two measurements. Returns `true` if every requirement held.
pub async fn run(args: BenchDialerArgs) -> Result<bool, BenchError> {
    if args.controls {
        controls::run(&args).await
    } else {
        rounds::run(&args).await
    }
}

/// The service and the phones, each in its own process.
struct Bench {
    site: Site,
    agent: String,
    service: Process,
}

impl Bench {
    /// Starts both. A `calls_per_second` of 0 means no limit.
    async fn start(lines: u32, calls_per_second: f64) -> Result<Self, BenchError> {
        let mut site = Site::open(&PICK_UP, None).await?;
        site.settings.max_calls = lines;
        site.settings.calls_per_second = calls_per_second;
        site.settings.workers = 2;
        let (service, api) = site.serve().await?;
        let agent = api.create_agent(agent()).await?;
        Ok(Self { site, agent, service })
    }

    /// Prints the figures, writes them to `file` if it is given, prints each miss, and ends both processes.
    /// Returns `true` without a miss. After a miss the files are kept for inspection.
    async fn report(
        self,
        file: Option<&Path>,
        table: &str,
        mut json: Value,
        misses: &[String],
    ) -> Result<bool, BenchError> {
        println!("\n{table}");
        json["misses"] = misses.into();
        write_json(file, &json)?;
        for miss in misses {
            println!("MISSED: {miss}");
        }
        self.service.kill().await?;
        if !misses.is_empty() {
            self.site.keep();
        }
        Ok(misses.is_empty())
    }
}

/// Returns an agent that greets, asks nothing and says goodbye.
fn agent() -> Value {
    json!({
        "name": "Dialer",
        "conversationConfig": { "agent": {
            "prompt": { "prompt": "Say goodbye.", "builtInTools": { "endCall": { "enabled": true } } },
            "greetingMessage": "Hello."
        }, "turn": { "silenceEndCallTimeout": 8 } }
    })
}
