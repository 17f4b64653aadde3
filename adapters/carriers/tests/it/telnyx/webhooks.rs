//! Tests that requests that are not Telnyx's are refused at every address.

use carriers::telnyx::mark;
use domain::id::AttemptId;
use serde_json::json;
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest};

use super::ringing;
use crate::site::{COOPERATIVE, OURS};

#[tokio::test(start_paused = true)]
async fn a_forged_webhook_is_refused_whatever_it_says() {
    let (site, stub, dial) = ringing().await;
    let url = dial["webhook_url"].as_str().unwrap();
    let now = site.world.now().0 / 1_000_000;
    let body = |state: &str| {
        let payload = json!({ "call_control_id": "v3:forged", "client_state": state, "hangup_cause": "user_busy" });
        json!({ "data": { "event_type": "call.hangup", "payload": payload } }).to_string()
    };
    let (ours, other) = (
        body(dial["client_state"].as_str().unwrap()),
        body(&mark::client_state(AttemptId::new())),
    );
    let http = net::http_client::builder().build().unwrap();
    let post = async |url: &str, seconds: i64, signature: String, body: &str| {
        let request = http
            .post(url)
            .header("telnyx-signature-ed25519", signature)
            .header("telnyx-timestamp", seconds.to_string())
            .body(body.to_owned());
        request.send().await.unwrap().status().as_u16()
    };
    let changed = ours.replace("user_busy", "not_found");
    let inbound = format!("{}/carriers/telnyx/inbound", site.base());
    let announced = json!({ "call_control_id": "v3:forged", "direction": "incoming", "from": COOPERATIVE, "to": OURS });
    let announced = json!({ "data": { "event_type": "call.initiated", "payload": announced } }).to_string();
    for (seconds, signature) in [
        (now, stub.sign(now, &ours)),
        (now + 1, stub.sign(now, &announced)),
        (now - 400, stub.sign(now - 400, &announced)),
        (now, String::new()),
    ] {
        assert_eq!(post(&inbound, seconds, signature, &announced).await, 403);
    }
    assert_eq!(post(&inbound, now, stub.sign(now, "{"), "{").await, 400);
    let big = "x".repeat(20_000);
    assert_eq!(post(&inbound, now, stub.sign(now, &big), &big).await, 413);
    // A report about an unknown leg has no effect.
    assert_eq!(post(&inbound, now, stub.sign(now, &other), &other).await, 204);
    for (seconds, signature, body) in [
        (now, stub.sign(now, &other), &ours),
        (now, stub.sign(now, &ours), &changed),
        (now + 1, stub.sign(now, &ours), &ours),
        (now - 400, stub.sign(now - 400, &ours), &ours),
        // Correctly signed, but for another call.
        (now, stub.sign(now, &other), &other),
        (now, String::new(), &ours),
    ] {
        assert_eq!(post(url, seconds, signature, body).await, 403, "{body}");
    }
    let unsigned = http.post(url).body(ours.clone()).send().await.unwrap();
    assert_eq!(unsigned.status().as_u16(), 403);
    let (front, _) = url.rsplit_once('/').unwrap();
    let elsewhere = format!("{front}/{}", "0".repeat(64));
    assert_eq!(post(&elsewhere, now, stub.sign(now, &ours), &ours).await, 403);
    assert_eq!(stub.live_calls(), 1);
    let unknown = json!({ "data": { "event_type": "call.dtmf.received", "payload": {} } }).to_string();
    assert_eq!(post(url, now, stub.sign(now, &unknown), &unknown).await, 204);
    assert_eq!(post(url, now, stub.sign(now, "{"), "{").await, 400);
}

#[tokio::test(start_paused = true)]
async fn a_media_socket_without_its_calls_token_is_refused() {
    let (_site, _stub, dial) = ringing().await;
    let (url, token) = (
        dial["stream_url"].as_str().unwrap(),
        dial["stream_auth_token"].as_str().unwrap(),
    );
    let open = async |token: Option<&str>| {
        let mut request = url.into_client_request().unwrap();
        if let Some(token) = token {
            let headers = request.headers_mut();
            headers.insert("x-telnyx-streaming-auth-token", token.parse().unwrap());
        }
        match tokio_tungstenite::connect_async(request).await {
            Ok(_) => 101,
            Err(tungstenite::Error::Http(answer)) => answer.status().as_u16(),
            Err(error) => panic!("{error}"),
        }
    };
    let wrong = "0".repeat(64);
    for shown in [None, Some(""), Some(&*wrong), Some(&token[1..])] {
        assert_eq!(open(shown).await, 403, "{shown:?}");
    }
    assert_eq!(open(Some(token)).await, 101);
}
