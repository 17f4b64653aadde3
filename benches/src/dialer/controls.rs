//! Pause, stop and opt-out at random moments of campaigns that together are dialed at 200 per second.

use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng, rngs::StdRng};

use super::{
    super::BenchError,
    Bench,
    commands::{Campaign, Commander},
    dials::Dials,
    judge::Report,
};
use crate::cli::BenchDialerArgs;
use ringback::api_client::ApiClient;

/// Dials per second of all campaigns together.
const DIALS_PER_SECOND: f64 = 200.0;

/// More than the rate can fill: a call is over after a tenth of a second.
const LINES: u32 = 1_000;

const CAMPAIGNS: usize = 8;

/// Pause between two commands, in milliseconds.
const PAUSE_MS: std::ops::Range<u64> = 50..350;

/// Time until the campaigns are dialed at full speed.
const RUN_UP: Duration = Duration::from_secs(2);

/// Runs the commands and judges.
pub async fn run(args: &BenchDialerArgs) -> Result<bool, BenchError> {
    let bench = Bench::start(LINES, DIALS_PER_SECOND).await?;
    let api = bench.site.api()?;
    let contacts = contacts(args.commands);
    println!("{CAMPAIGNS} campaigns of {contacts} contacts …");
    let mut commander = Commander {
        api: &api,
        campaigns: Vec::new(),
        commands: Vec::new(),
        unavailable: 0,
    };
    let began = Instant::now();
    for number in 0..CAMPAIGNS {
        commander.campaigns.push(launch(&bench, &api, number, contacts).await?);
    }
    tokio::time::sleep(RUN_UP).await;
    println!("{} commands …", args.commands);
    let mut rng = StdRng::seed_from_u64(args.seed);
    for _ in 0..args.commands {
        tokio::time::sleep(Duration::from_millis(rng.random_range(PAUSE_MS))).await;
        commander.resume().await?;
        commander.next(&mut rng).await?;
    }
    commander.settle().await;
    let seconds = began.elapsed().as_secs_f64();
    let dials = Dials::since(&bench.site.log, domain::time::Timestamp(0))?;
    let report = Report::new(&commander, &dials, seconds);
    bench
        .report(args.json.as_deref(), &report.table(), report.json(), &report.misses())
        .await
}

/// Returns enough contacts for one campaign to take a third of all dials from the first command to the last.
fn contacts(commands: u32) -> u32 {
    let seconds = commands / 5 + 30;
    (f64::from(seconds) * DIALS_PER_SECOND / 3.0).ceil() as u32
}

async fn launch(bench: &Bench, api: &ApiClient, number: usize, contacts: u32) -> Result<Campaign, BenchError> {
    let numbers: Vec<String> = (0..contacts).map(|n| format!("+1555{number:01}{n:06}")).collect();
    let mut csv = String::from("phone,persona\n");
    for number in &numbers {
        csv.push_str(number);
        csv.push_str(",busy\n");
    }
    let name = format!("Commanded {number}");
    let launched = api.launch_csv(&name, &bench.agent, csv.into_bytes()).await?;
    Ok(Campaign::launched(launched.campaign, numbers))
}
