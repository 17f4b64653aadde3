//! `ringback bench calls`: N phones in a process of their own talk with the service on one core. Cores, memory and
//! latency per call; every word of every transcript is checked against what the phones said and heard.

use std::{collections::BTreeMap, fmt::Write as _, path::Path, time::Duration};

use serde_json::{Value, json};

use super::{
    BenchError,
    figures::Samples,
    processes::{Process, ServiceSettings, create_account, free_address},
};
use crate::{
    api_client::ApiClient,
    cli::BenchCallsArgs,
    exchange::{LogEvent, read_log},
};

/// The pause that ends a turn in this bench, in milliseconds: the one peers were measured with.
const PAUSE_MS: u64 = 200;

/// Steady noise on every line.
const LINE_NOISE_DBFS: f64 = -50.0;

/// A longer silence inside an agent's speech can be heard.
const GAP_LIMIT_MS: f64 = 60.0;

/// Seconds one question and its answer take, about; chooses how many questions an agent asks.
const SECONDS_PER_QUESTION: u32 = 5;

/// Seconds in which all calls are placed.
const RAMP_SECONDS: u32 = 10;

/// How long calls may take to end after the measurement.
const END_LIMIT: Duration = Duration::from_secs(240);

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

/// Runs the measurement. True when no transcript was wrong and no playout gap too long.
pub async fn run(args: BenchCallsArgs) -> Result<bool, BenchError> {
    let folder = tempfile::Builder::new().prefix("ringback-bench-").tempdir()?;
    let log = folder.path().join("exchange.jsonl");
    let exchange = free_address()?;
    let phones = Process::phones(exchange, &log, Some(1), Some(LINE_NOISE_DBFS)).await?;
    let settings = ServiceSettings {
        listen: free_address()?,
        folder: folder.path().to_owned(),
        exchange,
        max_calls: args.calls,
        calls_per_second: f64::from(args.calls.div_ceil(RAMP_SECONDS).max(5)),
        fixed_pause_ms: Some(PAUSE_MS),
        workers: 1,
        core: Some(0),
    };
    let key = create_account(&settings).await?;
    let service = Process::service(&settings).await?;
    let idle_mib = service.resident_mib()?;
    let api = ApiClient::new(settings.base_url(), key)?;
    let agent = api.create_agent(agent(args.seconds)).await?;
    let launched = api.launch_csv("Bench", &agent, contacts(args.calls)).await?;
    let campaign = launched["data"]["campaignId"]
        .as_str()
        .ok_or("no campaignId")?
        .to_owned();

    wait_for_calls(&api, &campaign, args.calls).await?;
    let measured = measure(&service, &phones, args.seconds).await?;
    wait_for_end(&api, &campaign).await?;
    let conversations = api.conversations(&campaign).await?;
    let mut report = judge(&log, &conversations)?;
    report.calls = args.calls;
    report.cores_per_call = measured.service_cores / f64::from(args.calls);
    report.kib_per_call = (measured.peak_mib - idle_mib) * 1024.0 / f64::from(args.calls);
    report.service_cores = measured.service_cores;
    report.phone_cores = measured.phone_cores;
    report.idle_mib = idle_mib;
    println!("{}", report.table());
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&report.json())?)?;
    }
    if !report.good() {
        println!("kept for inspection: {}", folder.keep().display());
    }
    Ok(report.good())
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

fn contacts(calls: u32) -> Vec<u8> {
    let mut csv = String::from("phone,name,persona\n");
    for n in 0..calls {
        let _ = writeln!(csv, "+1555{n:07},Caller {n},cooperative");
    }
    csv.into_bytes()
}

async fn wait_for_calls(api: &ApiClient, campaign: &str, calls: u32) -> Result<(), BenchError> {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(u64::from(RAMP_SECONDS) * 4 + 20);
    loop {
        let state = api.campaign(campaign).await?;
        if state["progress"]["inProgress"].as_u64() == Some(u64::from(calls)) {
            // Those dialed last still ring.
            tokio::time::sleep(Duration::from_secs(4)).await;
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
    phone_cores: f64,
    peak_mib: f64,
}

async fn measure(service: &Process, phones: &Process, seconds: u32) -> Result<Measured, BenchError> {
    let started = tokio::time::Instant::now();
    let (service_before, phones_before) = (service.cpu_seconds()?, phones.cpu_seconds()?);
    let mut peak_mib: f64 = 0.0;
    for _ in 0..seconds {
        tokio::time::sleep(Duration::from_secs(1)).await;
        peak_mib = peak_mib.max(service.resident_mib()?);
    }
    let elapsed = started.elapsed().as_secs_f64();
    Ok(Measured {
        service_cores: (service.cpu_seconds()? - service_before) / elapsed,
        phone_cores: (phones.cpu_seconds()? - phones_before) / elapsed,
        peak_mib,
    })
}

#[derive(Default)]
struct Report {
    calls: u32,
    service_cores: f64,
    phone_cores: f64,
    cores_per_call: f64,
    kib_per_call: f64,
    idle_mib: f64,
    turns: usize,
    not_completed: usize,
    wrong_user_transcripts: usize,
    wrong_agent_transcripts: usize,
    longest_gap_ms: f64,
    responses_ms: Samples,
}

impl Report {
    fn good(&self) -> bool {
        self.not_completed == 0
            && self.wrong_user_transcripts == 0
            && self.wrong_agent_transcripts == 0
            && self.turns > 0
            && self.longest_gap_ms <= GAP_LIMIT_MS
    }

    fn table(&self) -> String {
        format!(
            "\ncalls at once                      {}\n\
             service, cores                     {:.3}   (phones {:.3})\n\
             cores per call                     {:.5}\n\
             KiB per call                       {:.0}   (idle service {:.0} MiB)\n\
             turns checked                      {}\n\
             calls not completed                {}\n\
             wrong transcripts, user / agent    {} / {}\n\
             longest playout gap, ms            {:.0}\n\
             response beyond the pause, ms      {}   (p50 / p95 / p99, {} turns, pause {PAUSE_MS} ms)\n",
            self.calls,
            self.service_cores,
            self.phone_cores,
            self.cores_per_call,
            self.kib_per_call,
            self.idle_mib,
            self.turns,
            self.not_completed,
            self.wrong_user_transcripts,
            self.wrong_agent_transcripts,
            self.longest_gap_ms,
            self.responses_ms.summary(),
            self.responses_ms.len(),
        )
    }

    fn json(&self) -> Value {
        json!({
            "calls": self.calls,
            "serviceCores": self.service_cores,
            "coresPerCall": self.cores_per_call,
            "kibPerCall": self.kib_per_call,
            "idleMib": self.idle_mib,
            "turns": self.turns,
            "notCompleted": self.not_completed,
            "wrongUserTranscripts": self.wrong_user_transcripts,
            "wrongAgentTranscripts": self.wrong_agent_transcripts,
            "longestGapMs": self.longest_gap_ms,
            "responseMs": { "p50": self.responses_ms.percentile(0.5), "p95": self.responses_ms.percentile(0.95),
                "p99": self.responses_ms.percentile(0.99) },
        })
    }
}

/// What one phone said and heard, word for word.
#[derive(Default)]
struct Phone {
    said: String,
    heard: String,
}

fn judge(log: &Path, conversations: &[Value]) -> Result<Report, BenchError> {
    let mut report = Report::default();
    let mut numbers: BTreeMap<String, String> = BTreeMap::new();
    let mut phones: BTreeMap<String, Phone> = BTreeMap::new();
    for entry in read_log(log)? {
        match entry.event {
            LogEvent::Accepted { to, .. } => {
                numbers.insert(entry.call_id, to);
            }
            LogEvent::Said { text, .. } => add(&mut phones.entry(entry.call_id).or_default().said, &text),
            LogEvent::Heard { text, .. } => add(&mut phones.entry(entry.call_id).or_default().heard, &text),
            LogEvent::Ended {
                figures: Some(figures), ..
            } => {
                report.longest_gap_ms = report.longest_gap_ms.max(ms(figures.longest_gap_us));
                figures
                    .response_us
                    .iter()
                    .for_each(|us| report.responses_ms.push(ms(*us) - ms(PAUSE_MS * 1_000)));
            }
            _ => {}
        }
    }
    let by_number: BTreeMap<&str, &Phone> = phones
        .iter()
        .filter_map(|(call, phone)| Some((numbers.get(call)?.as_str(), phone)))
        .collect();
    for conversation in conversations {
        report.not_completed += usize::from(conversation["status"] != "completed");
        let (user, agent, turns) = transcript(conversation);
        report.turns += turns;
        let number = conversation["contactNumber"].as_str().unwrap_or_default();
        let phone = by_number.get(number).ok_or("a call the exchange does not know")?;
        report.wrong_user_transcripts += usize::from(user != phone.said);
        report.wrong_agent_transcripts += usize::from(agent != phone.heard);
    }
    Ok(report)
}

/// The user's words, the agent's words, and how many turns.
fn transcript(conversation: &Value) -> (String, String, usize) {
    let (mut user, mut agent, mut turns) = (String::new(), String::new(), 0);
    for line in conversation["transcript"].as_str().unwrap_or_default().lines() {
        if let Some(text) = line.strip_prefix("User: ") {
            add(&mut user, text);
        } else if let Some(text) = line.strip_prefix("Agent: ") {
            add(&mut agent, text);
        }
        turns += 1;
    }
    (user, agent, turns)
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of a call, far below 2^52")]
fn ms(us: u64) -> f64 {
    us as f64 / 1_000.0
}

fn add(words: &mut String, text: &str) {
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
}
