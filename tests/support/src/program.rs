//! The real binary in its own folder, without the caller's environment.

use std::{
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// Longest wait for a command to end and for a service to listen.
const WITHIN: Duration = Duration::from_secs(20);

const LISTENS: &str = "Ringback listens on ";

/// A folder to run the binary in.
pub struct Program {
    folder: TempDir,
}

/// A command that ended.
#[derive(Debug)]
pub struct Ended {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A running process; dropping it kills the process.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
}

/// Returns the path of the service's binary. Cargo builds it with the tests of the root and with `--workspace`.
pub fn path() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().nth(2).unwrap();
    built.join(format!("ringback{}", std::env::consts::EXE_SUFFIX))
}

impl Program {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Returns a path in its folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts the binary. `settings` are environment variables; the last one of a name counts.
    pub fn start(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Running {
        let mut command = Command::new(path());
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("TMPDIR", self.folder.path())
            .env("DATABASE_URL", format!("sqlite://{}", self.path("test.db").display()))
            .env("RINGBACK_LISTEN", "127.0.0.1:0")
            // Other processes on the machine must not change the result of a test.
            .env("RINGBACK_SHED_CPU", "100")
            .env("RINGBACK_SHED_MEMORY", "100")
            .env("RINGBACK_SHED_LAG_MS", "0")
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            // A test may stop reading early.
            BufReader::new(stdout).lines().map_while(Result::ok).all(|line| {
                let _ = sender.send(line);
                true
            })
        });
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        Running {
            child,
            lines,
            stderr: Some(stderr),
        }
    }

    /// Runs the binary to its end.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with(arguments, &[])
    }

    /// Runs the binary to its end, with settings.
    pub fn run_with(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Ended {
        self.start(arguments, settings).end()
    }

    /// Starts the service; returns its address too.
    pub fn serve(&self) -> (Running, String) {
        self.serve_with(&[])
    }

    /// Starts the service with settings; returns its address too.
    pub fn serve_with(&self, settings: &[(&str, &str)]) -> (Running, String) {
        let running = self.start(&["serve"], settings);
        let address = running.address();
        (running, address)
    }
}

impl Running {
    /// Returns the address of a service, once it listens.
    pub fn address(&self) -> String {
        self.line_after(LISTENS)
    }

    /// Returns the rest of the line that begins with `beginning`.
    pub fn line_after(&self, beginning: &str) -> String {
        let line = self.line(|line| line.starts_with(beginning));
        line.trim_start_matches(beginning).to_owned()
    }

    /// Waits for a line on its standard output.
    fn line(&self, wanted: impl Fn(&str) -> bool) -> String {
        let limit = Instant::now() + WITHIN;
        loop {
            let left = limit.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if wanted(&line) => return line,
                Ok(_) => {}
                Err(error) => panic!("the line did not come: {error}"),
            }
        }
    }

    /// Sends a signal such as `TERM`.
    pub fn signal(&self, name: &str) {
        let process = self.child.id();
        // The shell's builtin, because a minimal machine has no `kill` program.
        let kill = format!("kill -s {name} {process}");
        let sent = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ended {
        let limit = Instant::now() + WITHIN;
        let mut stdout = String::new();
        loop {
            let left = limit.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => stdout.push_str(&(line + "\n")),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("did not end within {WITHIN:?}: {stdout}"),
            }
        }
        Ended {
            code: self.child.wait().unwrap().code(),
            stdout,
            stderr: self.stderr.take().unwrap().join().unwrap(),
        }
    }
}

impl Ended {
    /// Asserts success; returns the JSON it printed.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// Asserts a failure that prints nothing but one message, and returns the message.
    #[track_caller]
    pub fn refusal(&self) -> &str {
        assert!(self.code.is_some_and(|code| code != 0), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        let message = self.stderr.trim_end();
        // The parser of the command line adds a hint to the help.
        let message = message
            .strip_suffix("For more information, try '--help'.")
            .unwrap_or(message)
            .trim_end();
        assert_eq!(message.lines().count(), 1, "one line: {message}");
        message
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
