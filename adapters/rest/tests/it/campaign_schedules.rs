//! Tests of schedules and campaign changes through HTTP with a whole node: the requested contacts are dialed.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use domain::{agent::Agent, ports::NotReady};
use serde_json::{Value, json};
use support::{
    client::Answer,
    words::interviewing_agent,
    world::{World, WorldSettings},
};

/// Creates a draft with two busy phones. Returns its path.
async fn draft(world: &World) -> String {
    let agent = world.agent(interviewing_agent()).await;
    let contacts = [("+15550100001", "busy"), ("+15550100002", "busy")];
    let id = world.launch(&agent, &contacts, json!({ "launch": false })).await;
    format!("/public/v1/campaigns/{id}")
}

fn id(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

fn stands(answer: &Answer) -> (&Value, &Value, &Value, &Value) {
    let data = answer.data();
    (&data["status"], &data["active"], &data["scheduled"], &data["nextRunAt"])
}

#[tokio::test(start_paused = true)]
async fn a_scheduled_campaign_dials_at_its_time_and_not_before() {
    let world = World::start().await;
    let path = draft(&world).await;
    let schedule = json!({ "startTime": "01:10", "endTime": "17:00", "timezone": "Europe/Berlin" });
    let answer = world
        .client
        .post(&format!("{path}/schedule"), schedule)
        .await
        .expect(200);
    let at = json!("2026-01-01T00:10:00.000000Z");
    assert_eq!(stands(&answer), (&json!("waiting"), &json!(true), &json!(true), &at));
    assert!(!answer.text("/warning").contains("past"));
    world.pass(590).await;
    assert!(world.phones().dialed().is_empty());
    let done = world.until_status(id(&path), "completed", 120).await;
    assert_eq!(done["progress"]["failed"], 2);
    assert_eq!(done["startTime"], "01:10");
    let again = json!({ "startTime": "09:00", "timezone": "UTC" });
    let refused = world.client.post(&format!("{path}/schedule"), again).await;
    assert_eq!((refused.status, refused.code()), (409, "nothing_to_dial"));
    // Replacing the contacts makes it a draft again.
    let contacts = json!({ "contacts": [{ "phoneNumber": "+15550100003", "persona": "busy" }] });
    let replaced = world.client.patch(&path, contacts).await.expect(200);
    assert_eq!(replaced.data()["status"], "draft");
    assert_eq!(
        (&replaced.data()["startIndex"], &replaced.data()["contactCount"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(replaced.data()["progress"]["pending"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_patch_moves_the_campaign_as_its_states_allow() {
    let world = World::start().await;
    let path = draft(&world).await;
    let patch = async |body: Value| world.client.patch(&path, body).await;
    let nothing = patch(json!({ "scheduled": true })).await.expect(400);
    assert_eq!(nothing.fields(), [("startTime", "required"), ("timezone", "required")]);
    let stored = patch(json!({ "startTime": "03:00" })).await.expect(200);
    assert_eq!(
        stands(&stored),
        (&json!("draft"), &json!(false), &json!(false), &Value::Null)
    );
    let queued = patch(json!({ "scheduled": true, "timezone": "UTC" })).await.expect(200);
    let at = json!("2026-01-01T03:00:00.000000Z");
    assert_eq!(stands(&queued), (&json!("waiting"), &json!(true), &json!(true), &at));
    assert!(queued.text("/warning").contains("nobody is really called"));
    let moved = patch(json!({ "startTime": "04:00" })).await.expect(200);
    assert_eq!(moved.data()["nextRunAt"], "2026-01-01T04:00:00.000000Z");
    assert_eq!(moved.body.get("warning"), None);
    let past = patch(json!({ "startTime": "2025-01-01T02:00", "endTime": "03:00" }))
        .await
        .expect(200);
    assert!(past.text("/warning").contains("in the past"));
    assert_eq!(past.data()["nextRunAt"], "2026-01-01T02:00:00.000000Z");
    let off = patch(json!({ "scheduled": false, "startTime": "05:00" }))
        .await
        .expect(200);
    assert_eq!(
        stands(&off),
        (&json!("draft"), &json!(false), &json!(false), &Value::Null)
    );
    assert_eq!(
        (&off.data()["startTime"], &off.data()["timezone"]),
        (&json!("05:00"), &json!("UTC"))
    );

    let contacts = json!([{ "phoneNumber": "+15550100009", "persona": "silent" }]);
    patch(json!({ "contacts": contacts })).await.expect(200);
    let cleared = json!({ "startTime": null, "endTime": null, "timezone": null, "active": true });
    let running = patch(cleared).await.expect(200);
    assert_eq!(
        stands(&running),
        (&json!("running"), &json!(true), &json!(false), &Value::Null)
    );
    let schedule = json!({ "startTime": "09:00", "timezone": "UTC" });
    for refused in [
        patch(json!({ "name": "x" })).await,
        patch(json!({ "contacts": contacts })).await,
        world.client.post(&format!("{path}/schedule"), schedule).await,
        world.client.delete(&path).await,
    ] {
        assert_eq!(
            (refused.status, refused.code()),
            (409, "campaign_running"),
            "{}",
            refused.body
        );
    }
    world.until(60, "dial", |phones| !phones.dialed().is_empty()).await;
    world.command(id(&path), "pause").await;
    // Its call is active, so the contacts stay.
    let refused = patch(json!({ "contacts": contacts })).await;
    assert_eq!((refused.status, refused.code()), (409, "campaign_running"));
    let stopped = patch(json!({ "active": false })).await.expect(200);
    assert_eq!(stopped.data()["status"], "stopped");
    let same = patch(json!({ "active": false })).await.expect(200);
    assert_eq!(same.data()["status"], "stopped");
    let deleted = world.client.delete(&path).await.expect(200);
    assert_eq!(*deleted.data(), json!({ "campaignId": id(&path), "deleted": true }));
    world.client.get(&path).await.expect(404);
}

#[tokio::test(start_paused = true)]
async fn another_agent_takes_over_the_waiting_job() {
    let world = World::start().await;
    let path = draft(&world).await;
    let schedule = json!({ "startTime": "01:10", "timezone": "Europe/Berlin" });
    world
        .client
        .post(&format!("{path}/schedule"), schedule)
        .await
        .expect(200);
    let other = world.agent(interviewing_agent()).await;
    let patched = world.client.patch(&path, json!({ "agentId": other })).await.expect(200);
    assert_eq!(
        (&patched.data()["status"], &patched.data()["nextRunAt"]),
        (&json!("waiting"), &json!("2026-01-01T00:10:00.000000Z"))
    );
    world.until_status(id(&path), "completed", 900).await;
    let list = world.client.get("/public/v1/conversations").await.expect(200);
    let agents: Vec<&Value> = list.data().as_array().unwrap().iter().map(|c| &c["agentId"]).collect();
    assert_eq!(agents, [&json!(other), &json!(other)]);
}

/// Returns a world whose agents with a model of OpenAI lack its key until the flag is set.
async fn world_without_key() -> (World, Arc<AtomicBool>) {
    let has_key = Arc::new(AtomicBool::new(false));
    let key = has_key.clone();
    let readiness = move |agent: &Agent| match agent.conversation_config.agent.prompt.llm.as_str() {
        "openai/gpt-4.1-mini" if !key.load(Relaxed) => Err(NotReady("set OPENAI_API_KEY".into())),
        _ => Ok(()),
    };
    let settings = WorldSettings {
        readiness: Arc::new(readiness),
        ..WorldSettings::default()
    };
    (World::start_with(settings).await, has_key)
}

async fn patch_agent(world: &World, campaign: &str, patch: Value) -> String {
    let agent = world.campaign(id(campaign)).await["agentId"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/public/v1/agents/{agent}");
    world.client.patch(&path, patch).await.expect(200);
    agent
}

fn with_model(llm: &str) -> Value {
    json!({ "conversationConfig": { "agent": { "prompt": { "llm": llm } } } })
}

#[tokio::test(start_paused = true)]
async fn every_way_into_a_run_is_refused_alike_while_a_setting_is_missing() {
    let (world, _) = world_without_key().await;
    let path = draft(&world).await;
    let number = json!("+15550100009");
    let schedule = json!({ "startTime": "09:00", "timezone": "UTC" });
    let mut queue = schedule.clone();
    queue["scheduled"] = json!(true);
    for (patch, refusal) in [
        (
            with_model("openai/gpt-4.1-mini"),
            (409, "not_configured", "OPENAI_API_KEY"),
        ),
        (json!({ "direction": "inbound" }), (400, "invalid_request", "inbound")),
    ] {
        let agent = patch_agent(&world, &path, patch).await;
        let create = json!({ "name": "c", "agentId": agent, "contacts": [{ "phoneNumber": number }], "launch": true });
        let call = json!({ "agentId": agent, "phoneNumber": number });
        for answer in [
            world.client.post(&format!("{path}/launch"), json!({})).await,
            world.client.post(&format!("{path}/schedule"), schedule.clone()).await,
            world.client.patch(&path, queue.clone()).await,
            world.client.patch(&path, json!({ "active": true })).await,
            world.client.post("/public/v1/campaigns", create).await,
            world.client.post("/public/v1/calls", call).await,
        ] {
            let (status, code, word) = refusal;
            assert_eq!((answer.status, answer.code()), (status, code), "{}", answer.body);
            assert!(answer.body.to_string().contains(word), "{}", answer.body);
        }
        assert_eq!(world.campaign(id(&path)).await["status"], "draft");
        let renamed = world.client.patch(&path, json!({ "name": "Autumn" })).await;
        renamed.expect(200);
        patch_agent(&world, &path, with_model("default")).await;
    }
    let all = world.client.get("/public/v1/campaigns").await.expect(200);
    assert_eq!(all.data().as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_lost_a_setting_is_delayed_until_it_is_back() {
    let (world, has_key) = world_without_key().await;
    let path = draft(&world).await;
    let schedule = json!({ "startTime": "01:10", "timezone": "Europe/Berlin" });
    world
        .client
        .post(&format!("{path}/schedule"), schedule)
        .await
        .expect(200);
    patch_agent(&world, &path, with_model("openai/gpt-4.1-mini")).await;
    let renamed = world.client.patch(&path, json!({ "name": "Autumn" })).await;
    assert_eq!(renamed.expect(200).data()["status"], "waiting");
    let delayed = world.until_status(id(&path), "delayed", 620).await;
    assert_eq!(delayed["active"], true);
    let shown = world.client.get(&path).await.expect(200);
    assert!(shown.text("/warning").contains("OPENAI_API_KEY"), "{}", shown.body);
    let world = world.restart().await;
    world.pass(60).await;
    assert_eq!(world.campaign(id(&path)).await["status"], "delayed");
    assert!(world.phones().dialed().is_empty());
    has_key.store(true, Relaxed);
    let world = world.restart().await;
    world.until_status(id(&path), "completed", 60).await;
    assert_eq!(world.phones().dialed().len(), 2);
}
