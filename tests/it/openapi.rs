//! The description of the API: it is complete and correct, and the page that shows it needs no network.
//!
//! The client of all tests here (`support/contract.rs`) checks that every response is as described.

use std::{fs, path::Path};

use domain::{
    phone_number::PhoneNumber,
    ports::store::{CampaignStatus, ConversationStatus},
};
use proptest::prelude::*;
use rest::openapi::{description, docs_router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::layout::files_below;
use support::{
    app::{PUBLIC_URL, TestApp},
    client::send,
    contract::{CLOSED, problems},
};

const METHODS: [&str; 4] = ["get", "post", "patch", "delete"];

/// Returns every operation: method, path, operation.
pub fn operations(description: &Value) -> Vec<(String, String, Value)> {
    let mut found = Vec::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            found.push((method.clone(), path.clone(), operation.clone()));
        }
    }
    found
}

#[tokio::test(start_paused = true)]
async fn it_is_served_without_a_key_and_without_the_envelope() {
    let app = TestApp::start().await;
    let response = app.client.bare("GET", "/public/openapi.json").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert!(response.headers().contains_key("x-request-id"));
    let served: Value = response.json().await.unwrap();
    assert_eq!(served, description(PUBLIC_URL));
    assert_eq!(served["openapi"], "3.1.0");
    assert_eq!(served["info"]["version"], "1.0.0");
    send(app.client.bare("GET", "/public/openapi.json?x=1"))
        .await
        .expect(400);
}

#[tokio::test(start_paused = true)]
async fn every_described_operation_is_there() {
    let app = TestApp::start().await;
    for (method, path, operation) in operations(&CLOSED) {
        if operation["security"] == json!([]) {
            continue;
        }
        let path = path.replace("{phoneNumber}", "+15550100010");
        let parts: Vec<&str> = path
            .split('/')
            .map(|part| {
                if part.starts_with('{') {
                    "0198d1a0-0000-7000-8000-00000000000a"
                } else {
                    part
                }
            })
            .collect();
        let answer = send(app.client.bare(&method.to_uppercase(), &parts.join("/"))).await;
        assert_eq!(answer.status, 401, "{method} {path} is described but not there");
    }
}

/// Returns the fields of the described bodies: method, path, names.
fn described_fields() -> Vec<(String, String, Vec<String>)> {
    let mut found = Vec::new();
    for (method, path, operation) in operations(&CLOSED) {
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let Some(reference) = schema["$ref"].as_str() else {
            continue;
        };
        let schema = CLOSED.pointer(reference.trim_start_matches('#')).unwrap();
        let names = schema["properties"].as_object().into_iter().flatten();
        found.push((method, path, names.map(|(name, _)| name.clone()).collect()));
    }
    found
}

/// Makes one of each thing that a path can name. Returns the placeholders with the ids.
async fn one_of_each(app: &TestApp) -> [(&'static str, String); 10] {
    let made = |path: &'static str, body: Value, id: &'static str| {
        let client = &app.client;
        async move { client.post(path, body).await.expect(201).text(&format!("/data/{id}")) }
    };
    let agent = app.agent().await;
    let number = json!({ "phoneNumber": "+15550100010" });
    let campaign = json!({ "name": "c", "agentId": agent, "contacts": [number] });
    let rule = json!({ "name": "r", "transferDestination": number });
    let call = json!({ "agentId": agent, "phoneNumber": "+15550001112" });
    let key = json!({ "name": "k", "scopes": ["read"] });
    let tool = json!({ "name": "t", "description": "d", "url": "https://example.com/" });
    [
        (
            "{campaignId}",
            made("/public/v1/campaigns", campaign, "campaignId").await,
        ),
        (
            "{contactId}",
            made("/public/v1/contacts", number.clone(), "contactId").await,
        ),
        (
            "{groupId}",
            made("/public/v1/knowledge-base/groups", json!({ "name": "g" }), "groupId").await,
        ),
        (
            "{transferRuleId}",
            made("/public/v1/transfer-rules", rule, "transferRuleId").await,
        ),
        (
            "{webhookId}",
            made(
                "/public/v1/webhooks",
                json!({ "url": "https://example.com/" }),
                "webhookId",
            )
            .await,
        ),
        ("{toolId}", made("/public/v1/tools", tool, "toolId").await),
        ("{phoneNumber}", "+15550001111".to_owned()),
        (
            "{conversationId}",
            made("/public/v1/calls", call, "conversationId").await,
        ),
        ("{keyId}", made("/public/v1/me/api-keys", key, "keyId").await),
        ("{agentId}", agent),
    ]
}

/// Returns a path with the ids in place of the placeholders.
fn with_ids(path: String, ids: &[(&str, String)]) -> String {
    ids.iter().fold(path, |path, (name, id)| path.replace(name, id))
}

#[tokio::test(start_paused = true)]
async fn every_described_field_is_known() {
    let app = TestApp::start().await;
    let ids = one_of_each(&app).await;
    let bodies = described_fields();
    assert!(bodies.len() >= 12, "{bodies:?}");
    for (method, path, names) in bodies {
        let path = with_ids(path, &ids);
        for name in names {
            // A value that fits no field's type, so that nothing is changed.
            let request = app.client.request(&method.to_uppercase(), &path);
            let answer = send(request.json(&json!({ &name: [[{}]] }))).await;
            assert_eq!(answer.status, 400, "{method} {path} {name}");
            let unknown = answer.fields().contains(&(name.as_str(), "unknown_field"));
            assert!(!unknown, "{method} {path} does not know `{name}`");
        }
    }
}

/// Returns the bodies that set a field to `null` which neither the schema nor any schema below knows.
fn unknown_nulls(description: &Value, schema: &Value, depth: usize) -> Vec<Value> {
    let schema = match schema["$ref"].as_str() {
        Some(reference) => description.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    let alternatives = ["oneOf", "anyOf", "allOf"]
        .iter()
        .filter_map(|name| schema[*name].as_array());
    let alternatives = alternatives.flatten();
    let mut bodies: Vec<Value> = alternatives
        .flat_map(|one| unknown_nulls(description, one, depth))
        .collect();
    if schema["additionalProperties"] == json!(false) {
        bodies.push(json!({ "nonsense": null }));
    }
    if depth > 0 {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let inner = unknown_nulls(description, field, depth - 1);
            bodies.extend(inner.into_iter().map(|body| json!({ name: body })));
        }
    }
    bodies
}

#[tokio::test(start_paused = true)]
async fn a_field_that_a_patch_does_not_know_is_refused_even_if_it_is_null() {
    let app = TestApp::start().await;
    let ids = one_of_each(&app).await;
    let description = description("/");
    let mut tried = 0;
    for (method, path, operation) in operations(&description) {
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        if method != "patch" {
            continue;
        }
        let path = with_ids(path, &ids);
        for body in unknown_nulls(&description, schema, 4) {
            let answer = app.client.patch(&path, body.clone()).await;
            assert_eq!(answer.status, 400, "{path} {body}");
            tried += 1;
        }
    }
    assert!(tried > 30, "{tried}");
}

/// Returns the routes that are listed in the API's source files apart from their descriptions: path and method.
fn routes() -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for file in files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters/rest/src")) {
        let source = fs::read_to_string(file).unwrap();
        let source: String = source.split_whitespace().collect();
        for route in source.split(".route(").skip(1) {
            let path = route.split('"').nth(1).unwrap_or_default();
            if !path.starts_with("/public/") {
                continue;
            }
            let handlers = route.split("\",").nth(1).unwrap_or_default();
            for method in METHODS {
                if handlers.starts_with(&format!("{method}(")) || handlers.contains(&format!(".{method}(")) {
                    found.push((path.to_owned(), method));
                }
            }
        }
    }
    found
}

#[test]
fn every_route_is_described() {
    let routes = routes();
    // The others are made of their descriptions.
    assert!(routes.len() >= 7, "{routes:?}");
    for (path, method) in routes {
        let described = CLOSED["paths"].get(&path).and_then(|item| item.get(method)).is_some();
        assert!(described, "{method} {path} is not described");
    }
}

#[test]
fn every_operation_says_what_it_takes_and_answers() {
    let mut ids = Vec::new();
    for (method, path, operation) in operations(&CLOSED) {
        let at = format!("{method} {path}");
        ids.push(operation["operationId"].as_str().unwrap().to_owned());
        assert!(operation["summary"].is_string() && operation["tags"].is_array(), "{at}");
        let statuses = operation["responses"].as_object().unwrap();
        let has = |status: &str| statuses.contains_key(status);
        assert!(has("200") || has("201") || has("101"), "{at}");
        assert!(has("400") && has("500"), "{at}");
        let authenticates = operation["security"] != json!([]) || operation["operationId"] == "signIn";
        assert_eq!(has("401"), authenticates, "{at}");
        assert_eq!(
            has("404") && method != "post",
            path.contains('{') && method != "post",
            "{at}"
        );
        assert_eq!(has("415"), operation.get("requestBody").is_some(), "{at}");
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "an operationId stands twice");
}

/// Collects schema and examples of every body and response, with their location.
fn contents(value: &Value, at: &str, found: &mut Vec<(String, Value, Value)>) {
    match value {
        Value::Object(map) => {
            if let (Some(schema), Some(examples)) = (map.get("schema"), map.get("examples").filter(|e| e.is_object())) {
                found.push((at.to_owned(), schema.clone(), examples.clone()));
            }
            for (name, inner) in map {
                contents(inner, &format!("{at}/{name}"), found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| contents(item, at, found)),
        _ => {}
    }
}

#[test]
fn every_example_is_as_its_schema_says() {
    let mut found = Vec::new();
    contents(&CLOSED, "#", &mut found);
    assert!(found.len() > 100, "{}", found.len());
    for (at, schema, examples) in found {
        for (name, example) in examples.as_object().unwrap() {
            let problems = problems(&at, &schema, &example["value"]);
            assert!(problems.is_empty(), "{at}, {name}: {problems:#?}\n{example:#}");
        }
    }
}

#[test]
fn the_enums_are_those_of_the_domain() {
    let listed = |name: &str| {
        let mut texts: Vec<String> = CLOSED["components"]["schemas"][name]["enum"]
            .as_array()
            .unwrap()
            .iter()
            .map(|text| text.as_str().unwrap().to_owned())
            .collect();
        texts.sort();
        texts
    };
    let sorted = |texts: Vec<&str>| {
        let mut texts: Vec<String> = texts.into_iter().map(str::to_owned).collect();
        texts.sort();
        texts
    };
    let campaign = CampaignStatus::ALL.map(CampaignStatus::as_str).to_vec();
    assert_eq!(listed("CampaignStatus"), sorted(campaign));
    let conversation = ConversationStatus::ALL.map(ConversationStatus::as_str).to_vec();
    assert_eq!(listed("ConversationStatus"), sorted(conversation));
}

proptest! {
    #[test]
    fn the_phone_pattern_takes_every_number_that_the_parser_reads(text in r"[ ]{0,2}(\+|00|0 0|)[1-9]?[-0-9 ().+/]{5,18}") {
        let schema = json!({ "$ref": "#/components/schemas/PhoneNumberSent" });
        let described = problems("PhoneNumberSent", &schema, &json!(text)).is_empty();
        // The plans of the countries, which refuse more, are no pattern.
        prop_assert!(described || PhoneNumber::parse(&text).is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn the_page_loads_nothing_from_outside() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, docs_router()).await });
    let http = net::http_client::builder().build().unwrap();
    let described = http.get(format!("{base}/docs/openapi.json")).send().await.unwrap();
    assert_eq!(
        described.json::<Value>().await.unwrap()["servers"],
        json!([{ "url": "/" }])
    );
    let nothing = http.get(format!("{base}/docs/nothing")).send().await.unwrap();
    assert_eq!(nothing.status(), 404);
    assert!(nothing.headers().contains_key("content-security-policy"));
    let nothing = nothing.json::<Value>().await.unwrap();
    assert_eq!(
        (&nothing["success"], &nothing["error"]["code"]),
        (&json!(false), &json!("not_found"))
    );
    let page = http.get(format!("{base}/docs")).send().await.unwrap();
    assert_eq!(page.status(), 200);
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(
        policy.contains("default-src 'none'") && policy.contains("script-src 'self';"),
        "{policy}"
    );
    let html = page.text().await.unwrap();
    let mut files = Vec::new();
    for attribute in ["src=\"", "href=\""] {
        files.extend(html.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()));
    }
    assert!(files.len() >= 4, "{html}");
    for file in files {
        assert!(!file.contains("//"), "{file} lies elsewhere");
        let url = format!("{base}/docs/{}", file.trim_start_matches("./"));
        let response = http.get(&url).send().await.unwrap();
        assert_eq!(response.status(), 200, "{url}");
        let text = response.text().await.unwrap();
        if file.ends_with(".css") {
            assert!(
                !text.contains("@import") && !text.contains("url(http"),
                "{file} loads from elsewhere"
            );
        }
        if file.ends_with("swagger-initializer.js") {
            assert!(
                text.contains("/docs/openapi.json") && text.contains("\"validatorUrl\": \"none\""),
                "{text}"
            );
        }
    }
}
