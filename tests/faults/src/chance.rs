//! Random numbers that depend only on the seed and a name, whatever happens in between.

use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::journal::Outcome;

/// Returns a generator for one subject.
pub fn of(seed: u64, name: &str) -> StdRng {
    // FNV-1a.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    StdRng::seed_from_u64(hash ^ seed)
}

/// Time for which a patient callee stays.
const PATIENCE_MS: u64 = 180_000;

/// Behaviour of a telephone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callee {
    /// Picks up and hangs up after this many milliseconds.
    Answers(u64),
    Busy,
    Rejects,
    /// Rings until the time is over.
    NotHome,
}

/// Decisions about a call, made when it is requested.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub outcome: Outcome,
    pub callee: Callee,
    /// Milliseconds from the request to the ringing.
    pub setup_ms: u64,
    pub ring_ms: u64,
    pub answer_ms: u64,
}

/// Faults of the carrier and the webhook receiver themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Manner {
    /// Responses get lost and break, requests fail, callbacks repeat and come late.
    Faulty,
    /// No faults, and calls are short.
    Faultless,
    /// No faults, and most callees stay for some seconds.
    Talkative,
    /// No faults, and every callee stays for minutes.
    Patient,
}

/// Returns the plan of one dial of a number.
pub fn plan(rng: &mut StdRng, manner: Manner) -> Plan {
    let faultless = manner != Manner::Faulty;
    let outcome = match rng.random_range(0..100) {
        _ if faultless => Outcome::Placed,
        0..3 => Outcome::AnswerBroken,
        3..5 => Outcome::AnswerLost,
        5..7 => Outcome::PlacedAndFailed,
        7..9 => Outcome::Failed,
        9..12 => Outcome::Throttled,
        12..14 => Outcome::Refused,
        _ => Outcome::Placed,
    };
    let callee = match rng.random_range(0..100) {
        _ if manner == Manner::Patient => Callee::Answers(PATIENCE_MS),
        0..80 if manner == Manner::Talkative => Callee::Answers(rng.random_range(2_000..6_000)),
        0..60 if faultless => Callee::Answers(rng.random_range(400..900)),
        0..80 if faultless => Callee::Busy,
        _ if faultless => Callee::Rejects,
        0..55 => Callee::Answers(rng.random_range(600..2_500)),
        55..65 => Callee::Answers(rng.random_range(3_000..12_000)),
        65..80 => Callee::Busy,
        80..90 => Callee::Rejects,
        _ => Callee::NotHome,
    };
    Plan {
        outcome,
        callee,
        setup_ms: rng.random_range(5..150),
        ring_ms: rng.random_range(50..900),
        answer_ms: rng.random_range(0..120),
    }
}

/// Returns the delay of a callback and how often it is sent.
pub fn callback(rng: &mut StdRng, manner: Manner) -> (u64, usize) {
    if manner != Manner::Faulty {
        return (0, 1);
    }
    let delay = match rng.random_range(0..100) {
        0..12 => rng.random_range(200..2_500),
        _ => rng.random_range(0..40),
    };
    let times = match rng.random_range(0..100) {
        0..3 => 0,
        3..15 => 2,
        _ => 1,
    };
    (delay, times)
}
