//! The times on which several nodes agree: they are the same on all nodes of a database.

use std::time::Duration;

/// How often nodes show that they live, and what follows from silence and from lost dials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// A node shows so often that it lives; a process that stood still for longer doubts that it still holds its calls.
    pub heartbeat: Duration,
    /// A node is dead that was silent for so long: what it held goes to others.
    pub dead_after: Duration,
    /// A dial permit may be used for so long after it was asked for.
    pub send_within: Duration,
    /// A dial whose fate is not known is looked up after so long, and then each time after twice as long.
    pub settle_from: Duration,
    /// After so long it counts as not placed.
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

/// Why times do not go together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimesError {
    /// One is zero.
    #[error("{0} is 0 ms: it must be longer")]
    Zero(&'static str),
    /// One is too short for another.
    #[error(
        "{long} is {} ms, and {short} is {} ms: {long} must be at least {times} times {short}, {} ms",
        .is.as_millis(), .of.as_millis(), .of.saturating_mul(*times).as_millis()
    )]
    TooShort {
        /// The name of the one that is too short.
        long: &'static str,
        /// How long it is.
        is: Duration,
        /// How many times the other it must be.
        times: u32,
        /// The name of the other.
        short: &'static str,
        /// How long that is.
        of: Duration,
    },
}

impl Times {
    /// Whether they go together.
    ///
    /// # Errors
    ///
    /// Which two do not, and what would.
    pub fn check(&self) -> Result<(), TimesError> {
        let pairs = [
            // A permit of a dead node is past its time before anybody takes it over.
            ("dead-after", self.dead_after, 3, "send-within", self.send_within),
            // A lost heartbeat or two are no death.
            ("dead-after", self.dead_after, 4, "heartbeat", self.heartbeat),
            // Two look-ups come before the verdict.
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

    /// Each by its name.
    pub fn named(&self) -> [(&'static str, Duration); 5] {
        [
            ("heartbeat", self.heartbeat),
            ("dead-after", self.dead_after),
            ("send-within", self.send_within),
            ("settle-from", self.settle_from),
            ("settle-until", self.settle_until),
        ]
    }

    /// How often a node looks at its own clocks, and at what the others did.
    pub fn tick(&self) -> Duration {
        self.heartbeat / 3
    }

    /// Two signs of life that lie further apart have a gap between them.
    pub fn gap(&self) -> Duration {
        self.heartbeat * 2
    }

    /// For how long after its last good heartbeat a node dials: no longer than a permit may still be used before its
    /// death.
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
