//! Sends random texts through a simulated telephone line as babble and counts the results: `cargo run
//! --release -p media --example babble_check -- --cases 10000`. Fails if a word is ever wrong, or missing
//! without a report.

#[path = "babble_check/chain.rs"]
mod chain;

use std::{process::ExitCode, time::Instant};

use chain::{LineQuality, Outcome};
use media::babble::{Listener, Speaker, Voice};

fn cases() -> Result<u64, String> {
    let mut arguments = std::env::args().skip(1);
    let mut cases = 1_000;
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--cases", Some(number)) => {
                cases = number
                    .parse()
                    .map_err(|_| format!("--cases needs a number, got `{number}`"))?;
            }
            _ => {
                return Err(format!(
                    "unknown argument `{argument}`; only --cases NUMBER is understood"
                ));
            }
        }
    }
    Ok(cases)
}

/// Runs all cases on one line and prints the counts. Returns the number of silent errors.
fn check(line: LineQuality, cases: u64) -> usize {
    let (mut exact, mut flagged, mut silent, mut interims) = (0, 0, 0, 0);
    let (mut characters, mut samples) = (0, 0);
    for seed in 0..cases {
        let report = chain::run(seed, line);
        interims += report.wrong_interims;
        characters += report.characters;
        samples += report.samples;
        match report.outcome {
            Outcome::Exact => exact += 1,
            Outcome::Flagged => flagged += 1,
            Outcome::Silent(why) => {
                silent += 1;
                println!("seed {seed}: {why}");
            }
        }
    }
    println!("{line:?}: {exact} exact, {flagged} flagged, {silent} silent; {interims} wrong interims");
    println!(
        "{:.1} characters/s over all texts",
        characters as f64 * 16_000.0 / samples as f64
    );
    silent
}

#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark measures time; the library never does"
)]
fn costs() {
    let text = "The quick brown fox jumps over the lazy dog, and then it does it again. ".repeat(20);
    for rate in [8_000, 16_000] {
        let Ok(mut speaker) = Speaker::new(&text, Voice::named("cost"), rate) else {
            return;
        };
        let seconds = speaker.total_samples() as f64 / f64::from(rate);
        let (start, mut audio) = (Instant::now(), Vec::new());
        while let Some(chunk) = speaker.next_chunk(rate as usize / 5) {
            audio.extend(chunk);
        }
        let cost = start.elapsed().as_secs_f64() * 1e3 / seconds;
        println!(
            "{rate} Hz: {:.2} characters/s; synthesis {cost:.3} ms per second of audio",
            text.len() as f64 / seconds
        );
        if rate == 8_000 {
            let (start, mut heard, mut listener) = (Instant::now(), Vec::new(), Listener::new());
            for frame in audio.chunks(160) {
                listener.push(frame, &mut heard);
            }
            let cost = start.elapsed().as_secs_f64() * 1e3 / seconds;
            println!("decoding {cost:.3} ms per second of audio, {} events", heard.len());
        }
    }
}

fn main() -> ExitCode {
    let cases = match cases() {
        Ok(cases) => cases,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    costs();
    let silent: usize = [LineQuality::Clean, LineQuality::Corrupted]
        .map(|line| check(line, cases))
        .iter()
        .sum();
    if silent == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
