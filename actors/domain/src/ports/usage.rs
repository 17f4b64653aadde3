//! Usage of providers by one call, in the units that they charge.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Map, Value};

use super::store::{EventFact, Fact, Tokens};

/// Name of the event with a call's usage. If there are several, the last one applies.
pub const USAGE: &str = "usage";

/// Returns the usage of a call as an event for its journal; none if it used no provider.
pub fn usage(meter: &Meter, at_ms: i64) -> Option<Fact> {
    Some(Fact::Event(EventFact {
        name: USAGE.to_owned(),
        at_ms,
        detail: meter.shown()?.to_string(),
    }))
}

/// Unit of usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// Tokens that a language model read, including cached ones.
    InputTokens,
    /// Tokens among them from the provider's prompt cache.
    CachedTokens,
    /// Tokens that a language model wrote.
    OutputTokens,
    /// Characters that were synthesised.
    Characters,
    /// Milliseconds of audio that were transcribed.
    AudioMs,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::InputTokens => "inputTokens",
            Self::CachedTokens => "cachedTokens",
            Self::OutputTokens => "outputTokens",
            Self::Characters => "characters",
            Self::AudioMs => "seconds",
        }
    }

    fn shown(self, amount: u64) -> Value {
        match self {
            Self::AudioMs => Value::from(amount as f64 / 1000.0),
            Self::InputTokens | Self::CachedTokens | Self::OutputTokens | Self::Characters => Value::from(amount),
        }
    }
}

/// Number of calls of this process so far.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Counts the usage of one call. Clones count together; work that is cancelled half-way counts, too.
#[derive(Debug, Clone)]
pub struct Meter(Arc<Used>);

#[derive(Debug)]
struct Used {
    call: u64,
    amounts: Mutex<BTreeMap<Counted, u64>>,
    /// Model and voice that answered last.
    model: Mutex<Option<Arc<str>>>,
    voice: Mutex<Option<Arc<str>>>,
}

/// Provider, its model or voice, and the unit.
type Counted = (String, String, Unit);

impl Default for Meter {
    fn default() -> Self {
        Self(Arc::new(Used {
            call: CALLS.fetch_add(1, Ordering::Relaxed),
            amounts: Mutex::default(),
            model: Mutex::default(),
            voice: Mutex::default(),
        }))
    }
}

impl Meter {
    /// Returns a number that distinguishes this call from all others of this process.
    pub fn call(&self) -> u64 {
        self.0.call
    }

    /// Adds usage of a provider's model, or of its voice if it charges by voice.
    pub fn add(&self, provider: &str, model: &str, unit: Unit, amount: u64) {
        if amount > 0 {
            let mut used = self.0.amounts.lock().unwrap_or_else(PoisonError::into_inner);
            let counted = (provider.to_owned(), model.to_owned(), unit);
            let sum = used.entry(counted).or_default();
            *sum = sum.saturating_add(amount);
        }
    }

    /// Notes the language model that begins to answer.
    pub fn answers(&self, model: impl Into<Arc<str>>) {
        *self.0.model.lock().unwrap_or_else(PoisonError::into_inner) = Some(model.into());
    }

    /// Notes the voice that begins to speak.
    pub fn speaks(&self, voice: impl Into<Arc<str>>) {
        *self.0.voice.lock().unwrap_or_else(PoisonError::into_inner) = Some(voice.into());
    }

    /// Returns the language model that answered last.
    pub fn model(&self) -> Option<Arc<str>> {
        self.0.model.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the voice that spoke last.
    pub fn voice(&self) -> Option<Arc<str>> {
        self.0.voice.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the tokens of all models so far.
    pub fn tokens(&self) -> Tokens {
        let used = self.0.amounts.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = |unit| {
            let of_it = used.iter().filter(|((_, _, of), _)| *of == unit);
            of_it.fold(0, |sum: u64, (_, amount)| sum.saturating_add(*amount))
        };
        Tokens {
            input: sum(Unit::InputTokens),
            cached: sum(Unit::CachedTokens),
            output: sum(Unit::OutputTokens),
        }
    }

    /// Returns the usage of one provider.
    pub fn used(&self, provider: &str, unit: Unit) -> u64 {
        let used = self.0.amounts.lock().unwrap_or_else(PoisonError::into_inner);
        let of_it = used.iter().filter(|((by, _, of), _)| by == provider && *of == unit);
        of_it.fold(0, |sum, (_, amount)| sum.saturating_add(*amount))
    }

    /// Returns the whole usage by provider, as a conversation shows it: `inputTokens`, `cachedTokens`,
    /// `outputTokens`, `characters`, and `seconds` of audio, and the same for each of its `models`. None if
    /// no provider was used.
    pub fn shown(&self) -> Option<Value> {
        let used = self.0.amounts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sums: BTreeMap<(&str, Unit), u64> = BTreeMap::new();
        for ((provider, _, unit), amount) in used.iter() {
            let sum = sums.entry((provider, *unit)).or_default();
            *sum = sum.saturating_add(*amount);
        }
        let mut providers = Map::new();
        for ((provider, unit), sum) in sums {
            let provider = providers.entry(provider).or_insert_with(|| Map::new().into());
            provider[unit.name()] = unit.shown(sum);
        }
        // Some servers have a single model without a name.
        for ((provider, model, unit), amount) in used.iter().filter(|((_, model, _), _)| !model.is_empty()) {
            providers[provider.as_str()]["models"][model.as_str()][unit.name()] = unit.shown(*amount);
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
        meter.clone().add("openai", "gpt-4.1-mini", Unit::InputTokens, 100);
        meter.add("openai", "gpt-4.1-mini", Unit::InputTokens, 20);
        meter.add("openai", "gpt-4.1", Unit::InputTokens, 3);
        meter.add("openai", "tts-1", Unit::Characters, 40);
        meter.add("deepgram", "nova-3", Unit::AudioMs, 1_500);
        meter.add("deepgram", "nova-3", Unit::Characters, 0);
        let models = json!({
            "gpt-4.1": { "inputTokens": 3 },
            "gpt-4.1-mini": { "inputTokens": 120 },
            "tts-1": { "characters": 40 },
        });
        assert_eq!(
            meter.shown(),
            Some(json!({
                "deepgram": { "seconds": 1.5, "models": { "nova-3": { "seconds": 1.5 } } },
                "openai": { "inputTokens": 123, "characters": 40, "models": models },
            }))
        );
        assert_eq!(meter.used("openai", Unit::InputTokens), 123);
        meter.add("openai", "gpt-4.1", Unit::InputTokens, u64::MAX);
        assert_eq!(meter.used("openai", Unit::InputTokens), u64::MAX);
        assert!(meter.shown().is_some());
    }
}
