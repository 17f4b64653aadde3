//! The settings of an agent's voice that each provider takes, and in which range.

use std::fmt;

use domain::agent::PronunciationDictionary;

use super::{cartesia, elevenlabs};
use crate::defaults;

/// Values that a provider takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    least: f64,
    most: f64,
    /// Distance between the values; 0 if there are none in between.
    step: f64,
}

impl Range {
    const fn new(least: f64, most: f64) -> Self {
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
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Takes {
    pub speed: Option<Range>,
    pub stability: Option<Range>,
    pub similarity_boost: Option<Range>,
    /// Whether the wanted latency chooses the model.
    pub latency: bool,
    /// Largest number of pronunciation dictionaries.
    pub dictionaries: usize,
}

/// Returns what the voices of a provider's model take. Without a model it is the provider's usual one.
pub(crate) fn takes(provider: &str, model: Option<&str>) -> Takes {
    match provider {
        "elevenlabs" => Takes {
            speed: Some(Range::new(0.7, 1.2)),
            stability: Some(Range {
                step: if model.is_some_and(elevenlabs::is_v3) { 0.5 } else { 0.0 },
                ..Range::new(0.0, 1.0)
            }),
            similarity_boost: Some(Range::new(0.0, 1.0)),
            latency: model.is_none(),
            dictionaries: 3,
        },
        "cartesia" if cartesia::has_controls(model.unwrap_or(defaults::of("cartesia").tts)) => Takes {
            speed: Some(Range::new(0.6, 1.5)),
            dictionaries: 1,
            ..Takes::default()
        },
        "openai" | "kokoro" | "speaches" => Takes {
            speed: Some(Range::new(0.25, 4.0)),
            ..Takes::default()
        },
        "espeak" => Takes {
            speed: Some(Range::new(0.5, 2.0)),
            ..Takes::default()
        },
        // Deepgram's voices have no settings, and babble has one speed.
        _ => Takes::default(),
    }
}

/// Returns those of an agent's pronunciation dictionaries that a voice uses. ElevenLabs' sockets require a version.
pub(crate) fn dictionaries<'d>(
    provider: &str,
    model: Option<&str>,
    all: &'d [PronunciationDictionary],
) -> Vec<&'d PronunciationDictionary> {
    let own = all.iter().filter(|dictionary| {
        dictionary.provider == provider && (provider != "elevenlabs" || dictionary.version_id.is_some())
    });
    own.take(takes(provider, model).dictionaries).collect()
}

/// Returns the speed nearest to the wanted one that a voice takes, rounded to three decimals.
pub(super) fn speed(provider: &str, model: &str, wanted: f32) -> f64 {
    let wanted = super::protocol::rounded(wanted);
    takes(provider, Some(model))
        .speed
        .map_or(1.0, |range| range.nearest(wanted))
}
