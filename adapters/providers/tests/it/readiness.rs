//! Tests of whether the models that an agent names are configured.

use std::sync::Arc;

use domain::agent::Agent;
use providers::{
    babble::BabbleTranscriber, config::ProviderConfig, configured::Configured, settings::ProviderSettings,
};
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn the_model_of_a_node_is_required_as_the_agents_own_is() {
    let config = ProviderConfig {
        settings: Some(ProviderSettings::read(|_| None).unwrap()),
        ..ProviderConfig::default()
    };
    let providers = Configured::new(&config, Arc::new(BabbleTranscriber), None).unwrap();
    let ready = |node: Value| {
        let agent = json!({ "workflow": { "nodes": { "s": { "type": "start" }, "n": node } } });
        let agent: Agent = serde_json::from_value(agent).unwrap();
        let [text, voice] = [providers.ready_in_text(&agent), providers.ready_for(&agent)];
        assert_eq!(text.is_ok(), voice.is_ok());
        text.map_err(|lack| lack.0)
    };
    for kind in ["override_agent", "say"] {
        for config in ["conversationConfig", "conversation_config"] {
            let node = |model: &str| json!({ "type": kind, config: { "agent": { "prompt": { "llm": model } } } });
            for model in ["interviewer", "default", ""] {
                assert_eq!(ready(node(model)), Ok(()), "{kind} {config} {model}");
            }
            let lack = ready(node("openai/gpt-4.1-mini")).unwrap_err();
            assert!(
                lack.starts_with("`workflow.nodes.n.conversationConfig.agent.prompt.llm`: "),
                "{lack}"
            );
            assert!(lack.contains("OPENAI_API_KEY"), "{lack}");
        }
    }
    let other =
        json!({ "type": "end", "conversationConfig": { "agent": { "prompt": { "llm": "openai/gpt-4.1-mini" } } } });
    assert_eq!(ready(other), Ok(()), "it has no effect there");
}
