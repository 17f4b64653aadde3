//! Outages of the store: nothing is dialed, no call is dropped, and dialing resumes soon after.

use std::{collections::HashSet, time::Duration};

use actors::{call::CallMessage, campaign::CampaignCommand, lines::LinesMessage, node::NodeHandle};
use domain::{
    admission::Level,
    ports::{
        carrier::{CallProgress, EndCause},
        store::{CampaignStatus, ConversationRow, ConversationStatus, RecordStore as _, StoreError},
    },
};
use tokio::time::Instant;

use crate::support::{Callees, World, figures, until};

/// Time after the store's return within which somebody is dialed.
const RESUMED_WITHIN: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn dialing_resumes_soon_after_an_outage_of_any_length() {
    let outages = [
        (3, StoreError::Unavailable("away".into())),
        (20, StoreError::disk_full("13")),
        (37, StoreError::Unavailable("away".into())),
        (60, StoreError::Unavailable("away".into())),
    ];
    let world = World::new().await;
    world.carrier.callees(Callees::Busy(Duration::from_millis(300)));
    let node = world.node(5).await;
    let campaign = world.campaign(400).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    for (seconds, outage) in outages {
        tokio::time::sleep(Duration::from_secs(1)).await;
        world.store.fail_with(Some(outage));
        // A permit given before may still be on its way to the carrier.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let dialed = world.carrier.dials().len();
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        assert_eq!(
            world.carrier.dials().len(),
            dialed,
            "dialed in an outage of {seconds} s"
        );
        world.store.fail_with(None);
        let back = Instant::now();
        until("dials", async || world.carrier.dials().len() > dialed).await;
        let took = back.elapsed();
        assert!(
            took <= RESUMED_WITHIN,
            "resumed after {took:?} of an outage of {seconds} s"
        );
    }
    until("completion", async || {
        world.status(campaign).await == CampaignStatus::Completed
    })
    .await;
    let dials = world.carrier.dials();
    let numbers: HashSet<_> = dials.iter().map(|(_, dial)| dial.to.clone()).collect();
    assert_eq!((dials.len(), numbers.len()), (400, 400), "everybody once");
}

#[tokio::test(start_paused = true)]
async fn a_node_with_too_much_to_do_claims_nobody_and_goes_on_by_itself() {
    let world = World::new().await;
    world.carrier.callees(Callees::Busy(Duration::from_millis(300)));
    let node = world.node(5).await;
    let campaign = world.campaign(100).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("dials", async || world.carrier.dials().len() > 10).await;
    node.switchboard
        .lines
        .cast(LinesMessage::Load(Level::NoDials))
        .ok()
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (dialed, claimed) = (world.carrier.dials().len(), world.conversations(campaign).await.len());
    assert_eq!(figures(&node).await.live_calls, 0);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.carrier.dials().len(), dialed);
    assert_eq!(
        world.conversations(campaign).await.len(),
        claimed,
        "a claim that is not made costs nothing"
    );
    node.switchboard
        .lines
        .cast(LinesMessage::Load(Level::NoWrites))
        .ok()
        .unwrap();
    until("completion", async || {
        world.status(campaign).await == CampaignStatus::Completed
    })
    .await;
    assert_eq!(world.carrier.dials().len(), 100);
}

/// Lets the carrier report that the call of the only dial is over.
async fn ends(world: &World, node: &NodeHandle) {
    let (_, dial) = world.carrier.dials().remove(0);
    let message = |reply| CallMessage::Progress {
        proof: dial.status_token.clone(),
        report: CallProgress::Ended(EndCause::Completed).into(),
        reply,
    };
    let taken = node.switchboard.tell_call(("scripted", dial.attempt), message).await;
    assert_eq!(taken, Some(Ok(())));
    world.carrier.drop_sockets();
}

/// Runs the only call of a campaign. It is answered after a second, 35 s before it ends. The store is
/// unavailable from the answer on, or from the middle of the call, until 90 s after the end.
async fn told_late(answer_is_written: bool) -> (World, ConversationRow) {
    let world = World::new().await;
    let node = world.node(1).await;
    let campaign = world.campaign(1).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("a dial", async || world.carrier.dials().len() == 1).await;
    let unavailable = || world.store.fail_with(Some(StoreError::Unavailable("away".into())));
    tokio::time::sleep(Duration::from_millis(500)).await;
    if !answer_is_written {
        unavailable();
    }
    until("a call", async || world.carrier.sockets() == 1).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    unavailable();
    tokio::time::sleep(Duration::from_secs(33)).await;
    ends(&world, &node).await;
    tokio::time::sleep(Duration::from_secs(90)).await;
    world.store.fail_with(None);
    until("an outcome", async || {
        world.conversations(campaign).await[0].ended_at.is_some()
    })
    .await;
    let row = world.conversations(campaign).await.remove(0);
    (world, row)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_in_an_outage_keeps_its_times() {
    for answer_is_written in [true, false] {
        let (_, row) = told_late(answer_is_written).await;
        assert_eq!(row.status, ConversationStatus::Completed);
        let rang = row.answered_at.unwrap().since(row.started_at);
        assert!(rang < Duration::from_millis(1_500), "{rang:?}");
        let talked = row.ended_at.unwrap().since(row.answered_at.unwrap());
        assert!((34_500..36_500).contains(&talked.as_millis()), "{talked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_analysis_sees_the_turns_that_an_outage_kept_back() {
    let (world, row) = told_late(true).await;
    until("an analysis", async || {
        let due = !world.store.due_analyses(1).await.unwrap().is_empty();
        if due {
            let turns = world.store.turns(row.id).await.unwrap();
            assert!(!turns.is_empty(), "the greeting was said");
        }
        due
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_crashes_in_an_outage_ends_when_it_crashed() {
    let world = World::new().await;
    let node = world.node(1).await;
    let campaign = world.campaign(1).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("a dial", async || world.carrier.dials().len() == 1).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    world.store.fail_with(Some(StoreError::Unavailable("away".into())));
    until("a call", async || world.carrier.sockets() == 1).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let attempt = world.carrier.dialed_attempts()[0];
    let crash = LinesMessage::Sabotage { attempt, stream: false };
    assert!(node.switchboard.lines.cast(crash).is_ok());
    tokio::time::sleep(Duration::from_secs(90)).await;
    world.store.fail_with(None);
    until("an outcome", async || {
        world.conversations(campaign).await[0].ended_at.is_some()
    })
    .await;
    let row = world.conversations(campaign).await.remove(0);
    // The call itself never wrote its answer.
    let talked = row.ended_at.unwrap().since(row.answered_at.unwrap());
    assert!((19_500..21_500).contains(&talked.as_millis()), "{talked:?}");
}
