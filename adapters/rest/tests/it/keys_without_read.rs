//! Tests of answers to changes that are made with a key which may not read. `keys_without_read.json` lists the changes.

use std::{collections::BTreeSet, sync::Arc};

use carriers::plain;
use serde_json::{Value, json};
use support::{
    app::TestApp,
    client::{Answer, Client, send},
    contract::CLOSED,
    world::{World, WorldSettings},
};

const LIST: &str = include_str!("keys_without_read.json");
const BASE: &str = "/public/v1";
/// A word that every resource has in all of its texts.
const SECRET: &str = "quokka";
/// Beginning of all numbers that are not in the path.
const SECRET_NUMBERS: &str = "+15550161";

/// Names in braces and their values.
type Ids = Vec<(String, String)>;

fn filled(text: &str, ids: &Ids) -> String {
    ids.iter()
        .fold(text.to_owned(), |text, (name, id)| text.replace(name, id))
}

async fn ask(client: &Client, request: &Value, ids: &Ids) -> Answer {
    let path = filled(&format!("{BASE}{}", request[1].as_str().unwrap()), ids);
    let sent = client.request(request[0].as_str().unwrap(), &path);
    let sent = sent.header("content-type", "application/json");
    send(sent.body(filled(&request[2].to_string(), ids))).await
}

/// Keeps the id that the answer has.
fn note(request: &Value, answer: &Answer, ids: &mut Ids) {
    if let Some(field) = request[3].as_str() {
        let name = request[4]
            .as_str()
            .map_or_else(|| format!("{{{field}}}"), str::to_owned);
        ids.push((name, answer.text(&format!("/data/{field}"))));
    }
}

async fn with_scopes(client: &Client, scopes: &[&str]) -> Client {
    let body = json!({ "name": "limited", "scopes": scopes });
    let made = client.post("/public/v1/me/api-keys", body).await.expect(201);
    Client::new(&client.base, &made.text("/data/apiKey"))
}

fn operation(method: &str, path: &str) -> &'static Value {
    &CLOSED["paths"][format!("{BASE}{path}")][method.to_lowercase()]
}

/// Returns the fields that the description allows without `read`.
fn allowed(operation: &'static Value, status: u16) -> BTreeSet<&'static str> {
    let data =
        &operation["responses"][status.to_string()]["content"]["application/json"]["schema"]["properties"]["data"];
    let schema = match data["anyOf"].as_array() {
        Some(either) => either.last().unwrap(),
        None => CLOSED
            .pointer(data["$ref"].as_str().unwrap().trim_start_matches('#'))
            .unwrap(),
    };
    schema["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

fn tells_nothing(what: &str, answer: &Answer) {
    let text = answer.body.to_string();
    assert!(
        !text.contains(SECRET) && !text.contains(SECRET_NUMBERS),
        "{what}: {text}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_key_without_read_gets_ids_and_states_from_every_change_that_it_makes() {
    let world = World::start_with(WorldSettings {
        trunk: Some(Arc::new(|_: &str| plain::trunk())),
        ..WorldSettings::default()
    })
    .await;
    let list: Value = serde_json::from_str(LIST).unwrap();
    let fixed = [
        ("{secret}", SECRET),
        ("{phoneNumber}", "+15550100078"),
        ("{serviceName}", "carrier-telnyx"),
        ("{version}", "1"),
    ];
    let mut ids: Ids = fixed.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    for request in list["seed"].as_array().unwrap() {
        let answer = ask(&world.client, request, &ids).await.expect(201);
        note(request, &answer, &mut ids);
    }
    let mut made = BTreeSet::new();
    for request in list["changes"].as_array().unwrap() {
        let (method, path) = (request[0].as_str().unwrap(), request[1].as_str().unwrap());
        let what = format!("{method} {path}");
        let needed = operation(method, path)["x-required-scopes"].as_array().unwrap();
        assert_eq!(needed.len(), 1, "{what}");
        let client = with_scopes(&world.client, &[needed[0].as_str().unwrap()]).await;
        let answer = ask(&client, request, &ids).await;
        tells_nothing(&what, &answer);
        // The call may be over already.
        if answer.status == 409 && path.starts_with("/conversations/") {
            made.insert(what);
            continue;
        }
        assert!(answer.status < 300, "{what}: {}", answer.body);
        let fields = answer.data().as_object().unwrap();
        let allowed = allowed(operation(method, path), answer.status);
        assert!(
            fields.keys().all(|name| allowed.contains(name.as_str())),
            "{what}: {fields:?}"
        );
        assert!(!fields.is_empty() || path == "/safeguards", "{what}");
        note(request, &answer, &mut ids);
        made.insert(what);
    }
    for (path, item) in CLOSED["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let what = format!("{} {}", method.to_uppercase(), path.trim_start_matches(BASE));
            let reads = operation["x-required-scopes"]
                .as_array()
                .is_none_or(|scopes| scopes.contains(&json!("read")));
            if !reads && ["post", "patch"].contains(&method.as_str()) {
                assert!(
                    made.contains(&what) || list["not"][&what].is_string(),
                    "{what} is not listed"
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_replay_for_a_key_without_read_is_as_short_as_its_own_answers() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let writer = with_scopes(&app.client, &["write"]).await;
    let number = "+15550161000";
    for (path, id, body) in [
        (
            "/contacts",
            "contactId",
            json!({ "phoneNumber": number, "name": SECRET }),
        ),
        (
            "/campaigns",
            "campaignId",
            json!({ "name": SECRET, "agentId": agent, "contacts": [{ "phoneNumber": number }] }),
        ),
    ] {
        let path = format!("{BASE}{path}");
        let create = async |client: &Client| {
            let request = client.request("POST", &path).header("idempotency-key", id).json(&body);
            send(request).await.expect(201)
        };
        let whole = create(&app.client).await;
        assert!(whole.body.to_string().contains(SECRET));
        let replay = create(&writer).await;
        assert_eq!(replay.headers["idempotency-replayed"], "true");
        assert_eq!(replay.data()[id], whole.data()[id]);
        tells_nothing(&path, &replay);
        assert_eq!(
            create(&app.client).await.data()["name"],
            SECRET,
            "with `read` it is whole"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_deletion_names_to_a_key_without_read_only_the_ids_of_what_needs_the_thing() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let campaign = json!({ "name": SECRET, "agentId": agent, "contacts": [{ "phoneNumber": "+15550161000" }] });
    let campaign = app.client.post("/public/v1/campaigns", campaign).await.expect(201);
    let path = format!("{BASE}/agents/{agent}");
    let refused = app.client.delete(&path).await.expect(409).text("/error/message");
    assert!(refused.contains(SECRET), "{refused}");
    let refused = with_scopes(&app.client, &["write"])
        .await
        .delete(&path)
        .await
        .expect(409);
    assert_eq!(refused.code(), "in_use");
    assert!(
        refused
            .text("/error/message")
            .contains(&campaign.text("/data/campaignId"))
    );
    tells_nothing(&path, &refused);
}
