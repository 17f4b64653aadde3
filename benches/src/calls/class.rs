//! The classes of phones in a round: which persona they have, and how many of each.

/// How a phone behaves, as far as the figures tell it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Answers every question.
    Cooperative,
    /// Talks over the agent as well.
    Interrupts,
    /// In loud noise; coughs.
    Noisy,
    /// In the same noise, and talks over the agent.
    InterruptsInNoise,
    /// Answers every question; its agent's providers have faults.
    Faulty,
}

impl Class {
    /// Its persona at the exchange.
    pub fn persona(self) -> &'static str {
        match self {
            Self::Cooperative | Self::Faulty => "cooperative",
            Self::Interrupts | Self::InterruptsInNoise => "interrupts",
            Self::Noisy => "noisy",
        }
    }

    /// Whose line it has at the exchange; empty for its own persona's.
    pub fn line(self) -> &'static str {
        match self {
            Self::InterruptsInNoise => "noisy",
            Self::Cooperative | Self::Interrupts | Self::Noisy | Self::Faulty => "",
        }
    }

    /// Its name in the figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::InterruptsInNoise => "interrupts in noise",
            Self::Faulty => "faulty providers",
            Self::Cooperative | Self::Interrupts | Self::Noisy => self.persona(),
        }
    }

    /// Whether every word must be understood.
    pub fn is_clean(self) -> bool {
        match self {
            Self::Cooperative | Self::Interrupts => true,
            Self::Noisy | Self::InterruptsInNoise | Self::Faulty => false,
        }
    }
}

/// How many of a hundred phones are of which class.
#[derive(Debug, Clone, Copy)]
pub struct Mix {
    /// Those that interrupt.
    pub interrupts: u32,
    /// Those in noise; every second of them interrupts.
    pub noisy: u32,
    /// Those whose agent's providers have faults.
    pub faulty: u32,
}

impl Mix {
    /// The class of the `n`-th phone; each share is spread evenly over all of them.
    pub fn class(self, n: u32) -> Class {
        // One of a hundred neighbours has each place, and neighbouring places lie far from each other.
        let place = n % 100 * 37 % 100;
        if place < self.interrupts {
            Class::Interrupts
        } else if place < self.interrupts + self.noisy {
            match (place - self.interrupts) % 2 {
                0 => Class::InterruptsInNoise,
                _ => Class::Noisy,
            }
        } else if place < self.interrupts + self.noisy + self.faulty {
            Class::Faulty
        } else {
            Class::Cooperative
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hundred_phones_hold_the_shares_and_few_neighbours_nearly_so() {
        let mix = Mix {
            interrupts: 20,
            noisy: 6,
            faulty: 10,
        };
        let of = |class, phones: u32| (0..phones).filter(|n| mix.class(*n) == class).count();
        let classes = [Class::Interrupts, Class::Noisy, Class::InterruptsInNoise, Class::Faulty];
        assert_eq!(classes.map(|class| of(class, 300)), [60, 9, 9, 30]);
        assert!((7..=9).contains(&of(Class::Interrupts, 40)));
    }
}
