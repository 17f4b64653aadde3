//! The settings of an agent's voice that each provider takes, and in which range.

use std::fmt;

use domain::agent::PronunciationDictionary;

use crate::protocols::tts::protocol::rounded;

/// Values that a provider takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    pub least: f64,
    pub most: f64,
    /// Distance between the values; 0 if there are none in between.
    pub step: f64,
}

impl Range {
    pub(crate) const fn new(least: f64, most: f64) -> Self {
        Self { least, most, step: 0.0 }
    }

    /// Returns the nearest value that is taken.
    pub(crate) fn nearest(self, value: f64) -> f64 {
        let value = value.clamp(self.least, self.most);
        match self.step > 0.0 {
            true => self.least + ((value - self.least) / self.step).round() * self.step,
            false => value,
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.least, self.most)?;
        if self.step > 0.0 {
            write!(f, " in steps of {}", self.step)?;
        }
        Ok(())
    }
}

/// Settings that a voice takes. A missing range means that the setting has no effect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Takes {
    pub speed: Option<Range>,
    pub stability: Option<Range>,
    pub similarity_boost: Option<Range>,
    /// Whether the wanted latency chooses the model.
    pub latency: bool,
    /// Largest number of pronunciation dictionaries.
    pub dictionaries: usize,
    /// Whether a dictionary needs a version.
    pub versions: bool,
}

impl Takes {
    /// Nothing.
    pub(crate) const NOTHING: Self = Self {
        speed: None,
        stability: None,
        similarity_boost: None,
        latency: false,
        dictionaries: 0,
        versions: false,
    };

    /// A speed in this range, and nothing else.
    pub(crate) const fn speed(least: f64, most: f64) -> Self {
        Self {
            speed: Some(Range::new(least, most)),
            ..Self::NOTHING
        }
    }

    /// Returns those of an agent's pronunciation dictionaries that a provider's voice uses.
    pub(crate) fn usable<'d>(
        self,
        provider: &str,
        all: &'d [PronunciationDictionary],
    ) -> impl Iterator<Item = &'d PronunciationDictionary> {
        let own = all.iter().filter(move |dictionary| {
            dictionary.provider == provider && (!self.versions || dictionary.version_id.is_some())
        });
        own.take(self.dictionaries)
    }

    /// Returns the speed nearest to the wanted one, rounded to three decimals.
    pub(crate) fn nearest_speed(self, wanted: f32) -> f64 {
        self.speed.map_or(1.0, |range| range.nearest(rounded(wanted)))
    }
}
