//! The import of a large CSV file, with a campaign that dials, pauses and opt-outs beside it.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{Report, ms};
use crate::cli::BenchApiArgs;
use crate::{BenchError, connection::Connection, processes::Process, site::Site};
use sim::samples::Samples;

/// Contacts of the campaign that dials meanwhile.
const DIALED: u32 = 2_000;
/// Pause between two commands (pauses or opt-outs).
const BREATH: Duration = Duration::from_millis(50);

/// Imports the file while others write. The rate counts from the first byte sent to the last one received.
pub async fn measure(
    site: &Site,
    service: &Process,
    args: &BenchApiArgs,
    report: &mut Report,
) -> Result<(), BenchError> {
    let api = site.api()?;
    let agent = json!({ "name": "Importer", "conversationConfig": { "agent": {
        "prompt": { "prompt": "Ask for {{city}}." }, "greetingMessage": "Hello." } } });
    let agent = api.create_agent(agent).await?;
    let file = csv(args.rows)?;
    let idle = service.resident_mib()?;
    service.forget_peak()?;
    let began = Instant::now();
    let contacts = api.import_csv("Bench import", &agent, file.clone()).await?;
    let alone = began.elapsed();
    let grown = service.peak_mib()? - idle;
    if contacts != u64::from(args.rows) {
        report.fault(format!("{contacts} of {} contacts came back", args.rows));
    }
    report.at_least("CSV import over HTTP", rate(args.rows, alone), "rows/s", 50_000.0);
    report.at_most("memory above idle during it", grown, "MiB", 64.0);

    let dialing = api.launch_csv("Dialed meanwhile", &agent, dialed()?).await?.campaign;
    let importing = {
        let (api, agent) = (api.clone(), agent.clone());
        tokio::spawn(async move { api.import_csv("Bench import, disturbed", &agent, file).await })
    };
    let began = Instant::now();
    let mut connection = Connection::open(site.settings.listen).await?;
    let (mut pauses, mut opt_outs) = (Samples::default(), Samples::default());
    let mut n = 0_u32;
    while !importing.is_finished() {
        let command = ["pause", "launch"][usize::from(n % 2 == 1)];
        let asked = Instant::now();
        api.post(&format!("/public/v1/campaigns/{dialing}/{command}"), json!({}))
            .await?;
        pauses.push(ms(asked.elapsed()));
        let body = json!({ "phoneNumber": format!("+1557{n:07}") }).to_string();
        let asked = Instant::now();
        let answer = connection.post("/public/v1/do-not-call", &site.key, &body).await?;
        opt_outs.push(ms(asked.elapsed()));
        if !matches!(answer.status, 200 | 201) && report.faults.is_empty() {
            report.fault(format!("an opt-out was answered with {}", answer.status));
        }
        n += 1;
        tokio::time::sleep(BREATH).await;
    }
    importing.await??;
    let disturbed = rate(args.rows, began.elapsed());
    report.at_least("… with dials, pauses, opt-outs", disturbed, "rows/s", 0.0);
    for (name, samples) in [
        ("pause or launch during it, p99", pauses),
        ("opt-out during it, p99", opt_outs),
    ] {
        let p99 = samples.percentile(0.99).unwrap_or_default();
        report.at_most(name, p99, "ms", 500.0);
    }
    Ok(())
}

fn rate(rows: u32, time: Duration) -> f64 {
    f64::from(rows) / time.as_secs_f64()
}

fn csv(rows: u32) -> Result<Vec<u8>, std::fmt::Error> {
    let mut text = String::from("phone,name,city\n");
    for n in 0..rows {
        writeln!(text, "+1558{n:07},Contact {n},City {}", n % 1_000)?;
    }
    Ok(text.into_bytes())
}

fn dialed() -> Result<Vec<u8>, std::fmt::Error> {
    let mut text = String::from("phone,name,persona\n");
    for n in 0..DIALED {
        writeln!(text, "+1559{n:07},Contact {n},busy")?;
    }
    Ok(text.into_bytes())
}
