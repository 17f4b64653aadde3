//! A caller: voice, manner of speaking, and line.

use std::fmt;

use crate::chance::Chance;

/// Sound behind the caller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// None.
    Clean,
    /// Traffic, at this level in dB below the voice.
    Street(f64),
    /// Other people's voices, at this level in dB below the caller's.
    Room(f64),
}

impl Noise {
    /// Returns whether there is any.
    pub fn is_any(self) -> bool {
        self != Self::Clean
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clean => f.write_str("clean"),
            Self::Street(db) => write!(f, "street at -{db:.0} dB"),
            Self::Room(db) => write!(f, "room at -{db:.0} dB"),
        }
    }
}

/// The agent's voice that comes back on the line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Echo {
    /// Delay in milliseconds.
    pub delay_ms: u64,
    /// Amplitude relative to the voice sent.
    pub gain: f64,
}

/// A caller.
#[derive(Debug, Clone, PartialEq)]
pub struct Caller {
    /// Mean pitch in Hz before [`Self::rate`] is applied.
    pub pitch_hz: f64,
    /// Speaking rate relative to the usual one.
    pub rate: f64,
    /// Length of pauses relative to the usual one.
    pub pace: f64,
    /// Amplitude relative to the usual one.
    pub gain: f64,
    /// Number among several voices of a language.
    pub voice: u64,
    /// Sound behind the caller.
    pub noise: Noise,
    /// Echo of the agent.
    pub echo: Option<Echo>,
}

impl Caller {
    /// Draws a caller: half of the lines are noisy, and one in eight returns an echo.
    pub fn draw(chance: &mut Chance) -> Self {
        let noise = match chance.index(4) {
            0 => Noise::Street(chance.within(12.0, 22.0)),
            1 => Noise::Room(chance.within(18.0, 28.0)),
            _ => Noise::Clean,
        };
        let echo = chance.happens(0.125).then(|| Echo {
            delay_ms: chance.between(4, 15) * 20,
            gain: chance.within(0.02, 0.12),
        });
        Self {
            pitch_hz: chance.within(108.0, 162.0),
            rate: chance.within(0.9, 1.18),
            pace: chance.within(0.8, 1.3),
            gain: chance.within(0.5, 1.2),
            voice: chance.number(),
            noise,
            echo,
        }
    }
}
