//! Instants of the wall clock, and the clock as a port.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

/// An instant: microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Returns whole seconds since the epoch, for the API's `…Unix` fields.
    pub fn unix_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Formats as ISO 8601 in UTC with microseconds and `Z`, like every timestamp of the API.
    pub fn to_iso8601(self) -> String {
        self.to_utc().to_rfc3339_opts(SecondsFormat::Micros, true)
    }

    /// Parses a time in ISO 8601 with an offset.
    pub fn from_iso8601(text: &str) -> Option<Self> {
        Some(DateTime::parse_from_rfc3339(text).ok()?.to_utc().into())
    }

    /// Formats as ISO 8601 in whole seconds with the offset of the zone at that time.
    pub fn to_iso8601_in(self, zone: Tz) -> String {
        let local = self.to_utc().with_timezone(&zone);
        local.to_rfc3339_opts(SecondsFormat::Secs, false)
    }

    /// Returns the instant as a chrono value; the epoch if it is outside chrono's range.
    pub fn to_utc(self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.0).unwrap_or_default()
    }

    /// Returns the instant moved later.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Returns the time since `earlier`; zero if that is later than this instant.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(at: DateTime<Utc>) -> Self {
        Self(at.timestamp_micros())
    }
}

/// Source of the wall-clock time. It is passed as a parameter, so that tests control the time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Returns the present instant.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Utc::now().into()
    }
}

/// A wall clock that follows tokio's: it stops while tokio's time is paused and jumps when that is advanced.
#[derive(Debug, Clone, Copy)]
pub struct TokioClock {
    origin: Timestamp,
    started: tokio::time::Instant,
}

impl TokioClock {
    /// Creates a clock that reads `origin` now.
    pub fn starting_at(origin: Timestamp) -> Self {
        Self {
            origin,
            started: tokio::time::Instant::now(),
        }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        self.origin.plus(self.started.elapsed())
    }
}
