//! Tests of language models that are slow, break off, refuse or send nonsense. The result is a typed error,
//! or another provider's reply in time.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Json, Router, http::StatusCode, routing::post};
use domain::{
    agent::Agent,
    ports::{
        health::ProviderHealth,
        language_model::{LanguageError, LanguageModel, ReplyEvent, ReplyRequest},
        usage::{Meter, Unit},
    },
    time::{Clock, SystemClock},
};
use futures_util::StreamExt;
use net::guard::{Guard, Guards, Kind, Verdict};
use providers::{
    babble::BabbleTranscriber,
    config::ProviderConfig,
    configured::Configured,
    health::{Find, Health},
    llm::LanguageModels,
    prober,
    settings::ProviderSettings,
};
use serde_json::{Value, json};
use sim::stub_providers::{
    self, Fault, Service, Spread, StubHandle, StubSettings, StubTimes, anthropic, cartesia, openai,
};
use tokio::{net::TcpListener, time::Instant};

use crate::language::{KEY, booking, models, models_with, reply, request, settings, stubs, told};

type Reply = Vec<Result<ReplyEvent, LanguageError>>;

/// Returns a reply and its duration.
async fn timed(names: &[&str], stub: &StubHandle) -> (Reply, Duration) {
    let models = models(names, stub);
    let began = Instant::now();
    let events = reply(&models, request(&booking(), &[], &Meter::default())).await;
    (events, began.elapsed())
}

fn failure(events: &Reply) -> &LanguageError {
    events.last().unwrap().as_ref().unwrap_err()
}

fn words(events: &Reply) -> String {
    let texts = events.iter().filter_map(|event| match event {
        Ok(ReplyEvent::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

const SERVICES: [(&str, Service); 2] = [("openai", openai::CHAT_COMPLETIONS), ("anthropic", anthropic::MESSAGES)];

#[tokio::test(start_paused = true)]
async fn a_refusal_is_sorted_by_what_to_do_next() {
    for (name, service) in SERVICES {
        for status in [400, 401, 402, 403, 404, 413] {
            let stub = stubs().await;
            stub.set_faults(service, vec![Fault::Refuse(status)]);
            let (events, took) = timed(&[name], &stub).await;
            let LanguageError::Rejected(words) = failure(&events) else {
                panic!("{name} {status}: {events:?}");
            };
            assert!(words.starts_with(&format!("{name}: HTTP {status}: ")), "{words}");
            assert_eq!((events.len(), took.as_millis() < 50), (1, true), "not repeated");
        }
        let stub = stubs().await;
        stub.set_faults(service, vec![Fault::Refuse(429)]);
        let (events, took) = timed(&[name], &stub).await;
        let retry_after = Some(Duration::from_secs(1));
        assert_eq!(failure(&events), &LanguageError::Busy { retry_after });
        assert!(
            took >= Duration::from_secs(1) && took < Duration::from_secs(2),
            "waited as it asked: {took:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_once_is_asked_again() {
    for (name, service) in SERVICES {
        for fault in [
            Fault::Refuse(500),
            Fault::Refuse(503),
            Fault::Refuse(529),
            Fault::DropAfter(0),
            Fault::ErrorAfter(1),
            Fault::MalformedAfter(0),
        ] {
            let stub = stubs().await;
            stub.set_faults(service, vec![fault.clone(), Fault::None]);
            let (events, took) = timed(&[name], &stub).await;
            assert!(words(&events).contains("preferred day"), "{name} {fault:?}: {events:?}");
            assert!(took < Duration::from_secs(1), "{name} {fault:?}: {took:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_goes_wrong_in_the_middle_is_an_error_and_never_a_second_reply() {
    for (name, service) in SERVICES {
        for (fault, within) in [
            (Fault::StallAfter(5), 2_600),
            (Fault::DropAfter(5), 100),
            (Fault::MalformedAfter(5), 100),
            (Fault::OversizedAfter(5), 100),
            (Fault::ErrorAfter(5), 100),
        ] {
            let stub = stubs().await;
            stub.set_faults(service, vec![fault.clone(), Fault::None]);
            let (events, took) = timed(&[name, "interviewer"], &stub).await;
            assert!(!words(&events).is_empty(), "{name} {fault:?}: {events:?}");
            let error = failure(&events);
            let typed = match fault {
                Fault::MalformedAfter(_) | Fault::OversizedAfter(_) => matches!(error, LanguageError::Protocol(_)),
                Fault::ErrorAfter(_) if name == "anthropic" => matches!(error, LanguageError::Busy { .. }),
                _ => matches!(error, LanguageError::Unavailable(_)),
            };
            assert!(typed, "{name} {fault:?}: {error}");
            assert!(took <= Duration::from_millis(within), "{name} {fault:?}: {took:?}");
            assert_eq!(
                stub.received(service)
                    .iter()
                    .filter(|what| what.starts_with('{'))
                    .count(),
                1
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_reply_that_broke_off_another_provider_is_asked_first() {
    let stub = stubs().await;
    stub.set_faults(openai::CHAT_COMPLETIONS, vec![Fault::DropAfter(5)]);
    let models = models(&["openai", "anthropic"], &stub);
    let ask = async |failures| {
        let request = request(&booking(), &[], &Meter::default());
        reply(&models, ReplyRequest { failures, ..request }).await
    };
    failure(&ask(0).await);
    for (failures, asked) in [(1, 1), (2, 1), (3, 2)] {
        let events = ask(failures).await;
        assert_eq!(
            failures % 2 == 0,
            events.last().unwrap().is_err(),
            "{failures}: {events:?}"
        );
        assert_eq!(stub.received(anthropic::MESSAGES).len(), asked, "{failures}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_at_all_within_four_seconds_goes_to_the_next_provider() {
    for (name, service) in SERVICES {
        for fault in [Fault::Hang, Fault::StallAfter(0), Fault::StallAfter(1)] {
            let stub = stubs().await;
            stub.set_faults(service, vec![fault.clone()]);
            let (events, took) = timed(&[name], &stub).await;
            assert!(matches!(failure(&events), LanguageError::Unavailable(_)), "{events:?}");
            assert_eq!(took.as_secs(), 4, "{name} {fault:?}: {took:?}");
            let (events, took) = timed(&[name, "interviewer"], &stub).await;
            assert!(words(&events).contains("preferred day"), "{events:?}");
            assert_eq!(took.as_secs(), 4, "{name} {fault:?}: {took:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_at_once_costs_no_time_when_there_is_another() {
    for fault in [
        Fault::Refuse(401),
        Fault::Refuse(404),
        Fault::Refuse(429),
        Fault::Refuse(500),
        Fault::DropAfter(0),
    ] {
        let stub = stubs().await;
        stub.set_faults(openai::CHAT_COMPLETIONS, vec![fault.clone()]);
        let (events, took) = timed(&["openai", "anthropic"], &stub).await;
        assert!(words(&events).contains("preferred day"), "{fault:?}: {events:?}");
        assert!(took < Duration::from_millis(50), "{fault:?}: {took:?}");
        assert_eq!(stub.received(anthropic::MESSAGES).len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_reachable_is_one_error_that_names_them_all() {
    let gone = stubs().await;
    let settings = settings(&gone, &gone);
    drop(gone);
    tokio::task::yield_now().await;
    let models = models_with(&["openai", "anthropic"], &settings, &Guards::default());
    let events = reply(&models, request(&booking(), &[], &Meter::default())).await;
    assert_eq!(events.len(), 1);
    let LanguageError::Unavailable(words) = failure(&events) else {
        panic!("{events:?}");
    };
    assert!(
        words.contains("openai: ") && words.contains("; ") && words.contains("anthropic: "),
        "{words}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_second_request_overtakes_a_slow_one() {
    for (name, service) in SERVICES {
        let stub = stubs().await;
        stub.set_faults(service, vec![Fault::StallAfter(1), Fault::None]);
        let (events, took) = timed(&[name], &stub).await;
        assert!(words(&events).contains("preferred day"), "{events:?}");
        assert!((1_200..1_300).contains(&took.as_millis()), "{name}: {took:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
        let received = stub.received(service);
        assert_eq!(received.len(), 3, "{received:?}");
        assert_eq!(received[2], "disconnected", "the slow one is dropped");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_request_may_still_win() {
    let settings_of_stub = StubSettings {
        key: Some(KEY.into()),
        times: StubTimes {
            first_token: Spread {
                p50_ms: 1_500,
                p95_ms: 1_500,
            },
            ..StubTimes::AT_ONCE
        },
        ..StubSettings::on_loopback()
    };
    let stub = stub_providers::start(settings_of_stub).await.unwrap();
    let (events, took) = timed(&["openai"], &stub).await;
    assert!(words(&events).contains("preferred day"), "{events:?}");
    assert_eq!(took.as_millis() / 100, 15, "{took:?}");
    assert_eq!(
        stub.received(openai::CHAT_COMPLETIONS)
            .iter()
            .filter(|what| what.starts_with('{'))
            .count(),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn a_reply_byte_by_byte_is_whole() {
    for (name, service) in SERVICES {
        let stub = stubs().await;
        stub.set_faults(service, vec![Fault::Drip(Duration::from_micros(100))]);
        let (events, _) = timed(&[name], &stub).await;
        let (words, _) = told(events);
        assert!(words.contains("preferred day"), "{words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_reply_is_cancelled_at_the_provider_and_counts_what_came() {
    for (name, service) in SERVICES {
        let settings_of_stub = StubSettings {
            key: Some(KEY.into()),
            times: StubTimes {
                tokens_per_second: Some(10),
                ..StubTimes::AT_ONCE
            },
            ..StubSettings::on_loopback()
        };
        let stub = stub_providers::start(settings_of_stub).await.unwrap();
        let models = models(&[name], &stub);
        let meter = Meter::default();
        let mut events = models.reply(request(&booking(), &[], &meter));
        for _ in 0..4 {
            events.next().await.unwrap().unwrap();
        }
        drop(events);
        tokio::time::sleep(Duration::from_millis(250)).await;
        assert_eq!(
            stub.received(service).last().map(String::as_str),
            Some("disconnected"),
            "{name}"
        );
        assert!(meter.used(name, Unit::InputTokens) > 100, "{name}: {meter:?}");
        assert!(
            (1..=12).contains(&meter.used(name, Unit::OutputTokens)),
            "{name}: {meter:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_keeps_failing_is_left_alone() {
    let stub = stubs().await;
    stub.set_faults(openai::CHAT_COMPLETIONS, vec![Fault::Refuse(401)]);
    let guards = Guards::default();
    let models = models_with(&["openai", "interviewer"], &settings(&stub, &stub), &guards);
    for _ in 0..5 {
        let events = reply(&models, request(&booking(), &[], &Meter::default())).await;
        assert!(words(&events).contains("preferred day"));
    }
    assert!(guards.get(Kind::LanguageModel, "openai").is_down());
    assert_eq!(
        stub.received(openai::CHAT_COMPLETIONS).len(),
        1,
        "a refused key is not tried again"
    );
    let alone = models_with(&["openai"], &settings(&stub, &stub), &guards);
    let events = reply(&alone, request(&booking(), &[], &Meter::default())).await;
    let LanguageError::Unavailable(words) = failure(&events) else {
        panic!("{events:?}");
    };
    assert!(words.starts_with("openai: failed recently"), "{words}");
}

#[tokio::test(start_paused = true)]
async fn hedges_end_with_their_budget() {
    let stub = stubs().await;
    stub.set_faults(openai::CHAT_COMPLETIONS, vec![Fault::StallAfter(1)]);
    let guards = Guards::default();
    let models = models_with(&["openai"], &settings(&stub, &stub), &guards);
    let mut asked = 0;
    for _ in 0..40 {
        reply(&models, request(&booking(), &[], &Meter::default())).await;
        asked += 1;
    }
    let requests = stub
        .received(openai::CHAT_COMPLETIONS)
        .iter()
        .filter(|what| what.starts_with('{'))
        .count();
    assert!(requests < asked * 3 / 2, "{requests} requests for {asked} replies");
}

/// Starts a chat completions server that records the requests and answers each with `answer`.
async fn server(answer: fn(&Value) -> (StatusCode, String)) -> (ProviderSettings, Arc<Mutex<Vec<Value>>>) {
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = asked.clone();
    let handle = move |Json(body): Json<Value>| {
        let answer = answer(&body);
        kept.lock().unwrap().push(body);
        async move { answer }
    };
    let router = Router::new().route("/v1/chat/completions", post(handle));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let settings = ProviderSettings::read(|name| (name == "OPENAI_BASE_URL").then(|| base.clone()));
    (settings.unwrap(), asked)
}

const SAID: &str =
    "data: {\"choices\":[{\"delta\":{\"content\":\"Yes.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Server that refuses the temperature if a message mentions it, and quotes that message.
fn repeats(body: &Value) -> (StatusCode, String) {
    let told = body["messages"].to_string().contains("temperature");
    if told && body.get("temperature").is_some() {
        let words = "cannot answer: what is the temperature?";
        return (
            StatusCode::BAD_REQUEST,
            json!({ "error": { "message": words } }).to_string(),
        );
    }
    (StatusCode::OK, SAID.to_owned())
}

#[tokio::test(start_paused = true)]
async fn words_that_repeat_ours_do_not_change_what_others_are_asked_with() {
    let (settings, asked) = server(repeats).await;
    let models = models_with(&["openai/gpt-4.1"], &settings, &Guards::default());
    let mut curious = booking();
    let prompt = &mut curious.conversation_config.agent.prompt.prompt;
    prompt.push_str(" Ask for the temperature.");
    for agent in [curious, booking()] {
        let events = reply(&models, request(&agent, &[], &Meter::default())).await;
        assert_eq!(words(&events), "Yes.", "{events:?}");
    }
    let asked = asked.lock().unwrap();
    let with: Vec<bool> = asked.iter().map(|body| body.get("temperature").is_some()).collect();
    assert_eq!(with, [true, false, true]);
}

/// Server on which one model says far too much.
fn rambles(body: &Value) -> (StatusCode, String) {
    let said = match body["model"].as_str() {
        Some("rambling") => SAID.replace("Yes.", &"Well, well. ".repeat(2_000)),
        _ => SAID.to_owned(),
    };
    (StatusCode::OK, said)
}

fn asking(llm: &str) -> Agent {
    let mut agent = booking();
    agent.conversation_config.agent.prompt.llm = llm.into();
    agent
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

/// Returns why an agent's calls cannot be held, as far as its model is concerned.
fn obstacle(models: &LanguageModels, agent: &Agent) -> Option<String> {
    let models = models.clone();
    let find: Find = Box::new(move |agent: &Agent| models.guards(agent));
    Health::new(vec![(Kind::LanguageModel, find)], clock()).obstacle(agent)
}

#[tokio::test(start_paused = true)]
async fn a_model_that_only_an_agent_names_costs_nobody_else() {
    let stub = stubs().await;
    stub.set_faults(openai::CHAT_COMPLETIONS, vec![Fault::Hang]);
    let guards = Guards::default();
    let slow = models_with(&["openai"], &settings(&stub, &stub), &guards);
    let (server, _) = server(rambles).await;
    let rambling_guards = Guards::default();
    let rambling = models_with(&["openai"], &server, &rambling_guards);
    for (models, guards, name) in [(slow, guards, "slow"), (rambling, rambling_guards, "rambling")] {
        let agent = asking(&format!("openai/{name}"));
        for _ in 0..5 {
            let events = reply(&models, request(&agent, &[], &Meter::default())).await;
            assert!(events.last().unwrap().is_err(), "{name}: {events:?}");
        }
        assert!(
            guards.get_named(Kind::LanguageModel, "openai", name).is_down(),
            "{name}"
        );
        assert!(!guards.get(Kind::LanguageModel, "openai").is_down(), "{name}");
        assert!(obstacle(&models, &agent).is_some(), "{name}");
        for other in ["default", "openai", "openai/another"] {
            assert_eq!(obstacle(&models, &asking(other)), None, "{name}: {other}");
        }
        // Requests of others are let through.
        stub.set_faults(openai::CHAT_COMPLETIONS, vec![Fault::None]);
        let events = reply(&models, request(&booking(), &[], &Meter::default())).await;
        assert!(events.iter().all(Result::is_ok), "{name}: {events:?}");
    }
}

/// Starts a service with all providers at a stub and a running prober.
fn team(stub: &StubHandle) -> Arc<Configured> {
    let config = ProviderConfig {
        llm: vec!["openai".parse().unwrap()],
        tts: vec!["elevenlabs".parse().unwrap()],
        settings: Some(
            ProviderSettings::read(|name| match name {
                "OPENAI_BASE_URL" => Some(format!("{}/v1", stub.url())),
                name if name.ends_with("_BASE_URL") => Some(stub.url()),
                name if name.ends_with("_API_KEY") => Some(KEY.to_owned()),
                _ => None,
            })
            .unwrap(),
        ),
        ..ProviderConfig::default()
    };
    let team = Arc::new(Configured::new(&config, Arc::new(BabbleTranscriber), None).unwrap());
    tokio::spawn(prober::run(team.clone(), config));
    // A paused clock would jump to the next timer while bytes are on their way.
    tokio::spawn(async {
        loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    team
}

fn fail(guard: &Guard) {
    for _ in 0..5 {
        guard.admit().unwrap().failed(Verdict::Unhealthy, "trouble");
    }
    assert!(guard.is_down());
}

/// Returns the seconds until the provider counts as healthy, or `None` after a minute.
async fn well_after(guard: &Guard) -> Option<u64> {
    for second in 0..60 {
        if !guard.is_down() {
            return Some(second);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    None
}

#[tokio::test(start_paused = true)]
async fn the_services_model_is_probed_however_many_of_agents_hang() {
    let stub = stubs().await;
    stub.set_faults(anthropic::MESSAGES, vec![Fault::Hang]);
    let team = team(&stub);
    for n in 0..40 {
        let name = format!("slow-{n}");
        fail(&team.guards.get_named(Kind::LanguageModel, "anthropic", &name));
    }
    let own = team.guards.get(Kind::LanguageModel, "openai");
    fail(&own);
    assert!(team.health(clock()).obstacle(&booking()).is_some());
    let after = well_after(&own).await;
    assert!(after.is_some_and(|seconds| seconds <= 8), "{after:?}");
    assert_eq!(team.health(clock()).obstacle(&booking()), None);
}

#[tokio::test(start_paused = true)]
async fn a_voice_and_its_model_that_an_agent_names_are_probed_as_they_are() {
    let stub = stubs().await;
    let team = team(&stub);
    let mut agent = booking();
    agent.conversation_config.tts.voice_id = "cartesia/sonic-2:bob".into();
    let guard = team
        .tts
        .guards(&agent)
        .into_iter()
        .find(|guard| guard.provider() == "cartesia");
    let guard = guard.unwrap();
    fail(&guard);
    agent.conversation_config.tts.voice_id = "cartesia/sonic-2:ann".into();
    assert!(
        team.tts.guards(&agent).iter().all(|guard| !guard.is_down()),
        "of another voice"
    );
    assert!(well_after(&guard).await.is_some());
    let received = stub.received(cartesia::SPEECH);
    assert!(
        received
            .iter()
            .any(|asked| asked.contains("sonic-2") && asked.contains("bob")),
        "{received:?}"
    );
}
