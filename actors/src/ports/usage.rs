//! What one call used of its providers, as they charge for it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Map, Value};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// Tokens a language model read, those from its cache included.
    InputTokens,
    /// Of these, tokens from the provider's prompt cache.
    CachedTokens,
    /// Tokens a language model wrote.
    OutputTokens,
    /// Characters that were synthesised.
    Characters,
    /// Milliseconds of audio that were transcribed.
    AudioMs,
}

/// Counts what one call uses. Clones count together; work that is dropped half-way counts too.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<Mutex<BTreeMap<(String, Unit), u64>>>);

impl Meter {
    /// Adds what was used of a provider.
    pub fn add(&self, provider: &str, unit: Unit, amount: u64) {
        if amount > 0 {
            let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *used.entry((provider.to_owned(), unit)).or_default() += amount;
        }
    }

    /// What was used of one provider.
    pub fn used(&self, provider: &str, unit: Unit) -> u64 {
        let used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        used.get(&(provider.to_owned(), unit)).copied().unwrap_or(0)
    }

    /// Everything, by provider, as a conversation shows it: `inputTokens`, `cachedTokens`, `outputTokens`, `characters`,
    /// and `seconds` of audio. None when no provider was used.
    pub fn shown(&self) -> Option<Value> {
        let used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut providers = Map::new();
        for ((provider, unit), amount) in used.iter() {
            let (name, amount) = match unit {
                Unit::InputTokens => ("inputTokens", Value::from(*amount)),
                Unit::CachedTokens => ("cachedTokens", Value::from(*amount)),
                Unit::OutputTokens => ("outputTokens", Value::from(*amount)),
                Unit::Characters => ("characters", Value::from(*amount)),
                Unit::AudioMs => ("seconds", Value::from(*amount as f64 / 1000.0)),
            };
            let provider = providers.entry(provider.clone()).or_insert_with(|| Map::new().into());
            provider[name] = amount;
        }
        (!providers.is_empty()).then_some(Value::Object(providers))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_used_adds_up_by_provider() {
        let meter = Meter::default();
        assert_eq!(meter.shown(), None);
        meter.clone().add("openai", Unit::InputTokens, 100);
        meter.add("openai", Unit::InputTokens, 20);
        meter.add("deepgram", Unit::AudioMs, 1_500);
        meter.add("deepgram", Unit::Characters, 0);
        assert_eq!(
            meter.shown(),
            Some(json!({ "deepgram": { "seconds": 1.5 }, "openai": { "inputTokens": 120 } }))
        );
        assert_eq!(meter.used("openai", Unit::InputTokens), 120);
    }
}
