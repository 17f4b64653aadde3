//! `ringback-bench turns`: the suite of scripted conversations in real time, all at once, first with a
//! recogniser that is never late nor wrong, then with one like those in the field. They are judged by the
//! phones' record and by the transcripts as a client reads them.

mod report;

use std::{sync::Arc, time::Duration};

use clap::Parser;
use domain::time::SystemClock;
use serde_json::Value;
use tokio::time::Instant;

use self::report::table;
use super::{BenchError, figures::write_json};
use crate::cli::BenchTurnsArgs;
use domain::accounts;
use providers::babble::imperfect::Imperfection;
use ringback::{api_client::ApiClient, app::App, config::ServeConfig};
use sim::{
    exchange::{Exchange, ExchangeSettings},
    scenarios::{self, Observed, Scenario, Score, Verdict},
};

/// Longest scripted call, ringing included.
const LIMIT: Duration = Duration::from_secs(240);

/// Time for the phones to record their ends.
const LAST_ENTRIES: Duration = Duration::from_secs(3);

/// Approximate dials per second that Twilio and others allow one account; the suite is up within 4 s.
const CALLS_PER_SECOND: &str = "20";

/// One pass through the suite.
struct Pass {
    name: &'static str,
    score: Score,
}

/// Runs the measurement. Returns `true` if, with agents of normal eagerness, no conversation was cut off, no
/// barge-in missed, no false stop taken back late, and no transcript differs from what was heard.
pub async fn run(args: BenchTurnsArgs) -> Result<bool, BenchError> {
    let chosen = chosen(args.only.as_deref())?;
    let field = Imperfection::of_the_field(args.seed);
    let mut passes = Vec::new();
    for (name, faults) in [("clean", Imperfection::default()), ("imperfect", field)] {
        let calls = converse(&chosen, faults).await?;
        let mut score = Score::default();
        for (scenario, call) in chosen.iter().zip(&calls) {
            score.add(scenario, Verdict::of(scenario, call));
        }
        passes.push(Pass { name, score });
    }
    println!("{}", table(&passes));
    let figures = passes.iter().map(|pass| (pass.name.to_owned(), pass.score.json()));
    write_json(args.json.as_deref(), &Value::Object(figures.collect()))?;
    Ok(passes.iter().all(|pass| pass.score.holds()))
}

fn chosen(only: Option<&str>) -> Result<Vec<Scenario>, BenchError> {
    let mut all = scenarios::all();
    if let Some(part) = only {
        all.retain(|scenario| scenario.name.contains(part));
        if all.is_empty() {
            return Err(format!("--only {part}: no conversation's name contains it").into());
        }
    }
    Ok(all)
}

/// Makes all calls at once with a new service, and returns when the last one is over.
async fn converse(chosen: &[Scenario], faults: Imperfection) -> Result<Vec<Observed>, BenchError> {
    let folder = tempfile::Builder::new().prefix("ringback-bench-").tempdir()?;
    let exchange = Exchange::start(ExchangeSettings {
        scripts: scenarios::scripts(chosen),
        clock: Arc::new(SystemClock),
        ..ExchangeSettings::on_loopback()
    })
    .await?;
    let database = format!("sqlite://{}/ringback.db", folder.path().display());
    let data = folder.path().display().to_string();
    let mut config = Settings::parse_from([
        "ringback",
        "--listen",
        "127.0.0.1:0",
        "--database-url",
        database.as_str(),
        "--data-dir",
        data.as_str(),
        "--simulated-url",
        &exchange.url(),
        "--max-calls",
        "1000",
        "--calls-per-second",
        CALLS_PER_SECOND,
        "--rate-limit",
        "0",
    ])
    .config;
    config.babble = faults;
    let app = App::start(config).await?;
    let account = accounts::create(app.store.as_ref(), "bench@ringback.example").await?;
    let api = ApiClient::new(format!("http://{}", app.address), &account.api_key)?;
    let ids = call_all(&api, chosen).await?;
    let conversations = all_over(&api, &ids).await?;
    tokio::time::sleep(LAST_ENTRIES).await;
    let entries = exchange.entries();
    app.stop(Duration::ZERO).await;
    exchange.stop().await;
    let calls = conversations.iter().enumerate();
    Ok(calls
        .map(|(at, conversation)| Observed::of(&entries, &scenarios::number(at), conversation))
        .collect())
}

/// Settings of a service from its command line, with every default.
#[derive(Parser)]
struct Settings {
    #[command(flatten)]
    config: ServeConfig,
}

async fn call_all(api: &ApiClient, chosen: &[Scenario]) -> Result<Vec<String>, BenchError> {
    let mut agents = Vec::new();
    for scenario in chosen {
        agents.push(api.create_agent(scenario.agent()).await?);
    }
    let mut ids = Vec::new();
    for (at, (scenario, agent)) in chosen.iter().zip(&agents).enumerate() {
        let body = scenario.call(agent, &scenarios::number(at));
        let made = api.post("/public/v1/calls", body).await?;
        let id = made["data"]["conversationId"].as_str().ok_or("no conversationId")?;
        ids.push(id.to_owned());
    }
    Ok(ids)
}

async fn all_over(api: &ApiClient, ids: &[String]) -> Result<Vec<Value>, BenchError> {
    let deadline = Instant::now() + LIMIT;
    let mut over = Vec::new();
    for id in ids {
        loop {
            let conversation = api.get(&format!("/public/v1/conversations/{id}")).await?["data"].take();
            if matches!(
                conversation["status"].as_str(),
                Some("completed" | "failed" | "cancelled")
            ) {
                over.push(conversation);
                break;
            }
            if Instant::now() > deadline {
                return Err(format!("a call did not end within {} s: {conversation}", LIMIT.as_secs()).into());
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }
    Ok(over)
}
