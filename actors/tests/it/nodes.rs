//! Several nodes on one store.

use std::{collections::HashSet, sync::Arc, time::Duration};

use actors::{
    campaign::CampaignCommand,
    dial_gate::HoldsBack,
    node::{Node, NodeArguments, NodeHandle, NodeSettings},
};
use domain::{
    id::{AttemptId, NodeId},
    ports::{
        carrier::DialError,
        store::{AttemptStore, CampaignStatus, NodeStore, Patience, StoreError},
    },
};
use testkit::store_conformance::ManualClock;
use tokio::time::{Instant, sleep, timeout};

use crate::support::{Callees, World, figures, until};

const SECOND: Duration = Duration::from_secs(1);

/// One world as seen by two nodes, each with a carrier of its own.
struct Two {
    worlds: [World; 2],
    nodes: [NodeHandle; 2],
}

impl Two {
    async fn with(settings: impl Fn() -> NodeSettings) -> Self {
        let first = World::shared().await;
        let second = first.twin();
        let nodes = [first.node_with(settings()).await, second.node_with(settings()).await];
        // The second node waits two heartbeats before it dials.
        sleep(7 * SECOND).await;
        Self {
            worlds: [first, second],
            nodes,
        }
    }

    async fn of_lines(lines: usize) -> Self {
        Self::with(|| NodeSettings {
            lines,
            ..NodeSettings::default()
        })
        .await
    }

    fn callees(&self, callees: &Callees) {
        self.worlds
            .iter()
            .for_each(|world| world.carrier.callees(callees.clone()));
    }

    fn dialed(&self) -> [Vec<AttemptId>; 2] {
        [0, 1].map(|node: usize| self.worlds[node].carrier.dialed_attempts())
    }

    /// Returns the number of dials, and checks that none was repeated.
    fn all_dialed(&self) -> usize {
        let all: Vec<_> = self.dialed().concat();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len(), "dialed twice");
        all.len()
    }

    async fn live(&self) -> usize {
        figures(&self.nodes[0]).await.live_calls + figures(&self.nodes[1]).await.live_calls
    }
}

#[tokio::test(start_paused = true)]
async fn every_node_works_a_campaign_that_one_of_them_launched() {
    let two = Two::of_lines(5).await;
    two.callees(&Callees::Busy(2 * SECOND));
    let world = &two.worlds[0];
    let campaign = world.campaign(60).await;
    let begun = Instant::now();
    world
        .command(&two.nodes[0], campaign, CampaignCommand::Launch)
        .await
        .unwrap();
    until("dials of the other node", async || !two.dialed()[1].is_empty()).await;
    assert!(begun.elapsed() < 2 * SECOND, "{:?}", begun.elapsed());
    until("completion", async || {
        world.status(campaign).await == CampaignStatus::Completed
    })
    .await;
    assert_eq!(two.all_dialed(), 60);
    assert!(
        two.dialed().iter().all(|dialed| dialed.len() > 10),
        "{:?}",
        two.dialed().map(|d| d.len())
    );
    // Launch and completion, and nothing else.
    assert_eq!(world.row(campaign).await.version, 3);
}

#[tokio::test(start_paused = true)]
async fn a_pause_a_limit_and_a_stop_on_one_node_hold_on_the_other() {
    let two = Two::of_lines(10).await;
    let world = &two.worlds[0];
    let campaign = world.campaign_with(100, Some(6)).await;
    world
        .command(&two.nodes[0], campaign, CampaignCommand::Launch)
        .await
        .unwrap();
    until("calls", async || two.live().await == 6).await;
    sleep(10 * SECOND).await;
    assert_eq!((two.live().await, two.all_dialed()), (6, 6));

    world
        .command(&two.nodes[1], campaign, CampaignCommand::Pause)
        .await
        .unwrap();
    for world in &two.worlds {
        world.carrier.drop_sockets();
    }
    until("the end of the calls", async || two.live().await == 0).await;
    sleep(10 * SECOND).await;
    assert_eq!(two.all_dialed(), 6);
    assert_eq!(world.status(campaign).await, CampaignStatus::Paused);

    // After a launch on the other node, both continue.
    world
        .command(&two.nodes[1], campaign, CampaignCommand::Launch)
        .await
        .unwrap();
    until("calls", async || two.live().await == 6).await;
    let stop = CampaignCommand::Stop { hang_up: false };
    world.command(&two.nodes[0], campaign, stop).await.unwrap();
    sleep(5 * SECOND).await;
    assert_eq!(two.live().await, 6);
    let stop = CampaignCommand::Stop { hang_up: true };
    world.command(&two.nodes[0], campaign, stop).await.unwrap();
    let stopped = Instant::now();
    until("the end of the calls", async || two.live().await == 0).await;
    assert!(stopped.elapsed() < 5 * SECOND, "{:?}", stopped.elapsed());
    assert_eq!(two.all_dialed(), 12);
}

#[tokio::test(start_paused = true)]
async fn nodes_share_the_dialing_rate() {
    let two = Two::with(|| NodeSettings {
        lines: 100,
        calls_per_second: 4.0,
        ..NodeSettings::default()
    })
    .await;
    let world = &two.worlds[0];
    let campaign = world.campaign(150).await;
    world
        .command(&two.nodes[0], campaign, CampaignCommand::Launch)
        .await
        .unwrap();
    sleep(21 * SECOND).await;
    let dialed = two.dialed().map(|dialed| dialed.len());
    assert!(dialed.iter().all(|dialed| (34..=42).contains(dialed)), "{dialed:?}");
}

#[tokio::test(start_paused = true)]
async fn what_keeps_one_node_from_dialing_does_not_stop_the_others() {
    let two = Two::of_lines(5).await;
    two.callees(&Callees::Busy(4 * SECOND));
    two.worlds[1].health.down("no voice");
    let world = &two.worlds[0];
    let campaign = world.campaign(100).await;
    world
        .command(&two.nodes[1], campaign, CampaignCommand::Launch)
        .await
        .unwrap();
    for _ in 0..60 {
        sleep(SECOND).await;
        assert_ne!(world.status(campaign).await, CampaignStatus::Delayed);
    }
    assert!(two.dialed()[1].is_empty());
    until("completion", async || {
        world.status(campaign).await == CampaignStatus::Completed
    })
    .await;
    assert_eq!(two.dialed()[0].len(), 100);
    assert_eq!(world.row(campaign).await.version, 3);
}

#[tokio::test(start_paused = true)]
async fn a_campaign_that_no_node_can_dial_is_delayed_and_runs_again_with_one() {
    let two = Two::of_lines(5).await;
    two.callees(&Callees::Busy(4 * SECOND));
    for world in &two.worlds {
        world.health.down("no voice");
    }
    let world = &two.worlds[0];
    let campaign = world.campaign(20).await;
    world
        .command(&two.nodes[1], campaign, CampaignCommand::Launch)
        .await
        .unwrap();
    until("delay", async || {
        world.status(campaign).await == CampaignStatus::Delayed
    })
    .await;
    sleep(30 * SECOND).await;
    assert_eq!(
        (world.status(campaign).await, two.all_dialed()),
        (CampaignStatus::Delayed, 0)
    );
    two.worlds[0].health.up();
    until("completion", async || {
        world.status(campaign).await == CampaignStatus::Completed
    })
    .await;
    assert_eq!(two.dialed().map(|dialed| dialed.len()), [20, 0]);
    // Launched, delayed, running, completed.
    assert_eq!(world.row(campaign).await.version, 5);
}

#[tokio::test(start_paused = true)]
async fn a_carrier_that_takes_no_calls_of_any_node_delays_the_campaign_until_it_is_asked_again() {
    let two = Two::of_lines(5).await;
    let retry_after = Some(60 * SECOND);
    two.callees(&Callees::Refused(DialError::Busy { retry_after }));
    let world = &two.worlds[0];
    let campaign = world.campaign(20).await;
    world
        .command(&two.nodes[1], campaign, CampaignCommand::Launch)
        .await
        .unwrap();
    sleep(12 * SECOND).await;
    // Both carriers asked for a pause of a minute, and the campaign shows that until it is over.
    for asked in 1..=3 {
        let row = world.row(campaign).await;
        assert_eq!(row.status, CampaignStatus::Delayed, "{asked}");
        assert!(row.reason.as_ref().unwrap().contains("takes no more calls"), "{row:?}");
        let until = row.next_run_at.unwrap();
        let left = until.since(world.ports.clock.now());
        assert!((40 * SECOND..60 * SECOND).contains(&left), "{left:?}");
        let dialed = two.dialed().map(|dialed| dialed.len());
        sleep(left - SECOND).await;
        assert_eq!(world.row(campaign).await.version, row.version, "{asked}");
        assert_eq!(two.dialed().map(|dialed| dialed.len()), dialed);
        // It is asked again. Nobody had a call in all that time, so it is soon delayed again.
        sleep(5 * SECOND).await;
    }
    two.callees(&Callees::Busy(2 * SECOND));
    until("completion", async || {
        world.status(campaign).await == CampaignStatus::Completed
    })
    .await;
    // Launched, completed, and delayed at most four times.
    assert!(world.row(campaign).await.version <= 11);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_the_store_will_not_have_ends() {
    let world = World::shared().await;
    let start = || {
        Node::start(NodeArguments {
            ports: world.ports.clone(),
            settings: NodeSettings::default(),
        })
    };
    let refusal = || Some(StoreError::OtherTimes("other times".into()));
    world.store.fail_with(refusal());
    let refused = start().await.err().unwrap().to_string();
    assert_eq!(refused, "node did not start: other times");
    // The same applies to a node that started while the store was unavailable, and to a node that was declared dead.
    world.store.fail_with(Some(StoreError::Unavailable("away".into())));
    let late = start().await.unwrap();
    sleep(20 * SECOND).await;
    world.store.fail_with(refusal());
    assert_eq!(late.refused().await, "other times");
    assert_eq!(late.holds_back(), Some(HoldsBack::Starting));
    world.store.fail_with(None);
    let running = start().await.unwrap();
    assert_eq!(timeout(30 * SECOND, running.refused()).await.ok(), None);
    world.store.fail_with(Some(StoreError::Fenced));
    sleep(4 * SECOND).await;
    world.store.fail_with(refusal());
    assert_eq!(running.refused().await, "other times");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ends_at_once_says_so_and_dials_nobody_more() {
    let world = World::shared().await;
    let node = world.node(2).await;
    let other = NodeId::new();
    world.store.register_node(other, None).await.unwrap();
    assert!(node.last_word().await);
    assert_eq!(node.holds_back(), Some(HoldsBack::Fenced));
    let live = world.store.live_nodes().await.unwrap();
    assert_eq!(live.iter().map(|node| node.id).collect::<Vec<_>>(), [other]);
    world.store.fail_with(Some(StoreError::Unavailable("away".into())));
    assert!(!node.last_word().await);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_declared_dead_lets_go_and_starts_anew() {
    let world = World::shared().await;
    let node = world.node(2).await;
    let campaign = world.campaign(10).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("calls", async || world.carrier.sockets() == 2).await;
    let (was, before) = (node.node(), world.carrier.dialed_attempts());
    let other = NodeId::new();
    world.store.register_node(other, None).await.unwrap();
    world.store.bury(was);
    let taken = world.store.take_orphaned(other, &Patience::default()).await.unwrap();
    assert_eq!(taken.len(), 2);
    until("another id", async || node.node() != was).await;
    // This comes before anybody could find the other node silent.
    until("further calls", async || world.carrier.dials().len() == 4).await;
    assert_eq!(figures(&node).await.holds_back, None);
    // The new owner writes the outcome of the calls; this node neither writes nor hangs up.
    assert!(world.carrier.hang_ups().is_empty());
    for attempt in before {
        assert_eq!(world.store.owner_of(attempt).await.unwrap().unwrap().node, other);
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_stood_still_lets_go_of_what_it_lost() {
    let clock = Arc::new(ManualClock::new());
    let world = World::shared_with(clock.clone()).await;
    let node = world.node(3).await;
    let campaign = world.campaign_with(10, Some(2)).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("calls", async || world.carrier.sockets() == 2).await;
    let lost = world.carrier.dialed_attempts()[0];
    let other = NodeId::new();
    world.store.register_node(other, None).await.unwrap();
    world.store.take_from(lost, other);
    world.store.fail_with(Some(StoreError::Unavailable("slow".into())));
    // The machine slept: only its wall clock advanced.
    clock.advance(4 * SECOND);
    until("doubt", async || {
        figures(&node).await.holds_back == Some(HoldsBack::Suspect)
    })
    .await;
    world.store.fail_with(None);
    until("one call", async || figures(&node).await.live_calls == 1).await;
    assert_eq!(figures(&node).await.holds_back, None);
    assert!(world.carrier.hang_ups().is_empty());
    // It still counts as one of the two calls that the campaign may have.
    sleep(5 * SECOND).await;
    assert_eq!(world.carrier.dials().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stops_takes_nothing_more_and_leaves_the_rest_to_the_others_at_once() {
    let two = Two::of_lines(2).await;
    let [world, other] = &two.worlds;
    let campaign = world.campaign(20).await;
    world
        .command(&two.nodes[0], campaign, CampaignCommand::Launch)
        .await
        .unwrap();
    until("calls on both", async || {
        world.carrier.sockets() > 0 && other.carrier.sockets() > 0
    })
    .await;
    let (staying, leaving) = (two.nodes[0].node(), two.nodes[1].node());
    let left = two.dialed()[1].clone();
    let [_staying_node, leaving_node] = two.nodes;
    // A dead node's calls are left to the node that stays.
    let dead = NodeId::new();
    world.store.register_node(dead, None).await.unwrap();
    let drain = leaving_node.drain(30 * SECOND, Duration::ZERO);
    let die = async {
        sleep(SECOND).await;
        world.store.take_from(two.worlds[0].carrier.dialed_attempts()[0], dead);
        world.store.bury(dead);
        for _ in 0..20 {
            sleep(SECOND).await;
            let orphaned = two.worlds[0].carrier.dialed_attempts()[0];
            let owner = world.store.owner_of(orphaned).await.unwrap();
            assert!(owner.is_none_or(|owner| owner.node != leaving));
        }
    };
    tokio::join!(drain, die);
    assert_eq!(world.store.live_nodes().await.unwrap().len(), 2);
    leaving_node.stop().await;
    let live: Vec<_> = world
        .store
        .live_nodes()
        .await
        .unwrap()
        .into_iter()
        .map(|node| node.id)
        .collect();
    assert_eq!(live, [staying]);
    until("its calls are over", async || {
        let calls = world.conversations(campaign).await;
        left.iter()
            .all(|id| calls.iter().any(|call| call.id == *id && call.ended_at.is_some()))
    })
    .await;
}
