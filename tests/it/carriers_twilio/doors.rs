//! What is not Twilio's, or SignalWire's, is refused at every door; what is theirs may come as a form or as JSON.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use carriers::twilio::account::Flavour;
use domain::id::AttemptId;
use reqwest::StatusCode;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{
    CONTACTS, Joined, NO_ANSWER,
    inbound::{OURS, called},
    settings,
};

#[tokio::test(start_paused = true)]
async fn what_the_carrier_did_not_sign_is_refused_before_all_else() {
    let joined = Joined::with(settings(&CONTACTS)).await;
    let conversation = joined.call(NO_ANSWER).await;
    joined.until_it_is("ringing").await;
    let dial = joined.stub.dials().remove(0);
    let form = [("CallSid", "CA1"), ("CallStatus", "completed")];
    let body = "CallSid=CA1&CallStatus=completed";
    let post = async |address: &str, body: &str, (name, value): (&str, String)| {
        let sent = reqwest::Client::new().post(address).header(name, value);
        sent.body(body.to_owned()).send().await.unwrap().status()
    };
    let sound = joined.stub.signature(&dial.status_url, &form);
    let elsewhere = joined
        .stub
        .signature(&dial.status_url.replace("127.0.0.1", "localhost"), &form);
    let unsigned = ("x-other", String::new());
    for (body, header) in [
        (body, unsigned.clone()),
        (body, elsewhere),
        ("CallSid=CA1&CallStatus=busy", sound.clone()),
        ("not a form", ("x-twilio-signature", "?".to_owned())),
    ] {
        assert_eq!(
            post(&dial.status_url, body, header).await,
            StatusCode::FORBIDDEN,
            "{body}"
        );
    }
    assert_eq!(joined.world.read(&conversation).await["status"], "in_progress");
    // A signature alone opens nothing: the address must hold the attempt's proof too.
    let (front, proof) = dial.status_url.rsplit_once('/').unwrap();
    let guessed = format!("{front}/{}", "0".repeat(proof.len()));
    let signed = joined.stub.signature(&guessed, &form);
    assert_eq!(post(&guessed, body, signed).await, StatusCode::FORBIDDEN);
    let nobody = format!("{}/carriers/twilio/status/none/x", joined.world.client.base);
    assert_eq!(post(&nobody, body, unsigned).await, StatusCode::FORBIDDEN);
    let signed = joined.stub.signature(&nobody, &form);
    assert_eq!(post(&nobody, body, signed).await, StatusCode::NOT_FOUND);

    let media = dial.stream_url.replacen("ws", "http", 1);
    let upgrade = async |(name, value): (&str, String)| {
        let sent = reqwest::Client::new().get(&media).header(name, value);
        let sent = sent.header("connection", "upgrade").header("upgrade", "websocket");
        let sent = sent.header("sec-websocket-version", "13");
        let sent = sent.header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        sent.send().await.unwrap().status()
    };
    assert_eq!(upgrade(("x-other", String::new())).await, StatusCode::FORBIDDEN);
    let as_http = joined.stub.signature(&media, &[]);
    assert_eq!(upgrade(as_http).await, StatusCode::FORBIDDEN);
    let sound = joined.stub.signature(&dial.stream_url, &[]);
    assert_eq!(upgrade(sound).await, StatusCode::SWITCHING_PROTOCOLS);
}

#[tokio::test(start_paused = true)]
async fn what_is_forged_is_refused_at_every_door() {
    for flavour in [Flavour::Twilio, Flavour::SignalWire] {
        let Joined { world, stub } = called(flavour).await;
        let (attempt, proof) = (AttemptId::new(), "5".repeat(64));
        let form = [("CallSid", "CA1"), ("CallStatus", "busy"), ("To", OURS)];
        let body = "CallSid=CA1&CallStatus=busy&To=%2B15559990001";
        let changed = body.replace("busy", "completed");
        let http = reqwest::Client::new();
        for (door, sound) in [
            ("inbound".to_owned(), 200),
            ("events".to_owned(), 204),
            (format!("status/{attempt}/{proof}"), 204),
            (format!("handed/{attempt}/{proof}"), 204),
            (format!("conference/{attempt}.1/{proof}"), 204),
            (format!("machine/{attempt}/{proof}"), 400),
            (format!("transfer/{attempt}.{proof}/{proof}"), 200),
        ] {
            let address = format!("{}/carriers/{}/{door}", world.client.base, flavour.name());
            let (name, signature) = stub.signature(&address, &form);
            let post = async |body: &str, signature: &str, kind: &str| {
                let sent = http.post(&address).header(name, signature).header("content-type", kind);
                sent.body(body.to_owned()).send().await.unwrap().status().as_u16()
            };
            let kind = "application/x-www-form-urlencoded";
            assert_eq!(post(&changed, &signature, kind).await, 403, "{door}");
            assert_eq!(post(body, "", kind).await, 403, "{door}");
            assert_eq!(
                post(r#"{"CallSid":"CA1"}"#, &signature, "application/json").await,
                403,
                "{door}"
            );
            assert_eq!(
                http.post(&address).body(body).send().await.unwrap().status().as_u16(),
                403
            );
            assert_eq!(post(&"x".repeat(20_000), &signature, kind).await, 413, "{door}");
            assert_eq!(post(body, &signature, kind).await, sound, "{door}");
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_report_may_come_as_json() {
    for flavour in [Flavour::Twilio, Flavour::SignalWire] {
        let joined = Joined::over(flavour, settings(&CONTACTS)).await;
        let conversation = joined.call(NO_ANSWER).await;
        joined.until_it_is("ringing").await;
        let url = joined.stub.dials().remove(0).status_url;
        let body =
            json!({ "CallSid": joined.stub.sids()[0], "CallStatus": "busy", "SipResponseCode": 486 }).to_string();
        // Twilio signs an address that holds the body's hash, SignalWire address and body.
        let (address, (name, signature)) = match flavour {
            Flavour::Twilio => {
                let address = format!("{url}?bodySHA256={}", hex(&Sha256::digest(&body)));
                let signed = joined.stub.signature(&address, &[]);
                (address, signed)
            }
            Flavour::SignalWire => {
                let (name, signature) = joined.stub.signature(&url, &[(&body, "")]);
                (url, (name, hex(&BASE64.decode(signature).unwrap())))
            }
        };
        let post = async |body: String| {
            let sent = reqwest::Client::new().post(&address).header(name, &signature);
            let sent = sent.header("content-type", "application/json").body(body);
            sent.send().await.unwrap().status()
        };
        assert_eq!(
            post(body.replace("busy", "failed")).await,
            StatusCode::FORBIDDEN,
            "{flavour:?}"
        );
        assert_eq!(post(body).await, StatusCode::NO_CONTENT, "{flavour:?}");
        let over = joined.world.until_over(&conversation, 10).await;
        assert_eq!(over["errorMessage"], "busy", "{flavour:?} {over:#}");
    }
}
