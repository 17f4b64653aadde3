//! Addresses made to reach what only this machine can: none of them succeeds, however it is written,
//! redirected to or resolved.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use futures_util::future::BoxFuture;
use integrations::documents::DocumentSettings;
use net::address_policy::{AddressPolicy, Resolver};
use serde_json::json;

use support::{
    app::{TestApp, document_settings},
    client::Answer,
    web::{PUBLIC, Web, ok, redirect, response},
};

const URL: &str = "/public/v1/knowledge-base/documents/url";

/// This machine, in every notation, and other addresses that are not public.
const HOSTS: &[&str] = &[
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "2130706433",
    "2130706433.",
    "0x7f000001",
    "0X7F000001",
    "0x7f.0.0.1",
    "0x7F.0x0.0x0.0x1",
    "0x7f.1",
    "0177.0.0.1",
    "0177.0.0x0.1",
    "017700000001",
    "00000000177.0.0.1",
    "127.0.0.0x1",
    "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1",
    "%32130706433",
    "１２７.０.０.１",
    "127。0。0。1",
    "①②⑦.0.0.1",
    "127.255.255.254",
    "0",
    "0.0.0.0",
    "0x0",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000::0001]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::FFFF:7F00:1]",
    "[0:0:0:0:0:ffff:7f00:1]",
    "[::127.0.0.1]",
    "[::7f00:1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:FF9B::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2002:7f00:0001::1]",
    "[2001:0:7f00:1::]",
    "[2001::80ff:fffe]",
    "[fe80::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[ff02::1]",
    "10.0.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "0xa9fea9fe",
    "172.16.0.1",
    "192.168.0.1",
    "198.18.0.1",
    "192.0.2.1",
    "224.0.0.1",
    "255.255.255.255",
    "localhost",
    "LocalHost",
    "localhost.",
    "private.test",
    "PRIVATE.Test",
    "priv%61te.test",
    "mixed.test",
    "mapped.test",
    "nat64.test",
    "six.test",
];

/// Answers of a name server in turn; the last one is repeated.
#[derive(Default)]
struct FakeNames {
    answers: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
}

impl FakeNames {
    fn answering(self, name: &str, answers: &[&[&str]]) -> Self {
        let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        let answers = answers.iter().map(parse).collect();
        self.answers.lock().unwrap().insert(name.to_owned(), answers);
        self
    }
}

impl Resolver for FakeNames {
    fn resolve(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut answers = self.answers.lock().unwrap();
        let found = answers.get_mut(host.trim_end_matches('.')).map(|answers| {
            if answers.len() > 1 {
                answers.remove(0)
            } else {
                answers[0].clone()
            }
        });
        Box::pin(async move { found.ok_or_else(|| io::Error::other("no such name")) })
    }
}

fn names() -> FakeNames {
    FakeNames::default()
        .answering("localhost", &[&["127.0.0.1", "::1"]])
        .answering("private.test", &[&["127.0.0.1"]])
        .answering("mixed.test", &[&["10.0.0.1", "127.0.0.1", "::1"]])
        .answering("mapped.test", &[&["::ffff:127.0.0.1"]])
        .answering("nat64.test", &[&["64:ff9b::7f00:1"]])
        .answering("six.test", &[&["::1"]])
}

async fn app(names: FakeNames) -> TestApp {
    TestApp::with_documents(DocumentSettings {
        policy: AddressPolicy::public_only().also(PUBLIC),
        resolver: Arc::new(names),
        ..document_settings()
    })
    .await
}

async fn add(app: &TestApp, url: &str) -> Answer {
    app.client.post(URL, json!({ "url": url, "name": "Doc" })).await
}

#[tokio::test]
async fn a_private_name_is_answered_like_one_that_there_is_not() {
    let app = app(names().answering("empty.test", &[&[]])).await;
    let mut told = Vec::new();
    for name in ["private.test", "six.test", "nothing.test", "empty.test"] {
        let answer = add(&app, &format!("http://{name}/")).await.expect(400);
        told.push((
            answer.code().to_owned(),
            answer.body["error"]["fields"].to_string().replace(name, "NAME"),
        ));
    }
    assert!(told[0].1.contains("no public address"), "{told:?}");
    assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
}

/// Starts a server on every address of this machine; its port is taken on the public one too.
async fn private() -> Web {
    let secret = |_: &str| ok("text/plain", "what only this machine may read");
    let everywhere: SocketAddr = "[::]:0".parse().unwrap();
    if tokio::net::TcpListener::bind(everywhere).await.is_ok() {
        Web::start(everywhere, secret).await
    } else {
        Web::start(([0, 0, 0, 0], 0).into(), secret).await
    }
}

/// Starts a public server: `/STATUS/TARGET` redirects to the target, in hex.
async fn public() -> Web {
    Web::start(SocketAddr::new(PUBLIC, 0), |path| {
        let parts: Vec<&str> = path.trim_start_matches('/').splitn(2, '/').collect();
        match parts[..] {
            [status, target] => redirect(status.parse().unwrap(), &unhex(target)),
            _ => ok("text/plain", "public words"),
        }
    })
    .await
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> String {
    let bytes = (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap());
    String::from_utf8(bytes.collect()).unwrap()
}

/// Returns every host in every way to reach it.
fn attacks(public: &Web, port: u16) -> Vec<String> {
    let mut urls = Vec::new();
    for host in HOSTS {
        let target = format!("http://{host}:{port}/");
        let by = |status: u16, target: &str| public.url(&format!("/{status}/{}", hex(target)));
        urls.push(by(302, &target));
        urls.push(by(301, &format!("//{host}:{port}/")));
        urls.push(by(307, &by(308, &by(303, &target))));
        urls.push(by(302, &format!("HTTP:\\\\{host}:{port}\\")));
        urls.push(target);
        urls.push(format!("https://{host}:{port}/"));
        urls.push(format!("hTTp:/{host}:{port}/x/../y?z#w"));
    }
    urls
}

#[tokio::test]
async fn hundreds_of_hostile_addresses_reach_nothing_private() {
    let app = app(names()).await;
    let (private, public) = (private().await, public().await);
    let urls = attacks(&public, private.address.port());
    assert!(urls.len() >= 300, "{}", urls.len());
    for url in &urls {
        let answer = add(&app, url).await;
        assert_eq!(answer.status, 400, "{url}: {}", answer.body);
        assert_eq!(answer.fields(), [("url", "address_not_allowed")], "{url}");
        let message = answer.text("/error/message");
        assert!(message.contains("RINGBACK_ALLOW_PRIVATE_URLS"), "{url}: {message}");
    }
    assert_eq!(private.connections(), 0);
    let listed = app.client.get("/public/v1/knowledge-base/documents").await.expect(200);
    assert_eq!(listed.data(), &json!([]));
    // The response does not disclose the private name server's answers.
    let told = add(&app, "http://mixed.test/").await.text("/error/message");
    assert!(!told.contains("10.0.0.1") && told.contains("mixed.test"), "{told}");
    // Public addresses are accepted by the same endpoint.
    add(&app, &public.url("/")).await.expect(201);
}

#[tokio::test]
async fn the_private_server_of_these_tests_can_be_reached() {
    let private = private().await;
    let app = TestApp::with_documents(DocumentSettings {
        policy: AddressPolicy::everything(),
        resolver: Arc::new(names()),
        ..document_settings()
    })
    .await;
    for host in ["127.0.0.1", "0x7f.1", "private.test"] {
        let url = format!("http://{host}:{}/", private.address.port());
        add(&app, &url).await.expect(201);
    }
    assert_eq!(private.connections(), 3);
}

#[tokio::test]
async fn other_schemes_and_passwords_are_refused() {
    let app = app(names()).await;
    let (private, public) = (private().await, public().await);
    let port = private.address.port();
    for url in [
        format!("ftp://127.0.0.1:{port}/"),
        format!("gopher://127.0.0.1:{port}/_GET"),
        "file:///etc/passwd".to_owned(),
        "data:text/plain,x".to_owned(),
        "javascript:alert(1)".to_owned(),
        format!("ws://127.0.0.1:{port}/"),
        format!("http://user@127.0.0.1:{port}/"),
        format!("http://user:secret@127.0.0.1:{port}/"),
        format!("http://example.com:80@127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}@example.com/"),
        "http://".to_owned(),
        "http://[::1".to_owned(),
        "http://[fe80::1%25lo]/".to_owned(),
        "http://a b/".to_owned(),
        "http://256.0.0.1/".to_owned(),
        "http://1.2.3.4.5/".to_owned(),
        "127.0.0.1".to_owned(),
        "/etc/passwd".to_owned(),
        String::new(),
        "http://127.0.0.1:99999/".to_owned(),
        format!("http://example.com/{}", "x".repeat(3_000)),
    ] {
        let answer = add(&app, &url).await.expect(400);
        assert_eq!(answer.fields(), [("url", "invalid_value")], "{url:.80}");
        assert!(!answer.body.to_string().contains("secret"), "{}", answer.body);
        if url.is_empty() {
            continue;
        }
        let redirected = add(&app, &public.url(&format!("/302/{}", hex(&url)))).await;
        assert!(
            [400, 502].contains(&redirected.status),
            "{url:.80}: {}",
            redirected.body
        );
    }
    assert_eq!(private.connections(), 0);
}

/// Starts a public server and a private one on the same port.
async fn twins(answer: fn(&str) -> Vec<u8>) -> (Web, Web) {
    loop {
        let public = Web::start(SocketAddr::new(PUBLIC, 0), answer).await;
        let twin = SocketAddr::from(([127, 0, 0, 1], public.address.port()));
        // Another test may have the port.
        if std::net::TcpListener::bind(twin).is_ok() {
            let private = Web::start(twin, |_| ok("text/plain", "private words")).await;
            return (public, private);
        }
    }
}

#[tokio::test]
async fn a_name_that_turns_private_between_two_hops_is_refused_at_the_second() {
    let (public, private) = twins(|path| match path {
        "/" => redirect(302, "/again"),
        _ => response("200 OK", "content-type: text/plain\r\n", "public words"),
    })
    .await;
    let names = FakeNames::default().answering("turns.test", &[&["127.0.0.2"], &["127.0.0.1"]]);
    let app = app(names).await;
    let url = format!("http://turns.test:{}/", public.address.port());
    let answer = add(&app, &url).await.expect(400);
    assert_eq!(answer.fields(), [("url", "address_not_allowed")]);
    assert_eq!((public.connections(), private.connections()), (1, 0));
}

#[tokio::test]
async fn a_name_is_asked_for_once_a_connection_so_that_a_second_answer_gains_nothing() {
    let (public, private) = twins(|_| ok("text/plain", "public words")).await;
    let names = FakeNames::default().answering("rebinds.test", &[&["127.0.0.2"], &["127.0.0.1"]]);
    let app = app(names).await;
    let url = format!("http://rebinds.test:{}/", public.address.port());
    add(&app, &url).await.expect(201);
    add(&app, &url).await.expect(400);
    assert_eq!((public.connections(), private.connections()), (1, 0));
}

#[tokio::test]
async fn of_mixed_answers_only_the_public_ones_are_tried() {
    let (public, private) = twins(|_| ok("text/plain", "public words")).await;
    let names = FakeNames::default()
        .answering("first.test", &[&["127.0.0.1", "::1", "127.0.0.2"]])
        .answering("last.test", &[&["127.0.0.2", "127.0.0.1"]]);
    let app = app(names).await;
    for name in ["first.test", "last.test"] {
        let url = format!("http://{name}:{}/", public.address.port());
        add(&app, &url).await.expect(201);
    }
    assert_eq!((public.connections(), private.connections()), (2, 0));
}

#[tokio::test]
async fn a_name_that_nobody_knows_reads_like_one_inside() {
    let app = app(names().answering("inside.test", &[&["10.0.0.1"]])).await;
    let mut answers = Vec::new();
    for name in ["nowhere.test", "inside.test"] {
        let answer = add(&app, &format!("http://{name}/")).await.expect(400);
        answers.push(answer.body.to_string().replace(name, "NAME"));
    }
    // Otherwise a client could find out which names exist inside.
    assert_eq!(answers[0], answers[1]);
}
