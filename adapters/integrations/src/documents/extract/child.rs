//! The process in which a document is read: `ringback extract`, which is not for people.

use std::{
    io::{self, Read, Write},
    process::ExitCode,
};

use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};

use super::{super::format::Format, TEXT_BYTES, text, too_long};

/// Exit code when the document has no text that can be read; why stands on the standard output.
pub const REFUSED: i32 = 3;
/// Exit code when the process cannot be limited; why stands on the standard output.
pub const NO_LIMITS: i32 = 4;

/// Address space of the process.
pub const MEMORY_BYTES: u64 = 512 * 1024 * 1024;
/// Processor time in seconds, should the parent be gone and nobody stop it.
const PROCESSOR_SECONDS: u64 = 20;
/// The most bytes of a document.
const INPUT_BYTES: u64 = 64 * 1024 * 1024;

/// `ringback extract`.
#[derive(Debug, Clone, Args)]
pub struct ExtractArgs {
    /// What the standard input holds
    #[arg(long, value_enum)]
    pub format: Format,

    /// The charset that was named for it
    #[arg(long)]
    pub charset: Option<String>,
}

/// Reads a document from the standard input and writes its text to the standard output.
pub fn run(args: &ExtractArgs) -> ExitCode {
    if let Err(error) = limit() {
        return ended(
            NO_LIMITS,
            &format!("cannot limit the process that reads documents: {error}"),
        );
    }
    let mut bytes = Vec::new();
    if let Err(error) = io::stdin().lock().take(INPUT_BYTES).read_to_end(&mut bytes) {
        return ended(REFUSED, &format!("cannot be read: {error}"));
    }
    match text::of(&bytes, args.format, args.charset.as_deref()) {
        Ok(text) if text.len() > TEXT_BYTES => ended(REFUSED, &too_long()),
        Ok(text) => ended(0, &text),
        Err(why) => ended(REFUSED, &why.to_string()),
    }
}

/// How far below calls, whose audio must not wait, a document stands for the processor.
const NICENESS: i32 = 15;

/// Memory and processor time; no file, no core dump.
fn limit() -> io::Result<()> {
    for (resource, most) in [
        (Resource::As, MEMORY_BYTES),
        (Resource::Cpu, PROCESSOR_SECONDS),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ] {
        let most = getrlimit(resource).maximum.map_or(most, |hard| hard.min(most));
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit)?;
    }
    nice(NICENESS)?;
    Ok(())
}

fn ended(code: i32, output: &str) -> ExitCode {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(output.as_bytes()).and_then(|()| stdout.flush());
    match written {
        Ok(()) => u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from),
        Err(_) => ExitCode::FAILURE,
    }
}
