//! Tests of campaigns that grow: added contacts, contacts called again, copies, and the pace of the dialing.

use std::time::Duration;

use domain::{
    id::{CampaignId, NodeId},
    ports::store::{
        AttemptStore, CampaignStatus, CampaignStore, Claim, ConversationStatus, NodeStore, Outcome, PermitRequest,
        StateChange, StoreError,
    },
};
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use support::{
    app::TestApp,
    client::{Answer, send},
};

const CAMPAIGNS: &str = "/public/v1/campaigns";

fn numbers(range: std::ops::Range<u64>) -> Value {
    range
        .map(|n| json!({ "phoneNumber": format!("+1555{n:07}") }))
        .collect()
}

/// Creates a campaign with contacts 0 to 2 and these settings.
async fn campaign(app: &TestApp, settings: Value) -> CampaignId {
    let agent = app.agent().await;
    let mut body = json!({ "name": "Spring", "agentId": agent, "contacts": numbers(0..3) });
    body.as_object_mut()
        .unwrap()
        .extend(settings.as_object().unwrap().clone());
    let made = app.client.post(CAMPAIGNS, body).await.expect(201);
    made.text("/data/campaignId").parse().unwrap()
}

async fn turn(app: &TestApp, id: CampaignId, status: CampaignStatus) {
    let row = app.store.campaign(app.account.id, id).await.unwrap();
    let change = StateChange {
        status,
        active: status == CampaignStatus::Running,
        scheduled: false,
        next_run_at: None,
        opens_from: None,
        closes_at: None,
        reason: None,
        cancel_waiting: false,
    };
    app.store.change_state(id, row.version, change).await.unwrap();
}

async fn post(app: &TestApp, key: &str, path: &str, body: &Value) -> Answer {
    let request = app.client.request("POST", path).header("idempotency-key", key);
    send(request.json(body)).await
}

fn shown(answer: &Answer) -> Vec<&str> {
    let contacts = answer.data()["contacts"].as_array().unwrap();
    contacts
        .iter()
        .map(|contact| contact["phoneNumber"].as_str().unwrap())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn contacts_are_added_and_numbers_that_are_there_are_reported() {
    let app = TestApp::start().await;
    let id = campaign(&app, json!({})).await;
    let saved = json!({ "phoneNumber": "+15550000009", "name": "Ida" });
    let saved = app.client.post("/public/v1/contacts", saved).await.expect(201);
    let path = format!("{CAMPAIGNS}/{id}/contacts");
    let body = json!({ "contacts": [
        { "phoneNumber": "+1 555 000 0002" }, { "phoneNumber": "+15550000007", "name": "Gus", "city": "Bonn" },
    ], "contactIds": [saved.text("/data/contactId")] });
    let added = post(&app, "a", &path, &body).await.expect(200);
    let expected = json!({
        "campaignId": id, "status": "draft", "contactCount": 5, "added": 2, "alreadyPresent": 1,
        "alreadyPresentRows": [1],
    });
    assert_eq!(*added.data(), expected);
    let read = app.client.get(&format!("{CAMPAIGNS}/{id}")).await.expect(200);
    assert_eq!(shown(&read)[3..], ["+15550000007", "+15550000009"]);
    assert_eq!(read.data()["contacts"][3]["city"], "Bonn");
    assert_eq!(read.data()["progress"]["pending"], 5);

    let again = post(&app, "a", &path, &body).await.expect(200);
    assert_eq!(
        (again.data(), again.headers["idempotency-replayed"].as_bytes()),
        (&expected, &b"true"[..])
    );
    let other = campaign(&app, json!({ "name": "Other" })).await;
    let reused = post(&app, "a", &format!("{CAMPAIGNS}/{other}/contacts"), &body).await;
    assert_eq!((reused.status, reused.code()), (409, "conflict"));
    assert_eq!(
        app.client.get(&format!("{CAMPAIGNS}/{id}")).await.data()["contactCount"],
        5
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_added_unless_all_of_it_is_valid() {
    let app = TestApp::start().await;
    let id = campaign(&app, json!({})).await;
    let path = format!("{CAMPAIGNS}/{id}/contacts");
    let nobody = CampaignId::new();
    for (body, expected) in [
        (json!({}), vec![("contacts", "required")]),
        (json!({ "contacts": [] }), vec![("contacts", "required")]),
        (json!({ "contactIds": [] }), vec![("contactIds", "required")]),
        (
            json!({ "contacts": numbers(8..9), "name": "x" }),
            vec![("name", "unknown_field")],
        ),
        (
            json!({ "contacts": [{ "phoneNumber": "+15550000008" }, { "phoneNumber": "12ab" }] }),
            vec![("contacts[1].phoneNumber", "invalid_phone")],
        ),
        (
            json!({ "contacts": [{ "phoneNumber": "+15550000008" }, { "phoneNumber": "+15550000008" }] }),
            vec![("contacts[1].phoneNumber", "duplicate_number")],
        ),
        (json!({ "contactIds": [nobody] }), vec![("contactIds[0]", "not_found")]),
    ] {
        let answer = app.client.post(&path, body.clone()).await.expect(400);
        let found: Vec<_> = answer.fields();
        assert_eq!(
            found.iter().map(|(path, _)| *path).collect::<Vec<_>>(),
            expected.iter().map(|(path, _)| *path).collect::<Vec<_>>(),
            "{body}"
        );
    }
    let sound = json!({ "contacts": numbers(8..9) });
    let stranger = app.stranger().await;
    for (client, id) in [(&stranger, id), (&app.client, nobody)] {
        client
            .post(&format!("{CAMPAIGNS}/{id}/contacts"), sound.clone())
            .await
            .expect(404);
        client
            .post(&format!("{CAMPAIGNS}/{id}/call-again"), json!({}))
            .await
            .expect(404);
        client
            .post(&format!("{CAMPAIGNS}/{id}/duplicate"), json!({}))
            .await
            .expect(404);
        let form = Form::new().part("file", Part::text("phone\n+15550000008\n").file_name("c.csv"));
        let path = format!("{CAMPAIGNS}/{id}/contacts/csv");
        send(client.request("POST", &path).multipart(form)).await.expect(404);
    }
    app.store.fail_with(Some(StoreError::Unavailable("disk".into())));
    app.client.post(&path, sound).await.expect(503);
    app.store.fail_with(None);
    let read = app.client.get(&format!("{CAMPAIGNS}/{id}")).await.expect(200);
    assert_eq!(shown(&read).len(), 3);
    assert_eq!(app.store.sweep_imports().await, Ok(0));
}

async fn upload(
    app: &TestApp,
    id: CampaignId,
    text: impl Into<Vec<u8>>,
    fields: &[(&'static str, &'static str)],
) -> Answer {
    let form = Form::new().part("file", Part::bytes(text.into()).file_name("contacts.csv"));
    let form = fields.iter().fold(form, |form, (name, text)| form.text(*name, *text));
    let path = format!("{CAMPAIGNS}/{id}/contacts/csv");
    send(
        app.client
            .request("POST", &path)
            .header("idempotency-key", "k")
            .multipart(form),
    )
    .await
}

#[tokio::test(start_paused = true)]
async fn a_file_adds_contacts_by_the_rules_of_an_upload() {
    let app = TestApp::start().await;
    let id = campaign(&app, json!({})).await;
    let bad = upload(&app, id, "phone\n+15550000008\n12ab\n+15550000008\n", &[])
        .await
        .expect(400);
    assert_eq!(bad.body["error"]["details"]["invalidRows"], 2);
    for (text, fields, path) in [
        ("", &[][..], "file"),
        ("name\nAda\n", &[][..], "file"),
        ("phone\n\"+15550000008", &[][..], "file"),
        ("phone\n+15550000008\n", &[("name", "x")][..], "name"),
        ("phone\n+15550000008\n", &[("launch", "true")][..], "launch"),
    ] {
        let answer = upload(&app, id, text, fields).await.expect(400);
        assert_eq!(
            answer.fields().first().map(|(path, _)| *path),
            Some(path),
            "{text:?} {fields:?}"
        );
    }
    upload(&app, id, [b"phone\n".as_slice(), &[0xff, 0xfe]].concat(), &[])
        .await
        .expect(400);
    let many: String = (0..100_001).map(|n| format!("\n+1555{n:07}")).collect();
    let many = upload(&app, id, format!("phone{many}"), &[]).await.expect(413);
    assert!(
        many.body["error"]["message"]
            .as_str()
            .unwrap()
            .contains("at most 100000"),
        "{:?}",
        many.body
    );

    let text = "Handy,town\n+15550000001,Bonn\n+15550000008,Köln\n+15550000002,\n";
    let column = [("phoneColumn", "Handy")];
    let added = upload(&app, id, text, &column).await.expect(200);
    let expected = json!({
        "campaignId": id, "status": "draft", "contactCount": 4, "added": 1, "alreadyPresent": 2,
        "alreadyPresentRows": [1, 3],
    });
    assert_eq!(*added.data(), expected);
    assert_eq!(*upload(&app, id, text, &column).await.expect(200).data(), expected);
    let read = app.client.get(&format!("{CAMPAIGNS}/{id}")).await.expect(200);
    assert_eq!(
        shown(&read),
        ["+15550000000", "+15550000001", "+15550000002", "+15550000008"]
    );
    assert_eq!(read.data()["contacts"][3]["town"], "Köln");
}

async fn finished(
    app: &TestApp,
    node: NodeId,
    campaign: CampaignId,
    status: ConversationStatus,
    error: Option<&str>,
) -> Claim {
    let claim = app.store.claim(node, campaign, 1).await.unwrap()[0].claim;
    let request = PermitRequest {
        carrier: "simulated".into(),
        caller_id: None,
        agent_version: None,
        restricted_prefixes: Vec::new(),
    };
    app.store.permit(claim, request).await.unwrap();
    let outcome = Outcome {
        status,
        error: error.map(str::to_owned),
        voicemail: status == ConversationStatus::Completed && error.is_none(),
        transferred: false,
        collected: Default::default(),
        times: Default::default(),
        facts_follow: false,
        refusal: None,
    };
    app.store.finish(claim, outcome, None).await.unwrap();
    claim
}

async fn node(app: &TestApp) -> NodeId {
    let node = NodeId::new();
    app.store.register_node(node, None).await.unwrap();
    node
}

#[tokio::test(start_paused = true)]
async fn those_who_were_not_reached_are_called_again() {
    use ConversationStatus::{Completed, Failed};
    let app = TestApp::start().await;
    let id = campaign(&app, json!({ "contacts": numbers(0..7) })).await;
    turn(&app, id, CampaignStatus::Running).await;
    let node = node(&app).await;
    for (status, error) in [
        (Failed, Some("busy")),
        (Failed, Some("no-answer")),
        (Completed, None),
        (Failed, Some("carrier-error: outcome unknown")),
        (Completed, Some("")),
        (Failed, Some("media-lost")),
    ] {
        finished(&app, node, id, status, error).await;
    }
    let path = format!("{CAMPAIGNS}/{id}/call-again");
    let count = |answer: Answer| answer.data()["contacts"].clone();
    for (body, field) in [
        (json!({ "outcomes": [] }), "outcomes"),
        (json!({ "outcomes": "busy" }), "outcomes"),
        (json!({ "outcomes": ["busy", "lost"] }), "outcomes[1]"),
        (json!({ "outcomes": [null] }), "outcomes[0]"),
        (json!({ "status": "failed" }), "status"),
    ] {
        let answer = app.client.post(&path, body).await.expect(400);
        assert_eq!(answer.fields().first().unwrap().0, field);
    }
    let busy = json!({ "outcomes": ["busy", "rejected"] });
    let first = post(&app, "b", &path, &busy).await.expect(200);
    assert_eq!(
        *first.data(),
        json!({ "campaignId": id, "status": "running", "contacts": 1 })
    );
    assert_eq!(post(&app, "b", &path, &busy).await.expect(200).data(), first.data());
    assert_eq!(count(app.client.post(&path, json!({})).await.expect(200)), 2);
    assert_eq!(count(app.client.post(&path, json!({})).await.expect(200)), 0);
    let machines = json!({ "outcomes": ["voicemail"] });
    assert_eq!(count(app.client.post(&path, machines).await.expect(200)), 1);
    let listed = app.client.get(&format!("{CAMPAIGNS}/{id}/contacts")).await.expect(200);
    let attempts: Vec<_> = (0..7)
        .map(|n| {
            (
                listed.data()[n]["attempts"].as_i64(),
                listed.data()[n]["status"].clone(),
            )
        })
        .collect();
    let expected = [
        (2, "pending"),
        (2, "pending"),
        (2, "pending"),
        (1, "failed"),
        (1, "completed"),
        (2, "pending"),
        (0, "pending"),
    ];
    assert_eq!(attempts, expected.map(|(n, status)| (Some(n), json!(status))));

    for _ in 0..5 {
        finished(&app, node, id, Failed, Some("busy")).await;
    }
    turn(&app, id, CampaignStatus::Completed).await;
    let paused = app
        .client
        .post(&path, json!({ "outcomes": ["busy"] }))
        .await
        .expect(200);
    assert_eq!(
        (&paused.data()["status"], &paused.data()["contacts"]),
        (&json!("paused"), &json!(5))
    );
    assert!(paused.text("/warning").contains("launch it"));
    turn(&app, id, CampaignStatus::Completed).await;
    let added = json!({ "contacts": numbers(20..21) });
    let added = app
        .client
        .post(&format!("{CAMPAIGNS}/{id}/contacts"), added)
        .await
        .expect(200);
    assert_eq!(added.data()["status"], "paused");
    assert!(added.text("/warning").contains("launch it"));
}

#[tokio::test(start_paused = true)]
async fn nobody_is_called_again_who_must_not_be_or_may_have_been_reached() {
    use ConversationStatus::{Cancelled, Failed};
    let app = TestApp::start().await;
    let id = campaign(&app, json!({ "contacts": numbers(0..5) })).await;
    turn(&app, id, CampaignStatus::Running).await;
    let node = node(&app).await;
    for (status, error) in [
        (Failed, Some("carrier-error: outcome unknown")),
        (Failed, Some("carrier-error: outcome unknown, no call found")),
        (Cancelled, Some("do-not-call")),
        (Cancelled, Some("restricted")),
        (Cancelled, None),
    ] {
        finished(&app, node, id, status, error).await;
    }
    let path = format!("{CAMPAIGNS}/{id}/call-again");
    for (outcome, expected) in [("failed", 0), ("cancelled", 1)] {
        let body = json!({ "outcomes": [outcome] });
        let answer = app.client.post(&path, body).await.expect(200);
        assert_eq!(answer.data()["contacts"], expected, "{outcome}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_campaign_that_was_stopped_calls_nobody_again() {
    let app = TestApp::start().await;
    let id = campaign(&app, json!({})).await;
    turn(&app, id, CampaignStatus::Running).await;
    let node = node(&app).await;
    finished(&app, node, id, ConversationStatus::Failed, Some("busy")).await;
    let path = format!("{CAMPAIGNS}/{id}/call-again");
    for status in [CampaignStatus::Stopped, CampaignStatus::Failed] {
        turn(&app, id, status).await;
        let refused = app.client.post(&path, json!({})).await.expect(409);
        assert_eq!(refused.code(), "invalid_transition");
        let message = refused.text("/error/message");
        assert!(message.contains("launch it first, or duplicate it"), "{message}");
    }
    turn(&app, id, CampaignStatus::Paused).await;
    let planned = app.client.post(&path, json!({})).await.expect(200);
    assert_eq!(planned.data()["contacts"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_copy_is_a_draft_with_the_same_settings_and_contacts() {
    let app = TestApp::start().await;
    let settings = json!({
        "startTime": "09:00", "endTime": "17:00", "timezone": "Europe/Berlin", "maxConcurrentCalls": 4,
        "ringTimeoutSeconds": 45, "followUpCall": true, "followUpAttempts": 1, "followUpIntervals": [5],
        "contacts": [{ "phoneNumber": "+15550000001", "name": "Bo", "city": "Bonn" }, { "phoneNumber": "+15550000002" }],
    });
    let id = campaign(&app, settings).await;
    turn(&app, id, CampaignStatus::Completed).await;
    let original = app.client.get(&format!("{CAMPAIGNS}/{id}")).await.expect(200);
    let path = format!("{CAMPAIGNS}/{id}/duplicate");
    let copy = post(&app, "c", &path, &json!({})).await.expect(201);
    let mut expected = original.data().clone();
    for field in ["campaignId", "metadata"] {
        assert_ne!(copy.data()[field], expected[field]);
        expected[field] = copy.data()[field].clone();
    }
    expected["status"] = json!("draft");
    expected["name"] = json!("Spring (copy)");
    assert_eq!(*copy.data(), expected);
    let replayed = post(&app, "c", &path, &json!({})).await.expect(201);
    assert_eq!(replayed.data()["campaignId"], copy.data()["campaignId"]);

    let empty = app
        .client
        .post(&path, json!({ "name": "New", "contacts": "none" }))
        .await
        .expect(201);
    assert_eq!(
        (&empty.data()["name"], &empty.data()["contacts"]),
        (&json!("New"), &json!([]))
    );
    for (body, field) in [
        (json!({ "contacts": "some" }), "contacts"),
        (json!({ "contacts": [] }), "contacts"),
        (json!({ "name": "" }), "name"),
        (json!({ "agentId": "x" }), "agentId"),
    ] {
        let answer = app.client.post(&path, body).await.expect(400);
        assert_eq!(answer.fields()[0].0, field);
    }
}

#[tokio::test(start_paused = true)]
async fn ringing_has_a_bound_of_the_campaign_in_both_forms() {
    let app = TestApp::start().await;
    let id = campaign(&app, json!({ "ringTimeoutSeconds": 10 })).await;
    let path = format!("{CAMPAIGNS}/{id}");
    assert_eq!(app.client.get(&path).await.data()["ringTimeoutSeconds"], 10);
    let changed = app
        .client
        .patch(&path, json!({ "ringTimeoutSeconds": 120 }))
        .await
        .expect(200);
    assert_eq!(changed.data()["ringTimeoutSeconds"], 120);
    for bad in [json!(9), json!(121), json!("30"), json!(30.5), Value::Null] {
        let answer = app
            .client
            .patch(&path, json!({ "ringTimeoutSeconds": bad }))
            .await
            .expect(400);
        assert_eq!(answer.fields()[0].0, "ringTimeoutSeconds", "{bad}");
    }
    let form = Form::new().part("file", Part::text("phone\n+15550000001\n").file_name("c.csv"));
    let form = form.text("name", "Spring").text("agentId", app.agent().await);
    let form = form.text("maxConcurrentCalls", "3").text("ringTimeoutSeconds", "45");
    let made = send(app.client.request("POST", &format!("{CAMPAIGNS}/csv")).multipart(form))
        .await
        .expect(201);
    assert_eq!(
        (&made.data()["maxConcurrentCalls"], &made.data()["ringTimeoutSeconds"]),
        (&json!(3), &json!(45))
    );
    let plain = campaign(&app, json!({ "name": "Plain" })).await;
    let plain = app.client.get(&format!("{CAMPAIGNS}/{plain}")).await;
    assert_eq!(plain.data().get("ringTimeoutSeconds"), None);
}

#[tokio::test(start_paused = true)]
async fn the_pace_says_when_the_rest_will_have_been_dialed() {
    let app = TestApp::start().await;
    let id = campaign(&app, json!({ "contacts": numbers(0..10) })).await;
    let path = format!("{CAMPAIGNS}/{id}");
    let pacing = async || app.client.get(&path).await.expect(200).data()["pacing"].clone();
    let none = json!({ "dialsPerMinute": 0.0, "expectedEnd": null });
    assert_eq!(pacing().await, none);
    turn(&app, id, CampaignStatus::Running).await;
    assert_eq!(pacing().await, none);
    let node = node(&app).await;
    for _ in 0..4 {
        finished(&app, node, id, ConversationStatus::Failed, Some("busy")).await;
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
    // Four in two minutes; the six that are left take three more.
    let found = pacing().await;
    assert_eq!(found["dialsPerMinute"], 2.0);
    let row = app.store.campaign(app.account.id, id).await.unwrap();
    let expected = row.updated_at.plus(Duration::from_secs(300)).to_iso8601();
    assert_eq!(found["expectedEnd"].as_str().unwrap()[..19], expected[..19]);
    turn(&app, id, CampaignStatus::Paused).await;
    assert_eq!(pacing().await["expectedEnd"], Value::Null);
    let list = app.client.get(CAMPAIGNS).await.expect(200);
    assert_eq!(list.data()[0].get("pacing"), None);
    tokio::time::sleep(Duration::from_secs(301)).await;
    assert_eq!(pacing().await, none);
}
