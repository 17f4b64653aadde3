//! A campaign brings every contact to an outcome, and does nothing beyond that.

use domain::{
    id::CampaignId,
    ports::{
        carrier::DialError,
        store::{AttemptStore, CampaignStatus, CampaignStore, ConversationStatus, DirectoryStore, SafeguardStore},
    },
    retry::UNKNOWN_OUTCOME,
    safeguards::{CallingHours, Mode, Safeguards, TimeOfDay, Weekday},
};
use std::{collections::HashSet, time::Duration};

use actors::{campaign::CampaignCommand, node::NodeSettings};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Callees, World, figures, until};

const BUSY: Callees = Callees::Busy(Duration::from_millis(300));

async fn completed(world: &World, campaign: CampaignId) {
    until("completion", async || {
        world.status(campaign).await == CampaignStatus::Completed
    })
    .await;
}

fn numbers_are_dialed_once(world: &World, contacts: usize) {
    let dials = world.carrier.dials();
    let numbers: HashSet<_> = dials.iter().map(|(_, dial)| dial.to.clone()).collect();
    assert_eq!((dials.len(), numbers.len()), (contacts, contacts));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_contacts_through_twenty_lines_all_reach_an_outcome() {
    let world = World::new().await;
    world.carrier.callees(BUSY);
    let node = world.node(20).await;
    let campaign = world.campaign(1000).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("completion", async || {
        assert!(figures(&node).await.live_calls <= 20);
        world.status(campaign).await == CampaignStatus::Completed
    })
    .await;
    numbers_are_dialed_once(&world, 1000);
    let calls = world.conversations(campaign).await;
    assert_eq!(calls.len(), 1000);
    assert!(
        calls
            .iter()
            .all(|c| c.status == ConversationStatus::Failed && c.error.as_deref() == Some("busy"))
    );
    let at_rest = async || figures(&node).await.campaigns == 0 && figures(&node).await.live_calls == 0;
    until("rest", at_rest).await;
}

#[tokio::test(start_paused = true)]
async fn no_dial_starts_after_the_answer_to_a_pause_and_a_launch_goes_on_where_it_was() {
    let world = World::slow().await;
    world.carrier.callees(BUSY);
    let node = world.node(7).await;
    let campaign = world.campaign(100).await;
    for round in 1..=4 {
        world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
        tokio::time::sleep(Duration::from_millis(777)).await;
        world.command(&node, campaign, CampaignCommand::Pause).await.unwrap();
        // A permit given before the pause may still be on its way to the carrier.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let dialed = world.carrier.dials().len();
        assert!(dialed >= round * 7, "{dialed} in round {round}");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(world.carrier.dials().len(), dialed);
        assert_eq!(
            world.conversations(campaign).await.len(),
            dialed,
            "nothing else left a trace"
        );
    }
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    completed(&world, campaign).await;
    numbers_are_dialed_once(&world, 100);
    let refused = world.command(&node, campaign, CampaignCommand::Launch).await;
    assert_eq!(refused, Err(actors::campaign::CommandError::NothingToDial));
}

#[tokio::test(start_paused = true)]
async fn commands_that_follow_each_other_at_once_leave_no_contact_claimed() {
    let world = World::slow().await;
    world.carrier.callees(BUSY);
    let node = world.node(20).await;
    let campaign = world.campaign(500).await;
    for wait_ms in 0..60 {
        world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
        tokio::time::sleep(Duration::from_millis(wait_ms * 3)).await;
        world.command(&node, campaign, CampaignCommand::Pause).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    let remaining = world.store.remaining(campaign).await.unwrap();
    assert_eq!((remaining.open, remaining.later), (0, 0));
    let dialed = world.carrier.dials().len();
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert!(world.carrier.dials().len() >= dialed + 20, "it dials at once");
    completed(&world, campaign).await;
    numbers_are_dialed_once(&world, 500);
}

#[tokio::test(start_paused = true)]
async fn a_stop_may_hang_up_the_calls_in_progress() {
    let world = World::new().await;
    let node = world.node(5).await;
    let campaign = world.campaign(20).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("calls", async || world.carrier.sockets() == 5).await;
    let gentle = world.campaign(0).await;
    assert_ne!(gentle, campaign);
    let stop = CampaignCommand::Stop { hang_up: true };
    world.command(&node, campaign, stop).await.unwrap();
    until("silence", async || figures(&node).await.live_calls == 0).await;
    assert_eq!(world.carrier.hang_ups().len(), 5);
    assert_eq!(world.carrier.dials().len(), 5);
    assert_eq!(world.status(campaign).await, CampaignStatus::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_pause_lets_calls_in_progress_go_on() {
    let world = World::new().await;
    let node = world.node(5).await;
    let campaign = world.campaign(20).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("calls", async || world.carrier.sockets() == 5).await;
    world.command(&node, campaign, CampaignCommand::Pause).await.unwrap();
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(figures(&node).await.live_calls, 5);
    assert!(world.carrier.hang_ups().is_empty());
}

#[tokio::test(start_paused = true)]
async fn each_call_names_the_version_of_the_agent_with_which_it_began() {
    let world = World::new().await;
    world.carrier.callees(Callees::Busy(Duration::from_secs(10)));
    let node = world.node(1).await;
    let campaign = world.campaign(2).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("a call", async || world.carrier.dials().len() == 1).await;
    world.platform_settings(json!({})).await;
    completed(&world, campaign).await;
    let mut calls = world.conversations(campaign).await;
    calls.sort_by_key(|call| call.started_at);
    let versions: Vec<_> = calls.iter().map(|call| call.agent_version).collect();
    assert_eq!(versions, [Some(1), Some(2)]);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_cannot_be_read_fails_the_campaign_and_costs_no_contact() {
    let world = World::new().await;
    let node = world.node(5).await;
    let campaign = world.campaign(20).await;
    let broken = json!({ "name": 5 }).as_object().cloned().unwrap();
    world
        .store
        .update_agent(world.account, world.agent, 1, broken)
        .await
        .unwrap();
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("failure", async || {
        world.status(campaign).await == CampaignStatus::Failed
    })
    .await;
    let row = world.row(campaign).await;
    assert!(row.reason.unwrap().contains("cannot be read"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(world.carrier.dials().is_empty());
    assert!(world.conversations(campaign).await.is_empty());
    assert_eq!(world.row(campaign).await.start_index, 0);
}

#[tokio::test(start_paused = true)]
async fn an_account_the_carrier_refuses_delays_the_campaign_and_costs_no_contact() {
    let world = World::new().await;
    let refused = DialError::AccountRefused("+15550123456 is not yours".into());
    world.carrier.callees(Callees::Refused(refused));
    let node = world.node(4).await;
    let campaign = world.campaign(50).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("delay", async || {
        world.status(campaign).await == CampaignStatus::Delayed
    })
    .await;
    let reason = world.row(campaign).await.reason.unwrap();
    assert!(
        reason.starts_with("the carrier refuses the account: +*********56 is not yours"),
        "{reason}"
    );
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(world.store.progress(campaign).await.unwrap().pending, 50);
    world.carrier.callees(BUSY);
    completed(&world, campaign).await;
    let calls = world.conversations(campaign).await;
    assert_eq!(calls.len(), 50);
    assert!(calls.iter().all(|c| c.error.as_deref() == Some("busy")));
}

/// Refuses with an error that the service does not know.
fn unknown(kind: &str) -> Callees {
    Callees::Refused(DialError::Unclassified {
        kind: kind.to_owned(),
        words: "+15550123456 displeases us".to_owned(),
    })
}

async fn until_delayed(world: &World, campaign: CampaignId) -> String {
    until("delay", async || {
        world.status(campaign).await == CampaignStatus::Delayed
    })
    .await;
    world.row(campaign).await.reason.unwrap()
}

#[tokio::test(start_paused = true)]
async fn unknown_refusals_cost_three_contacts_and_then_one_every_ten_minutes_until_a_call_gets_through() {
    let world = World::new().await;
    world.carrier.callees(unknown("403 10010"));
    let node = world.node(20).await;
    let campaign = world.campaign(50).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    let reason = until_delayed(&world, campaign).await;
    assert!(
        reason.contains("+*********56 displeases us") && reason.contains("3 times"),
        "{reason}"
    );
    let lost = async || world.store.progress(campaign).await.unwrap().failed;
    tokio::time::sleep(Duration::from_secs(500)).await;
    // Calls that were under way with the third cost no contact.
    let dialed = world.carrier.dials().len();
    assert_eq!(
        (lost().await, world.status(campaign).await),
        (3, CampaignStatus::Delayed)
    );
    for tried in 1..=3 {
        // The kind does not matter any more.
        world
            .carrier
            .callees(unknown(if tried == 2 { "500" } else { "403 10010" }));
        tokio::time::sleep(Duration::from_secs(605)).await;
        assert_eq!(
            (lost().await, world.carrier.dials().len()),
            (3 + tried, dialed + tried as usize)
        );
        assert_eq!(world.status(campaign).await, CampaignStatus::Delayed);
    }
    world.carrier.callees(BUSY);
    completed(&world, campaign).await;
    let calls = world.conversations(campaign).await;
    let busy = calls
        .iter()
        .filter(|call| call.error.as_deref() == Some("busy"))
        .count();
    assert_eq!((calls.len(), busy), (50, 44));
}

#[tokio::test(start_paused = true)]
async fn a_paused_campaign_that_is_launched_again_after_unknown_refusals_tries_one_contact_at_once() {
    let world = World::new().await;
    world.carrier.callees(unknown("a"));
    let node = world.node(10).await;
    let campaign = world.campaign(30).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until_delayed(&world, campaign).await;
    world.command(&node, campaign, CampaignCommand::Pause).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1_300)).await;
    assert_eq!(world.store.progress(campaign).await.unwrap().failed, 3);
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until_delayed(&world, campaign).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(world.store.progress(campaign).await.unwrap().failed, 4);
    let stop = CampaignCommand::Stop { hang_up: false };
    world.command(&node, campaign, stop).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1_300)).await;
    let progress = world.store.progress(campaign).await.unwrap();
    assert_eq!(
        (world.status(campaign).await, progress.failed),
        (CampaignStatus::Stopped, 4)
    );
}

#[tokio::test(start_paused = true)]
async fn a_campaign_is_delayed_and_says_why_for_as_long_as_its_carrier_is_unavailable() {
    let world = World::slow().await;
    let unavailable = DialError::Unreachable("connection refused".into());
    world.carrier.callees(Callees::Refused(unavailable));
    let node = world.node(4).await;
    let campaign = world.campaign(3).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("delay", async || {
        world.status(campaign).await == CampaignStatus::Delayed
    })
    .await;
    let told = world.row(campaign).await.reason.unwrap();
    let (mut delayed, mut running) = (0, 0);
    for _ in 0..1_200 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let row = world.row(campaign).await;
        match row.status {
            CampaignStatus::Delayed => {
                delayed += 1;
                assert_eq!(row.reason.as_deref(), Some(&*told), "since when does not change");
            }
            // It is being tried.
            CampaignStatus::Running => running += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(running * 20 < delayed, "{running} of {}", running + delayed);
    world.carrier.callees(BUSY);
    completed(&world, campaign).await;
    assert_eq!(world.row(campaign).await.reason, None);
}

#[tokio::test(start_paused = true)]
async fn a_carrier_that_is_unavailable_or_throttles_delays_the_campaign_until_it_is_back() {
    let unavailable = DialError::Unreachable("connection refused".into());
    let throttling = DialError::Busy {
        retry_after: Some(Duration::from_secs(45)),
    };
    for (error, reason) in [
        (unavailable, "carrier unreachable: connection refused"),
        (throttling, "the carrier takes no more calls for the moment"),
    ] {
        let world = World::slow().await;
        world.carrier.callees(Callees::Refused(error));
        let node = world.node(4).await;
        let campaign = world.campaign(50).await;
        world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
        until("delay", async || {
            world.status(campaign).await == CampaignStatus::Delayed
        })
        .await;
        let row = world.row(campaign).await;
        let told = row.reason.unwrap();
        assert!(row.active && told.starts_with(&format!("{reason}, since 20")), "{told}");
        assert!(row.next_run_at.unwrap() > world.ports.clock.now());
        tokio::time::sleep(Duration::from_secs(600)).await;
        let tries = world.carrier.dials().len();
        assert!((8..=120).contains(&tries), "{tries} dials in ten minutes");
        world.carrier.callees(BUSY);
        completed(&world, campaign).await;
        assert_eq!(world.row(campaign).await.reason, None);
        let calls = world.conversations(campaign).await;
        assert_eq!(calls.len(), 50);
        assert!(calls.iter().all(|c| c.error.as_deref() == Some("busy")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_number_that_another_campaign_calls_is_waited_for() {
    let world = World::new().await;
    world.carrier.callees(Callees::Ring);
    let node = world.node(5).await;
    let (first, second) = (world.campaign(1).await, world.campaign(1).await);
    world.command(&node, first, CampaignCommand::Launch).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.command(&node, second, CampaignCommand::Launch).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let row = world.row(second).await;
    assert_eq!((row.status, row.active), (CampaignStatus::Waiting, true));
    assert!(row.next_run_at.unwrap() > world.ports.clock.now());
    completed(&world, first).await;
    completed(&world, second).await;
    assert_eq!(world.carrier.dials().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_unavailable_stops_dialing_and_drops_no_call() {
    let world = World::new().await;
    let node = world.node(5).await;
    let campaign = world.campaign(8).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    until("calls", async || world.carrier.sockets() == 5).await;
    let unavailable = domain::ports::store::StoreError::Unavailable("away".into());
    world.store.fail_with(Some(unavailable));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(figures(&node).await.live_calls, 5);
    assert_eq!(world.carrier.dials().len(), 5);
    world.store.fail_with(None);
    completed(&world, campaign).await;
    numbers_are_dialed_once(&world, 8);
}

#[tokio::test(start_paused = true)]
async fn the_next_start_takes_up_a_running_campaign_and_dials_nobody_twice() {
    let world = World::slow().await;
    world.carrier.callees(BUSY);
    let campaign = world.campaign(200).await;
    let node = world.node(10).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    node.stop().await;
    let _node = world
        .node_with(NodeSettings {
            lines: 10,
            ..NodeSettings::default()
        })
        .await;
    completed(&world, campaign).await;
    let calls = world.conversations(campaign).await;
    assert_eq!(calls.len(), 200);
    // A call cut off between its permit and its request was not sent, and never will be.
    let dialed = world.carrier.dialed_attempts();
    let unsent = calls.iter().filter(|call| !dialed.contains(&call.id));
    let unsent = unsent.inspect(|call| assert_eq!(call.error.as_deref(), Some(UNKNOWN_OUTCOME)));
    numbers_are_dialed_once(&world, 200 - unsent.count());
    let lost = calls.iter().filter(|c| c.error.as_deref() != Some("busy")).count();
    assert!(lost <= 10, "{lost} calls were cut off");
}

#[tokio::test(start_paused = true)]
async fn contacts_outside_their_calling_hours_keep_nobody_else_waiting() {
    let world = World::new().await;
    // The clock starts on a Monday.
    let closed = Safeguards {
        calling_hours: CallingHours {
            mode: Mode::Enforce,
            days: vec![Weekday::Friday],
            from: TimeOfDay::of_minutes(0).unwrap(),
            to: TimeOfDay::of_minutes(24 * 60).unwrap(),
        },
        ..Safeguards::default()
    };
    world.store.set_safeguards(world.account, 0, closed).await.unwrap();
    let node = world.node(5).await;
    let campaign = world.campaign(300).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    let begun = Instant::now();
    until("everybody is put off", async || {
        let remaining = world.store.remaining(campaign).await.unwrap();
        (remaining.due, remaining.later) == (0, 300)
    })
    .await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(world.carrier.dials().is_empty());
}
