//! Tests that foreign requests are refused at every address, and that Twilio and SignalWire may send forms or JSON.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use domain::id::AttemptId;
use reqwest::StatusCode;
use serde_json::json;
use sha2::{Digest, Sha256};
use sim::stub_carriers::twilio::TwilioStub;

use super::sound;
use crate::site::{Carrier, OURS};

const FORM: &str = "application/x-www-form-urlencoded";

/// Posts a webhook with the carrier's signature. Returns the response.
pub async fn post_signed(stub: &TwilioStub, url: &str, form: &[(&str, &str)]) -> (u16, String) {
    let (name, signature) = stub.signature(url, form);
    let mut body = url::form_urlencoded::Serializer::new(String::new());
    let body = body.extend_pairs(form).finish();
    let sent = reqwest::Client::new().post(url).header(name, signature);
    let answer = sent.header("content-type", FORM).body(body).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn what_the_carrier_did_not_sign_is_refused_before_all_else() {
    let (site, stub) = sound(Carrier::Twilio).await;
    let conversation = site.ringing().await;
    let dial = stub.dials().remove(0);
    let form = [("CallSid", "CA1"), ("CallStatus", "completed")];
    let body = "CallSid=CA1&CallStatus=completed";
    let post = async |address: &str, body: &str, (name, value): (&str, String)| {
        let sent = reqwest::Client::new().post(address).header(name, value);
        sent.body(body.to_owned()).send().await.unwrap().status()
    };
    let sound = stub.signature(&dial.status_url, &form);
    let elsewhere = stub.signature(&dial.status_url.replace("127.0.0.1", "localhost"), &form);
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
    assert_eq!(site.world.read(&conversation).await["status"], "in_progress");
    // A signature alone is not enough: the address must also contain the attempt's proof.
    let (front, proof) = dial.status_url.rsplit_once('/').unwrap();
    let guessed = format!("{front}/{}", "0".repeat(proof.len()));
    let signed = stub.signature(&guessed, &form);
    assert_eq!(post(&guessed, body, signed).await, StatusCode::FORBIDDEN);
    let nobody = format!("{}/carriers/twilio/status/none/x", site.base());
    assert_eq!(post(&nobody, body, unsigned).await, StatusCode::FORBIDDEN);
    let signed = stub.signature(&nobody, &form);
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
    let as_http = stub.signature(&media, &[]);
    assert_eq!(upgrade(as_http).await, StatusCode::FORBIDDEN);
    let sound = stub.signature(&dial.stream_url, &[]);
    assert_eq!(upgrade(sound).await, StatusCode::SWITCHING_PROTOCOLS);
}

#[tokio::test(start_paused = true)]
async fn what_is_forged_is_refused_at_every_address() {
    for carrier in [Carrier::Twilio, Carrier::SignalWire] {
        let (site, stub) = sound(carrier).await;
        let (attempt, proof) = (AttemptId::new(), "5".repeat(64));
        let form = [("CallSid", "CA1"), ("CallStatus", "busy"), ("To", OURS)];
        let body = "CallSid=CA1&CallStatus=busy&To=%2B15550000001";
        let changed = body.replace("busy", "completed");
        let http = reqwest::Client::new();
        for (path, sound) in [
            ("inbound".to_owned(), 200),
            ("events".to_owned(), 204),
            (format!("status/{attempt}/{proof}"), 204),
            (format!("handed/{attempt}/{proof}"), 204),
            (format!("conference/{attempt}.1/{proof}"), 204),
            (format!("machine/{attempt}/{proof}"), 400),
            (format!("transfer/{attempt}.{proof}/{proof}"), 200),
            ("document/AAAA".to_owned(), 404),
        ] {
            let address = format!("{}/carriers/{}/{path}", site.base(), carrier.name());
            let (name, signature) = stub.signature(&address, &form);
            let post = async |body: &str, signature: &str, kind: &str| {
                let sent = http.post(&address).header(name, signature).header("content-type", kind);
                sent.body(body.to_owned()).send().await.unwrap().status().as_u16()
            };
            assert_eq!(post(&changed, &signature, FORM).await, 403, "{path}");
            assert_eq!(post(body, "", FORM).await, 403, "{path}");
            assert_eq!(
                post(r#"{"CallSid":"CA1"}"#, &signature, "application/json").await,
                403,
                "{path}"
            );
            assert_eq!(
                http.post(&address).body(body).send().await.unwrap().status().as_u16(),
                403
            );
            assert_eq!(post(&"x".repeat(20_000), &signature, FORM).await, 413, "{path}");
            assert_eq!(post(body, &signature, FORM).await, sound, "{path}");
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_report_may_come_as_json() {
    for carrier in [Carrier::Twilio, Carrier::SignalWire] {
        let (site, stub) = sound(carrier).await;
        let conversation = site.ringing().await;
        let url = stub.dials().remove(0).status_url;
        let body = json!({ "CallSid": stub.sids()[0], "CallStatus": "busy", "SipResponseCode": 486 }).to_string();
        // Twilio signs an address that contains the body's hash, SignalWire address and body.
        let (address, (name, signature)) = match carrier {
            Carrier::Twilio => {
                let address = format!("{url}?bodySHA256={}", hex(&Sha256::digest(&body)));
                let signed = stub.signature(&address, &[]);
                (address, signed)
            }
            _ => {
                let (name, signature) = stub.signature(&url, &[(&body, "")]);
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
            "{carrier:?}"
        );
        assert_eq!(post(body).await, StatusCode::NO_CONTENT, "{carrier:?}");
        let over = site.world.until_over(&conversation, 10).await;
        assert_eq!(over["errorMessage"], "busy", "{carrier:?} {over:#}");
    }
}
