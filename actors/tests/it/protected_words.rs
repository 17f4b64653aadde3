//! Words that an agent says with a tool: the other person's voice stops them, unless the agent protects them.

use actors::call::CallPhase;
use domain::agent::Agent;
use serde_json::{Value, json};
use testkit::fake_language::ScriptedReply;

use super::call_support::{TestCall, agent, ms};

const WORDS: &str = "So be it, as you wish. ";

fn with_tool(tool: &str, protected: bool) -> Agent {
    agent(json!({ "conversationConfig": {
        "agent": { "greetingMessage": "Hello.", "prompt": { "builtInTools": {
            tool: { "enabled": true, "disableInterruption": protected },
        } } },
        "languagePresets": { "de": {} },
        "turn": { "turnTimeout": -1 },
    } }))
}

/// Lets the model say its words with this tool, and returns the call while they play.
async fn says_with(tool: &str, arguments: &Value, protected: bool) -> TestCall {
    let test = TestCall::greeted(with_tool(tool, protected)).await;
    let reply = ScriptedReply::text(WORDS).then_tool(tool, arguments.clone());
    test.ports.language_model.script(reply);
    test.stream.user_says("Please do it.", 800).await;
    ms(300).await;
    assert_eq!(test.snapshot().await.phase, CallPhase::Speaking, "{tool}");
    assert_eq!(test.stream.said().last().map(|said| said.trim()), Some(WORDS.trim()));
    test
}

async fn holds_where_the_agent_wants_it(tool: &str, arguments: Value) {
    for protected in [true, false] {
        let test = says_with(tool, &arguments, protected).await;
        let held = test.stream.protected();
        assert_eq!(
            held.iter().any(|text| text.trim() == WORDS.trim()),
            protected,
            "{tool}: {held:?}"
        );
        if !protected {
            test.stream.interrupt();
            ms(100).await;
            assert_eq!(test.snapshot().await.phase, CallPhase::Listening, "{tool}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn last_words_hold_where_end_call_disables_interruption() {
    holds_where_the_agent_wants_it("endCall", json!({ "reason": "goodbye" })).await;
}

#[tokio::test(start_paused = true)]
async fn words_in_another_language_hold_where_language_detection_disables_interruption() {
    holds_where_the_agent_wants_it("languageDetection", json!({ "language": "de" })).await;
}

#[tokio::test(start_paused = true)]
async fn words_before_waiting_hold_where_skip_turn_disables_interruption() {
    holds_where_the_agent_wants_it("skipTurn", json!({})).await;
}
