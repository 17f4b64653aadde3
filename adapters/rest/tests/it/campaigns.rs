//! Tests of campaigns from JSON: created completely or not at all, listed in stable pages, controlled through the node.

use actors::campaign::{CampaignCommand, CommandError};
use domain::ports::store::CampaignStatus;
use serde_json::{Value, json};

use support::{app::TestApp, client::Answer, switchboard::Mood};

const CAMPAIGNS: &str = "/public/v1/campaigns";

fn body(agent: &str, numbers: std::ops::Range<u64>) -> Value {
    let contacts: Vec<Value> = numbers
        .map(|n| json!({ "phoneNumber": format!("+1555{n:07}"), "city": "Bonn" }))
        .collect();
    json!({ "name": "Spring", "agentId": agent, "contacts": contacts })
}

async fn campaign(app: &TestApp) -> String {
    let agent = app.agent().await;
    let made = app.client.post(CAMPAIGNS, body(&agent, 0..2)).await.expect(201);
    made.text("/data/campaignId")
}

fn with(mut body: Value, fields: Value) -> Value {
    let Value::Object(fields) = fields else { panic!() };
    body.as_object_mut().unwrap().extend(fields);
    body
}

#[tokio::test(start_paused = true)]
async fn a_campaign_reads_back_with_contacts_and_progress() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let saved = json!({ "phoneNumber": "+15550000001", "name": "Ada" });
    let saved = app.client.post("/public/v1/contacts", saved).await.expect(201);
    let settings = json!({
        "followUpCall": true, "followUpAttempts": 2, "followUpIntervals": [5, 60], "maxConcurrentCalls": 3,
    });
    let made = app
        .client
        .post(CAMPAIGNS, with(body(&agent, 0..2), settings))
        .await
        .expect(201);
    let id = made.text("/data/campaignId");
    let read = app.client.get(&format!("{CAMPAIGNS}/{id}")).await.expect(200);
    assert_eq!(read.data(), made.data());
    assert_eq!(read.body.get("warning"), None);
    let campaign = read.data();
    assert_eq!(
        *campaign,
        json!({
            "campaignId": id, "name": "Spring", "agentId": agent, "active": false, "scheduled": false,
            "startTime": null, "endTime": null, "timezone": null, "nextRunAt": null, "status": "draft",
            "startIndex": 0, "contactCount": 2, "maxConcurrentCalls": 3,
            "followUp": { "enabled": true, "attempts": 2, "intervalsMinutes": [5, 60] },
            "metadata": campaign["metadata"],
            "pacing": { "dialsPerMinute": 0.0, "expectedEnd": null },
            "progress": { "pending": 2, "inProgress": 0, "completed": 0, "failed": 0, "cancelled": 0, "voicemail": 0 },
            "contacts": [
                { "phoneNumber": "+15550000000", "contactId": null, "city": "Bonn" },
                { "phoneNumber": "+15550000001", "contactId": saved.data()["contactId"], "city": "Bonn" },
            ],
        })
    );
    let listed = app.client.get(CAMPAIGNS).await.expect(200);
    assert_eq!(listed.data()[0].get("contacts"), None);
    assert_eq!(listed.data()[0]["campaignId"], id);
    assert_eq!(listed.body["pagination"], json!({ "pageSize": 30, "hasMore": false }));
}

#[tokio::test(start_paused = true)]
async fn every_problem_of_a_campaign_is_listed() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let sound = body(&agent, 0..1);
    let cases: Vec<(Value, Vec<(&str, &str)>)> = vec![
        (
            json!({}),
            vec![("name", "required"), ("agentId", "required"), ("contacts", "required")],
        ),
        (
            with(sound.clone(), json!({ "contacts": [] })),
            vec![("contacts", "required")],
        ),
        (
            with(sound.clone(), json!({ "contacts": {} })),
            vec![("contacts", "wrong_type")],
        ),
        (
            with(sound.clone(), json!({ "agentId": "x" })),
            vec![("agentId", "invalid_value")],
        ),
        (with(sound.clone(), json!({ "name": "  " })), vec![("name", "required")]),
        (
            with(sound.clone(), json!({ "maxConcurrentCalls": 0 })),
            vec![("maxConcurrentCalls", "out_of_range")],
        ),
        (
            with(sound.clone(), json!({ "launch": "true" })),
            vec![("launch", "wrong_type")],
        ),
        (
            with(sound.clone(), json!({ "lunch": true })),
            vec![("lunch", "unknown_field")],
        ),
        (
            with(sound.clone(), json!({ "scheduled": true, "launch": true })),
            vec![
                ("scheduled", "not_allowed"),
                ("startTime", "required"),
                ("timezone", "required"),
            ],
        ),
        (
            with(
                sound.clone(),
                json!({ "scheduled": true, "startTime": "9 o'clock", "timezone": "Mars/X" }),
            ),
            vec![("startTime", "invalid"), ("timezone", "invalid")],
        ),
        (
            with(sound.clone(), json!({ "endTime": "25:00" })),
            vec![("endTime", "invalid")],
        ),
        (
            with(
                sound.clone(),
                json!({ "followUpCall": true, "followUpAttempts": 2, "followUpIntervals": [5, "x"] }),
            ),
            vec![("followUpIntervals[1]", "wrong_type")],
        ),
        (
            with(
                sound.clone(),
                json!({ "contacts": [
                    { "phoneNumber": "+15550000001" }, 7, { "name": "x" },
                    { "phoneNumber": "001 555 000 0001", "email": "x", "metadata": 1 },
                    { "phoneNumber": "+15550000002", "contactId": "x" },
                    { "phoneNumber": "+15550000003", "contactId": app.account.id },
                ] }),
            ),
            vec![
                ("contacts[1]", "wrong_type"),
                ("contacts[2].phoneNumber", "required"),
                ("contacts[3].email", "invalid_email"),
                ("contacts[3].metadata", "not_allowed"),
                ("contacts[3].phoneNumber", "duplicate_number"),
                ("contacts[4].contactId", "invalid_value"),
                ("contacts[5].contactId", "not_found"),
            ],
        ),
    ];
    for (body, expected) in cases {
        let shown = body.to_string();
        let answer = app.client.post(CAMPAIGNS, body).await.expect(400);
        assert_eq!(answer.fields(), expected, "{shown}");
    }
    assert_eq!(*app.client.get(CAMPAIGNS).await.data(), json!([]));
}

#[tokio::test(start_paused = true)]
async fn the_agent_must_be_the_accounts_and_able_to_dial() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let foreign = app.stranger().await.post(CAMPAIGNS, body(&agent, 0..1)).await;
    assert_eq!((foreign.status, foreign.code()), (404, "not_found"));
    let path = format!("/public/v1/agents/{agent}");
    app.client
        .patch(&path, json!({ "direction": "inbound" }))
        .await
        .expect(200);
    let inbound = app.client.post(CAMPAIGNS, body(&agent, 0..1)).await.expect(400);
    assert_eq!(inbound.fields(), [("agentId", "not_allowed")]);
}

#[tokio::test(start_paused = true)]
async fn commands_go_through_the_node_and_answer_with_the_campaign() {
    let app = TestApp::start().await;
    let id = campaign(&app).await;
    let command = |what: &str| format!("{CAMPAIGNS}/{id}/{what}");
    let launched = app.client.post(&command("launch"), json!({})).await.expect(200);
    assert_eq!(launched.data()["status"], "running");
    assert_eq!(launched.data()["active"], true);
    assert_eq!(launched.data()["contacts"].as_array().unwrap().len(), 2);
    assert!(launched.text("/warning").contains("nobody is really called"));
    let again = app.client.post(&command("launch"), json!({})).await;
    assert_eq!((again.status, again.code()), (409, "invalid_transition"));
    assert!(again.text("/error/message").contains("running"));
    let bodiless = support::client::send(app.client.request("POST", &command("pause"))).await;
    assert_eq!(bodiless.expect(200).data()["status"], "paused");
    let stopped = app
        .client
        .post(&command("stop"), json!({ "hangUp": true }))
        .await
        .expect(200);
    assert_eq!(stopped.data()["status"], "stopped");
    let given: Vec<_> = app.node.commands().into_iter().map(|(_, command)| command).collect();
    let stop = CampaignCommand::Stop { hang_up: true };
    assert_eq!(
        given,
        [
            CampaignCommand::Launch,
            CampaignCommand::Launch,
            CampaignCommand::Pause,
            stop
        ]
    );
    let answer = app
        .client
        .post(&command("stop"), json!({ "hangup": true }))
        .await
        .expect(400);
    assert_eq!(answer.fields(), [("hangup", "unknown_field")]);
    app.client
        .post(&command("pause"), json!({ "hangUp": true }))
        .await
        .expect(400);
}

#[tokio::test(start_paused = true)]
async fn what_the_node_says_becomes_the_status() {
    let app = TestApp::start().await;
    let id = campaign(&app).await;
    let launch = format!("{CAMPAIGNS}/{id}/launch");
    for (error, status, code) in [
        (CommandError::NotFound, 404, "not_found"),
        (
            CommandError::InvalidTransition(CampaignStatus::Failed),
            409,
            "invalid_transition",
        ),
        (CommandError::NothingToDial, 409, "nothing_to_dial"),
        (CommandError::NotConfigured("set X".into()), 409, "not_configured"),
        (CommandError::Unavailable("secret".into()), 503, "unavailable"),
    ] {
        app.node.set(Mood::Refusing(error));
        let answer = app.client.post(&launch, json!({})).await;
        assert_eq!((answer.status, answer.code()), (status, code));
        assert!(!answer.body.to_string().contains("secret"));
    }
    for (status, command, message) in [
        (
            CampaignStatus::Draft,
            "pause",
            "a draft campaign cannot be paused; allowed now: launch, schedule",
        ),
        (
            CampaignStatus::Running,
            "launch",
            "a running campaign cannot be launched; allowed now: pause, stop",
        ),
    ] {
        app.node.set(Mood::Refusing(CommandError::InvalidTransition(status)));
        let answer = app.client.post(&format!("{CAMPAIGNS}/{id}/{command}"), json!({})).await;
        assert_eq!(answer.expect(409).text("/error/message"), message);
    }
    app.node.set(Mood::Silent);
    let answer: Answer = app.client.post(&launch, json!({})).await.expect(503);
    assert!(answer.headers.contains_key("retry-after"));
}

#[tokio::test(start_paused = true)]
async fn a_campaign_can_be_made_and_launched_at_once() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let launched = app
        .client
        .post(CAMPAIGNS, with(body(&agent, 0..1), json!({ "launch": true })))
        .await
        .expect(201);
    assert_eq!(launched.data()["status"], "running");
    assert!(launched.text("/warning").contains("nobody is really called"));
    app.node.set(Mood::Refusing(CommandError::Unavailable("x".into())));
    let kept = app
        .client
        .post(CAMPAIGNS, with(body(&agent, 0..1), json!({ "launch": true })))
        .await
        .expect(201);
    assert_eq!(kept.data()["status"], "draft");
    assert!(kept.text("/warning").contains("not launched"));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_lacks_a_provider_is_refused_before_anything_is_saved() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let patch = json!({ "conversationConfig": { "agent": { "prompt": { "llm": "openai/gpt-4.1-mini" } } } });
    app.client
        .patch(&format!("/public/v1/agents/{agent}"), patch)
        .await
        .expect(200);
    let answer = app
        .client
        .post(CAMPAIGNS, with(body(&agent, 0..1), json!({ "launch": true })))
        .await;
    assert_eq!((answer.status, answer.code()), (409, "not_configured"));
    assert!(answer.text("/error/message").contains("OPENAI_API_KEY"));
    assert_eq!(*app.client.get(CAMPAIGNS).await.data(), json!([]));
}

#[tokio::test(start_paused = true)]
async fn an_open_variable_earns_a_warning_at_creation() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let patch = json!({ "conversationConfig": { "agent": { "greetingMessage": "Hi {{name}} from {{city}}" } } });
    app.client
        .patch(&format!("/public/v1/agents/{agent}"), patch)
        .await
        .expect(200);
    let made = app.client.post(CAMPAIGNS, body(&agent, 0..2)).await.expect(201);
    let warning = made.text("/warning");
    assert!(
        warning.contains("`{{name}}` has no value for 2 of 2 contacts"),
        "{warning}"
    );
    assert!(!warning.contains("city"), "{warning}");
}

#[tokio::test(start_paused = true)]
async fn an_open_variable_warns_wherever_its_text_is_spoken_shown_or_asked() {
    let app = TestApp::start().await;
    let tool = json!({ "name": "prices", "description": "Prices in {{shop}}.", "url": "https://example.com/prices",
                       "parameters": { "type": "object" } });
    let tool = app.client.post("/public/v1/tools", tool).await.expect(201);
    let agent = json!({
        "name": "Ava",
        "conversationConfig": {
            "agent": {
                "prompt": {
                    "prompt": "You are {{role}}.",
                    "toolIds": [tool.text("/data/toolId")],
                    "builtInTools": { "voicemailDetection": { "enabled": true, "voicemailMessage": "Call {{office}}." } },
                },
                "dynamicVariables": { "role": "a clerk" },
            },
            "languagePresets": { "de": { "overrides": { "agent": { "greetingMessage": "Hier ist {{firma}}." } } } },
        },
        "platformSettings": {
            "dataCollection": { "entities": { "day": { "description": "day in {{month}}" } } },
            "callActions": { "postCallEmail": { "enabled": true, "emailConfiguration": {
                "to": ["desk@example.com"], "subject": "{{status}} of {{order}} on {{day}}",
            } } },
        },
    });
    let agent = app.client.post("/public/v1/agents/create", agent).await.expect(201);
    let made = body(&agent.text("/data/agentId"), 0..1);
    let warning = app.client.post(CAMPAIGNS, made).await.expect(201).text("/warning");
    for name in ["shop", "office", "firma", "month", "order"] {
        assert!(warning.contains(&format!("`{{{{{name}}}}}` has no value")), "{warning}");
    }
    assert!(!warning.contains("contacts"), "one contact is not counted: {warning}");
    for name in ["role", "status", "day"] {
        assert!(!warning.contains(&format!("{{{{{name}}}}}")), "{warning}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_strangers_campaign_is_a_404_everywhere() {
    let app = TestApp::start().await;
    let id = campaign(&app).await;
    let stranger = app.stranger().await;
    for id in [id.as_str(), "x", &id.to_uppercase()] {
        stranger.get(&format!("{CAMPAIGNS}/{id}")).await.expect(404);
        for command in ["launch", "pause", "stop"] {
            stranger
                .post(&format!("{CAMPAIGNS}/{id}/{command}"), json!({}))
                .await
                .expect(404);
        }
    }
    assert_eq!(*stranger.get(CAMPAIGNS).await.data(), json!([]));
}

#[tokio::test(start_paused = true)]
async fn pages_neither_skip_nor_repeat_while_campaigns_are_added() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let make = async |name: &str| {
        let named = with(body(&agent, 0..1), json!({ "name": name }));
        app.client.post(CAMPAIGNS, named).await.expect(201);
    };
    for n in 0..7 {
        make(&format!("old {n}")).await;
    }
    let mut names = Vec::new();
    let mut path = format!("{CAMPAIGNS}?pageSize=3");
    loop {
        let page = app.client.get(&path).await.expect(200);
        assert!(page.data().as_array().unwrap().len() <= 3);
        names.extend(
            page.data()
                .as_array()
                .unwrap()
                .iter()
                .map(|c| c["name"].as_str().unwrap().to_owned()),
        );
        make("new").await;
        let Some(cursor) = page.body["pagination"]["nextCursor"].as_str() else {
            assert_eq!(page.body["pagination"]["hasMore"], false);
            break;
        };
        assert_eq!(page.body["pagination"]["hasMore"], true);
        path = format!("{CAMPAIGNS}?pageSize=3&cursor={cursor}");
    }
    let expected: Vec<String> = (0..7).rev().map(|n| format!("old {n}")).collect();
    assert_eq!(names, expected);
    let found = app
        .client
        .get(&format!("{CAMPAIGNS}?name=OLD%203&status=draft&active=false"))
        .await
        .expect(200);
    assert_eq!(found.data().as_array().unwrap().len(), 1);
    let none = app.client.get(&format!("{CAMPAIGNS}?active=true")).await.expect(200);
    assert_eq!(*none.data(), json!([]));
}

#[tokio::test(start_paused = true)]
async fn a_removed_campaign_leaves_the_other_pages_whole() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let mut ids = Vec::new();
    for n in 0..6 {
        let named = with(body(&agent, 0..1), json!({ "name": format!("Été {n}") }));
        let made = app.client.post(CAMPAIGNS, named).await.expect(201);
        ids.push(made.text("/data/campaignId"));
    }
    let first = app
        .client
        .get(&format!("{CAMPAIGNS}?pageSize=3&name=%C3%89T%C3%89"))
        .await;
    let first = first.expect(200);
    assert_eq!(first.data()[2]["name"], "Été 3");
    let last = &first.data()[2]["metadata"]["createdAt"];
    assert_eq!(first.body["pagination"]["nextCursor"], *last);
    // The campaign that the cursor names, and one after it.
    for n in [3, 1] {
        app.client.delete(&format!("{CAMPAIGNS}/{}", ids[n])).await.expect(200);
    }
    let path = format!(
        "{CAMPAIGNS}?pageSize=3&name=%C3%A9t%C3%A9&cursor={}",
        last.as_str().unwrap()
    );
    let rest = app.client.get(&path).await.expect(200);
    let names: Vec<&Value> = rest.data().as_array().unwrap().iter().map(|c| &c["name"]).collect();
    assert_eq!(names, ["Été 2", "Été 0"]);
    assert_eq!(rest.body["pagination"], json!({ "pageSize": 3, "hasMore": false }));
    for item in rest.data().as_array().unwrap() {
        for field in [
            "campaignId",
            "name",
            "agentId",
            "active",
            "scheduled",
            "startTime",
            "endTime",
            "timezone",
            "nextRunAt",
            "status",
            "startIndex",
            "contactCount",
            "followUp",
            "metadata",
        ] {
            assert!(item.get(field).is_some(), "{field}: {item}");
        }
        assert_eq!(
            (item.get("contacts"), &item["metadata"]["deletedAt"]),
            (None, &Value::Null)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_lists_parameters_are_checked() {
    let app = TestApp::start().await;
    campaign(&app).await;
    let all = app
        .client
        .get(&format!("{CAMPAIGNS}?name=&pageSize=100"))
        .await
        .expect(200);
    assert_eq!(all.data().as_array().unwrap().len(), 1);
    for (query, fields) in [
        (
            "status=done&active=yes&pageSize=101&cursor=x&sort=name",
            vec![
                ("sort", "unknown_parameter"),
                ("status", "invalid_value"),
                ("active", "invalid_value"),
                ("cursor", "invalid_value"),
                ("pageSize", "out_of_range"),
            ],
        ),
        ("pageSize=0", vec![("pageSize", "out_of_range")]),
        ("pageSize=ten", vec![("pageSize", "out_of_range")]),
        ("name=a&name=b", vec![("name", "repeated")]),
        ("active=TRUE", vec![("active", "invalid_value")]),
    ] {
        let answer = app.client.get(&format!("{CAMPAIGNS}?{query}")).await.expect(400);
        assert_eq!(answer.fields(), fields, "{query}");
    }
}

#[tokio::test]
async fn a_command_finds_the_campaign_supervisor_that_took_over() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let body = json!({ "name": "c", "agentId": agent, "contacts": [{ "phoneNumber": "+15550000001" }] });
    let made = app.client.post("/public/v1/campaigns", body).await.expect(201);
    let path = format!("/public/v1/campaigns/{}/launch", made.text("/data/campaignId"));
    app.switchboard
        .campaigns
        .get()
        .unwrap()
        .stop_and_wait(None, None)
        .await
        .unwrap();
    let command = app.client.post(&path, json!({}));
    let restart = async {
        let heir = app.node.spawn(app.store.clone()).await;
        app.switchboard.campaigns.set(heir.campaigns.get().unwrap());
    };
    let (answer, ()) = tokio::join!(command, restart);
    assert_eq!(answer.expect(200).data()["status"], "running");
}
