//! Lines, dialing rate, fairness, and the end of dialing.

use actors::{
    campaign::{CampaignActor, CampaignArguments, CampaignCommand, CampaignMessage},
    campaigns::CampaignsMessage,
    lines::{Dialer, LinesMessage, LinesNotice, LinesSnapshot},
    node::{NodeHandle, NodeSettings},
    supervision::Reports,
};
use std::time::Duration;

use domain::{
    id::NodeId,
    ports::store::{CampaignStatus, CampaignStore},
};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::support::{Callees, World, figures, until};

async fn lines(node: &NodeHandle) -> LinesSnapshot {
    let lines = node.switchboard.lines.get().unwrap();
    ractor::call!(lines, LinesMessage::Inspect).unwrap()
}

#[tokio::test(start_paused = true)]
async fn fifty_calls_live_at_once_and_no_more_than_there_are_lines() {
    let world = World::new().await;
    let node = world.node(50).await;
    let campaign = world.campaign(80).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("fifty calls", async || world.carrier.sockets() == 50).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(figures(&node).await.live_calls, 50);
    assert_eq!(world.carrier.dials().len(), 50);
    assert_eq!(lines(&node).await.granted, 0);
}

#[tokio::test(start_paused = true)]
async fn no_second_holds_more_dials_than_the_rate_allows() {
    let world = World::new().await;
    world.carrier.callees(Callees::Busy(Duration::from_millis(10)));
    let settings = NodeSettings {
        lines: 50,
        calls_per_second: 3.0,
        ..NodeSettings::default()
    };
    let node = world.node_with(settings).await;
    let campaigns = [world.campaign(20).await, world.campaign_of(100..130, None).await];
    tokio::time::sleep(Duration::from_secs(100)).await;
    for campaign in campaigns {
        world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    }
    for campaign in campaigns {
        until("completion", async || {
            world.status(campaign).await == CampaignStatus::Completed
        })
        .await;
    }
    let times: Vec<_> = world.carrier.dials().iter().map(|(at, _)| *at).collect();
    for (n, at) in times.iter().enumerate() {
        let second = times[n..]
            .iter()
            .filter(|t| t.duration_since(*at) < Duration::from_secs(1));
        assert!(second.count() <= 3);
    }
    let took = times.last().unwrap().duration_since(times[0]);
    assert!(took < Duration::from_secs(25), "{took:?} for {} calls", times.len());
}

#[tokio::test(start_paused = true)]
async fn campaigns_share_the_lines() {
    let world = World::new().await;
    world.carrier.callees(Callees::Busy(Duration::from_secs(2)));
    let node = world.node(10).await;
    let first = world.campaign(500).await;
    let second = world.campaign_of(1000..1500, None).await;
    world.command(&node, first, CampaignCommand::Launch).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let ahead = world.conversations(first).await.len();
    world.command(&node, second, CampaignCommand::Launch).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let by_first = world.conversations(first).await.len() - ahead;
    let by_second = world.conversations(second).await.len();
    assert!(by_first + by_second >= 280, "{by_first} and {by_second}");
    assert!(by_first.abs_diff(by_second) <= 20, "{by_first} and {by_second}");
}

#[tokio::test(start_paused = true)]
async fn a_campaign_keeps_to_its_own_limit() {
    let world = World::new().await;
    let node = world.node(50).await;
    let campaign = world.campaign_with(30, Some(4)).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(figures(&node).await.live_calls, 4);
    assert_eq!(lines(&node).await.granted, 0);
}

#[tokio::test(start_paused = true)]
async fn a_drain_stops_dialing_at_once_and_hangs_up_after_the_grace_time() {
    let world = World::new().await;
    let node = world.node(5).await;
    let campaign = world.campaign(20).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("calls", async || world.carrier.sockets() == 5).await;
    let begun = tokio::time::Instant::now();
    node.drain(Duration::from_secs(20), Duration::ZERO).await;
    assert!(begun.elapsed() >= Duration::from_secs(20));
    assert_eq!(figures(&node).await.live_calls, 0);
    assert_eq!(world.carrier.dials().len(), 5);
    assert_eq!(world.carrier.hang_ups().len(), 5);
    assert_eq!(world.status(campaign).await, CampaignStatus::Running);
    let calls = world.conversations(campaign).await;
    assert_eq!(calls.iter().filter(|c| c.ended_at.is_some()).count(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_pause_leaves_the_lines_it_does_not_use_to_others() {
    for wait_ms in (1000..1400).step_by(17) {
        let world = World::slow().await;
        let settings = NodeSettings {
            lines: 10,
            calls_per_second: 5.0,
            ..NodeSettings::default()
        };
        let node = world.node_with(settings).await;
        let first = world.campaign(100).await;
        world.command(&node, first, CampaignCommand::Launch).await.unwrap();
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        world.command(&node, first, CampaignCommand::Pause).await.unwrap();
        let second = world.campaign_of(1000..1100, None).await;
        world.command(&node, second, CampaignCommand::Launch).await.unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(figures(&node).await.live_calls, 10, "paused after {wait_ms} ms");
    }
}

/// Replaces an actor and passes on its messages.
struct Probe<M>(tokio::sync::mpsc::UnboundedSender<M>);

impl<M: ractor::Message + Sync> ractor::Actor for Probe<M> {
    type Msg = M;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _me: ActorRef<M>, _: ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(&self, _me: ActorRef<M>, message: M, _: &mut ()) -> Result<(), ActorProcessingErr> {
        let _ = self.0.send(message);
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn lines_granted_to_a_campaign_that_does_not_dial_are_given_back() {
    let world = World::new().await;
    let campaign = world.campaign(5).await;
    let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
    let (lines, _) = Actor::spawn(None, Probe(sender), ()).await.unwrap();
    let (campaigns, _) = Actor::spawn(None, Probe(tokio::sync::mpsc::unbounded_channel().0), ())
        .await
        .unwrap();
    let arguments = CampaignArguments {
        other_nodes: false,
        row: world.row(campaign).await,
        node: NodeId::new(),
        ports: world.ports.clone(),
        lines: lines.into(),
        campaigns: Reports::to(&campaigns, CampaignsMessage::Resting),
        ring_timeout: Duration::from_secs(30),
    };
    let (draft, _) = Actor::spawn(None, CampaignActor, arguments).await.unwrap();
    assert!(matches!(told.recv().await, Some(LinesMessage::Attach { .. })));
    draft
        .cast(CampaignMessage::Lines(LinesNotice::Attached(Vec::new())))
        .unwrap();
    draft.cast(CampaignMessage::Lines(LinesNotice::Granted(3))).unwrap();
    let back = told.recv().await;
    assert!(matches!(back, Some(LinesMessage::ReturnLines { dialer: Dialer::Campaign(c), lines: 3 }) if c == campaign));
}

/// Returns a campaign's version, which counts the changes of its state.
async fn versions(world: &World, campaign: domain::id::CampaignId) -> i64 {
    world.row(campaign).await.version
}

#[tokio::test(start_paused = true)]
async fn a_campaign_without_a_line_is_delayed_and_runs_again_with_one() {
    let world = World::new().await;
    let node = world.node(2).await;
    let first = world.campaign(5).await;
    let second = world.campaign_of(100..105, None).await;
    world.command(&node, first, CampaignCommand::Launch).await.unwrap();
    until("calls", async || world.carrier.sockets() == 2).await;
    world.command(&node, second, CampaignCommand::Launch).await.unwrap();
    let before = versions(&world, second).await;
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(
        world.status(second).await,
        CampaignStatus::Running,
        "a short moment is none"
    );
    tokio::time::sleep(Duration::from_secs(3)).await;
    let row = world.row(second).await;
    assert_eq!(
        (row.status, row.active, row.next_run_at),
        (CampaignStatus::Delayed, true, None)
    );
    assert_eq!(
        row.reason.as_deref(),
        Some("no line is free: all 2 are taken by other calls")
    );
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(
        versions(&world, second).await,
        before + 1,
        "one write, however long it takes"
    );
    assert_eq!(
        world.status(first).await,
        CampaignStatus::Running,
        "whose calls have all lines is not delayed"
    );

    let stop = CampaignCommand::Stop { hang_up: true };
    world.command(&node, first, stop).await.unwrap();
    until("it dials", async || world.conversations(second).await.len() == 2).await;
    let row = world.row(second).await;
    assert_eq!((row.status, row.reason), (CampaignStatus::Running, None));
    assert_eq!(versions(&world, second).await, before + 2);
    assert_eq!(lines(&node).await.granted, 0);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_campaign_is_paused_stopped_and_closed_like_others() {
    let world = World::new().await;
    let node = world.node(1).await;
    let first = world.campaign(1).await;
    world.command(&node, first, CampaignCommand::Launch).await.unwrap();
    until("a call", async || world.carrier.sockets() == 1).await;
    let second = world.campaign_of(100..102, None).await;
    for command in [CampaignCommand::Pause, CampaignCommand::Stop { hang_up: false }] {
        world.command(&node, second, CampaignCommand::Launch).await.unwrap();
        until("delay", async || world.status(second).await == CampaignStatus::Delayed).await;
        world.command(&node, second, command).await.unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert!(!world.row(second).await.active);
    }
    let window = domain::ports::store::ScheduleText {
        start_time: Some("12:00".into()),
        end_time: Some("12:03".into()),
        timezone: Some("UTC".into()),
    };
    world
        .command(&node, second, CampaignCommand::Schedule(window))
        .await
        .unwrap();
    until("delay", async || world.status(second).await == CampaignStatus::Delayed).await;
    until("its window's end", async || {
        world.status(second).await == CampaignStatus::Paused
    })
    .await;
    assert!(world.row(second).await.active);
    assert_eq!(world.carrier.dials().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn campaigns_that_share_too_few_lines_do_not_change_with_every_call() {
    let world = World::new().await;
    world.carrier.callees(Callees::Busy(Duration::from_secs(3)));
    let node = world.node(1).await;
    let campaigns = [world.campaign(60).await, world.campaign_of(100..160, None).await];
    for campaign in campaigns {
        world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(240)).await;
    for campaign in campaigns {
        assert!(world.conversations(campaign).await.len() > 30, "both dial in turn");
        let versions = versions(&world, campaign).await;
        assert!(versions < 10, "{versions} versions");
    }
}

#[tokio::test(start_paused = true)]
async fn neither_the_rate_nor_its_own_limit_delays_a_campaign() {
    let world = World::new().await;
    world.carrier.callees(Callees::Busy(Duration::from_secs(1)));
    let settings = NodeSettings {
        lines: 5,
        calls_per_second: 0.1,
        ..NodeSettings::default()
    };
    let node = world.node_with(settings).await;
    let slow = world.campaign(4).await;
    world.command(&node, slow, CampaignCommand::Launch).await.unwrap();
    let before = versions(&world, slow).await;
    until("completion", async || {
        world.status(slow).await == CampaignStatus::Completed
    })
    .await;
    assert_eq!(versions(&world, slow).await, before + 1);
    let times: Vec<_> = world.carrier.dials().iter().map(|(at, _)| *at).collect();
    for pair in times.windows(2) {
        let gap = pair[1].duration_since(pair[0]);
        assert!((10.0..10.5).contains(&gap.as_secs_f64()), "{gap:?}");
    }

    world.carrier.callees(Callees::Answer);
    let limited = world.campaign_of(100..104, Some(1)).await;
    world.command(&node, limited, CampaignCommand::Launch).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.status(limited).await, CampaignStatus::Running);
}

#[tokio::test(start_paused = true)]
async fn a_line_that_comes_while_the_campaign_is_changed_elsewhere_goes_back() {
    let world = World::new().await;
    let node = world.node(1).await;
    let first = world.campaign(1).await;
    world.command(&node, first, CampaignCommand::Launch).await.unwrap();
    until("a call", async || world.carrier.sockets() == 1).await;
    let second = world.campaign_of(100..102, None).await;
    world.command(&node, second, CampaignCommand::Launch).await.unwrap();
    until("delay", async || world.status(second).await == CampaignStatus::Delayed).await;
    // Another process pauses it; this one does not notice.
    let row = world.row(second).await;
    let paused = domain::ports::store::StateChange {
        status: CampaignStatus::Paused,
        active: false,
        scheduled: false,
        next_run_at: None,
        opens_from: None,
        closes_at: None,
        reason: None,
        cancel_waiting: false,
    };
    world.store.change_state(second, row.version, paused).await.unwrap();
    let stop = CampaignCommand::Stop { hang_up: true };
    world.command(&node, first, stop).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(world.status(second).await, CampaignStatus::Paused);
    let snapshot = lines(&node).await;
    assert_eq!((snapshot.granted, snapshot.calls.len()), (0, 0));
    assert_eq!(world.carrier.dials().len(), 1);
}
