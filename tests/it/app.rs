//! The service as a whole: its metrics, its shutdown, and the settings it refuses.

use std::time::Duration;

use actors::journal::LiveFact;
use carriers::settings::CarrierSettings;
use clap::Parser;
use domain::accounts;
use domain::{
    id::AttemptId,
    ports::store::{EventFact, Fact},
};
use ringback::{
    api_client::ApiClient,
    app::App,
    cli::{Cli, Command},
    config::ServeConfig,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Returns settings of a new service, with further flags.
fn config(folder: &TempDir, flags: &[&str]) -> ServeConfig {
    let folder = folder.path().display();
    let database = format!("sqlite://{folder}/ringback.db");
    let data = folder.to_string();
    let own = [
        "ringback",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--database-url",
        &database,
        "--data-dir",
        &data,
    ];
    match Cli::try_parse_from(own.iter().chain(flags)).unwrap().command {
        Command::Serve(config) => *config,
        other => panic!("{other:?}"),
    }
}

async fn metrics(app: &App) -> String {
    let answer = reqwest::get(format!("http://{}/metrics", app.address)).await.unwrap();
    answer.text().await.unwrap()
}

#[tokio::test]
async fn requests_are_counted_by_their_declared_route() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::start(config(&folder, &[])).await.unwrap();
    for path in [
        "/public/health",
        "/public/v1/agents/1",
        "/public/v1/agents/2",
        "/no/such/path",
    ] {
        reqwest::get(format!("http://{}{path}", app.address)).await.unwrap();
    }
    let shown = metrics(&app).await;
    for line in [
        r#"ringback_http_requests_total{route="/public/health",method="GET",status="200"}"#,
        r#"ringback_http_requests_total{route="/public/v1/agents/{agentId}",method="GET",status="401"}"#,
        r#"ringback_http_requests_total{route="(none)",method="GET",status="404"}"#,
        r#"ringback_http_request_seconds_bucket{route="/public/health",method="GET",le="#,
    ] {
        assert!(shown.contains(line), "{line} is not in\n{shown}");
    }
    assert!(!shown.contains("agents/1") && !shown.contains("/no/such"), "{shown}");
    app.stop(Duration::ZERO).await;
}

#[tokio::test]
async fn outcomes_are_counted_when_they_are_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::start(config(&folder, &[])).await.unwrap();
    let account = accounts::create(app.store.as_ref(), "ada@example.com").await.unwrap();
    let api = ApiClient::new(format!("http://{}", app.address), account.api_key).unwrap();
    let agent = json!({ "name": "Ann", "conversationConfig": { "agent": { "prompt": { "prompt": "Ask." } } } });
    let agent = api.create_agent(agent).await.unwrap();
    // More data about the contact than a carrier would accept in one request.
    let notes = "x".repeat(4_000);
    let columns: Vec<String> = (0..20).map(|n| format!("note{n}")).collect();
    let cells = vec![notes; columns.len()].join(",");
    let csv = format!("phone,persona,{}\n+15550100021,busy,{cells}\n", columns.join(","));
    let launched = api.launch_csv("One", &agent, csv.into_bytes()).await.unwrap();
    let campaign = launched.campaign.as_str();
    let completed = async {
        while api.campaign(campaign).await.unwrap()["status"] != "completed" {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), completed).await.unwrap();
    let conversations = api.conversations(campaign).await.unwrap();
    assert_eq!(conversations[0]["errorMessage"], "busy");
    let shown = metrics(&app).await;
    assert!(
        shown.contains(r#"ringback_call_outcomes_total{outcome="busy"}"#),
        "{shown}"
    );
    app.stop(Duration::ZERO).await;
}

#[tokio::test]
async fn what_replies_made_ahead_cost_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::start(config(&folder, &["--speculation", "text"])).await.unwrap();
    let detail = json!({ "tokens": 30, "characters": 120, "voiceCharacters": 40 }).to_string();
    for (name, times) in [("speculation_used", 2), ("speculation_wasted", 1)] {
        for _ in 0..times {
            let event = EventFact {
                name: name.into(),
                at_ms: 0,
                detail: detail.clone(),
            };
            let fact = LiveFact {
                attempt: AttemptId::new(),
                campaign: None,
                fact: Fact::Event(event),
            };
            app.live.send(fact).unwrap();
        }
    }
    let last = r#"ringback_speculation_characters_total{by="voice",fate="wasted"} 40"#;
    let counted = async {
        loop {
            let shown = metrics(&app).await;
            if shown.contains(last) {
                return shown;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let shown = tokio::time::timeout(Duration::from_secs(30), counted).await.unwrap();
    for line in [
        r#"ringback_speculation_tokens_total{fate="used"} 60"#,
        r#"ringback_speculation_tokens_total{fate="wasted"} 30"#,
        r#"ringback_speculation_characters_total{by="model",fate="used"} 240"#,
        r#"ringback_speculations_total{fate="used"} 2"#,
        r#"ringback_speculations_total{fate="wasted"} 1"#,
    ] {
        assert!(shown.contains(line), "{line} is not in\n{shown}");
    }
    app.stop(Duration::ZERO).await;
}

#[tokio::test]
async fn a_request_in_progress_is_answered_before_the_service_stops() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::start(config(&folder, &[])).await.unwrap();
    let address = app.address;
    let mut slow = TcpStream::connect(address).await.unwrap();
    let head = "POST /carriers/simulated/status/x/y HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nno";
    slow.write_all(head.as_bytes()).await.unwrap();
    let stopping = tokio::spawn(app.stop(Duration::ZERO));
    while TcpStream::connect(address).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    slow.write_all(b"ne").await.unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    stopping.await.unwrap();
    // The database is free for the next service.
    App::start(config(&folder, &[]))
        .await
        .unwrap()
        .stop(Duration::ZERO)
        .await;
}

#[tokio::test]
async fn an_https_address_the_exchange_cannot_call_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let public = ["--public-url", "https://calls.example.com"];
    let abroad = ["--simulated-url", "http://127.0.0.1:9"];
    let refused = App::start(config(&folder, &[public, abroad].concat()))
        .await
        .err()
        .unwrap();
    assert!(refused.to_string().contains("RINGBACK_PUBLIC_URL"), "{refused}");
}

#[tokio::test]
async fn an_exchange_in_this_process_needs_no_public_address() {
    let folder = tempfile::tempdir().unwrap();
    let public = ["--public-url", "https://calls.example.com"];
    App::start(config(&folder, &public))
        .await
        .unwrap()
        .stop(Duration::ZERO)
        .await;
}

/// Returns settings with an account at Twilio, and further flags.
fn with_twilio(folder: &TempDir, flags: &[&str]) -> ServeConfig {
    let account = |name: &str| match name {
        "TWILIO_ACCOUNT_SID" => Some("AC1".to_owned()),
        "TWILIO_AUTH_TOKEN" => Some("token-1".to_owned()),
        _ => None,
    };
    ServeConfig {
        carriers: Some(CarrierSettings::read(account).unwrap()),
        ..config(folder, flags)
    }
}

#[tokio::test]
async fn a_carrier_that_cannot_work_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let unset = ServeConfig {
        carriers: Some(CarrierSettings::default()),
        ..config(&folder, &["--carrier", "twilio"])
    };
    let refused = App::start(unset).await.err().unwrap().to_string();
    assert!(refused.contains("set TWILIO_ACCOUNT_SID"), "{refused}");
    for public in [&[][..], &["--public-url", "http://calls.example.com"]] {
        let flags = [&["--carrier", "twilio"], public].concat();
        // A refused start may hold its database a moment longer.
        let folder = tempfile::tempdir().unwrap();
        let refused = App::start(with_twilio(&folder, &flags))
            .await
            .err()
            .unwrap()
            .to_string();
        assert!(
            refused.starts_with("RINGBACK_PUBLIC_URL: twilio must reach"),
            "{refused}"
        );
        // If another carrier places the calls, an existing account of this one does not prevent the start.
        let own = tempfile::tempdir().unwrap();
        let app = App::start(with_twilio(&own, public)).await.unwrap();
        let endpoint = format!("http://{}/carriers/twilio/status/x/y", app.address);
        let answer = reqwest::Client::new().post(endpoint).send().await.unwrap();
        assert_eq!(answer.status(), 404);
        app.stop(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn carriers_and_providers_are_shown_and_checked_without_values_of_settings() {
    let folder = tempfile::tempdir().unwrap();
    let app = App::start(with_twilio(&folder, &[])).await.unwrap();
    let account = accounts::create(app.store.as_ref(), "ada@example.com").await.unwrap();
    let api = ApiClient::new(format!("http://{}", app.address), account.api_key).unwrap();
    let shown = api.get("/public/v1/services").await.unwrap();
    let services = shown["data"]["services"].as_array().unwrap();
    let of = |name: &str| services.iter().find(|service| service["name"] == name).unwrap();
    // The account is set, but the address at which Twilio reaches the service is not.
    let twilio = of("carrier-twilio");
    let variables = ["TWILIO_ACCOUNT_SID", "TWILIO_AUTH_TOKEN", "RINGBACK_PUBLIC_URL"];
    assert_eq!(twilio["settings"], json!(variables));
    assert_eq!((&twilio["configured"], twilio.get("rank")), (&json!(false), None));
    assert!(!shown.to_string().contains("AC1") && !shown.to_string().contains("token-1"));
    for name in ["carrier-simulated", "llm-interviewer", "stt-babble", "tts-babble"] {
        assert_eq!((&of(name)["rank"], of(name).get("outage")), (&json!(1), None), "{name}");
        let check = format!("/public/v1/services/{name}/check");
        let found = api.post(&check, json!({})).await.unwrap();
        assert_eq!(found["data"]["works"], true, "{name}: {found}");
    }
    app.stop(Duration::ZERO).await;
}

#[tokio::test]
async fn an_agent_whose_numbers_are_elsewhere_is_not_launched_and_one_whose_are_here_is() {
    let folder = tempfile::tempdir().unwrap();
    let unset = ServeConfig {
        carriers: Some(CarrierSettings::default()),
        ..config(&folder, &[])
    };
    let app = App::start(unset).await.unwrap();
    let account = accounts::create(app.store.as_ref(), "ada@example.com").await.unwrap();
    let api = ApiClient::new(format!("http://{}", app.address), account.api_key).unwrap();
    for (providers, named) in [
        (vec!["simulated"], None),
        (vec!["plain"], None),
        (vec!["telnyx", "simulated"], None),
        (vec!["telnyx"], Some("TELNYX_API_KEY")),
        (vec!["plain", "twilio"], Some("RINGBACK_PUBLIC_URL")),
        (vec!["asterisk"], Some("ASTERISK_ARI_URL")),
    ] {
        let number = |at: usize| format!("+1555990{:04}", at + 10 * providers.len());
        let numbers = providers.iter().enumerate();
        let numbers: Vec<_> = numbers
            .map(|(at, provider)| json!({ "number": number(at), "provider": provider }))
            .collect();
        let agent = json!({
            "name": "Ann", "phoneNumbers": numbers,
            "conversationConfig": { "agent": { "prompt": { "prompt": "Ask." } } },
        });
        let agent = api.create_agent(agent).await.unwrap();
        let call = json!({ "agentId": agent, "phoneNumber": "+15550100021" });
        let placed = api
            .post("/public/v1/calls", call)
            .await
            .map_err(|error| error.to_string());
        match (placed, named) {
            (Ok(_), None) => {}
            (Err(why), Some(named)) => assert!(why.contains(named) && why.contains("409"), "{why}"),
            other => panic!("{providers:?}: {other:?}"),
        }
    }
    app.stop(Duration::ZERO).await;
}

#[tokio::test]
async fn only_the_endpoints_of_carriers_that_are_set_up_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--carrier", "twilio", "--public-url", "https://calls.example.com"];
    let app = App::start(with_twilio(&folder, &flags)).await.unwrap();
    let client = reqwest::Client::new();
    for (carrier, status) in [("twilio", 403), ("signalwire", 404), ("simulated", 404)] {
        let endpoint = format!("http://{}/carriers/{carrier}/status/x/y", app.address);
        let answer = client.post(endpoint).body("CallSid=CA1").send().await.unwrap();
        assert_eq!(answer.status(), status, "{carrier}");
    }
    let shown = metrics(&app).await;
    let counted = r#"ringback_carrier_forgeries_total{carrier="twilio",door="status"} 1"#;
    assert!(shown.contains(counted), "{shown}");
    app.stop(Duration::ZERO).await;
}

#[tokio::test]
async fn an_agent_whose_mail_could_not_go_out_is_not_launched() {
    let mail = [
        "--smtp-url",
        "smtps://ada:s3cret@mail.example.com",
        "--mail-from",
        "calls@example.com",
    ];
    for flags in [&[][..], &mail] {
        let folder = tempfile::tempdir().unwrap();
        let app = App::start(config(&folder, flags)).await.unwrap();
        let account = accounts::create(app.store.as_ref(), "ada@example.com").await.unwrap();
        let api = ApiClient::new(format!("http://{}", app.address), account.api_key).unwrap();
        let agent = json!({
            "name": "Ada",
            "conversationConfig": { "agent": { "prompt": { "prompt": "Ask." } } },
            "platformSettings": { "callActions": { "postCallEmail": {
                "enabled": true, "emailConfiguration": { "to": ["desk@example.com"] } } } },
        });
        let agent = api.create_agent(agent).await.unwrap();
        let call = json!({ "agentId": agent, "phoneNumber": "+15550100036" });
        let placed = api.post("/public/v1/calls", call).await;
        match (placed.map_err(|error| error.to_string()), flags.is_empty()) {
            (Ok(_), false) => {}
            (Err(why), true) => assert!(why.contains("RINGBACK_SMTP_URL") && why.contains("409"), "{why}"),
            other => panic!("{flags:?}: {other:?}"),
        }
        app.stop(Duration::ZERO).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let half = App::start(config(&folder, &mail[..2])).await.err().unwrap().to_string();
    assert!(
        half.contains("RINGBACK_MAIL_FROM") && !half.contains("s3cret"),
        "{half}"
    );
}
