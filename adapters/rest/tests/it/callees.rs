//! Tests of the name and the fields of the other person: on every call, in every list and file, in searches, until they
//! are erased.

use std::time::Duration;

use domain::{
    id::{CampaignId, NodeId},
    ports::store::{
        AccountEventStore, AttemptStore, CampaignReadStore, Claim, ConversationStatus, DeliveryStore, ErasureStore,
        NodeStore, Outcome, PermitRequest,
    },
    time::{Clock as _, TokioClock},
};
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use support::{
    app::{START, TestApp},
    client::{Answer, send},
};

const CSV: &str = "phone,name,email,city,balance\n\
    +15550100010,Zoë Moss,zoe@example.com,Graz,-1\n\
    +15550100011,=Bo,,+1+1,7\n";

/// A campaign of two people, whose first contact is also in the address book, under another name.
struct Scene {
    app: TestApp,
    clock: TokioClock,
    node: NodeId,
    campaign: CampaignId,
    contact: String,
}

impl Scene {
    async fn start() -> Self {
        let clock = TokioClock::starting_at(START);
        let app = TestApp::start().await;
        let saved = json!({ "phoneNumber": "+15550100010", "name": "Address Book", "plan": "gold" });
        let saved = app.client.post("/public/v1/contacts", saved).await.expect(201);
        let form = Form::new()
            .part("file", Part::bytes(CSV.as_bytes()).file_name("people.csv"))
            .text("agentId", app.agent().await)
            .text("name", "Spring")
            .text("launch", "true");
        let request = app.client.request("POST", "/public/v1/campaigns/csv").multipart(form);
        let campaign = send(request).await.expect(201).text("/data/campaignId");
        let node = NodeId::new();
        app.store.register_node(node, None).await.unwrap();
        Self {
            app,
            clock,
            node,
            campaign: campaign.parse().unwrap(),
            contact: saved.text("/data/contactId"),
        }
    }

    async fn dial(&self) -> Claim {
        tokio::time::advance(Duration::from_secs(1)).await;
        let claim = self.app.store.claim(self.node, self.campaign, 1).await.unwrap()[0].claim;
        let request = PermitRequest {
            carrier: "simulated".into(),
            caller_id: None,
            agent_version: None,
            restricted_prefixes: Vec::new(),
        };
        self.app.store.permit(claim, request).await.unwrap();
        claim
    }

    async fn finish(&self, claim: Claim) {
        let outcome = Outcome {
            status: ConversationStatus::Completed,
            error: None,
            voicemail: false,
            transferred: false,
            collected: [("day".to_owned(), "=Monday".to_owned())].into(),
            times: Default::default(),
            facts_follow: false,
            refusal: None,
        };
        self.app.store.finish(claim, outcome, None).await.unwrap();
    }

    /// Gives the person another name in the address book.
    async fn rename(&self) {
        let path = format!("/public/v1/contacts/{}", self.contact);
        let renamed = json!({ "name": "Renamed", "city": "Linz" });
        self.app.client.patch(&path, renamed).await.expect(200);
    }

    async fn get(&self, path: &str) -> Answer {
        self.app.client.get(&format!("/public/v1/{path}")).await.expect(200)
    }

    async fn file(&self, path: &str) -> String {
        let request = self.app.client.request("GET", &format!("/public/v1/{path}"));
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        // `text` would take the mark away.
        String::from_utf8(answer.bytes().await.unwrap().into()).unwrap()
    }

    async fn results(&self, query: &str) -> String {
        self.file(&format!("campaigns/{}/results.csv{query}", self.campaign))
            .await
    }
}

/// Fields of the first person at the dial, with those of the address book at that time.
fn fields() -> Value {
    json!({ "email": "zoe@example.com", "city": "Graz", "balance": "-1", "plan": "gold" })
}

/// Parses a CSV file. Returns its headers and the first row as an object.
fn first_row(file: &str) -> (Vec<String>, Value) {
    let mut reader = csv::Reader::from_reader(file.trim_start_matches('\u{feff}').as_bytes());
    let headers: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row = reader.records().next().unwrap().unwrap();
    let cells = headers.iter().cloned().zip(row.iter().map(|cell| json!(cell)));
    let row = Value::Object(cells.collect());
    (headers, row)
}

#[tokio::test(start_paused = true)]
async fn a_call_has_the_name_and_fields_of_its_row_as_they_were_at_the_dial() {
    let scene = Scene::start().await;
    let claim = scene.dial().await;
    let id = claim.attempt;
    scene.rename().await;
    let is_hers = |shown: &Value| {
        assert_eq!(shown["contactName"], "Zoë Moss", "{shown}");
        assert_eq!(shown["variables"], fields(), "{shown}");
    };
    is_hers(&scene.get("calls/live").await.data()[0]);
    scene.app.store.answered(claim, scene.clock.now()).await.unwrap();
    scene.finish(claim).await;
    is_hers(scene.get(&format!("conversations/{id}")).await.data());
    is_hers(&scene.get("conversations").await.data()[0]);
    let lines = scene.file("conversations/export?format=jsonl").await;
    is_hers(&serde_json::from_str(&lines).unwrap());
    let events = scene.app.store.events_after(scene.app.account.id, 0, 9).await.unwrap();
    let of_call: Vec<Value> = events
        .iter()
        .filter(|event| event.attempt == Some(id))
        .map(|event| event.body()["data"].clone())
        .collect();
    assert!(of_call.len() >= 2, "{events:?}");
    of_call.iter().for_each(is_hers);
    let changed = scene.app.store.latest_conversations(scene.campaign, 9).await.unwrap();
    assert_eq!(changed[0].who.name.as_deref(), Some("Zoë Moss"));
    // The call is over, its row in the campaign is as before.
    for query in ["zoe moss", "graz", "zoe*"] {
        let found = scene.get(&format!("conversations?search={query}")).await;
        assert_eq!(found.data()[0]["conversationId"], json!(id), "{query}");
        let matches = found.data()[0]["matches"].as_array().unwrap().clone();
        assert!(matches[0].get("turn").is_none() && !matches[0]["text"].as_str().unwrap().is_empty());
    }
    assert_eq!(*scene.get("conversations?search=renamed").await.data(), json!([]));
}

#[tokio::test(start_paused = true)]
async fn files_begin_with_a_mark_and_have_a_column_for_each_collected_value() {
    let scene = Scene::start().await;
    let zone = json!({ "timezone": "Europe/Vienna" });
    scene.app.client.patch("/public/v1/me/settings", zone).await.expect(200);
    for _ in 0..2 {
        let claim = scene.dial().await;
        scene.finish(claim).await;
    }
    let results = scene.results("").await;
    assert!(results.starts_with("\u{feff}phoneNumber,name,"), "{results}");
    assert_eq!(
        scene.results("?bom=false").await,
        results.trim_start_matches('\u{feff}')
    );
    let (headers, row) = first_row(&results);
    assert_eq!(
        headers[8..],
        ["dataCollected", "collected.day", "email", "city", "balance"]
    );
    assert_eq!(
        (&row["phoneNumber"], &row["collected.day"], &row["balance"]),
        (&json!("+15550100010"), &json!("'=Monday"), &json!("-1"))
    );
    let last = results.lines().last().unwrap();
    assert!(
        last.starts_with("+15550100011,'=Bo,") && last.ends_with(",'+1+1,7"),
        "{last}"
    );

    let export = scene.file("conversations/export").await;
    assert!(export.starts_with("\u{feff}conversationId,"), "{export}");
    let plain = scene.file("conversations/export?bom=false").await;
    assert_eq!(plain, export.trim_start_matches('\u{feff}'));
    let (headers, row) = first_row(&export);
    assert_eq!(headers.last().unwrap(), "collected.day");
    for (name, expected) in [
        ("contactNumber", "+15550100011"),
        ("contactName", "'=Bo"),
        ("startTime", "2026-01-01T01:00:02+01:00"),
        ("endTime", "2026-01-01T01:00:02+01:00"),
        ("variables", r#"{"city":"+1+1","balance":"7"}"#),
        ("dataCollected", r#"{"day":"=Monday"}"#),
        ("collected.day", "'=Monday"),
    ] {
        assert_eq!(row[name], expected, "{name}");
    }
    let bad = "/public/v1/conversations/export?bom=perhaps";
    let refused = scene.app.client.get(bad).await.expect(400);
    assert_eq!(refused.fields(), [("bom", "invalid_value")]);
}

#[tokio::test(start_paused = true)]
async fn results_with_their_mark_are_uploaded_again_without_what_was_collected() {
    let scene = Scene::start().await;
    let claim = scene.dial().await;
    scene.finish(claim).await;
    let file = scene.results("").await;
    let form = Form::new()
        .part("file", Part::bytes(file.into_bytes()).file_name("results.csv"))
        .text("agentId", scene.app.agent().await)
        .text("name", "Again");
    let request = scene.app.client.request("POST", "/public/v1/campaigns/csv");
    let again = send(request.multipart(form)).await.expect(201);
    let expected = json!([
        { "phoneNumber": "+15550100010", "contactId": scene.contact, "name": "Zoë Moss", "email": "zoe@example.com",
          "city": "Graz", "balance": "-1" },
        { "phoneNumber": "+15550100011", "contactId": null, "name": "=Bo", "city": "+1+1", "balance": "7" },
    ]);
    assert_eq!(again.data()["contacts"], expected);
}

#[tokio::test(start_paused = true)]
async fn erasure_and_age_take_name_and_fields_from_everything() {
    for by_age in [true, false] {
        let scene = Scene::start().await;
        let claim = scene.dial().await;
        scene.finish(claim).await;
        tokio::time::advance(Duration::from_secs(60)).await;
        match by_age {
            true => assert_eq!(scene.app.store.erase_words(scene.clock.now(), 9).await, Ok(1)),
            false => {
                let path = format!("/public/v1/contacts/{}?erase=true", scene.contact);
                scene.app.client.delete(&path).await.expect(200);
            }
        }
        let shown = scene.get(&format!("conversations/{}", claim.attempt)).await;
        let nothing = (&Value::Null, &Value::Null);
        assert_eq!((&shown.data()["contactName"], &shown.data()["variables"]), nothing);
        for text in [
            scene.get("conversations").await.body.to_string(),
            scene.file("conversations/export").await,
            scene.file("conversations/export?format=jsonl").await,
            format!("{:?}", scene.app.store.events_after(scene.app.account.id, 0, 99).await),
            format!("{:?}", scene.app.store.latest_conversations(scene.campaign, 9).await),
            format!("{:?}", scene.app.store.contact_of(claim.attempt).await),
        ] {
            assert!(!text.contains("Zoë") && !text.contains("Graz"), "{text}");
        }
        assert_eq!(*scene.get("conversations?search=zoe").await.data(), json!([]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_single_call_has_the_name_and_values_of_its_request() {
    let scene = Scene::start().await;
    let agent = scene.app.agent().await;
    let given = json!({ "agentId": agent, "phoneNumber": "+15550100099", "name": "Given",
                        "dynamicVariables": { "city": "Bonn", "age": 7 } });
    let placed = scene.app.client.post("/public/v1/calls", given).await.expect(201);
    assert_eq!(placed.data()["contactName"], "Given");
    let path = format!("conversations/{}", placed.text("/data/conversationId"));
    let shown = scene.get(&path).await;
    assert_eq!(shown.data()["variables"], json!({ "city": "Bonn", "age": 7 }));
    let saved = json!({ "agentId": scene.app.agent().await, "phoneNumber": "+15550100010" });
    let placed = scene.app.client.post("/public/v1/calls", saved).await.expect(201);
    assert_eq!(placed.data()["contactName"], Value::Null, "nobody has been called yet");
}
