//! The simulated carrier's client with an exchange that is unavailable, refuses, stalls or breaks off.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use carriers::simulated::SimulatedCarrier;
use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{Carrier, CarrierCallId, CarrierError, DialError, DialRequest, ListedCall},
    time::Timestamp,
};
use sim::exchange::{Exchange, ExchangeSettings, LogEvent};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Reaction of the stub to a request it has read.
#[derive(Clone)]
enum Manner {
    Answer(String),
    /// Writes this and resets the connection.
    BreakOff(&'static str),
    Hang,
}

struct Stub {
    url: String,
    requests: Arc<AtomicUsize>,
}

async fn stub(manner: Manner) -> Stub {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(treat(connection, manner.clone(), counted.clone()));
        }
    });
    Stub { url, requests }
}

async fn treat(mut connection: TcpStream, manner: Manner, counted: Arc<AtomicUsize>) {
    let mut request = Vec::new();
    let whole = |request: &[u8]| {
        let text = String::from_utf8_lossy(request).to_lowercase();
        let length = text
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.split("\r\n").next()?.parse::<usize>().ok())
            .unwrap_or(0);
        text.find("\r\n\r\n")
            .is_some_and(|head| request.len() >= head + 4 + length)
    };
    while !whole(&request) {
        if connection.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    counted.fetch_add(1, Ordering::SeqCst);
    match manner {
        Manner::Answer(text) => drop(connection.write_all(text.as_bytes()).await),
        Manner::BreakOff(text) => {
            let _ = connection.write_all(text.as_bytes()).await;
            connection.set_zero_linger().unwrap();
        }
        Manner::Hang => std::future::pending().await,
    }
}

fn answer(status: &str, headers: &str, body: &str) -> Manner {
    let length = body.len();
    Manner::Answer(format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}"
    ))
}

fn number() -> PhoneNumber {
    PhoneNumber::parse("+15551234561").unwrap()
}

fn request() -> DialRequest {
    DialRequest {
        attempt: AttemptId::new(),
        from: None,
        to: number(),
        ring_timeout: Duration::from_secs(30),
        status_token: "5".repeat(64),
        media_token: "a".repeat(64),
        detect_machine: false,
        hints: BTreeMap::new(),
        last_look: Default::default(),
    }
}

fn carrier(url: &str) -> SimulatedCarrier {
    SimulatedCarrier::new(url, "http://127.0.0.1:9").unwrap()
}

async fn dial(manner: Manner) -> (Result<CarrierCallId, DialError>, usize) {
    let stub = stub(manner).await;
    let result = carrier(&stub.url).dial(&request()).await;
    (result, stub.requests.load(Ordering::SeqCst))
}

#[tokio::test(start_paused = true)]
async fn what_certainly_was_not_dialed_is_told_from_what_nobody_knows() {
    type Check = fn(&DialError) -> bool;
    let cases: Vec<(Manner, Check)> = vec![
        (
            answer("400 Bad Request", "", r#"{"code":"invalid_number","message":"no"}"#),
            |e| *e == DialError::InvalidNumber("no".into()),
        ),
        (answer("400 Bad Request", "", r#"{"code":"x","message":"no"}"#), |e| {
            *e == DialError::Unclassified {
                kind: "400 x".into(),
                words: "no".into(),
            }
        }),
        (answer("404 Not Found", "", ""), |e| {
            *e == DialError::AccountRefused("404 Not Found".into())
        }),
        (answer("422 Unprocessable Entity", "", "<html>"), |e| {
            matches!(e, DialError::Unclassified { .. })
        }),
        (answer("401 Unauthorized", "", ""), |e| {
            matches!(e, DialError::AccountRefused(_))
        }),
        (answer("403 Forbidden", "", ""), |e| {
            matches!(e, DialError::AccountRefused(_))
        }),
        (answer("429 Too Many Requests", "retry-after: 7\r\n", ""), |e| {
            *e == DialError::Busy {
                retry_after: Some(Duration::from_secs(7)),
            }
        }),
        (answer("429 Too Many Requests", "retry-after: soon\r\n", ""), |e| {
            *e == DialError::Busy { retry_after: None }
        }),
        (answer("500 Internal Server Error", "", ""), |e| {
            matches!(e, DialError::Unknown(_))
        }),
        (answer("503 Service Unavailable", "retry-after: 7\r\n", ""), |e| {
            matches!(e, DialError::Unknown(_))
        }),
        (answer("307 Temporary Redirect", "location: /v2/calls\r\n", ""), |e| {
            matches!(e, DialError::Unknown(_))
        }),
        (answer("201 Created", "", "<html>"), |e| {
            matches!(e, DialError::Unknown(_))
        }),
        (answer("201 Created", "", r#"{"callId":""}"#), |e| {
            matches!(e, DialError::Unknown(_))
        }),
        (Manner::Answer("SSH-2.0-OpenSSH_9.2\r\n".into()), |e| {
            matches!(e, DialError::Unknown(_))
        }),
        (Manner::BreakOff(""), |e| matches!(e, DialError::Unknown(_))),
        (
            Manner::BreakOff("HTTP/1.1 201 Created\r\ncontent-length: 40\r\n\r\n{\"callId\":"),
            |e| matches!(e, DialError::Unknown(_)),
        ),
        (Manner::Hang, |e| *e == DialError::Unknown("operation timed out".into())),
    ];
    for (at, (manner, check)) in cases.into_iter().enumerate() {
        let (result, requests) = dial(manner).await;
        let error = result.unwrap_err();
        assert!(check(&error), "case {at}: {error:?}");
        assert_eq!(requests, 1, "case {at}: a dial is sent once");
        let text = error.to_string();
        assert!(
            !text.contains(&"5".repeat(64)) && !text.contains(&"a".repeat(64)),
            "{text}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_exchange_that_is_unavailable_was_certainly_not_dialed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let carrier = carrier(&url);
    assert!(matches!(carrier.dial(&request()).await, Err(DialError::Unreachable(_))));
    let call = CarrierCallId("CA1".into());
    assert!(matches!(
        carrier.hang_up(&call).await,
        Err(CarrierError::Unavailable(_))
    ));
    assert!(matches!(
        carrier.find_calls(&number(), Timestamp(0)).await,
        Err(CarrierError::Unavailable(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_none_is_not_taken_for_an_empty_one() {
    for (manner, unavailable) in [
        (answer("200 OK", "", r#"{"calls":7}"#), false),
        (answer("200 OK", "", ""), false),
        (answer("302 Found", "location: /\r\n", ""), false),
        (answer("502 Bad Gateway", "", r#"{"calls":[]}"#), true),
        (
            Manner::BreakOff("HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\n{\"calls\":["),
            true,
        ),
        (Manner::Hang, true),
    ] {
        let stub = stub(manner).await;
        let listed = carrier(&stub.url).find_calls(&number(), Timestamp(0)).await;
        match listed.unwrap_err() {
            CarrierError::Unavailable(_) => assert!(unavailable),
            CarrierError::Protocol(_) => assert!(!unavailable),
            other => panic!("a list is always there: {other}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_carrier_says_is_taken_only_where_it_can_be_kept() {
    let said = r#"{"code":"x","message":"no\u0000 \ncredit"}"#;
    let (refused, _) = dial(answer("400 Bad Request", "", said)).await;
    assert!(
        matches!(&refused, Err(DialError::Unclassified { words, .. }) if words == "no credit"),
        "{refused:?}"
    );
    let (long, _) = dial(answer(
        "201 Created",
        "",
        &format!(r#"{{"callId":["{}"]}}"#, "x".repeat(900_000)),
    ))
    .await;
    assert!(long.unwrap_err().to_string().len() < 300);
    for id in ["..", ".", "a b", "a\\u0000b", &"x".repeat(900_000)] {
        let (dialed, _) = dial(answer("201 Created", "", &format!(r#"{{"callId":"{id}"}}"#))).await;
        assert!(matches!(dialed, Err(DialError::Unknown(_))), "{dialed:?}");
        let fine = r#"{"callId":"CA1","to":"+1","live":true}"#;
        let list = format!(r#"{{"calls":[{{"callId":"{id}","to":"+1","live":true}},{fine}]}}"#);
        let stub = stub(answer("200 OK", "", &list)).await;
        let listed = carrier(&stub.url).find_calls(&number(), Timestamp(0)).await.unwrap();
        let ids: Vec<&str> = listed.iter().map(|call| call.call.0.as_str()).collect();
        assert_eq!(ids, ["CA1"]);
    }
    let stub = stub(answer("204 No Content", "", "")).await;
    for id in ["..", "."] {
        let ended = carrier(&stub.url).hang_up(&CarrierCallId(id.into())).await;
        assert_eq!(ended, Err(CarrierError::NotFound));
    }
    assert_eq!(
        stub.requests.load(Ordering::SeqCst),
        0,
        "the collection of calls is never deleted"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_is_placed_listed_and_ended() {
    let settings = ExchangeSettings::on_loopback();
    let exchange = Exchange::start(settings).await.unwrap();
    let carrier = carrier(&exchange.url());
    let request = request();
    let before = exchange_now();
    let call = carrier.dial(&request).await.unwrap();
    let LogEvent::Accepted { attempt, to, .. } = exchange.entries()[0].event.clone() else {
        panic!("not on record");
    };
    assert_eq!((attempt, to), (request.attempt.to_string(), "+15551234561".to_owned()));

    let listed = |live| {
        vec![ListedCall {
            call: call.clone(),
            attempt: Some(request.attempt),
            to: "+15551234561".into(),
            live,
        }]
    };
    assert_eq!(carrier.find_calls(&number(), before).await, Ok(listed(true)));
    carrier.hang_up(&call).await.unwrap();
    while exchange.live_calls() > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(carrier.hang_up(&call).await, Err(CarrierError::NotFound));
    assert_eq!(carrier.find_calls(&number(), before).await, Ok(listed(false)));
    let later = exchange_now().plus(Duration::from_secs(60));
    assert_eq!(carrier.find_calls(&number(), later).await, Ok(vec![]));
    let odd = CarrierCallId("../calls?x=1".into());
    assert_eq!(carrier.hang_up(&odd).await, Err(CarrierError::NotFound));
}

fn exchange_now() -> Timestamp {
    use domain::time::{Clock, SystemClock};
    SystemClock.now()
}

#[test]
fn an_address_that_is_none_is_refused_by_name() {
    for (exchange, public, named) in [
        ("127.0.0.1:9", "http://127.0.0.1:8", "exchange address `127.0.0.1:9`"),
        ("ftp://127.0.0.1", "http://127.0.0.1:8", "exchange address"),
        (
            "http://127.0.0.1:9",
            "ws://127.0.0.1:8",
            "public address `ws://127.0.0.1:8`",
        ),
        ("http://127.0.0.1:9", "http://127.0.0.1:8/?a=1", "public address"),
    ] {
        let error = SimulatedCarrier::new(exchange, public).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}
