//! Requests that reach the wrong node are forwarded to the one that holds the call, but only with a valid proof.

mod faults;
mod live;
mod media;
mod site;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use actors::call::{CallCommand, CommandAnswer, CommandKind};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use domain::{
    id::{AttemptId, NodeId},
    ports::carrier::{CallProgress, CarrierCallId, EndCause, LegReport},
};
use hmac::{Hmac, Mac};
use peers::{NotTold, directory::Holder};
use reqwest::{RequestBuilder, StatusCode};
use serde_json::json;
use sha1::Sha1;
use url::form_urlencoded;

use self::site::{Call, PUBLIC, Register, Site, TWILIO_TOKEN, header};

/// Starts two nodes, of which the second holds a call.
async fn two() -> (Arc<Register>, Site, Site, Call) {
    let (register, call) = (Arc::<Register>::default(), Call::new());
    let (first, second) = (Site::of(&register).await, Site::of(&register).await);
    second.takes(&call);
    (register, first, second, call)
}

fn post(site: &Site, path: &str) -> RequestBuilder {
    let client = net::http_client::builder().build().unwrap();
    client.post(format!("{}{path}", site.address))
}

/// Builds a status report of the simulated carrier.
fn report(site: &Site, call: &Call) -> RequestBuilder {
    let path = format!("/carriers/simulated/status/{}", call.status());
    post(site, &path).json(&json!({ "callId": "C1", "status": "ended", "cause": "busy", "sequence": 1 }))
}

async fn status(request: RequestBuilder) -> u16 {
    request.send().await.unwrap().status().as_u16()
}

fn busy() -> LegReport {
    LegReport {
        call: CarrierCallId::checked("C1"),
        progress: CallProgress::Ended(EndCause::Busy),
    }
}

/// Builds a webhook request signed by Twilio.
fn twilio(site: &Site, endpoint: &str, form: &[(&str, &str)]) -> RequestBuilder {
    let path = format!("/carriers/twilio/{endpoint}");
    let mut sorted = form.to_vec();
    sorted.sort_unstable();
    let fields: String = sorted.iter().map(|(name, value)| format!("{name}{value}")).collect();
    let mac = Hmac::<Sha1>::new_from_slice(TWILIO_TOKEN.as_bytes()).unwrap();
    let mac = mac.chain_update(format!("{PUBLIC}{path}{fields}"));
    let signature = BASE64.encode(mac.finalize().into_bytes());
    form_of(post(site, &path), form).header("x-twilio-signature", signature)
}

fn form_of(request: RequestBuilder, form: &[(&str, &str)]) -> RequestBuilder {
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form)
        .finish();
    request
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body)
}

#[tokio::test(start_paused = true)]
async fn a_callback_reaches_the_node_that_holds_the_call() {
    let (register, first, second, call) = two().await;
    for site in [&first, &second] {
        assert_eq!(status(report(site, &call)).await, 204);
    }
    assert_eq!(second.reports(), [(call.attempt, busy()), (call.attempt, busy())]);
    assert!(first.reports().is_empty());
    // The owner is cached for a moment.
    for _ in 0..10 {
        assert_eq!(status(report(&first, &call)).await, 204);
    }
    assert_eq!((register.lookups(), second.reports().len()), (1, 12));
    tokio::time::advance(Duration::from_secs(4)).await;
    assert_eq!(status(report(&first, &call)).await, 204);
    assert_eq!(register.lookups(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_holds_is_answered_where_it_came() {
    let (register, first, second, _) = two().await;
    let nobodys = Call::new();
    assert_eq!(status(report(&first, &nobodys)).await, 204);
    assert_eq!(first.reports(), [(nobodys.attempt, busy())]);
    // A request is not forwarded if its owner is this node, by its id or by the address of an earlier run.
    let earlier = Site::of(&register).await;
    for holder in [
        first.holder(&nobodys),
        peers::directory::Holder {
            address: first.address.clone(),
            ..earlier.holder(&nobodys)
        },
    ] {
        register.holds(nobodys.attempt, holder);
        assert_eq!(status(report(&first, &nobodys)).await, 204);
    }
    assert_eq!((first.reports().len(), second.reports().len()), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn nothing_unproved_is_passed_on() {
    let (register, first, second, call) = two().await;
    let guessed = format!("/carriers/simulated/status/{}/{}", call.attempt, "0".repeat(64));
    let body = json!({ "status": "ended", "cause": "busy", "sequence": 1 });
    assert_eq!(status(post(&first, &guessed).json(&body)).await, 204);
    // Nor is it with the proof for another purpose, or with an unreadable body.
    let media = call.media().replace('.', "/");
    let other = format!("/carriers/simulated/status/{media}");
    assert_eq!(status(post(&first, &other).json(&body)).await, 204);
    assert_eq!(status(report(&first, &call).body("{")).await, 400);
    assert_eq!(status(report(&first, &call).body("x".repeat(17 * 1024))).await, 413);
    assert!(second.reports().is_empty());
    // A request that its carrier must sign is rejected before any lookup.
    let before = register.lookups();
    let path = format!("/carriers/twilio/status/{}", call.status());
    let form = [("CallSid", "CA1"), ("CallStatus", "busy")];
    assert_eq!(status(form_of(post(&first, &path), &form)).await, 403);
    assert_eq!((register.lookups(), second.reports().len()), (before, 0));
}

#[tokio::test(start_paused = true)]
async fn strangers_cost_few_lookups_and_keep_no_signed_callback_waiting() {
    let (register, first, second, call) = two().await;
    // A failed lookup is not repeated at once, neither for an unknown id nor for a proof that does not match.
    let (unknown, body) = (
        Call::new(),
        json!({ "status": "ended", "cause": "busy", "sequence": 1 }),
    );
    let guessed = format!("/carriers/simulated/status/{}/{}", call.attempt, "0".repeat(64));
    for _ in 0..10 {
        assert_eq!(status(report(&first, &unknown)).await, 204);
        assert_eq!(status(post(&first, &guessed).json(&body)).await, 204);
    }
    assert_eq!(register.lookups(), 2);
    assert_eq!(status(report(&first, &call)).await, 204);
    assert_eq!(second.reports().len(), 1);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(status(report(&first, &unknown)).await, 204);
    assert_eq!(register.lookups(), 3);

    // More strangers than may look up at once, while the database is slow.
    register.is_slow(true);
    let signed = Call::new();
    second.takes(&signed);
    let strangers = (0..80).map(|_| {
        let request = report(&first, &Call::new());
        tokio::spawn(status(request))
    });
    let strangers: Vec<_> = strangers.collect();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let path = format!("status/{}", signed.status());
    let form = [("CallSid", "CA1"), ("CallStatus", "busy")];
    assert_eq!(status(twilio(&first, &path, &form)).await, 204);
    assert_eq!(second.reports().len(), 2);
    let mut refused = 0;
    for stranger in strangers {
        refused += usize::from(stranger.await.unwrap() == 503);
    }
    assert_eq!(refused, 80 - 64);
}

#[tokio::test(start_paused = true)]
async fn what_the_carrier_signed_holds_on_the_second_node_too() {
    let (_, first, second, call) = two().await;
    let form = [("CallSid", "CA1"), ("CallStatus", "busy")];
    for endpoint in ["status", "machine", "handed"] {
        let form = match endpoint {
            "machine" => [("CallSid", "CA1"), ("AnsweredBy", "human")],
            "handed" => [("CallSid", "CA1"), ("CallStatus", "in-progress")],
            _ => form,
        };
        let endpoint = format!("{endpoint}/{}", call.status());
        assert_eq!(status(twilio(&first, &endpoint, &form)).await, 204, "{endpoint}");
    }
    let told: Vec<CallProgress> = second
        .reports()
        .into_iter()
        .map(|(_, report)| report.progress)
        .collect();
    assert_eq!(told.len(), 3);
    assert_eq!(told[0], CallProgress::Ended(EndCause::Busy));
    assert_eq!(told[2], CallProgress::Transferred);
    assert!(first.reports().is_empty());
    // Instructions are returned unchanged.
    let (_, proof) = call
        .status()
        .split_once('/')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let endpoint = format!("transfer/{}/{proof}", call.media());
    let failed = [
        ("CallSid", "CA1"),
        ("CallStatus", "in-progress"),
        ("DialCallStatus", "busy"),
    ];
    let answer = twilio(&first, &endpoint, &failed).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers()["content-type"], "text/xml; charset=utf-8");
    let twiml = answer.text().await.unwrap();
    assert!(
        twiml.contains("<Stream") && twiml.contains(&call.attempt.to_string()),
        "{twiml}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_from_outside_that_is_announced_twice_is_one_call() {
    let (_, first, second, _) = two().await;
    let call = Call::new();
    second.takes_in("CA7", &call);
    let form = [
        ("CallSid", "CA7"),
        ("From", "+15550100010"),
        ("To", "+15559990001"),
        ("CallStatus", "ringing"),
    ];
    for site in [&second, &first] {
        let answer = twilio(site, "inbound", &form).send().await.unwrap();
        let twiml = answer.text().await.unwrap();
        assert!(twiml.contains(&call.attempt.to_string()), "{twiml}");
    }
    // A call from outside that nobody took is rejected by the node that received it.
    let other = [
        ("CallSid", "CA8"),
        ("From", "+15550100010"),
        ("To", "+15559990001"),
        ("CallStatus", "ringing"),
    ];
    let answer = twilio(&first, "inbound", &other)
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(answer.contains("<Reject"), "{answer}");
    // An event sent to the account's URL finds the call, too.
    let ended = [("CallSid", "CA7"), ("CallStatus", "completed")];
    assert_eq!(status(twilio(&first, "events", &ended)).await, 204);
    let reports = second.reports();
    assert_eq!(reports.last().unwrap().0, call.attempt, "{reports:?}");
    assert!(first.reports().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_end_that_overtakes_the_call_waits_for_it() {
    let (_, first, second, _) = two().await;
    let call = Call::new();
    let ended = [("CallSid", "CA9"), ("CallStatus", "completed")];
    let taken = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        second.takes_in("CA9", &call);
        let form = [("CallSid", "CA9"), ("From", "+15550100010"), ("To", "+15559990001")];
        status(twilio(&second, "inbound", &form)).await
    };
    let (told, taken) = tokio::join!(status(twilio(&first, "events", &ended)), taken);
    assert_eq!((told, taken), (204, 200));
    assert_eq!(second.reports().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_only_looks_like_a_node_is_refused() {
    let (_, first, second, call) = two().await;
    let path = format!("/carriers/simulated/status/{}", call.status());
    let body = r#"{"status":"ended","cause":"busy","sequence":1}"#;
    let sound = header(("POST", &path, body.as_bytes()));
    let (seconds, tag) = sound.split_once('.').unwrap();
    let now: i64 = seconds.parse().unwrap();
    for forged in [
        String::new(),
        "1".to_owned(),
        format!("{seconds}.{}", "0".repeat(64)),
        format!("{}.{tag}", now - 31),
        format!("{}.{tag}", now + 1),
        header(("GET", &path, body.as_bytes())),
        header(("POST", &path, b"")),
        header(("POST", "/carriers/simulated/status", body.as_bytes())),
    ] {
        let sent = post(&second, &path).header("ringback-peer", &forged).body(body);
        assert_eq!(status(sent).await, 403, "{forged}");
    }
    assert!(second.reports().is_empty());
    let sent = post(&second, &path).header("ringback-peer", &sound).body(body);
    assert_eq!((status(sent).await, second.reports().len()), (204, 1));
    // A node without peers rejects the header as well.
    let alone = Site::alone().await;
    let sent = post(&alone, &path).header("ringback-peer", &sound).body(body);
    assert_eq!(status(sent).await, 403);
    assert_eq!(status(post(&alone, &path).body(body)).await, 204);
    let end = format!("/peers/calls/{}/end", call.attempt);
    for site in [&first, &second, &alone] {
        assert_eq!(status(post(site, &end)).await, 403);
        assert_eq!(status(post(site, "/peers/speech/forget")).await, 403);
    }
    assert!(second.ended().is_empty() && second.forgot.load(Ordering::SeqCst) == 0);
    tokio::time::advance(Duration::from_secs(31)).await;
    let late = post(&second, &path).header("ringback-peer", &sound).body(body);
    assert_eq!(status(late).await, 403);
}

#[tokio::test(start_paused = true)]
async fn commands_reach_the_node_that_holds_the_call() {
    let (_, first, second, call) = two().await;
    assert!(first.peers.end(call.attempt).await);
    assert_eq!(second.ended(), [call.attempt]);
    assert!(!first.peers.end(AttemptId::new()).await);
    second.loses(&call);
    assert!(!first.peers.end(call.attempt).await, "it is not there any more");
    first.peers.forget_speech();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let forgot = [&first, &second].map(|site| site.forgot.load(Ordering::SeqCst));
    assert_eq!(forgot, [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_clients_command_reaches_the_node_that_holds_the_call_and_its_answer_comes_back() {
    let (register, first, second, call) = two().await;
    let text = "\u{1f600}".repeat(1_000);
    let kind = CommandKind::Say { text, interrupt: true };
    let by = "rb_key…".to_owned();
    let command = CallCommand { by, kind };
    assert_eq!(
        first.peers.command(call.attempt, &command).await,
        Ok(CommandAnswer::Done)
    );
    assert_eq!(second.commands(), std::slice::from_ref(&command));
    let refused = CommandAnswer::Refused("the call is `closing`".into());
    assert_eq!(first.peers.command(call.attempt, &command).await, Ok(refused));
    second.loses(&call);
    assert_eq!(
        first.peers.command(call.attempt, &command).await,
        Ok(CommandAnswer::NotHere)
    );
    let nobodys = first.peers.command(AttemptId::new(), &command).await;
    assert_eq!(nobodys, Err(NotTold::NoHolder));

    // A node of a version without this command.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let older = tokio::spawn(async move { axum::serve(listener, axum::Router::new()).await });
    let held = Call::new();
    let at = |address: &str| Holder {
        node: NodeId::new(),
        address: address.to_owned(),
        token: Some(held.token.clone()),
    };
    register.holds(held.attempt, at(&address));
    assert_eq!(
        first.peers.command(held.attempt, &command).await,
        Err(NotTold::OlderVersion)
    );
    older.abort();
    register.holds(held.attempt, at("http://127.0.0.1:9"));
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(first.peers.command(held.attempt, &command).await, Err(NotTold::Lost));
    // Only nodes may send commands.
    let path = format!("/peers/calls/{}/command", call.attempt);
    assert_eq!(status(post(&second, &path).json(&json!(command))).await, 403);
}
