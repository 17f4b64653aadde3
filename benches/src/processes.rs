//! The service and the phones as separate processes, each on its own core if the machine has enough.

use std::{
    ffi::OsString,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::process::{Child, Command};

use super::{BenchError, connection::Connection};
use net::http_client;

/// E-mail address of the account.
pub const ACCOUNT_EMAIL: &str = "bench@ringback.example";

/// Program that sets the cores of another.
const TASKSET: &str = "/usr/bin/taskset";

/// Longest wait for a process's first response.
const START_LIMIT: Duration = Duration::from_secs(20);

/// Returns an address of this machine that is free now.
pub fn free_address() -> Result<SocketAddr, BenchError> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}

/// A child process that is killed when this is dropped.
pub struct Process {
    child: Child,
    pid: u32,
}

/// Start options of the service under test.
#[derive(Clone)]
pub struct ServiceSettings {
    /// Program to measure.
    pub program: PathBuf,
    /// Listen address.
    pub listen: SocketAddr,
    /// Folder of its database and recordings.
    pub folder: PathBuf,
    /// The exchange it dials through.
    pub exchange: SocketAddr,
    /// Concurrent calls.
    pub max_calls: u32,
    /// Dials per second.
    pub calls_per_second: f64,
    /// Fixed pause that ends a turn, if any.
    pub fixed_pause_ms: Option<u64>,
    /// Worker threads.
    pub workers: u16,
    /// Core to stay on.
    pub core: Option<usize>,
    /// Further environment variables.
    pub environment: Vec<(&'static str, String)>,
}

impl ServiceSettings {
    /// Returns options for twenty concurrent calls and twenty dials per second, on one thread and any core.
    pub fn new(folder: &Path, exchange: SocketAddr) -> Result<Self, BenchError> {
        Ok(Self {
            program: service()?,
            listen: free_address()?,
            folder: folder.to_owned(),
            exchange,
            max_calls: 20,
            calls_per_second: 20.0,
            fixed_pause_ms: None,
            workers: 1,
            core: None,
            environment: Vec::new(),
        })
    }

    /// Returns the URL of its database.
    pub fn database_url(&self) -> String {
        format!("sqlite://{}/ringback.db", self.folder.display())
    }

    /// Returns the base URL of its API.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.listen)
    }
}

/// Returns the path of the program to measure.
fn service() -> Result<PathBuf, BenchError> {
    let program = std::env::current_exe()?.with_file_name("ringback");
    match program.is_file() {
        true => Ok(program),
        false => Err(format!(
            "{} is not there: build it with `cargo build --release --workspace --bins`",
            program.display()
        )
        .into()),
    }
}

/// Keeps this program, with all its threads, on a core; does nothing if the system cannot.
pub async fn stay_on(core: usize) -> Result<(), BenchError> {
    if Path::new(TASKSET).exists() {
        let pid = std::process::id().to_string();
        let mut command = Command::new(TASKSET);
        command.args(["-a", "-c", "-p", &core.to_string(), &pid]);
        command.stdout(Stdio::null()).status().await?;
    }
    Ok(())
}

fn command(program: &Path, core: Option<usize>, arguments: &[OsString]) -> Command {
    let pinned = core.filter(|_| Path::new(TASKSET).exists());
    let mut command = match pinned {
        Some(core) => {
            let mut command = Command::new(TASKSET);
            command.arg("-c").arg(core.to_string()).arg(program);
            command
        }
        None => Command::new(program),
    };
    command
        .args(arguments)
        .kill_on_drop(true)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let log = std::env::var("RINGBACK_BENCH_LOG");
    command.env("RUST_LOG", log.unwrap_or_else(|_| "error".into()));
    command
}

impl Process {
    fn spawn(mut command: Command) -> Result<Self, BenchError> {
        let child = command.spawn()?;
        let pid = child.id().ok_or("the process ended at once")?;
        Ok(Self { child, pid })
    }

    /// Starts the service and waits until it is healthy.
    pub async fn service(settings: &ServiceSettings) -> Result<Self, BenchError> {
        let process = Self::spawn(Self::serving(settings))?;
        wait_for(&format!("{}/public/health", settings.base_url())).await?;
        Ok(process)
    }

    /// Starts the service and returns the time to its first healthy response.
    pub async fn timed_service(settings: &ServiceSettings) -> Result<(Self, Duration), BenchError> {
        let command = Self::serving(settings);
        let began = Instant::now();
        let process = Self::spawn(command)?;
        while !is_healthy(settings.listen).await {
            if began.elapsed() > START_LIMIT {
                return Err(format!("{} does not answer", settings.base_url()).into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok((process, began.elapsed()))
    }

    fn serving(settings: &ServiceSettings) -> Command {
        let workers = settings.workers.to_string();
        let mut arguments: Vec<OsString> = vec!["--workers".into(), workers.into(), "serve".into()];
        let mut option = |name: &str, value: String| arguments.extend([name.into(), value.into()]);
        option("--listen", settings.listen.to_string());
        option("--database-url", settings.database_url());
        option("--data-dir", settings.folder.display().to_string());
        option("--simulated-url", format!("http://{}", settings.exchange));
        option("--max-calls", settings.max_calls.to_string());
        option("--calls-per-second", settings.calls_per_second.to_string());
        if let Some(pause) = settings.fixed_pause_ms {
            option("--fixed-pause-ms", pause.to_string());
        }
        let mut command = command(&settings.program, settings.core, &arguments);
        // The bench sends more requests for one account than the default allows.
        command.env("RINGBACK_RATE_LIMIT", "0");
        // Measures the machine's limit, not the point at which the service begins to shed load.
        command.env("RINGBACK_SHED_CPU", "100");
        command.envs(settings.environment.iter().map(|(name, value)| (*name, value)));
        command
    }

    /// Starts the phones with these options and waits until they answer.
    pub async fn phones(
        listen: SocketAddr,
        log: &Path,
        core: Option<usize>,
        options: &[&str],
    ) -> Result<Self, BenchError> {
        let mut arguments: Vec<OsString> = vec!["phones".into(), "--listen".into(), listen.to_string().into()];
        arguments.extend(["--log".into(), log.into(), "--max-calls".into(), "5000".into()]);
        arguments.extend(options.iter().map(OsString::from));
        let process = Self::spawn(command(&service()?, core, &arguments))?;
        wait_for(&format!("http://{listen}/v1/calls")).await?;
        Ok(process)
    }

    /// Starts stubs of providers and waits until they answer.
    pub async fn stub_providers(listen: SocketAddr, times: &str, core: Option<usize>) -> Result<Self, BenchError> {
        let arguments: Vec<OsString> = ["--workers", "1", "providers", "stub", "--listen"]
            .into_iter()
            .map(OsString::from)
            .chain([listen.to_string().into(), "--times".into(), times.into()])
            .collect();
        let process = Self::spawn(command(&service()?, core, &arguments))?;
        wait_for(&format!("http://{listen}/health")).await?;
        Ok(process)
    }

    /// Kills the process (SIGKILL) and waits until it is gone.
    pub async fn kill(mut self) -> Result<(), BenchError> {
        self.child.kill().await?;
        Ok(())
    }

    /// Returns the processor time used so far, in seconds.
    pub fn cpu_seconds(&self) -> Result<f64, BenchError> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        // The second field is the name in brackets and may contain blanks; utime and stime are the 14th and 15th.
        let rest = stat.rsplit_once(')').ok_or("no process name")?.1;
        let mut fields = rest.split_whitespace().skip(11);
        let mut ticks = || {
            fields
                .next()
                .ok_or("no processor time")?
                .parse::<f64>()
                .map_err(BenchError::from)
        };
        // Linux reports both in hundredths of a second.
        Ok((ticks()? + ticks()?) / 100.0)
    }

    /// Returns the time for which its present threads were ready and had no core, in seconds.
    pub fn waited_seconds(&self) -> Result<f64, BenchError> {
        let mut waited_ns = 0.0;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.pid))? {
            // A thread may end meanwhile. The fields: time on a core, time waiting for one, both in nanoseconds.
            let Ok(text) = std::fs::read_to_string(thread?.path().join("schedstat")) else {
                continue;
            };
            let waited = text.split_whitespace().nth(1).and_then(|ns| ns.parse::<f64>().ok());
            waited_ns += waited.ok_or("no waiting time in /proc")?;
        }
        Ok(waited_ns / 1e9)
    }

    /// Returns the resident memory, in MiB.
    pub fn resident_mib(&self) -> Result<f64, BenchError> {
        self.status_mib("VmRSS:")
    }

    /// Returns the peak memory since [`Process::forget_peak`], in MiB.
    pub fn peak_mib(&self) -> Result<f64, BenchError> {
        self.status_mib("VmHWM:")
    }

    /// Returns the number of sockets it holds, including listening ones.
    pub fn sockets(&self) -> Result<u64, BenchError> {
        let mut sockets = 0;
        for file in std::fs::read_dir(format!("/proc/{}/fd", self.pid))? {
            // A file that is closed meanwhile does not count.
            let target = std::fs::read_link(file?.path()).unwrap_or_default();
            sockets += u64::from(target.to_string_lossy().starts_with("socket:"));
        }
        Ok(sockets)
    }

    /// Resets the peak.
    pub fn forget_peak(&self) -> Result<(), BenchError> {
        Ok(std::fs::write(format!("/proc/{}/clear_refs", self.pid), "5")?)
    }

    fn status_mib(&self, name: &str) -> Result<f64, BenchError> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        let line = status
            .lines()
            .find_map(|l| l.strip_prefix(name))
            .ok_or("no memory in /proc")?;
        let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kib / 1024.0)
    }
}

/// Creates an account in a database that no service uses, and returns its key.
pub async fn create_account(settings: &ServiceSettings) -> Result<String, BenchError> {
    let arguments = ["account", "create", "--email", ACCOUNT_EMAIL, "--database-url"].map(OsString::from);
    let output = Command::new(&settings.program)
        .args(arguments)
        .arg(settings.database_url())
        .output()
        .await?;
    if !output.status.success() {
        return Err(format!("no account: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let account: Value = serde_json::from_slice(&output.stdout)?;
    Ok(account["apiKey"].as_str().ok_or("no key in the account")?.to_owned())
}

async fn is_healthy(address: SocketAddr) -> bool {
    let Ok(mut connection) = Connection::open(address).await else {
        return false;
    };
    let asked = connection.get("/public/health", "").await;
    asked.is_ok_and(|answer| answer.status == 200)
}

async fn wait_for(url: &str) -> Result<(), BenchError> {
    let client = http_client::builder().timeout(Duration::from_secs(2)).build()?;
    let deadline = tokio::time::Instant::now() + START_LIMIT;
    loop {
        match client.get(url).send().await {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            outcome if tokio::time::Instant::now() > deadline => {
                return Err(format!("{url} does not answer: {outcome:?}").into());
            }
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
