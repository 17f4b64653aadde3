//! Settings of an agent that its voices and its language model cannot follow, in words for its owner.

use domain::agent::{Agent, DEFAULT_LLM, SupportedVoice, TtsSection};

use crate::{
    name::ProviderName,
    protocols::tts::takes::{Range, Takes},
    provider::{Llm, LlmWay},
    registry,
    service::config::ProviderConfig,
    tts::{parted, wanted},
};

/// Returns a sentence for each setting of an agent that has no effect, or another one than it says. Settings
/// at their defaults are left out.
pub fn texts(agent: &Agent, config: &ProviderConfig) -> Vec<String> {
    let mut texts = of_voices(agent, &config.tts);
    texts.extend(of_dictionaries(agent, &config.tts));
    for code in agent.conversation_config.language_presets.keys() {
        let agent = agent.in_language(code);
        let of_preset = of_voices(&agent, &config.tts).into_iter();
        for text in of_preset.chain(of_dictionaries(&agent, &config.tts)) {
            if !texts.contains(&text) {
                texts.push(format!("in `languagePresets.{code}`: {text}"));
            }
        }
    }
    texts.extend(of_model(agent, &config.llm));
    texts
}

/// Returns the settings that a voice takes.
fn takes_of(voice: &ProviderName) -> Takes {
    let provider = registry::find(&voice.provider);
    provider.map_or(Takes::NOTHING, |provider| provider.takes(voice.model.as_deref()))
}

/// A voice that an agent may speak with.
struct Spoken<'a> {
    tts: &'a TtsSection,
    /// Its place in the list of supported voices, and its entry there.
    supported: Option<(usize, &'a SupportedVoice)>,
    /// Whether the agent speaks with it by itself.
    is_usual: bool,
}

/// Values of a setting.
#[derive(Clone, Copy)]
struct Setting {
    /// The voice's own.
    own: Option<f64>,
    /// The agent's.
    agents: f64,
    default: f64,
}

fn of_voices(agent: &Agent, choices: &[ProviderName]) -> Vec<String> {
    let config = &agent.conversation_config;
    let tts = &config.tts;
    let usual = tts.usual(&config.agent.primary_language);
    let main = usual.is_none().then_some(Spoken {
        tts,
        supported: None,
        is_usual: true,
    });
    let supported = tts.supported_voices.iter().enumerate().map(|(index, voice)| Spoken {
        tts,
        supported: Some((index, voice)),
        is_usual: usual.is_some_and(|usual| std::ptr::eq(usual, voice)),
    });
    let mut texts = Vec::new();
    for text in main.into_iter().chain(supported).flat_map(|voice| voice.texts(choices)) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

impl Spoken<'_> {
    fn texts(&self, choices: &[ProviderName]) -> Vec<String> {
        let own_id = self.supported.and_then(|(_, voice)| voice.voice_id.as_deref());
        let voice_id = own_id.unwrap_or(&self.tts.voice_id);
        let (provider, name) = parted(voice_id);
        let choice = wanted(choices, provider, name);
        let takes = takes_of(&choice);
        let shown = match provider {
            Some(_) => format!("`{voice_id}`"),
            None => format!("`{voice_id}` of `{}`", choice.provider),
        };
        let (tts, usual) = (self.tts, TtsSection::default());
        let own = |of: fn(&SupportedVoice) -> Option<f64>| self.supported.and_then(|(_, voice)| of(voice));
        let speed = Setting {
            own: own(|voice| voice.speed),
            agents: tts.speed,
            default: usual.speed,
        };
        let stability = Setting {
            own: own(|voice| voice.stability),
            agents: tts.stability,
            default: usual.stability,
        };
        let boost = Setting {
            own: own(|voice| voice.similarity_boost),
            agents: tts.similarity_boost,
            default: usual.similarity_boost,
        };
        let mut texts: Vec<String> = [
            self.text("speed", speed, takes.speed, &shown),
            self.text("stability", stability, takes.stability, &shown),
            self.text("similarityBoost", boost, takes.similarity_boost, &shown),
        ]
        .into_iter()
        .flatten()
        .collect();
        let latency = (tts.optimize_streaming_latency, usual.optimize_streaming_latency);
        if self.is_usual && latency.0 != latency.1 && !takes.latency {
            texts.push(format!(
                "`conversationConfig.tts.optimizeStreamingLatency` has no effect on voice {shown}"
            ));
        }
        texts
    }

    /// Returns the sentence about one setting.
    fn text(&self, field: &str, setting: Setting, range: Option<Range>, voice: &str) -> Option<String> {
        let Setting { own, agents, default } = setting;
        let value = own.unwrap_or(agents);
        let path = match (own, self.supported) {
            (Some(_), Some((index, _))) => format!("supportedVoices[{index}].{field}"),
            _ => field.to_owned(),
        };
        let path = format!("`conversationConfig.tts.{path}`");
        match range {
            _ if value == default => None,
            Some(range) if range.nearest(value) != value => Some(format!(
                "{path} is {value}, but voice {voice} takes {range}, so it gets {}",
                range.nearest(value)
            )),
            Some(_) => None,
            // The settings of the agent's usual voice do not apply to its other voices.
            None => (own.is_some() || self.is_usual).then(|| format!("{path} has no effect on voice {voice}")),
        }
    }
}

/// Returns a sentence for each pronunciation dictionary that none of an agent's voices uses, nor one of the service's.
fn of_dictionaries(agent: &Agent, choices: &[ProviderName]) -> Vec<String> {
    let tts = &agent.conversation_config.tts;
    let all = &tts.pronunciation_dictionary;
    let own = tts.supported_voices.iter().filter_map(|voice| voice.voice_id.as_ref());
    let own = own.chain([&tts.voice_id]).map(|voice_id| {
        let (provider, voice) = parted(voice_id);
        wanted(choices, provider, voice)
    });
    let voices: Vec<ProviderName> = own.chain(choices.iter().cloned()).collect();
    let used: Vec<_> = voices
        .iter()
        .flat_map(|voice| takes_of(voice).usable(&voice.provider, all))
        .collect();
    let unused = all
        .iter()
        .enumerate()
        .filter(|(_, one)| !used.iter().any(|used| std::ptr::eq(*used, *one)));
    unused
        .map(|(index, one)| {
            let provider = &one.provider;
            let of_provider = voices.iter().filter(|voice| voice.provider == *provider);
            let most = of_provider.map(takes_of).max_by_key(|takes| takes.dictionaries);
            let why = match most {
                None => format!("no voice of `{provider}` speaks"),
                Some(Takes { dictionaries: 0, .. }) => format!("the model of the `{provider}` voice takes none"),
                Some(Takes { versions: true, .. }) if one.version_id.is_none() => {
                    format!("`{provider}` requires its `versionId`")
                }
                Some(Takes { dictionaries, .. }) => format!("a voice of `{provider}` takes {dictionaries} at most"),
            };
            format!("`conversationConfig.tts.pronunciationDictionary[{index}]` has no effect, because {why}")
        })
        .collect()
}

/// Returns a sentence for each setting that an agent's language model cannot follow, when all is well.
fn of_model(agent: &Agent, choices: &[ProviderName]) -> Vec<String> {
    let provider = match agent.conversation_config.agent.prompt.llm.trim() {
        "" | DEFAULT_LLM => choices
            .first()
            .map_or(registry::DEFAULT_LLM, |choice| choice.provider.as_str()),
        named => named.split('/').next().unwrap_or_default(),
    };
    match registry::find(provider).and_then(|provider| provider.llm.as_ref()) {
        Some(Llm {
            way: LlmWay::Inside(_, limits),
            ..
        }) => limits(agent),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns the texts for an agent with these voice settings, whose model is a real one.
    fn of_tts(tts: &Value, choices: &str) -> Vec<String> {
        let agent = json!({ "conversationConfig": { "agent": { "prompt": { "llm": "openai/x" } }, "tts": tts } });
        let config = ProviderConfig {
            tts: choices.split(',').map(|name| name.parse().unwrap()).collect(),
            ..ProviderConfig::default()
        };
        texts(&serde_json::from_value(agent).unwrap(), &config)
    }

    #[test]
    fn each_provider_has_what_it_takes() {
        let all = json!({ "speed": 1.9, "stability": 0.3, "similarityBoost": 0.2, "optimizeStreamingLatency": 1 });
        for (voice, speed, others) in [
            ("elevenlabs:a", Some("0.7 to 1.2, so it gets 1.2"), ""),
            (
                "elevenlabs/eleven_turbo_v2_5:a",
                Some("gets 1.2"),
                "optimizeStreamingLatency",
            ),
            (
                "cartesia:a",
                Some("0.6 to 1.5, so it gets 1.5"),
                "stability similarityBoost optimizeStreamingLatency",
            ),
            (
                "cartesia/sonic-2:a",
                Some("no effect"),
                "stability similarityBoost optimizeStreamingLatency",
            ),
            (
                "deepgram:a",
                Some("no effect"),
                "stability similarityBoost optimizeStreamingLatency",
            ),
            (
                "openai:alloy",
                None,
                "stability similarityBoost optimizeStreamingLatency",
            ),
            ("espeak:en", None, "stability similarityBoost optimizeStreamingLatency"),
        ] {
            let mut tts = all.clone();
            tts["voiceId"] = voice.into();
            let texts = of_tts(&tts, "babble");
            let named = |field: &str| {
                texts
                    .iter()
                    .find(|text| text.starts_with(&format!("`conversationConfig.tts.{field}`")))
            };
            assert_eq!(named("speed").is_some(), speed.is_some(), "{texts:?}");
            let told = named("speed").map_or("", String::as_str);
            assert!(told.contains(speed.unwrap_or_default()), "{told}");
            for field in ["stability", "similarityBoost", "optimizeStreamingLatency"] {
                let text = named(field).map(String::as_str);
                let expected = format!("`conversationConfig.tts.{field}` has no effect on voice `{voice}`");
                assert_eq!(text, others.contains(field).then_some(expected.as_str()), "{voice}");
            }
        }
        let steps = of_tts(
            &json!({ "voiceId": "elevenlabs/eleven_v3:a", "stability": 0.3 }),
            "babble",
        );
        let told = "`conversationConfig.tts.stability` is 0.3, but voice `elevenlabs/eleven_v3:a` takes 0 to 1 in steps of \
                    0.5, so it gets 0.5";
        assert_eq!(steps, [told]);
    }

    #[test]
    fn defaults_never_warn_and_every_voice_is_looked_at() {
        assert_eq!(of_tts(&json!({}), "deepgram"), Vec::<String>::new());
        assert_eq!(
            of_tts(&json!({ "speed": 2 }), "cartesia/sonic-3:v,babble"),
            ["`conversationConfig.tts.speed` is 2, but voice `default` of `cartesia` takes 0.6 to 1.5, so it gets 1.5"]
        );
        // The agent's stability is for its usual voice; its speed is clamped by the other one, too.
        let voices = json!({
            "voiceId": "elevenlabs:a", "speed": 0.6, "stability": 0.9,
            "supportedVoices": [{ "voiceId": "deepgram:b" }, { "voiceId": "cartesia:c", "similarityBoost": 0.1 }],
        });
        assert_eq!(
            of_tts(&voices, "babble"),
            [
                "`conversationConfig.tts.speed` is 0.6, but voice `elevenlabs:a` takes 0.7 to 1.2, so it gets 0.7",
                "`conversationConfig.tts.supportedVoices[1].similarityBoost` has no effect on voice `cartesia:c`",
            ]
        );
    }

    #[test]
    fn a_dictionary_that_no_voice_uses_is_told() {
        let of = |provider: &str, version: Option<&str>| -> Value {
            json!({ "provider": provider, "pronunciationDictionaryId": "d", "versionId": version })
        };
        let (labs, cartesia) = (of("elevenlabs", Some("1")), of("cartesia", None));
        for (voice, choices, dictionaries, index, why) in [
            ("elevenlabs:a", "babble", vec![&labs; 3], None, ""),
            ("default", "cartesia,elevenlabs", vec![&cartesia, &labs], None, ""),
            (
                "elevenlabs:a",
                "babble",
                vec![&labs; 4],
                Some(3),
                "a voice of `elevenlabs` takes 3 at most",
            ),
            (
                "elevenlabs:a",
                "babble",
                vec![&of("elevenlabs", None)],
                Some(0),
                "`elevenlabs` requires its `versionId`",
            ),
            (
                "elevenlabs:a",
                "babble",
                vec![&labs, &cartesia],
                Some(1),
                "no voice of `cartesia` speaks",
            ),
            (
                "cartesia:a",
                "babble",
                vec![&cartesia; 2],
                Some(1),
                "a voice of `cartesia` takes 1 at most",
            ),
            (
                "cartesia/sonic-2:a",
                "babble",
                vec![&cartesia],
                Some(0),
                "the model of the `cartesia` voice takes none",
            ),
            (
                "deepgram:a",
                "babble",
                vec![&labs],
                Some(0),
                "no voice of `elevenlabs` speaks",
            ),
        ] {
            let texts = of_tts(
                &json!({ "voiceId": voice, "pronunciationDictionary": dictionaries }),
                choices,
            );
            let told = index.map(|index| {
                format!("`conversationConfig.tts.pronunciationDictionary[{index}]` has no effect, because {why}")
            });
            assert_eq!(texts, Vec::from_iter(told), "{voice}");
        }
    }

    #[test]
    fn what_interviewer_cannot_do_is_told() {
        let agent = |llm: &str| {
            serde_json::from_value(json!({
                "conversationConfig": {
                    "agent": { "primaryLanguage": "de", "prompt": { "llm": llm, "temperature": 0.7 } },
                    "tts": { "expressiveMode": true },
                    "languagePresets": { "en-GB": {}, "sw": {}, "fr": { "overrides": { "tts": { "speed": 1.5 } } } },
                },
                "platformSettings": { "summaryLanguage": "de" },
            }))
            .unwrap()
        };
        let speed =
            "in `languagePresets.fr`: `conversationConfig.tts.speed` has no effect on voice `default` of `babble`";
        let interviewer = [
            speed,
            "`conversationConfig.agent.primaryLanguage` is `de`, but `interviewer` speaks English only",
            "`conversationConfig.languagePresets` is `sw`, but `interviewer` speaks English only, and no language model is set \
             to make the fixed phrases in this language, so they are English",
            "`conversationConfig.languagePresets` is `fr`, but `interviewer` speaks English only",
            "`conversationConfig.agent.prompt.temperature` has no effect with `interviewer`",
            "`conversationConfig.tts.expressiveMode` has no effect with `interviewer`",
            "`platformSettings.summaryLanguage` has no effect, because no language model does the analysis",
        ];
        for llm in ["default", "interviewer"] {
            assert_eq!(texts(&agent(llm), &ProviderConfig::default()), interviewer, "{llm}");
        }
        assert_eq!(
            texts(&agent("openai/gpt-4.1-mini"), &ProviderConfig::default()),
            [speed]
        );
    }
}
