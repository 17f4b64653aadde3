//! Requests made to harm: none may cost far more memory or time than it has bytes.

use serde_json::json;

use crate::support::app::TestApp;

/// Bytes of any refusal, with room to spare.
const REFUSAL_BYTES: usize = 1_000_000;

#[tokio::test(start_paused = true)]
async fn a_long_name_is_not_repeated_for_every_problem_below_it() {
    let app = TestApp::start().await;
    let name = "k".repeat(20_000);
    let twice = format!("{{\"{name}\":{{{}}}}}", vec!["\"a\":1"; 10_000].join(","));
    let voices = vec![json!({ "speed": "fast", "pace": 1 }); 900];
    let presets = json!({ (name.clone()): { "overrides": { "tts": { "supportedVoices": voices } } } });
    let agent = json!({ "conversationConfig": { "languagePresets": presets } }).to_string();
    let unknown = format!("{{\"{name}\":1}}");
    for (path, body) in [
        ("/public/v1/contacts", twice),
        ("/public/v1/agents/create", agent),
        ("/public/v1/campaigns", unknown),
    ] {
        let answer = app.client.post_text(path, body).await.expect(400);
        let size = answer.body.to_string().len();
        assert!(size < REFUSAL_BYTES, "{path}: {size}");
        assert!(!answer.fields().is_empty(), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_of_nothing_but_problems_lists_a_thousand_and_counts_the_rest() {
    let app = TestApp::start().await;
    let contacts = vec![json!({}); 5_000];
    let body = json!({ "name": "n", "agentId": app.agent().await, "contacts": contacts });
    let answer = app.client.post("/public/v1/campaigns", body).await.expect(400);
    assert_eq!(answer.fields().len(), 1_000);
    assert!(answer.text("/error/message").ends_with("(and 4999 more)"));
}
