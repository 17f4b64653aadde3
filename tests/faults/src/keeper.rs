//! Processes that end with this one, however it ends: each has a shell that waits for the end of its standard
//! input and then kills it.

use std::{
    ffi::OsString,
    io::{self, BufRead, BufReader},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// `$1` is the log, the rest the command.
const KEEPER: &str = r#"
trap : INT TERM
log=$1; shift
"$@" </dev/null >>"$log" 2>&1 &
echo $!
exec >&-
cat >/dev/null
kill -KILL $! 2>/dev/null
wait $!
"#;

/// A process that is killed when this is dropped.
pub struct Kept {
    keeper: Child,
    held: Option<ChildStdin>,
    pid: Pid,
}

impl Kept {
    /// Starts a program with only this environment.
    pub fn start(
        program: &Path,
        arguments: &[OsString],
        environment: &[(String, String)],
        log: &Path,
    ) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", KEEPER, "sh"]).arg(log).arg(program).args(arguments);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .envs(environment.iter().cloned())
            // Leaves this process's group, because it must outlive the end of that group by a moment.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut keeper = command.spawn()?;
        let held = keeper.stdin.take();
        let mut line = String::new();
        if let Some(stdout) = keeper.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let pid = line.trim().parse().map_err(io::Error::other)?;
        Ok(Self {
            keeper,
            held,
            pid: Pid::from_raw(pid),
        })
    }

    /// Returns its process id.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match self.runs() {
            true => kill(self.pid, signal).map_err(io::Error::from),
            false => Ok(()),
        }
    }

    /// Returns whether it still runs (or is stopped).
    pub fn runs(&self) -> bool {
        self.stat()
            .is_some_and(|(state, parent)| parent == self.keeper.id() && !matches!(&*state, "Z" | "X"))
    }

    /// Returns how an ended process ended: its exit code, or 128 and its signal.
    pub fn code(mut self) -> io::Result<Option<i32>> {
        self.end()
    }

    /// Returns the state and the parent of the process with its id. The id may belong to another process once
    /// its keeper has seen its end.
    fn stat(&self) -> Option<(String, u32)> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
    }

    /// Kills it and waits until it is gone.
    pub fn kill(mut self) -> io::Result<()> {
        self.end().map(drop)
    }

    fn end(&mut self) -> io::Result<Option<i32>> {
        if self.runs() {
            let _ = kill(self.pid, Signal::SIGKILL);
        }
        self.held = None;
        let limit = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(status) = self.keeper.try_wait()? {
                return Ok(status.code());
            }
            if Instant::now() > limit {
                return Err(io::Error::other("a killed process does not end"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
