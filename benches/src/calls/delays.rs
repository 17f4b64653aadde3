//! Delays that the service itself added to audio during a measurement, by its own count.

use std::net::SocketAddr;

use actors::audio_stream::{DELAY_BOUNDS, DELAY_SECONDS};

use crate::{BenchError, connection::Connection};

/// Counts of one kind by bound; the last one is beyond all bounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted([u64; DELAY_BOUNDS.len() + 1]);

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
    /// Reads one kind, which is not there before its first delay.
    fn of(metrics: &str, what: &str) -> Result<Self, BenchError> {
        let mut counted = Self::default();
        let mut below = 0;
        for (place, bound) in bounds().enumerate() {
            let name = format!("{DELAY_SECONDS}_bucket{{of=\"{what}\",le=\"{bound}\"}} ");
            let value = metrics.lines().find_map(|line| line.strip_prefix(&name));
            let up_to = value.map_or(Ok(below), |value| value.trim().parse::<u64>())?;
            counted.0[place] = up_to.saturating_sub(below);
            below = up_to;
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
        Some(DELAY_BOUNDS.get(place).map_or(f64::INFINITY, |bound| bound * 1_000.0))
    }
}

/// Returns the bounds as the metrics show them.
fn bounds() -> impl Iterator<Item = String> {
    let beyond = ["+Inf".to_owned()];
    DELAY_BOUNDS.iter().map(ToString::to_string).chain(beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_bounds_that_they_do_not_exceed() {
        let metrics: String = bounds()
            .map(|bound| {
                let up_to = match bound.as_str() {
                    "+Inf" => 100,
                    bound if bound.parse::<f64>().unwrap() < 0.005 => 98,
                    _ => 99,
                };
                format!("{DELAY_SECONDS}_bucket{{of=\"frame\",le=\"{bound}\"}} {up_to}\n")
            })
            .collect();
        let counted = Counted::of(&metrics, "frame").unwrap();
        assert_eq!(counted.all(), 100);
        for (share, ms) in [(0.5, 0.1), (0.98, 0.1), (0.99, 5.0), (1.0, f64::INFINITY)] {
            assert_eq!(counted.percentile_ms(share), Some(ms), "{share}");
        }
        assert_eq!(counted.since(counted).percentile_ms(0.99), None);
        assert_eq!(Counted::of(&metrics, "clear").unwrap().all(), 0);
    }
}
