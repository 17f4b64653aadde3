//! Times on which several nodes agree. They are the same on all nodes of a database.

use std::time::Duration;

/// Interval of heartbeats, and the delays that follow silence and unanswered dials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Interval between a node's heartbeats. A process that was suspended for longer doubts that it still
    /// holds its calls.
    pub heartbeat: Duration,
    /// Silence after which a node counts as dead and others take over its work.
    pub dead_after: Duration,
    /// How long a dial permit may be used after it was requested.
    pub send_within: Duration,
    /// Delay before a dial with an unknown outcome is first looked up. Each further delay is twice as long.
    pub settle_from: Duration,
    /// Delay after which such a dial counts as not placed.
    pub settle_until: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(3),
            dead_after: Duration::from_secs(15),
            send_within: Duration::from_secs(5),
            settle_from: Duration::from_secs(15),
            settle_until: Duration::from_secs(120),
        }
    }
}

/// Time during which answered calls of a dead process are left to it, because their carriers may bring them
/// to a living node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patience {
    /// Carriers that ask how to continue a call whose media socket broke.
    pub carriers: Vec<String>,
    /// Time after their owner's last sign of life.
    pub talking: Duration,
    /// Time if the carrier was told to transfer the call: it asks when nobody answers there.
    pub handed_on: Duration,
}

impl Patience {
    /// Returns whether a call is left to its dead owner, `silent` after that owner's last sign of life;
    /// `silent` is none if unknown.
    pub fn waits(&self, carrier: &str, is_handed_on: bool, silent: Option<Duration>) -> bool {
        let most = match is_handed_on {
            true => self.handed_on,
            false => self.talking,
        };
        silent.is_some_and(|silent| silent < most) && self.carriers.iter().any(|known| known == carrier)
    }
}

/// Reason why times are inconsistent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimesError {
    /// A time that is zero.
    #[error("{0} is 0 ms: it must be longer")]
    Zero(&'static str),
    /// A time that is too short compared with another.
    #[error(
        "{long} is {} ms, and {short} is {} ms: {long} must be at least {times} times {short}, {} ms",
        .is.as_millis(), .of.as_millis(), .of.saturating_mul(*times).as_millis()
    )]
    TooShort {
        /// Name of the time that is too short.
        long: &'static str,
        /// Value of the time that is too short.
        is: Duration,
        /// Smallest allowed multiple of the other time.
        times: u32,
        /// Name of the other time.
        short: &'static str,
        /// Value of the other time.
        of: Duration,
    },
}

impl Times {
    /// Checks that the times are consistent.
    ///
    /// # Errors
    ///
    /// Returns an error that names the time that is zero or too short, and the smallest value that would do.
    pub fn check(&self) -> Result<(), TimesError> {
        let pairs = [
            // A dead node's permits must expire before another node takes over.
            ("dead-after", self.dead_after, 3, "send-within", self.send_within),
            // One or two lost heartbeats must not count as death.
            ("dead-after", self.dead_after, 4, "heartbeat", self.heartbeat),
            // There must be time for two look-ups before the verdict.
            ("settle-until", self.settle_until, 4, "settle-from", self.settle_from),
        ];
        if let Some((name, _)) = self.named().into_iter().find(|(_, time)| time.is_zero()) {
            return Err(TimesError::Zero(name));
        }
        match pairs
            .into_iter()
            .find(|(_, long, times, _, short)| *long < *short * *times)
        {
            None => Ok(()),
            Some((long, is, times, short, of)) => Err(TimesError::TooShort {
                long,
                is,
                times,
                short,
                of,
            }),
        }
    }

    /// Returns each time with its name.
    pub fn named(&self) -> [(&'static str, Duration); 5] {
        [
            ("heartbeat", self.heartbeat),
            ("dead-after", self.dead_after),
            ("send-within", self.send_within),
            ("settle-from", self.settle_from),
            ("settle-until", self.settle_until),
        ]
    }

    /// Returns how often a node checks its own clocks and the state of the other nodes.
    pub fn tick(&self) -> Duration {
        self.heartbeat / 3
    }

    /// Returns the longest interval between two heartbeats that does not count as a gap.
    pub fn gap(&self) -> Duration {
        self.heartbeat * 2
    }

    /// Returns how long a node may dial after its last successful heartbeat. Its last permit must expire
    /// before the node counts as dead.
    pub fn lease(&self) -> Duration {
        self.dead_after.saturating_sub(self.send_within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_do_not_go_together_are_refused_with_the_way_out() {
        assert_eq!(Times::default().check(), Ok(()));
        let ms = Duration::from_millis;
        let tenth = Times {
            heartbeat: ms(300),
            dead_after: ms(1_500),
            send_within: ms(500),
            settle_from: ms(1_500),
            settle_until: ms(12_000),
        };
        assert_eq!(tenth.check(), Ok(()));
        let refused = |times: Times| times.check().unwrap_err().to_string();
        let hasty = refused(Times {
            dead_after: ms(14_999),
            ..Times::default()
        });
        assert_eq!(
            hasty,
            "dead-after is 14999 ms, and send-within is 5000 ms: dead-after must be at least 3 times send-within, 15000 ms"
        );
        assert!(
            refused(Times {
                heartbeat: ms(3_751),
                ..Times::default()
            })
            .contains("4 times heartbeat")
        );
        assert!(
            refused(Times {
                settle_until: ms(59_999),
                ..Times::default()
            })
            .contains("4 times settle-from")
        );
        assert!(
            refused(Times {
                send_within: ms(0),
                ..Times::default()
            })
            .contains("send-within is 0 ms")
        );
    }
}
