//! Cost of a panic: a call loses its own outcome, a campaign nothing, the line pool the calls it held.

use std::time::Duration;

use actors::{
    campaign::CampaignCommand,
    campaigns::CampaignsMessage,
    lines::{LinesMessage, LinesSnapshot},
    node::NodeHandle,
};
use domain::{
    id::{AttemptId, CampaignId},
    ports::{
        carrier::{CarrierCallId, ListedCall},
        store::{CampaignStatus, ConversationRow, EventFact, Fact, RecordStore as _},
    },
};

use crate::support::{Callees, World, figures, until};

async fn live(node: &NodeHandle) -> Vec<AttemptId> {
    let lines = node.switchboard.lines.get().unwrap();
    let snapshot: LinesSnapshot = ractor::call!(lines, LinesMessage::Inspect).unwrap();
    assert_eq!(snapshot.granted, 0);
    snapshot.calls
}

fn sabotage(node: &NodeHandle, attempt: AttemptId, stream: bool) {
    let message = LinesMessage::Sabotage { attempt, stream };
    assert!(node.switchboard.lines.cast(message).is_ok());
}

fn ended(calls: &[ConversationRow]) -> Vec<(AttemptId, Option<String>)> {
    let over = calls.iter().filter(|c| c.ended_at.is_some());
    over.map(|c| (c.id, c.error.clone())).collect()
}

/// Starts a node with this number of answered calls.
async fn talking(world: &World, calls: usize) -> (NodeHandle, CampaignId) {
    let node = world.node(calls).await;
    let campaign = world.campaign(calls).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("calls", async || world.carrier.sockets() == calls).await;
    (node, campaign)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_panics_ends_failed_with_its_leg_hung_up_and_the_others_go_on() {
    let world = World::new().await;
    let (node, campaign) = talking(&world, 50).await;
    let victim = world.carrier.dialed_attempts()[17];
    sabotage(&node, victim, false);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let over = ended(&world.conversations(campaign).await);
    assert_eq!(over, [(victim, Some("agent-error: call crashed".into()))]);
    assert_eq!(world.carrier.hang_ups(), [world.carrier.leg_of(victim)]);
    let live = live(&node).await;
    assert_eq!(live.len(), 49);
    assert!(!live.contains(&victim));
}

#[tokio::test(start_paused = true)]
async fn a_crashed_call_whose_hang_up_crashes_too_gives_its_line_back() {
    let world = World::new().await;
    let (node, campaign) = talking(&world, 2).await;
    let victim = world.carrier.dialed_attempts()[0];
    world.carrier.crash_hang_ups();
    sabotage(&node, victim, false);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let over = ended(&world.conversations(campaign).await);
    assert_eq!(over, [(victim, Some("agent-error: call crashed".into()))]);
    assert_eq!(live(&node).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_carrier_that_never_answers_does_not_keep_the_line_of_a_crashed_call() {
    let world = World::new().await;
    let (node, campaign) = talking(&world, 1).await;
    let victim = world.carrier.dialed_attempts()[0];
    world.carrier.hang_hang_ups();
    sabotage(&node, victim, false);
    tokio::time::sleep(Duration::from_secs(15 * 60)).await;
    assert_eq!(ended(&world.conversations(campaign).await).len(), 1);
    assert!(live(&node).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_panics_while_it_is_handed_on_leaves_its_caller_alone() {
    let world = World::new().await;
    let (node, campaign) = talking(&world, 1).await;
    let victim = world.carrier.dialed_attempts()[0];
    let fact = Fact::Event(EventFact {
        name: "transfer_taken".into(),
        at_ms: 5_000,
        detail: r#"{"kind":"blind"}"#.into(),
    });
    world.store.append_facts(&[(victim, fact)]).await.unwrap();
    sabotage(&node, victim, false);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(ended(&world.conversations(campaign).await), [(victim, None)]);
    assert!(world.conversations(campaign).await[0].transferred);
    assert!(world.carrier.hang_ups().is_empty() && live(&node).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_audio_stream_that_panics_ends_its_call_only() {
    let world = World::new().await;
    let (node, campaign) = talking(&world, 50).await;
    let victim = world.carrier.dialed_attempts()[31];
    sabotage(&node, victim, true);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let over = ended(&world.conversations(campaign).await);
    assert_eq!(over.len(), 1, "{over:?}");
    assert_eq!(over[0].0, victim);
    assert!(over[0].1.as_deref().unwrap().starts_with("agent-error: "), "{over:?}");
    assert_eq!(world.carrier.hang_ups(), [world.carrier.leg_of(victim)]);
    assert_eq!(live(&node).await.len(), 49);
}

#[tokio::test(start_paused = true)]
async fn a_campaign_that_panics_ends_no_call_and_goes_on_where_it_was() {
    let world = World::new().await;
    let node = world.node(50).await;
    let campaign = world.campaign(60).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("calls", async || world.carrier.sockets() == 50).await;
    let sabotage = CampaignsMessage::Sabotage(campaign);
    assert!(node.switchboard.campaigns.cast(sabotage).is_ok());
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(ended(&world.conversations(campaign).await), []);
    assert_eq!(live(&node).await.len(), 50);
    assert_eq!(figures(&node).await.campaigns, 1);
    world.carrier.callees(Callees::Busy(Duration::from_secs(1)));
    until("completion", async || {
        world.status(campaign).await == CampaignStatus::Completed
    })
    .await;
    assert_eq!(world.carrier.dials().len(), 60, "every contact once");
}

#[tokio::test(start_paused = true)]
async fn a_campaign_that_panics_while_it_dials_loses_no_contact_and_no_line() {
    for offset_ms in [0, 7, 31, 64, 98] {
        let world = World::slow().await;
        world.carrier.callees(Callees::Busy(Duration::from_millis(70)));
        let node = world.node(10).await;
        let campaign = world.campaign(300).await;
        world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
        for n in 0..4 {
            tokio::time::sleep(Duration::from_millis(201 + n * 133 + offset_ms)).await;
            let sabotage = CampaignsMessage::Sabotage(campaign);
            assert!(node.switchboard.campaigns.cast(sabotage).is_ok());
        }
        until("completion", async || {
            world.status(campaign).await == CampaignStatus::Completed
        })
        .await;
        assert_eq!(world.carrier.dials().len(), 300);
        assert_eq!(ended(&world.conversations(campaign).await).len(), 300);
        every_line_is_free(&world, &node, 10).await;
    }
}

/// Fills all lines with calls of another campaign.
async fn every_line_is_free(world: &World, node: &NodeHandle, lines: usize) {
    assert!(live(node).await.is_empty());
    world.carrier.callees(Callees::Ring);
    let other = world.campaign_of(5000..5000 + lines, None).await;
    world.command(node, other, CampaignCommand::Launch).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(live(node).await.len(), lines);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_panics_before_its_leg_is_known_is_looked_for_at_the_carrier() {
    for found in [true, false] {
        let world = World::new().await;
        world.carrier.callees(Callees::Silence);
        let node = world.node(1).await;
        let campaign = world.campaign(1).await;
        world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
        until("a dial", async || !world.carrier.dials().is_empty()).await;
        let (_, dial) = world.carrier.dials().remove(0);
        let call = CarrierCallId("stray".into());
        let stray = ListedCall {
            call: call.clone(),
            attempt: Some(dial.attempt),
            to: dial.to.to_string(),
            live: true,
        };
        world.carrier.list(3, if found { vec![stray] } else { Vec::new() });
        sabotage(&node, dial.attempt, false);
        until("completion", async || {
            world.status(campaign).await == CampaignStatus::Completed
        })
        .await;
        let error = if found {
            "agent-error: call crashed"
        } else {
            "carrier-error: outcome unknown"
        };
        let over = ended(&world.conversations(campaign).await);
        assert_eq!(over, [(dial.attempt, Some(error.into()))]);
        assert_eq!(world.carrier.hang_ups(), if found { vec![call] } else { Vec::new() });
        assert_eq!(world.carrier.dials().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_pool_that_dies_is_replaced_and_its_calls_are_ended_at_the_carrier() {
    let world = World::new().await;
    let node = world.node(10).await;
    let campaign = world.campaign(15).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("calls", async || world.carrier.sockets() == 10).await;
    world.carrier.callees(Callees::Busy(Duration::from_secs(1)));
    node.switchboard.lines.get().unwrap().kill();
    until("completion", async || {
        world.status(campaign).await == CampaignStatus::Completed
    })
    .await;
    assert_eq!(world.carrier.hang_ups().len(), 10);
    assert_eq!(world.carrier.dials().len(), 15);
    let over = ended(&world.conversations(campaign).await);
    let crashed = over
        .iter()
        .filter(|(_, e)| e.as_deref() == Some("agent-error: call crashed"));
    assert_eq!((over.len(), crashed.count()), (15, 10));
}

#[tokio::test(start_paused = true)]
async fn a_campaign_supervisor_that_dies_is_replaced_and_costs_no_call() {
    let world = World::new().await;
    let node = world.node(10).await;
    let campaign = world.campaign(15).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("calls", async || world.carrier.sockets() == 10).await;
    node.switchboard.campaigns.get().unwrap().kill();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(live(&node).await.len(), 10);
    assert_eq!(figures(&node).await.campaigns, 1);
    world.carrier.callees(Callees::Busy(Duration::from_secs(1)));
    until("completion", async || {
        world.status(campaign).await == CampaignStatus::Completed
    })
    .await;
    assert_eq!(world.carrier.dials().len(), 15);
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_dies_is_replaced_and_costs_no_fact() {
    let world = World::new().await;
    let node = world.node(5).await;
    let mut live = node.live.subscribe();
    let campaign = world.campaign(5).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("calls", async || world.carrier.sockets() == 5).await;
    node.journal_address.get().unwrap().kill();
    let stop = CampaignCommand::Stop { hang_up: true };
    world.command(&node, campaign, stop).await.unwrap();
    until("their ends", async || {
        ended(&world.conversations(campaign).await).len() == 5
    })
    .await;
    for attempt in world.carrier.dialed_attempts() {
        assert!(!world.store.events(attempt).is_empty());
    }
    let mut seen = 0;
    while let Ok(fact) = live.try_recv() {
        let Fact::Event(event) = fact.fact else { continue };
        assert!(world.store.events(fact.attempt).contains(&event), "{event:?}");
        seen += 1;
    }
    assert!(seen >= 10, "{seen}");
}

#[tokio::test(start_paused = true)]
async fn commands_and_callbacks_go_on_while_the_campaign_supervisor_is_replaced() {
    let world = World::new().await;
    let node = world.node(3).await;
    let (campaign, other) = (world.campaign(3).await, world.campaign_of(10..11, None).await);
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    node.switchboard.campaigns.get().unwrap().kill();
    until("answered calls", async || world.carrier.sockets() == 3).await;
    node.switchboard.campaigns.get().unwrap().kill();
    // Not awaited: the command arrives while the actor is down.
    tokio::task::yield_now().await;
    let row = world.command(&node, other, CampaignCommand::Launch).await.unwrap();
    assert_eq!(row.status, CampaignStatus::Running);
    assert_eq!(figures(&node).await.live_calls, 3);
}
