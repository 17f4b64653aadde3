//! Tests of language models over sockets: the differences of each server, usage, requests, and whole conversations.

use std::{collections::BTreeMap, sync::Arc};

use domain::{
    agent::Agent,
    knowledge::Knowledge,
    ports::{
        language_model::{HistoryItem, LanguageError, LanguageModel, ReplyEvent, ReplyRequest, Speaker},
        store::CallDirection,
        usage::{Meter, Unit},
    },
    time::Timestamp,
};
use futures_util::StreamExt;
use net::guard::Guards;
use providers::{llm::LanguageModels, name::ProviderName, settings::ProviderSettings};
use serde_json::{Value, json};
use sim::stub_providers::{self, Service, StubHandle, StubSettings, anthropic, openai};

/// API key that the stubs accept.
pub const KEY: &str = "sk-test-1";

/// Starts stubs that accept one key only.
pub async fn stubs() -> StubHandle {
    let settings = StubSettings {
        key: Some(KEY.into()),
        ..StubSettings::on_loopback()
    };
    stub_providers::start(settings).await.unwrap()
}

/// Settings with every provider at its stub: Anthropic at `messages`, all others at `chat`.
pub fn settings(chat: &StubHandle, messages: &StubHandle) -> ProviderSettings {
    let (chat, messages) = (chat.url(), messages.url());
    ProviderSettings::read(|name| match name {
        "ANTHROPIC_BASE_URL" => Some(messages.clone()),
        "AZURE_OPENAI_ENDPOINT" => Some(chat.clone()),
        name if name.ends_with("_BASE_URL") => Some(format!("{chat}/v1")),
        _ => Some(KEY.to_owned()),
    })
    .unwrap()
}

/// Router over these models, at one stub.
pub fn models(names: &[&str], stub: &StubHandle) -> LanguageModels {
    models_with(names, &settings(stub, stub), &Guards::default())
}

/// Router over these models.
pub fn models_with(names: &[&str], settings: &ProviderSettings, guards: &Guards) -> LanguageModels {
    let names: Vec<ProviderName> = names.iter().map(|name| name.parse().unwrap()).collect();
    LanguageModels::new(names, settings, guards).unwrap()
}

/// Agent that asks for three values and ends its calls.
pub fn booking() -> Agent {
    let document = json!({
        "name": "Greenfield Dental",
        "conversationConfig": { "agent": {
            "prompt": {
                "prompt": "You book visits.",
                "builtInTools": { "endCall": { "enabled": true }, "skipTurn": { "enabled": true } }
            },
            "greetingMessage": "Hello {{name}}, this is Greenfield Dental."
        } },
        "platformSettings": { "dataCollection": { "entities": {
            "preferredDay": { "type": "string", "description": "preferred day for a visit" },
            "guests": { "type": "integer", "description": "number of guests" },
            "firstVisit": { "type": "boolean", "description": "whether this is your first visit" }
        } } }
    });
    serde_json::from_value(document).unwrap()
}

/// Request for a reply to this history.
pub fn request(agent: &Agent, history: &[HistoryItem], meter: &Meter) -> ReplyRequest {
    ReplyRequest {
        agent: Arc::new(agent.clone()),
        variables: Arc::new(BTreeMap::from([("name".to_owned(), "Maria".to_owned())])),
        tools: Arc::default(),
        direction: CallDirection::Outbound,
        history: history.to_vec(),
        now: Timestamp(1_780_315_500_000_000),
        notes: Vec::new(),
        knowledge: Knowledge::default(),
        failures: 0,
        meter: meter.clone(),
    }
}

/// Collects all events of a reply.
pub async fn reply(models: &LanguageModels, request: ReplyRequest) -> Vec<Result<ReplyEvent, LanguageError>> {
    models.reply(request).collect().await
}

/// Name of a tool, its arguments, and the echo for the provider.
type Done = (String, Value, Option<Box<Value>>);

/// Returns the words and tool calls of a reply. Panics if it failed.
pub fn told(events: Vec<Result<ReplyEvent, LanguageError>>) -> (String, Vec<Done>) {
    let (mut words, mut calls) = (String::new(), Vec::new());
    for event in events {
        match event.unwrap() {
            ReplyEvent::Text(text) => words.push_str(&text),
            ReplyEvent::Tool { name, arguments, echo } => calls.push((name, arguments, echo)),
        }
    }
    (words, calls)
}

fn said(speaker: Speaker, text: &str) -> HistoryItem {
    HistoryItem::Said {
        speaker,
        text: text.into(),
        interrupted: false,
        damaged: false,
    }
}

/// Result of a conversation.
#[derive(Default)]
struct Held {
    history: Vec<HistoryItem>,
    collected: BTreeMap<String, Value>,
    words: Vec<String>,
    reason: Value,
}

/// Holds a conversation as a call does. Collected values are kept, tool calls go into the history before the
/// words that came with them, and a reply without words is followed by another.
async fn hold(models: &LanguageModels, agent: &Agent, answers: &[&str], meter: &Meter) -> Held {
    let mut held = Held::default();
    held.history
        .push(said(Speaker::Agent, "Hello Maria, this is Greenfield Dental."));
    for answer in answers {
        held.history.push(said(Speaker::User, answer));
        for _ in 0..3 {
            let (words, calls) = told(reply(models, request(agent, &held.history, meter)).await);
            let waits = !words.is_empty() || calls.is_empty();
            for (name, arguments, echo) in calls {
                match name.as_str() {
                    "endCall" => held.reason = arguments["reason"].clone(),
                    "collect" => {
                        let entity = arguments["entity"].as_str().unwrap();
                        held.collected.insert(entity.to_owned(), arguments["value"].clone());
                    }
                    _ => {}
                }
                held.history.push(HistoryItem::Tool {
                    name,
                    arguments,
                    result: json!({ "ok": true }),
                    echo,
                });
            }
            if !words.is_empty() {
                held.history.push(said(Speaker::Agent, &words));
                held.words.push(words);
            }
            if waits {
                break;
            }
        }
    }
    held
}

const ANSWERS: [&str; 4] = ["Yes, hello?", "On Friday.", "Three guests.", "Yes, it is."];

fn collected(held: &Held) -> Vec<(&str, String)> {
    let in_words = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let collected = held.collected.iter();
    collected
        .map(|(name, value)| (name.as_str(), in_words(value)))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_whole_conversation_collects_its_data_at_every_server() {
    let stub = stubs().await;
    for name in [
        "openai",
        "anthropic",
        "azure/quirk-azure",
        "ollama/quirk-ollama",
        "gemini/quirk-gemini",
        "vllm/quirk-vllm",
        "groq/quirk-groq",
        "llamacpp/quirk-think",
        "openai/quirk-strict",
        "interviewer",
    ] {
        let meter = Meter::default();
        let held = hold(&models(&[name], &stub), &booking(), &ANSWERS, &meter).await;
        assert_eq!(
            collected(&held),
            [("firstVisit", "true"), ("guests", "3"), ("preferredDay", "Friday")]
                .map(|(name, value)| (name, value.to_owned())),
            "{name}: {:?}",
            held.words
        );
        assert_eq!(held.reason, "completed", "{name}");
        assert!(held.words[0].contains("preferred day"), "{name}: {:?}", held.words);
        for words in &held.words {
            assert!(!words.contains("They want") && !words.contains('<'), "{name}: {words}");
        }
        let provider = name.split('/').next().unwrap();
        let used = meter.used(provider, Unit::InputTokens) > 0 && meter.used(provider, Unit::OutputTokens) > 0;
        assert_eq!(used, name != "interviewer", "{name}: {meter:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_server_says_what_the_interviewer_says() {
    let stub = stubs().await;
    let said = async |name: &str| {
        hold(&models(&[name], &stub), &booking(), &ANSWERS, &Meter::default())
            .await
            .words
    };
    let interviewer = said("interviewer").await;
    for name in ["openai", "anthropic", "gemini/quirk-gemini", "llamacpp/quirk-think"] {
        assert_eq!(said(name).await, interviewer, "{name}");
    }
}

fn bodies(stub: &StubHandle, service: Service) -> Vec<Value> {
    let received = stub.received(service);
    received
        .iter()
        .filter_map(|what| serde_json::from_str(what).ok())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_request_holds_what_its_server_takes_and_nothing_unset() {
    let sent = async |name: &str| {
        let stub = stubs().await;
        let request = request(&booking(), &[], &Meter::default());
        told(reply(&models(&[name], &stub), request).await);
        bodies(&stub, openai::CHAT_COMPLETIONS).remove(0)
    };
    let keys = |body: &Value| body.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let openai = sent("openai/gpt-4.1-mini").await;
    assert_eq!(
        keys(&openai),
        [
            "model",
            "messages",
            "tools",
            "stream",
            "stream_options",
            "temperature",
            "max_completion_tokens"
        ]
    );
    assert_eq!(
        openai["stream_options"],
        json!({ "include_usage": true, "include_obfuscation": false })
    );
    assert_eq!(openai["temperature"], json!(0));
    assert_eq!(openai["messages"][0]["role"], "system");
    assert_eq!(openai["tools"][0]["function"]["name"], "collect");
    let groq = sent("groq/quirk-groq").await;
    assert_eq!(
        keys(&groq),
        [
            "model",
            "messages",
            "tools",
            "stream",
            "temperature",
            "max_completion_tokens"
        ]
    );
    let local = sent("ollama/llama3.2:3b").await;
    assert_eq!(local["model"], "llama3.2:3b");
    assert_eq!(local["max_tokens"], json!(2048));
    assert_eq!(local["stream_options"], json!({ "include_usage": true }));
    let thinking = sent("openai/gpt-5-mini").await;
    assert_eq!(thinking["reasoning_effort"], "minimal");
    assert!(thinking.get("temperature").is_none() && thinking.get("max_completion_tokens").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_field_that_a_model_refuses_is_sent_once_and_never_again() {
    let stub = stubs().await;
    let models = models(&["openai/quirk-strict"], &stub);
    for _ in 0..2 {
        told(reply(&models, request(&booking(), &[], &Meter::default())).await);
    }
    let sent = bodies(&stub, openai::CHAT_COMPLETIONS);
    let has = |name: &str| sent.iter().map(|body| body.get(name).is_some()).collect::<Vec<_>>();
    assert_eq!(has("temperature"), [true, false, false, false]);
    assert_eq!(has("max_completion_tokens"), [true, true, false, false]);
}

#[tokio::test(start_paused = true)]
async fn every_model_is_sent_the_reasoning_effort_that_it_accepts_with_tools() {
    let stub = stubs().await;
    // The efforts of the requests that two replies need: what a refusal taught is kept for the second.
    for (name, efforts) in [
        ("openai/gpt-4.1", [None, None].as_slice()),
        ("openai/gpt-5-mini", &[Some("minimal"), Some("minimal")]),
        ("openai/gpt-5.1", &[Some("none"), Some("none")]),
        ("openai/gpt-5.4", &[Some("none"), None, None]),
        ("openai/gpt-5.6", &[Some("none"), Some("none")]),
        ("azure/front-desk", &[None, Some("none"), Some("none")]),
        ("gemini/gemini-2.0-flash", &[None, None]),
        ("gemini/gemini-2.5-flash", &[Some("none"), Some("none")]),
        ("gemini/gemini-2.5-pro", &[Some("low"), Some("low")]),
        ("gemini/gemini-3-flash", &[Some("minimal"), Some("none"), Some("none")]),
        ("gemini/gemini-3-pro", &[Some("low"), Some("low")]),
        ("gemini/gemini-2.5-flash-thinking", &[Some("none"), None, None]),
    ] {
        let models = models(&["interviewer"], &stub);
        let mut agent = booking();
        agent.conversation_config.agent.prompt.llm = name.into();
        let before = stub.received(openai::CHAT_COMPLETIONS).len();
        for _ in 0..2 {
            told(reply(&models, request(&agent, &[], &Meter::default())).await);
        }
        let sent = bodies(&stub, openai::CHAT_COMPLETIONS);
        let sent: Vec<_> = sent[before..]
            .iter()
            .map(|body| body["reasoning_effort"].as_str())
            .collect();
        assert_eq!(sent, efforts, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_asks_with_a_tool_as_calls_do() {
    let stub = stubs().await;
    for name in ["openai/gpt-5.4", "azure/front-desk"] {
        let report = models(&[name], &stub).probe(&name.parse().unwrap()).await.unwrap();
        assert!(!report.words.is_empty(), "{name}");
    }
    let why = models(&["ollama/quirk-toolless"], &stub);
    let why = why.probe(&"ollama/quirk-toolless".parse().unwrap()).await.unwrap_err();
    assert!(why.to_string().contains("does not support tools"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_signature_goes_back_to_its_own_provider_only() {
    let stub = stubs().await;
    let gemini = models(&["gemini/quirk-gemini"], &stub);
    let mut history = vec![
        said(Speaker::Agent, "What is your preferred day for a visit?"),
        said(Speaker::User, "Friday"),
    ];
    let (_, calls) = told(reply(&gemini, request(&booking(), &history, &Meter::default())).await);
    let (name, arguments, echo) = calls[0].clone();
    assert_eq!(
        echo,
        Some(Box::new(
            json!({ "gemini": { "extra_content": { "google": { "thought_signature": "c2lnbmF0dXJl" } } } })
        ))
    );
    history.push(HistoryItem::Tool {
        name,
        arguments,
        result: json!({ "ok": true }),
        echo,
    });
    for (names, signature) in [
        (
            ["gemini/quirk-gemini"],
            json!({ "google": { "thought_signature": "c2lnbmF0dXJl" } }),
        ),
        (["openai"], Value::Null),
    ] {
        told(reply(&models(&names, &stub), request(&booking(), &history, &Meter::default())).await);
        let sent = bodies(&stub, openai::CHAT_COMPLETIONS).pop().unwrap();
        let call = sent["messages"]
            .as_array()
            .unwrap()
            .iter()
            .find_map(|message| message.pointer("/tool_calls/0"));
        assert_eq!(call.unwrap()["extra_content"], signature, "{names:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn instructions_that_stay_the_same_are_kept_in_anthropics_cache() {
    let stub = stubs().await;
    let meter = Meter::default();
    told(reply(&models(&["anthropic"], &stub), request(&booking(), &[], &meter)).await);
    let sent = bodies(&stub, anthropic::MESSAGES).remove(0);
    assert_eq!(sent["system"][0]["cache_control"], json!({ "type": "ephemeral" }));
    assert_eq!(sent["system"].as_array().unwrap().len(), 1);
    assert!(sent["max_tokens"].is_u64());
    assert_eq!(meter.used("anthropic", Unit::CachedTokens), 16);
    let used = &meter.shown().unwrap()["anthropic"];
    assert_eq!(used["models"]["claude-haiku-5-5"]["cachedTokens"], 16, "{used}");
}

#[tokio::test(start_paused = true)]
async fn names_find_their_models() {
    let stub = stubs().await;
    let service = models(&["ollama/llama3.2:3b", "openai/gpt-4.1", "interviewer"], &stub);
    let asked = async |llm: &str| {
        let mut agent = booking();
        agent.conversation_config.agent.prompt.llm = llm.into();
        let before = stub.received(openai::CHAT_COMPLETIONS).len();
        told(reply(&service, request(&agent, &[], &Meter::default())).await);
        let sent = bodies(&stub, openai::CHAT_COMPLETIONS);
        sent.get(before).map(|body| body["model"].as_str().unwrap().to_owned())
    };
    assert_eq!(asked("default").await.as_deref(), Some("llama3.2:3b"));
    assert_eq!(asked("gpt-4o-mini").await.as_deref(), Some("gpt-4o-mini"));
    assert_eq!(asked("openai").await.as_deref(), Some("gpt-4.1"));
    assert_eq!(asked("groq/some/model").await.as_deref(), Some("some/model"));
    assert_eq!(asked("interviewer").await, None);
    // Not configured, so the service's own model is asked.
    assert_eq!(asked("deepgram/nova").await.as_deref(), Some("llama3.2:3b"));
}

#[tokio::test]
async fn what_cannot_be_asked_is_named_with_its_variable() {
    let none = ProviderSettings::read(|_| None).unwrap();
    let models = models_with(&["interviewer"], &none, &Guards::default());
    assert_eq!(models.check("default"), Ok(()));
    assert_eq!(models.check("ollama/x"), Ok(()));
    for (llm, why) in [
        ("gpt-4.1-mini", "set OPENAI_API_KEY"),
        ("anthropic/claude", "set ANTHROPIC_API_KEY"),
        ("azure/x", "set AZURE_OPENAI_ENDPOINT"),
        ("ollama", "write `ollama/` and the model's name"),
        ("deepgram/x", "has no language models"),
        ("nobody/x", "`nobody` is unknown"),
        ("two words", "write provider"),
    ] {
        let told = models.check(llm).unwrap_err().to_string();
        assert!(told.contains(why), "{llm}: {told}");
    }
    let names = vec!["anthropic".parse().unwrap()];
    assert!(LanguageModels::new(names, &none, &Guards::default()).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_models_name_never_leaves_its_place_in_an_address() {
    let stub = stubs().await;
    let models = models(&["interviewer"], &stub);
    for llm in [
        "azure/..",
        "azure/../../../v1",
        "azure/a/b",
        "azure/a%2f..",
        "azure/a?b",
        "azure/a#b",
        "azure/a\\b",
        "..",
        "openai/../x",
    ] {
        let why = models.check(llm).unwrap_err().to_string();
        assert!(
            why.contains("is not a provider name") || why.contains("is not a valid"),
            "{llm}: {why}"
        );
    }
    assert_eq!(models.check("azure/gpt-4.1_v2"), Ok(()));
    assert_eq!(models.check("ollama/hf.co/owner/model.v1:Q4"), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn an_agents_guards_are_those_of_its_providers() {
    let stub = stubs().await;
    let guards = |names: &[&str]| {
        let guards = models(names, &stub).guards(&booking());
        guards
            .iter()
            .map(|guard| guard.provider().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(guards(&["openai", "anthropic"]), ["openai", "anthropic"]);
    assert!(guards(&["openai", "interviewer"]).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_probe_tells_how_a_model_does() {
    let stub = stubs().await;
    let models = models(&["openai"], &stub);
    for name in ["openai", "anthropic/claude-haiku-4-5", "interviewer"] {
        let report = models.probe(&name.parse().unwrap()).await.unwrap();
        assert!(
            !report.words.is_empty() && report.first_token <= report.total,
            "{report:?}"
        );
    }
    let other = ProviderSettings::read(|name| match name {
        "OPENAI_BASE_URL" => Some(format!("{}/v1", stub.url())),
        "OPENAI_API_KEY" => Some("sk-wrong".into()),
        _ => None,
    });
    let models = models_with(&["openai"], &other.unwrap(), &Guards::default());
    let why = models.probe(&"openai".parse().unwrap()).await.unwrap_err().to_string();
    assert!(why.contains("HTTP 401: Incorrect API key"), "{why}");
    assert!(!why.contains("sk-wrong"));
}
