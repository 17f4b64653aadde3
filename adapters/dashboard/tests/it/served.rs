//! Tests of what a browser gets at which address.

use std::sync::Arc;

use axum::{
    Router,
    routing::{get, post},
};
use dashboard::{Assets, Dashboard, EMBEDDED, File};
use reqwest::{Response, header::HeaderMap};
use rest::{Site, server::ServerLimits};
use testkit::memory_store::MemoryStore;
use tokio::sync::oneshot;

use domain::time::TokioClock;
use support::app::{PUBLIC_URL, START, new_account, serve_router};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; \
                      connect-src 'self'; font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

const ASSETS: Assets = Assets {
    base: "/dashboard/0123/",
    index: File {
        path: "index.html",
        content_type: "text/html; charset=utf-8",
        tag: "aa",
        plain: b"the page",
        brotli: Some(b"the page, smaller"),
    },
    files: &[
        File {
            path: "a/b.js",
            content_type: "text/javascript; charset=utf-8",
            tag: "bb",
            plain: b"plain",
            brotli: Some(b"br"),
        },
        File {
            path: "c.png",
            content_type: "image/png",
            tag: "cc",
            plain: b"png",
            brotli: None,
        },
    ],
};

/// A service with this dashboard.
struct Served {
    base: String,
    store: Arc<MemoryStore>,
    http: reqwest::Client,
    _shutdown: oneshot::Sender<()>,
}

impl Served {
    async fn start(assets: Assets) -> Self {
        let store = Arc::new(MemoryStore::new(Arc::new(TokioClock::starting_at(START))));
        let routes = Router::new()
            .route("/known", get("known"))
            .route("/posts", post("posted"))
            .fallback(async || (axum::http::StatusCode::NOT_FOUND, "as before"));
        let dashboard = Dashboard::new(store.clone(), Site::new(PUBLIC_URL, false), assets);
        let (address, shutdown, _) = serve_router(dashboard.with(routes), ServerLimits::default()).await;
        Self {
            base: format!("http://{address}"),
            store,
            http: net::http_client::builder().no_gzip().build().unwrap(),
            _shutdown: shutdown,
        }
    }

    async fn with_account() -> Self {
        let served = Self::start(ASSETS).await;
        new_account(&*served.store, "ada@example.com").await;
        served
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> (u16, HeaderMap, String) {
        let request = self.http.get(format!("{}{path}", self.base));
        let request = headers
            .iter()
            .fold(request, |request, (name, value)| request.header(*name, *value));
        read(request.send().await.unwrap()).await
    }

    /// Navigates to a path as a browser does.
    async fn open(&self, path: &str) -> (u16, HeaderMap, String) {
        let accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        self.get(path, &[("accept", accept)]).await
    }
}

async fn read(response: Response) -> (u16, HeaderMap, String) {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    (status, headers, response.text().await.unwrap())
}

fn is_guarded(headers: &HeaderMap) {
    assert_eq!(headers["content-security-policy"], POLICY);
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(headers["referrer-policy"], "no-referrer");
    assert_eq!(headers["cross-origin-opener-policy"], "same-origin");
}

#[tokio::test(start_paused = true)]
async fn the_page_is_checked_each_time_and_files_are_kept() {
    let served = Served::with_account().await;
    let (status, headers, text) = served.open("/").await;
    assert_eq!((status, &*text), (200, "the page"));
    assert_eq!(headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(headers["cache-control"], "no-cache");
    is_guarded(&headers);
    let known = headers["etag"].to_str().unwrap();
    let (status, headers, text) = served.get("/", &[("if-none-match", known)]).await;
    assert_eq!((status, &*text), (304, ""));
    is_guarded(&headers);
    let (status, headers, text) = served.get("/dashboard/0123/a/b.js", &[]).await;
    assert_eq!((status, &*text), (200, "plain"));
    assert_eq!(headers["content-type"], "text/javascript; charset=utf-8");
    assert_eq!(headers["cache-control"], "public, max-age=31536000, immutable");
    assert_eq!(headers["vary"], "accept-encoding");
    assert!(!headers.contains_key("content-encoding"));
    is_guarded(&headers);
}

#[tokio::test(start_paused = true)]
async fn a_file_is_compressed_for_clients_that_take_it() {
    let served = Served::with_account().await;
    for (accepted, compressed) in [
        ("gzip, deflate, br, zstd", true),
        ("BR;q=0.5", true),
        ("br;q=0", false),
        ("br; q=0.000, gzip", false),
        ("gzip, brotli", false),
        ("*", false),
    ] {
        let (_, headers, text) = served
            .get("/dashboard/0123/a/b.js", &[("accept-encoding", accepted)])
            .await;
        assert_eq!(headers.contains_key("content-encoding"), compressed, "{accepted}");
        assert_eq!(text, if compressed { "br" } else { "plain" }, "{accepted}");
    }
    let br = [("accept-encoding", "br")];
    let (_, headers, _) = served.get("/dashboard/0123/c.png", &br).await;
    assert!(!headers.contains_key("content-encoding"));
    // The two forms are told apart by caches.
    let (_, plain, _) = served.get("/", &[]).await;
    let (_, compressed, _) = served.get("/", &br).await;
    assert_ne!(plain["etag"], compressed["etag"]);
}

#[tokio::test(start_paused = true)]
async fn other_versions_and_unknown_files_are_not_there_and_not_kept() {
    let served = Served::with_account().await;
    for path in [
        "/dashboard/0124/a/b.js",
        "/dashboard/0123/a/b",
        "/dashboard/0123/index.html",
        "/dashboard/0123/a/b.js/",
        "/dashboard/0123/a/..%2Fc.png",
    ] {
        let (status, headers, _) = served.open(path).await;
        assert_eq!(status, 404, "{path}");
        assert_eq!(headers["cache-control"], "no-store", "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn navigation_to_an_unknown_path_gets_the_page_and_nothing_else_does() {
    let served = Served::with_account().await;
    for path in [
        "/calls/0198d1a0-0000-7000-8000-00000000000d",
        "/campaigns?status=running",
        "/publicity",
        "/x.y",
    ] {
        let (status, headers, text) = served.open(path).await;
        assert_eq!((status, &*text), (200, "the page"), "{path}");
        is_guarded(&headers);
    }
    assert_eq!(served.open("/known").await.2, "known");
    assert_eq!(served.open("/posts").await.0, 405);
    for path in ["/public/v1/nothing", "/public", "/carriers/x", "/peers/x", "/dashboard"] {
        let (status, _, text) = served.open(path).await;
        assert_eq!((status, &*text), (404, "as before"), "{path}");
    }
    for accept in ["application/json", "*/*", "text/html;q=0"] {
        let (status, _, text) = served.get("/calls/x", &[("accept", accept)]).await;
        assert_eq!((status, &*text), (404, "as before"), "{accept}");
    }
    let posted = served
        .http
        .post(format!("{}/calls/x", served.base))
        .header("accept", "text/html");
    assert_eq!(posted.send().await.unwrap().status(), 404);
    let head = served
        .http
        .head(format!("{}/calls/x", served.base))
        .header("accept", "text/html");
    assert_eq!(head.send().await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn without_an_account_the_page_says_how_to_make_one() {
    let served = Served::start(ASSETS).await;
    for path in ["/", "/calls/x"] {
        let (status, headers, text) = served.open(path).await;
        assert_eq!(status, 200);
        assert!(
            text.contains("ringback account create") && text.contains("login-link"),
            "{text}"
        );
        assert!(!text.contains("<script") && !text.contains("style"), "{text}");
        assert_eq!(headers["cache-control"], "no-store");
        is_guarded(&headers);
    }
    new_account(&*served.store, "ada@example.com").await;
    assert_eq!(served.open("/").await.2, "the page");
}

#[tokio::test(start_paused = true)]
async fn plain_http_from_elsewhere_gets_the_ways_out() {
    let served = Served::with_account().await;
    for host in ["10.0.0.5:8080", "evil.example.com"] {
        let (status, headers, text) = served.get("/", &[("host", host), ("x-forwarded-proto", "https")]).await;
        assert_eq!(status, 403, "{host}");
        for way in ["RINGBACK_TLS_CERT", "proxy", "<code>ssh -L"] {
            assert!(text.contains(way), "{text}");
        }
        is_guarded(&headers);
    }
    assert_eq!(served.get("/", &[("host", "calls.example.com")]).await.2, "the page");
    assert_eq!(served.get("/", &[("host", "localhost:1")]).await.2, "the page");
}

#[tokio::test(start_paused = true)]
async fn every_file_of_this_build_is_served_at_its_address() {
    let served = Served::start(EMBEDDED).await;
    new_account(&*served.store, "ada@example.com").await;
    for file in EMBEDDED.files {
        let path = format!("{}{}", EMBEDDED.base, file.path);
        let response = served.http.get(format!("{}{path}", served.base)).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["content-type"], file.content_type, "{path}");
        assert_eq!(response.bytes().await.unwrap(), file.plain, "{path}");
    }
    // The page names nothing that is not there.
    let page = served.open("/").await.2;
    for name in page
        .split(EMBEDDED.base)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
    {
        assert!(EMBEDDED.files.iter().any(|file| file.path == name), "{name}");
    }
}
