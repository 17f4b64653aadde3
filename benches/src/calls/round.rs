//! One round of the measurement: this many concurrent calls, with a service and phones that are started only for it.

use std::{fmt::Write as _, net::SocketAddr, time::Duration};

use serde_json::{Value, json};

use super::{
    PAUSE_MS,
    class::{Class, Mix},
    dashboards::{Dashboards, Requests, Traffic},
    delays::HeldUp,
    graph,
    judge::{Verdict, judge},
    listeners::{Heard, Listeners, open_stalled},
    providers::Behind,
    recordings::{self, Recordings},
};
use crate::cli::{BenchCallsArgs, QuietLine};
use crate::{
    BenchError,
    connection::Connection,
    processes::{Process, free_address},
    site::{Site, rested},
};
use ringback::{api_client::ApiClient, cli::StubTimesMode};
use sim::exchange::read_log;
use tokio::task::JoinSet;

/// Arguments of the phones for steady noise on every line; without them, lines carry digital silence.
const LINE_NOISE: [&str; 2] = ["--line-noise-dbfs", "-50"];

/// Approximate seconds of one question and its answer; determines how many questions an agent asks.
const SECONDS_PER_QUESTION: u32 = 5;

/// Seconds in which all calls are placed.
const RAMP_SECONDS: u32 = 10;

/// Time for which the phones dialed last still ring.
const LAST_RING: Duration = Duration::from_secs(4);

/// Longest time for calls to end after the measurement.
const END_LIMIT: Duration = Duration::from_secs(240);

/// Core of the service, and core of the phones.
const CORES: [usize; 2] = [0, 1];

/// Lines for calls beside the measured ones.
const SPARE_LINES: u32 = 10;

/// Returns a core for clients: one of their own if the machine has it, otherwise that of the phones.
pub fn client_core() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores > CORES.len() { CORES.len() } else { CORES[1] }
}

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

/// Part of the silence before an answer that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// The pause that ends a turn is fixed, and the silence beyond it counts.
    Fixed,
    /// The pause is the agent's own, and all of the silence counts.
    Own,
}

impl Pause {
    /// With stubs that have delays, the silence is what a caller would hear.
    fn of(args: &BenchCallsArgs) -> Self {
        match args.times {
            StubTimesMode::AtOnce => Self::Fixed,
            StubTimesMode::Published => Self::Own,
        }
    }

    fn fixed_ms(self) -> Option<u64> {
        (self == Self::Fixed).then_some(PAUSE_MS)
    }

    fn subtracted_ms(self) -> u64 {
        self.fixed_ms().unwrap_or(0)
    }

    /// Returns the name of the measured response.
    pub fn response(self) -> String {
        match self {
            Self::Fixed => format!("response beyond {PAUSE_MS} ms"),
            Self::Own => "silence before an answer".to_owned(),
        }
    }
}

/// Difference of a round from the plain one before it: clients beside the calls, or a graph of their agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extra {
    /// Open dashboards.
    pub dashboards: u32,
    /// Listeners.
    pub listeners: u32,
    /// Listeners that never read.
    pub stalled: u32,
    /// Whether all listeners hear the same call.
    pub on_one: bool,
    /// Whether the agent has a conversation graph.
    pub graph: bool,
}

impl Extra {
    /// Returns the difference that the command line asks for.
    pub fn of(args: &BenchCallsArgs) -> Self {
        Self {
            dashboards: args.dashboards,
            listeners: args.listeners,
            stalled: args.stalled_listeners,
            on_one: args.on_one,
            graph: args.graph,
        }
    }

    /// Returns whether there is any.
    pub fn any(self) -> bool {
        self.graph || self.dashboards + self.listeners + self.stalled > 0
    }

    /// Returns the name of a round with this many calls.
    pub fn name(self, calls: u32) -> String {
        let at_one = if self.on_one { " at one call" } else { "" };
        let mut name = format!("{calls} calls");
        for (count, kind) in [
            (self.dashboards, "dashboards".to_owned()),
            (self.listeners, format!("listeners{at_one}")),
            (self.stalled, format!("stalled listeners{at_one}")),
        ] {
            if count > 0 {
                let _ = write!(name, ", {count} {kind}");
            }
        }
        if self.graph {
            name.push_str(", a graph");
        }
        name
    }
}

/// Results of a round.
#[derive(Debug, Clone)]
pub struct Round {
    /// Concurrent calls.
    pub calls: u32,
    /// Difference from the plain round before it.
    pub extra: Extra,
    /// Requests of the dashboards during the calls.
    pub requests: Requests,
    /// Audio that the listeners heard meanwhile.
    pub heard: Heard,
    /// Moves in the graph of the agent.
    pub moves: usize,
    /// Memory of the service that each stalled listener takes, in MiB.
    pub mib_per_stalled: Option<f64>,
    /// Start of the latencies.
    pub pause: Pause,
    /// Cores used by the service while all calls talked.
    pub service_cores: f64,
    /// Cores used by the phones meanwhile.
    pub phone_cores: f64,
    /// Share of the time in which a thread of the service was ready and its core was taken, by
    /// others or its own threads.
    pub service_waited: f64,
    /// Memory of the service before the first call.
    pub idle_mib: f64,
    /// Peak memory of the service during the measurement, above the idle memory and per call.
    pub kib_per_call: f64,
    /// Growth of the database during the calls, per call and minute of talk.
    pub disk_kib_per_minute: f64,
    /// Results of checking the recordings, if there are any.
    pub recordings: Option<Recordings>,
    /// Delays that the service added to audio meanwhile.
    pub held_up: HeldUp,
    /// Verdict on the calls.
    pub verdict: Verdict,
}

impl Round {
    /// Returns whether the required checks hold.
    pub fn good(&self) -> bool {
        let recorded = self.recordings.is_none_or(|recordings| recordings.wrong == 0);
        self.verdict.good() && recorded && self.requests.failed == 0
    }

    /// Returns the name of the round.
    pub fn name(&self) -> String {
        self.extra.name(self.calls)
    }

    /// Returns the service's cores per call.
    pub fn cores_per_call(&self) -> f64 {
        self.service_cores / f64::from(self.calls)
    }
}

/// Places `calls` calls and measures for the requested seconds once all of them talk, with this difference.
pub async fn run(calls: u32, extra: Extra, args: &BenchCallsArgs) -> Result<Round, BenchError> {
    let mix = Mix {
        interrupts: args.interrupts,
        noisy: args.noisy,
        faulty: args.faulty,
    };
    let behind = Behind::of(args);
    let pause = Pause::of(args);
    let stubs = free_address()?;
    let _stubs = match behind {
        Some(behind) => Some(Process::stub_providers(stubs, behind.times.as_str(), Some(CORES[1])).await?),
        None => None,
    };
    let line: &[&str] = match args.line {
        QuietLine::Noise => &LINE_NOISE,
        QuietLine::Silence => &[],
    };
    let mut site = Site::open(line, Some(CORES[1])).await?;
    site.settings.max_calls = calls + SPARE_LINES;
    site.settings.calls_per_second = f64::from(calls.div_ceil(RAMP_SECONDS).max(5));
    site.settings.fixed_pause_ms = pause.fixed_ms();
    site.settings.core = Some(CORES[0]);
    site.settings.environment = environment(behind, stubs, args);
    let (service, api) = site.serve().await?;
    let idle_mib = service.resident_mib()?;
    let talk = Talk {
        calls,
        mix,
        seconds: args.seconds,
        recordings: args.recordings,
        graph: extra.graph,
    };
    let _streams = open_streams(&site, args.streams).await?;
    let open = Dashboards::open(&site, extra.dashboards).await?;
    let traffic = match args.dashboards {
        0 => None,
        _ => Some(Traffic::begin(&api).await?),
    };
    open.forget();
    let disk = disk_kib(&site)?;
    let campaigns = talk.launch(&api, behind).await?;
    let listeners = Listeners::open(&site, &api, (extra.listeners, extra.on_one)).await?;
    let before_stalled_mib = service.resident_mib()?;
    let stalled = open_stalled(&site, &api, (extra.stalled, extra.on_one)).await?;
    let measured = measure((&service, site.settings.listen), &site.phones, args.seconds).await?;
    let heard = listeners.close().await?;
    drop(stalled);
    let stalled_mib = measured.peak_mib - before_stalled_mib;
    let conversations = ended(&api, &campaigns).await?;
    let requests = open.close().await?;
    if let Some(traffic) = traffic {
        traffic.end().await?;
    }
    let disk = disk_kib(&site)? - disk;
    let class_of = |number: &str| class_of(number, mix);
    let recordings = match args.recordings {
        true => Some(recordings::check(&api, &conversations, class_of).await?),
        false => None,
    };
    let round = Round {
        calls,
        extra,
        moves: graph::moves(&conversations),
        requests,
        heard,
        mib_per_stalled: (extra.stalled > 0).then(|| stalled_mib / f64::from(extra.stalled)),
        pause,
        recordings,
        idle_mib,
        kib_per_call: (measured.peak_mib - idle_mib) * 1024.0 / f64::from(calls),
        disk_kib_per_minute: disk / minutes(&conversations),
        service_cores: measured.service_cores,
        phone_cores: measured.phone_cores,
        service_waited: measured.service_waited,
        held_up: measured.held_up,
        verdict: judge(read_log(&site.log)?, &conversations, class_of, pause.subtracted_ms())?,
    };
    if !round.good() {
        site.keep();
    }
    Ok(round)
}

/// Opens streams of the account's events; they end when the result is dropped.
async fn open_streams(site: &Site, count: u32) -> Result<JoinSet<()>, BenchError> {
    let mut streams = JoinSet::new();
    for _ in 0..count {
        let mut stream = Connection::open(site.settings.listen).await?;
        stream.begin("/public/v1/events", &site.key).await?;
        streams.spawn(async move { while stream.receive_on().await.is_ok() {} });
    }
    Ok(streams)
}

/// Returns the size of the database with its log, in KiB.
fn disk_kib(site: &Site) -> Result<f64, BenchError> {
    let mut bytes = 0;
    for name in ["ringback.db", "ringback.db-wal"] {
        bytes += std::fs::metadata(site.settings.folder.join(name)).map_or(0, |file| file.len());
    }
    Ok(bytes as f64 / 1024.0)
}

/// Returns the total duration of the conversations in minutes.
fn minutes(conversations: &[Value]) -> f64 {
    let seconds = conversations
        .iter()
        .filter_map(|one| one["conversationDuration"].as_f64());
    seconds.sum::<f64>() / 60.0
}

fn environment(behind: Option<Behind>, stubs: SocketAddr, args: &BenchCallsArgs) -> Vec<(&'static str, String)> {
    let mut all = behind.map_or_else(Vec::new, |behind| behind.environment(stubs));
    all.push(("RINGBACK_SPECULATION", args.speculation.as_str().to_owned()));
    // They are all of one account, which may have half of the places.
    let listeners = 2 * (args.listeners + args.stalled_listeners);
    all.push(("RINGBACK_MAX_LISTENERS", listeners.to_string()));
    all
}

/// Calls of a round.
pub(crate) struct Talk {
    pub(crate) calls: u32,
    pub(crate) mix: Mix,
    /// Shortest time for which all of them talk.
    pub(crate) seconds: u32,
    /// Whether the calls are recorded.
    pub(crate) recordings: bool,
    /// Whether the agent has a conversation graph.
    pub(crate) graph: bool,
}

impl Talk {
    /// Launches the campaigns, with a separate one for the calls whose providers have faults, and waits until all talk.
    pub(crate) async fn launch(&self, api: &ApiClient, behind: Option<Behind>) -> Result<Vec<String>, BenchError> {
        let mut campaigns = Vec::new();
        for faulty in [false, true] {
            let Some(csv) = contacts(self.calls, self.mix, faulty) else {
                continue;
            };
            let mut agent = agent(self.seconds);
            agent["platformSettings"]["privacy"] = json!({ "recordVoice": self.recordings });
            if self.graph {
                agent["workflow"] = graph::workflow();
            }
            if let Some(behind) = behind.filter(|_| faulty) {
                let [model, voice, keyword] = behind.faulty();
                let config = &mut agent["conversationConfig"];
                config["agent"]["prompt"]["llm"] = model.into();
                config["tts"] = json!({ "voiceId": voice });
                config["asr"] = json!({ "keywords": [keyword] });
            }
            let agent = api.create_agent(agent).await?;
            campaigns.push(api.launch_csv("Bench", &agent, csv).await?.campaign);
        }
        wait_for_calls(api, &campaigns, self.calls).await?;
        Ok(campaigns)
    }
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
            "prompt": { "prompt": "Ask the questions.", "builtInTools": { "endCall": { "enabled": true } } },
            "greetingMessage": "Hello, I have a few questions for you."
        }, "conversation": { "maxDurationSeconds": 1200 } },
        "platformSettings": { "dataCollection": { "entities": entities } }
    })
}

/// Returns the contacts with faulty providers, or the others; `None` if there are none.
fn contacts(calls: u32, mix: Mix, faulty: bool) -> Option<Vec<u8>> {
    let mut csv = String::from("phone,name,persona,line\n");
    let header = csv.len();
    for n in (0..calls).filter(|n| (mix.class(*n) == Class::Faulty) == faulty) {
        let class = mix.class(n);
        let _ = writeln!(csv, "+1555{n:07},Caller {n},{},{}", class.persona(), class.line());
    }
    (csv.len() > header).then(|| csv.into_bytes())
}

/// Returns the class of the phone with this number.
pub(crate) fn class_of(number: &str, mix: Mix) -> Class {
    let n = number.get("+1555".len()..).and_then(|digits| digits.parse().ok());
    mix.class(n.unwrap_or_default())
}

async fn wait_for_calls(api: &ApiClient, campaigns: &[String], calls: u32) -> Result<(), BenchError> {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(u64::from(RAMP_SECONDS) * 4 + 20);
    loop {
        let mut up = 0;
        for campaign in campaigns {
            let state = api.campaign(campaign).await?;
            up += state["progress"]["inProgress"].as_u64().unwrap_or_default();
        }
        if up == u64::from(calls) {
            tokio::time::sleep(LAST_RING).await;
            return Ok(());
        }
        if tokio::time::Instant::now() > deadline {
            return Err(format!("only {up} of {calls} calls came up").into());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Returns the conversations of campaigns, once all are over.
pub(crate) async fn ended(api: &ApiClient, campaigns: &[String]) -> Result<Vec<Value>, BenchError> {
    let mut conversations = Vec::new();
    for campaign in campaigns {
        if rested(api, campaign, END_LIMIT).await?["status"] != "completed" {
            return Err("the calls did not end in time".into());
        }
        conversations.extend(api.conversations(campaign).await?);
    }
    Ok(conversations)
}

struct Measured {
    service_cores: f64,
    service_waited: f64,
    phone_cores: f64,
    peak_mib: f64,
    held_up: HeldUp,
}

async fn measure(
    (service, address): (&Process, SocketAddr),
    phones: &Process,
    seconds: u32,
) -> Result<Measured, BenchError> {
    let held_up = HeldUp::read(address).await?;
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
        held_up: HeldUp::read(address).await?.since(held_up),
    })
}
