//! Tests of the results of a campaign's contacts: in pages with a filter, and as one CSV file.

use domain::{
    id::{CampaignId, NodeId},
    ports::store::{AttemptStore, Claim, ConversationStatus, NodeStore, Outcome, PermitRequest, StoreError},
};
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use support::{app::TestApp, client::send};

const CAMPAIGNS: &str = "/public/v1/campaigns";

/// Launches a campaign with these contacts.
async fn launched(app: &TestApp, contacts: Value) -> CampaignId {
    let agent = app.agent().await;
    let entities = json!({ "rooms": { "type": "integer" }, "day": { "type": "string" } });
    let patch = json!({ "platformSettings": { "dataCollection": { "entities": entities } } });
    let path = format!("/public/v1/agents/{agent}");
    app.client.patch(&path, patch).await.expect(200);
    let body = json!({ "name": "Spring", "agentId": agent, "contacts": contacts, "launch": true });
    let made = app.client.post(CAMPAIGNS, body).await.expect(201);
    made.text("/data/campaignId").parse().unwrap()
}

fn numbers(range: std::ops::Range<u64>) -> Value {
    range
        .map(|n| json!({ "phoneNumber": format!("+1555{n:07}") }))
        .collect()
}

/// Dials the next contact. Returns the claim of its attempt.
async fn dial(app: &TestApp, node: NodeId, campaign: CampaignId) -> Claim {
    let claim = app.store.claim(node, campaign, 1).await.unwrap()[0].claim;
    let request = PermitRequest {
        carrier: "simulated".into(),
        caller_id: None,
        agent_version: None,
        restricted_prefixes: Vec::new(),
    };
    app.store.permit(claim, request).await.unwrap();
    claim
}

fn outcome(status: ConversationStatus) -> Outcome {
    Outcome {
        status,
        error: (status == ConversationStatus::Failed).then(|| "busy".to_owned()),
        voicemail: false,
        transferred: false,
        collected: Default::default(),
        times: Default::default(),
        facts_follow: false,
        refusal: None,
    }
}

async fn node(app: &TestApp) -> NodeId {
    let node = NodeId::new();
    app.store.register_node(node, None).await.unwrap();
    node
}

/// Creates contacts that are completed with data, completed by voicemail, failed, in progress, and pending.
async fn mixed(app: &TestApp) -> (CampaignId, Vec<Claim>) {
    let contact = json!({ "phoneNumber": "+15550000002", "email": "a@b.co" });
    app.client.post("/public/v1/contacts", contact).await.expect(201);
    let contacts = json!([
        { "phoneNumber": "+15550000000", "name": "=Ada" },
        { "phoneNumber": "+15550000001", "name": "Bo, \"B\"" },
        { "phoneNumber": "+15550000002" },
        { "phoneNumber": "+15550000003" },
        { "phoneNumber": "+15550000004" },
    ]);
    let campaign = launched(app, contacts).await;
    let node = node(app).await;
    let mut claims = Vec::new();
    let collected = [("day", "Monday"), ("rooms", "2")];
    let collected = collected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let completed = outcome(ConversationStatus::Completed);
    for outcome in [
        Outcome {
            collected: collected.into(),
            ..completed.clone()
        },
        Outcome {
            voicemail: true,
            ..completed
        },
        outcome(ConversationStatus::Failed),
    ] {
        let claim = dial(app, node, campaign).await;
        app.store.finish(claim, outcome, None).await.unwrap();
        claims.push(claim);
    }
    claims.push(dial(app, node, campaign).await);
    (campaign, claims)
}

#[tokio::test(start_paused = true)]
async fn every_contact_is_listed_with_what_became_of_it() {
    let app = TestApp::start().await;
    let (campaign, claims) = mixed(&app).await;
    let listed = app
        .client
        .get(&format!("{CAMPAIGNS}/{campaign}/contacts"))
        .await
        .expect(200);
    assert_eq!(listed.body["pagination"], json!({ "pageSize": 30, "hasMore": false }));
    let nothing = json!({ "items": [] });
    let saved = listed.data()[2]["contactId"].clone();
    assert!(saved.is_string());
    assert_eq!(
        *listed.data(),
        json!([
            {
                "phoneNumber": "+15550000000", "name": "=Ada", "contactId": null, "status": "completed", "attempts": 1,
                "lastConversationId": claims[0].attempt, "voiceMailDetected": false,
                "dataCollected": { "entity": "rooms", "value": "2", "items": [
                    { "entity": "rooms", "value": "2", "type": "integer", "confirmed": false, "evidence": null },
                    { "entity": "day", "value": "Monday", "type": "string", "confirmed": false, "evidence": null },
                ] },
            },
            {
                "phoneNumber": "+15550000001", "name": "Bo, \"B\"", "contactId": null, "status": "completed",
                "attempts": 1, "lastConversationId": claims[1].attempt, "voiceMailDetected": true,
                "dataCollected": nothing,
            },
            {
                "phoneNumber": "+15550000002", "contactId": saved, "status": "failed", "errorMessage": "busy",
                "attempts": 1, "lastConversationId": claims[2].attempt, "voiceMailDetected": false,
                "dataCollected": nothing,
            },
            {
                "phoneNumber": "+15550000003", "contactId": null, "status": "in_progress", "attempts": 1,
                "lastConversationId": claims[3].attempt, "voiceMailDetected": false, "dataCollected": nothing,
            },
            {
                "phoneNumber": "+15550000004", "contactId": null, "status": "pending", "attempts": 0,
                "voiceMailDetected": false, "dataCollected": nothing,
            },
        ])
    );
    for (status, expected) in [
        ("pending", json!(["+15550000004"])),
        ("in_progress", json!(["+15550000003"])),
        ("completed", json!(["+15550000000", "+15550000001"])),
        ("failed", json!(["+15550000002"])),
        ("cancelled", json!([])),
    ] {
        let path = format!("{CAMPAIGNS}/{campaign}/contacts?status={status}");
        let found = app.client.get(&path).await.expect(200);
        let rows = found.data().as_array().unwrap();
        let numbers: Vec<&Value> = rows.iter().map(|row| &row["phoneNumber"]).collect();
        assert_eq!(json!(numbers), expected, "{status}");
    }
    let body = json!({ "phoneNumber": "+15550000001" });
    app.client.post("/public/v1/do-not-call", body).await.expect(201);
    for (search, expected) in [
        ("bo", json!([["+15550000001", true]])),
        ("ADA&status=completed", json!([["+15550000000", null]])),
        ("ada&status=failed", json!([])),
        ("(555) 000-0002", json!([["+15550000002", null]])),
    ] {
        let path = format!("{CAMPAIGNS}/{campaign}/contacts?search={search}");
        let found = app.client.get(&path).await.expect(200);
        let rows = found.data().as_array().unwrap();
        let rows: Vec<_> = rows
            .iter()
            .map(|row| (&row["phoneNumber"], &row["doNotCall"]))
            .collect();
        assert_eq!(json!(rows), expected, "{search}");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_of_contacts_are_whole_and_their_cursor_holds_for_them_only() {
    let app = TestApp::start().await;
    let campaign = launched(&app, numbers(0..7)).await;
    let other = launched(&app, numbers(0..7)).await;
    let path = format!("{CAMPAIGNS}/{campaign}/contacts");
    let node = node(&app).await;
    let mut found = Vec::new();
    let mut cursors = Vec::new();
    let mut next = format!("{path}?pageSize=3&status=pending");
    loop {
        let page = app.client.get(&next).await.expect(200);
        let rows = page.data().as_array().unwrap();
        found.extend(rows.iter().map(|row| row["phoneNumber"].as_str().unwrap().to_owned()));
        // Contacts that are claimed in between are not repeated and do not hide others.
        app.store.claim(node, campaign, 1).await.unwrap();
        let Some(cursor) = page.body["pagination"]["nextCursor"].as_str() else {
            assert_eq!(page.body["pagination"]["hasMore"], false);
            break;
        };
        assert_eq!(page.body["pagination"]["hasMore"], true);
        cursors.push(cursor.to_owned());
        next = format!("{path}?pageSize=3&status=pending&cursor={cursor}");
    }
    let all: Vec<String> = (0..7).map(|n| format!("+1555{n:07}")).collect();
    assert_eq!(found, all);
    let cursor = &cursors[0];
    for bad in [
        format!("{path}?cursor={cursor}"),
        format!("{path}?status=failed&cursor={cursor}"),
        format!("{CAMPAIGNS}/{other}/contacts?status=pending&cursor={cursor}"),
        format!("{path}?status=pending&cursor={cursor}x"),
        format!("{path}?status=pending&cursor=x"),
    ] {
        let answer = app.client.get(&bad).await.expect(400);
        assert_eq!(answer.fields(), [("cursor", "invalid_cursor")], "{bad}");
    }
    let answer = app
        .client
        .get(&format!("{path}?status=done&pageSize=0&page=2"))
        .await
        .expect(400);
    let fields = [
        ("page", "unknown_parameter"),
        ("status", "invalid_value"),
        ("pageSize", "out_of_range"),
    ];
    assert_eq!(answer.fields(), fields);
    app.stranger().await.get(&path).await.expect(404);
    app.client.get(&format!("{CAMPAIGNS}/x/contacts")).await.expect(404);
    // The parameters are checked before the campaign is looked up.
    app.client
        .get(&format!("{CAMPAIGNS}/x/contacts?status=done"))
        .await
        .expect(400);
}

async fn download(app: &TestApp, campaign: CampaignId) -> String {
    let path = format!("{CAMPAIGNS}/{campaign}/results.csv");
    let response = app.client.request("GET", &path).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/csv; charset=utf-8");
    let disposition = response.headers()["content-disposition"].to_str().unwrap();
    assert!(disposition.starts_with("attachment"), "{disposition}");
    assert!(response.headers().contains_key("x-request-id"));
    // Proxies keep files with this ending for everybody, unless they are told not to.
    assert_eq!(response.headers()["cache-control"], "no-store");
    // `text` would take the mark away.
    String::from_utf8(response.bytes().await.unwrap().into()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_results_are_a_file_in_which_nothing_is_a_formula() {
    let app = TestApp::start().await;
    let (campaign, claims) = mixed(&app).await;
    let saved = app.client.get(&format!("{CAMPAIGNS}/{campaign}/contacts")).await;
    let saved = saved.text("/data/2/contactId");
    let id = |n: usize| claims[n].attempt;
    let expected = [
        "\u{feff}phoneNumber,name,contactId,status,errorMessage,attempts,lastConversationId,voiceMailDetected,\
         dataCollected,collected.day,collected.rooms"
            .to_owned(),
        format!(
            "+15550000000,'=Ada,,completed,,1,{},false,\"{{\"\"day\"\":\"\"Monday\"\",\"\"rooms\"\":\"\"2\"\"}}\",Monday,2",
            id(0)
        ),
        format!("+15550000001,\"Bo, \"\"B\"\"\",,completed,,1,{},true,,,", id(1)),
        format!("+15550000002,,{saved},failed,busy,1,{},false,,,", id(2)),
        format!("+15550000003,,,in_progress,,1,{},false,,,", id(3)),
        "+15550000004,,,pending,,0,,false,,,".to_owned(),
        String::new(),
    ];
    assert_eq!(download(&app, campaign).await, expected.join("\n"));
    let path = format!("{CAMPAIGNS}/{campaign}/results.csv");
    app.stranger().await.get(&path).await.expect(404);
    let answer = app.client.get(&format!("{path}?status=failed")).await.expect(400);
    assert_eq!(answer.fields(), [("status", "unknown_parameter")]);
    app.store.fail_with(Some(StoreError::Unavailable("x".into())));
    app.client.get(&path).await.expect(503);
}

#[tokio::test(start_paused = true)]
async fn a_large_file_of_results_is_whole() {
    let app = TestApp::start().await;
    let campaign = launched(&app, numbers(0..3_500)).await;
    let text = download(&app, campaign).await;
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(rows.len(), 3_500);
    for (n, row) in rows.iter().enumerate() {
        assert!(row.starts_with(&format!("+1555{n:07},")), "{row}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_results_can_be_uploaded_again_with_all_that_the_contacts_brought() {
    let app = TestApp::start().await;
    let saved = json!({ "phoneNumber": "+15550000001" });
    let saved = app.client.post("/public/v1/contacts", saved).await.expect(201);
    let contacts = json!([
        { "phoneNumber": "+15550000000", "name": "=Ada", "email": "ada@example.com", "city": "-Bonn", "status": "gold",
          "field.x": "'=1", "override.language": "en", "phone": "red;=1", "age": 7, "note": null },
        { "phoneNumber": "+15550000001", "contact_id": "K1" },
    ]);
    let first = launched(&app, contacts).await;
    let file = download(&app, first).await;
    let header = "\u{feff}phoneNumber,name,contactId,status,errorMessage,attempts,lastConversationId,voiceMailDetected,\
                  dataCollected,collected.day,collected.rooms,email,city,field.status,field.field.x,override.language,phone,age,note,field.contact_id";
    let id = saved.text("/data/contactId");
    let expected = [
        header,
        r#""+15550000000","'=Ada","","pending","","0","","false","","","","ada@example.com","'-Bonn","gold","''=1","en","red;'=1","7","","""#,
        &format!("+15550000001,,{id},pending,,0,,false,,,,,,,,,,,,K1"),
        "",
    ];
    assert_eq!(file, expected.join("\n"));
    let agent = app.agent().await;
    let upload = async |text: String| {
        let file = Part::bytes(text.into_bytes()).file_name("results.csv");
        let form = Form::new().part("file", file).text("agentId", agent.clone());
        let request = app.client.request("POST", &format!("{CAMPAIGNS}/csv"));
        send(request.multipart(form.text("name", "Again"))).await
    };
    let again = upload(file.clone()).await.expect(201);
    let expected = json!([
        { "phoneNumber": "+15550000000", "contactId": null, "name": "=Ada", "email": "ada@example.com",
          "city": "-Bonn", "status": "gold", "field.x": "'=1", "override.language": "en", "phone": "red;=1", "age": "7" },
        { "phoneNumber": "+15550000001", "contactId": id, "contact_id": "K1" },
    ]);
    assert_eq!(again.data()["contacts"], expected);
    // In another file the headers of a result are those of any column.
    let other = upload(file.replacen("dataCollected", "collected", 1)).await.expect(400);
    let told = other.text("/error/fields/0/message");
    assert!(told.contains("the header `contactId` is a reserved name"), "{told}");
}
