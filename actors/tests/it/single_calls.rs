//! Calls that belong to no campaign: queued on disk, dialed once, fairly and not too late, and ended for good.

use std::time::Duration;

use actors::{
    campaign::CampaignCommand,
    node::{NodeHandle, NodeSettings},
    single_calls::PlaceError,
};
use domain::{
    id::{AttemptId, NodeId},
    ports::{
        carrier::DialError,
        store::{
            AttemptStore, CallStore, ConversationFilter, ConversationRow, ConversationStatus, DirectoryStore,
            NOT_DIALED_IN_TIME, NOT_DIALED_SINCE, NewCall, NodeStore, QueuedCall, RecordStore,
        },
    },
};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Callees, World, contact, figures, until};

fn new_call(world: &World, n: usize) -> NewCall {
    NewCall {
        agent: world.agent,
        phone_number: contact(n).phone_number,
        name: None,
        variables: json!({ "persona": "kind" }).as_object().cloned().unwrap(),
    }
}

async fn place(world: &World, node: &NodeHandle, n: usize) -> Result<QueuedCall, PlaceError> {
    let placed = node.switchboard.place_call(world.account, new_call(world, n), None);
    placed.await.unwrap()
}

/// Places a call that must be accepted, and returns its attempt.
async fn placed(world: &World, node: &NodeHandle, n: usize) -> AttemptId {
    match place(world, node, n).await {
        Ok(QueuedCall::Queued(row)) => row.id,
        other => panic!("{other:?}"),
    }
}

/// Creates a call queued by a process that died before it dialed.
async fn left_behind(world: &World, n: usize) -> AttemptId {
    match world.store.create_call(world.account, new_call(world, n), None).await {
        Ok(QueuedCall::Queued(row)) => row.id,
        other => panic!("{other:?}"),
    }
}

async fn end(node: &NodeHandle, attempt: AttemptId) -> Option<bool> {
    node.switchboard.end_call(attempt).await
}

async fn row(world: &World, attempt: AttemptId) -> ConversationRow {
    world.store.conversation(world.account, attempt).await.unwrap()
}

async fn until_status(world: &World, attempt: AttemptId, status: ConversationStatus) {
    until(status.as_str(), async || row(world, attempt).await.status == status).await;
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_is_dialed_at_once_and_only_once() {
    let world = World::new().await;
    world.carrier.callees(Callees::Busy(Duration::from_secs(1)));
    let node = world.node(5).await;
    let asked = Instant::now();
    let attempt = placed(&world, &node, 1).await;
    until_status(&world, attempt, ConversationStatus::Failed).await;
    let dials = world.carrier.dials();
    assert_eq!(dials.len(), 1);
    let (at, request) = &dials[0];
    assert!(at.duration_since(asked) < Duration::from_millis(500));
    assert_eq!(request.to, contact(1).phone_number);
    assert_eq!(request.hints.get("persona").map(String::as_str), Some("kind"));
    assert_eq!(row(&world, attempt).await.error.as_deref(), Some("busy"));
    pass(600).await;
    assert_eq!(world.carrier.dials().len(), 1);
    assert_eq!(figures(&node).await.live_calls, 0);
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_process_queued_is_dialed_by_the_next_one() {
    let world = World::slow().await;
    world.carrier.callees(Callees::Busy(Duration::from_secs(1)));
    let queued = left_behind(&world, 1).await;
    let claimed = left_behind(&world, 2).await;
    let dead = NodeId::new();
    world.store.register_node(dead, None).await.unwrap();
    let held = world.store.claim_calls(dead, 9).await.unwrap();
    let unsent = held.iter().find(|c| c.claim.attempt == queued).unwrap().claim;
    world.store.release(&[unsent]).await.unwrap();
    pass(290).await;
    let _node = world.node(5).await;
    for attempt in [queued, claimed] {
        until_status(&world, attempt, ConversationStatus::Failed).await;
        assert_eq!(row(&world, attempt).await.error.as_deref(), Some("busy"));
    }
    assert_eq!(world.carrier.dials().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_five_minutes_old_at_the_start_rings_nobody() {
    let world = World::new().await;
    let attempt = left_behind(&world, 1).await;
    pass(300).await;
    let _node = world.node(5).await;
    until_status(&world, attempt, ConversationStatus::Failed).await;
    assert_eq!(row(&world, attempt).await.error.as_deref(), Some(NOT_DIALED_IN_TIME));
    pass(60).await;
    assert!(world.carrier.dials().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_carriers_account_forbids_fails_at_once_and_says_why() {
    let world = World::new().await;
    let refused = DialError::AccountRefused("21210: the number is not verified".into());
    world.carrier.callees(Callees::Refused(refused));
    let node = world.node(5).await;
    let attempt = placed(&world, &node, 1).await;
    pass(2).await;
    let row = row(&world, attempt).await;
    let why = "carrier-error: the carrier refuses the account: 21210: the number is not verified";
    assert_eq!(
        (row.status, row.error.as_deref()),
        (ConversationStatus::Failed, Some(why))
    );
    pass(600).await;
    assert_eq!(world.carrier.dials().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_carrier_stays_unavailable_says_so_in_the_end() {
    let world = World::new().await;
    let unavailable = DialError::Unreachable("connection refused".into());
    world.carrier.callees(Callees::Refused(unavailable));
    let node = world.node(5).await;
    let attempt = placed(&world, &node, 1).await;
    pass(60).await;
    let waiting = row(&world, attempt).await;
    assert_eq!((waiting.status, waiting.error), (ConversationStatus::Scheduled, None));
    pass(300).await;
    let row = row(&world, attempt).await;
    let why = format!("{NOT_DIALED_SINCE}carrier unreachable: connection refused");
    assert_eq!((row.status, row.error), (ConversationStatus::Failed, Some(why)));
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_free_line_waits_its_turn_and_fails_in_the_end() {
    let world = World::new().await;
    let node = world.node(1).await;
    let first = placed(&world, &node, 1).await;
    until_status(&world, first, ConversationStatus::InProgress).await;
    let second = placed(&world, &node, 2).await;
    let third = placed(&world, &node, 3).await;
    pass(100).await;
    assert_eq!(row(&world, second).await.status, ConversationStatus::Scheduled);
    assert_eq!(end(&node, first).await, Some(true));
    until_status(&world, second, ConversationStatus::InProgress).await;
    pass(210).await;
    let third = row(&world, third).await;
    assert_eq!(third.status, ConversationStatus::Failed);
    assert_eq!(third.error.as_deref(), Some(NOT_DIALED_IN_TIME));
    assert_eq!(world.carrier.dials().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_does_not_wait_behind_a_whole_campaign() {
    let world = World::new().await;
    world.carrier.callees(Callees::Busy(Duration::from_secs(2)));
    let settings = NodeSettings {
        lines: 4,
        calls_per_second: 2.0,
        ..NodeSettings::default()
    };
    let node = world.node_with(settings).await;
    let campaign = world.campaign_of(1000..1500, None).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    pass(10).await;
    for n in 0..5 {
        let asked = Instant::now();
        let attempt = placed(&world, &node, n).await;
        until("its dial", async || world.carrier.dialed_attempts().contains(&attempt)).await;
        assert!(asked.elapsed() < Duration::from_secs(6), "{:?}", asked.elapsed());
    }
    let times: Vec<_> = world.carrier.dials().iter().map(|(at, _)| *at).collect();
    for (n, at) in times.iter().enumerate() {
        let second = times[n..]
            .iter()
            .filter(|t| t.duration_since(*at) < Duration::from_secs(1));
        assert!(second.count() <= 2, "the rate holds for all together");
    }
}

#[tokio::test(start_paused = true)]
async fn an_ended_call_is_hung_up_or_cancelled_and_never_dialed_again() {
    let cases = [
        (Callees::Answer, 3_000, ConversationStatus::Completed, 1),
        (Callees::Ring, 3_000, ConversationStatus::Cancelled, 1),
        (Callees::Silence, 3_000, ConversationStatus::Cancelled, 0),
    ];
    for (callees, wait_ms, expected, hang_ups) in cases {
        let world = World::new().await;
        world.carrier.callees(callees);
        let node = world.node(5).await;
        let attempt = placed(&world, &node, 1).await;
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        assert_eq!(end(&node, attempt).await, Some(true), "{expected:?}");
        until_status(&world, attempt, expected).await;
        assert_eq!(row(&world, attempt).await.error, None);
        pass(600).await;
        assert_eq!(world.carrier.dials().len(), 1, "{expected:?}");
        assert_eq!(world.carrier.hang_ups().len(), hang_ups, "{expected:?}");
        assert_eq!(end(&node, attempt).await, Some(false), "{expected:?}");
    }
}

/// A call that is ended at any moment between claim and dial is over and is not placed later.
#[tokio::test(start_paused = true)]
async fn a_call_ended_before_its_dial_is_not_queued_again() {
    for wait_ms in (0..400).step_by(7) {
        let world = World::slow().await;
        world
            .carrier
            .callees(Callees::Refused(DialError::Busy { retry_after: None }));
        let node = world.node(5).await;
        let attempt = placed(&world, &node, 1).await;
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        // A client that ends a call keeps asking until it is over.
        until("the end", async || {
            let _ = end(&node, attempt).await;
            let _ = world.store.cancel_queued(world.account, attempt).await;
            row(&world, attempt).await.ended_at.is_some()
        })
        .await;
        let over = row(&world, attempt).await;
        assert_eq!(over.status, ConversationStatus::Cancelled, "after {wait_ms} ms");
        let dials = world.carrier.dials().len();
        pass(60).await;
        assert_eq!(world.carrier.dials().len(), dials, "after {wait_ms} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_draining_node_takes_no_call_and_dials_none() {
    let world = World::new().await;
    let node = world.node(1).await;
    let talking = placed(&world, &node, 1).await;
    until_status(&world, talking, ConversationStatus::InProgress).await;
    let waiting = placed(&world, &node, 2).await;
    node.drain(Duration::from_secs(2), Duration::ZERO).await;
    let refused = place(&world, &node, 3).await;
    assert!(matches!(refused, Err(PlaceError::Refused(_))), "{refused:?}");
    pass(60).await;
    assert_eq!(world.carrier.dials().len(), 1);
    assert_eq!(row(&world, waiting).await.status, ConversationStatus::Scheduled);
    // The next process places it.
    let next = world.node(1).await;
    until_status(&world, waiting, ConversationStatus::InProgress).await;
    assert_eq!(figures(&next).await.live_calls, 1);
}

#[tokio::test(start_paused = true)]
async fn a_number_on_the_do_not_call_list_is_refused_and_one_put_there_later_is_not_dialed() {
    let world = World::new().await;
    let node = world.node(1).await;
    let number = contact(1).phone_number;
    let talking = placed(&world, &node, 2).await;
    let waiting = placed(&world, &node, 1).await;
    world.store.add_do_not_call(world.account, &number).await.unwrap();
    assert_eq!(place(&world, &node, 1).await, Ok(QueuedCall::DoNotCall));
    end(&node, talking).await;
    until_status(&world, waiting, ConversationStatus::Cancelled).await;
    assert_eq!(row(&world, waiting).await.error.as_deref(), Some("do-not-call"));
    assert_eq!(world.carrier.dials().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_tried_again_as_its_agent_says() {
    let world = World::new().await;
    world.carrier.callees(Callees::Busy(Duration::from_secs(1)));
    let agent = world.store.agent(world.account, world.agent).await.unwrap();
    let mut document = agent.document;
    document.insert(
        "platformSettings".into(),
        json!({ "callRetry": { "retryCount": 2, "retryDelay": 30 } }),
    );
    let updated = world
        .store
        .update_agent(world.account, world.agent, agent.version, document);
    updated.await.unwrap();
    let node = world.node(5).await;
    let first = placed(&world, &node, 1).await;
    until_status(&world, first, ConversationStatus::Failed).await;
    let all = async || {
        let filter = ConversationFilter::default();
        world.store.conversations(world.account, filter, 99).await.unwrap()
    };
    assert_eq!(
        all().await[0].status,
        ConversationStatus::Scheduled,
        "the next try is planned"
    );
    pass(4 * 1800).await;
    let dials = world.carrier.dials();
    assert_eq!(dials.len(), 3);
    for pair in dials.windows(2) {
        let waited = pair[1].0.duration_since(pair[0].0).as_secs();
        assert!((1800..1810).contains(&waited), "{waited} s");
        assert_eq!(pair[1].1.hints, pair[0].1.hints);
    }
    let changed = Some(agent.version + 1);
    assert!(
        all()
            .await
            .iter()
            .all(|row| row.error.as_deref() == Some("busy") && row.agent_version == changed)
    );
}

#[tokio::test(start_paused = true)]
async fn two_calls_to_one_number_are_placed_one_after_the_other() {
    let world = World::new().await;
    world.carrier.callees(Callees::Busy(Duration::from_secs(10)));
    let node = world.node(5).await;
    let twins = [placed(&world, &node, 1).await, placed(&world, &node, 1).await];
    for twin in twins {
        until_status(&world, twin, ConversationStatus::Failed).await;
        assert_eq!(row(&world, twin).await.error.as_deref(), Some("busy"));
    }
    let dials = world.carrier.dials();
    assert_eq!(dials.len(), 2);
    assert!(dials[1].0.duration_since(dials[0].0) > Duration::from_secs(10));
}
