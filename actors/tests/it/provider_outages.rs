//! While every provider of a kind is down, nothing is claimed or dialed: campaigns are delayed and resume by
//! themselves, single calls wait.

use std::time::Duration;

use actors::campaign::CampaignCommand;
use domain::ports::store::{
    AttemptStore, CallStore, CampaignStatus, ConversationStatus, NOT_DIALED_SINCE, NewCall, QueuedCall, RecordStore,
};
use serde_json::{Map, json};

use crate::support::{Callees, World, contact, until};

const WHY: &str = "every language model provider is down: openai";

const BUSY: Callees = Callees::Busy(Duration::from_millis(300));

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

async fn until_status(world: &World, campaign: domain::id::CampaignId, status: CampaignStatus) {
    until(status.as_str(), async || world.status(campaign).await == status).await;
}

#[tokio::test(start_paused = true)]
async fn a_campaign_is_delayed_while_providers_are_down_and_comes_back_by_itself() {
    let world = World::slow().await;
    world.carrier.callees(BUSY);
    let node = world.node(4).await;
    let campaign = world.campaign(12).await;
    world.health.down(WHY);
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until_status(&world, campaign, CampaignStatus::Delayed).await;
    let row = world.row(campaign).await;
    assert_eq!((row.active, row.reason.as_deref()), (true, Some(WHY)));
    let version = row.version;
    pass(3_600).await;
    assert_eq!(
        world.row(campaign).await.version,
        version,
        "nothing is written meanwhile"
    );
    let asked = world.health.asked();
    assert!((600..=730).contains(&asked), "{asked} questions in an hour");
    assert!(world.carrier.dials().is_empty() && world.conversations(campaign).await.is_empty());
    world.health.up();
    pass(6).await;
    assert!(!world.carrier.dials().is_empty());
    until_status(&world, campaign, CampaignStatus::Completed).await;
    assert_eq!(world.carrier.dials().len(), 12);
    assert_eq!(world.row(campaign).await.reason, None);
}

#[tokio::test(start_paused = true)]
async fn providers_that_go_down_half_way_delay_the_rest() {
    let world = World::slow().await;
    world.carrier.callees(BUSY);
    let node = world.node(2).await;
    let campaign = world.campaign(100).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("dials", async || world.carrier.dials().len() >= 20).await;
    world.health.down(WHY);
    until_status(&world, campaign, CampaignStatus::Delayed).await;
    pass(2).await;
    let dialed = world.carrier.dials().len();
    pass(60).await;
    assert_eq!(world.carrier.dials().len(), dialed);
    let remaining = world.store.remaining(campaign).await.unwrap();
    assert_eq!(remaining.open, 0, "nothing is held meanwhile");
    world.health.up();
    until_status(&world, campaign, CampaignStatus::Completed).await;
    assert_eq!(world.carrier.dials().len(), 100);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_campaign_takes_commands_and_leaves_its_lines_to_others() {
    let world = World::slow().await;
    world.carrier.callees(BUSY);
    let node = world.node(1).await;
    let (first, second) = (world.campaign(3).await, world.campaign(3).await);
    world.health.down(WHY);
    world.command(&node, first, CampaignCommand::Launch).await.unwrap();
    until_status(&world, first, CampaignStatus::Delayed).await;
    world.command(&node, first, CampaignCommand::Pause).await.unwrap();
    world.health.up();
    pass(30).await;
    assert_eq!(world.status(first).await, CampaignStatus::Paused);
    assert!(world.carrier.dials().is_empty());
    world.health.down(WHY);
    world.command(&node, first, CampaignCommand::Launch).await.unwrap();
    until_status(&world, first, CampaignStatus::Delayed).await;
    world
        .command(&node, first, CampaignCommand::Stop { hang_up: false })
        .await
        .unwrap();
    world.health.up();
    world.command(&node, second, CampaignCommand::Launch).await.unwrap();
    until_status(&world, second, CampaignStatus::Completed).await;
    assert_eq!(world.status(first).await, CampaignStatus::Stopped);
    assert_eq!(world.carrier.dials().len(), 3, "its line was free");
}

#[tokio::test(start_paused = true)]
async fn a_restart_leaves_a_delayed_campaign_delayed_and_dials_nothing() {
    let world = World::new().await;
    world.carrier.callees(BUSY);
    world.health.down(WHY);
    let node = world.node(4).await;
    let campaign = world.campaign(5).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until_status(&world, campaign, CampaignStatus::Delayed).await;
    node.stop().await;
    let _node = world.node(4).await;
    pass(60).await;
    assert_eq!(world.status(campaign).await, CampaignStatus::Delayed);
    assert_eq!(world.row(campaign).await.reason.as_deref(), Some(WHY));
    assert!(world.carrier.dials().is_empty());
    world.health.up();
    until_status(&world, campaign, CampaignStatus::Completed).await;
    assert_eq!(world.carrier.dials().len(), 5);
}

async fn queued(world: &World, n: usize) -> domain::id::AttemptId {
    let new = NewCall {
        agent: world.agent,
        phone_number: contact(n).phone_number,
        name: None,
        variables: json!({}).as_object().cloned().unwrap_or_else(Map::new),
    };
    match world.store.create_call(world.account, new, None).await {
        Ok(QueuedCall::Queued(row)) => row.id,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn single_calls_wait_for_the_providers_but_not_for_ever() {
    let world = World::new().await;
    world.carrier.callees(BUSY);
    world.health.down(WHY);
    let calls = [queued(&world, 1).await, queued(&world, 2).await];
    let _node = world.node(4).await;
    pass(60).await;
    assert!(world.carrier.dials().is_empty());
    let asked = world.health.asked();
    assert!((5..=40).contains(&asked), "{asked} questions in a minute");
    world.health.up();
    pass(10).await;
    assert_eq!(world.carrier.dials().len(), 2);
    world.health.down(WHY);
    let late = queued(&world, 3).await;
    pass(400).await;
    let row = world.store.conversation(world.account, late).await.unwrap();
    assert_eq!(
        (row.status, row.error),
        (ConversationStatus::Failed, Some(format!("{NOT_DIALED_SINCE}{WHY}")))
    );
    for call in calls {
        let row = world.store.conversation(world.account, call).await.unwrap();
        assert_eq!(row.error.as_deref(), Some("busy"));
    }
}
