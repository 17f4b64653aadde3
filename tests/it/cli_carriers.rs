//! `ringback carriers check` with carriers that answer and carriers that do not; and `ringback carriers
//! stub`, which the check accepts as the carrier.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::Request,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::time::SystemClock;
use serde_json::{Value, json};
use sim::stub_carriers::{
    NUMBERS, StubCarrierSettings,
    telnyx::{API_KEY, CONNECTION, TelnyxSettings, TelnyxStub},
    vonage::{APPLICATION, PRIVATE_KEY, SIGNATURE_SECRET},
};

use support::{
    client::Client,
    program::{Ended, Program, Running},
    words::interviewing_agent,
};

const PUBLIC: &str = "https://calls.example.com";
const SECRET: &str = "tell-nobody";

/// Answers the read requests of all carriers, each with its own kind of key.
async fn answer(request: Request) -> Response {
    let header = request.headers().get(header::AUTHORIZATION);
    let shown = header
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    // user:tell-nobody
    let basic = shown == "Basic dXNlcjp0ZWxsLW5vYm9keQ==";
    // pair:tell-nobody
    let key = shown == "Basic cGFpcjp0ZWxsLW5vYm9keQ==";
    let bearer = shown == format!("Bearer {SECRET}");
    let token = shown.starts_with("Bearer ey");
    let path = request.uri().path();
    // A Telnyx that refuses the fields of a media stream.
    let is_narrow = path.starts_with("/narrow/");
    let (allowed, said) = match path.strip_prefix("/narrow").unwrap_or(path) {
        "/2010-04-01/Accounts/user.json" => (basic, json!({ "status": "active" })),
        "/2010-04-01/Accounts/user/IncomingPhoneNumbers.json" => (
            basic || key,
            json!({ "incoming_phone_numbers": [{ "phone_number": "+15550000001" }] }),
        ),
        // The only resource of an account that most keys may read.
        "/2010-04-01/Accounts/user/Calls.json" => (key, json!({ "calls": [] })),
        "/balance" => (bearer, json!({ "data": { "balance": "12.50", "currency": "USD" } })),
        "/phone_numbers" => (bearer, json!({ "data": [{ "phone_number": "+15550000002" }] })),
        "/v1/calls" => (token, json!({ "count": 0 })),
        "/ari/asterisk/info" => (basic, json!({ "system": { "version": "22.6.0" } })),
        command if is_narrow && command.ends_with("/actions/streaming_start") => {
            let error = json!({ "code": "10015", "detail": "no such codec", "source": { "pointer": "/stream_codec" } });
            return (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({ "errors": [error] }))).into_response();
        }
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    match allowed {
        true => Json(said).into_response(),
        false => StatusCode::UNAUTHORIZED.into_response(),
    }
}

/// Runs the check against one server that plays all carriers, with some settings changed.
async fn check(arguments: &'static [&'static str], changed: &[(&str, &str)]) -> Ended {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    let ari = format!("{url}/ari");
    let mut settings: Vec<(String, String)> = [
        ("RINGBACK_PUBLIC_URL", PUBLIC),
        ("RINGBACK_CARRIER", "twilio"),
        ("TWILIO_ACCOUNT_SID", "user"),
        ("TWILIO_AUTH_TOKEN", SECRET),
        ("TWILIO_BASE_URL", &url),
        ("TELNYX_API_KEY", SECRET),
        ("TELNYX_PUBLIC_KEY", "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="),
        ("TELNYX_CONNECTION_ID", "1"),
        ("TELNYX_BASE_URL", &url),
        ("VONAGE_APPLICATION_ID", APPLICATION),
        ("VONAGE_PRIVATE_KEY", PRIVATE_KEY),
        ("VONAGE_SIGNATURE_SECRET", SIGNATURE_SECRET),
        ("VONAGE_BASE_URL", &url),
        ("ASTERISK_ARI_URL", &ari),
        ("ASTERISK_ARI_USER", "user"),
        ("ASTERISK_ARI_PASSWORD", SECRET),
        ("ASTERISK_ENDPOINT", "PJSIP/{number}@trunk"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    for (name, value) in changed {
        settings.retain(|(set, _)| set != name);
        settings.push(((*name).to_owned(), value.replace("URL", &url)));
    }
    let run = move || {
        let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (&**name, &**value)).collect();
        Program::new().run_with(arguments, &settings)
    };
    let ended = tokio::task::spawn_blocking(run).await.unwrap();
    server.abort();
    ended
}

const JSON: &[&str] = &["carriers", "check", "--json"];
const WORDS: &[&str] = &["carriers", "check"];

#[tokio::test(flavor = "multi_thread")]
async fn what_works_is_told_with_numbers_and_what_to_enter() {
    let ended = check(JSON, &[]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let of = |name: &str| {
        found
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["carrier"] == name)
            .unwrap()
    };
    assert_eq!(of("twilio")["numbers"], json!(["+15550000001"]));
    assert_eq!(of("telnyx")["numbers"], json!(["+15550000002"]));
    assert_eq!(of("telnyx")["answer"], "balance 12.50 USD");
    assert_eq!(of("asterisk")["answer"], "Asterisk 22.6.0");
    for (carrier, entry, value) in [
        ("twilio", 0, "https://calls.example.com/carriers/twilio/inbound"),
        ("twilio", 1, "https://calls.example.com/carriers/twilio/events"),
        ("telnyx", 0, "https://calls.example.com/carriers/telnyx/inbound"),
        ("vonage", 0, "https://calls.example.com/carriers/vonage/inbound"),
        ("vonage", 1, "https://calls.example.com/carriers/vonage/events"),
        ("asterisk", 0, "Stasis(ringback)"),
        ("asterisk", 1, "wss://calls.example.com/carriers/asterisk/media"),
    ] {
        assert_eq!(of(carrier)["enter"][entry]["value"], value);
    }
    assert!(!format!("{ended:?}").contains(SECRET));
}

#[tokio::test]
async fn a_report_for_clients_of_the_api_names_settings_and_not_their_values() {
    let account = |name: &str| match name {
        "TWILIO_ACCOUNT_SID" => Some("AC1".to_owned()),
        "TWILIO_AUTH_TOKEN" => Some(SECRET.to_owned()),
        // Nothing listens there.
        "TWILIO_BASE_URL" => Some("http://127.0.0.1:9".to_owned()),
        _ => None,
    };
    let settings = carriers::settings::CarrierSettings::read(account).unwrap();
    let public = Some("https://calls.example.com");
    let report = carriers::check::one(&settings, "twilio", public).await.unwrap();
    let message = &report.message;
    assert!(!report.works && message.contains("TWILIO_AUTH_TOKEN"), "{message}");
    assert!(!message.contains("127.0.0.1") && !message.contains(SECRET), "{message}");
    let inbound = "https://calls.example.com/carriers/twilio/inbound";
    assert_eq!(report.enter[0].value, inbound);
    let other = carriers::check::one(&settings, "telnyx", public).await;
    assert!(other.is_none(), "it is not configured");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_places_calls_and_may_not_read_the_account_works() {
    let ended = check(JSON, &[("TWILIO_API_KEY", "pair"), ("TWILIO_API_SECRET", SECRET)]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(found[0]["numbers"], json!(["+15550000001"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_work_is_named_with_its_cure_and_without_its_key() {
    for (changed, says) in [
        (
            ("TWILIO_AUTH_TOKEN", "wrong-one"),
            "twilio: DOES NOT WORK: asked at http",
        ),
        (
            ("TELNYX_API_KEY", "wrong-one"),
            "the account or its key was refused (401",
        ),
        (
            ("TWILIO_ACCOUNT_SID", "wrong-one"),
            "check the account's id and the address",
        ),
        (
            ("ASTERISK_ARI_URL", "http://127.0.0.1:9/ari"),
            "asked at http://127.0.0.1:9/ari",
        ),
        (
            ("TELNYX_BASE_URL", "URL/narrow"),
            "the command streaming_start fails for inbound calls: rejected by the carrier: no such codec",
        ),
    ] {
        let ended = check(WORDS, &[changed]).await;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stdout.contains(says), "{ended:?}");
        let told = format!("{ended:?}");
        assert!(!told.contains(SECRET) && !told.contains("wrong-one"), "{told}");
    }
    let ended = check(WORDS, &[("RINGBACK_CARRIER", "signalwire")]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("set SIGNALWIRE_SPACE"), "{ended:?}");
}

/// Number of each stub's account.
const NUMBER: &str = "+15550000001";

/// Returns the environment that a stub prints, as a shell would read it.
fn environment(stub: &Running, names: usize) -> Vec<(String, String)> {
    let mut variables = Vec::new();
    while variables.len() < names {
        let mut line = stub.line_after("export ");
        while !line.ends_with('\'') {
            line = format!("{line}\n{}", stub.line_after(""));
        }
        let (name, value) = line.split_once("='").unwrap();
        variables.push((name.to_owned(), value.trim_end_matches('\'').to_owned()));
    }
    variables
}

/// Starts a stub of a carrier for a service at this address; returns it with its URL and environment.
fn stub(program: &Program, carrier: &str, service: &str) -> (Running, String, Vec<(String, String)>) {
    let arguments = [
        "carriers",
        "stub",
        carrier,
        "--listen",
        "127.0.0.1:0",
        "--service",
        service,
    ];
    let running = program.start(&arguments, &[]);
    let url = running.line_after(&format!("# Stub of {carrier} listens on "));
    // Two variables of the service itself; a carrier has its account, its signing key, its address and its number.
    let names = 2 + if carrier == "twilio" { 4 } else { 5 };
    let variables = environment(&running, names);
    (running, url, variables)
}

fn borrowed(variables: &[(String, String)]) -> Vec<(&str, &str)> {
    variables.iter().map(|(name, value)| (&**name, &**value)).collect()
}

#[test]
fn each_stub_is_taken_for_its_carrier() {
    // Nothing listens there.
    let service = "http://127.0.0.1:9";
    for (carrier, numbers, endpoint) in [
        ("twilio", json!(NUMBERS), "inbound"),
        ("signalwire", json!(NUMBERS), "inbound"),
        ("telnyx", json!(NUMBERS), "inbound"),
        ("vonage", json!([]), "inbound"),
    ] {
        let program = Program::new();
        let (_stub, _, variables) = stub(&program, carrier, service);
        let ended = program.run_with(JSON, &borrowed(&variables));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let found: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
        let found = &found[0];
        assert_eq!((&found["carrier"], &found["numbers"]), (&json!(carrier), &numbers));
        assert_eq!(
            found["enter"][0]["value"],
            format!("{service}/carriers/{carrier}/{endpoint}")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn telnyx_is_sent_the_commands_of_an_inbound_call() {
    let settings = StubCarrierSettings::on_loopback(Arc::new(SystemClock), &[]);
    let stub = TelnyxStub::start(TelnyxSettings::of(settings)).await.unwrap();
    let (url, public_key) = (stub.url(), stub.public_key());
    let run = move || {
        let settings = [
            ("RINGBACK_PUBLIC_URL", PUBLIC),
            ("RINGBACK_CARRIER", "telnyx"),
            ("TELNYX_BASE_URL", &*url),
            ("TELNYX_API_KEY", API_KEY),
            ("TELNYX_PUBLIC_KEY", &*public_key),
            ("TELNYX_CONNECTION_ID", CONNECTION),
        ];
        Program::new().run_with(JSON, &settings)
    };
    let ended = tokio::task::spawn_blocking(run).await.unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let commands = stub.commands();
    let names: Vec<&str> = commands.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["answer", "streaming_start"]);
    let stream = &commands[1].1;
    let address = stream["stream_url"].as_str().unwrap();
    assert!(
        address.starts_with("wss://calls.example.com/carriers/telnyx/media/"),
        "{stream}"
    );
    assert!(stream["stream_auth_token"].is_string(), "{stream}");
    assert_eq!(stub.complaints(), Vec::<String>::new());
}

#[test]
fn instructions_for_signalwire_are_fetched_from_the_service_as_it_does() {
    let program = Program::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let (listen, service) = (free.to_string(), format!("http://{free}"));
    let (_stub, _, mut variables) = stub(&program, "signalwire", &service);
    let check = |variables: &[(String, String)]| {
        let ended = program.run_with(JSON, &borrowed(variables));
        let found: Value = serde_json::from_str(&ended.stdout).unwrap();
        (ended.code, found[0].clone())
    };
    let (code, found) = check(&variables);
    let answer = found["answer"].as_str().unwrap();
    assert!(code == Some(0) && answer.contains("no service answers"), "{found}");
    let mut running = variables.clone();
    running.push(("RINGBACK_LISTEN".to_owned(), listen));
    let (_service, _) = program.serve_with(&borrowed(&running));
    let (code, found) = check(&variables);
    assert_eq!(
        (code, &found["answer"]),
        (Some(0), &json!("account active; instructions can be fetched"))
    );
    let key = variables.iter_mut().find(|(name, _)| name == "SIGNALWIRE_SIGNING_KEY");
    key.unwrap().1 = "PSK_of_another_project".to_owned();
    let (code, found) = check(&variables);
    let why = found["problem"].as_str().unwrap();
    assert!(
        code == Some(1) && why.contains("403") && why.contains("SIGNALWIRE_SIGNING_KEY"),
        "{why}"
    );
}

/// The steps in README: a service with a stub's environment, an agent, and a phone that calls it.
#[tokio::test(flavor = "multi_thread")]
async fn a_phone_of_a_stub_calls_an_agent_of_the_service() {
    let program = Program::new();
    // Free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let service = format!("http://{free}");
    let (_stub, url, mut variables) = stub(&program, "twilio", &service);
    let listen = free.to_string();
    variables.push(("RINGBACK_LISTEN".to_owned(), listen));
    let account = program.run(&["account", "create", "--email", "ada@example.com"]).json();
    let (_service, address) = program.serve_with(&borrowed(&variables));
    assert_eq!(address, service);
    let client = Client::new(&address, account["apiKey"].as_str().unwrap());
    let mut agent = interviewing_agent();
    agent["direction"] = json!("inbound");
    agent["phoneNumbers"] = json!([{ "number": NUMBER }]);
    client.post("/public/v1/agents/create", agent).await.expect(201);
    let phones = Client::new(&url, "");
    let calls = async |body: Value| {
        let sent = phones.bare("POST", "/v1/inbound").json(&body).send().await.unwrap();
        (sent.status().as_u16(), sent.json::<Value>().await.unwrap())
    };
    let (status, refused) = calls(json!({ "from": "+15550100010", "to": "+15559990009" })).await;
    assert_eq!((status, &refused["answer"]), (200, &json!("refused")), "{refused}");
    assert!(refused["why"].as_str().unwrap().contains("rejected"), "{refused}");
    let (status, taken) = calls(json!({ "from": "+15550100010", "to": NUMBER, "withheld": true })).await;
    assert_eq!((status, &taken["answer"]), (201, &json!("connected")), "{taken}");
    let list = client.get("/public/v1/conversations").await.expect(200);
    let id = list.text("/data/0/conversationId");
    let ended = client
        .post(&format!("/public/v1/conversations/{id}/end"), json!({}))
        .await;
    ended.expect(200);
    let over = client.get(&format!("/public/v1/conversations/{id}")).await.expect(200);
    let conversation = over.data();
    assert_eq!(
        (
            &conversation["carrier"],
            &conversation["direction"],
            &conversation["callerNumber"]
        ),
        (&json!("twilio"), &json!("inbound"), &json!(NUMBER)),
        "{conversation:#}"
    );
    assert_eq!(conversation.get("contactNumber"), None, "{conversation:#}");
    let (status, unknown) = calls(json!({ "from": "+15550100010", "to": NUMBER, "persona": "me" })).await;
    assert_eq!((status, &unknown["code"]), (400, &json!("invalid_request")));
    let sent = phones.bare("POST", "/v1/inbound").body("from=1").send().await.unwrap();
    let answer: Value = sent.json().await.unwrap();
    let message = answer["message"].as_str().unwrap();
    assert!(message.starts_with("the body is not JSON: "), "{answer}");
}
