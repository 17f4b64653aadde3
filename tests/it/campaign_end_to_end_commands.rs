//! Pause, stop and launch in the middle of a campaign, and an unavailable carrier: nobody is dialed twice,
//! nobody is forgotten.

use std::collections::BTreeSet;

use serde_json::json;

use support::{words::interviewing_agent, world::World};

/// Returns the numbers of ten people who talk.
fn callees() -> Vec<String> {
    (0..10).map(|n| format!("+1555010{n}210")).collect()
}

/// Launches a campaign of [`callees`] with at most three concurrent calls.
async fn launched(world: &World) -> String {
    let agent = world.agent(interviewing_agent()).await;
    let callees = callees();
    let contacts: Vec<(&str, &str)> = callees.iter().map(|number| (number.as_str(), "cooperative")).collect();
    world
        .launch(&agent, &contacts, json!({ "maxConcurrentCalls": 3 }))
        .await
}

/// Waits until some calls are over, some are talking and some contacts wait.
async fn in_the_middle(world: &World) {
    world.until(120, "fifth dial", |phones| phones.calls().len() >= 5).await;
    assert!((5..10).contains(&world.phones().calls().len()));
}

#[tokio::test(start_paused = true)]
async fn after_a_pause_nobody_is_dialed_and_calls_end_by_themselves() {
    for wait_ms in [0, 1, 40, 5_000, 33_000] {
        let world = World::start().await;
        let campaign = launched(&world).await;
        tokio::time::sleep(std::time::Duration::from_millis(wait_ms)).await;
        let paused = world.command(&campaign, "pause").await;
        assert_eq!(
            (&paused["status"], &paused["active"]),
            (&json!("paused"), &json!(false))
        );
        let dialed = world.phones().dialed();
        world.pass(120).await;
        assert_eq!(world.phones().dialed(), dialed, "paused after {wait_ms} ms");
        assert_eq!(world.live_calls(), 0);
        let state = world.campaign(&campaign).await;
        let talked = dialed.len();
        assert_eq!(state["progress"]["completed"], talked, "{state}");
        assert_eq!(state["progress"]["pending"], 10 - talked, "{state}");
        for conversation in world.conversations(&campaign).await {
            assert_eq!(conversation["status"], "completed", "{conversation}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_launch_after_a_pause_goes_on_where_it_stood() {
    let world = World::start().await;
    let campaign = launched(&world).await;
    in_the_middle(&world).await;
    let paused = world.command(&campaign, "pause").await;
    let before = world.phones().dialed();
    assert_eq!(paused["startIndex"], before.len());
    world.pass(60).await;
    world.command(&campaign, "launch").await;
    let state = world.until_status(&campaign, "completed", 300).await;
    assert_eq!(state["startIndex"], 10);
    let dialed = world.phones().dialed();
    assert_eq!(dialed[..before.len()], before);
    let first: BTreeSet<&String> = dialed[..before.len()].iter().collect();
    assert_eq!(
        first,
        callees()[..before.len()].iter().collect(),
        "in the order of the list"
    );
    let everybody: BTreeSet<String> = dialed.iter().cloned().collect();
    assert_eq!((dialed.len(), everybody), (10, callees().into_iter().collect()));
    assert_eq!(world.conversations(&campaign).await.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_stop_leaves_contacts_without_a_conversation() {
    let world = World::start().await;
    let campaign = launched(&world).await;
    in_the_middle(&world).await;
    let stopped = world.command(&campaign, "stop").await;
    assert_eq!(stopped["status"], "stopped");
    let dialed = world.phones().dialed();
    assert!(world.live_calls() > 0, "calls in progress go on");
    world.pass(120).await;
    assert_eq!(world.phones().dialed(), dialed);
    let mut known = Vec::new();
    for conversation in world.conversations(&campaign).await {
        assert_eq!(conversation["status"], "completed", "{conversation}");
        known.push(conversation["contactNumber"].as_str().unwrap().to_owned());
    }
    known.sort();
    let mut expected = dialed;
    expected.sort();
    assert_eq!(known, expected);
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_hangs_up_ends_calls_at_once() {
    let world = World::start().await;
    let campaign = launched(&world).await;
    in_the_middle(&world).await;
    world.pass(4).await;
    assert!(world.live_calls() > 0);
    let path = format!("/public/v1/campaigns/{campaign}/stop");
    world.client.post(&path, json!({ "hangUp": true })).await.expect(200);
    world.pass(3).await;
    assert_eq!(world.live_calls(), 0);
    for conversation in world.conversations(&campaign).await {
        let status = conversation["status"].as_str().unwrap();
        assert!(["completed", "cancelled"].contains(&status), "{conversation}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_a_stop_left_alone_can_be_hung_up_by_another() {
    let world = World::start().await;
    let campaign = launched(&world).await;
    in_the_middle(&world).await;
    world.pass(4).await;
    world.command(&campaign, "stop").await;
    assert!(world.live_calls() > 0);
    let path = format!("/public/v1/campaigns/{campaign}/stop");
    world.client.post(&path, json!({ "hangUp": true })).await.expect(200);
    world.pass(3).await;
    assert_eq!(world.live_calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_campaign_launched_again_dials_the_rest_once() {
    let world = World::start().await;
    let campaign = launched(&world).await;
    in_the_middle(&world).await;
    world.command(&campaign, "stop").await;
    world.pass(60).await;
    world.command(&campaign, "launch").await;
    world.until_status(&campaign, "completed", 300).await;
    let dialed = world.phones().dialed();
    let everybody: BTreeSet<String> = dialed.iter().cloned().collect();
    assert_eq!((dialed.len(), everybody), (10, callees().into_iter().collect()));
}

#[tokio::test(start_paused = true)]
async fn a_carrier_that_comes_late_is_waited_for_and_dials_everybody_once() {
    let mut world = World::without_carrier().await;
    let campaign = launched(&world).await;
    world.pass(90).await;
    let state = world.campaign(&campaign).await;
    assert_eq!(state["active"], true, "{state}");
    assert_eq!(state["progress"]["failed"], 0, "{state}");
    world.carrier_comes().await;
    let state = world.until_status(&campaign, "completed", 600).await;
    assert_eq!(state["progress"]["completed"], 10, "{state}");
    let dialed = world.phones().dialed();
    let everybody: BTreeSet<String> = dialed.iter().cloned().collect();
    assert_eq!((dialed.len(), everybody), (10, callees().into_iter().collect()));
    assert_eq!(world.conversations(&campaign).await.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn contacts_added_while_it_dials_are_dialed_once_too() {
    let world = World::start().await;
    let campaign = launched(&world).await;
    in_the_middle(&world).await;
    let more: Vec<String> = (0..5).map(|n| format!("+1555020{n}210")).collect();
    let mut contacts: Vec<_> = more
        .iter()
        .map(|number| json!({ "phoneNumber": number, "persona": "cooperative" }))
        .collect();
    contacts.push(json!({ "phoneNumber": callees()[0] }));
    contacts.push(json!({ "phoneNumber": callees()[9] }));
    let path = format!("/public/v1/campaigns/{campaign}/contacts");
    let added = world
        .client
        .post(&path, json!({ "contacts": contacts }))
        .await
        .expect(200);
    let (added, status) = (added.data()["added"].clone(), added.data()["status"].clone());
    assert_eq!((added, status), (json!(5), json!("running")));
    let state = world.until_status(&campaign, "completed", 600).await;
    assert_eq!(
        (&state["startIndex"], &state["progress"]["completed"]),
        (&json!(15), &json!(15))
    );
    let dialed = world.phones().dialed();
    let everybody: BTreeSet<String> = dialed.iter().cloned().collect();
    assert_eq!(
        (dialed.len(), everybody),
        (15, callees().into_iter().chain(more).collect())
    );

    // A completed campaign goes on with its next launch.
    let contacts = json!([{ "phoneNumber": "+15550300210", "persona": "cooperative" }]);
    let added = world
        .client
        .post(&path, json!({ "contacts": contacts }))
        .await
        .expect(200);
    assert_eq!(added.data()["status"], "paused");
    world.pass(30).await;
    assert_eq!(world.phones().dialed().len(), 15);
    world.command(&campaign, "launch").await;
    world.until_status(&campaign, "completed", 300).await;
    assert_eq!(world.phones().dialed()[15..], ["+15550300210"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_rings_longer_than_the_campaign_says_and_can_be_called_again() {
    let world = World::start().await;
    let agent = world.agent(interviewing_agent()).await;
    let number = "+15550100017";
    let campaign = world
        .launch(&agent, &[(number, "no-answer")], json!({ "ringTimeoutSeconds": 12 }))
        .await;
    let state = world.until_status(&campaign, "completed", 20).await;
    assert_eq!(state["progress"]["failed"], 1, "{state}");
    assert_eq!(world.phones().dialed(), [number]);
    let path = format!("/public/v1/campaigns/{campaign}/call-again");
    let called = world
        .client
        .post(&path, json!({ "outcomes": ["no-answer"] }))
        .await
        .expect(200);
    assert_eq!(
        (&called.data()["contacts"], &called.data()["status"]),
        (&json!(1), &json!("paused"))
    );
    world.command(&campaign, "launch").await;
    world.until_status(&campaign, "completed", 30).await;
    assert_eq!(world.phones().dialed(), [number, number]);
    assert_eq!(world.conversations(&campaign).await.len(), 2);
}
