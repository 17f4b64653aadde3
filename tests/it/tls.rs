//! The service's own TLS: https without cost to other clients, certificates that change, unusable files.

use std::time::Duration;

use axum::{Router, routing::get};
use clap::Parser;
use domain::accounts;
use rest::server::ServerLimits;
use ringback::{
    app::App,
    cli::{Cli, Command},
};
use rustls::{ClientConnection, pki_types::ServerName};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep},
};

use support::{
    app::{Served, serve_router_in},
    certificate::{Pair, SelfSigned},
    program::Program,
};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Serves `well` over TLS.
async fn well(own: &SelfSigned, limits: ServerLimits) -> Served {
    let router = Router::new().route("/", get("well"));
    serve_router_in(Some(own.load().unwrap()), router, limits).await
}

/// Sends one request on a connection; returns what came within a moment.
async fn ask(stream: &mut (impl AsyncReadExt + AsyncWriteExt + Unpin)) -> String {
    stream.write_all(REQUEST).await.unwrap();
    let mut answer = [0; 1024];
    let length = stream.read(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

/// Reads until the server closes; a reset counts as closed.
async fn read_all(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    bytes
}

/// Returns a client's first message.
fn client_hello(pair: &Pair) -> Vec<u8> {
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(pair.connector().config().clone(), name).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    bytes
}

/// Starts a service that uses TLS.
async fn service(own: &SelfSigned, folder: &std::path::Path) -> App {
    let database = format!("sqlite://{}/ringback.db", folder.display());
    let [folder, certificate, key] =
        [folder, &own.certificate_path(), &own.key_path()].map(|p| p.display().to_string());
    let flags = ["ringback", "serve", "--listen", "127.0.0.1:0"];
    let files = ["--tls-cert", &certificate, "--tls-key", &key];
    let stores = ["--database-url", &database, "--data-dir", &folder];
    match Cli::try_parse_from(flags.iter().chain(&files).chain(&stores))
        .unwrap()
        .command
    {
        Command::Serve(config) => App::start(*config).await.unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_service_takes_requests_and_calls_the_simulated_phones() {
    let (own, folder) = (SelfSigned::new(), tempfile::tempdir().unwrap());
    let app = service(&own, folder.path()).await;
    assert_eq!(app.url, format!("https://{}", app.address));
    let account = accounts::create(app.store.as_ref(), "ada@example.com").await.unwrap();
    let api = support::client::Client::trusting(&own.pair, &app.url, &account.api_key);
    let agent = json!({ "name": "Ann", "conversationConfig": { "agent": { "prompt": { "prompt": "Ask." } } } });
    let agent = api
        .post("/public/v1/agents/create", agent)
        .await
        .expect(201)
        .text("/data/agentId");
    let call = json!({ "agentId": agent, "phoneNumber": "+15550100021", "dynamicVariables": { "persona": "busy" } });
    let call = api
        .post("/public/v1/calls", call)
        .await
        .expect(201)
        .text("/data/conversationId");
    // The busy result is reported to an endpoint of this service.
    let over = async {
        loop {
            let now = api
                .get(&format!("/public/v1/conversations/{call}"))
                .await
                .expect(200)
                .body;
            if now["data"]["status"] == "failed" {
                return now["data"]["errorMessage"].clone();
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    let error: Value = tokio::time::timeout(Duration::from_secs(20), over).await.unwrap();
    assert_eq!(error, "busy");
    app.stop(Duration::ZERO).await;
}

/// Returns the failed handshakes of the whole process that were refused and that were closed.
async fn failed(http: &reqwest::Client, url: &str) -> (u64, u64) {
    let answer = http.get(format!("{url}/metrics")).send().await.unwrap();
    let shown = answer.text().await.unwrap();
    let count = |why: &str| {
        let name = format!("ringback_tls_handshakes_failed_total{{why=\"{why}\"}} ");
        let line = shown.lines().find_map(|line| line.strip_prefix(&name));
        line.map_or(0, |count| count.parse().unwrap())
    };
    (count("refused"), count("closed"))
}

#[tokio::test]
async fn what_is_no_tls_is_closed_and_counted() {
    let (own, folder) = (SelfSigned::new(), tempfile::tempdir().unwrap());
    let app = service(&own, folder.path()).await;
    let http = own.pair.http().build().unwrap();
    // Other tests of the process are counted here, too.
    let before = failed(&http, &app.url).await;
    for said in [REQUEST, b"\x16\x03\x01\x00\x05\xff\xff\xff\xff\xff"] {
        let mut stream = TcpStream::connect(app.address).await.unwrap();
        stream.write_all(said).await.unwrap();
        let answer = read_all(&mut stream).await;
        // At most an alert.
        assert!(answer.is_empty() || answer[0] == 0x15, "{answer:?}");
    }
    // A client that wants HTTP/2 only.
    let mut h2 = (**own.pair.connector().config()).clone();
    h2.alpn_protocols = vec![b"h2".to_vec()];
    let stream = TcpStream::connect(app.address).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(h2));
    let refused = connector.connect("localhost".try_into().unwrap(), stream).await;
    assert!(refused.is_err());
    drop(TcpStream::connect(app.address).await.unwrap());
    let counted = async {
        loop {
            let now = failed(&http, &app.url).await;
            if now.0 >= before.0 + 3 && now.1 > before.1 {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), counted).await.unwrap();
    app.stop(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn who_is_silent_before_or_in_the_handshake_is_cut_and_delays_nobody() {
    let own = SelfSigned::new();
    let (address, _shutdown, _server) = well(&own, ServerLimits::default()).await;
    let began = Instant::now();
    let mut silent = Vec::new();
    for said in [Vec::new(), b"\x16\x03".to_vec(), client_hello(&own.pair)] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&said).await.unwrap();
        silent.push(stream);
    }
    sleep(Duration::from_secs(1)).await;
    let mut good = own.pair.connect(address).await.unwrap();
    assert!(ask(&mut good).await.starts_with("HTTP/1.1 200"));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    for stream in &mut silent {
        read_all(stream).await;
        let waited = began.elapsed();
        assert!((10..11).contains(&waited.as_secs()), "{waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_counts_before_its_handshake() {
    let own = SelfSigned::new();
    let limits = ServerLimits {
        connections_per_address: 2,
        loopback_is_exempt: false,
        ..ServerLimits::default()
    };
    let (address, _shutdown, _server) = well(&own, limits).await;
    let _silent = [
        TcpStream::connect(address).await.unwrap(),
        TcpStream::connect(address).await.unwrap(),
    ];
    let began = Instant::now();
    let mut third = TcpStream::connect(address).await.unwrap();
    assert_eq!(read_all(&mut third).await, b"");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_renewed_certificate_is_for_new_connections() {
    let own = SelfSigned::new();
    let limits = ServerLimits {
        header_timeout: Duration::from_secs(3600),
        ..ServerLimits::default()
    };
    let (address, _shutdown, _server) = well(&own, limits).await;
    let mut old = own.pair.connect(address).await.unwrap();
    let renewed = Pair::new();
    // The certificate is replaced before its key.
    own.write(&renewed.certificate_pem(), &own.pair.key_pem());
    sleep(Duration::from_secs(61)).await;
    assert!(own.pair.connect(address).await.is_ok(), "the one before it stays");
    own.write(&renewed.certificate_pem(), &renewed.key_pem());
    sleep(Duration::from_secs(61)).await;
    let mut new = renewed.connect(address).await.unwrap();
    assert!(ask(&mut new).await.starts_with("HTTP/1.1 200"));
    assert!(own.pair.connect(address).await.is_err());
    assert!(ask(&mut old).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_requests_and_for_no_handshake() {
    let own = SelfSigned::new();
    let slow = async || {
        sleep(Duration::from_secs(5)).await;
        "well"
    };
    let router = Router::new().route("/", get(slow));
    let tls = own.load().unwrap();
    let (address, shutdown, server) = serve_router_in(Some(tls), router, ServerLimits::default()).await;
    let mut silent = TcpStream::connect(address).await.unwrap();
    let mut asking = own.pair.connect(address).await.unwrap();
    asking.write_all(REQUEST).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let began = Instant::now();
    shutdown.send(()).unwrap();
    assert_eq!(read_all(&mut silent).await, b"");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let mut answer = String::new();
    // The connection ends with a close, not a cut.
    asking.read_to_string(&mut answer).await.unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with("well"),
        "{answer}"
    );
    server.await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 4);
}

#[tokio::test(start_paused = true)]
async fn who_takes_no_data_is_given_up() {
    let own = SelfSigned::new();
    let endless = async || {
        let piece = bytes::Bytes::from(vec![b'x'; 64 * 1024]);
        let pieces = futures_util::stream::repeat_with(move || Ok::<_, std::io::Error>(piece.clone()));
        axum::body::Body::from_stream(pieces)
    };
    let router = Router::new().route("/", get(endless));
    let tls = own.load().unwrap();
    let (address, shutdown, server) = serve_router_in(Some(tls), router, ServerLimits::default()).await;
    let mut stream = own.pair.connect(address).await.unwrap();
    let began = Instant::now();
    stream.write_all(REQUEST).await.unwrap();
    sleep(Duration::from_secs(25)).await;
    shutdown.send(()).unwrap();
    server.await.unwrap();
    // Sooner than the grace time of a shutdown ends.
    assert!((30..32).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
}

#[test]
fn keys_are_read_as_new_and_old_tools_write_them() {
    let own = SelfSigned::new();
    own.load().unwrap();
    own.write(&own.pair.certificate_pem(), &own.pair.sec1_pem());
    own.load().unwrap();
    // Other parts of a file are skipped, and a chain is accepted.
    let chain = format!(
        "# mine\n{}{}",
        own.pair.certificate_pem(),
        Pair::new().certificate_pem()
    );
    own.write(&chain, &(own.pair.certificate_pem() + &own.pair.key_pem()));
    own.load().unwrap();
}

#[test]
fn one_of_the_two_settings_alone_is_refused_at_the_start() {
    let program = Program::new();
    for (set, missing) in [
        ("RINGBACK_TLS_CERT", "RINGBACK_TLS_KEY"),
        ("RINGBACK_TLS_KEY", "RINGBACK_TLS_CERT"),
    ] {
        let ended = program.run_with(&["serve"], &[(set, "/etc/some.pem")]);
        let says = format!("{set} /etc/some.pem: {missing} is not set");
        assert!(ended.refusal().contains(&says), "{ended:?}");
    }
}

#[test]
fn files_that_cannot_serve_are_refused_at_the_start() {
    let (program, own, other) = (Program::new(), SelfSigned::new(), Pair::new());
    let (certificate, key) = (own.pair.certificate_pem(), own.pair.key_pem());
    let [certificate_path, key_path] = [own.certificate_path(), own.key_path()].map(|path| path.display().to_string());
    let settings = [
        ("RINGBACK_TLS_CERT", certificate_path.as_str()),
        ("RINGBACK_TLS_KEY", key_path.as_str()),
    ];
    let secret = key.lines().nth(1).unwrap();
    let first = "RINGBACK_TLS_CERT";
    let second = "RINGBACK_TLS_KEY";
    for (certificate, key, setting, says) in [
        ("", &*key, first, "there is no certificate in it"),
        (&*key, &*key, first, "there is no certificate in it"),
        (
            &*certificate.replace("\n-----END", "!\n-----END"),
            &*key,
            first,
            "it is damaged",
        ),
        (&*certificate.replace("MII", "AAA"), &*key, first, "cannot be read"),
        (&*certificate, "", second, "there is no private key in it"),
        (
            &*certificate,
            &*other.key_pem(),
            second,
            "is not the key of the first certificate",
        ),
        (&*certificate, &*key.replace('\n', ""), second, "it is damaged"),
        (
            &*certificate,
            &*key.replace("PRIVATE", "ENCRYPTED PRIVATE"),
            second,
            "openssl pkey",
        ),
        (&*certificate, &*key.replace("MIGH", "AAAA"), second, "cannot be used"),
        (&*certificate, &*"x".repeat(2 << 20), second, "larger than 1 MiB"),
    ] {
        own.write(certificate, key);
        let ended = program.run_with(&["serve"], &settings);
        let refusal = ended.refusal();
        let path = if setting == first { &certificate_path } else { &key_path };
        assert!(refusal.contains(&format!("{setting} {path}: ")), "{says}: {refusal}");
        assert!(refusal.contains(says), "{says}: {refusal}");
        assert!(!refusal.contains(&secret[30..50]) && refusal.len() < 500, "{refusal}");
    }
    std::fs::remove_file(own.key_path()).unwrap();
    let ended = program.run_with(&["serve"], &settings);
    let says = format!("{second} {key_path}: cannot read it");
    assert!(ended.refusal().contains(&says), "{ended:?}");
}
