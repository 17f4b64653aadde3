//! Tests of browser sessions: signing in and out, and what pages of other sites and other accounts cannot do.

use std::time::Duration;

use domain::{
    accounts,
    api_key::generate_key,
    ports::store::{SESSION_IDLE_US, SESSION_LASTS_US, SessionStore},
};
use reqwest::RequestBuilder;
use rest::server::ServerLimits;
use serde_json::{Value, json};

use support::{
    app::{PUBLIC_URL, TestApp, new_account, serve_router, state},
    client::{Answer, Client, send},
    switchboard::FakeNode,
};

const SESSION: &str = "/public/v1/session";
const ME: &str = "/public/v1/me";
const KEYS: &str = "/public/v1/me/api-keys";
const REGENERATE: &str = "/public/v1/me/api-key/regenerate";
const EMAIL: &str = "ada@example.com";

/// A browser at an origin that is signed in.
struct Browser<'a> {
    client: &'a Client,
    origin: String,
    cookie: String,
    id: String,
}

fn sign_in(client: &Client, origin: &str, body: &Value) -> RequestBuilder {
    let host = origin.split_once("://").unwrap().1;
    let request = client
        .bare("POST", SESSION)
        .header("host", host)
        .header("origin", origin);
    request.header("sec-fetch-site", "same-origin").json(body)
}

fn with_key(key: &str) -> Value {
    json!({ "email": EMAIL, "apiKey": key })
}

impl<'a> Browser<'a> {
    async fn open(client: &'a Client, origin: &str, body: Value) -> Self {
        let answer = send(sign_in(client, origin, &body)).await.expect(201);
        let cookie = answer.headers["set-cookie"].to_str().unwrap();
        Self {
            client,
            origin: origin.to_owned(),
            cookie: cookie.split(';').next().unwrap().to_owned(),
            id: answer.text("/data/session/sessionId"),
        }
    }

    /// Signs in at the loopback address with the client's key.
    async fn here(app: &'a TestApp) -> Self {
        Self::open(&app.client, &app.client.base, with_key(&app.client.key)).await
    }

    /// Returns a request as a page of the service sends it.
    fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let request = self.raw(method, path).header("sec-fetch-site", "same-origin");
        match method {
            "GET" => request,
            _ => request.header("origin", &self.origin),
        }
    }

    /// Returns a request with the cookie and nothing else.
    fn raw(&self, method: &str, path: &str) -> RequestBuilder {
        let host = self.origin.split_once("://").unwrap().1;
        let request = self.client.bare(method, path).header("cookie", &self.cookie);
        request.header("host", host)
    }

    async fn get(&self, path: &str) -> Answer {
        send(self.request("GET", path)).await
    }

    async fn is_open(&self) -> bool {
        self.get(SESSION).await.status == 200
    }

    async fn sessions(&self) -> Vec<Value> {
        self.get(SESSION).await.expect(200).data().as_array().unwrap().clone()
    }
}

fn told(answer: Answer, status: u16, code: &str) -> String {
    let answer = answer.expect(status);
    assert_eq!(answer.code(), code);
    answer.text("/error/message")
}

#[tokio::test(start_paused = true)]
async fn a_browser_signs_in_with_a_key_is_listed_and_signs_out() {
    let app = TestApp::start().await;
    let client = &app.client;
    let request = sign_in(
        client,
        &client.base,
        &json!({ "email": " Ada@Example.com ", "apiKey": client.key }),
    );
    let answer = send(request).await.expect(201);
    let cookie = answer.headers["set-cookie"].to_str().unwrap().to_owned();
    let (value, attributes) = cookie.split_once(';').unwrap();
    assert!(
        value.starts_with("ringback=") && value.len() == "ringback=".len() + 64,
        "{value}"
    );
    assert_eq!(attributes, " Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict");
    assert_eq!(answer.headers["cache-control"], "no-store");
    let id = answer.text("/data/session/sessionId");
    let session = json!({
        "sessionId": id, "isPresent": true, "keyName": "account key",
        "scopes": ["read", "calls", "live", "write", "admin"],
        "createdAt": "2026-01-01T00:00:00.000000Z", "lastUsedAt": "2026-01-01T00:00:00.000000Z",
        "expiresAt": "2026-01-31T00:00:00.000000Z",
    });
    assert_eq!(*answer.data(), json!({ "email": EMAIL, "session": session }));
    assert!(!answer.body.to_string().contains(&value[9..]));
    tokio::time::advance(Duration::from_secs(1)).await;
    let second = Browser::here(&app).await;
    let mut listed = second.sessions().await;
    assert_eq!(listed.len(), 2);
    assert_eq!(
        (&listed[0]["sessionId"], &listed[0]["isPresent"]),
        (&json!(second.id), &json!(true))
    );
    assert_eq!(
        (&listed[1]["sessionId"], &listed[1]["isPresent"]),
        (&json!(id), &json!(false))
    );
    assert_eq!(
        second.get(&format!("{SESSION}?pageSize=1")).await.body["pagination"]["hasMore"],
        true
    );
    // A key lists them too, and is none.
    listed = app
        .client
        .get(SESSION)
        .await
        .expect(200)
        .data()
        .as_array()
        .unwrap()
        .clone();
    assert!(listed.iter().all(|session| session["isPresent"] == false));
    assert_eq!(second.get(ME).await.expect(200).data()["email"], EMAIL);
    let out = send(second.request("DELETE", SESSION)).await.expect(200);
    assert_eq!(*out.data(), json!({ "sessionId": second.id, "ended": true }));
    let cleared = out.headers["set-cookie"].to_str().unwrap();
    assert_eq!(cleared, "ringback=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
    assert_eq!(
        told(second.get(ME).await, 401, "unauthorized"),
        "this session has ended; sign in again"
    );
    // The other one is ended by its id.
    let other = client.delete(&format!("{SESSION}/{id}")).await.expect(200);
    assert!(!other.headers.contains_key("set-cookie"));
    client.delete(&format!("{SESSION}/{id}")).await.expect(404);
    assert!(told(client.delete(SESSION).await, 400, "invalid_request").contains("API key, not a session"));
}

#[tokio::test(start_paused = true)]
async fn over_https_the_cookie_is_bound_to_the_host() {
    let app = TestApp::start().await;
    let browser = Browser::open(&app.client, PUBLIC_URL, with_key(&app.client.key)).await;
    assert!(browser.cookie.starts_with("__Host-ringback="), "{}", browser.cookie);
    let out = send(browser.request("DELETE", SESSION)).await.expect(200);
    let cleared = out.headers["set-cookie"].to_str().unwrap();
    assert_eq!(
        cleared,
        "__Host-ringback=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure"
    );
    // A cookie for one kind of address is none for the other.
    let browser = Browser::open(&app.client, PUBLIC_URL, with_key(&app.client.key)).await;
    let token = browser.cookie.split_once('=').unwrap().1;
    for cookie in [format!("ringback={token}"), format!("{0}; {0}", browser.cookie)] {
        let request = app.client.bare("GET", ME).header("host", "calls.example.com");
        send(request.header("cookie", cookie)).await.expect(401);
    }
    browser.get(ME).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_to_sign_in_is_checked() {
    let app = TestApp::start().await;
    let key = &app.client.key;
    for (body, expected) in [
        (json!({}), vec![("email", "required"), ("apiKey", "required")]),
        (json!({ "email": EMAIL }), vec![("apiKey", "required")]),
        (json!({ "apiKey": key, "email": 1 }), vec![("email", "wrong_type")]),
        (json!({ "token": "x", "email": EMAIL }), vec![("token", "not_allowed")]),
        (json!({ "token": 7 }), vec![("token", "wrong_type")]),
        (
            json!({ "email": EMAIL, "apiKey": key, "remember": true }),
            vec![("remember", "unknown_field")],
        ),
    ] {
        let answer = send(sign_in(&app.client, &app.client.base, &body)).await.expect(400);
        assert_eq!(answer.fields(), expected, "{body}");
        assert!(!answer.headers.contains_key("set-cookie"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_address_and_a_wrong_key_are_answered_alike() {
    let app = TestApp::start().await;
    let (_, eves) = new_account(&*app.store, "eve@example.com").await;
    let (unknown, _) = generate_key();
    let expired = {
        let body = json!({ "name": "x", "scopes": ["read"], "expiresAt": "2026-01-01T00:00:01Z" });
        app.client.post(KEYS, body).await.expect(201).text("/data/apiKey")
    };
    tokio::time::advance(Duration::from_secs(1)).await;
    let mut answers = Vec::new();
    for (email, key) in [
        (EMAIL, &unknown),
        ("nobody@example.com", &unknown),
        ("nobody@example.com", &app.client.key),
        (EMAIL, &eves),
        (EMAIL, &expired),
        (EMAIL, &"rb_x".to_owned()),
        ("no address", &unknown),
    ] {
        let request = sign_in(&app.client, &app.client.base, &json!({ "email": email, "apiKey": key }));
        let answer = send(request).await.expect(401);
        let names: Vec<String> = answer.headers.keys().map(ToString::to_string).collect();
        answers.push((answer.body, names));
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
}

#[tokio::test(start_paused = true)]
async fn failed_sign_ins_are_limited_by_address_and_account_and_others_are_not() {
    let app = TestApp::start().await;
    let (unknown, _) = generate_key();
    let wrong = |email: String| {
        let body = json!({ "email": email, "apiKey": unknown });
        send(sign_in(&app.client, &app.client.base, &body))
    };
    let right = || send(sign_in(&app.client, &app.client.base, &with_key(&app.client.key)));
    for _ in 0..15 {
        right().await.expect(201);
    }
    for n in 0..10 {
        wrong(format!("a{n}@example.com")).await.expect(401);
    }
    let refused = wrong("b@example.com".into()).await;
    assert_eq!((refused.status, refused.code()), (429, "rate_limited"));
    assert_eq!(refused.headers["retry-after"], "6");
    right().await.expect(429);
    // Sessions and keys that exist are not affected.
    app.client.get(ME).await.expect(200);
    tokio::time::advance(Duration::from_secs(6)).await;
    right().await.expect(201);
    // A guesser at many addresses is limited by the account.
    let limit = rest::SignInLimit::default();
    let address = |n: u8| std::net::IpAddr::from([10, 0, n, 1]);
    let tried = (0..100).take_while(|n| limit.attempt(address(*n), Some([1; 16])).is_ok());
    assert_eq!(tried.count(), 30);
    assert!(limit.attempt(address(200), Some([2; 16])).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_login_link_signs_in_once_within_ten_minutes() {
    let app = TestApp::start().await;
    let link = async || {
        let token = accounts::login_link(&*app.store, Some("Ada@example.com"))
            .await
            .unwrap();
        json!({ "token": token.as_str() })
    };
    let (first, late) = (link().await, link().await);
    let browser = Browser::open(&app.client, &app.client.base, first.clone()).await;
    let session = &browser.sessions().await[0];
    assert_eq!(session["scopes"].as_array().unwrap().len(), 5);
    assert!(session.get("keyName").is_none());
    let again = |body: Value| {
        let request = sign_in(&app.client, &app.client.base, &body);
        async move { told(send(request).await, 401, "unauthorized") }
    };
    assert!(
        again(first)
            .await
            .contains("`ringback account login-link` prints a new one")
    );
    tokio::time::advance(Duration::from_secs(600)).await;
    again(late).await;
    again(json!({ "token": "0".repeat(64) })).await;
    again(json!({ "token": "x" })).await;
    // A thief and the owner at the same time.
    let stolen = link().await;
    let tries = (0..4).map(|_| send(sign_in(&app.client, &app.client.base, &stolen)));
    let mut statuses: Vec<u16> = futures_util::future::join_all(tries)
        .await
        .iter()
        .map(|answer| answer.status)
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 401, 401, 401]);
    // The session of the link outlives the account's key.
    app.client.post(REGENERATE, json!({})).await.expect(200);
    assert!(browser.is_open().await);
}

#[tokio::test(start_paused = true)]
async fn only_pages_of_the_service_itself_change_something_with_the_cookie() {
    let app = TestApp::start().await;
    let browser = Browser::here(&app).await;
    let contact = json!({ "phoneNumber": "+15550100010" });
    let write = |headers: &[(&'static str, &str)]| {
        let request = browser.raw("POST", "/public/v1/contacts").json(&contact);
        let request = headers
            .iter()
            .fold(request, |request, (name, value)| request.header(*name, *value));
        async move { send(request).await }
    };
    let own = app.client.base.as_str();
    let port = app.address.port();
    for headers in [
        &[][..],
        &[("sec-fetch-site", "same-origin")],
        &[("origin", "https://evil.example.com")],
        &[("origin", "null")],
        &[("origin", PUBLIC_URL)],
        &[("origin", "http://localhost")],
        &[("origin", &format!("http://localhost:{port}"))],
        &[("origin", &format!("https://127.0.0.1:{port}"))],
        &[("origin", own), ("origin", "https://evil.example.com")],
        &[("origin", own), ("sec-fetch-site", "cross-site")],
        &[("origin", own), ("sec-fetch-site", "same-site")],
        &[("origin", own), ("sec-fetch-site", "none")],
        &[
            ("origin", own),
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-site", "cross-site"),
        ],
    ] {
        let message = told(write(headers).await, 403, "forbidden");
        assert!(message.contains(own), "{headers:?}: {message}");
    }
    for (method, path) in [
        ("DELETE", SESSION),
        ("PATCH", "/public/v1/agents/x"),
        ("POST", REGENERATE),
    ] {
        send(browser.raw(method, path)).await.expect(403);
    }
    assert_eq!(app.client.get("/public/v1/contacts").await.data(), &json!([]));
    write(&[("origin", own)]).await.expect(201);
    // The key is not affected by any of this.
    let other = json!({ "phoneNumber": "+15550100011" });
    let request = app.client.request("POST", "/public/v1/contacts").json(&other);
    let request = request
        .header("origin", "https://evil.example.com")
        .header("sec-fetch-site", "cross-site");
    send(
        request
            .header("cookie", &browser.cookie)
            .header("host", "evil.example.com"),
    )
    .await
    .expect(201);
    // Reads may be navigation, and nothing of another site.
    for (site, status) in [
        ("none", 200),
        ("same-origin", 200),
        ("same-site", 403),
        ("cross-site", 403),
    ] {
        send(browser.raw("GET", ME).header("sec-fetch-site", site))
            .await
            .expect(status);
    }
    send(browser.raw("GET", ME)).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn signing_in_is_for_pages_of_the_service_too() {
    let app = TestApp::start().await;
    let body = with_key(&app.client.key);
    let bare = || app.client.bare("POST", SESSION).json(&body);
    for request in [
        bare(),
        bare().header("origin", "https://evil.example.com"),
        bare()
            .header("origin", &app.client.base)
            .header("sec-fetch-site", "cross-site"),
    ] {
        let answer = send(request).await.expect(403);
        assert!(!answer.headers.contains_key("set-cookie"));
    }
    // A browser that already has somebody's cookie gets a token of its own.
    let planted = Browser::here(&app).await;
    let request = sign_in(&app.client, &app.client.base, &body).header("cookie", &planted.cookie);
    let answer = send(request).await.expect(201);
    let cookie = answer.headers["set-cookie"].to_str().unwrap();
    assert!(!cookie.starts_with(&planted.cookie), "{cookie}");
    let chosen = format!("ringback={}", "0".repeat(64));
    let request = sign_in(&app.client, &app.client.base, &body).header("cookie", &chosen);
    let answer = send(request).await.expect(201);
    assert!(!answer.headers["set-cookie"].to_str().unwrap().starts_with(&chosen));
    send(app.client.bare("GET", ME).header("cookie", &chosen))
        .await
        .expect(401);
}

#[tokio::test(start_paused = true)]
async fn a_foreign_host_and_plain_http_from_elsewhere_are_refused_with_the_ways_out() {
    let app = TestApp::start().await;
    let browser = Browser::here(&app).await;
    let port = app.address.port();
    for host in [
        "evil.example.com".to_owned(),
        format!("evil.example.com:{port}"),
        format!("10.0.0.5:{port}"),
        format!("localhost.evil.example.com:{port}"),
        "calls.example.com:8080".to_owned(),
    ] {
        let origin = format!("http://{host}");
        let read = app
            .client
            .bare("GET", ME)
            .header("cookie", &browser.cookie)
            .header("host", &host);
        let write = app.client.bare("DELETE", SESSION).header("cookie", &browser.cookie);
        let write = write.header("host", &host).header("origin", &origin);
        let signs_in = sign_in(&app.client, &origin, &with_key(&app.client.key));
        for request in [read, write, signs_in] {
            // A proxy's headers change nothing.
            let request = request.header("x-forwarded-host", format!("127.0.0.1:{port}"));
            let request = request.header("x-forwarded-proto", "https");
            let message = told(send(request).await, 403, "forbidden");
            for way in ["RINGBACK_TLS_CERT", "proxy", "ssh -L"] {
                assert!(message.contains(way), "{host}: {message}");
            }
        }
    }
    assert!(browser.is_open().await);
}

#[tokio::test(start_paused = true)]
async fn a_websocket_with_the_cookie_is_for_pages_of_the_service() {
    let app = TestApp::start().await;
    let browser = Browser::here(&app).await;
    let upgrade = |origin: Option<&str>| {
        let request = browser
            .raw("GET", ME)
            .header("connection", "upgrade")
            .header("upgrade", "websocket");
        let request = request
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA==");
        let request = origin
            .into_iter()
            .fold(request, |request, origin| request.header("origin", origin));
        async move { send(request).await.status }
    };
    assert_eq!(upgrade(None).await, 403);
    assert_eq!(upgrade(Some("https://evil.example.com")).await, 403);
    assert_eq!(upgrade(Some(&app.client.base)).await, 200);
}

#[tokio::test(start_paused = true)]
async fn cors_never_allows_the_cookie() {
    let app = TestApp::start().await;
    let browser = Browser::here(&app).await;
    let friend = "https://app.example.com";
    for origins in [vec!["*".to_owned()], vec![friend.to_owned()]] {
        let router = rest::router(state(app.store.clone(), &FakeNode::default()).await);
        let router = rest::with_cors(router, &origins);
        let (address, _shutdown, _server) = serve_router(router, ServerLimits::default()).await;
        let client = Client::new(&format!("http://{address}"), &app.client.key);
        let preflight = client.bare("OPTIONS", "/public/v1/contacts").header("origin", friend);
        let preflight = preflight
            .header("access-control-request-method", "POST")
            .send()
            .await
            .unwrap();
        let with_cookie = client.bare("POST", "/public/v1/contacts").header("origin", friend);
        let with_cookie = with_cookie.header("cookie", &browser.cookie).send().await.unwrap();
        let signs_in = client.bare("POST", SESSION).header("origin", friend);
        let signs_in = signs_in.json(&with_key(&client.key)).send().await.unwrap();
        assert_eq!((with_cookie.status().as_u16(), signs_in.status().as_u16()), (403, 403));
        for answer in [preflight, with_cookie, signs_in] {
            let headers = answer.headers();
            assert!(headers.contains_key("access-control-allow-origin"), "{origins:?}");
            assert!(!headers.contains_key("access-control-allow-credentials"), "{origins:?}");
            assert!(!headers.contains_key("set-cookie"), "{origins:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_has_the_scopes_of_its_key() {
    let app = TestApp::start().await;
    let own = Browser::here(&app).await;
    let body = json!({ "name": "wall", "scopes": ["read"] });
    let made = app.client.post(KEYS, body).await.expect(201);
    let browser = Browser::open(&app.client, &app.client.base, with_key(&made.text("/data/apiKey"))).await;
    browser.get(ME).await.expect(200);
    // It sees itself, not the account's other sessions, and cannot end them.
    let listed = browser.sessions().await;
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (&listed[0]["keyName"], &listed[0]["scopes"]),
        (&json!("wall"), &json!(["read"]))
    );
    let lacks = async |request: RequestBuilder, scope: &str| {
        let message = told(send(request).await, 403, "forbidden");
        assert_eq!(
            message,
            format!("this session lacks the scope `{scope}`; sign in with a key that has it")
        );
    };
    lacks(browser.request("DELETE", &format!("{SESSION}/{}", own.id)), "admin").await;
    lacks(browser.request("POST", "/public/v1/contacts"), "write").await;
    lacks(browser.request("GET", KEYS), "admin").await;
    lacks(browser.request("POST", REGENERATE), "calls").await;
    let change = json!({ "scopes": ["write"] });
    let key = format!("{KEYS}/{}", made.text("/data/keyId"));
    app.client.patch(&key, change).await.expect(200);
    lacks(browser.request("GET", ME), "read").await;
    // It can always sign out.
    send(browser.request("DELETE", SESSION)).await.expect(200);
    assert!(own.is_open().await);
}

#[tokio::test(start_paused = true)]
async fn a_session_gives_no_key_that_is_valid_longer_than_its_own() {
    let app = TestApp::start().await;
    let body = json!({ "name": "morning", "scopes": ["admin", "read"], "expiresAt": "2026-01-01T06:00:00Z" });
    let made = app.client.post(KEYS, body).await.expect(201);
    let browser = Browser::open(&app.client, &app.client.base, with_key(&made.text("/data/apiKey"))).await;
    assert_eq!(
        browser.sessions().await.last().unwrap()["expiresAt"],
        "2026-01-01T06:00:00.000000Z"
    );
    let add = || {
        browser
            .request("POST", KEYS)
            .json(&json!({ "name": "x", "scopes": ["read"] }))
    };
    assert!(told(send(add()).await, 403, "forbidden").contains("ends at 2026-01-01T06:00"));
    // Deleting the key does not lift the limit.
    let key = format!("{KEYS}/{}", made.text("/data/keyId"));
    send(browser.request("DELETE", &key)).await.expect(200);
    send(add()).await.expect(403);
    tokio::time::advance(Duration::from_secs(6 * 3_600 - 1)).await;
    assert!(browser.is_open().await);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(!browser.is_open().await);
}

#[tokio::test(start_paused = true)]
async fn a_new_key_ends_the_other_sessions_and_the_present_one_stays() {
    let app = TestApp::start().await;
    let (present, other) = (Browser::here(&app).await, Browser::here(&app).await);
    let made = send(present.request("POST", REGENERATE)).await.expect(200);
    assert!(present.is_open().await && !other.is_open().await);
    app.client.get(ME).await.expect(401);
    let renewed = Client::new(&app.client.base, &made.text("/data/apiKey"));
    let second = Browser::open(&renewed, &renewed.base, with_key(&renewed.key)).await;
    // With a key, no session is the present one.
    renewed.post(REGENERATE, json!({})).await.expect(200);
    assert!(!present.is_open().await && !second.is_open().await);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_key_ends_the_other_sessions_and_the_present_one_stays() {
    let app = TestApp::start().await;
    let own = Browser::here(&app).await;
    let body = json!({ "name": "desk", "scopes": ["read", "admin"] });
    let made = app.client.post(KEYS, body).await.expect(201);
    let with = with_key(&made.text("/data/apiKey"));
    let present = Browser::open(&app.client, &app.client.base, with.clone()).await;
    let other = Browser::open(&app.client, &app.client.base, with).await;
    let key = format!("{KEYS}/{}", made.text("/data/keyId"));
    send(present.request("DELETE", &key)).await.expect(200);
    assert!(present.is_open().await && own.is_open().await && !other.is_open().await);
    let listed = present.sessions().await;
    let shown = listed.iter().find(|session| session["isPresent"] == true).unwrap();
    assert_eq!(
        (&shown["keyName"], &shown["scopes"]),
        (&json!("desk"), &json!(["read", "admin"]))
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_when_idle_and_at_the_latest_after_thirty_days() {
    let app = TestApp::start().await;
    let (used, idle) = (Browser::here(&app).await, Browser::here(&app).await);
    let us = |us: i64| Duration::from_micros(us.unsigned_abs());
    let half = SESSION_IDLE_US / 2;
    for _ in 1..SESSION_LASTS_US / half {
        tokio::time::advance(us(half)).await;
        assert!(used.is_open().await);
        // Use is recorded beside the request.
        tokio::task::yield_now().await;
    }
    assert!(!idle.is_open().await);
    tokio::time::advance(us(half)).await;
    assert!(!used.is_open().await);
}

#[tokio::test(start_paused = true)]
async fn another_accounts_session_is_not_there() {
    let app = TestApp::start().await;
    let (browser, eve) = (Browser::here(&app).await, app.stranger().await);
    eve.delete(&format!("{SESSION}/{}", browser.id)).await.expect(404);
    eve.delete(&format!("{SESSION}/x")).await.expect(404);
    assert_eq!(eve.get(SESSION).await.expect(200).data(), &json!([]));
    let body = json!({ "email": "eve@example.com", "apiKey": eve.key });
    let theirs = Browser::open(&eve, &eve.base, body).await;
    send(theirs.request("DELETE", &format!("{SESSION}/{}", browser.id)))
        .await
        .expect(404);
    assert!(browser.is_open().await);
    assert_eq!(app.store.sessions_of(app.account.id).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_oldest_session_ends_when_there_are_too_many() {
    let app = TestApp::start().await;
    let first = Browser::here(&app).await;
    for _ in 0..19 {
        tokio::time::advance(Duration::from_secs(1)).await;
        Browser::here(&app).await;
    }
    assert!(first.is_open().await);
    tokio::time::advance(Duration::from_secs(1)).await;
    Browser::here(&app).await;
    assert!(!first.is_open().await);
}

#[tokio::test(start_paused = true)]
async fn an_event_stream_ends_with_its_session() {
    let app = TestApp::start().await;
    let browser = Browser::here(&app).await;
    let mut stream = browser.request("GET", "/public/v1/events").send().await.unwrap();
    assert_eq!(stream.status(), 200);
    app.client
        .delete(&format!("{SESSION}/{}", browser.id))
        .await
        .expect(200);
    let rest = async { while stream.chunk().await.unwrap().is_some() {} };
    tokio::time::timeout(Duration::from_secs(5), rest).await.unwrap();
}
