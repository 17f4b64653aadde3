//! Attempts of a dead process are settled by the next start, and never dialed again.

use std::time::Duration;

use actors::{campaign::CampaignCommand, node::NodeSettings};
use domain::{
    id::{AttemptId, CampaignId, NodeId},
    ports::{
        carrier::{CarrierCallId, ListedCall},
        store::{
            AttemptStore, CALL_BACK, CampaignStatus, CampaignStore, ClaimedAttempt, EventFact, Fact, NodeStore, Permit,
            PermitRequest, RecordStore, StateChange, StoreError,
        },
    },
};

use serde_json::json;
use tokio::time::Instant;

use crate::support::{Callees, World, contact, until};

/// Creates a campaign of one contact whose attempt was brought to `dialing` by a process that is now dead.
async fn left_dialing(world: &World) -> (CampaignId, ClaimedAttempt) {
    let dead = NodeId::new();
    world.store.register_node(dead, None).await.unwrap();
    let campaign = world.campaign(1).await;
    let row = world.row(campaign).await;
    let running = StateChange {
        status: CampaignStatus::Running,
        active: true,
        scheduled: false,
        next_run_at: None,
        opens_from: None,
        closes_at: None,
        reason: None,
        cancel_waiting: false,
    };
    world.store.change_state(campaign, row.version, running).await.unwrap();
    let attempt = world.store.claim(dead, campaign, 1).await.unwrap().remove(0);
    let request = PermitRequest {
        carrier: "scripted".into(),
        caller_id: None,
        agent_version: None,
        restricted_prefixes: Vec::new(),
    };
    let permit = world.store.permit(attempt.claim, request).await.unwrap();
    assert!(matches!(permit, Permit::Granted { .. }));
    (campaign, attempt)
}

fn listed(attempt: AttemptId, live: bool) -> ListedCall {
    ListedCall {
        call: CarrierCallId("found".into()),
        attempt: Some(attempt),
        to: contact(0).phone_number.to_string(),
        live,
    }
}

async fn error_of_the_only_call(world: &World, campaign: CampaignId) -> Option<String> {
    let calls = world.conversations(campaign).await;
    assert_eq!(calls.len(), 1, "a dialed attempt is not repeated");
    calls[0].error.clone()
}

async fn completed(world: &World, campaign: CampaignId) {
    until("completion", async || {
        world.status(campaign).await == CampaignStatus::Completed
    })
    .await;
    assert!(world.carrier.dials().is_empty(), "it may have been dialed before");
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_dead_process_is_hung_up_and_ends_media_lost() {
    let world = World::new().await;
    let (campaign, attempt) = left_dialing(&world).await;
    let leg = CarrierCallId("left".into());
    world.store.dialed(attempt.claim, &leg).await.unwrap();
    let _node = world.node(10).await;
    completed(&world, campaign).await;
    assert_eq!(world.carrier.hang_ups(), [leg]);
    let error = error_of_the_only_call(&world, campaign).await;
    assert_eq!(error.as_deref(), Some("media-lost"));
}

#[tokio::test(start_paused = true)]
async fn a_caller_whom_a_dead_process_had_handed_on_is_left_where_he_is() {
    let taken = |kind: &str| ("transfer_taken", 5_000, json!({ "kind": kind }).to_string());
    let failed = ("transfer_failed", 9_000, "{}".to_owned());
    for (facts, transferred) in [
        (vec![taken("blind")], true),
        (vec![taken("sip_refer")], true),
        (vec![taken("conference")], false),
        (vec![taken("blind"), failed], false),
    ] {
        let world = World::new().await;
        let (campaign, attempt) = left_dialing(&world).await;
        let leg = CarrierCallId("left".into());
        world.store.dialed(attempt.claim, &leg).await.unwrap();
        world
            .store
            .answered(attempt.claim, world.ports.clock.now())
            .await
            .unwrap();
        for (name, at_ms, detail) in facts.clone() {
            let name = name.to_owned();
            let fact = Fact::Event(EventFact { name, at_ms, detail });
            world
                .store
                .append_facts(&[(attempt.claim.attempt, fact)])
                .await
                .unwrap();
        }
        let _node = world.node(10).await;
        completed(&world, campaign).await;
        assert_eq!(world.carrier.hang_ups().is_empty(), transferred, "{facts:?}");
        let calls = world.conversations(campaign).await;
        assert_eq!((calls.len(), calls[0].transferred), (1, transferred), "{facts:?}");
        let error = if transferred { None } else { Some("media-lost") };
        assert_eq!(calls[0].error.as_deref(), error, "{facts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_process_had_promised_is_kept() {
    let world = World::new().await;
    let (campaign, attempt) = left_dialing(&world).await;
    let leg = CarrierCallId("left".into());
    world.store.dialed(attempt.claim, &leg).await.unwrap();
    world
        .store
        .answered(attempt.claim, world.ports.clock.now())
        .await
        .unwrap();
    let said_at = world.ports.clock.now();
    let promised = Fact::Event(EventFact {
        name: CALL_BACK.to_owned(),
        at_ms: 5_000,
        detail: json!({ "time": { "after": 30 }, "saidAt": said_at }).to_string(),
    });
    let facts = [(attempt.claim.attempt, promised)];
    world.store.append_facts(&facts).await.unwrap();
    let _node = world.node(10).await;
    until("another call", async || world.conversations(campaign).await.len() == 2).await;
    let calls = world.conversations(campaign).await;
    let due = calls.iter().map(|call| call.started_at).max().unwrap();
    assert_eq!(due.since(said_at), Duration::from_secs(30 * 60));
}

#[tokio::test(start_paused = true)]
async fn a_call_the_carrier_still_has_is_found_and_hung_up_however_long_the_carrier_is_unavailable() {
    let world = World::new().await;
    let (campaign, attempt) = left_dialing(&world).await;
    world.carrier.list(
        20,
        vec![listed(AttemptId::new(), true), listed(attempt.claim.attempt, true)],
    );
    let _node = world.node(10).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(
        world.status(campaign).await,
        CampaignStatus::Running,
        "not completed while a call's outcome is unknown"
    );
    completed(&world, campaign).await;
    assert_eq!(world.carrier.hang_ups(), [CarrierCallId("found".into())]);
    let error = error_of_the_only_call(&world, campaign).await;
    assert_eq!(error.as_deref(), Some("media-lost"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_over_was_lost_and_of_one_that_never_was_the_outcome_is_unknown() {
    for (known, wanted) in [(true, "media-lost"), (false, "carrier-error: outcome unknown")] {
        let world = World::new().await;
        let (campaign, attempt) = left_dialing(&world).await;
        if known {
            world.carrier.list(0, vec![listed(attempt.claim.attempt, false)]);
        }
        let _node = world.node(10).await;
        completed(&world, campaign).await;
        assert!(world.carrier.hang_ups().is_empty());
        let error = error_of_the_only_call(&world, campaign).await;
        assert_eq!(error.as_deref(), Some(wanted));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_shows_up_late_at_the_carrier_is_hung_up() {
    let world = World::new().await;
    let (campaign, attempt) = left_dialing(&world).await;
    let _node = world.node(10).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    world.carrier.list(0, vec![listed(attempt.claim.attempt, true)]);
    completed(&world, campaign).await;
    assert_eq!(world.carrier.hang_ups().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_node_comes_up_with_the_store_unavailable_and_takes_commands_when_it_is_back() {
    let world = World::new().await;
    let campaign = world.campaign(1).await;
    world.store.fail_with(Some(StoreError::Unavailable("away".into())));
    let node = world.node(10).await;
    let refused = world.command(&node, campaign, CampaignCommand::Launch).await;
    assert!(matches!(refused, Err(actors::campaign::CommandError::Unavailable(_))));
    tokio::time::sleep(Duration::from_secs(60)).await;
    world.store.fail_with(None);
    tokio::time::sleep(Duration::from_secs(6)).await;
    let row = world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    assert_eq!(row.status, CampaignStatus::Running);
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_was_lost_is_dialed_after_a_minute() {
    let world = World::new().await;
    world.carrier.callees(Callees::Busy(Duration::from_secs(5)));
    let settings = NodeSettings {
        lines: 1,
        ..NodeSettings::default()
    };
    let myself = settings.node;
    let node = world.node_with(settings).await;
    let campaign = world.campaign(3).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("a dial", async || world.carrier.dials().len() == 1).await;
    let lost = world.store.claim(myself, campaign, 1).await.unwrap().remove(0);
    let lost_at = Instant::now();
    until("the other dials", async || world.carrier.dials().len() == 2).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(world.carrier.dials().len(), 2);
    assert_eq!(world.status(campaign).await, CampaignStatus::Running);
    until("completion", async || {
        world.status(campaign).await == CampaignStatus::Completed
    })
    .await;
    let (dialed_at, dial) = world.carrier.dials().remove(2);
    assert_eq!(dial.to, lost.contact.phone_number);
    let waited = dialed_at.duration_since(lost_at);
    assert!(
        Duration::from_secs(60) <= waited && waited < Duration::from_secs(82),
        "{waited:?}"
    );
    assert_eq!(world.carrier.dials().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn where_the_carrier_keeps_no_marks_the_only_call_of_no_other_attempt_is_hung_up() {
    let world = World::new().await;
    let (campaign, attempt) = left_dialing(&world).await;
    let unmarked = ListedCall {
        attempt: None,
        ..listed(attempt.claim.attempt, true)
    };
    world.carrier.list(0, vec![unmarked]);
    let _node = world.node(10).await;
    completed(&world, campaign).await;
    assert_eq!(world.carrier.hang_ups(), [CarrierCallId("found".into())]);
    let error = error_of_the_only_call(&world, campaign).await;
    assert_eq!(error.as_deref(), Some("media-lost"));
}

#[tokio::test(start_paused = true)]
async fn of_two_calls_that_bear_nobody_s_mark_none_is_hung_up() {
    let world = World::new().await;
    let (campaign, attempt) = left_dialing(&world).await;
    let unmarked = |id: &str| ListedCall {
        call: CarrierCallId(id.into()),
        attempt: None,
        ..listed(attempt.claim.attempt, true)
    };
    world.carrier.list(0, vec![unmarked("one"), unmarked("two")]);
    let _node = world.node(10).await;
    completed(&world, campaign).await;
    assert!(world.carrier.hang_ups().is_empty());
    let error = error_of_the_only_call(&world, campaign).await;
    assert_eq!(error.as_deref(), Some("carrier-error: outcome unknown"));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_of_a_living_node_that_no_call_holds_is_settled_and_calls_that_live_are_left_alone() {
    let world = World::new().await;
    let settings = NodeSettings {
        lines: 1,
        ..NodeSettings::default()
    };
    let myself = settings.node;
    let node = world.node_with(settings).await;
    let campaign = world.campaign(2).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("a call", async || world.carrier.sockets() == 1).await;
    let live = world.carrier.dialed_attempts()[0];
    // The state after a failover to a server that lost the call's end.
    let left = world.store.claim(myself, campaign, 1).await.unwrap().remove(0).claim;
    let request = PermitRequest {
        carrier: "scripted".into(),
        caller_id: None,
        agent_version: None,
        restricted_prefixes: Vec::new(),
    };
    world.store.permit(left, request).await.unwrap();
    let leg = CarrierCallId("left".into());
    world.store.dialed(left, &leg).await.unwrap();
    let lost_at = Instant::now();
    until("its hang-up", async || world.carrier.hang_ups().contains(&leg)).await;
    let waited = lost_at.elapsed();
    assert!((60..=95).contains(&waited.as_secs()), "{waited:?}");
    until("its outcome", async || {
        let calls = world.conversations(campaign).await;
        calls
            .iter()
            .any(|call| call.id == left.attempt && call.error.as_deref() == Some("media-lost"))
    })
    .await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.carrier.hang_ups(), [leg]);
    assert_eq!(
        (world.carrier.sockets(), world.carrier.dialed_attempts()),
        (1, vec![live])
    );
    world.carrier.drop_sockets();
    until("completion", async || {
        world.status(campaign).await == CampaignStatus::Completed
    })
    .await;
    assert_eq!(
        world.carrier.dials().len(),
        1,
        "what may have been dialed is not dialed again"
    );
}
