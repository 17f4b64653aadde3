//! Tests that no hostile request costs far more memory or time than its size.

use reqwest::multipart::{Form, Part};
use serde_json::json;

use support::{
    app::TestApp,
    client::{Answer, send},
};

/// Maximum bytes of a rejection, with some margin.
const REFUSAL_BYTES: usize = 1_000_000;

#[tokio::test(start_paused = true)]
async fn a_long_name_is_not_repeated_for_every_problem_below_it() {
    let app = TestApp::start().await;
    let name = "k".repeat(20_000);
    let twice = format!("{{\"{name}\":{{{}}}}}", vec!["\"a\":1"; 10_000].join(","));
    let voices = vec![json!({ "speed": "fast", "pace": 1 }); 900];
    let presets = json!({ (name.clone()): { "overrides": { "tts": { "supportedVoices": voices } } } });
    let agent = json!({ "conversationConfig": { "languagePresets": presets } }).to_string();
    let unknown = format!("{{\"{name}\":1}}");
    for (path, body) in [
        ("/public/v1/contacts", twice),
        ("/public/v1/agents/create", agent),
        ("/public/v1/campaigns", unknown),
    ] {
        let answer = app.client.post_text(path, body).await.expect(400);
        let size = answer.body.to_string().len();
        assert!(size < REFUSAL_BYTES, "{path}: {size}");
        assert!(!answer.fields().is_empty(), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_of_nothing_but_problems_lists_a_thousand_and_counts_the_rest() {
    let app = TestApp::start().await;
    let contacts = vec![json!({}); 5_000];
    let body = json!({ "name": "n", "agentId": app.agent().await, "contacts": contacts });
    let answer = app.client.post("/public/v1/campaigns", body).await.expect(400);
    assert_eq!(answer.fields().len(), 1_000);
    assert!(answer.text("/error/message").ends_with("(and 4999 more)"));
}

async fn upload(app: &TestApp, file: Vec<u8>) -> Answer {
    let form = Form::new()
        .text("name", "Spring")
        .text("agentId", app.agent().await)
        .part("file", Part::bytes(file));
    send(app.client.request("POST", "/public/v1/campaigns/csv").multipart(form)).await
}

#[tokio::test(start_paused = true)]
async fn a_record_longer_than_any_can_be_is_refused_with_its_line() {
    let app = TestApp::start().await;
    let long = "a".repeat(1024 * 1024 + 16 * 1024);
    for (file, line) in [
        (format!("phone,x\n\n+15550000001,a\n+15550000002,{long}\n"), 4),
        (format!("phone,x\n+15550000001,\"\n{long}\"\n"), 3),
        (format!("phone,{long}\n+15550000001,a\n"), 1),
        (format!("phone\n{}\n", ",".repeat(3_000_000)), 2),
    ] {
        let answer = upload(&app, file.into_bytes()).await.expect(400);
        assert_eq!(answer.fields(), [("file", "too_long")]);
        let wanted = format!("the record that reaches line {line} has more than");
        assert!(answer.text("/error/message").contains(&wanted), "{}", answer.body);
    }
}

#[tokio::test(start_paused = true)]
async fn blank_lines_count_for_no_record() {
    let app = TestApp::start().await;
    let file = format!("phone\r\n{}+15550000001\n", "\r\n".repeat(1_500_000));
    upload(&app, file.into_bytes()).await.expect(201);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_columns_are_counted_not_compared() {
    let app = TestApp::start().await;
    let headers: Vec<String> = (0..100_000).map(|n| format!("c{n}")).collect();
    let file = format!("phone,{}\n", headers.join(","));
    let answer = upload(&app, file.into_bytes()).await.expect(400);
    assert_eq!(answer.fields(), [("file", "too_many")]);
}

#[tokio::test(start_paused = true)]
async fn headers_of_a_form_that_do_not_end_are_refused_before_all_has_come() {
    let app = TestApp::start().await;
    let post = |body: String| {
        let request = app.client.request("POST", "/public/v1/campaigns/csv");
        send(
            request
                .header("content-type", "multipart/form-data; boundary=B")
                .body(body),
        )
    };
    let endless = format!(
        "--B\r\nContent-Disposition: form-data; name=\"{}\"\r\n\r\nx\r\n--B--\r\n",
        "n".repeat(8_000_000)
    );
    let answer = post(endless).await.expect(400);
    assert!(
        answer.text("/error/message").contains("before the content of a field"),
        "{}",
        answer.body
    );
    let answer = post("x".repeat(8_000_000)).await.expect(400);
    assert!(
        answer.text("/error/message").contains("before the content of a field"),
        "{}",
        answer.body
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_not_wanted_in_a_form_is_read_past_however_long() {
    let app = TestApp::start().await;
    let long = "x".repeat(4_000_000);
    let form = Form::new()
        .text("note", long.clone())
        .text("name", long.clone())
        .text("file", "phone\n+15550000001\n")
        .text("file", long)
        .text("agentId", "x");
    let request = app.client.request("POST", "/public/v1/campaigns/csv");
    let answer = send(request.multipart(form)).await.expect(400);
    assert_eq!(
        answer.fields(),
        [
            ("note", "unknown_field"),
            ("name", "too_long"),
            ("file", "repeated"),
            ("agentId", "invalid_value"),
        ]
    );
}

#[tokio::test]
async fn fifty_patches_of_an_agent_at_once_all_take_effect() {
    let app = TestApp::start().await;
    let path = format!("/public/v1/agents/{}", app.agent().await);
    let patches = (0..50).map(|n| {
        let body = json!({ "platformSettings": { "widget": { (format!("k{n}")): n } } });
        app.client.patch(&path, body)
    });
    for answer in futures_util::future::join_all(patches).await {
        answer.expect(200);
    }
    let agent = app.client.get(&path).await.expect(200);
    assert_eq!(
        agent.data()["platformSettings"]["widget"].as_object().unwrap().len(),
        50
    );
}

#[tokio::test(start_paused = true)]
async fn an_agent_does_not_grow_beyond_its_limit_by_patches() {
    let app = TestApp::start().await;
    let path = format!("/public/v1/agents/{}", app.agent().await);
    let half = "x".repeat(600_000);
    let widget = |name: &str| json!({ "platformSettings": { "widget": { (name): half } } });
    app.client.patch(&path, widget("a")).await.expect(200);
    let answer = app.client.patch(&path, widget("b")).await.expect(400);
    assert_eq!(answer.fields(), [("platformSettings", "too_long")]);
    app.client.patch(&path, widget("a")).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn the_character_nul_is_refused_at_every_endpoint() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let contact = json!({ "phoneNumber": "+15550000001", "name": "a\0b", "x": { "\0": 1 } });
    let answer = app.client.post("/public/v1/contacts", contact).await.expect(400);
    assert_eq!(answer.fields(), [("name", "not_allowed"), ("x.\0", "not_allowed")]);
    let answer = app.client.get("/public/v1/campaigns?name=%00").await.expect(400);
    assert_eq!(answer.fields(), [("name", "invalid_value")]);
    let form = Form::new().text("agentId", agent).text("name", "a\0b");
    let form = form.text("file", "phone\n+15550000001\n");
    let request = app.client.request("POST", "/public/v1/campaigns/csv");
    let answer = send(request.multipart(form)).await.expect(400);
    assert!(answer.fields().contains(&("name", "not_allowed")), "{}", answer.body);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_of_thousands_of_variables_warns_briefly() {
    let app = TestApp::start().await;
    let prompt: String = (0..5_000).map(|n| format!("{{{{v{n}}}}} ")).collect();
    let agent = json!({ "name": "a", "conversationConfig": { "agent": { "prompt": { "prompt": prompt } } } });
    let made = app.client.post("/public/v1/agents/create", agent).await.expect(201);
    let contacts = [
        json!({ "phoneNumber": "+15550000001", "v0": "x", "v1": " " }),
        json!({ "phoneNumber": "+15550000002", "v0": "y", "v1": "z", "v2": 1 }),
    ];
    let body = json!({ "name": "n", "agentId": made.text("/data/agentId"), "contacts": contacts });
    let warning = app
        .client
        .post("/public/v1/campaigns", body)
        .await
        .expect(201)
        .text("/warning");
    assert!(
        warning.starts_with("`{{v1}}` has no value for 1 of 2 contacts, `{{v2}}` has"),
        "{warning}"
    );
    assert!(warning.contains(", and 4979 more variables; "), "{warning}");
}
