//! Tests of the accept loop: slow, greedy and vanishing clients harm nobody, and a shutdown waits for active requests.

use std::time::Duration;

use axum::{
    Router,
    extract::{ConnectInfo, WebSocketUpgrade},
    response::Response,
    routing::{any, get},
};
use futures_util::{SinkExt, StreamExt};
use rest::server::ServerLimits;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep},
};
use tokio_tungstenite::tungstenite::Message;

use support::app::{TestApp, serve_router};

/// Reads until the server closes; a reset counts as closed.
async fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test(start_paused = true)]
async fn headers_that_trickle_in_end_at_the_limit() {
    let app = TestApp::start().await;
    let mut stream = TcpStream::connect(app.address).await.unwrap();
    let started = Instant::now();
    stream.write_all(b"GET /public/health HTTP/1.1\r\n").await.unwrap();
    let (mut reading, mut writing) = stream.split();
    let trickle = async {
        loop {
            sleep(Duration::from_secs(1)).await;
            if writing.write_all(b"x-a: b\r\n").await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    let mut rest = Vec::new();
    tokio::select! {
        () = trickle => {}
        _ = reading.read_to_end(&mut rest) => {}
    }
    let waited = started.elapsed();
    assert!(
        (Duration::from_secs(10)..Duration::from_secs(12)).contains(&waited),
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed() {
    let app = TestApp::start().await;
    let mut stream = TcpStream::connect(app.address).await.unwrap();
    stream
        .write_all(b"GET /public/health HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    let started = Instant::now();
    let answer = read_all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(started.elapsed() < Duration::from_secs(12));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_is_answered_and_cut() {
    let app = TestApp::start().await;
    let mut stream = TcpStream::connect(app.address).await.unwrap();
    let head = format!(
        "POST /public/v1/contacts HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\ncontent-type: application/json\r\n\
         content-length: 100\r\n\r\n{{\"name\":",
        app.client.key
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = read_all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(answer.contains("the body stalled"), "{answer}");
}

/// Sends a body of `size` bytes in `pieces`, one each `every`. Returns the response and its time.
async fn trickled(address: std::net::SocketAddr, path: &str, every: Duration, pieces: &[&[u8]]) -> (String, Duration) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let started = Instant::now();
    let size: usize = pieces.iter().map(|piece| piece.len()).sum();
    let head = format!("POST {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {size}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.split();
    let sending = async {
        for piece in pieces {
            sleep(every).await;
            if writing.write_all(piece).await.is_err() {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    let mut answer = Vec::new();
    tokio::select! {
        () = sending => {}
        _ = reading.read_to_end(&mut answer) => {}
    }
    (String::from_utf8_lossy(&answer).into_owned(), started.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_body_that_trickles_in_is_given_up() {
    let read = async |body: bytes::Bytes| body.len().to_string();
    let router = Router::new()
        .route("/public/a", axum::routing::post(read))
        .route("/carriers/a", axum::routing::post(read));
    let (address, _shutdown, _server) = serve_router(router, ServerLimits::default()).await;
    // Single bytes at long intervals never reach the idle limit.
    for path in ["/public/a", "/carriers/a"] {
        let (answer, took) = trickled(address, path, Duration::from_secs(4), &[&b"x"[..]; 100]).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{path}: {answer}");
        assert!((10..12).contains(&took.as_secs()), "{path}: {took:?}");
    }
    // After ten seconds, a large body is still read if its rate is high enough, but a callback is not.
    let (answer, took) = trickled(address, "/public/a", Duration::from_secs(1), &[&[b'x'; 1_500][..]; 30]).await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with("45000"),
        "{answer}"
    );
    assert_eq!(took.as_secs(), 30);
    let (answer, took) = trickled(address, "/public/a", Duration::from_secs(1), &[&[b'x'; 700][..]; 30]).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!((10..22).contains(&took.as_secs()), "{took:?}");
    let (answer, took) = trickled(
        address,
        "/carriers/a",
        Duration::from_secs(1),
        &[&[b'x'; 1_500][..]; 30],
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!((10..12).contains(&took.as_secs()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn headers_beyond_the_limits_are_refused() {
    let app = TestApp::start().await;
    let many: String = (0..70).map(|n| format!("x-{n}: y\r\n")).collect();
    for headers in [many, format!("x-long: {}\r\n", "y".repeat(40_000))] {
        let mut stream = TcpStream::connect(app.address).await.unwrap();
        let request = format!("GET /public/health HTTP/1.1\r\nhost: a\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = read_all(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_address_cannot_take_every_connection() {
    let app = TestApp::with_limits(ServerLimits {
        connections_per_address: 2,
        loopback_is_exempt: false,
        ..ServerLimits::default()
    })
    .await;
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(app.address).await.unwrap();
        stream
            .write_all(b"GET /public/health HTTP/1.1\r\nhost: a\r\n\r\n")
            .await
            .unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).await.unwrap();
        assert_eq!(&start, b"HTTP/1.1 200");
        open.push(stream);
    }
    let mut third = TcpStream::connect(app.address).await.unwrap();
    assert_eq!(read_all(&mut third).await, "");
    drop(open);
    sleep(Duration::from_millis(10)).await;
    app.client.get("/public/health").await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn beyond_the_cap_a_connection_waits_for_room() {
    let app = TestApp::with_limits(ServerLimits {
        connections: 1,
        ..ServerLimits::default()
    })
    .await;
    let silent = TcpStream::connect(app.address).await.unwrap();
    sleep(Duration::from_millis(10)).await;
    let started = Instant::now();
    app.client.get("/public/health").await.expect(200);
    assert!(started.elapsed() >= Duration::from_secs(9), "{:?}", started.elapsed());
    drop(silent);
}

/// Reads a response, which is small and comes in one piece.
async fn read_answer(stream: &mut TcpStream) -> String {
    let mut answer = [0; 1024];
    let length = stream.read(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

const ASK: &[u8] = b"GET /name HTTP/1.1\r\nhost: a\r\n\r\n";

#[tokio::test(start_paused = true)]
async fn a_kept_connection_answers_after_a_silence() {
    let router = Router::new().route(
        "/name",
        get(async || "it is I").post(async |body: String| format!("it is {body}")),
    );
    let (address, shutdown, server) = serve_router(router, ServerLimits::default()).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    // Under a paused clock, pieces would wait for the acknowledgement of earlier ones.
    stream.set_nodelay(true).unwrap();
    for silence in [0, 500, 1_500, 9_000, 9_900] {
        sleep(Duration::from_millis(silence)).await;
        stream.write_all(ASK).await.unwrap();
        let answer = read_answer(&mut stream).await;
        assert!(answer.ends_with("it is I"), "{answer}");
    }
    // The part of the next request that came with the last one is kept, even after a silence.
    for (begun, rest) in [(1, 1_100), (20, 5_000), (ASK.len() - 1, 8_000)] {
        stream.write_all(&[ASK, &ASK[..begun]].concat()).await.unwrap();
        let answer = read_answer(&mut stream).await;
        assert!(answer.ends_with("it is I"), "{answer}");
        sleep(Duration::from_millis(rest)).await;
        stream.write_all(&ASK[begun..]).await.unwrap();
        let answer = read_answer(&mut stream).await;
        assert!(answer.ends_with("it is I"), "{answer}");
    }
    // Its pieces may come slowly, whether or not the connection was silent before.
    for silence in [0, 5_000] {
        sleep(Duration::from_millis(silence)).await;
        for piece in [
            &b"P"[..],
            b"OST /name HTT",
            b"P/1.1\r\nhost: a\r\ncontent-length: 2\r\n",
            b"\r\n",
            b"m",
            b"e",
        ] {
            stream.write_all(piece).await.unwrap();
            sleep(Duration::from_millis(1_400)).await;
        }
        let answer = read_answer(&mut stream).await;
        assert!(answer.ends_with("it is me"), "{answer}");
    }
    sleep(Duration::from_secs(5)).await;
    let began = Instant::now();
    shutdown.send(()).unwrap();
    server.await.unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "silence is nothing to wait for"
    );
    assert_eq!(read_all(&mut stream).await, "");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_request_is_refused_after_a_silence_as_before() {
    let router = Router::new().route("/name", get(async || "it is I"));
    let (address, _shutdown, _server) = serve_router(router, ServerLimits::default()).await;
    for silence in [0, 1_400] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(ASK).await.unwrap();
        read_answer(&mut stream).await;
        sleep(Duration::from_millis(silence)).await;
        let began = Instant::now();
        stream.write_all(b"SSH-2.0-x\r\n").await.unwrap();
        let answer = read_all(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(began.elapsed() < Duration::from_secs(1), "it was clear at once");
    }
}

/// A partial request that came with the previous one has no longer time limit than any other.
#[tokio::test(start_paused = true)]
async fn a_begun_request_does_not_hold_its_connection() {
    let router = Router::new().route("/name", get(async || "it is I"));
    let (address, _shutdown, _server) = serve_router(router, ServerLimits::default()).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&[ASK, &ASK[..20]].concat()).await.unwrap();
    read_answer(&mut stream).await;
    let began = Instant::now();
    read_all(&mut stream).await;
    let lasted = began.elapsed();
    assert!((10..=11).contains(&lasted.as_secs()), "{lasted:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_may_pause() {
    let slowly = async || {
        let pieces = futures_util::stream::iter(["a", "b", "c"]).then(async |piece| {
            sleep(Duration::from_secs(20)).await;
            Ok::<_, std::convert::Infallible>(piece)
        });
        axum::body::Body::from_stream(pieces)
    };
    let router = Router::new().route("/name", get(slowly));
    let (address, _shutdown, _server) = serve_router(router, ServerLimits::default()).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(ASK).await.unwrap();
    let answer = read_all(&mut stream).await;
    assert!(answer.ends_with("1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n"), "{answer}");
}

async fn echo(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async |mut socket| {
        while let Some(Ok(message)) = socket.recv().await {
            if socket.send(message).await.is_err() {
                return;
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn websockets_upgrade_and_outlive_the_header_timeout() {
    let (address, _shutdown, _server) =
        serve_router(Router::new().route("/ws", any(echo)), ServerLimits::default()).await;
    let (mut socket, _) = tokio_tungstenite::connect_async(format!("ws://{address}/ws"))
        .await
        .unwrap();
    for text in ["one", "two"] {
        sleep(Duration::from_secs(60)).await;
        socket.send(Message::text(text)).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::text(text));
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_requests_in_progress_and_takes_no_new_one() {
    let slow = async |ConnectInfo(peer): ConnectInfo<std::net::SocketAddr>| {
        sleep(Duration::from_secs(5)).await;
        peer.ip().to_string()
    };
    let router = Router::new().route("/slow", get(slow));
    let (address, shutdown, server) = serve_router(router, ServerLimits::default()).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    sleep(Duration::from_secs(1)).await;
    let started = Instant::now();
    shutdown.send(()).unwrap();
    let answer = read_all(&mut stream).await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with("127.0.0.1"),
        "{answer}"
    );
    server.await.unwrap();
    assert_eq!(
        started.elapsed().as_secs(),
        4,
        "the connection is not kept for another request"
    );
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_never_ends_is_cut_at_the_end_of_the_grace_time() {
    let router = Router::new().route("/never", get(std::future::pending::<()>));
    let (address, shutdown, server) = serve_router(router, ServerLimits::default()).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET /never HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    sleep(Duration::from_secs(1)).await;
    let started = Instant::now();
    shutdown.send(()).unwrap();
    server.await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_no_data_is_given_up() {
    let (ended, end) = tokio::sync::oneshot::channel::<()>();
    let ended = std::sync::Arc::new(std::sync::Mutex::new(Some(ended)));
    let endless = async move || {
        let guard = ended.lock().unwrap().take();
        let piece = bytes::Bytes::from(vec![b'x'; 64 * 1024]);
        let pieces = futures_util::stream::unfold(guard, move |guard| {
            let piece = piece.clone();
            async move { Some((Ok::<_, std::io::Error>(piece), guard)) }
        });
        axum::body::Body::from_stream(pieces)
    };
    let router = Router::new().route("/endless", get(endless));
    let (address, _shutdown, _server) = serve_router(router, ServerLimits::default()).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET /endless HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    let started = Instant::now();
    assert!(end.await.is_err());
    assert!(
        (30..32).contains(&started.elapsed().as_secs()),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_all_before_it_reads_gets_its_refusal() {
    let app = TestApp::start().await;
    let mut stream = TcpStream::connect(app.address).await.unwrap();
    let size = 12 * 1024 * 1024;
    let head = format!(
        "POST /public/v1/contacts HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\ncontent-type: application/json\r\n\
         content-length: {size}\r\n\r\n",
        app.client.key
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b'x'; size]).await.unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 413");
}
