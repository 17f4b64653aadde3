//! Process in which a document is read: the internal command `ringback extract`.

use std::{
    io::{self, Read, Write},
    process::ExitCode,
};

use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};

use super::text::{self, TEXT_BYTES, too_long};
use crate::documents::format::Format;

/// Exit code if the document has no readable text. The reason is on standard output.
pub const REFUSED: i32 = 3;
/// Exit code if the process cannot be limited. The reason is on standard output.
pub const NO_LIMITS: i32 = 4;

/// Maximum address space of the process, in bytes.
pub const MEMORY_BYTES: u64 = 512 * 1024 * 1024;
/// Maximum processor time in seconds, in case the parent is gone and nobody stops the process.
const PROCESSOR_SECONDS: u64 = 20;
/// Maximum size of a document in bytes.
const INPUT_BYTES: u64 = 64 * 1024 * 1024;

/// Arguments of `ringback extract`.
#[derive(Debug, Clone, Args)]
pub struct ExtractArgs {
    /// Format of the document on standard input
    #[arg(long, value_enum)]
    pub format: Format,

    /// Charset of the document, if one was given
    #[arg(long)]
    pub charset: Option<String>,
}

/// Reads a document from standard input and writes its text to standard output.
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

/// Niceness of the process, so that calls, whose audio must not wait, come first.
const NICENESS: i32 = 15;

/// Limits memory and processor time, and forbids files and core dumps.
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
