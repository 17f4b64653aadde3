//! Tests that requests that are not Vonage's are refused at every address.

use domain::id::AttemptId;
use serde_json::json;
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest};

use super::ringing;

#[tokio::test(start_paused = true)]
async fn a_forged_webhook_is_refused_whatever_it_says() {
    let (site, stub, order) = ringing().await;
    let url = order["event_url"][0].as_str().unwrap();
    let now = site.world.now().0 / 1_000_000;
    let body = |status: &str| json!({ "status": status, "uuid": "forged", "to": "15550100017" }).to_string();
    let (busy, failed) = (body("busy"), body("failed"));
    let http = net::http_client::builder().build().unwrap();
    let post = async |url: &str, signature: &str, body: &str| {
        let request = http.post(url).header("authorization", signature).body(body.to_owned());
        request.send().await.unwrap().status().as_u16()
    };
    let base = site.base();
    let [stream, transfer] = ["stream/{t}", "transfer/{t}/{p}"].map(|endpoint| {
        let endpoint = endpoint.replace("{t}", &format!("{}.{}", AttemptId::new(), "a".repeat(64)));
        format!("{base}/carriers/vonage/{}", endpoint.replace("{p}", &"5".repeat(64)))
    });
    let conference = format!(
        "{base}/carriers/vonage/conference/{}.1/{}",
        AttemptId::new(),
        "5".repeat(64)
    );
    let [inbound, events] = ["inbound", "events"].map(|endpoint| format!("{base}/carriers/vonage/{endpoint}"));
    for address in [url, &stream, &transfer, &conference, &inbound, &events] {
        for (signature, body) in [
            (stub.sign(&failed), &busy),
            (stub.sign_at(&busy, now - 400), &busy),
            (stub.sign_at(&busy, now + 400), &busy),
            (stub.sign(&busy).replace("Bearer ", ""), &busy),
            ("Bearer a.b".to_owned(), &busy),
        ] {
            assert_eq!(post(address, &signature, body).await, 403, "{address} {body}");
        }
        // Vonage sends these again.
        let unsigned = http.post(address).body(busy.clone()).send().await.unwrap();
        assert_eq!(unsigned.status().as_u16(), 503, "{address}");
        assert_eq!(post(address, "", &busy).await, 503, "{address}");
        assert_eq!(post(address, &stub.sign("{"), "{").await, 400, "{address}");
        let big = "x".repeat(20_000);
        assert_eq!(post(address, &stub.sign(&big), &big).await, 413, "{address}");
    }
    // Correctly signed, but with the proof of no call.
    let (front, _) = url.rsplit_once('/').unwrap();
    let elsewhere = format!("{front}/{}", "0".repeat(64));
    assert_eq!(post(&elsewhere, &stub.sign(&busy), &busy).await, 403);
    assert_eq!(stub.live_calls(), 1);
    // A webhook without information, or about an unknown leg, is only acknowledged.
    let unknown = body("weather");
    for address in [url, &stream, &transfer, &conference, &events] {
        assert_eq!(post(address, &stub.sign(&unknown), &unknown).await, 204, "{address}");
    }
    for address in [&stream, &transfer, &conference, &events] {
        assert_eq!(
            post(address, &stub.sign(&busy), &busy).await,
            if address == &transfer { 200 } else { 204 },
            "{address}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_events_of_a_media_socket_are_not_those_of_its_call() {
    let (_site, stub, order) = ringing().await;
    let url = order["event_url"][0].as_str().unwrap();
    let http = net::http_client::builder().build().unwrap();
    let uri = &order["ncco"][0]["endpoint"][0]["uri"];
    for status in ["started", "answered", "completed", "disconnected"] {
        let body = json!({ "status": status, "uuid": "socket-1", "to": uri }).to_string();
        let request = http.post(url).header("authorization", stub.sign(&body)).body(body);
        assert_eq!(request.send().await.unwrap().status().as_u16(), 204, "{status}");
    }
    assert_eq!(stub.live_calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_media_socket_without_its_calls_token_is_refused() {
    let (_site, _stub, order) = ringing().await;
    let socket = &order["ncco"][0]["endpoint"][0];
    let (url, token) = (
        socket["uri"].as_str().unwrap(),
        socket["authorization"]["value"].as_str().unwrap(),
    );
    let open = async |token: Option<&str>| {
        let mut request = url.into_client_request().unwrap();
        if let Some(token) = token {
            request.headers_mut().insert("authorization", token.parse().unwrap());
        }
        match tokio_tungstenite::connect_async(request).await {
            Ok(_) => 101,
            Err(tungstenite::Error::Http(answer)) => answer.status().as_u16(),
            Err(error) => panic!("{error}"),
        }
    };
    let wrong = format!("Bearer {}", "A".repeat(43));
    for shown in [None, Some(""), Some(&*wrong), Some(&token[1..]), Some(&token[7..])] {
        assert_eq!(open(shown).await, 403, "{shown:?}");
    }
    assert_eq!(open(Some(token)).await, 101);
}
