//! Everything that runs: the judge, the database and the nodes, all on the loopback address. They
//! end with this process.

use std::{
    ffi::OsString,
    io,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::{
    api::{Api, Failures},
    chance::Manner,
    front::Front,
    http::{self, Ask},
    journal::now,
    keeper::Kept,
    node::{Link, Node, Running},
    postgres::Postgres,
    proxy::{Mode, Proxy, Target},
    schedule::Step,
};

/// Longest wait for a process to answer.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// Entry of callbacks and media sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entrance {
    /// At the node that dialed.
    Own,
    /// At any node that accepts the connection.
    Any,
    /// At the next node that is ready, like all requests.
    Ready,
}

/// Parameters of a world.
#[derive(Debug, Clone)]
pub struct Recipe {
    pub program: PathBuf,
    pub postgres: bool,
    pub nodes: usize,
    pub seed: u64,
    pub tenth: bool,
    /// Entry of callbacks.
    pub entrance: Entrance,
    /// Faults of the carrier and the webhook receiver themselves.
    pub manner: Manner,
    pub lines: u32,
    pub calls_per_second: f64,
}

/// Connections of nodes to the rest.
pub struct Wiring {
    pub folder: PathBuf,
    pub program: PathBuf,
    pub judge: SocketAddr,
    /// Address of callbacks, if not at each node's own proxy.
    pub front: Option<SocketAddr>,
    pub postgres: Option<Server>,
    pub database_url: String,
    pub lines: u32,
    pub calls_per_second: f64,
    pub log: String,
    tenth: bool,
}

/// A PostgreSQL server as nodes reach it.
pub struct Server {
    pub socket: PathBuf,
    /// URL of the server, with the word PROXY in place of the proxy's address.
    pub url: String,
}

impl Wiring {
    /// Scales a time of the service.
    pub fn scaled(&self, ms: u64) -> u64 {
        if self.tenth { ms / 10 } else { ms }
    }
}

/// Returns an address of this machine that is free now.
fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind(("127.0.0.1", 0))?.local_addr()
}

/// The whole world. Parts end in this order.
pub struct World {
    pub nodes: Vec<Node>,
    pub judge: SocketAddr,
    pub api: Api,
    pub database_url: String,
    _any: Option<Proxy>,
    pub front: Option<Front>,
    pub postgres: Option<Postgres>,
    /// Intervals in which the link from a node to the carrier stalled; delayed requests arrived at the end.
    pub standstills: Vec<Standstill>,
    _judge: Kept,
    folder: TempDir,
}

/// Start and end, in microseconds of Unix time.
pub type Standstill = (i64, i64);

impl World {
    /// Starts judge and database, creates an account, and sets up the nodes without starting them.
    pub async fn new(recipe: &Recipe) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("ringback-faults-").tempdir()?;
        // A server of another user lives in it.
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), readable)?;
        let judge = free_address()?;
        let judge_process = start_judge(recipe, judge, folder.path())?;
        let postgres = match recipe.postgres {
            true => Some(Postgres::start(folder.path())?),
            false => None,
        };
        let database_url = match &postgres {
            Some(server) => server.url(),
            None => format!("sqlite://{}", folder.path().join("ringback.db").display()),
        };
        let listens = (0..recipe.nodes)
            .map(|_| free_address())
            .collect::<io::Result<Vec<_>>>()?;
        let mut endpoints = Vec::new();
        for listen in &listens {
            endpoints.push(Proxy::start(Target::Tcp(*listen)).await?);
        }
        let (mut any, mut front) = (None, None);
        match recipe.entrance {
            Entrance::Own => {}
            Entrance::Any => {
                let endpoints = endpoints
                    .iter()
                    .map(|endpoint| endpoint.address)
                    .zip(listens.iter().copied());
                any = Some(Proxy::start(Target::Anyone(endpoints.collect())).await?);
            }
            Entrance::Ready => front = Some(Front::start(&listens).await?),
        }
        let entrance = any.as_ref().map(|any| any.address);
        let entrance = entrance.or(front.as_ref().map(|front| front.address));
        let wiring = Wiring {
            folder: folder.path().to_owned(),
            program: recipe.program.clone(),
            judge,
            front: entrance,
            postgres: postgres.as_ref().map(|server| Server {
                socket: server.socket(),
                url: server.url_by("PROXY"),
            }),
            database_url: database_url.clone(),
            lines: recipe.lines,
            calls_per_second: recipe.calls_per_second,
            log: std::env::var("RINGBACK_FAULTS_LOG").unwrap_or_else(|_| "info".to_owned()),
            tenth: recipe.tenth,
        };
        let mut nodes = Vec::new();
        for (number, (listen, endpoint)) in listens.iter().zip(endpoints).enumerate() {
            nodes.push(Node::new(number, *listen, endpoint, &wiring).await?);
        }
        let limit = Instant::now() + STARTS_WITHIN;
        while tokio::net::TcpStream::connect(judge).await.is_err() {
            if Instant::now() > limit {
                return Err(io::Error::other("the judge does not answer"));
            }
            sleep(Duration::from_millis(50)).await;
        }
        let api = Api {
            nodes: front.as_ref().map_or(listens, |front| vec![front.address]),
            failures: Failures::default(),
            key: create_account(&recipe.program, &database_url)?,
        };
        Ok(Self {
            nodes,
            judge,
            api,
            database_url,
            folder,
            _any: any,
            front,
            postgres,
            standstills: Vec::new(),
            _judge: judge_process,
        })
    }

    /// Returns the path of the judge's log.
    pub fn journal(&self) -> PathBuf {
        self.folder.path().join("judge.jsonl")
    }

    /// Passes on the result of a run; keeps its files unless all rules held.
    pub fn judged(&mut self, done: io::Result<bool>) -> io::Result<bool> {
        if !matches!(done, Ok(true)) {
            println!("kept for inspection: {}", self.keep().display());
        }
        done
    }

    /// Keeps its folder and returns the path.
    pub fn keep(&mut self) -> PathBuf {
        self.folder.disable_cleanup(true);
        self.folder.path().to_owned()
    }

    /// Starts every node that is down, again if it ends at once, and waits until all are healthy.
    pub async fn start_all(&mut self) -> io::Result<()> {
        let limit = Instant::now() + STARTS_WITHIN;
        for node in &mut self.nodes {
            while !node.is_healthy().await {
                if Instant::now() > limit {
                    let log = node.log();
                    let what = format!("node {} does not answer, see {}", node.number, log.display());
                    return Err(io::Error::other(what));
                }
                if node.running == Running::Down || node.has_ended() {
                    node.kill()?;
                    node.start()?;
                }
                sleep(Duration::from_millis(200)).await;
            }
        }
        Ok(())
    }

    /// Performs one step.
    pub fn perform(&mut self, step: Step) -> io::Result<()> {
        match step {
            Step::Kill(node) => self.nodes[node].kill(),
            Step::Start(node) => self.nodes[node].start(),
            Step::Stop(node) => self.nodes[node].hold(true),
            Step::Continue(node) => self.nodes[node].hold(false),
            Step::Set(node, link, mode) => {
                match (link, mode) {
                    (Link::Carrier, Mode::Stalled) => self.standstills.push((now(), i64::MAX)),
                    (Link::Carrier, Mode::Open) => self.go_on(),
                    _ => {}
                }
                self.nodes[node].set(link, mode);
                Ok(())
            }
            Step::KillDatabase => self.postgres.as_mut().map_or(Ok(()), Postgres::kill),
            Step::StartDatabase => self.postgres.as_mut().map_or(Ok(()), Postgres::start_again),
        }
    }

    /// Closes all open intervals, whichever link continues: it makes no difference to what arrives.
    fn go_on(&mut self) {
        let open = self.standstills.iter_mut().filter(|(_, until)| *until == i64::MAX);
        open.for_each(|(_, until)| *until = now());
    }

    /// Returns the nodes that ended without a kill.
    pub fn ended(&self) -> Vec<usize> {
        let ended = self.nodes.iter().filter(|node| node.has_ended());
        ended.map(|node| node.number).collect()
    }

    /// Repairs everything that is still broken.
    pub async fn heal(&mut self) -> io::Result<()> {
        self.go_on();
        for node in &mut self.nodes {
            for link in [Link::Database, Link::Carrier, Link::ProxySide] {
                node.set(link, Mode::Open);
            }
            if node.running == Running::Stopped {
                node.hold(false)?;
            }
        }
        self.start_all().await
    }

    /// Returns the attempts of calls that are still up at the carrier.
    pub async fn live_calls(&self) -> io::Result<Vec<String>> {
        let (_, body) = http::send(Ask {
            method: "GET",
            url: &format!("http://{}/live", self.judge),
            headers: &[],
            body: Vec::new(),
            within: Duration::from_secs(5),
        })
        .await?;
        let told: Value = serde_json::from_slice(&body)?;
        let attempts = told["attempts"].as_array().cloned().unwrap_or_default();
        Ok(attempts.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }
}

impl World {
    /// Returns the longest silence at the phone of an attempt since this was asked last, in milliseconds.
    pub async fn longest_silence_ms(&self, attempt: &str) -> io::Result<u64> {
        let (_, body) = http::send(Ask {
            method: "POST",
            url: &format!("http://{}/silence/{attempt}", self.judge),
            headers: &[],
            body: Vec::new(),
            within: Duration::from_secs(5),
        })
        .await?;
        let told: Value = serde_json::from_slice(&body)?;
        let longest = told["longestMs"].as_u64();
        longest.ok_or_else(|| io::Error::other(format!("the judge knows no call of {attempt}")))
    }
}

fn start_judge(recipe: &Recipe, listen: SocketAddr, folder: &Path) -> io::Result<Kept> {
    let mut arguments: Vec<OsString> = vec!["judge".into(), "--listen".into(), listen.to_string().into()];
    arguments.extend(["--log".into(), folder.join("judge.jsonl").into()]);
    arguments.extend(["--seed".into(), recipe.seed.to_string().into()]);
    let manner = match recipe.manner {
        Manner::Faulty => "faulty",
        Manner::Faultless => "faultless",
        Manner::Talkative => "talkative",
        Manner::Patient => "patient",
    };
    arguments.extend(["--manner".into(), manner.into()]);
    Kept::start(&std::env::current_exe()?, &arguments, &[], &folder.join("judge.log"))
}

fn create_account(program: &Path, database_url: &str) -> io::Result<String> {
    let made = Command::new(program)
        .args(["account", "create", "--email", "faults@ringback.example"])
        .env_clear()
        .env("DATABASE_URL", database_url)
        .output()?;
    let account: Value = serde_json::from_slice(&made.stdout).map_err(|_| {
        io::Error::other(format!(
            "cannot create an account: {}",
            String::from_utf8_lossy(&made.stderr)
        ))
    })?;
    let key = account["apiKey"].as_str().map(str::to_owned);
    key.ok_or_else(|| io::Error::other("no key in the account"))
}
