//! Tests of the envelope around every response, including the framework's rejections and panics.

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use support::{app::TestApp, client::send, contract::PANICS};

#[tokio::test(start_paused = true)]
async fn every_refusal_is_in_the_envelope() {
    let app = TestApp::start().await;
    let client = &app.client;
    let text = |kind: &str, body: &'static str| {
        let request = client
            .request("POST", "/public/v1/contacts")
            .header("content-type", kind);
        send(request.body(body))
    };
    for (answer, status, code) in [
        (client.get("/public/v1/nothing").await, 404, "not_found"),
        (client.get("/nothing").await, 404, "not_found"),
        (client.get("/public/v1/campaigns/").await, 404, "not_found"),
        (client.get("/public/v1/contacts/%ff").await, 404, "not_found"),
        (client.delete("/public/v1/me").await, 405, "method_not_allowed"),
        (client.get("/public/v1/agents/create").await, 405, "method_not_allowed"),
        (text("text/plain", "{}").await, 415, "unsupported_media_type"),
        (text("application/json", "{").await, 400, "invalid_request"),
        (text("application/json", "").await, 400, "invalid_request"),
        (text("application/json", "[]").await, 400, "invalid_request"),
        (
            text("application/json; charset=utf-8", "null").await,
            400,
            "invalid_request",
        ),
        (
            text("application/json", "{\"name\":\"a\",\"name\":\"b\"}").await,
            400,
            "invalid_request",
        ),
        (client.get(PANICS).await, 500, "internal"),
    ] {
        assert_eq!((answer.status, answer.code()), (status, code), "{}", answer.body);
    }
    let refused = client.delete("/public/v1/me").await;
    let allow = refused.headers["allow"].to_str().unwrap();
    assert!(allow.contains("GET") && !allow.contains("DELETE"), "{allow}");
}

#[tokio::test(start_paused = true)]
async fn every_method_and_path_that_is_not_described_is_refused_in_the_envelope() {
    // HEAD is answered like GET, without a body.
    const METHODS: [&str; 8] = ["DELETE", "GET", "PATCH", "POST", "PUT", "TRACE", "PROPFIND", "LISTEN"];
    let app = TestApp::start().await;
    let description: Value = serde_json::from_str(include_str!("../../../../tests/openapi.json")).unwrap();
    for (path, item) in description["paths"].as_object().unwrap() {
        let path = path.replace(['{', '}'], "");
        let is_described = |method: &str| item.get(method.to_lowercase()).is_some();
        for method in METHODS {
            if is_described(method) {
                continue;
            }
            let refused = send(app.client.request(method, &path)).await;
            assert_eq!(refused.status, 405, "{method} {path}");
            let allow = refused.headers["allow"].to_str().unwrap();
            assert!(!allow.contains(method), "{method} {path}: {allow}");
            assert_eq!(refused.code(), "method_not_allowed", "{method} {path}");
            assert_eq!(refused.headers["content-type"], "application/json", "{method} {path}");
        }
        for missing in [format!("{path}/"), format!("{path}/no/such")] {
            let refused = send(app.client.request("PUT", &missing)).await;
            if refused.status != 405 {
                assert_eq!((refused.status, refused.code()), (404, "not_found"), "{missing}");
            }
        }
    }
    for missing in [
        "/public",
        "/public/",
        "/public/v1",
        "/public/v1/",
        "/public/v2/me",
        "//public/v1/me",
    ] {
        let refused = app.client.get(missing).await;
        assert_eq!((refused.status, refused.code()), (404, "not_found"), "{missing}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_filter_whose_end_is_before_its_start_is_refused() {
    let app = TestApp::start().await;
    for (path, start, end) in [
        ("analytics", "startedAfter", "startedBefore"),
        ("conversations", "startedAfter", "startedBefore"),
        ("appointments", "from", "to"),
    ] {
        let refused = app
            .client
            .get(&format!("/public/v1/{path}?{start}=1700000001&{end}=1700000000"))
            .await;
        assert_eq!(refused.status, 400, "{path}: {}", refused.body);
        let problems = refused.body["error"]["fields"].as_array().unwrap();
        assert_eq!(
            (&problems[0]["path"], &problems[0]["code"]),
            (&json!(end), &json!("out_of_range")),
            "{path}"
        );
        assert!(problems[0]["message"].as_str().unwrap().contains(start), "{path}");
        app.client
            .get(&format!("/public/v1/{path}?{start}=1700000000&{end}=1700000001"))
            .await
            .expect(200);
    }
    let export = "/public/v1/conversations/export?startedAfter=1700000001&startedBefore=1700000000";
    assert_eq!(app.client.get(export).await.status, 400);
}

#[tokio::test(start_paused = true)]
async fn a_panic_leaks_nothing_and_the_server_goes_on() {
    let app = TestApp::start().await;
    let answer = app.client.get(PANICS).await.expect(500);
    assert!(!answer.body.to_string().contains("as asked"));
    app.client.get("/public/health").await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn a_body_beyond_a_mebibyte_is_refused_and_one_below_is_read() {
    let app = TestApp::start().await;
    for (size, status) in [(1024 * 1024 - 64, 400), (1024 * 1024 + 1, 413), (9 * 1024 * 1024, 413)] {
        let body = format!("{{\"note\":\"{}\"}}", "x".repeat(size));
        let answer = app.client.post_text("/public/v1/contacts", body).await;
        assert_eq!(answer.status, status, "{size}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_clients_request_id_is_kept_when_it_is_sane() {
    let app = TestApp::start().await;
    let with = |id: &'static str| {
        send(
            app.client
                .request("GET", "/public/v1/campaigns")
                .header("x-request-id", id),
        )
    };
    assert_eq!(with("abc-1.2_3").await.body["requestId"], "abc-1.2_3");
    assert_ne!(with("no spaces").await.body["requestId"], "no spaces");
    let (first, second) = (
        app.client.get("/public/health").await,
        app.client.get("/public/health").await,
    );
    assert_ne!(first.headers["x-request-id"], second.headers["x-request-id"]);
}

#[tokio::test(start_paused = true)]
async fn head_answers_like_get_without_a_body() {
    let app = TestApp::start().await;
    for path in ["/public/health", "/public/v1/me", "/public/v1/nothing"] {
        let get = app.client.get(path).await;
        let head = app.client.request("HEAD", path).send().await.unwrap();
        assert_eq!(head.status().as_u16(), get.status, "{path}");
        assert_eq!(
            head.headers()["content-length"],
            get.headers["content-length"],
            "{path}"
        );
        assert!(head.bytes().await.unwrap().is_empty(), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_query_parameter_is_refused_on_every_operation() {
    let app = TestApp::start().await;
    let id = app.account.id;
    for (method, path) in [
        ("GET", "/public/health".to_owned()),
        ("GET", "/public/v1/me".to_owned()),
        ("POST", "/public/v1/agents/create".to_owned()),
        ("GET", format!("/public/v1/agents/{id}")),
        ("PATCH", format!("/public/v1/agents/{id}")),
        ("POST", "/public/v1/contacts".to_owned()),
        ("GET", format!("/public/v1/contacts/{id}")),
        ("DELETE", format!("/public/v1/contacts/{id}")),
        ("GET", "/public/v1/campaigns".to_owned()),
        ("POST", "/public/v1/campaigns".to_owned()),
        ("POST", "/public/v1/campaigns/csv".to_owned()),
        ("GET", format!("/public/v1/campaigns/{id}")),
        ("POST", format!("/public/v1/campaigns/{id}/launch")),
        ("POST", format!("/public/v1/campaigns/{id}/pause")),
        ("POST", format!("/public/v1/campaigns/{id}/stop")),
        ("GET", "/public/v1/conversations".to_owned()),
        ("GET", format!("/public/v1/conversations/{id}")),
    ] {
        let answer = send(app.client.request(method, &format!("{path}?zzz=1")).json(&json!({}))).await;
        assert_eq!(answer.status, 400, "{method} {path}: {}", answer.body);
        assert_eq!(answer.fields(), [("zzz", "unknown_parameter")], "{method} {path}");
    }
}

#[tokio::test(start_paused = true)]
async fn all_problems_of_a_query_are_listed() {
    let app = TestApp::start().await;
    let answer = app
        .client
        .get("/public/v1/campaigns?pagesize=5&status=x&active=yes&cursor=x&name=a&name=b")
        .await;
    assert_eq!(
        answer.expect(400).fields(),
        [
            ("pagesize", "unknown_parameter"),
            ("name", "repeated"),
            ("status", "invalid_value"),
            ("active", "invalid_value"),
            ("cursor", "invalid_value"),
        ]
    );
    for size in ["0", "101", "x", "-1", "1.5", ""] {
        for list in ["campaigns", "conversations"] {
            let answer = app
                .client
                .get(&format!("/public/v1/{list}?pageSize={size}"))
                .await
                .expect(400);
            assert_eq!(answer.fields(), [("pageSize", "out_of_range")], "{size}");
        }
    }
    let answer = app.client.get("/public/v1/campaigns?pagesize=5").await;
    assert!(answer.text("/error/message").contains("did you mean `pageSize`"));
}

#[tokio::test(start_paused = true)]
async fn a_query_that_is_not_utf8_is_refused_on_every_route() {
    let app = TestApp::start().await;
    for path in [
        "/public/v1/campaigns?name=%ff",
        "/public/v1/campaigns?name=caf%C3",
        "/public/v1/campaigns?%ed%a0%80=x",
        "/public/v1/me?%ff",
        "/public/health?x=%c0%af",
        "/public/openapi.json?x=%ff",
        "/public/v1/nothing?x=%ff",
    ] {
        let refused = app.client.request("GET", path).send().await.unwrap();
        assert_eq!(refused.status(), 400, "{path}");
        let refused: Value = refused.json().await.unwrap();
        assert_eq!(refused["error"]["code"], "invalid_request", "{path}");
        assert!(
            refused["error"]["message"].as_str().unwrap().contains("UTF-8"),
            "{path}"
        );
    }
    for name in ["caf%C3%A9", "%EF%BF%BD", "50%", "%zz"] {
        let path = format!("/public/v1/campaigns?name={name}");
        app.client.get(&path).await.expect(200);
    }
    let mut socket = TcpStream::connect(app.address).await.unwrap();
    let request = b"GET /public/v1/campaigns?name=\xff HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    socket.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 400 "), "{}", answer.escape_ascii());
}
