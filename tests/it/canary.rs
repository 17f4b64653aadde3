//! Canaries in every secret. The real binary logs at its most verbose level, among providers, carriers,
//! calendars and a mail server that refuse everything and echo the requests, including the keys. No canary
//! may appear in a log, a response, a metric or the output of a command.

mod mirror;

use std::{collections::BTreeMap, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::json;
use sim::stub_carriers::vonage::{APPLICATION, PRIVATE_KEY};
use sqlx::{AnyConnection, Connection, Row};
use tokio::time::{Instant, sleep, timeout};

use self::mirror::Mirror;
use crate::openapi::operations;
use support::{
    client::Client,
    contract::CLOSED,
    postgres::database,
    program::{Ended, Program},
};

/// Longest time for calls to fail.
const WITHIN: Duration = Duration::from_secs(60);
/// Time for which events are read.
const LISTENED_FOR: Duration = Duration::from_secs(2);

/// Settings that are secrets, each with its canary; for Basic authentication, with the name sent with them.
const SECRETS: [(&str, Option<&str>); 19] = [
    ("OPENAI_API_KEY", None),
    ("ANTHROPIC_API_KEY", None),
    ("GROQ_API_KEY", None),
    ("GEMINI_API_KEY", None),
    ("AZURE_OPENAI_API_KEY", None),
    ("DEEPGRAM_API_KEY", None),
    ("ELEVENLABS_API_KEY", None),
    ("CARTESIA_API_KEY", None),
    ("OLLAMA_API_KEY", None),
    ("TWILIO_AUTH_TOKEN", Some("AC1")),
    ("TWILIO_API_SECRET", Some("SK1")),
    ("TWILIO_WEBHOOK_SHARED_KEY", None),
    ("SIGNALWIRE_TOKEN", Some("project-1")),
    ("SIGNALWIRE_SIGNING_KEY", None),
    ("TELNYX_API_KEY", None),
    ("VONAGE_SIGNATURE_SECRET", None),
    ("ASTERISK_ARI_PASSWORD", Some("user")),
    ("ASTERISK_WEBSOCKET_PASSWORD", Some("user")),
    ("CALCOM_API_KEY", None),
];

const LANGUAGE: &str = "openai/m,anthropic/m,groq/m,gemini/m,azure/m,ollama/m";
const STT: &str = "deepgram,elevenlabs,openai,groq";
const VOICES: &str = "elevenlabs:v,openai:alloy,deepgram:aura-2-thalia-en,cartesia:v";

fn canary(name: &str) -> String {
    format!("canary-{}-5f1e8c", name.to_lowercase().replace('_', "-"))
}

/// Returns the texts that may never appear, by name.
fn forbidden() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (name, user) in SECRETS {
        all.insert(name.to_owned(), canary(name));
        if let Some(user) = user {
            all.insert(
                format!("{name}, as it is sent"),
                BASE64.encode(format!("{user}:{}", canary(name))),
            );
        }
    }
    let pem: Vec<&str> = PRIVATE_KEY.lines().filter(|line| line.len() > 40).collect();
    all.insert("VONAGE_PRIVATE_KEY".to_owned(), pem[1].to_owned());
    let mail = canary("smtp");
    all.insert(
        "RINGBACK_SMTP_URL, as it is sent".to_owned(),
        BASE64.encode(format!("\0user\0{mail}")),
    );
    all.insert(
        "RINGBACK_SMTP_URL, as it is sent in two steps".to_owned(),
        BASE64.encode(&mail),
    );
    all.insert("RINGBACK_SMTP_URL".to_owned(), mail);
    all
}

fn settings(mirror: &Mirror, database: &str) -> Vec<(String, String)> {
    let url = mirror.url();
    let mut all: Vec<(String, String)> = SECRETS.map(|(name, _)| (name.to_owned(), canary(name))).into();
    let mail = format!("smtp://user:{}@{}", canary("smtp"), mirror.mail);
    all.extend(
        [
            ("RUST_LOG", "trace"),
            ("DATABASE_URL", database),
            ("RINGBACK_LLM", LANGUAGE),
            ("RINGBACK_STT", STT),
            ("RINGBACK_TTS", VOICES),
            ("RINGBACK_ALLOW_PRIVATE_URLS", "true"),
            ("RINGBACK_RATE_LIMIT", "0"),
            ("RINGBACK_PUBLIC_URL", "https://calls.example.com"),
            ("RINGBACK_SMTP_URL", &mail),
            ("RINGBACK_MAIL_FROM", "Ringback <calls@example.com>"),
            ("OPENAI_BASE_URL", &format!("{url}/v1")),
            ("ANTHROPIC_BASE_URL", &url),
            ("GROQ_BASE_URL", &format!("{url}/v1")),
            ("GEMINI_BASE_URL", &format!("{url}/v1")),
            ("OLLAMA_BASE_URL", &format!("{url}/v1")),
            ("AZURE_OPENAI_ENDPOINT", &url),
            ("DEEPGRAM_BASE_URL", &url),
            ("ELEVENLABS_BASE_URL", &url),
            ("CARTESIA_BASE_URL", &url),
            ("TWILIO_ACCOUNT_SID", "AC1"),
            ("TWILIO_API_KEY", "SK1"),
            ("TWILIO_BASE_URL", &url),
            ("SIGNALWIRE_SPACE", "space"),
            ("SIGNALWIRE_PROJECT_ID", "project-1"),
            ("SIGNALWIRE_BASE_URL", &url),
            ("TELNYX_PUBLIC_KEY", "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="),
            ("TELNYX_CONNECTION_ID", "1"),
            ("TELNYX_BASE_URL", &url),
            ("VONAGE_APPLICATION_ID", APPLICATION),
            ("VONAGE_PRIVATE_KEY", PRIVATE_KEY),
            ("VONAGE_BASE_URL", &url),
            ("ASTERISK_ARI_URL", &format!("{url}/ari")),
            ("ASTERISK_ARI_USER", "user"),
            ("ASTERISK_ENDPOINT", "PJSIP/{number}@trunk"),
            ("CALCOM_URL", &url),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    all
}

/// Everything that was output, by place.
#[derive(Default)]
struct Seen(Vec<(String, String)>);

impl Seen {
    fn add(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.0.push((place.into(), text.into()));
    }

    fn ended(&mut self, command: &str, ended: Ended) {
        self.add(format!("{command}: output"), ended.stdout);
        self.add(format!("{command}: log"), ended.stderr);
    }

    /// Returns the places with forbidden texts, with the surrounding text.
    fn found(&self, forbidden: &BTreeMap<String, String>) -> Vec<String> {
        let mut found = Vec::new();
        for (place, text) in &self.0 {
            for (name, canary) in forbidden {
                if name == "webhook secret" && place.ends_with("/me/webhook-secret") {
                    continue;
                }
                let at = text.match_indices(canary.as_str()).map(|(at, _)| at);
                found.extend(at.take(3).map(|at| {
                    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
                    let from = line.max(at.saturating_sub(400));
                    let from = (from..=at).find(|from| text.is_char_boundary(*from)).unwrap();
                    format!("{name} in {place}: {}", &text[from..at + canary.len()])
                }));
            }
        }
        found
    }
}

/// Reads everything that one account can read, including errors.
async fn read_all(client: &Client, ids: &BTreeMap<&str, String>, seen: &mut Seen) {
    for (method, template, _) in operations(&CLOSED) {
        if method != "get" {
            continue;
        }
        let path = ids.iter().fold(template.clone(), |path, (name, id)| {
            path.replace(&format!("{{{name}}}"), id)
        });
        let mut answer = client.request("GET", &path).send().await.unwrap();
        let mut text = String::new();
        let reading = async {
            while let Ok(Some(piece)) = answer.chunk().await {
                text.push_str(&String::from_utf8_lossy(&piece));
            }
        };
        // Events have no end.
        let _ = timeout(LISTENED_FOR, reading).await;
        assert!(!text.is_empty() || template.ends_with("/events"), "{template}");
        seen.add(template, text);
    }
    for path in ["/metrics", "/ready", "/public/v1/nothing?apiKey=canary"] {
        let text = client.bare("GET", path).send().await.unwrap().text().await.unwrap();
        seen.add(path, text);
    }
}

/// Checks every carrier and provider that is configured.
async fn check_services(client: &Client, seen: &mut Seen) {
    let all = client.get("/public/v1/services").await.expect(200);
    let mut checked = 0;
    for service in all.data()["services"].as_array().unwrap() {
        if service["configured"] != true {
            continue;
        }
        let path = format!("/public/v1/services/{}/check", service["name"].as_str().unwrap());
        let found = client.post(&path, json!({})).await.expect(200).body.to_string();
        seen.add(path, found);
        checked += 1;
    }
    assert!(checked > 15, "{checked}");
}

/// Creates agents of all providers, and of all carriers, each with a call; returns the ids of one
/// resource of each kind.
async fn set_up(client: &Client, mirror: &Mirror) -> (BTreeMap<&'static str, String>, Vec<String>) {
    let hook = format!("{}/hook", mirror.url());
    let tool = json!({ "name": "prices", "description": "Prices.", "url": format!("{}/prices", mirror.url()) });
    let tool = client
        .post("/public/v1/tools", tool)
        .await
        .expect(201)
        .text("/data/toolId");
    let mut agents = Vec::new();
    let models = LANGUAGE.split(',').map(|model| (model, None));
    let carriers =
        ["twilio", "signalwire", "telnyx", "vonage", "asterisk"].map(|carrier| ("interviewer", Some(carrier)));
    for (model, carrier) in models.chain(carriers).chain([("interviewer", None)]) {
        let mut agent = json!({
            "name": format!("{model} {carrier:?}"),
            "conversationConfig": {
                "agent": {
                    "prompt": { "prompt": "Ask for the city.", "llm": model, "toolIds": [tool],
                        "builtInTools": { "endCall": { "enabled": true } } },
                    "greetingMessage": "Hello."
                },
                "turn": { "turnTimeout": 3, "silenceEndCallTimeout": 6 },
                "conversation": { "maxDurationSeconds": 20 }
            },
            "platformSettings": { "callActions": {
                "postCallWebhook": hook,
            } },
        });
        if let Some(carrier) = carrier {
            agent["phoneNumbers"] = json!([{ "number": "+15550000001", "provider": carrier }]);
        }
        if model == "interviewer" {
            agent["conversationConfig"]["tts"] = json!({ "voiceId": "babble:default" });
        }
        let made = client.post("/public/v1/agents/create", agent).await.expect(201);
        agents.push(made.text("/data/agentId"));
    }
    let mut calls = Vec::new();
    for (n, agent) in agents.iter().enumerate() {
        let number = format!("+155501{n:05}");
        let call = json!({ "agentId": agent, "phoneNumber": number, "dynamicVariables": { "persona": "cooperative" } });
        let answer = client.post("/public/v1/calls", call).await;
        assert!(matches!(answer.status, 201 | 409), "{}", answer.body);
        if answer.status == 201 {
            calls.push(answer.text("/data/conversationId"));
        }
    }
    let document = json!({ "name": "d", "text": "Open from nine." });
    let document = client.post("/public/v1/knowledge-base/documents/text", document).await;
    let group = client
        .post("/public/v1/knowledge-base/groups", json!({ "name": "g" }))
        .await;
    let contact = json!({ "phoneNumber": "+15550109999", "name": "c" });
    let contact = client.post("/public/v1/contacts", contact).await;
    let listed = json!([{ "phoneNumber": "+15550109998" }]);
    let campaign = json!({ "name": "c", "agentId": agents[0], "contacts": listed, "launch": true });
    let campaign = client.post("/public/v1/campaigns", campaign).await;
    let ids = [
        ("agentId", agents[0].clone()),
        ("version", "1".to_owned()),
        ("toolId", tool),
        ("documentId", document.expect(201).text("/data/documentId")),
        ("groupId", group.expect(201).text("/data/groupId")),
        ("contactId", contact.expect(201).text("/data/contactId")),
        ("campaignId", campaign.expect(201).text("/data/campaignId")),
        ("conversationId", calls[0].clone()),
    ];
    (ids.into(), calls)
}

/// Returns the secrets in the database that no setting contains.
async fn of_database(url: &str) -> Vec<(String, String)> {
    sqlx::any::install_default_drivers();
    let mut database = AnyConnection::connect(url).await.unwrap();
    let rows = sqlx::query("SELECT name, value FROM cluster")
        .fetch_all(&mut database)
        .await;
    let secrets = rows
        .unwrap()
        .iter()
        .map(|row| (row.get("name"), row.get("value")))
        .collect();
    database.close().await.unwrap();
    secrets
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_seen_anywhere_whatever_fails() {
    let Some(database) = database().await else { return };
    let mirror = Mirror::start().await;
    let settings = settings(&mirror, &database.url);
    let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (&**name, &**value)).collect();
    let (mut seen, mut forbidden) = (Seen::default(), forbidden());
    let program = Program::new();
    let create = ["account", "create", "--email", "ada@example.com"];
    let made = program.run_with(&create, &settings);
    let account = made.json();
    // Its output is the place where key and secret are shown once.
    seen.add("account create: log", made.stderr);
    let key = account["apiKey"].as_str().unwrap().to_owned();
    forbidden.insert("API key".to_owned(), key.clone());
    let hook = account["webhookSecret"].as_str().unwrap().to_owned();
    forbidden.insert("webhook secret".to_owned(), hook);
    let password = reqwest::Url::parse(&database.url)
        .unwrap()
        .password()
        .unwrap_or_default()
        .to_owned();
    forbidden.insert("DATABASE_URL".to_owned(), password);

    let (service, address) = program.serve_with(&settings);
    for (name, value) in of_database(&database.url).await {
        if value.len() >= 16 && name.contains("secret") {
            forbidden.insert(format!("cluster: {name}"), value);
        }
    }
    let client = Client::new(&address, &key);
    let (ids, calls) = set_up(&client, &mirror).await;
    let limit = Instant::now() + WITHIN;
    let mut over = 0;
    for call in &calls {
        let path = format!("/public/v1/conversations/{call}");
        loop {
            let shown = client.get(&path).await.expect(200);
            if matches!(shown.data()["status"].as_str(), Some("completed" | "failed")) {
                over += 1;
                seen.add(&path, shown.body.to_string());
                for part in ["turns", "events"] {
                    let path = format!("{path}/{part}");
                    let shown = client.get(&path).await.expect(200);
                    assert!(
                        part == "turns" || !shown.data().as_array().unwrap().is_empty(),
                        "{path}"
                    );
                    seen.add(path, shown.body.to_string());
                }
                break;
            }
            if Instant::now() > limit {
                break;
            }
            sleep(Duration::from_millis(200)).await;
        }
    }
    assert!(over >= 5, "{over} of {} calls came to their end", calls.len());
    read_all(&client, &ids, &mut seen).await;
    check_services(&client, &mut seen).await;
    service.signal("TERM");
    service.signal("INT");
    let ended = service.end();
    assert!(ended.stderr.contains(" TRACE "), "it did not talk");
    seen.ended("serve", ended);
    for (command, arguments) in [
        ("providers check", &["providers", "check"][..]),
        ("providers check --json", &["providers", "check", "--json"]),
        ("carriers check", &["carriers", "check"]),
        ("carriers check --json", &["carriers", "check", "--json"]),
    ] {
        let running = program.start(arguments, &settings);
        let ended = tokio::task::spawn_blocking(move || running.end()).await.unwrap();
        seen.ended(command, ended);
    }
    // The providers were called with their keys; otherwise the test proves nothing.
    let shown = mirror.shown();
    for name in [
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "DEEPGRAM_API_KEY",
        "ELEVENLABS_API_KEY",
        "TELNYX_API_KEY",
    ] {
        assert!(shown.contains(&canary(name)), "{name} was never used");
    }
    for (name, user) in [
        ("TWILIO_API_SECRET", "SK1"),
        ("SIGNALWIRE_TOKEN", "project-1"),
        ("ASTERISK_ARI_PASSWORD", "user"),
    ] {
        let sent = BASE64.encode(format!("{user}:{}", canary(name)));
        assert!(shown.contains(&sent), "{name} was never used");
    }
    let found = seen.found(&forbidden);
    assert!(found.is_empty(), "{} canaries seen:\n{}", found.len(), found.join("\n"));
}
