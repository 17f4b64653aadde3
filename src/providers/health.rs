//! Whether the calls of an agent can be held: not while every provider of one kind is down.

use actors::{agent::Agent, ports::health::ProviderHealth};

use super::guard::{Guard, Kind};

/// Finds the providers that a call of this agent could use, of one kind. None at all: one inside this process, which
/// is never down.
pub type Find = Box<dyn Fn(&Agent) -> Vec<Guard> + Send + Sync>;

/// Knows how the providers are by their guards.
pub struct Health {
    kinds: Vec<(Kind, Find)>,
}

impl Health {
    /// Each kind with its providers.
    pub fn new(kinds: Vec<(Kind, Find)>) -> Self {
        Self { kinds }
    }
}

impl ProviderHealth for Health {
    fn obstacle(&self, agent: &Agent) -> Option<String> {
        self.kinds.iter().find_map(|(kind, find)| {
            let guards = find(agent);
            let down = !guards.is_empty() && guards.iter().all(Guard::is_down);
            down.then(|| words(*kind, &guards))
        })
    }
}

fn words(kind: Kind, guards: &[Guard]) -> String {
    let names: Vec<&str> = guards.iter().map(Guard::provider).collect();
    let (what, names) = (
        match kind {
            Kind::Language => "language model",
            Kind::Ears => "speech-to-text",
            Kind::Voice => "text-to-speech",
        },
        names.join(", "),
    );
    match guards.len() {
        1 => format!("the {what} provider is down: {names}"),
        _ => format!("every {what} provider is down: {names}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::providers::guard::{Guards, Verdict};

    fn refuse(guard: &Guard) {
        guard.admit().unwrap().failed(Verdict::Refused, "trouble");
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_is_down_when_all_its_providers_are() {
        let guards = Guards::default();
        let of = |kind: Kind, names: &'static [&'static str]| -> (Kind, Find) {
            let guards: Vec<Guard> = names.iter().map(|name| guards.get(kind, name)).collect();
            (kind, Box::new(move |_: &Agent| guards.clone()))
        };
        let health = Health::new(vec![
            of(Kind::Language, &["openai", "groq"]),
            of(Kind::Ears, &[]),
            of(Kind::Voice, &["elevenlabs"]),
        ]);
        let agent = Agent::default();
        assert_eq!(health.obstacle(&agent), None);
        refuse(&guards.get(Kind::Language, "openai"));
        assert_eq!(health.obstacle(&agent), None, "there is another");
        refuse(&guards.get(Kind::Language, "groq"));
        let words = "every language model provider is down: openai, groq";
        assert_eq!(health.obstacle(&agent).as_deref(), Some(words));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(health.obstacle(&agent), None, "somebody must find out");
        refuse(&guards.get(Kind::Voice, "elevenlabs"));
        let words = "the text-to-speech provider is down: elevenlabs";
        assert_eq!(health.obstacle(&agent).as_deref(), Some(words));
    }
}
