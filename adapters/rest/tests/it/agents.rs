//! Tests of agents as documents: created with few fields, read with all fields, patched by merging.

use domain::ports::store::DirectoryStore;
use serde_json::{Value, json};

use support::app::TestApp;

const CREATE: &str = "/public/v1/agents/create";

fn minimal() -> Value {
    json!({ "name": "Ann", "conversationConfig": { "agent": { "prompt": { "prompt": "Be brief." } } } })
}

#[tokio::test(start_paused = true)]
async fn an_agent_reads_back_complete() {
    let app = TestApp::start().await;
    let made = app.client.post(CREATE, minimal()).await.expect(201);
    assert_eq!(made.data().as_object().unwrap().len(), 1);
    let id = made.text("/data/agentId");
    let read = app.client.get(&format!("/public/v1/agents/{id}")).await.expect(200);
    let agent = read.data();
    assert_eq!(agent["agentId"], id);
    assert_eq!(agent["direction"], "outbound");
    assert_eq!(agent["tags"], json!([]));
    assert_eq!(agent["conversationConfig"]["turn"]["turnTimeout"], 7.0);
    assert_eq!(agent["conversationConfig"]["conversation"]["maxDurationSeconds"], 300);
    assert_eq!(
        agent["workflow"],
        json!({ "edges": {}, "nodes": {}, "preventSubagentLoops": false })
    );
    let tools = agent["conversationConfig"]["agent"]["prompt"]["builtInTools"]
        .as_object()
        .unwrap();
    assert_eq!(tools.len(), 6);
    let owner = json!({ "userId": app.account.id.to_string(), "userEmail": "ada@example.com" });
    assert_eq!(agent["metadata"]["createdBy"], owner);
}

#[tokio::test(start_paused = true)]
async fn a_patch_changes_only_what_it_names() {
    let app = TestApp::start().await;
    let path = format!("/public/v1/agents/{}", app.agent().await);
    let before = app.client.get(&path).await.expect(200);
    let same = app.client.patch(&path, json!({})).await.expect(200);
    assert_eq!(same.data()["conversationConfig"], before.data()["conversationConfig"]);
    let patch = json!({ "tags": ["a"], "conversationConfig": { "turn": { "turnTimeout": 3 } } });
    let after = app.client.patch(&path, patch).await.expect(200);
    assert_eq!(after.data()["conversationConfig"]["turn"]["turnTimeout"], 3.0);
    assert_eq!(after.data()["name"], "Ann");
    let back = json!({ "tags": null, "conversationConfig": { "turn": null } });
    let reset = app.client.patch(&path, back).await.expect(200);
    assert_eq!(reset.data()["conversationConfig"], before.data()["conversationConfig"]);
    assert_eq!(app.client.get(&path).await.data(), reset.data());
}

#[tokio::test(start_paused = true)]
async fn a_tag_finds_the_agents_that_have_it() {
    let app = TestApp::start().await;
    let mut with_tag = Vec::new();
    for tags in [
        json!(["sales", "de"]),
        json!(["Sales"]),
        json!([]),
        json!(["sales & service", "sales"]),
    ] {
        let mut agent = minimal();
        agent["tags"] = tags.clone();
        let id = app.client.post(CREATE, agent).await.expect(201).text("/data/agentId");
        if tags.as_array().unwrap().contains(&json!("sales")) {
            with_tag.insert(0, (id, tags));
        }
    }
    let first = app
        .client
        .get("/public/v1/agents?tag=sales&pageSize=1")
        .await
        .expect(200);
    let cursor = first.text("/pagination/nextCursor");
    let path = format!("/public/v1/agents?tag=sales&pageSize=1&cursor={cursor}");
    let second = app.client.get(&path).await.expect(200);
    for (page, (id, tags)) in [&first, &second].into_iter().zip(&with_tag) {
        assert_eq!(
            (&page.data()[0]["agentId"], &page.data()[0]["tags"]),
            (&json!(id), tags)
        );
        assert_eq!(page.data().as_array().unwrap().len(), 1);
    }
    assert_eq!(second.body["pagination"].get("nextCursor"), None);
    let odd = app
        .client
        .get("/public/v1/agents?tag=sales%20%26%20service")
        .await
        .expect(200);
    assert_eq!(odd.data()[0]["agentId"], json!(with_tag[0].0));
    // A cursor of one list is invalid for another.
    let other = format!("/public/v1/agents?tag=de&cursor={cursor}");
    app.client.get(&other).await.expect(400);
}

#[tokio::test(start_paused = true)]
async fn problems_and_unknown_ids_are_listed() {
    let app = TestApp::start().await;
    let answer = app.client.post(CREATE, json!({ "nam": "x" })).await.expect(400);
    let paths: Vec<&str> = answer.fields().into_iter().map(|(path, _)| path).collect();
    for path in ["nam", "name", "conversationConfig.agent.prompt.prompt"] {
        assert!(paths.contains(&path), "{path} in {paths:?}");
    }
    let mut body = minimal();
    let nobody = domain::id::AgentId::new();
    let prompt = &mut body["conversationConfig"]["agent"]["prompt"];
    prompt["knowledgeBase"] = json!([nobody]);
    prompt["builtInTools"] = json!({ "transferToAgent": { "transfers": [{ "agentId": nobody, "condition": "x" }] } });
    let answer = app.client.post(CREATE, body).await.expect(400);
    assert_eq!(
        answer.fields(),
        [
            (
                "conversationConfig.agent.prompt.builtInTools.transferToAgent.transfers[0].agentId",
                "not_found"
            ),
            ("conversationConfig.agent.prompt.knowledgeBase[0]", "not_found"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_strangers_agent_is_a_404() {
    let app = TestApp::start().await;
    let path = format!("/public/v1/agents/{}", app.agent().await);
    let stranger = app.stranger().await;
    stranger.get(&path).await.expect(404);
    stranger.patch(&path, json!({ "name": "mine" })).await.expect(404);
    app.client.get("/public/v1/agents/create").await.expect(405);
    app.client.get("/public/v1/agents/ABC").await.expect(404);
}

#[tokio::test(start_paused = true)]
async fn a_free_form_part_reads_back_with_its_nulls_as_described() {
    let app = TestApp::start().await;
    let mut body = minimal();
    body["conversationConfig"]["languagePresets"] = json!({ "de": { "overrides": null } });
    body["platformSettings"] = json!({ "dataCollection": { "entities": { "zip": { "type": null } } } });
    let id = app.client.post(CREATE, body).await.expect(201).text("/data/agentId");
    // The client checks every response against the description.
    let read = app.client.get(&format!("/public/v1/agents/{id}")).await.expect(200);
    let presets = &read.data()["conversationConfig"]["languagePresets"];
    assert_eq!(*presets, json!({ "de": { "overrides": null } }));
}

#[tokio::test(start_paused = true)]
async fn what_the_agents_providers_cannot_follow_is_a_warning_at_create_patch_and_launch() {
    let app = TestApp::start().await;
    let mut agent = minimal();
    let plain = app.client.post(CREATE, agent.clone()).await.expect(201);
    assert_eq!(plain.body.get("warning"), None, "defaults are no wish");
    agent["conversationConfig"]["tts"] = json!({ "voiceId": "elevenlabs:v", "speed": 1.5 });
    agent["platformSettings"] = json!({ "summaryLanguage": "fr" });
    let speed = "`conversationConfig.tts.speed` is 1.5, but voice `elevenlabs:v` takes 0.7 to 1.2, so it gets 1.2";
    let language = "`platformSettings.summaryLanguage` has no effect, because no language model does the analysis";
    let made = app.client.post(CREATE, agent).await.expect(201);
    assert_eq!(made.text("/warning"), format!("{speed}; {language}"));
    let path = format!("/public/v1/agents/{}", made.text("/data/agentId"));
    let read = app.client.get(&path).await.expect(200);
    assert_eq!(read.body.get("warning"), None);
    let patch = json!({ "conversationConfig": {
        "agent": { "prompt": { "temperature": 0.5 } },
        "tts": { "speed": null, "supportedVoices": [{ "voiceId": "deepgram:w", "stability": 0.1 }] },
    } });
    let stability = "`conversationConfig.tts.supportedVoices[0].stability` has no effect on voice `deepgram:w`";
    let temperature = "`conversationConfig.agent.prompt.temperature` has no effect with `interviewer`";
    let patched = app.client.patch(&path, patch).await.expect(200);
    let warning = format!("{stability}; {temperature}; {language}");
    assert_eq!(patched.text("/warning"), warning);
    let campaign = json!({ "name": "C", "agentId": made.text("/data/agentId"),
                           "contacts": [{ "phoneNumber": "+15551230000" }] });
    let campaign = app.client.post("/public/v1/campaigns", campaign).await.expect(201);
    assert_eq!(campaign.body.get("warning"), None);
    let launch = format!("/public/v1/campaigns/{}/launch", campaign.text("/data/campaignId"));
    let launched = app.client.post(&launch, json!({})).await.expect(200);
    assert!(launched.text("/warning").ends_with(&warning), "{:?}", launched.body);
    let call = json!({ "agentId": made.text("/data/agentId"), "phoneNumber": "+15551230001" });
    let called = app.client.post("/public/v1/calls", call).await.expect(201);
    assert!(called.text("/warning").ends_with(&warning), "{:?}", called.body);
}

#[tokio::test(start_paused = true)]
async fn a_transfer_to_an_agent_names_the_agent() {
    let app = TestApp::start().await;
    let transfers = json!({ "transferToAgent": { "transfers": [{ "condition": "x" }, { "agentId": null }] } });
    let prompt = json!({ "agent": { "prompt": { "prompt": "Be brief.", "builtInTools": transfers } } });
    let agent = app.agent().await;
    let body = json!({ "name": "Ann", "conversationConfig": prompt });
    let path =
        |at: usize| format!("conversationConfig.agent.prompt.builtInTools.transferToAgent.transfers[{at}].agentId");
    let (first, second) = (path(0), path(1));
    for refused in [
        app.client.post("/public/v1/agents/create", body.clone()).await,
        app.client.patch(&format!("/public/v1/agents/{agent}"), body).await,
    ] {
        let refused = refused.expect(400);
        assert_eq!(refused.fields(), [(&*first, "required"), (&*second, "required")]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_transfer_saved_before_it_had_to_name_an_agent_is_kept_with_a_warning_until_it_is_changed() {
    let app = TestApp::start().await;
    let prompt = |transfers: Value| {
        let tools = json!({ "transferToAgent": { "transfers": transfers } });
        json!({ "agent": { "prompt": { "prompt": "Be brief.", "builtInTools": tools } } })
    };
    let other = app.agent().await;
    let saved = json!([{ "agentId": other }, { "condition": "x" }]);
    let document = json!({ "name": "Ann", "conversationConfig": prompt(saved.clone()) });
    let document = document.as_object().cloned().unwrap();
    let row = app.store.create_agent(app.account.id, document, None).await.unwrap();
    let path = format!("/public/v1/agents/{}", row.id);
    let at = "conversationConfig.agent.prompt.builtInTools.transferToAgent.transfers[1]";
    let enabled = json!({ "enabled": true });
    let switched_on = json!({ "agent": { "prompt": { "builtInTools": { "transferToAgent": enabled } } } });
    for patch in [json!({ "name": "Bea" }), json!({ "conversationConfig": switched_on })] {
        let answer = app.client.patch(&path, patch).await.expect(200);
        let warning = answer.text("/warning");
        let told = format!("transfers without an `agentId` have no effect: `{at}`");
        assert!(warning.contains(&told), "{warning}");
    }
    let stored = app.store.agent(app.account.id, row.id).await.unwrap().document;
    assert_eq!(
        stored["conversationConfig"]["agent"]["prompt"]["builtInTools"]["transferToAgent"]["transfers"],
        saved
    );
    let changed = json!({ "conversationConfig": prompt(json!([{ "condition": "y" }])) });
    let answer = app.client.patch(&path, changed).await.expect(400);
    assert_eq!(answer.fields(), [(&*at.replace("[1]", "[0].agentId"), "required")]);
    let mended = json!({ "conversationConfig": prompt(json!([{ "agentId": other }])) });
    let answer = app.client.patch(&path, mended).await.expect(200);
    assert_eq!(answer.body.get("warning"), None);
}
