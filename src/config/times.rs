//! Times on which the nodes of a database agree, from flags and environment variables.

use std::time::Duration;

use clap::Args;
use domain::node_times::{Times, TimesError};
use net::setting::whole;

/// The times contradict each other. The message names their settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", with_settings(.0))]
pub struct InvalidTimes(#[from] TimesError);

/// Describes the error with the names of settings.
fn with_settings(error: &TimesError) -> String {
    let setting = |time: &str| format!("RINGBACK_{}_MS", time.to_uppercase().replace('-', "_"));
    match error {
        TimesError::Zero(time) => format!("{} is 0: set it to at least 1", setting(time)),
        TimesError::TooShort {
            long,
            is,
            times,
            short,
            of,
        } => {
            let least = of.saturating_mul(*times).as_millis();
            let (long, is, short) = (setting(long), is.as_millis(), setting(short));
            format!("{long} is {is}: set it to at least {least} ({times} × {short})")
        }
    }
}

/// Times in milliseconds. They must be the same on all nodes of a database.
#[derive(Debug, Clone, Args)]
pub struct TimesConfig {
    /// Milliseconds between heartbeats of a node; a process that was suspended for longer dials again only
    /// after its next heartbeat
    #[arg(long, env = "RINGBACK_HEARTBEAT_MS", default_value_t = 3_000, value_parser = whole(50..=60_000_u64))]
    pub heartbeat_ms: u64,

    /// Milliseconds of silence after which a node counts as dead and others take over its work, on
    /// PostgreSQL; at least 3 times RINGBACK_SEND_WITHIN_MS and 4 times RINGBACK_HEARTBEAT_MS
    #[arg(long, env = "RINGBACK_DEAD_AFTER_MS", default_value_t = 15_000, value_parser = whole(200..=600_000_u64))]
    pub dead_after_ms: u64,

    /// Milliseconds after which a dial permit may no longer be used
    #[arg(long, env = "RINGBACK_SEND_WITHIN_MS", default_value_t = 5_000, value_parser = whole(50..=60_000_u64))]
    pub send_within_ms: u64,

    /// Milliseconds after which a dial without an answer is first looked up at the carrier
    #[arg(long, env = "RINGBACK_SETTLE_FROM_MS", default_value_t = 15_000, value_parser = whole(50..=600_000_u64))]
    pub settle_from_ms: u64,

    /// Milliseconds after which a dial without an answer counts as failed; at least 4 times RINGBACK_SETTLE_FROM_MS
    #[arg(long, env = "RINGBACK_SETTLE_UNTIL_MS", default_value_t = 120_000, value_parser = whole(200..=3_600_000_u64))]
    pub settle_until_ms: u64,
}

impl Default for TimesConfig {
    fn default() -> Self {
        let (times, ms) = (Times::default(), |time: Duration| {
            u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
        });
        Self {
            heartbeat_ms: ms(times.heartbeat),
            dead_after_ms: ms(times.dead_after),
            send_within_ms: ms(times.send_within),
            settle_from_ms: ms(times.settle_from),
            settle_until_ms: ms(times.settle_until),
        }
    }
}

impl TimesConfig {
    /// Returns the times if they are consistent.
    ///
    /// # Errors
    ///
    /// Returns an error that names the two times in conflict and the smallest value that would do.
    pub fn times(&self) -> Result<Times, InvalidTimes> {
        let times = Times {
            heartbeat: Duration::from_millis(self.heartbeat_ms),
            dead_after: Duration::from_millis(self.dead_after_ms),
            send_within: Duration::from_millis(self.send_within_ms),
            settle_from: Duration::from_millis(self.settle_from_ms),
            settle_until: Duration::from_millis(self.settle_until_ms),
        };
        times.check()?;
        Ok(times)
    }
}
