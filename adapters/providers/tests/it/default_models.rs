//! Tests of the providers' defaults against what their packages know, and of the page that lists them.

use domain::ports::{services::ServiceKind, usage::Meter};
use net::guard::Guards;
use providers::{
    check,
    config::ProviderConfig,
    registry::{CHECKED, PROVIDERS},
};
use serde_json::Value;
use sim::{
    schema::known_model,
    stub_providers::{self, StubHandle, StubSettings, anthropic, openai},
};

use super::language::{booking, models_with, reply, request, settings, told};

const HOSTED: [&str; 7] = [
    "openai",
    "anthropic",
    "groq",
    "gemini",
    "deepgram",
    "elevenlabs",
    "cartesia",
];

/// Starts stubs that know only the models in a provider's package.
async fn stub_of(provider: &'static str) -> StubHandle {
    let settings = StubSettings {
        models_of: Some(provider),
        ..StubSettings::on_loopback()
    };
    stub_providers::start(settings).await.unwrap()
}

#[test]
fn the_providers_packages_know_each_default_and_tell_of_no_end_but_that_of_openais_voices() {
    for of in PROVIDERS.iter().filter(|of| HOSTED.contains(&of.name)) {
        let (provider, row) = (of.name, of.defaults());
        let voice = if provider == "deepgram" { row.voice } else { "" };
        for (kind, model) in [("llm", row.llm), ("stt", row.stt), ("tts", row.tts), ("voice", voice)] {
            if model.is_empty() {
                continue;
            }
            let end = known_model(provider, kind, model).unwrap_or_else(|| panic!("{provider} {model}"));
            let ends = of.ends.iter().find(|(ending, _)| *ending == model);
            assert_eq!(end.as_deref(), ends.map(|(_, day)| *day), "{provider} {model}");
            assert!(
                end.is_none() || (provider, kind) == ("openai", "tts"),
                "{provider} {model}"
            );
        }
    }
}

#[test]
fn the_days_on_which_models_of_openai_end_are_those_of_its_package() {
    let openai = PROVIDERS.iter().find(|provider| provider.name == "openai").unwrap();
    for (model, day) in openai.ends {
        let known = ["llm", "stt", "tts"]
            .iter()
            .find_map(|kind| known_model(openai.name, kind, model));
        assert_eq!(known.flatten().as_deref(), Some(*day), "{model}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_request_to_each_default_model_is_accepted() {
    for (provider, service, effort) in [
        ("openai", openai::CHAT_COMPLETIONS, Some("none")),
        ("groq", openai::CHAT_COMPLETIONS, Some("low")),
        ("gemini", openai::CHAT_COMPLETIONS, Some("minimal")),
        ("anthropic", anthropic::MESSAGES, None),
    ] {
        let stub = stub_of(provider).await;
        let models = models_with(&[provider], &settings(&stub, &stub), &Guards::default());
        let (words, _) = told(reply(&models, request(&booking(), &[], &Meter::default())).await);
        assert!(words.contains("preferred day"), "{provider}: {words}");
        let sent = stub.received(service);
        assert_eq!(sent.len(), 1, "{provider}: nothing had to be corrected");
        let body: Value = serde_json::from_str(&sent[0]).unwrap();
        assert_eq!(body["reasoning_effort"].as_str(), effort, "{provider}");
        if provider == "anthropic" {
            assert_eq!(
                (&body["output_config"]["effort"], &body["thinking"]["type"]),
                (&"low".into(), &"disabled".into())
            );
            assert!(body.get("temperature").is_none());
        }
    }
    for (name, effort) in [("groq/qwen/qwen3.8-27b", "none"), ("groq/openai/gpt-oss-20b", "low")] {
        let stub = stub_of("groq").await;
        let models = models_with(&[name], &settings(&stub, &stub), &Guards::default());
        told(reply(&models, request(&booking(), &[], &Meter::default())).await);
        let sent: Vec<Value> = stub
            .received(openai::CHAT_COMPLETIONS)
            .iter()
            .map(|sent| serde_json::from_str(sent).unwrap())
            .collect();
        assert_eq!(
            (sent.len(), sent[0]["reasoning_effort"].as_str()),
            (1, Some(effort)),
            "{name}"
        );
    }
}

#[tokio::test]
async fn the_default_recognisers_and_voices_are_accepted_and_unknown_models_refused() {
    for (kind, provider, is_accepted) in [
        (ServiceKind::Stt, "openai", true),
        (ServiceKind::Stt, "openai/gpt-9-transcribe", false),
        (ServiceKind::Stt, "groq", true),
        (ServiceKind::Tts, "openai", true),
        (ServiceKind::Llm, "openai/gpt-9", false),
    ] {
        let name = provider.split('/').next().unwrap();
        let stub = stub_of(if name == "groq" { "groq" } else { "openai" }).await;
        let chosen = vec![provider.parse().unwrap()];
        let config = ProviderConfig {
            settings: Some(settings(&stub, &stub)),
            ..ProviderConfig::default()
        };
        let config = match kind {
            ServiceKind::Stt => ProviderConfig { stt: chosen, ..config },
            ServiceKind::Tts => ProviderConfig { tts: chosen, ..config },
            _ => ProviderConfig { llm: chosen, ..config },
        };
        let report = check::one(&config, kind, name).await;
        assert_eq!(report.works, is_accepted, "{provider}: {report:?}");
    }
}

#[test]
fn the_page_about_providers_lists_the_defaults() {
    let page = include_str!("../../../../docs/providers.md");
    assert!(page.contains(CHECKED), "the page names the day of the check");
    for provider in PROVIDERS {
        let row = provider.defaults();
        let begin = format!("| `{}` |", provider.name);
        let line = page
            .lines()
            .find(|line| line.starts_with(&begin))
            .unwrap_or_else(|| panic!("no row {begin}"));
        let is_shown = |model: &str| model.is_empty() || model == "default" || line.contains(&format!("`{model}`"));
        assert!([row.llm, row.stt].into_iter().all(is_shown), "{line}");
        let voice = line.split('|').nth(4).unwrap();
        assert!(
            row.voice.is_empty() || voice.contains("default") || voice.contains(row.voice),
            "{line}"
        );
    }
}
