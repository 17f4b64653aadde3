//! A node under test: the program, and the proxies between it and everything else.

use std::{
    env, fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;

use crate::{
    commits::Trap,
    http::{self, Ask},
    judge::{ACCOUNT, TOKEN},
    keeper::Kept,
    proxy::{Mode, Proxy, Target},
    world::Wiring,
};

/// Message in a node's log line with its incarnation.
const REGISTERED: &str = "registered, ";

/// Shortest time between two starts.
const STARTS_AGAIN: Duration = Duration::from_secs(1);

/// Times of the service, in milliseconds at real speed.
const TIMES: [(&str, u64); 5] = [
    ("RINGBACK_HEARTBEAT_MS", 3_000),
    ("RINGBACK_DEAD_AFTER_MS", 15_000),
    ("RINGBACK_SEND_WITHIN_MS", 5_000),
    ("RINGBACK_SETTLE_FROM_MS", 15_000),
    ("RINGBACK_SETTLE_UNTIL_MS", 120_000),
];

/// Settings of the run that a node gets too. Without them, a machine busy with other work makes a node refuse requests.
const SHED: [&str; 3] = ["RINGBACK_SHED_CPU", "RINGBACK_SHED_MEMORY", "RINGBACK_SHED_LAG_MS"];

/// Whether a node's process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Running {
    Yes,
    Stopped,
    /// Killed by a fault, and to be started by one.
    Down,
}

/// One node.
pub struct Node {
    pub number: usize,
    pub listen: SocketAddr,
    pub running: Running,
    folder: PathBuf,
    environment: Vec<(String, String)>,
    /// Binary that the next start runs.
    pub program: PathBuf,
    process: Option<Kept>,
    started: Instant,
    database: Option<Proxy>,
    /// Trap at its commits, on a server.
    pub trap: Arc<Trap>,
    carrier: Proxy,
    endpoint: Proxy,
}

/// Connection of a node that can be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    Database,
    Carrier,
    /// Incoming callbacks and media sockets of the carrier.
    ProxySide,
}

impl Node {
    /// Sets up a node without starting it.
    pub async fn new(number: usize, listen: SocketAddr, endpoint: Proxy, wiring: &Wiring) -> io::Result<Self> {
        let folder = wiring.folder.join(format!("node-{number}"));
        fs::create_dir_all(&folder)?;
        let carrier = Proxy::start(Target::Tcp(wiring.judge)).await?;
        let trap = Arc::<Trap>::default();
        let (database, url) = match &wiring.postgres {
            Some(server) => {
                let proxy = Proxy::start(Target::Server(server.socket.clone(), trap.clone())).await?;
                let url = server.url.replace("PROXY", &proxy.address.to_string());
                (Some(proxy), url)
            }
            None => (None, wiring.database_url.clone()),
        };
        let public = wiring.front.map_or(endpoint.address, |front| front);
        let mut environment: Vec<(String, String)> = [
            ("DATABASE_URL", url),
            ("TMPDIR", wiring.folder.display().to_string()),
            ("RINGBACK_LISTEN", listen.to_string()),
            ("RINGBACK_NODE_URL", format!("http://{listen}")),
            ("RINGBACK_PUBLIC_URL", format!("http://{public}")),
            ("RINGBACK_DATA_DIR", folder.display().to_string()),
            ("RINGBACK_CARRIER", "twilio".to_owned()),
            ("TWILIO_BASE_URL", format!("http://{}", carrier.address)),
            ("TWILIO_ACCOUNT_SID", ACCOUNT.to_owned()),
            ("TWILIO_AUTH_TOKEN", TOKEN.to_owned()),
            ("TWILIO_PHONE_NUMBER", "+15550000001".to_owned()),
            ("RINGBACK_ALLOW_PRIVATE_URLS", "true".to_owned()),
            ("RINGBACK_RATE_LIMIT", "0".to_owned()),
            ("RINGBACK_MAX_CALLS", wiring.lines.to_string()),
            ("RINGBACK_CALLS_PER_SECOND", wiring.calls_per_second.to_string()),
            ("RINGBACK_RING_TIMEOUT_SECONDS", "5".to_owned()),
            ("RUST_LOG", wiring.log.clone()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        for (name, ms) in TIMES {
            environment.push((name.to_owned(), wiring.scaled(ms).to_string()));
        }
        environment.extend(
            SHED.iter()
                .filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?))),
        );
        Ok(Self {
            number,
            listen,
            running: Running::Down,
            folder,
            environment,
            program: wiring.program.clone(),
            process: None,
            started: Instant::now(),
            database,
            trap,
            carrier,
            endpoint,
        })
    }

    /// Returns the path of its log.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Starts its process.
    pub fn start(&mut self) -> io::Result<()> {
        let arguments = ["--workers", "2", "serve"].map(Into::into);
        self.process = Some(Kept::start(&self.program, &arguments, &self.environment, &self.log())?);
        self.running = Running::Yes;
        self.started = Instant::now();
        Ok(())
    }

    /// Returns its process id.
    pub fn pid(&self) -> Option<i32> {
        self.process.as_ref().map(Kept::pid)
    }

    /// Kills it.
    pub fn kill(&mut self) -> io::Result<()> {
        self.running = Running::Down;
        self.process.take().map_or(Ok(()), Kept::kill)
    }

    /// Asks it to end.
    pub fn terminate(&mut self) -> io::Result<()> {
        self.process
            .as_ref()
            .map_or(Ok(()), |process| process.signal(Signal::SIGTERM))
    }

    /// Returns its exit code if it has ended by itself.
    pub fn ended(&mut self) -> io::Result<Option<i32>> {
        if self.process.as_ref().is_none_or(Kept::runs) {
            return Ok(None);
        }
        self.running = Running::Down;
        self.process.take().map_or(Ok(None), Kept::code)
    }

    /// Stops it, or lets it continue.
    pub fn hold(&mut self, stop: bool) -> io::Result<()> {
        let Some(process) = &self.process else { return Ok(()) };
        let (signal, running) = match stop {
            true => (Signal::SIGSTOP, Running::Stopped),
            false => (Signal::SIGCONT, Running::Yes),
        };
        self.running = running;
        process.signal(signal)
    }

    /// Returns whether its process ended without a kill, and it is time to start it again.
    pub fn has_ended(&self) -> bool {
        self.started.elapsed() > STARTS_AGAIN
            && self.running != Running::Down
            && self.process.as_ref().is_none_or(|process| !process.runs())
    }

    /// Changes one of its connections.
    pub fn set(&self, link: Link, mode: Mode) {
        match (link, &self.database) {
            (Link::Database, Some(proxy)) => proxy.set(mode),
            (Link::Database, None) => {}
            (Link::Carrier, _) => self.carrier.set(mode),
            (Link::ProxySide, _) => self.endpoint.set(mode),
        }
    }

    /// Returns whether it answers that it is healthy.
    pub async fn is_healthy(&self) -> bool {
        let url = format!("http://{}/public/health", self.listen);
        let asked = http::send(Ask {
            method: "GET",
            url: &url,
            headers: &[],
            body: Vec::new(),
            within: Duration::from_secs(2),
        });
        asked.await.is_ok_and(|(status, _)| status == 200)
    }

    /// Returns the last line of its log.
    pub fn last_word(&self) -> String {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        text.lines().last().unwrap_or_default().to_owned()
    }

    /// Returns the incarnation that it registered last.
    pub fn incarnation(&self) -> Option<String> {
        last_incarnation(&self.log())
    }
}

fn last_incarnation(log: &Path) -> Option<String> {
    let text = fs::read_to_string(log).ok()?;
    let line = text.lines().rfind(|line| line.contains(REGISTERED))?;
    let id = line.split_once("node=")?.1;
    Some(id.split_whitespace().next()?.to_owned())
}
