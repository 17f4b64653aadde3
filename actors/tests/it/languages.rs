//! Calls in a language of the agent's presets, from their beginning and after a change.

use domain::{agent::Agent, prompt::Prompt};
use serde_json::json;
use testkit::fake_language::ScriptedReply;

use super::call_support::{TestCall, agent, ms};

fn of_two_languages() -> Agent {
    agent(json!({ "name": "Ava", "conversationConfig": {
        "agent": {
            "greetingMessage": "Hello {{name}}, {{shop}} here.",
            "dynamicVariables": { "shop": "the store", "name": "nobody" },
            "prompt": {
                "prompt": "You answer for {{shop}}.",
                "builtInTools": { "languageDetection": { "enabled": true } },
            },
        },
        "languagePresets": { "de": { "overrides": { "agent": {
            "greetingMessage": "Guten Tag {{name}}, hier ist {{shop}}.",
            "dynamicVariables": { "shop": "der Laden", "name": "niemand" },
            "disableFirstMessageInterruptions": true,
            "tone": "warm",
            "prompt": { "prompt": "Du sprichst für {{shop}}." },
        } } } },
        "turn": { "turnTimeout": -1 },
    } }))
}

/// Returns the instructions with which the model was asked last.
fn instructions(test: &TestCall) -> String {
    Prompt::of(test.ports.language_model.requests().last().unwrap()).stable
}

async fn changes_to(test: &TestCall, code: &str) {
    let change = ScriptedReply::default().then_tool("languageDetection", json!({ "language": code }));
    test.ports.language_model.script(change);
    test.stream.user_says("Another language, please.", 800).await;
    ms(5_000).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_begins_in_a_presets_language_has_its_greeting_and_variables() {
    let test = TestCall::greeted(of_two_languages().in_language("de")).await;
    assert_eq!(test.stream.said(), ["Guten Tag Bo, hier ist der Laden."]);
    assert_eq!(test.stream.protected(), test.stream.said(), "nothing interrupts it");
    test.stream.user_says("Wer spricht?", 800).await;
    ms(3_000).await;
    assert!(instructions(&test).starts_with("Du sprichst für der Laden."));
    changes_to(&test, "en").await;
    assert!(
        instructions(&test).starts_with("You answer for the store."),
        "back in its own"
    );

    let test = TestCall::greeted(of_two_languages()).await;
    assert_eq!(test.stream.said(), ["Hello Bo, the store here."]);
    assert!(test.stream.protected().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_change_of_language_brings_the_presets_variables() {
    let test = TestCall::greeted(of_two_languages()).await;
    changes_to(&test, "de").await;
    let german = instructions(&test);
    assert!(german.starts_with("Du sprichst für der Laden."), "{german}");
    assert!(german.contains("Guten Tag Bo,"), "what the call knows stands: {german}");
}
