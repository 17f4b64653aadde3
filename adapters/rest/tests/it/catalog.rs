//! Voices and models that the providers offer, listed from stubs of their services.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use integrations::documents::{DocumentSettings, Documents};
use net::address_policy::AddressPolicy;
use rest::{RestState, server::ServerLimits};
use serde_json::{Value, json};
use support::app::{Served, TestApp, catalog, document_settings, serve_router};

const SECRET: &str = "secret-of-the-operator";

/// Services of all providers at one address. Each refuses a request without its key or version.
#[derive(Clone, Default)]
struct Stub {
    requests: Arc<AtomicUsize>,
}

async fn answer(State(stub): State<Stub>, uri: Uri, headers: HeaderMap) -> Response {
    stub.requests.fetch_add(1, Ordering::SeqCst);
    // Others that ask at the same time must wait for this answer.
    tokio::task::yield_now().await;
    let has = |name: &str, value: &str| headers.get(name).is_some_and(|found| found == value);
    let query = uri.query().unwrap_or_default();
    match uri.path() {
        "/samples/good" => return ([("content-type", "Audio/MPEG; x=1")], "sound").into_response(),
        "/samples/page" => return ([("content-type", "text/html")], "<script>").into_response(),
        "/samples/long" => return ([("content-type", "audio/mpeg")], vec![0; 11_000_000]).into_response(),
        _ => {}
    }
    let (allowed, body) = match uri.path() {
        "/eleven/v2/voices" => (has("xi-api-key", SECRET), elevenlabs(query)),
        "/sampled/v2/voices" => {
            let host = headers["host"].to_str().unwrap();
            let voices = ["good", "page", "long", "gone"];
            let voice = |name| json!({ "voice_id": name, "preview_url": format!("http://{host}/samples/{name}") });
            let voices = voices.map(voice).into_iter().chain([json!({ "voice_id": "mute" })]);
            let voices: Vec<Value> = voices.collect();
            (
                has("xi-api-key", SECRET),
                json!({ "voices": voices, "has_more": false }),
            )
        }
        "/cartesia/voices" => {
            let allowed = has("x-api-key", SECRET) && has("cartesia-version", "2026-03-01");
            let voice = json!({ "id": "f786", "name": "Katie", "language": "en", "new": [1] });
            (allowed, json!({ "data": [voice], "has_more": false }))
        }
        "/openai/models" => {
            let ids = ["gpt-4.1-mini", "whisper-1", "text-embedding-3-small", "gpt-5"];
            let data: Vec<Value> = ids.iter().map(|id| json!({ "id": id, "object": "model" })).collect();
            (
                has("authorization", &format!("Bearer {SECRET}")),
                json!({ "data": data }),
            )
        }
        "/anthropic/v1/models" => {
            let allowed = has("x-api-key", SECRET) && has("anthropic-version", "2023-06-01");
            let page = match query.contains("after_id=claude-a") {
                true => json!({ "data": [{ "id": "claude-b" }], "has_more": false, "last_id": "claude-b" }),
                false => json!({ "data": [{ "id": "claude-a" }], "has_more": true, "last_id": "claude-a" }),
            };
            (allowed, page)
        }
        "/hostile/models" => {
            let many = (0..3_000).map(|n| json!({ "id": format!("m{n}") }));
            let odd = [json!(7), json!({ "id": 7 }), json!({ "id": "../x" }), json!(null)];
            let long = json!({ "id": "x".repeat(300) });
            let data: Vec<Value> = odd.into_iter().chain([long]).chain(many).collect();
            (true, json!({ "data": data }))
        }
        "/huge/models" => (true, json!({ "data": [], "filler": "x".repeat(5_000_000) })),
        "/wrong/models" => (true, json!({ "data": { "id": SECRET } })),
        _ => (false, json!({ "echo": SECRET })),
    };
    match allowed {
        true => Json(body).into_response(),
        false => (StatusCode::UNAUTHORIZED, Json(json!({ "echo": SECRET }))).into_response(),
    }
}

fn elevenlabs(query: &str) -> Value {
    match query.contains("next_page_token=p%2F2") {
        true => json!({ "voices": [{ "voice_id": "v2", "name": 5 }], "has_more": false, "next_page_token": null }),
        false => json!({
            "voices": [
                { "voice_id": "v1", "name": "George", "labels": { "accent": "british", "odd": 1 },
                  "preview_url": "https://example.com/v1.mp3", "verified_languages": [{ "language": "en" }, 4] },
                { "voice_id": "../me" }, { "name": "nobody" }, 3,
            ],
            "has_more": true,
            "next_page_token": "p/2",
        }),
    }
}

struct Service {
    stub: Stub,
    app: TestApp,
    _served: Served,
}

impl Service {
    /// Starts a service with these providers: variable of the address, and path at the stub.
    async fn start(providers: &[(&str, &str)]) -> Self {
        Self::with(providers, AddressPolicy::public_only()).await
    }

    async fn with(providers: &[(&str, &str)], policy: AddressPolicy) -> Self {
        let stub = Stub::default();
        let routes = Router::new().fallback(answer).with_state(stub.clone());
        let served = serve_router(routes, ServerLimits::default()).await;
        let variable = |name: &str| {
            let base = |name: &str| providers.iter().find(|(variable, _)| *variable == name);
            if let Some(of) = name.strip_suffix("_API_KEY") {
                return base(&format!("{of}_BASE_URL")).map(|_| SECRET.to_owned());
            }
            base(name).map(|(_, path)| format!("http://{}{path}", served.0))
        };
        let catalog = catalog(variable);
        let documents = DocumentSettings {
            policy,
            ..document_settings()
        };
        let documents = Arc::new(Documents::new(documents).unwrap());
        let changed = |state| RestState {
            catalog,
            documents,
            ..state
        };
        let app = TestApp::changed(ServerLimits::default(), changed).await;
        Self {
            stub,
            app,
            _served: served,
        }
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.app.client.get(path).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert!(!answer.body.to_string().contains(SECRET), "{}", answer.body);
        answer.body["data"].clone()
    }

    fn requests(&self) -> usize {
        self.stub.requests.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn voices_of_all_providers_are_listed_as_agents_name_them() {
    let providers = [("ELEVENLABS_BASE_URL", "/eleven"), ("CARTESIA_BASE_URL", "/cartesia")];
    let service = Service::start(&providers).await;
    let george = json!({
        "provider": "elevenlabs", "voiceId": "elevenlabs:v1", "name": "George", "languages": ["en"],
        "labels": { "accent": "british" }, "previewUrl": "https://example.com/v1.mp3",
    });
    let katie = json!({ "provider": "cartesia", "voiceId": "cartesia:f786", "name": "Katie", "languages": ["en"] });
    let second = json!({ "provider": "elevenlabs", "voiceId": "elevenlabs:v2", "name": "v2" });
    let own = json!({ "provider": "babble", "voiceId": "babble:default", "name": "default" });
    let all = json!({ "voices": [george, second, katie, own], "unavailable": [] });
    assert_eq!(service.get("/public/v1/voices").await, all);
    let one = service.get("/public/v1/voices?provider=cartesia").await;
    assert_eq!(one, json!({ "voices": [katie], "unavailable": [] }));
    let refused = service.app.client.get("/public/v1/voices?provider=acme").await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body.to_string().contains("`acme` is not"), "{}", refused.body);
}

#[tokio::test]
async fn a_provider_that_fails_costs_only_its_part() {
    let providers = [
        ("OPENAI_BASE_URL", "/openai"),
        ("ANTHROPIC_BASE_URL", "/anthropic"),
        ("GROQ_BASE_URL", "/nothing"),
    ];
    let service = Service::start(&providers).await;
    let shown = service.get("/public/v1/models").await;
    let models = [
        ("openai", "openai/gpt-4.1-mini"),
        ("openai", "openai/gpt-5"),
        ("anthropic", "anthropic/claude-a"),
        ("anthropic", "anthropic/claude-b"),
        ("interviewer", "interviewer"),
    ];
    let models = models.map(|(provider, model)| json!({ "provider": provider, "model": model }));
    assert_eq!(shown["models"], json!(models));
    let failed = json!([{ "provider": "groq", "error": "answered with status 401" }]);
    assert_eq!(shown["unavailable"], failed);
}

#[tokio::test]
async fn a_list_is_requested_once_and_a_failure_kept_for_seconds() {
    let service = Service::start(&[("OPENAI_BASE_URL", "/openai"), ("GROQ_BASE_URL", "/nothing")]).await;
    let path = "/public/v1/models";
    tokio::join!(service.get(path), service.get(path), service.get(path));
    assert_eq!(service.requests(), 2);
    let after = async |seconds| {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(seconds)).await;
        tokio::time::resume();
        service.get(path).await;
        service.requests()
    };
    assert_eq!(after(11).await, 3);
    assert_eq!(after(600).await, 5);
}

#[tokio::test]
async fn hostile_lists_are_cut_or_refused() {
    let providers = [
        ("OPENAI_BASE_URL", "/hostile"),
        ("GROQ_BASE_URL", "/huge"),
        ("GEMINI_BASE_URL", "/wrong"),
    ];
    let service = Service::start(&providers).await;
    let shown = service.get("/public/v1/models").await;
    let models = shown["models"].as_array().unwrap();
    assert_eq!((models.len(), &models[0]["model"]), (1_001, &json!("openai/m0")));
    let failed = json!([
        { "provider": "groq", "error": "sent an answer that is too large or broke off" },
        { "provider": "gemini", "error": "answered without a list" },
    ]);
    assert_eq!(shown["unavailable"], failed);
}

#[tokio::test]
async fn a_sample_is_passed_on_if_it_is_audio_at_an_allowed_address() {
    let providers = [("ELEVENLABS_BASE_URL", "/sampled")];
    let service = Service::with(&providers, AddressPolicy::everything()).await;
    let path = |voice: &str| format!("/public/v1/voices/preview?voiceId=elevenlabs:{voice}");
    let good = service.app.client.request("GET", &path("good")).send().await.unwrap();
    assert_eq!(good.status(), 200);
    for (name, value) in [("content-type", "audio/mpeg"), ("x-content-type-options", "nosniff")] {
        assert_eq!(good.headers()[name], value);
    }
    assert_eq!(good.text().await.unwrap(), "sound");
    for (voice, status, named) in [
        ("page", 502, "is not audio, but `text/html`"),
        ("long", 502, "more than 10 MiB"),
        ("gone", 502, "answered 401"),
        ("mute", 400, "is no voice with a `previewUrl`"),
        ("other", 400, "is no voice with a `previewUrl`"),
    ] {
        let refused = service.app.client.get(&path(voice)).await.expect(status);
        assert!(refused.text("/error/message").contains(named), "{}", refused.body);
    }
    let none = service.app.client.get("/public/v1/voices/preview").await.expect(400);
    assert_eq!(none.fields(), [("voiceId", "required")]);
    let stranger = service.app.client.bare("GET", &path("good")).send().await.unwrap();
    assert_eq!(stranger.status(), 401);
    // An address of the service's own network is never asked.
    let service = Service::start(&providers).await;
    let refused = service.app.client.get(&path("good")).await.expect(502);
    assert_eq!((refused.code(), service.requests()), ("upstream_failed", 1));
}
