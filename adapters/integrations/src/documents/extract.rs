//! Extraction of a document's text in a separate process. Libraries that read web pages and PDF files get
//! hostile input. A panic, a loop or a decompression bomb costs only one document. Time, memory and output
//! are limited.

pub mod child;
mod text;

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
    sync::Semaphore,
};

pub use text::TEXT_BYTES;
use text::too_long;

use super::format::{Format, Recognised};

/// Time limit for one document.
pub const TIME: Duration = Duration::from_secs(10);
/// Maximum number of documents read at once, each with [`child::MEMORY_BYTES`] at most.
const AT_ONCE: usize = 2;
/// How long a document waits for its turn.
const TURN: Duration = Duration::from_secs(20);

/// Reason why there is no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// The document has no text, or none that can be read.
    #[error("{0}")]
    Unreadable(String),
    /// Too many documents are waiting.
    #[error("too many documents are being read at the moment")]
    Busy,
    /// The process cannot be started.
    #[error("{0}")]
    Broken(String),
}

/// Content of a document.
#[derive(Debug)]
pub enum Source {
    /// The whole content.
    Bytes(Bytes),
    /// A file, read from its present position to its end.
    File(File),
}

/// Extractor that starts the processes.
pub struct Extractor {
    program: PathBuf,
    turns: Semaphore,
}

/// Returns the path of this program for [`Extractor::new`]. It stays valid when the file is replaced by a newer one.
///
/// # Errors
/// Returns an error if the system does not tell the path.
pub fn this_program() -> io::Result<PathBuf> {
    let itself = Path::new("/proc/self/exe");
    if itself.exists() {
        return Ok(itself.to_owned());
    }
    std::env::current_exe()
}

impl Extractor {
    /// Creates an extractor. `program` is this program, or another one with the hidden command `extract`.
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            turns: Semaphore::new(AT_ONCE),
        }
    }

    /// Returns the text of a document.
    ///
    /// # Errors
    /// Returns an error if there is no text, for any reason.
    pub async fn text(&self, source: Source, recognised: &Recognised) -> Result<String, ExtractError> {
        let turn = tokio::time::timeout(TURN, self.turns.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            return Err(ExtractError::Busy);
        };
        let (child, bytes) = self.start(source, recognised).map_err(|error| {
            let program = self.program.display();
            ExtractError::Broken(format!("cannot start {program} to read a document: {error}"))
        })?;
        let Ok(ended) = tokio::time::timeout(TIME, run(child, bytes)).await else {
            let seconds = TIME.as_secs();
            return Err(unreadable(&format!("takes more than {seconds} s to read")));
        };
        let (status, output) = ended.map_err(|error| ExtractError::Broken(error.to_string()))?;
        answer(status, output, recognised.format)
    }

    fn start(&self, source: Source, recognised: &Recognised) -> io::Result<(Child, Bytes)> {
        let (stdin, bytes) = match source {
            Source::Bytes(bytes) => (Stdio::piped(), bytes),
            Source::File(file) => (Stdio::from(file), Bytes::new()),
        };
        let mut command = Command::new(&self.program);
        command.args(["extract", "--format", recognised.format.as_str()]);
        if let Some(charset) = &recognised.charset {
            command.arg(format!("--charset={charset}"));
        }
        // The environment contains keys, so none of it is passed on.
        command.env_clear().current_dir("/").kill_on_drop(true);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::null());
        Ok((command.spawn()?, bytes))
    }
}

/// Feeds the process and reads its output to the end.
async fn run(mut child: Child, bytes: Bytes) -> io::Result<(ExitStatus, Vec<u8>)> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let feed = async move {
        if let Some(mut stdin) = stdin {
            // A process that ended early reports the reason by its exit code.
            let _ = stdin.write_all(&bytes).await;
        }
    };
    let hear = async move {
        let mut output = Vec::new();
        if let Some(stdout) = stdout {
            // Reads one byte more than is accepted, to detect longer output.
            stdout.take(TEXT_BYTES as u64 + 1).read_to_end(&mut output).await?;
        }
        io::Result::Ok(output)
    };
    let ((), output) = tokio::join!(feed, hear);
    Ok((child.wait().await?, output?))
}

fn answer(status: ExitStatus, output: Vec<u8>, format: Format) -> Result<String, ExtractError> {
    let text = String::from_utf8(output).map_err(|_| ExtractError::Broken("a text is not UTF-8".to_owned()))?;
    match status.code() {
        Some(0) if text.len() > TEXT_BYTES => Err(unreadable(&too_long())),
        Some(0) => Ok(text),
        Some(child::REFUSED) => Err(unreadable(&text)),
        Some(child::NO_LIMITS) => Err(ExtractError::Broken(text)),
        // A panic, or an end by the limits.
        _ => {
            tracing::info!(%status, format = format.as_str(), "reading a document failed");
            Err(unreadable(
                "cannot be read: it is damaged, or needs too much memory or time",
            ))
        }
    }
}

fn unreadable(what: &str) -> ExtractError {
    ExtractError::Unreadable(format!("the document {what}"))
}
