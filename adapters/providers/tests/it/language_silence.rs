//! Tests of language models that answer without content. Another provider is asked in the same turn, and they
//! count as unhealthy.

use axum::{Router, body::Body, routing::post};
use domain::ports::{
    language_model::{HistoryItem, LanguageError, Speaker},
    usage::Meter,
};
use futures_util::{StreamExt, stream};
use net::guard::{Guards, Kind};
use providers::settings::ProviderSettings;
use serde_json::json;
use tokio::{net::TcpListener, time::Instant};

use crate::language::{booking, models_with, reply, request, told};

/// Starts a server that answers every request of either protocol with these events.
async fn server(events: String) -> ProviderSettings {
    server_of(move || Body::from(events.clone())).await
}

async fn server_of(body: impl Fn() -> Body + Clone + Send + Sync + 'static) -> ProviderSettings {
    let answer = move || {
        let body = body();
        async move { body }
    };
    let router = Router::new()
        .route("/v1/chat/completions", post(answer.clone()))
        .route("/v1/messages", post(answer));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let read = ProviderSettings::read(|name| match name {
        "OPENAI_BASE_URL" => Some(format!("{base}/v1")),
        "ANTHROPIC_BASE_URL" => Some(base.clone()),
        _ => None,
    });
    read.unwrap()
}

/// Builds a chat completion with one delta.
fn chat(delta: &serde_json::Value) -> String {
    let chunk = json!({ "choices": [{ "delta": delta, "finish_reason": "stop" }] });
    format!("data: {chunk}\n\ndata: [DONE]\n\n")
}

fn calling(name: &str, arguments: &str) -> String {
    chat(&json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": name, "arguments": arguments } }] }))
}

fn events(events: &[serde_json::Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn silences() -> Vec<(&'static str, String)> {
    let stop = json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } });
    let over = json!({ "type": "message_stop" });
    let late = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Hi." } });
    vec![
        ("openai", chat(&json!({}))),
        ("openai", chat(&json!({ "content": "<think>What do they want?" }))),
        ("openai", chat(&json!({ "content": " \n…" }))),
        ("openai", chat(&json!({ "reasoning_content": "What do they want?" }))),
        ("anthropic", events(&[stop.clone(), over.clone()])),
        ("anthropic", events(&[stop, over, late])),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_reply_without_a_word_goes_to_the_next_provider_in_the_same_turn() {
    for (name, answer) in silences() {
        let settings = server(answer.clone()).await;
        let guards = Guards::default();
        let both = models_with(&[name, "interviewer"], &settings, &guards);
        for _ in 0..6 {
            let (words, _) = told(reply(&both, request(&booking(), &[], &Meter::default())).await);
            assert!(words.contains("preferred day"), "{answer}: {words}");
        }
        assert!(guards.get(Kind::LanguageModel, name).is_down(), "{answer}");
        let alone = models_with(&[name], &settings, &Guards::default());
        let events = reply(&alone, request(&booking(), &[], &Meter::default())).await;
        assert!(
            matches!(events.as_slice(), [Err(LanguageError::Protocol(_))]),
            "{answer}: {events:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_only_calls_what_there_is_not_is_told_once_and_then_has_failed() {
    for (called, arguments) in [("transferToHuman", "{}"), ("collect", "entity=day")] {
        let settings = server(calling(called, arguments)).await;
        let guards = Guards::default();
        let models = models_with(&["openai", "interviewer"], &settings, &guards);
        let mut history = vec![HistoryItem::Said {
            speaker: Speaker::User,
            text: "Hello?".into(),
            interrupted: false,
            damaged: false,
        }];
        for _ in 0..6 {
            let events = reply(&models, request(&booking(), &history, &Meter::default())).await;
            let (words, calls) = told(events);
            assert_eq!((words.as_str(), calls[0].0.as_str()), ("", called), "it is told");
        }
        assert!(!guards.get(Kind::LanguageModel, "openai").is_down());
        history.push(HistoryItem::Tool {
            name: called.into(),
            arguments: json!({}),
            result: json!({ "error": "not available" }),
            echo: None,
        });
        for _ in 0..6 {
            let (words, _) = told(reply(&models, request(&booking(), &history, &Meter::default())).await);
            assert!(words.contains("preferred day"), "{words}");
        }
        assert!(guards.get(Kind::LanguageModel, "openai").is_down());
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_may_stand_alone_is_a_reply() {
    for (called, arguments) in [("skipTurn", "{}"), ("endCall", r#"{"reason":"goodbye"}"#)] {
        let settings = server(calling(called, arguments)).await;
        let models = models_with(&["openai", "interviewer"], &settings, &Guards::default());
        let (words, calls) = told(reply(&models, request(&booking(), &[], &Meter::default())).await);
        assert_eq!((words.as_str(), calls.len(), calls[0].0.as_str()), ("", 1, called));
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_behind_the_end_of_a_reply_does_not_keep_it_open() {
    let text = |text: &str| json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": text } });
    let stop = json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } });
    let finish = json!({ "choices": [{ "delta": { "content": "Yes." }, "finish_reason": "stop" }] });
    let more = json!({ "choices": [{ "delta": { "reasoning": "Well." } }] });
    let endless = [
        ("anthropic", events(&[text("Yes."), stop]), events(&[text("")])),
        ("openai", events(&[finish]), events(&[more])),
    ];
    for (name, reply_is, more) in endless {
        let settings = server_of(move || {
            let drip = stream::repeat(more.clone()).then(|more| async {
                tokio::time::sleep(std::time::Duration::from_millis(400)).await;
                more
            });
            let whole = stream::iter([reply_is.clone()]).chain(drip.take(100));
            Body::from_stream(whole.map(Ok::<_, std::io::Error>))
        })
        .await;
        let models = models_with(&[name], &settings, &Guards::default());
        let began = Instant::now();
        let (words, _) = told(reply(&models, request(&booking(), &[], &Meter::default())).await);
        assert_eq!(
            (words.as_str(), began.elapsed().as_millis() / 100),
            ("Yes.", 5),
            "{name}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_refuses_whatever_different_calls_ask_keeps_new_ones_back() {
    // The server's path differs from the one that is requested.
    let settings = server(String::new()).await;
    let base = settings.endpoint("openai").unwrap().base_url.replace("/v1", "/v2");
    let settings = ProviderSettings::read(|name| (name == "OPENAI_BASE_URL").then(|| base.clone())).unwrap();
    let guards = Guards::default();
    let models = models_with(&["openai"], &settings, &guards);
    let one = Meter::default();
    for _ in 0..20 {
        assert!(reply(&models, request(&booking(), &[], &one)).await[0].is_err());
    }
    assert!(
        !guards.get(Kind::LanguageModel, "openai").is_down(),
        "one call says nothing"
    );
    for _ in 0..20 {
        reply(&models, request(&booking(), &[], &Meter::default())).await;
    }
    assert!(guards.get(Kind::LanguageModel, "openai").is_down());
}
