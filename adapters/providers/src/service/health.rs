//! Check whether the calls of an agent can be held. They cannot while every provider of one kind is down.

use std::{sync::Arc, time::Duration};

use chrono::SecondsFormat;
use domain::{
    agent::Agent,
    ports::health::ProviderHealth,
    time::{Clock, Timestamp},
};

use net::guard::{Guard, Kind};

/// Returns the guards of all providers of one kind that a call of this agent could use. An empty list means a
/// provider inside this process, which is never down.
pub type Find = Box<dyn Fn(&Agent) -> Vec<Guard> + Send + Sync>;

/// Provider health, read from the guards.
pub struct Health {
    kinds: Vec<(Kind, Find)>,
    clock: Arc<dyn Clock>,
}

impl Health {
    /// Creates the check from each kind and its providers.
    pub fn new(kinds: Vec<(Kind, Find)>, clock: Arc<dyn Clock>) -> Self {
        Self { kinds, clock }
    }

    /// Describes the outage of the first needed kind whose providers are all down.
    fn first_down(&self, agent: &Agent, is_needed: impl Fn(Kind) -> bool) -> Option<String> {
        let mut needed = self.kinds.iter().filter(|(kind, _)| is_needed(*kind));
        needed.find_map(|(kind, find)| {
            let guards = find(agent);
            let down = !guards.is_empty() && guards.iter().all(Guard::is_down);
            down.then(|| words(*kind, &guards, self.clock.now()))
        })
    }
}

impl ProviderHealth for Health {
    fn obstacle(&self, agent: &Agent) -> Option<String> {
        self.first_down(agent, |_| true)
    }

    fn obstacle_in_text(&self, agent: &Agent) -> Option<String> {
        self.first_down(agent, |kind| kind == Kind::LanguageModel)
    }
}

/// Describes an outage: the kind, since when it is down, and the last error of each of its providers.
fn words(kind: Kind, guards: &[Guard], now: Timestamp) -> String {
    let what = match kind {
        Kind::LanguageModel => "language model",
        Kind::SpeechToText => "speech-to-text",
        Kind::TextToSpeech => "text-to-speech",
        Kind::Carrier => "carrier",
    };
    let all = match guards.len() {
        1 => format!("the {what} provider is"),
        _ => format!("every {what} provider is"),
    };
    // The kind is down since its last provider went down.
    let lasting = guards
        .iter()
        .map(|guard| guard.unhealthy_for().unwrap_or_default())
        .min();
    let since = ago(now, lasting.unwrap_or_default());
    let each = guards.iter().map(|guard| match guard.why().as_str() {
        "" => guard.provider().to_owned(),
        why => format!("{} ({why})", guard.provider()),
    });
    format!("{all} down since {since}: {}", each.collect::<Vec<_>>().join(", "))
}

/// Returns the time `lasting` before now, in UTC to the second.
fn ago(now: Timestamp, lasting: Duration) -> String {
    let earlier = now.to_utc() - lasting;
    earlier.to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use domain::time::TokioClock;

    use super::*;
    use net::guard::{Guards, Verdict};

    fn refuse(guard: &Guard, why: &str) {
        guard.admit().unwrap().failed(Verdict::Refused, why);
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_is_down_when_all_its_providers_are() {
        let guards = Guards::default();
        let of = |kind: Kind, names: &'static [&'static str]| -> (Kind, Find) {
            let guards: Vec<Guard> = names.iter().map(|name| guards.get(kind, name)).collect();
            (kind, Box::new(move |_: &Agent| guards.clone()))
        };
        let kinds = vec![
            of(Kind::LanguageModel, &["openai", "groq"]),
            of(Kind::SpeechToText, &[]),
            of(Kind::TextToSpeech, &["elevenlabs"]),
        ];
        // 2026-06-01T08:00:00Z.
        let clock = TokioClock::starting_at(Timestamp(1_780_300_800_000_000));
        let health = Health::new(kinds, Arc::new(clock));
        let agent = Agent::default();
        assert_eq!(health.obstacle(&agent), None);
        refuse(&guards.get(Kind::LanguageModel, "openai"), "401: wrong key");
        assert_eq!(health.obstacle(&agent), None, "there is another");
        tokio::time::advance(Duration::from_secs(10)).await;
        refuse(&guards.get(Kind::LanguageModel, "groq"), "402: no money");
        tokio::time::advance(Duration::from_secs(5)).await;
        let words = "every language model provider is down since 2026-06-01T08:00:10Z: openai (401: wrong key), groq \
                     (402: no money)";
        assert_eq!(health.obstacle(&agent).as_deref(), Some(words));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(health.obstacle(&agent), None, "somebody must find out");
        refuse(&guards.get(Kind::TextToSpeech, "elevenlabs"), "402: no money");
        let words = "the text-to-speech provider is down since 2026-06-01T08:01:15Z: elevenlabs (402: no money)";
        assert_eq!(health.obstacle(&agent).as_deref(), Some(words));
    }
}
