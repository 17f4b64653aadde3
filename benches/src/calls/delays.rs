//! Delays that the service itself added to audio during a measurement, by its own count.

use std::net::SocketAddr;

use actors::audio_stream::DELAY_BOUNDS_US;

use crate::{BenchError, connection::Connection};
use ringback::telemetry::MEDIA_DELAYS;

/// Counts of one kind by bound in microseconds; the last one is beyond all bounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted([u64; DELAY_BOUNDS_US.len() + 1]);

/// Delays from the socket to the session, and from the decision to the `clear` on the socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeldUp {
    /// Frames.
    pub frames: Counted,
    /// Clears.
    pub clears: Counted,
}

impl HeldUp {
    /// Reads the service's counts so far.
    pub async fn read(service: SocketAddr) -> Result<Self, BenchError> {
        let answer = Connection::open(service).await?.get("/metrics", "").await?;
        let text = String::from_utf8(answer.body)?;
        Ok(Self {
            frames: Counted::of(&text, "frame")?,
            clears: Counted::of(&text, "clear")?,
        })
    }

    /// Returns the counts since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            frames: self.frames.since(before.frames),
            clears: self.clears.since(before.clears),
        }
    }
}

impl Counted {
    fn of(metrics: &str, what: &str) -> Result<Self, BenchError> {
        let mut counted = Self::default();
        let bounds = DELAY_BOUNDS_US
            .iter()
            .map(ToString::to_string)
            .chain(["longer".to_owned()]);
        for (place, bound) in bounds.enumerate() {
            let name = format!("{MEDIA_DELAYS}{{of=\"{what}\",up_to_us=\"{bound}\"}} ");
            let value = metrics.lines().find_map(|line| line.strip_prefix(&name));
            let value = value.ok_or_else(|| format!("no `{name}` in the metrics"))?;
            counted.0[place] = value.trim().parse()?;
        }
        Ok(counted)
    }

    fn since(self, before: Self) -> Self {
        Self(std::array::from_fn(|place| {
            self.0[place].saturating_sub(before.0[place])
        }))
    }

    /// Returns the total number.
    pub fn all(self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the bound in ms that `share` of the events did not exceed: infinite beyond all bounds,
    /// `None` without events.
    pub fn percentile_ms(self, share: f64) -> Option<f64> {
        let wanted = (share * self.all() as f64).ceil().max(1.0);
        let mut seen = 0;
        let place = self.0.iter().position(|count| {
            seen += count;
            seen as f64 >= wanted
        })?;
        let ms = |us: &u64| *us as f64 / 1_000.0;
        Some(DELAY_BOUNDS_US.get(place).map_or(f64::INFINITY, ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_bounds_that_they_do_not_exceed() {
        let metrics: String = DELAY_BOUNDS_US
            .iter()
            .map(ToString::to_string)
            .chain(["longer".to_owned()])
            .map(|bound| {
                let count = match bound.as_str() {
                    "100" => 98,
                    "5000" | "longer" => 1,
                    _ => 0,
                };
                format!("{MEDIA_DELAYS}{{of=\"frame\",up_to_us=\"{bound}\"}} {count}\n")
            })
            .collect();
        let counted = Counted::of(&metrics, "frame").unwrap();
        assert_eq!(counted.all(), 100);
        for (share, ms) in [(0.5, 0.1), (0.98, 0.1), (0.99, 5.0), (1.0, f64::INFINITY)] {
            assert_eq!(counted.percentile_ms(share), Some(ms), "{share}");
        }
        assert_eq!(counted.since(counted).percentile_ms(0.99), None);
        assert!(Counted::of(&metrics, "clear").is_err());
    }
}
