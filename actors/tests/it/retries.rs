//! Retries and follow-ups, from the first call to the contact's final outcome.

use std::time::Duration;

use actors::campaign::{CampaignCommand, CampaignUpdate};
use domain::{
    id::{CampaignId, NodeId},
    ports::{
        carrier::{CarrierCallId, DialError},
        store::{
            AttemptStore, CampaignStatus, CampaignStore, ConversationStatus, NodeStore, Permit, PermitRequest,
            Progress, ScheduleText, StateChange,
        },
    },
    time::Timestamp,
};
use testkit::fake_ports::CLOCK_START;

use crate::support::{Callees, World, until};

const BUSY: Callees = Callees::Busy(Duration::from_secs(5));
const MINUTE: Duration = Duration::from_secs(60);

/// Returns when the conversations of a campaign were dialed, in minutes after the clock's start, in order.
async fn dialed_min(world: &World, campaign: CampaignId) -> Vec<i64> {
    let mut calls: Vec<_> = world
        .conversations(campaign)
        .await
        .iter()
        .map(|call| (call.started_at.0 - CLOCK_START.0) / 60_000_000)
        .collect();
    calls.sort_unstable();
    calls
}

async fn done(world: &World, campaign: CampaignId) {
    for _ in 0..2_000 {
        if world.status(campaign).await == CampaignStatus::Completed {
            return;
        }
        tokio::time::sleep(10 * MINUTE).await;
    }
    panic!("not completed within two weeks");
}

fn only(progress: impl FnOnce(&mut Progress)) -> Progress {
    let mut all = Progress::default();
    progress(&mut all);
    all
}

#[tokio::test(start_paused = true)]
async fn a_busy_contact_is_retried_and_followed_up_to_the_end() {
    let world = World::slow().await;
    world.carrier.callees(BUSY);
    world.retries(2, 5).await;
    let node = world.node(10).await;
    let campaign = world.followed_up(3, vec![60, 120]).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    tokio::time::sleep(MINUTE).await;
    // Nothing is due now: it waits for its retries, and each is a conversation with a time.
    let row = world.row(campaign).await;
    assert_eq!((row.status, row.active), (CampaignStatus::Waiting, true));
    assert_eq!(row.start_index, 3);
    let calls = world.conversations(campaign).await;
    let waiting: Vec<_> = calls
        .iter()
        .filter(|call| call.status == ConversationStatus::Scheduled)
        .collect();
    assert_eq!((calls.len(), waiting.len()), (6, 3));
    let first_due = waiting.iter().map(|call| call.started_at).min();
    assert_eq!(row.next_run_at, first_due);
    assert!(first_due.unwrap() >= CLOCK_START.plus(5 * MINUTE));
    let progress = world.store.progress(campaign).await.unwrap();
    assert_eq!(progress, only(|p| p.pending = 3));

    done(&world, campaign).await;
    assert_eq!(world.carrier.dials().len(), 3 * 9);
    let progress = world.store.progress(campaign).await.unwrap();
    assert_eq!(progress, only(|p| p.failed = 3));
    let expected = [0, 5, 10, 70, 75, 80, 200, 205, 210];
    let dialed = dialed_min(&world, campaign).await;
    for (dialed, expected) in dialed.chunks(3).zip(expected) {
        for minute in dialed {
            assert!((expected..=expected + 1).contains(minute), "{dialed:?}, not {expected}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_contact_that_is_reached_is_not_called_again() {
    let world = World::new().await;
    world.carrier.callees(BUSY);
    world.retries(3, 5).await;
    let node = world.node(10).await;
    let campaign = world.followed_up(2, vec![60]).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    tokio::time::sleep(MINUTE).await;
    world.carrier.callees(Callees::Answer);
    until("calls", async || world.carrier.sockets() == 2).await;
    let progress = world.store.progress(campaign).await.unwrap();
    assert_eq!(progress, only(|p| p.in_progress = 2));
    let stop = CampaignCommand::Stop { hang_up: true };
    world.command(&node, campaign, stop).await.unwrap();
    until("the end", async || {
        let progress = world.store.progress(campaign).await.unwrap();
        progress.in_progress == 0
    })
    .await;
    assert_eq!(world.carrier.dials().len(), 4);
    assert_eq!(world.conversations(campaign).await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn retries_and_follow_ups_stay_inside_the_window() {
    let world = World::new().await;
    world.carrier.callees(BUSY);
    world.retries(2, 20).await;
    let node = world.node(10).await;
    let campaign = world.followed_up(2, vec![10, 60]).await;
    let window = ScheduleText {
        start_time: Some("12:30".into()),
        end_time: Some("13:00".into()),
        timezone: Some("UTC".into()),
    };
    let window = CampaignCommand::Schedule(window);
    world.command(&node, campaign, window).await.unwrap();
    done(&world, campaign).await;
    let day = 24 * 60;
    // First call, its retries, the first follow-up within minutes, its retries, and so on, day by day.
    let mut expected = Vec::new();
    for (days, minute) in [
        (0, 30),
        (0, 50),
        (1, 30),
        (1, 40),
        (2, 30),
        (2, 50),
        (3, 30),
        (3, 50),
        (4, 30),
    ] {
        expected.extend([days * day + minute; 2]);
    }
    assert_eq!(dialed_min(&world, campaign).await, expected);
    assert_eq!(world.carrier.dials().len(), 18);
}

#[tokio::test(start_paused = true)]
async fn a_stop_cancels_what_waits_and_a_launch_does_not_bring_it_back() {
    let world = World::new().await;
    world.carrier.callees(BUSY);
    world.retries(3, 5).await;
    let node = world.node(1).await;
    let campaign = world.campaign(3).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    tokio::time::sleep(Duration::from_secs(8)).await;
    // One contact is busy and waits, one is in its call, one was never dialed.
    let stop = CampaignCommand::Stop { hang_up: false };
    world.command(&node, campaign, stop).await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    let progress = world.store.progress(campaign).await.unwrap();
    assert_eq!(
        progress,
        only(|p| (p.cancelled, p.failed, p.pending) = (1, 1, 1)),
        "a call that ends after the stop plans nothing"
    );
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    tokio::time::sleep(MINUTE).await;
    assert_eq!(world.carrier.dials().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_restart_takes_waiting_retries_up() {
    let world = World::new().await;
    world.carrier.callees(BUSY);
    world.retries(1, 60).await;
    let node = world.node(5).await;
    let campaign = world.campaign(4).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    tokio::time::sleep(MINUTE).await;
    node.stop().await;
    let _node = world.node(5).await;
    tokio::time::sleep(58 * MINUTE).await;
    assert_eq!(world.carrier.dials().len(), 4);
    done(&world, campaign).await;
    assert_eq!(world.carrier.dials().len(), 8);
}

#[tokio::test(start_paused = true)]
async fn the_rules_are_those_of_the_moment_at_which_a_call_ends() {
    let world = World::new().await;
    world.carrier.callees(BUSY);
    let node = world.node(5).await;
    let campaign = world.followed_up(1, vec![60]).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    tokio::time::sleep(MINUTE).await;
    assert_eq!(world.status(campaign).await, CampaignStatus::Waiting);
    let update = CampaignUpdate {
        follow_up: Some(domain::ports::store::FollowUp {
            enabled: true,
            attempts: 2,
            intervals_minutes: vec![60, 30],
        }),
        ..CampaignUpdate::default()
    };
    let update = CampaignCommand::Update(Box::new(update));
    world.command(&node, campaign, update).await.unwrap();
    done(&world, campaign).await;
    assert_eq!(dialed_min(&world, campaign).await, [0, 60, 90]);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_is_followed_by_nothing() {
    let world = World::new().await;
    world
        .carrier
        .callees(Callees::Refused(DialError::Unknown("reset".into())));
    world.retries(3, 5).await;
    let node = world.node(5).await;
    let campaign = world.followed_up(2, vec![60]).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    done(&world, campaign).await;
    assert_eq!(world.carrier.dials().len(), 2);
    let progress = world.store.progress(campaign).await.unwrap();
    assert_eq!(progress, only(|p| p.failed = 2));
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_process_left_is_followed_up_when_its_outcome_is_known() {
    for (known, dials) in [(true, 1), (false, 0)] {
        let world = World::new().await;
        world.carrier.callees(BUSY);
        let dead = NodeId::new();
        world.store.register_node(dead, None).await.unwrap();
        let campaign = world.followed_up(1, vec![60]).await;
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
        world.store.change_state(campaign, 1, running).await.unwrap();
        let claim = world.store.claim(dead, campaign, 1).await.unwrap()[0].claim;
        let request = PermitRequest {
            carrier: "scripted".into(),
            caller_id: None,
            agent_version: None,
            restricted_prefixes: Vec::new(),
        };
        let permit = world.store.permit(claim, request).await.unwrap();
        assert!(matches!(permit, Permit::Granted { .. }));
        if known {
            let leg = CarrierCallId("left".into());
            world.store.dialed(claim, &leg).await.unwrap();
        }
        let _node = world.node(5).await;
        done(&world, campaign).await;
        assert_eq!(world.carrier.dials().len(), dials, "known: {known}");
        let calls = world.conversations(campaign).await;
        assert_eq!(calls.len(), 1 + dials);
        assert!(calls.iter().all(|call| call.started_at > Timestamp(0)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_without_a_delay_waits_for_an_hour() {
    let world = World::slow().await;
    world.carrier.callees(BUSY);
    world.retries(1, None).await;
    let node = world.node(10).await;
    let campaign = world.campaign(1).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    done(&world, campaign).await;
    assert_eq!(dialed_min(&world, campaign).await, [0, 60]);
}
