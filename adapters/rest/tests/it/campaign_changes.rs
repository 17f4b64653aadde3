//! Tests of campaign changes: PATCH field by field, schedule, delete.

use actors::campaign::{CampaignCommand, CampaignUpdate, CommandError};
use domain::ports::store::{CampaignStore, ScheduleText};
use serde_json::{Value, json};

use support::{app::TestApp, client::Answer, switchboard::Mood};

const CAMPAIGNS: &str = "/public/v1/campaigns";

async fn draft(app: &TestApp, fields: Value) -> String {
    let agent = app.agent().await;
    let mut body = json!({ "name": "Spring", "agentId": agent, "contacts": [
        { "phoneNumber": "+15550000000" }, { "phoneNumber": "+15550000001" },
    ] });
    body.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    let made = app.client.post(CAMPAIGNS, body).await.expect(201);
    format!("{CAMPAIGNS}/{}", made.text("/data/campaignId"))
}

async fn saved(app: &TestApp, number: u64, fields: Value) -> String {
    let mut body = json!({ "phoneNumber": format!("+1555{number:07}") });
    body.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    let made = app.client.post("/public/v1/contacts", body).await.expect(201);
    made.text("/data/contactId")
}

fn last_update(app: &TestApp) -> CampaignUpdate {
    match app.node.commands().pop().unwrap().1 {
        CampaignCommand::Update(update) => *update,
        other => panic!("{other:?}"),
    }
}

fn numbers(answer: &Answer) -> Vec<&str> {
    let contacts = answer.data()["contacts"].as_array().unwrap();
    contacts
        .iter()
        .map(|contact| contact["phoneNumber"].as_str().unwrap())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn what_is_given_changes_and_the_rest_stays() {
    let app = TestApp::start().await;
    let path = draft(&app, json!({ "maxConcurrentCalls": 3 })).await;
    let before = app.client.get(&path).await.expect(200);
    let same = app.client.patch(&path, json!({})).await.expect(200);
    assert_eq!(last_update(&app), CampaignUpdate::default());
    let mut expected = before.data().clone();
    expected["metadata"] = same.data()["metadata"].clone();
    assert_eq!(*same.data(), expected);

    let other = app.agent().await;
    let patch = json!({
        "name": " Summer ", "agentId": other, "maxConcurrentCalls": 9, "startTime": "09:00", "endTime": "17:30:00",
        "timezone": "Europe/Berlin", "followUpCall": true, "followUpAttempts": 2, "followUpIntervals": [5, 60],
    });
    let changed = app.client.patch(&path, patch).await.expect(200);
    expected["name"] = json!("Summer");
    expected["agentId"] = json!(other);
    expected["maxConcurrentCalls"] = json!(9);
    expected["startTime"] = json!("09:00");
    expected["endTime"] = json!("17:30:00");
    expected["timezone"] = json!("Europe/Berlin");
    expected["followUp"] = json!({ "enabled": true, "attempts": 2, "intervalsMinutes": [5, 60] });
    expected["metadata"] = changed.data()["metadata"].clone();
    assert_eq!(*changed.data(), expected);
    assert_eq!(changed.body.get("warning"), None);
    assert_eq!(app.client.get(&path).await.expect(200).data(), changed.data());
    assert_ne!(changed.data()["metadata"]["updatedAt"], Value::Null);
    assert_eq!(changed.data()["metadata"]["deletedAt"], Value::Null);

    let cleared = json!({ "startTime": null, "endTime": null, "timezone": null, "followUpCall": false });
    let cleared = app.client.patch(&path, cleared).await.expect(200);
    for field in ["startTime", "endTime", "timezone"] {
        assert_eq!(cleared.data()[field], Value::Null);
    }
    assert_eq!(
        cleared.data()["followUp"],
        json!({ "enabled": false, "attempts": 0, "intervalsMinutes": [] })
    );
    let update = last_update(&app);
    assert_eq!((update.start_time, update.name), (Some(None), None));
}

#[tokio::test(start_paused = true)]
async fn follow_ups_merge_with_what_is_stored() {
    let app = TestApp::start().await;
    let on = json!({ "followUpCall": true, "followUpAttempts": 2, "followUpIntervals": [5, 60] });
    let path = draft(&app, on).await;
    let shown = async |patch: Value| {
        let answer = app.client.patch(&path, patch).await.expect(200);
        answer.data()["followUp"].clone()
    };
    let other = json!({ "enabled": true, "attempts": 2, "intervalsMinutes": [7, 70] });
    assert_eq!(shown(json!({ "followUpIntervals": [7, 70] })).await, other);
    assert_eq!(shown(json!({ "followUpCall": true })).await, other);
    let answer = app
        .client
        .patch(&path, json!({ "followUpAttempts": 3 }))
        .await
        .expect(400);
    assert_eq!(answer.fields(), [("followUpIntervals", "invalid_value")]);
    let answer = app
        .client
        .patch(&path, json!({ "followUpIntervals": [0, 1] }))
        .await
        .expect(400);
    assert_eq!(answer.fields(), [("followUpIntervals", "out_of_range")]);
    let both = json!({ "followUpAttempts": 1, "followUpIntervals": [3] });
    assert_eq!(
        shown(both.clone()).await,
        json!({ "enabled": true, "attempts": 1, "intervalsMinutes": [3] })
    );
    let off = json!({ "enabled": false, "attempts": 0, "intervalsMinutes": [] });
    assert_eq!(shown(json!({ "followUpCall": false })).await, off);
    assert_eq!(shown(both).await, off);
    let answer = app
        .client
        .patch(&path, json!({ "followUpCall": true }))
        .await
        .expect(400);
    assert_eq!(
        answer.fields(),
        [("followUpAttempts", "required"), ("followUpIntervals", "required")]
    );
}

#[tokio::test(start_paused = true)]
async fn every_problem_of_a_patch_is_listed_and_nothing_is_commanded() {
    let app = TestApp::start().await;
    let path = draft(&app, json!({})).await;
    let known = saved(&app, 7, json!({})).await;
    let strange = domain::id::ContactId::new().to_string();
    let cases: Vec<(Value, Vec<(&str, &str)>)> = vec![
        (
            json!({ "name": null, "contacts": null, "maxConcurrentCalls": null, "scheduled": null }),
            vec![
                ("name", "wrong_type"),
                ("contacts", "wrong_type"),
                ("maxConcurrentCalls", "wrong_type"),
                ("scheduled", "wrong_type"),
            ],
        ),
        (json!({ "name": " " }), vec![("name", "required")]),
        (json!({ "agentId": "x" }), vec![("agentId", "invalid_value")]),
        (
            json!({ "active": 1, "scheduled": "no" }),
            vec![("active", "wrong_type"), ("scheduled", "wrong_type")],
        ),
        (
            json!({ "scheduled": true, "active": false }),
            vec![("active", "not_allowed")],
        ),
        (json!({ "launch": true }), vec![("launch", "unknown_field")]),
        (
            json!({ "startTime": 9, "endTime": "soon", "timezone": "Mars/X" }),
            vec![
                ("startTime", "wrong_type"),
                ("endTime", "invalid"),
                ("timezone", "invalid"),
            ],
        ),
        (
            json!({ "contacts": [], "contactIds": [] }),
            vec![("contacts", "required"), ("contactIds", "required")],
        ),
        (
            json!({ "contactIds": [known, 5, "x", strange, known] }),
            vec![
                ("contactIds[1]", "wrong_type"),
                ("contactIds[2]", "invalid_value"),
                ("contactIds[3]", "not_found"),
                ("contactIds[4]", "duplicate_number"),
            ],
        ),
        (
            json!({
                "contacts": [{ "phoneNumber": "+1 555 000 0007" }, { "phoneNumber": "x" }],
                "contactIds": [known],
            }),
            vec![
                ("contacts[1].phoneNumber", "invalid_phone"),
                ("contactIds[0]", "duplicate_number"),
            ],
        ),
        (
            json!({ "contacts": [{ "phoneNumber": "+15550000008", "contactId": known }] }),
            vec![("contacts[0].contactId", "not_allowed")],
        ),
        (
            json!({ "maxConcurrentCalls": 0 }),
            vec![("maxConcurrentCalls", "out_of_range")],
        ),
    ];
    for (patch, expected) in cases {
        let shown = patch.to_string();
        let answer = app.client.patch(&path, patch).await.expect(400);
        assert_eq!(answer.fields(), expected, "{shown}");
    }
    let answer = app.client.patch(&path, json!({ "contactsIds": [] })).await.expect(400);
    assert!(
        answer
            .text("/error/fields/0/message")
            .contains("did you mean `contactIds`")
    );
    let nobody = json!({ "agentId": domain::id::AgentId::new() });
    app.client.patch(&path, nobody).await.expect(404);
    let inbound = app.agent().await;
    let direction = json!({ "direction": "inbound" });
    app.client
        .patch(&format!("/public/v1/agents/{inbound}"), direction)
        .await
        .expect(200);
    let answer = app.client.patch(&path, json!({ "agentId": inbound })).await.expect(400);
    assert_eq!(answer.fields(), [("agentId", "not_allowed")]);
    assert!(app.node.commands().is_empty());
    assert_eq!(app.store.sweep_imports().await, Ok(0));
}

#[tokio::test(start_paused = true)]
async fn contacts_are_replaced_as_a_whole() {
    let app = TestApp::start().await;
    let path = draft(&app, json!({})).await;
    let known = saved(&app, 7, json!({ "name": "Ada", "email": "a@b.co", "city": "Bonn" })).await;
    let patch = json!({ "contactIds": [known], "contacts": [{ "phoneNumber": "+15550000005", "city": "Rome" }] });
    let changed = app.client.patch(&path, patch).await.expect(200);
    assert_eq!(
        changed.data()["contacts"],
        json!([
            { "phoneNumber": "+15550000005", "contactId": null, "city": "Rome" },
            { "phoneNumber": "+15550000007", "contactId": known, "name": "Ada", "email": "a@b.co" },
        ])
    );
    assert_eq!(
        (&changed.data()["contactCount"], &changed.data()["startIndex"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(changed.data()["progress"]["pending"], 2);

    let listed = app.client.get(CAMPAIGNS).await;
    assert_eq!(listed.data().as_array().unwrap().len(), 1);
    assert_eq!(app.store.sweep_imports().await, Ok(0));

    // A refused change leaves the contacts unchanged and no import behind.
    app.node.set(Mood::Refusing(CommandError::Running));
    let patch = json!({ "contacts": [{ "phoneNumber": "+15550000009" }] });
    let refused = app.client.patch(&path, patch.clone()).await;
    assert_eq!((refused.status, refused.code()), (409, "campaign_running"));
    tokio::task::yield_now().await;
    assert_eq!(app.store.sweep_imports().await, Ok(0));
    app.node.set(Mood::Obedient);
    let read = app.client.get(&path).await.expect(200);
    assert_eq!(numbers(&read), ["+15550000005", "+15550000007"]);
    app.client.post(&format!("{path}/launch"), json!({})).await.expect(200);
    let refused = app.client.patch(&path, patch).await;
    assert_eq!((refused.status, refused.code()), (409, "campaign_running"));
    assert_eq!(app.store.sweep_imports().await, Ok(0));
}

#[tokio::test(start_paused = true)]
async fn a_cursor_of_replaced_contacts_is_refused() {
    let app = TestApp::start().await;
    let path = draft(&app, json!({})).await;
    let page = app.client.get(&format!("{path}/contacts?pageSize=1")).await.expect(200);
    let next = format!(
        "{path}/contacts?pageSize=1&cursor={}",
        page.text("/pagination/nextCursor")
    );
    app.client.get(&next).await.expect(200);
    let patch = json!({ "contacts": [{ "phoneNumber": "+15550000005" }, { "phoneNumber": "+15550000006" }] });
    app.client.patch(&path, patch).await.expect(200);
    let answer = app.client.get(&next).await.expect(400);
    assert_eq!(answer.fields(), [("cursor", "invalid_cursor")]);
}

#[tokio::test(start_paused = true)]
async fn a_schedule_is_attached_with_its_warnings() {
    let app = TestApp::start().await;
    let path = draft(&app, json!({})).await;
    let schedule = format!("{path}/schedule");
    for (body, expected) in [
        (json!({}), vec![("startTime", "required"), ("timezone", "required")]),
        (
            json!({ "startTime": "9", "timezone": "Mars/X", "endTime": 5, "start": 1 }),
            vec![
                ("start", "unknown_field"),
                ("endTime", "wrong_type"),
                ("startTime", "invalid"),
                ("timezone", "invalid"),
            ],
        ),
    ] {
        let answer = app.client.post(&schedule, body).await.expect(400);
        assert_eq!(answer.fields(), expected);
    }
    assert!(app.node.commands().is_empty());
    let body = json!({ "startTime": "2030-06-01T09:00", "endTime": "17:00", "timezone": "Europe/Berlin" });
    let answer = app.client.post(&schedule, body).await.expect(200);
    let text = ScheduleText {
        start_time: Some("2030-06-01T09:00".into()),
        end_time: Some("17:00".into()),
        timezone: Some("Europe/Berlin".into()),
    };
    assert_eq!(app.node.commands().pop().unwrap().1, CampaignCommand::Schedule(text));
    assert_eq!(answer.data()["status"], "waiting");
    assert_eq!(answer.data()["scheduled"], true);
    assert_eq!(answer.data()["startTime"], "2030-06-01T09:00");
    assert_eq!(answer.data()["endTime"], "17:00");
    assert_eq!(answer.data()["timezone"], "Europe/Berlin");
    let warning = answer.text("/warning");
    assert!(
        warning.contains("nobody is really called") && !warning.contains("past"),
        "{warning}"
    );
    // The time is 2026-01-01 at midnight.
    for start in ["2025-06-01T09:00", "2025-12-31T23:00:00Z"] {
        let body = json!({ "startTime": start, "timezone": "UTC" });
        let answer = app.client.post(&schedule, body).await.expect(200);
        assert_eq!(answer.data()["endTime"], Value::Null);
        assert!(answer.text("/warning").contains("in the past"));
    }
    app.stranger()
        .await
        .post(&schedule, json!({ "startTime": "09:00", "timezone": "UTC" }))
        .await
        .expect(404);
    app.client.post(&format!("{schedule}?x=1"), json!({})).await.expect(400);
}

#[tokio::test(start_paused = true)]
async fn a_campaign_can_be_created_with_its_schedule() {
    let app = TestApp::start().await;
    let fields = json!({ "scheduled": true, "startTime": "09:00", "endTime": "17:00", "timezone": "Europe/Berlin" });
    let path = draft(&app, fields).await;
    let read = app.client.get(&path).await.expect(200);
    assert_eq!(read.data()["status"], "waiting");
    assert_eq!(
        (
            &read.data()["startTime"],
            &read.data()["scheduled"],
            &read.data()["active"]
        ),
        (&json!("09:00"), &json!(true), &json!(true))
    );
    // Schedule texts without `scheduled` are stored for later.
    let path = draft(&app, json!({ "startTime": "10:00" })).await;
    let read = app.client.get(&path).await.expect(200);
    assert_eq!(
        (
            &read.data()["startTime"],
            &read.data()["status"],
            &read.data()["scheduled"]
        ),
        (&json!("10:00"), &json!("draft"), &json!(false))
    );
    app.node.set(Mood::Refusing(CommandError::Unavailable("x".into())));
    let agent = app.agent().await;
    let body = json!({
        "name": "c", "agentId": agent, "contacts": [{ "phoneNumber": "+15550000000" }],
        "scheduled": true, "startTime": "09:00", "timezone": "UTC",
    });
    let kept = app.client.post(CAMPAIGNS, body).await.expect(201);
    assert_eq!(kept.data()["status"], "draft");
    assert!(kept.text("/warning").contains("not scheduled"));
}

#[tokio::test(start_paused = true)]
async fn a_deleted_campaign_is_gone_from_every_list_and_read() {
    let app = TestApp::start().await;
    let path = draft(&app, json!({})).await;
    app.stranger().await.delete(&path).await.expect(404);
    app.client.post(&format!("{path}/launch"), json!({})).await.expect(200);
    let refused = app.client.delete(&path).await;
    assert_eq!((refused.status, refused.code()), (409, "campaign_running"));
    app.client.post(&format!("{path}/stop"), json!({})).await.expect(200);
    let id = path.rsplit('/').next().unwrap();
    let deleted = app.client.delete(&path).await.expect(200);
    assert_eq!(*deleted.data(), json!({ "campaignId": id, "deleted": true }));
    for rest in ["", "/contacts", "/results.csv", "/events"] {
        app.client.get(&format!("{path}{rest}")).await.expect(404);
    }
    app.client.patch(&path, json!({})).await.expect(404);
    app.client.delete(&path).await.expect(404);
    app.client.post(&format!("{path}/launch"), json!({})).await.expect(404);
    assert_eq!(*app.client.get(CAMPAIGNS).await.data(), json!([]));
}

#[tokio::test(start_paused = true)]
async fn saved_contacts_fill_variables_too() {
    let app = TestApp::start().await;
    saved(&app, 0, json!({ "city": "Bonn" })).await;
    let agent = app.agent().await;
    let greeting = json!({ "conversationConfig": { "agent": { "greetingMessage": "Hi from {{city}}" } } });
    app.client
        .patch(&format!("/public/v1/agents/{agent}"), greeting)
        .await
        .expect(200);
    let contacts = json!([{ "phoneNumber": "+15550000000" }, { "phoneNumber": "+15550000001" }]);
    let body = json!({ "name": "c", "agentId": agent, "contacts": contacts });
    let made = app.client.post(CAMPAIGNS, body).await.expect(201);
    let warning = made.text("/warning");
    assert!(
        warning.contains("`{{city}}` has no value for 1 of 2 contacts"),
        "{warning}"
    );
    let path = format!("{CAMPAIGNS}/{}", made.text("/data/campaignId"));
    let patch = json!({ "contacts": [{ "phoneNumber": "+15550000002" }] });
    let changed = app.client.patch(&path, patch).await.expect(200);
    assert_eq!(changed.text("/warning"), "`{{city}}` has no value; it is left empty");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_cannot_dial_is_in_the_way_only_of_dialing() {
    let app = TestApp::start().await;
    let path = draft(&app, json!({})).await;
    let agent = app.client.get(&path).await.text("/data/agentId");
    let direction = json!({ "direction": "inbound" });
    app.client
        .patch(&format!("/public/v1/agents/{agent}"), direction)
        .await
        .expect(200);
    let contacts = json!({ "contacts": [{ "phoneNumber": "+15550000005" }] });
    let changed = app.client.patch(&path, contacts).await.expect(200);
    assert_eq!(numbers(&changed), ["+15550000005"]);
}

#[tokio::test(start_paused = true)]
async fn a_campaign_is_created_from_saved_contacts_too() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let saved = app
        .client
        .post(
            "/public/v1/contacts",
            json!({ "phoneNumber": "+15550000009", "name": "Ada" }),
        )
        .await
        .expect(201);
    let id = saved.data()["contactId"].clone();
    let given = json!([{ "phoneNumber": "+15550000005", "city": "Rome" }]);
    let create = async |contacts: Value| {
        let mut body = json!({ "name": "c", "agentId": agent });
        body.as_object_mut()
            .unwrap()
            .extend(contacts.as_object().unwrap().clone());
        app.client.post(CAMPAIGNS, body).await
    };
    let made = create(json!({ "contactIds": [id] })).await.expect(201);
    assert_eq!(numbers(&made), ["+15550000009"]);
    assert_eq!(made.data()["contacts"][0]["contactId"], id);
    assert_eq!(made.data()["contacts"][0]["name"], "Ada");
    let made = create(json!({ "contacts": given, "contactIds": [id] }))
        .await
        .expect(201);
    assert_eq!(numbers(&made), ["+15550000005", "+15550000009"]);
    let twice = json!([{ "phoneNumber": "+15550000009" }]);
    let refused = create(json!({ "contacts": twice, "contactIds": [id] }))
        .await
        .expect(400);
    assert_eq!(refused.fields(), [("contactIds[0]", "duplicate_number")]);
    let refused = create(json!({ "contactIds": [] })).await.expect(400);
    assert_eq!(refused.fields(), [("contactIds", "required")]);
    let stranger = app.stranger().await;
    let foreign = json!({ "name": "c", "agentId": agent, "contactIds": [id] });
    let refused = stranger.post(CAMPAIGNS, foreign).await.expect(400);
    assert_eq!(refused.fields(), [("contactIds[0]", "not_found")]);
}
