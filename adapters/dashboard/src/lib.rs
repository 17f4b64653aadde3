//! The dashboard: its files, which are inside the program, and the page at `/` and at the addresses of its views.

mod pages;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{
    Router,
    extract::{MatchedPath, Path, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use domain::ports::store::Store;
use rest::Site;

/// Allows only files of the dashboard and requests to this service, nothing inline, and no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; \
                      connect-src 'self'; font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// Cache lifetimes: the address of a file changes with its content, that of a page does not.
const KEPT: &str = "public, max-age=31536000, immutable";
const CHECKED_EACH_TIME: &str = "no-cache";

/// Paths of programs, not of views.
const OTHERS: [&str; 4] = ["/public", "/carriers", "/peers", "/dashboard"];

/// A file of the dashboard.
#[derive(Debug, Clone, Copy)]
pub struct File {
    /// Path below [`Assets::base`].
    pub path: &'static str,
    /// Content type.
    pub content_type: &'static str,
    /// Hash of the content.
    pub tag: &'static str,
    /// Content.
    pub plain: &'static [u8],
    /// Content compressed with Brotli, if that is smaller.
    pub brotli: Option<&'static [u8]>,
}

/// Files of a dashboard.
#[derive(Debug, Clone, Copy)]
pub struct Assets {
    /// Path below which the files are served; it changes with every file.
    pub base: &'static str,
    /// The page.
    pub index: File,
    /// The other files.
    pub files: &'static [File],
}

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The dashboard of a service.
#[derive(Clone)]
pub struct Dashboard {
    store: Arc<dyn Store>,
    site: Site,
    assets: Assets,
    /// Whether an account was seen. Accounts are never deleted.
    has_account: Arc<AtomicBool>,
}

impl Dashboard {
    /// Creates the dashboard of a service.
    pub fn new(store: Arc<dyn Store>, site: Site, assets: Assets) -> Self {
        Self {
            store,
            site,
            assets,
            has_account: Arc::default(),
        }
    }

    /// Adds the dashboard to the routes of a service: its files, `/`, and the page for every unknown path that a browser
    /// navigates to.
    pub fn with(self, router: Router) -> Router {
        let own = Router::new()
            .route("/", get(page))
            .route("/dashboard/{hash}/{*path}", get(file))
            .with_state(self.clone());
        let navigation = middleware::from_fn_with_state(self, navigate);
        router.merge(own).layer(navigation)
    }

    async fn has_account(&self) -> bool {
        if self.has_account.load(Ordering::Relaxed) {
            return true;
        }
        match self.store.first_accounts(1).await {
            Ok(accounts) => self.has_account.fetch_or(!accounts.is_empty(), Ordering::Relaxed) || !accounts.is_empty(),
            Err(error) => {
                tracing::debug!(%error, "accounts not read for the page at /");
                true
            }
        }
    }

    /// Returns the dashboard, or a page with the way to it.
    async fn page(&self, uri: &Uri, headers: &HeaderMap) -> Response {
        let (status, page) = if self.site.entrance(uri, headers).is_none() {
            (StatusCode::FORBIDDEN, pages::elsewhere())
        } else if !self.has_account().await {
            (StatusCode::OK, pages::no_account())
        } else {
            return sent(&self.assets.index, CHECKED_EACH_TIME, headers);
        };
        let kind = [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CACHE_CONTROL, "no-store"),
        ];
        guarded((status, kind, page).into_response())
    }
}

async fn page(State(dashboard): State<Dashboard>, uri: Uri, headers: HeaderMap) -> Response {
    dashboard.page(&uri, &headers).await
}

/// Answers navigation to unknown paths with the page, so that the address of a view can be opened.
async fn navigate(State(dashboard): State<Dashboard>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_other = OTHERS.iter().any(|other| {
        let rest = path.strip_prefix(other);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    let is_known = request.extensions().get::<MatchedPath>().is_some();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if is_known || is_other || !reads || !accepts(request.headers(), &header::ACCEPT, "text/html") {
        return next.run(request).await;
    }
    dashboard.page(request.uri(), request.headers()).await
}

async fn file(
    State(dashboard): State<Dashboard>,
    Path((_, path)): Path<(String, String)>,
    request: Request,
) -> Response {
    let Assets { base, files, .. } = dashboard.assets;
    let found = files.iter().find(|file| file.path == path);
    match found.filter(|_| request.uri().path().starts_with(base)) {
        Some(file) => sent(file, KEPT, request.headers()),
        None => {
            let gone = "there is no such file in this version of the dashboard; load the page again\n";
            guarded((StatusCode::NOT_FOUND, [(header::CACHE_CONTROL, "no-store")], gone).into_response())
        }
    }
}

/// Returns a file, compressed if the client takes that.
fn sent(file: &File, kept: &'static str, headers: &HeaderMap) -> Response {
    let compressed = file.brotli.filter(|_| accepts(headers, &header::ACCEPT_ENCODING, "br"));
    // The compressed form is another content for caches.
    let tag = format!("\"{}{}\"", file.tag, if compressed.is_some() { "-br" } else { "" });
    let known = headers.get_all(header::IF_NONE_MATCH).iter();
    let is_known = known
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains(&tag));
    let shared = [
        (header::CACHE_CONTROL, kept),
        (header::VARY, "accept-encoding"),
        (header::ETAG, &*tag),
    ];
    if is_known {
        return guarded((StatusCode::NOT_MODIFIED, shared).into_response());
    }
    let content = compressed.unwrap_or(file.plain);
    let mut response = (shared, [(header::CONTENT_TYPE, file.content_type)], content).into_response();
    if compressed.is_some() {
        let encoding = (header::CONTENT_ENCODING, HeaderValue::from_static("br"));
        response.headers_mut().extend([encoding]);
    }
    guarded(response)
}

/// Returns whether a header with a list of choices names one of them, and not with the weight 0.
fn accepts(headers: &HeaderMap, name: &HeaderName, choice: &str) -> bool {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|named| named.eq_ignore_ascii_case(choice));
        is_named && !parts.any(|part| part.strip_prefix("q=").and_then(|q| q.parse().ok()) == Some(0.0))
    })
}

/// Adds the headers that keep other pages away.
fn guarded(mut response: Response) -> Response {
    let headers: [(HeaderName, &str); 5] = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
