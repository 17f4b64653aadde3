//! The dialogue manager inside this process, as a language model that needs no settings.

use domain::{
    agent::Agent,
    interviewer::Interviewer,
    phrases::Phrases,
    workflow::{Graph, judge},
};

use crate::{
    name::plain_language,
    provider::{Llm, LlmWay, Provider},
};

/// Most conditions of a graph that are named.
const LISTED: usize = 20;

pub(super) static INTERVIEWER: Provider = Provider {
    name: "interviewer",
    llm: Some(Llm {
        model: "",
        way: LlmWay::Inside(&Interviewer, limits),
    }),
    ..Provider::NONE
};

/// Returns a sentence for each setting of an agent that has no effect, or another one than it says.
fn limits(agent: &Agent) -> Vec<String> {
    let config = &agent.conversation_config;
    let is_english = |code: &str| plain_language(code).eq_ignore_ascii_case("en");
    let mut texts = Vec::new();
    let presets = config.language_presets.keys().map(|code| ("languagePresets", code));
    let languages = std::iter::once(("agent.primaryLanguage", &config.agent.primary_language)).chain(presets);
    for (field, code) in languages.filter(|(_, code)| !is_english(code)) {
        let phrases = match Phrases::built_in(code) {
            Some(_) => "",
            None => ", and no language model is set to make the fixed phrases in this language, so they are English",
        };
        texts.push(format!(
            "`conversationConfig.{field}` is `{code}`, but `interviewer` speaks English only{phrases}"
        ));
    }
    let has_no_effect = [
        (
            "conversationConfig.agent.prompt.temperature",
            config.agent.prompt.temperature != 0.0,
        ),
        ("conversationConfig.tts.expressiveMode", config.tts.expressive_mode),
    ];
    for (field, _) in has_no_effect.iter().filter(|(_, is_set)| *is_set) {
        texts.push(format!("`{field}` has no effect with `interviewer`"));
    }
    let graph = Graph::read(&agent.workflow);
    let unjudged = graph.as_ref().map(judge::unjudged).unwrap_or_default();
    texts.extend(unjudged.iter().take(LISTED).map(|path| {
        format!("`{path}` is never taken, because `interviewer` cannot judge it by its words; choose a language model")
    }));
    let language = agent.platform_settings.summary_language.as_deref();
    if language.is_some_and(|language| !language.trim().is_empty()) {
        texts.push(
            "`platformSettings.summaryLanguage` has no effect, because no language model does the analysis".into(),
        );
    }
    texts
}
