//! Tests of the search for passages of documents.

use serde_json::{Value, json};

use support::{app::TestApp, client::Client};

const SEARCH: &str = "/public/v1/knowledge-base/search";

async fn document(client: &Client, name: &str, text: &str) -> String {
    let body = json!({ "name": name, "text": text });
    let made = client.post("/public/v1/knowledge-base/documents/text", body).await;
    made.expect(201).text("/data/documentId")
}

/// Searches, and returns the passages.
async fn found(client: &Client, body: Value) -> Vec<Value> {
    let answer = client.post(SEARCH, body).await.expect(200);
    answer.data()["passages"].as_array().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn a_question_finds_passages_of_an_agent_or_of_documents() {
    let app = TestApp::start().await;
    let hours = document(&app.client, "Hours", "# Opening\n\nThe practice opens at eight.\n").await;
    let prices = document(&app.client, "Prices", "A check-up is 60 euros.").await;
    let group = json!({ "name": "All", "documentIds": [prices] });
    let group = app.client.post("/public/v1/knowledge-base/groups", group).await;
    let group = group.expect(201).text("/data/groupId");
    let prompt = json!({ "prompt": "Answer.", "knowledgeBase": [hours, group] });
    let agent = json!({ "name": "Ann", "conversationConfig": { "agent": { "prompt": prompt } } });
    let agent = app.client.post("/public/v1/agents/create", agent).await.expect(201);
    let agent = agent.text("/data/agentId");

    let of_agent = found(&app.client, json!({ "question": "How many euros?", "agentId": agent })).await;
    assert_eq!(of_agent.len(), 1, "{of_agent:?}");
    assert_eq!(of_agent[0]["documentId"], json!(prices));
    assert_eq!(of_agent[0]["documentName"], "Prices");
    assert_eq!(of_agent[0]["text"], "A check-up is 60 euros.");
    assert_eq!(of_agent[0]["given"], true);
    assert!(of_agent[0]["score"].as_f64().unwrap() > 0.0);
    assert_eq!(of_agent[0].get("heading"), None);

    let of_hours = json!({ "question": "When does the practice open?", "documentIds": [hours] });
    let of_hours = found(&app.client, of_hours).await;
    assert_eq!((of_hours.len(), &of_hours[0]["heading"]), (1, &json!("Opening")));
    let without = json!({ "question": "How many euros?", "documentIds": [hours] });
    assert_eq!(found(&app.client, without).await, Vec::<Value>::new());
    let unread = app.agent().await;
    let unread = json!({ "question": "How many euros?", "agentId": unread });
    assert_eq!(found(&app.client, unread).await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn of_long_documents_a_reply_gets_the_best_passages_only() {
    let app = TestApp::start().await;
    let places = (0..60).map(|n| format!("Place {n} for parking is {}of the hall.\n\n", "far ".repeat(90)));
    let text: String = places.collect();
    let id = document(&app.client, "Parking", &text).await;
    let passages = found(&app.client, json!({ "question": "parking", "documentIds": [id] })).await;
    assert_eq!(passages.len(), 30);
    let scores: Vec<f64> = passages.iter().map(|one| one["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
    let given: Vec<bool> = passages.iter().map(|one| one["given"].as_bool().unwrap()).collect();
    assert_eq!(given.iter().filter(|given| **given).count(), 6);
    assert!(given[..6].iter().all(|given| *given), "{given:?}");
}

#[tokio::test(start_paused = true)]
async fn a_search_names_a_question_and_what_is_searched() {
    let app = TestApp::start().await;
    let (agent, id) = (app.agent().await, document(&app.client, "Any", "Any text.").await);
    let stranger = app.stranger().await;
    let theirs = document(&stranger, "Theirs", "Their text.").await;
    let many: Vec<&str> = vec![id.as_str(); 201];
    for (body, fields) in [
        (json!({ "agentId": agent }), vec![("question", "required")]),
        (
            json!({ "question": " ", "agentId": agent }),
            vec![("question", "out_of_range")],
        ),
        (
            json!({ "question": "x".repeat(601), "agentId": agent }),
            vec![("question", "out_of_range")],
        ),
        (json!({ "question": "Who?" }), vec![("agentId", "required")]),
        (
            json!({ "question": "Who?", "agentId": agent, "documentIds": [id] }),
            vec![("agentId", "required")],
        ),
        (
            json!({ "question": 1, "agentId": "x", "documentIds": [theirs, id, id], "limit": 3 }),
            vec![
                ("limit", "unknown_field"),
                ("question", "wrong_type"),
                ("agentId", "invalid_value"),
                ("documentIds[0]", "not_found"),
                ("documentIds[2]", "repeated"),
            ],
        ),
        (
            json!({ "question": "Who?", "documentIds": many }),
            vec![("documentIds", "too_many")],
        ),
    ] {
        let refused = app.client.post(SEARCH, body).await.expect(400);
        assert_eq!(refused.fields(), fields);
    }
    let question = json!({ "question": "Who?", "agentId": agent });
    stranger.post(SEARCH, question.clone()).await.expect(404);
    assert_eq!(found(&app.client, question).await, Vec::<Value>::new());
}
