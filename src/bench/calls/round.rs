//! One round of the measurement: so many calls at once, by a service and phones that are started for it alone.

use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};

use super::{
    PAUSE_MS,
    class::{Class, Mix},
    judge::{Verdict, judge},
};
use crate::{
    api_client::ApiClient,
    bench::{
        BenchError,
        processes::{Process, ServiceSettings, create_account, free_address},
    },
    cli::BenchCallsArgs,
    exchange::read_log,
};

/// Steady noise on every line.
const LINE_NOISE_DBFS: f64 = -50.0;

/// Seconds one question and its answer take, about; chooses how many questions an agent asks.
const SECONDS_PER_QUESTION: u32 = 5;

/// Seconds in which all calls are placed.
const RAMP_SECONDS: u32 = 10;

/// How long those dialed last still ring.
const LAST_RING: Duration = Duration::from_secs(4);

/// How long calls may take to end after the measurement.
const END_LIMIT: Duration = Duration::from_secs(240);

/// The service's core, and the phones'.
const CORES: [usize; 2] = [0, 1];

const QUESTIONS: [&str; 8] = [
    "your full name",
    "preferred day for a visit",
    "number of guests",
    "your home town",
    "your favourite colour",
    "whether you own a car",
    "the street you live in",
    "preferred time of day",
];

/// What a round came to.
#[derive(Debug, Clone, Default)]
pub struct Round {
    /// Calls at once.
    pub calls: u32,
    /// Cores the service used while all of them talked.
    pub service_cores: f64,
    /// Cores the phones used meanwhile.
    pub phone_cores: f64,
    /// Share of the time in which a thread of the service was ready and its core taken, by others or its own threads.
    pub service_waited: f64,
    /// The service's memory before the first call.
    pub idle_mib: f64,
    /// Its most memory during the measurement, above that and by call.
    pub kib_per_call: f64,
    /// What the calls came to.
    pub verdict: Verdict,
}

impl Round {
    /// Cores of the service, by call.
    pub fn cores_per_call(&self) -> f64 {
        self.service_cores / f64::from(self.calls)
    }
}

/// Places `calls` calls and measures for the seconds asked for once all of them talk.
pub async fn run(calls: u32, args: &BenchCallsArgs) -> Result<Round, BenchError> {
    let folder = tempfile::Builder::new().prefix("ringback-bench-").tempdir()?;
    let log = folder.path().join("exchange.jsonl");
    let mix = Mix {
        interrupts: args.interrupts,
        noisy: args.noisy,
    };
    let exchange = free_address()?;
    let phones = Process::phones(exchange, &log, Some(CORES[1]), Some(LINE_NOISE_DBFS)).await?;
    let settings = ServiceSettings {
        listen: free_address()?,
        folder: folder.path().to_owned(),
        exchange,
        max_calls: calls,
        calls_per_second: f64::from(calls.div_ceil(RAMP_SECONDS).max(5)),
        fixed_pause_ms: Some(PAUSE_MS),
        workers: 1,
        core: Some(CORES[0]),
    };
    let key = create_account(&settings).await?;
    let service = Process::service(&settings).await?;
    let idle_mib = service.resident_mib()?;
    let api = ApiClient::new(settings.base_url(), key)?;
    let agent = api.create_agent(agent(args.seconds)).await?;
    let launched = api.launch_csv("Bench", &agent, contacts(calls, mix)).await?;
    let campaign = launched["data"]["campaignId"].as_str().ok_or("no campaignId")?;

    wait_for_calls(&api, campaign, calls).await?;
    let measured = measure(&service, &phones, args.seconds).await?;
    wait_for_end(&api, campaign).await?;
    let conversations = api.conversations(campaign).await?;
    let class_of = |number: &str| class_of(number, mix);
    let round = Round {
        calls,
        idle_mib,
        kib_per_call: (measured.peak_mib - idle_mib) * 1024.0 / f64::from(calls),
        service_cores: measured.service_cores,
        phone_cores: measured.phone_cores,
        service_waited: measured.service_waited,
        verdict: judge(read_log(&log)?, &conversations, class_of, PAUSE_MS)?,
    };
    if !round.verdict.good() {
        println!("kept for inspection: {}", folder.keep().display());
    }
    Ok(round)
}

fn agent(seconds: u32) -> Value {
    let questions = (seconds + RAMP_SECONDS + 10).div_ceil(SECONDS_PER_QUESTION);
    let entities: serde_json::Map<String, Value> = (0..questions)
        .map(|n| {
            let question = QUESTIONS[n as usize % QUESTIONS.len()];
            (format!("q{n}"), json!({ "description": question }))
        })
        .collect();
    json!({
        "name": "Bench",
        "conversationConfig": { "agent": {
            "prompt": { "prompt": "Ask the questions." },
            "greetingMessage": "Hello, I have a few questions for you."
        }, "conversation": { "maxDurationSeconds": 1200 } },
        "platformSettings": { "dataCollection": { "entities": entities } }
    })
}

fn contacts(calls: u32, mix: Mix) -> Vec<u8> {
    let mut csv = String::from("phone,name,persona,line\n");
    for n in 0..calls {
        let class = mix.class(n);
        let _ = writeln!(csv, "+1555{n:07},Caller {n},{},{}", class.persona(), class.line());
    }
    csv.into_bytes()
}

/// The class of the phone with this number.
fn class_of(number: &str, mix: Mix) -> Class {
    let n = number.get("+1555".len()..).and_then(|digits| digits.parse().ok());
    mix.class(n.unwrap_or_default())
}

async fn wait_for_calls(api: &ApiClient, campaign: &str, calls: u32) -> Result<(), BenchError> {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(u64::from(RAMP_SECONDS) * 4 + 20);
    loop {
        let state = api.campaign(campaign).await?;
        if state["progress"]["inProgress"].as_u64() == Some(u64::from(calls)) {
            tokio::time::sleep(LAST_RING).await;
            return Ok(());
        }
        if tokio::time::Instant::now() > deadline {
            return Err(format!("not all calls came up: {}", state["progress"]).into());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn wait_for_end(api: &ApiClient, campaign: &str) -> Result<(), BenchError> {
    let deadline = tokio::time::Instant::now() + END_LIMIT;
    while api.campaign(campaign).await?["status"] != "completed" {
        if tokio::time::Instant::now() > deadline {
            return Err("the calls did not end by themselves".into());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Ok(())
}

struct Measured {
    service_cores: f64,
    service_waited: f64,
    phone_cores: f64,
    peak_mib: f64,
}

async fn measure(service: &Process, phones: &Process, seconds: u32) -> Result<Measured, BenchError> {
    let used = || Ok::<_, BenchError>([service.cpu_seconds()?, service.waited_seconds()?, phones.cpu_seconds()?]);
    let started = tokio::time::Instant::now();
    let before = used()?;
    let mut peak_mib: f64 = 0.0;
    for _ in 0..seconds {
        tokio::time::sleep(Duration::from_secs(1)).await;
        peak_mib = peak_mib.max(service.resident_mib()?);
    }
    let elapsed = started.elapsed().as_secs_f64();
    let after = used()?;
    let [service_cores, service_waited, phone_cores] = [0, 1, 2].map(|n| (after[n] - before[n]) / elapsed);
    Ok(Measured {
        service_cores,
        service_waited,
        phone_cores,
        peak_mib,
    })
}
