//! Fetching documents: what is accepted from a server, and what is clearly refused.

use std::{io::Write, sync::Arc, time::Duration};

use flate2::{Compression, write::GzEncoder};
use integrations::documents::{
    DocumentSettings,
    fetch::{BODY_BYTES, FetchError, Fetcher},
};
use net::address_policy::{AddressPolicy, SystemResolver};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use support::{
    app::{TestApp, document_settings},
    client::Answer,
    pdf,
    web::{Web, ok, redirect, response},
};

const URL: &str = "/public/v1/knowledge-base/documents/url";

async fn app() -> TestApp {
    TestApp::with_documents(DocumentSettings {
        policy: AddressPolicy::everything(),
        ..document_settings()
    })
    .await
}

fn fetcher() -> Fetcher {
    Fetcher::new(AddressPolicy::everything(), Arc::new(SystemResolver)).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// `/N` redirects to `/N-1`; `/0` is the document.
fn chain(path: &str) -> Vec<u8> {
    match path.trim_start_matches('/').parse::<u32>() {
        Ok(0) => ok("text/plain", "the end"),
        Ok(left) => redirect(302, &format!("/{}", left - 1)),
        Err(_) => response("404 Not Found", "", ""),
    }
}

async fn add(app: &TestApp, url: &str) -> Answer {
    app.client.post(URL, json!({ "url": url, "name": "Doc" })).await
}

async fn text(app: &TestApp, made: &Answer) -> String {
    use domain::ports::store::KnowledgeStore;
    let id = made.text("/data/documentId").parse().unwrap();
    app.store.document_text(app.account.id, id).await.unwrap()
}

#[tokio::test]
async fn pages_pdfs_and_texts_become_documents() {
    let app = app().await;
    let web = Web::local(|path| match path {
        "/page" => ok(
            "text/html; charset=utf-8",
            "<title>Prices</title><p>A check-up costs 50 €.</p>",
        ),
        "/pdf" => ok("application/pdf", pdf::saying("Open from nine")),
        "/unnamed" => response("200 OK", "", pdf::saying("Open from nine")),
        "/latin" => ok("text/plain; charset=iso-8859-1", b"Gr\xfc\xdfe"),
        "/markdown" => ok("text/markdown", "# Prices\n\n* 50 €\n"),
        "/gzip" => response(
            "200 OK",
            "content-type: text/plain\r\ncontent-encoding: gzip\r\n",
            gzip(b"zipped words"),
        ),
        _ => response("404 Not Found", "", ""),
    })
    .await;
    for (path, words) in [
        ("/page", "Prices\n\nA check-up costs 50 €."),
        ("/pdf", "Open from nine"),
        ("/unnamed", "Open from nine"),
        ("/latin", "Grüße"),
        ("/markdown", "# Prices\n\n* 50 €"),
        ("/gzip", "zipped words"),
    ] {
        let url = web.url(path);
        let made = add(&app, &url).await.expect(201);
        assert_eq!(text(&app, &made).await, words, "{path}");
        let document = made.data();
        assert_eq!(document["type"], "url");
        assert_eq!(document["name"], "Doc");
        assert_eq!(
            document["details"],
            json!({ "url": url, "textLength": words.chars().count() })
        );
        let owner = json!({ "userId": app.account.id, "userEmail": app.account.email });
        assert_eq!(document["metadata"]["createdBy"], owner);
        assert!(document["metadata"]["createdAt"].as_str().unwrap().ends_with('Z'));
    }
}

#[tokio::test]
async fn what_cannot_be_taken_is_a_502_that_says_why() {
    let app = app().await;
    let web = Web::local(|path| match path {
        "/404" => response("404 Not Found", "content-type: text/html\r\n", "<p>gone</p>"),
        "/500" => response("500 Internal Server Error", "", "oops"),
        "/image" => ok("image/png", "\u{89}PNG"),
        "/binary" => response("200 OK", "", "\u{7f}ELF\0\0\0"),
        "/empty" => ok("text/plain", " \n"),
        "/script" => ok("text/html", "<script>draw()</script>"),
        "/broken" => ok("application/pdf", "%PDF-1.7 nothing of the kind"),
        "/brotli" => response("200 OK", "content-type: text/plain\r\ncontent-encoding: br\r\n", "??"),
        "/zip" => response(
            "200 OK",
            "content-type: text/plain\r\ncontent-encoding: gzip\r\n",
            "no gzip",
        ),
        "/short" => b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 50\r\n\r\nless".to_vec(),
        "/nonsense" => b"no http at all\r\n\r\n".to_vec(),
        "/nowhere" => response("302 Found", "", ""),
        "/ftp" => redirect(302, "ftp://example.com/x"),
        "/secret" => redirect(302, "http://user:password@example.com/x"),
        "/reset" => Vec::new(),
        _ => response("418 No", "", ""),
    })
    .await;
    for (path, wanted) in [
        ("/404", "answered 404 Not Found"),
        ("/500", "answered 500"),
        ("/image", "`image/png`"),
        ("/binary", "no content type"),
        ("/empty", "has no text"),
        ("/script", "has no text"),
        ("/broken", "PDF"),
        ("/brotli", "`br`"),
        ("/zip", "did not send the document"),
        ("/short", "did not send the document"),
        ("/nonsense", "did not send the document"),
        ("/nowhere", "without a target"),
        ("/ftp", "`ftp:`"),
        ("/secret", "user name or a password"),
        ("/reset", "did not send the document"),
    ] {
        let answer = add(&app, &web.url(path)).await.expect(502);
        assert_eq!(answer.code(), "upstream_failed", "{path}");
        let message = answer.text("/error/message");
        assert!(message.contains(wanted), "{path}: {message}");
        assert!(!message.contains("password@"), "{path}: {message}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let answer = add(&app, &format!("http://{closed}/")).await.expect(502);
    assert!(
        answer.text("/error/message").contains("cannot be reached"),
        "{}",
        answer.body
    );
    let listed = app.client.get("/public/v1/knowledge-base/documents").await.expect(200);
    assert_eq!(listed.data(), &json!([]), "nothing half-done is left");
}

#[tokio::test]
async fn five_redirects_are_followed_and_six_are_not() {
    let web = Web::local(chain).await;
    let fetched = fetcher().fetch(&web.url("/5")).await.unwrap();
    assert_eq!(fetched.body, "the end");
    assert_eq!(web.connections(), 6);
    let error = fetcher().fetch(&web.url("/6")).await.unwrap_err();
    assert!(error.to_string().contains("more than 5 times"), "{error}");
}

#[tokio::test]
async fn ten_mebibytes_are_taken_and_a_byte_more_is_not_however_it_is_packed() {
    let plain = |bytes: usize| ok("text/plain", vec![b'a'; bytes]);
    let packed = |bytes: usize| {
        let headers = "content-type: text/plain\r\ncontent-encoding: gzip\r\n";
        response("200 OK", headers, gzip(&vec![b'a'; bytes]))
    };
    let endless = |bytes: usize| {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n".to_vec();
        [head, vec![b'a'; bytes]].concat()
    };
    let web = Web::local(move |path| match path {
        "/plain/most" => plain(BODY_BYTES),
        "/plain/more" => plain(BODY_BYTES + 1),
        "/packed/most" => packed(BODY_BYTES),
        "/packed/more" => packed(BODY_BYTES + 1),
        "/bomb" => packed(400 * 1024 * 1024),
        _ => endless(BODY_BYTES + 1),
    })
    .await;
    for path in ["/plain/most", "/packed/most"] {
        assert_eq!(fetcher().fetch(&web.url(path)).await.unwrap().body.len(), BODY_BYTES);
    }
    for path in ["/plain/more", "/packed/more", "/bomb", "/endless"] {
        let error = fetcher().fetch(&web.url(path)).await.unwrap_err();
        assert!(error.to_string().contains("more than 10 MiB"), "{path}: {error}");
    }
}

#[track_caller]
fn is_too_slow(outcome: Result<impl std::fmt::Debug, FetchError>) {
    let error = outcome.unwrap_err();
    assert!(error.to_string().contains("within 10 s"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_left_after_ten_seconds() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let silent = tokio::spawn(async move {
        let _held = listener.accept().await.unwrap();
        std::future::pending::<()>().await;
    });
    let began = tokio::time::Instant::now();
    is_too_slow(fetcher().fetch(&url).await);
    assert!(began.elapsed() < Duration::from_secs(11));
    silent.abort();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_trickles_is_left_after_ten_seconds() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let trickling = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_exact(&mut [0; 16]).await.unwrap();
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n";
        stream.write_all(head).await.unwrap();
        while stream.write_all(b"a").await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    is_too_slow(fetcher().fetch(&url).await);
    trickling.abort();
}

#[tokio::test(start_paused = true)]
async fn slow_redirects_share_the_ten_seconds() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let slow = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.read_exact(&mut [0; 16]).await.unwrap();
            tokio::time::sleep(Duration::from_secs(4)).await;
            stream.write_all(&redirect(302, "/again")).await.unwrap();
        }
    });
    is_too_slow(fetcher().fetch(&url).await);
    slow.abort();
}

#[tokio::test(start_paused = true)]
async fn a_request_carries_nothing_of_ours() {
    let (sender, mut heads) = tokio::sync::mpsc::unbounded_channel();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        for hop in 0..2 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 8192];
            let count = stream.read(&mut head).await.unwrap();
            head.truncate(count);
            sender.send(String::from_utf8(head).unwrap()).unwrap();
            let cookie = "set-cookie: a=b\r\nlocation: /next?x=1\r\n";
            let answer = match hop {
                0 => response("302 Found", cookie, ""),
                _ => ok("text/plain", "words"),
            };
            stream.write_all(&answer).await.unwrap();
        }
    });
    fetcher()
        .fetch(&format!("http://{address}/first?key=1#part"))
        .await
        .unwrap();
    server.await.unwrap();
    let mut names = Vec::new();
    while let Some(head) = heads.recv().await {
        assert!(!head.contains("#part") && !head.contains("a=b"), "{head}");
        let lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        names.push(lines.map(|(name, _)| name.to_lowercase()).collect::<Vec<_>>());
    }
    assert_eq!(names.len(), 2);
    for mut names in names {
        names.sort();
        assert_eq!(names, ["accept", "accept-encoding", "host", "user-agent"]);
    }
}
