//! `ringback carriers check`: what it finds at carriers that answer, and what it says of those that do not.

use axum::{
    Json, Router,
    extract::Request,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use ringback::stub_carriers::vonage::{APPLICATION, PRIVATE_KEY, SIGNATURE_SECRET};
use serde_json::{Value, json};

use crate::support::program::{Ended, Program};

const PUBLIC: &str = "https://calls.example.com";
const SECRET: &str = "tell-nobody";

/// The reading requests of all carriers, each with its own kind of key.
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
    let (allowed, said) = match request.uri().path() {
        "/2010-04-01/Accounts/user.json" => (basic, json!({ "status": "active" })),
        "/2010-04-01/Accounts/user/IncomingPhoneNumbers.json" => (
            basic || key,
            json!({ "incoming_phone_numbers": [{ "phone_number": "+15550000001" }] }),
        ),
        // All that most keys may read of an account.
        "/2010-04-01/Accounts/user/Calls.json" => (key, json!({ "calls": [] })),
        "/balance" => (bearer, json!({ "data": { "balance": "12.50", "currency": "USD" } })),
        "/phone_numbers" => (bearer, json!({ "data": [{ "phone_number": "+15550000002" }] })),
        "/v1/calls" => (token, json!({ "count": 0 })),
        "/ari/asterisk/info" => (basic, json!({ "system": { "version": "22.6.0" } })),
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
        settings.push(((*name).to_owned(), (*value).to_owned()));
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
            "the account or its key is not taken (401",
        ),
        (
            ("TWILIO_ACCOUNT_SID", "wrong-one"),
            "is the account's id, or the address, right?",
        ),
        (
            ("ASTERISK_ARI_URL", "http://127.0.0.1:9/ari"),
            "asked at http://127.0.0.1:9/ari",
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
