//! Tests that each request begins with the content of the previous one, so that the providers' prompt caches match.

use std::time::Duration;

use domain::{
    agent::Agent,
    ports::{
        language_model::{HistoryItem, Speaker},
        usage::Meter,
    },
};
use serde_json::{Value, json};
use sim::stub_providers::{Service, StubHandle, anthropic, openai};

use crate::language::{booking, models, reply, request, stubs};

/// Agent that uses everything the instructions can contain.
fn agent() -> Agent {
    let mut agent = serde_json::to_value(booking()).unwrap();
    let config = &mut agent["conversationConfig"];
    config["agent"]["prompt"]["timezone"] = "Asia/Kolkata".into();
    config["agent"]["prompt"]["prompt"] = "You book visits for {{name}}.".into();
    config["agent"]["primaryLanguage"] = "hi".into();
    config["agent"]["hinglishMode"] = true.into();
    config["tts"] = json!({
        "supportedVoices": [{ "label": "Joe", "voiceId": "joe", "language": "en" }],
        "expressiveMode": true,
        "suggestedAudioTags": [{ "tag": "laughs", "description": "when it is funny" }]
    });
    serde_json::from_value(agent).unwrap()
}

fn said(speaker: Speaker, text: String) -> HistoryItem {
    HistoryItem::Said {
        interrupted: speaker == Speaker::Agent && text.contains('4'),
        speaker,
        text,
        damaged: false,
    }
}

/// Runs a call of ten turns, each with a tool call, and with minutes in between. Returns every request as it was sent.
async fn whole_call(llm: &str, service: Service) -> Vec<Value> {
    let stub: StubHandle = stubs().await;
    let models = models(&[llm], &stub);
    let (agent, meter) = (agent(), Meter::default());
    let mut history = vec![said(Speaker::Agent, "Namaste!".into())];
    let mut asked = Vec::new();
    for turn in 0..10 {
        history.push(said(Speaker::User, format!("Words of turn {turn}.")));
        let ask = async |history: &[HistoryItem]| {
            let mut request = request(&agent, history, &meter);
            request.now = request.now.plus(Duration::from_secs(150 * turn));
            reply(&models, request).await;
        };
        ask(&history).await;
        history.push(HistoryItem::Tool {
            name: "collect".into(),
            arguments: json!({ "entity": "guests", "value": turn.to_string() }),
            result: json!({ "ok": true }),
            echo: None,
        });
        ask(&history).await;
        history.push(said(Speaker::Agent, format!("Reply {turn}.")));
    }
    let received = stub.received(service);
    asked.extend(received.iter().filter_map(|what| serde_json::from_str(what).ok()));
    asked
}

/// Returns a request's text in the order in which a model reads it, split before the current time.
fn read(body: &Value) -> (String, String) {
    let mut marks = body.clone();
    without_marks(&mut marks);
    let mut text = format!("{}{}", marks["tools"], marks["system"]);
    for message in marks["messages"].as_array().unwrap() {
        text.push_str(&format!("\n{}:", message["role"]));
        match &message["content"] {
            Value::String(words) => text.push_str(&format!("\n{words}")),
            Value::Array(blocks) => {
                for block in blocks {
                    let words = block["text"].as_str().map(str::to_owned);
                    text.push_str(&format!("\n{}", words.unwrap_or_else(|| block.to_string())));
                }
            }
            _ => {}
        }
        if let Some(calls) = message.get("tool_calls") {
            text.push_str(&calls.to_string());
        }
    }
    let (before, behind) = text.split_once("\n[It is ").expect("the time is told");
    (before.to_owned(), behind.to_owned())
}

/// Removes cache marks. A block with a mark is the same block to the cache.
fn without_marks(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(without_marks);
        }
        Value::Array(items) => items.iter_mut().for_each(without_marks),
        _ => {}
    }
}

fn check(requests: &[Value]) {
    assert_eq!(requests.len(), 20);
    let read: Vec<_> = requests.iter().map(read).collect();
    for (n, pair) in read.windows(2).enumerate() {
        let ((before, _), (later, _)) = (&pair[0], &pair[1]);
        assert!(later.starts_with(before), "request {n}:\n{before}\n\n{later}");
    }
    let times: std::collections::BTreeSet<_> = read.iter().map(|(_, now)| &now[..40]).collect();
    assert_eq!(times.len(), 10, "the time passes");
    for (n, (_, behind)) in read.iter().enumerate() {
        assert!(
            !behind.contains("Words of") && !behind.contains("Reply"),
            "request {n}: {behind}"
        );
    }
    let (first, _) = &read[0];
    for part in [
        "You book visits for Maria.",
        "Speak Hinglish",
        "`<Joe>Hello!</Joe>`",
        "`[laughs]`: when it is funny",
        "collect",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
}

#[tokio::test(start_paused = true)]
async fn chat_completions_begin_with_what_was_sent_before() {
    let requests = whole_call("openai", openai::CHAT_COMPLETIONS).await;
    check(&requests);
    for body in &requests {
        assert_eq!(body["messages"][0], requests[0]["messages"][0]);
        assert_eq!(body["tools"], requests[0]["tools"]);
        let systems = body["messages"].as_array().unwrap();
        assert_eq!(systems.iter().filter(|message| message["role"] == "system").count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn messages_begin_with_what_was_sent_before_and_mark_it_for_the_cache() {
    let requests = whole_call("anthropic", anthropic::MESSAGES).await;
    check(&requests);
    for body in &requests {
        assert_eq!(body["system"], requests[0]["system"]);
        assert_eq!(body["system"][0]["cache_control"], json!({ "type": "ephemeral" }));
        let last = body["messages"].as_array().unwrap().last().unwrap();
        let [.., marked, time] = last["content"].as_array().unwrap().as_slice() else {
            panic!("{last}")
        };
        assert_eq!(marked["cache_control"], json!({ "type": "ephemeral" }));
        assert!(time["text"].as_str().unwrap().starts_with("[It is ") && time.get("cache_control").is_none());
        assert_eq!(body.to_string().matches("cache_control").count(), 2);
    }
}
