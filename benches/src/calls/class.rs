//! Classes of phones in a round: their persona and their share.

/// Behaviour of a phone, as far as the figures distinguish it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Answers every question.
    Cooperative,
    /// Also talks over the agent.
    Interrupts,
    /// Speaks in loud noise, and coughs.
    Noisy,
    /// Speaks in the same noise, and talks over the agent.
    InterruptsInNoise,
    /// Answers every question; its agent's providers have faults.
    Faulty,
}

impl Class {
    /// Returns its persona at the exchange.
    pub fn persona(self) -> &'static str {
        match self {
            Self::Cooperative | Self::Faulty => "cooperative",
            Self::Interrupts | Self::InterruptsInNoise => "interrupts",
            Self::Noisy => "noisy",
        }
    }

    /// Returns the persona that determines its line at the exchange; empty for its own persona.
    pub fn line(self) -> &'static str {
        match self {
            Self::InterruptsInNoise => "noisy",
            Self::Cooperative | Self::Interrupts | Self::Noisy | Self::Faulty => "",
        }
    }

    /// Returns its name in the figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::InterruptsInNoise => "interrupts in noise",
            Self::Faulty => "faulty providers",
            Self::Cooperative | Self::Interrupts | Self::Noisy => self.persona(),
        }
    }

    /// Returns whether every word must be understood.
    pub fn is_clean(self) -> bool {
        match self {
            Self::Cooperative | Self::Interrupts => true,
            Self::Noisy | Self::InterruptsInNoise | Self::Faulty => false,
        }
    }
}

/// Shares of the classes, in phones per hundred.
#[derive(Debug, Clone, Copy)]
pub struct Mix {
    /// Phones that interrupt.
    pub interrupts: u32,
    /// Phones in noise; every second of them interrupts.
    pub noisy: u32,
    /// Phones whose agent's providers have faults.
    pub faulty: u32,
}

impl Mix {
    /// Returns the class of the `n`-th phone; each share is spread evenly over all of them.
    pub fn class(self, n: u32) -> Class {
        // Maps a hundred neighbours to different places, with neighbouring places far from each other.
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
