//! Providers as services of the installation: configured or not, and with their outages.

use domain::{
    ports::services::{Service, ServiceKind},
    time::Timestamp,
};

use crate::{
    endpoint::NotConfigured,
    registry::{address, names},
    service::config::ProviderConfig,
};
use net::guard::{Guards, Kind};

/// Returns all providers of all kinds.
pub fn list(config: &ProviderConfig, guards: &Guards, now: Timestamp) -> Vec<Service> {
    let named = [&config.llm, &config.stt, &config.tts].into_iter().flatten();
    let settings = config.settings().unwrap_or_default().only_named_or_set(named);
    let llm = names(|provider| provider.llm.is_some());
    let stt = names(|provider| provider.stt.is_some());
    let tts = names(|provider| provider.tts.is_some());
    let vectors = names(|provider| provider.embeddings);
    let kinds = [
        (ServiceKind::Llm, "llm", llm, &*config.llm, Some(Kind::LanguageModel)),
        (ServiceKind::Stt, "stt", stt, &*config.stt, Some(Kind::SpeechToText)),
        (ServiceKind::Tts, "tts", tts, &*config.tts, Some(Kind::TextToSpeech)),
        (
            ServiceKind::Embeddings,
            "embeddings",
            vectors,
            config.embeddings.as_slice(),
            None,
        ),
    ];
    let mut services = Vec::new();
    for (kind, word, providers, chosen, watched) in kinds {
        services.extend(providers.into_iter().map(|provider| {
            let rank = chosen.iter().position(|name| name.provider == provider);
            let known = address(provider).map(|known| (known, settings.endpoint(provider)));
            Service {
                name: format!("{word}-{provider}"),
                kind,
                provider,
                rank: rank.map(|place| place + 1),
                // A provider without an address is inside this process or on this machine.
                configured: rank.is_some() || !matches!(known, Some((_, Err(_)))),
                outage: watched.and_then(|kind| guards.get(kind, provider).outage(now)),
                settings: match known {
                    Some((_, Err(NotConfigured::Unset { variable, .. }))) => vec![variable],
                    Some((known, _)) => vec![known.key, known.base],
                    None => Vec::new(),
                },
            }
        }));
    }
    services
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{name::ProviderName, settings::ProviderSettings};
    use net::guard::Verdict;

    #[tokio::test(start_paused = true)]
    async fn the_chosen_the_configured_and_the_others_are_told_apart() {
        let names = |text: &str| -> Vec<ProviderName> { vec![text.parse().unwrap(), "babble".parse().unwrap()] };
        let config = ProviderConfig {
            tts: names("kokoro:af_bella"),
            embeddings: Some("openai/small".parse().unwrap()),
            settings: ProviderSettings::read(|name| (name == "OPENAI_API_KEY").then(|| "key-1".to_owned())).ok(),
            ..ProviderConfig::default()
        };
        let guards = Guards::default();
        let failing = guards.get(Kind::TextToSpeech, "kokoro");
        failing.admit().unwrap().failed(Verdict::Refused, "402: no money");
        let now = Timestamp(1_780_300_800_000_000);
        let all = list(&config, &guards, now);
        let of = |name: &str| all.iter().find(|service| service.name == name).unwrap();
        let kokoro = of("tts-kokoro");
        let outage = kokoro.outage.clone().unwrap();
        assert_eq!(
            (outage.since.unwrap(), &*outage.reason),
            (now.to_iso8601(), "402: no money")
        );
        assert_eq!((kokoro.rank, kokoro.configured), (Some(1), true));
        assert_eq!(of("tts-babble").rank, Some(2));
        let openai = of("llm-openai");
        assert_eq!((openai.rank, openai.configured, &openai.outage), (None, true, &None));
        let groq = of("llm-groq");
        assert_eq!((groq.configured, &*groq.settings), (false, &["GROQ_API_KEY"][..]));
        assert_eq!(of("llm-interviewer").rank, Some(1));
        assert_eq!(of("embeddings-openai").rank, Some(1));
        // The usual address of a server that nobody chose does not count.
        assert!(!of("tts-speaches").configured && !of("llm-ollama").configured);
    }
}
