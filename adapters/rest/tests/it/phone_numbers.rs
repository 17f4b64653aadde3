//! Tests of the account's phone numbers and their agents.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use rest::{RestState, server::ServerLimits};
use sim::stub_carriers::{
    KINDS,
    run::{self, Running, Wish},
};
use support::{
    app::{TestApp, numbers},
    client::Client,
};

const NUMBERS: &str = "/public/v1/phone-numbers";

async fn agent(client: &Client, name: &str, direction: &str, numbers: &[&str]) -> String {
    let numbers: Vec<Value> = numbers.iter().map(|number| json!({ "number": number })).collect();
    let prompt = json!({ "agent": { "prompt": { "prompt": "Ask." } } });
    let body = json!({
        "name": name, "direction": direction, "phoneNumbers": numbers, "conversationConfig": prompt,
    });
    let made = client.post("/public/v1/agents/create", body).await.expect(201);
    made.text("/data/agentId")
}

async fn named(client: &Client, agent: &str) -> Value {
    let agent = client.get(&format!("/public/v1/agents/{agent}")).await.expect(200);
    agent.data()["phoneNumbers"].clone()
}

#[tokio::test(start_paused = true)]
async fn numbers_are_listed_with_their_agents_in_pages() {
    let app = TestApp::start().await;
    let ava = agent(&app.client, "Ava", "both", &["+15550000003", "+15550000001"]).await;
    let bo = agent(&app.client, "Bo", "outbound", &["+15550000002", "+15550000003"]).await;
    let stranger = app.stranger().await;
    agent(&stranger, "Eve", "inbound", &["+15550000009"]).await;
    let of = |id: &str, name: &str, answers: bool| json!({ "agentId": id, "name": name, "answers": answers });
    let expected = [
        json!({ "phoneNumber": "+15550000001", "agents": [of(&ava, "Ava", true)] }),
        json!({ "phoneNumber": "+15550000002", "agents": [of(&bo, "Bo", false)] }),
        json!({ "phoneNumber": "+15550000003", "agents": [of(&ava, "Ava", true), of(&bo, "Bo", false)] }),
    ];
    assert_eq!(app.client.get(NUMBERS).await.expect(200).data(), &json!(expected));
    let first = app.client.get(&format!("{NUMBERS}?pageSize=2")).await.expect(200);
    assert_eq!(first.data(), &json!(expected[..2]));
    let cursor = first.text("/pagination/nextCursor");
    let second = app
        .client
        .get(&format!("{NUMBERS}?pageSize=2&cursor={cursor}"))
        .await
        .expect(200);
    assert_eq!(second.data(), &json!(expected[2..]));
    assert_eq!(second.body["pagination"]["hasMore"], false);
    stranger.get(&format!("{NUMBERS}?cursor={cursor}")).await.expect(400);
    let other = stranger.get(NUMBERS).await.expect(200);
    assert_eq!(other.data()[0]["phoneNumber"], "+15550000009");
}

/// Starts a service with accounts at these carriers. Those with `true` have the right key.
async fn with_carriers(carriers: &[(&str, bool)]) -> (TestApp, Vec<Running>) {
    let (mut stubs, mut variables) = (Vec::new(), BTreeMap::new());
    for (carrier, has_key) in carriers {
        let wish = Wish {
            carrier: KINDS.iter().find(|kind| kind.name == *carrier).unwrap(),
            listen: ([127, 0, 0, 1], 0).into(),
            service: "http://127.0.0.1:8080".into(),
            untidy: false,
            cut_after: None,
        };
        let stub = run::start(wish).await.unwrap();
        for (name, value) in stub.environment() {
            let is_secret = ["TWILIO_AUTH_TOKEN", "SIGNALWIRE_TOKEN", "TELNYX_API_KEY"].contains(&name);
            let value = if is_secret && !has_key {
                "wrong".to_owned()
            } else {
                value.clone()
            };
            variables.insert(name, value);
        }
        stubs.push(stub);
    }
    let numbers = numbers(|name| variables.get(name).cloned());
    let app = TestApp::changed(ServerLimits::default(), |state| RestState { numbers, ..state }).await;
    (app, stubs)
}

#[tokio::test]
async fn numbers_of_a_carrier_are_listed_and_assigned_with_it() {
    for name in ["twilio", "signalwire", "telnyx"] {
        let (app, _stubs) = with_carriers(&[(name, true)]).await;
        let ava = agent(&app.client, "Ava", "both", &["+15550000002", "+15550000009"]).await;
        let stranger = app.stranger().await;
        let eve = agent(&stranger, "Eve", "outbound", &["+15550000003"]).await;
        let ava_shown = json!([{ "agentId": ava, "name": "Ava", "answers": true }]);
        let expected = json!([
            { "phoneNumber": "+15550000001", "provider": name, "agents": [] },
            { "phoneNumber": "+15550000002", "provider": name, "agents": ava_shown },
            { "phoneNumber": "+15550000009", "agents": ava_shown },
        ]);
        assert_eq!(app.client.get(NUMBERS).await.expect(200).data(), &expected);
        let (mut paged, mut path) = (Vec::new(), format!("{NUMBERS}?pageSize=1"));
        loop {
            let page = app.client.get(&path).await.expect(200);
            paged.extend(page.data().as_array().unwrap().clone());
            if page.body["pagination"]["hasMore"] == false {
                break;
            }
            path = format!("{NUMBERS}?pageSize=1&cursor={}", page.text("/pagination/nextCursor"));
        }
        assert_eq!(json!(paged), expected);
        let eve_shown = json!([{ "agentId": eve, "name": "Eve", "answers": false }]);
        let others = json!([
            { "phoneNumber": "+15550000001", "provider": name, "agents": [] },
            { "phoneNumber": "+15550000003", "provider": name, "agents": eve_shown },
        ]);
        assert_eq!(stranger.get(NUMBERS).await.expect(200).data(), &others);

        let path = format!("{NUMBERS}/%2B15550000001");
        let given = app.client.patch(&path, json!({ "agentId": ava })).await.expect(200);
        assert_eq!(given.data()["provider"], name);
        let entry = json!({ "number": "+15550000001", "provider": name });
        assert_eq!(named(&app.client, &ava).await[2], entry);
        assert_eq!(stranger.get(NUMBERS).await.expect(200).data(), &json!([others[1]]));
    }
}

#[tokio::test]
async fn a_carrier_that_refuses_costs_only_its_numbers() {
    for (refuses, answers) in [("twilio", "telnyx"), ("telnyx", "twilio")] {
        let (app, _stubs) = with_carriers(&[(refuses, false), (answers, true)]).await;
        let ava = agent(&app.client, "Ava", "both", &["+15550000007"]).await;
        let shown = app.client.get(NUMBERS).await.expect(200).data().clone();
        let numbers: Vec<&str> = shown
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n["phoneNumber"].as_str().unwrap())
            .collect();
        assert!(numbers.len() > 1 && numbers.contains(&"+15550000007"), "{numbers:?}");
        for number in shown.as_array().unwrap() {
            if number["phoneNumber"] == "+15550000007" {
                assert_eq!(number["agents"][0]["agentId"], ava);
                assert_eq!(number.get("provider"), None);
            } else {
                assert_eq!(number["provider"], answers);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_number_is_assigned_by_the_rules_of_the_agents_own_field() {
    let app = TestApp::start().await;
    let ava = agent(&app.client, "Ava", "inbound", &["+15550000001"]).await;
    let bo = agent(&app.client, "Bo", "both", &[]).await;
    let path = |number: &str| format!("{NUMBERS}/%2B{number}");
    let to = |agent: &str| json!({ "agentId": agent });
    let taken = app.client.patch(&path("15550000001"), to(&bo)).await.expect(409);
    assert_eq!(taken.code(), "number_in_use");
    let given = app.client.patch(&path("15550000002"), to(&bo)).await.expect(200);
    assert_eq!(
        given.data(),
        &json!({ "phoneNumber": "+15550000002", "agents": [{ "agentId": bo, "name": "Bo", "answers": true }] })
    );
    assert_eq!(named(&app.client, &bo).await, json!([{ "number": "+15550000002" }]));
    // Assigning it again changes nothing.
    app.client.patch(&path("15550000002"), to(&bo)).await.expect(200);
    assert_eq!(named(&app.client, &bo).await, json!([{ "number": "+15550000002" }]));

    let free = app
        .client
        .patch(&path("15550000001"), json!({ "agentId": null }))
        .await
        .expect(200);
    assert_eq!(free.data(), &json!({ "phoneNumber": "+15550000001", "agents": [] }));
    assert_eq!(named(&app.client, &ava).await, json!([]));
    app.client.patch(&path("15550000001"), to(&bo)).await.expect(200);
    assert_eq!(named(&app.client, &bo).await.as_array().unwrap().len(), 2);

    let stranger = app.stranger().await;
    let theirs = agent(&stranger, "Eve", "inbound", &[]).await;
    stranger
        .patch(&path("15550000001"), json!({ "agentId": null }))
        .await
        .expect(404);
    stranger.patch(&path("15550000001"), to(&bo)).await.expect(404);
    let taken = stranger.patch(&path("15550000001"), to(&theirs)).await.expect(409);
    assert_eq!(taken.code(), "number_in_use");
    assert_eq!(named(&app.client, &bo).await.as_array().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn wrong_assignments_are_named() {
    let app = TestApp::start().await;
    let path = format!("{NUMBERS}/+15550000001");
    for (body, fields) in [
        (json!({}), vec![("agentId", "required")]),
        (json!({ "agentId": 4 }), vec![("agentId", "wrong_type")]),
        (json!({ "agentId": "x" }), vec![("agentId", "invalid_value")]),
        (
            json!({ "agentId": null, "agent": null }),
            vec![("agent", "unknown_field")],
        ),
    ] {
        assert_eq!(app.client.patch(&path, body).await.expect(400).fields(), fields);
    }
    let nobody = json!({ "agentId": "0198d1a0-0000-7000-8000-00000000000a" });
    app.client.patch(&path, nobody).await.expect(404);
    app.client.patch(&path, json!({ "agentId": null })).await.expect(404);
    app.client
        .patch(&format!("{NUMBERS}/x"), json!({ "agentId": null }))
        .await
        .expect(404);
}
