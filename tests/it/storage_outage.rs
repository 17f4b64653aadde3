//! The service on a PostgreSQL that is unavailable for a while: live calls continue, nobody is dialed, and
//! dialing resumes soon after its return. `OUTAGE_SECONDS=60` makes the outage as long as promised.

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use sim::exchange::{Exchange, ExchangeHandle, ExchangeSettings, LogEvent};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream, UnixStream},
    sync::watch,
    task::JoinSet,
};

use support::{client::Client, postgres, program::Program, words::interviewing_agent};

/// Longest time after the return until somebody is dialed.
const RESUMED_WITHIN: Duration = Duration::from_secs(5);

/// Longest time for everything.
const WITHIN: Duration = Duration::from_secs(120);

fn outage() -> Duration {
    let seconds = std::env::var("OUTAGE_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(6))
}

/// Address of the server: the folder of its socket, or its TCP address.
#[derive(Clone)]
enum Server {
    Socket(PathBuf),
    Tcp(String),
}

impl Server {
    fn of(url: &reqwest::Url) -> Self {
        let folder = url
            .query_pairs()
            .find(|(name, _)| name == "host")
            .map(|(_, folder)| folder.into_owned());
        match folder {
            Some(folder) => Self::Socket(PathBuf::from(folder).join(".s.PGSQL.5432")),
            None => Self::Tcp(format!("{}:{}", url.host_str().unwrap(), url.port().unwrap_or(5432))),
        }
    }

    async fn pass(&self, mut client: TcpStream) {
        let _ = match self {
            Self::Socket(path) => match UnixStream::connect(path).await {
                Ok(mut server) => copy_bidirectional(&mut client, &mut server).await,
                Err(error) => Err(error),
            },
            Self::Tcp(address) => match TcpStream::connect(address).await {
                Ok(mut server) => copy_bidirectional(&mut client, &mut server).await,
                Err(error) => Err(error),
            },
        };
    }
}

/// A proxy to the server that can be cut: connections break, and new ones are closed at once.
struct Way {
    url: String,
    cut: Arc<watch::Sender<bool>>,
    _tasks: JoinSet<()>,
}

impl Way {
    async fn to(database: &str) -> Self {
        let mut url = reqwest::Url::parse(database).unwrap();
        let server = Server::of(&url);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        url.set_query(Some("sslmode=disable"));
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let cut = Arc::new(watch::Sender::new(false));
        let mut tasks = JoinSet::new();
        let held = cut.clone();
        tasks.spawn(async move {
            let mut passed = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (server, mut cut) = (server.clone(), held.subscribe());
                passed.spawn(async move {
                    tokio::select! {
                        _ = cut.wait_for(|cut| *cut) => {}
                        () = server.pass(client) => {}
                    }
                });
                while passed.try_join_next().is_some() {}
            }
        });
        Self {
            url: url.into(),
            cut,
            _tasks: tasks,
        }
    }
}

fn dialed(phones: &ExchangeHandle) -> Vec<String> {
    let entries = phones.entries().into_iter();
    let accepted = entries.filter_map(|entry| match entry.event {
        LogEvent::Accepted { to, .. } => Some(to),
        _ => None,
    });
    accepted.collect()
}

async fn until(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !so().await {
        assert!(began.elapsed() < WITHIN + outage(), "{what}: not within {WITHIN:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_calls_outlive_a_database_that_is_unavailable_and_dialing_resumes_soon_after() {
    let Some(database) = postgres::database().await else {
        return;
    };
    let way = Way::to(&database.url).await;
    let phones = Exchange::start(ExchangeSettings {
        scripts: BTreeMap::new(),
        ..ExchangeSettings::on_loopback()
    });
    let phones = phones.await.unwrap();
    let program = Program::new();
    let url = phones.url();
    let settings = [
        ("DATABASE_URL", way.url.as_str()),
        ("RINGBACK_SIMULATED_URL", &url),
        ("RINGBACK_MAX_CALLS", "6"),
        ("RINGBACK_CALLS_PER_SECOND", "4"),
    ];
    let account = program
        .run_with(&["account", "create", "--email", "ada@example.com"], &settings)
        .json();
    let (_service, address) = program.serve_with(&settings);
    let client = Client::new(&address, account["apiKey"].as_str().unwrap());
    let agent = client
        .post("/public/v1/agents/create", interviewing_agent())
        .await
        .expect(201);
    // Three contacts talk throughout, and many are busy immediately.
    let contacts = (0..33).map(|n| {
        let persona = if n < 3 { "cooperative" } else { "busy" };
        json!({ "phoneNumber": format!("+155501{n:05}"), "name": "Maria", "persona": persona })
    });
    let campaign = json!({
        "name": "Outage", "agentId": agent.text("/data/agentId"), "contacts": contacts.collect::<Vec<_>>(),
    });
    let made = client.post("/public/v1/campaigns", campaign).await.expect(201);
    let path = format!("/public/v1/campaigns/{}", made.text("/data/campaignId"));
    client.post(&format!("{path}/launch"), json!({})).await.expect(200);
    until("calls", async || dialed(&phones).len() > 8).await;
    way.cut.send_replace(true);
    // A permit given before may still be on its way.
    tokio::time::sleep(Duration::from_millis(700)).await;
    let (before, live) = (dialed(&phones).len(), phones.live_calls());
    assert!(live >= 3, "{live}");
    let answer = reqwest::get(format!("{address}/ready")).await.unwrap();
    assert_eq!(answer.status(), 503);
    assert!(answer.text().await.unwrap().contains("database_away"));
    tokio::time::sleep(outage()).await;
    assert_eq!(dialed(&phones).len(), before, "dialed without a database");
    way.cut.send_replace(false);
    let back = Instant::now();
    until("dials", async || dialed(&phones).len() > before).await;
    let took = back.elapsed();
    println!(
        "{} s away: dialed again after {} ms",
        outage().as_secs(),
        took.as_millis()
    );
    assert!(took <= RESUMED_WITHIN, "{took:?}");
    until("completion", async || {
        client.get(&path).await.data()["status"] == "completed"
    })
    .await;
    let all = dialed(&phones);
    assert_eq!(
        (all.len(), all.iter().collect::<HashSet<_>>().len()),
        (33, 33),
        "everybody once"
    );
    let talked = client
        .get("/public/v1/conversations?status=completed")
        .await
        .expect(200);
    assert_eq!(
        talked.data().as_array().unwrap().len(),
        3,
        "no call was dropped: {}",
        talked.body
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_started_without_its_database_waits_for_it_and_says_so() {
    let Some(database) = postgres::database().await else {
        return;
    };
    let way = Way::to(&database.url).await;
    way.cut.send_replace(true);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = free.local_addr().unwrap().to_string();
    drop(free);
    let program = Program::new();
    let settings = [("DATABASE_URL", way.url.as_str()), ("RINGBACK_LISTEN", &listen)];
    let service = program.start(&["serve"], &settings);
    let ask = async |path: &str| reqwest::get(format!("http://{listen}{path}")).await;
    until("an answer", async || ask("/ready").await.is_ok()).await;
    let ready = ask("/ready").await.unwrap();
    assert_eq!(ready.status(), 503);
    let reasons = ready.json::<serde_json::Value>().await.unwrap();
    assert_eq!(
        (&reasons["ready"], &reasons["reasons"]),
        (&json!(false), &json!(["database_away"]))
    );
    assert_eq!(ask("/public/v1/me").await.unwrap().status(), 503);
    way.cut.send_replace(false);
    assert_eq!(service.address(), format!("http://{listen}"));
    until("readiness", async || {
        ask("/ready").await.is_ok_and(|answer| answer.status() == 200)
    })
    .await;
    assert_eq!(ask("/public/v1/me").await.unwrap().status(), 401);
    service.signal("TERM");
    let ended = service.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for line in ["database unreachable, waiting for it", "database reached"] {
        assert_eq!(ended.stderr.matches(line).count(), 1, "{}", ended.stderr);
    }

    // It waits as long as it is told, unless it is told to stop.
    way.cut.send_replace(true);
    let impatient = [settings[0], ("RINGBACK_START_WAIT_SECONDS", "1")];
    let ended = program.run_with(&["serve"], &impatient);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(
        last.contains("DATABASE_URL") && last.contains("is it running"),
        "{last}"
    );
    let patient = [settings[0], settings[1], ("RINGBACK_START_WAIT_SECONDS", "0")];
    let service = program.start(&["serve"], &patient);
    until("an answer", async || ask("/ready").await.is_ok()).await;
    service.signal("TERM");
    assert_eq!(service.end().code, Some(0));
}
