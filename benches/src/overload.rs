//! `ringback-bench overload`: measures first the highest rate that the service can answer, then sends several
//! times as many requests, beside calls that talk throughout. Only correct and timely responses count: their
//! rate may hardly fall, no call may be dropped, and soon after the storm everything must be answered again.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Instant, interval_at, timeout},
};

use super::{
    BenchError,
    connection::Connection,
    figures::{Figure, table, write_json},
    site::{Site, rested},
};
use crate::cli::BenchOverloadArgs;
use ringback::api_client::ApiClient;

/// A later response does not count.
const IN_TIME: Duration = Duration::from_secs(1);

/// Connections of the storm: more than this only wait in the kernel.
const CONNECTIONS: u32 = 800;

/// Resolution of the recovery time.
const WINDOW: Duration = Duration::from_millis(250);

/// Share of the peak rate that must still be answered.
const GOODPUT: f64 = 0.9;
/// Longest time until recovery.
const RECOVERED_WITHIN: Duration = Duration::from_secs(5);

/// Counts of a phase.
#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    good: AtomicU64,
    refused: AtomicU64,
    late: AtomicU64,
    broken: AtomicU64,
}

impl Counts {
    fn get(&self) -> [u64; 5] {
        [&self.sent, &self.good, &self.refused, &self.late, &self.broken].map(|count| count.load(Ordering::Relaxed))
    }

    fn json(&self, seconds: f64) -> Value {
        let [sent, good, refused, late, broken] = self.get().map(|count| per_second(count, seconds));
        json!({ "sentPerSecond": sent, "goodPerSecond": good, "refusedPerSecond": refused,
            "latePerSecond": late, "brokenPerSecond": broken })
    }
}

fn per_second(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds
}

/// Target of the requests.
#[derive(Clone)]
struct Target {
    address: SocketAddr,
    key: Arc<str>,
    /// Path of an agent.
    agent: Arc<str>,
    /// Counter for new contacts' numbers, so that each occurs once.
    numbers: Arc<AtomicU64>,
}

impl Target {
    /// Sends a request. Of twenty, twelve read one resource, five a list, and three store something.
    async fn ask(&self, connection: &mut Connection, turn: u64) -> Result<u16, BenchError> {
        let answer = match turn % 20 {
            0..12 => connection.get(&self.agent, &self.key).await?,
            12..17 => connection.get("/public/v1/contacts?pageSize=30", &self.key).await?,
            _ => {
                let number = self.numbers.fetch_add(1, Ordering::Relaxed);
                let body = json!({ "phoneNumber": format!("+1666{number:07}"), "name": "Maria" }).to_string();
                connection.post("/public/v1/contacts", &self.key, &body).await?
            }
        };
        Ok(answer.status)
    }

    /// Runs one client: it sends requests at intervals of `pause`, or as soon as the previous one is answered.
    async fn client(self, counts: Arc<Counts>, number: u32, pause: Option<Duration>, until: Instant) {
        let mut connection = None;
        let mut turn = u64::from(number) * 7;
        let first = pause.map_or(Duration::ZERO, |pause| {
            pause.mul_f64(f64::from(number) / f64::from(CONNECTIONS))
        });
        let mut clock = pause.map(|pause| interval_at(Instant::now() + first, pause.max(Duration::from_micros(1))));
        while Instant::now() < until {
            if let Some(clock) = &mut clock {
                clock.tick().await;
            }
            turn += 1;
            let asked = Instant::now();
            if connection.is_none() {
                connection = timeout(IN_TIME, Connection::open(self.address))
                    .await
                    .ok()
                    .and_then(Result::ok);
            }
            let Some(open) = &mut connection else {
                counts.broken.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            counts.sent.fetch_add(1, Ordering::Relaxed);
            let answered = timeout(10 * IN_TIME, self.ask(open, turn)).await;
            let count = match answered {
                Ok(Ok(200..=299)) if asked.elapsed() <= IN_TIME => &counts.good,
                Ok(Ok(200..=299)) => &counts.late,
                Ok(Ok(429 | 503)) => &counts.refused,
                _ => {
                    connection = None;
                    &counts.broken
                }
            };
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Runs this many clients for this long, with `rate` requests per second in total, or as many as are answered.
    async fn phase(&self, clients: u32, rate: Option<f64>, seconds: f64) -> Result<Arc<Counts>, BenchError> {
        let counts = Arc::new(Counts::default());
        self.run(&counts, clients, rate, seconds).join_all().await;
        Ok(counts)
    }

    fn run(&self, counts: &Arc<Counts>, clients: u32, rate: Option<f64>, seconds: f64) -> JoinSet<()> {
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        let pause = rate.map(|rate| Duration::from_secs_f64(f64::from(clients) / rate));
        (0..clients)
            .map(|number| self.clone().client(counts.clone(), number, pause, until))
            .collect()
    }
}

/// Runs the measurement. Returns `true` if no call was dropped and, with `--strict`, every figure met its target.
pub async fn run(args: BenchOverloadArgs) -> Result<bool, BenchError> {
    // One worker thread, so that the clients have a core to themselves on the smallest machine.
    let mut site = Site::open(&[], None).await?;
    site.settings.max_calls = args.calls.max(1);
    site.settings.environment = vec![("RINGBACK_SHED_CPU", "85".to_owned())];
    let (service, api) = site.serve().await?;
    let agent = api.create_agent(agent()).await?;
    let target = Target {
        address: site.settings.listen,
        key: site.key.as_str().into(),
        agent: format!("/public/v1/agents/{agent}").into(),
        numbers: Arc::default(),
    };
    let seconds = f64::from(args.seconds);
    let campaign = launch(&api, &agent, args.calls).await?;

    println!("measuring the peak rate …");
    let mut peak = 0.0_f64;
    for clients in [4, 16, 64] {
        let counts = target.phase(clients, None, seconds).await?;
        let good = per_second(counts.get()[1], seconds);
        println!("{clients:>4} clients: {good:.0} a second, {}", counts.json(seconds));
        peak = peak.max(good);
    }
    println!("sending {} times as many requests …", args.times);
    let storm = target
        .phase(CONNECTIONS, Some(peak * f64::from(args.times)), seconds)
        .await?;
    let goodput = per_second(storm.get()[1], seconds);
    println!("     storm: {}", storm.json(seconds));
    let recovered = recovery(&target, peak / 2.0).await?;
    let dropped = dropped(&api, campaign.as_deref()).await?;
    service.kill().await?;

    let share = goodput / peak.max(1.0);
    let figures = [vec![
        Figure::new("peak", peak, "a second", 0),
        Figure::new("goodput in the storm", goodput, "a second", 0),
        Figure::new("share of the peak", share * 100.0, "%", 0).at_least(GOODPUT * 100.0),
        Figure::new("recovered after", recovered.as_secs_f64(), "s", 2).at_most(RECOVERED_WITHIN.as_secs_f64()),
        Figure::count(format!("calls dropped, of {}", args.calls), dropped).at_most(0.0),
    ]];
    println!("\n{}", table(std::iter::once("overload".into()), &figures));
    let json = json!({ "peak": peak, "goodput": goodput, "share": share, "storm": storm.json(seconds),
        "recoveredSeconds": recovered.as_secs_f64(), "calls": args.calls, "dropped": dropped });
    write_json(args.json.as_deref(), &json)?;
    let met = figures.iter().flatten().all(Figure::met);
    Ok(dropped == 0 && (met || !args.strict))
}

fn agent() -> Value {
    json!({
        "name": "Ava",
        "conversationConfig": {
            "agent": {
                "prompt": {
                    "prompt": "You are Ava from Greenfield Dental. You book check-ups.",
                    "builtInTools": { "endCall": { "enabled": true } },
                },
                "greetingMessage": "Hello {{name}}, this is Ava from Greenfield Dental.",
            },
        },
        "platformSettings": { "dataCollection": { "entities": {
            "preferredDay": { "type": "string", "description": "Which day suits you for a visit?" },
        } } },
    })
}

/// Launches calls that talk during the requests; their contacts are called again and again.
async fn launch(api: &ApiClient, agent: &str, calls: u32) -> Result<Option<String>, BenchError> {
    if calls == 0 {
        return Ok(None);
    }
    let rows: String = (0..calls).map(|n| format!("+1555{n:07},Maria,cooperative\n")).collect();
    let csv = format!("phone,name,persona\n{rows}");
    Ok(Some(
        api.launch_csv("Overload", agent, csv.into_bytes()).await?.campaign,
    ))
}

/// Returns the time after the storm until everything is answered again for a full second.
async fn recovery(target: &Target, rate: f64) -> Result<Duration, BenchError> {
    let counts = Arc::new(Counts::default());
    let ended = Instant::now();
    let clients = target.run(&counts, 16, Some(rate), 20.0);
    let (mut well_since, mut before) = (None, counts.get());
    while ended.elapsed() < Duration::from_secs(20) {
        tokio::time::sleep(WINDOW).await;
        let now = counts.get();
        let ([_, good, refused, late, broken], [_, had_good, ..]) = (now, before);
        let faults = refused + late + broken - (before[2] + before[3] + before[4]);
        if faults == 0 && good > had_good {
            let since = *well_since.get_or_insert(ended.elapsed().saturating_sub(WINDOW));
            if ended.elapsed().saturating_sub(since) >= Duration::from_secs(1) {
                break;
            }
        } else {
            well_since = None;
        }
        before = now;
    }
    drop(clients);
    Ok(well_since.unwrap_or(Duration::from_secs(20)))
}

/// Returns the number of the campaign's calls that did not complete.
async fn dropped(api: &ApiClient, campaign: Option<&str>) -> Result<usize, BenchError> {
    let Some(campaign) = campaign else { return Ok(0) };
    rested(api, campaign, Duration::from_secs(120)).await?;
    let conversations = api.conversations(campaign).await?.into_iter();
    Ok(conversations.filter(|call| call["status"] != "completed").count())
}
