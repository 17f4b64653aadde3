//! Commands to campaigns: their answers come after the commit, and refusals name the present state.

use std::time::Duration;

use actors::{
    campaign::{CampaignCommand, CampaignUpdate, CommandError},
    campaigns::CampaignsMessage,
};
use domain::{
    campaign_options::CampaignOptions,
    id::CampaignId,
    ports::store::{CampaignStatus, CampaignStore, NewCampaign, StateChange, StoreError},
};

use crate::support::{Callees, World, command_as, figures, new_account, until};

const STOP: CampaignCommand = CampaignCommand::Stop { hang_up: false };

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_command_is_the_row_on_disk() {
    let world = World::new().await;
    world.carrier.callees(Callees::Ring);
    let node = world.node(1).await;
    let campaign = world.campaign(5).await;
    for (command, status) in [
        (CampaignCommand::Launch, CampaignStatus::Running),
        (CampaignCommand::Pause, CampaignStatus::Paused),
        (CampaignCommand::Launch, CampaignStatus::Running),
        (STOP, CampaignStatus::Stopped),
    ] {
        let row = world.command(&node, campaign, command).await.unwrap();
        assert_eq!(row.status, status);
        let stored = world.row(campaign).await;
        assert_eq!((row.status, row.version), (stored.status, stored.version));
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_that_does_not_fit_names_the_present_state() {
    let world = World::new().await;
    let node = world.node(1).await;
    let campaign = world.campaign(5).await;
    for command in [CampaignCommand::Pause, STOP] {
        let refused = world.command(&node, campaign, command).await.unwrap_err();
        assert_eq!(refused, CommandError::InvalidTransition(CampaignStatus::Draft));
    }
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    let refused = world.command(&node, campaign, CampaignCommand::Launch).await;
    assert_eq!(refused, Err(CommandError::InvalidTransition(CampaignStatus::Running)));
}

#[tokio::test(start_paused = true)]
async fn an_update_that_expects_a_version_changes_that_version_alone() {
    let world = World::new().await;
    let node = world.node(1).await;
    let campaign = world.campaign(5).await;
    let rename = |name: &str, version| {
        let update = CampaignUpdate {
            version: Some(version),
            name: Some(name.to_owned()),
            ..CampaignUpdate::default()
        };
        world.command(&node, campaign, CampaignCommand::Update(Box::new(update)))
    };
    let first = rename("Summer", world.row(campaign).await.version).await.unwrap();
    let refused = rename("Autumn", first.version - 1).await;
    assert_eq!(refused, Err(CommandError::Stale(first.version)));
    // Another node changes the row, which the campaign's actor has not seen.
    let row = world.row(campaign).await;
    let stopped = StateChange {
        status: CampaignStatus::Stopped,
        active: false,
        scheduled: false,
        next_run_at: None,
        opens_from: None,
        closes_at: None,
        reason: None,
        cancel_waiting: false,
    };
    let stopped = world.store.change_state(campaign, row.version, stopped).await;
    let present = stopped.unwrap().version;
    assert_eq!(rename("Autumn", first.version).await, Err(CommandError::Stale(present)));
    assert_eq!(world.row(campaign).await.name, "Summer");
    assert_eq!(rename("Winter", present).await.unwrap().name, "Winter");
}

#[tokio::test(start_paused = true)]
async fn a_campaign_of_another_account_is_not_found_whether_it_runs_or_not() {
    let world = World::new().await;
    let node = world.node(1).await;
    let stranger = new_account(&world.store, "eve@example.com").await;
    let campaign = world.campaign(5).await;
    let launch = CampaignCommand::Launch;
    assert_eq!(
        command_as(&node, stranger, campaign, launch.clone()).await,
        Err(CommandError::NotFound)
    );
    world.command(&node, campaign, launch.clone()).await.unwrap();
    assert_eq!(
        command_as(&node, stranger, campaign, STOP).await,
        Err(CommandError::NotFound)
    );
    let unknown = CampaignId::new();
    assert_eq!(world.command(&node, unknown, launch).await, Err(CommandError::NotFound));
    assert_eq!(world.status(campaign).await, CampaignStatus::Running);
}

#[tokio::test(start_paused = true)]
async fn launching_without_contacts_is_nothing_to_dial() {
    let world = World::new().await;
    let node = world.node(1).await;
    let campaign = world.campaign(0).await;
    let refused = world.command(&node, campaign, CampaignCommand::Launch).await;
    assert_eq!(refused, Err(CommandError::NothingToDial));
    assert_eq!(world.status(campaign).await, CampaignStatus::Draft);
}

#[tokio::test(start_paused = true)]
async fn a_campaign_at_rest_has_no_actor() {
    let world = World::new().await;
    let node = world.node(0).await;
    let campaign = world.campaign(5).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    assert_eq!(figures(&node).await.campaigns, 1);
    world.command(&node, campaign, CampaignCommand::Pause).await.unwrap();
    until("rest", async || figures(&node).await.campaigns == 0).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    assert_eq!(figures(&node).await.campaigns, 1);
}

#[tokio::test(start_paused = true)]
async fn commands_are_unavailable_while_the_store_is_unavailable_and_change_nothing() {
    let world = World::new().await;
    let node = world.node(0).await;
    let campaign = world.campaign(5).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    world.store.fail_with(Some(StoreError::Unavailable("away".into())));
    let refused = world.command(&node, campaign, CampaignCommand::Pause).await;
    assert!(matches!(refused, Err(CommandError::Unavailable(_))));
    world.store.fail_with(None);
    assert_eq!(world.status(campaign).await, CampaignStatus::Running);
    world.command(&node, campaign, CampaignCommand::Pause).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_draining_node_refuses_commands_and_leaves_campaigns_for_the_next_start() {
    let world = World::new().await;
    let node = world.node(0).await;
    let campaign = world.campaign(5).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    node.drain(Duration::from_secs(1), Duration::ZERO).await;
    let refused = world.command(&node, campaign, STOP).await;
    assert!(matches!(refused, Err(CommandError::Unavailable(_))));
    assert!(figures(&node).await.draining);
    node.stop().await;
    let next = world.node(0).await;
    until("takeover", async || figures(&next).await.campaigns == 1).await;
    assert_eq!(world.status(campaign).await, CampaignStatus::Running);
}

#[tokio::test(start_paused = true)]
async fn a_campaign_that_keeps_crashing_is_left_failed_with_a_reason() {
    let world = World::new().await;
    let node = world.node(0).await;
    let campaign = world.campaign(5).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    let campaigns = node.switchboard.campaigns.clone();
    until("giving up", async || {
        let _ = campaigns.cast(CampaignsMessage::Sabotage(campaign));
        world.status(campaign).await == CampaignStatus::Failed
    })
    .await;
    assert!(world.row(campaign).await.reason.unwrap().contains("crashing"));
}

#[tokio::test(start_paused = true)]
async fn contacts_that_were_replaced_are_removed_within_a_minute() {
    let world = World::new().await;
    let node = world.node(0).await;
    let campaign = world.campaign(5).await;
    let new = NewCampaign {
        name: "Import".into(),
        agent: world.agent,
        schedule: Default::default(),
        follow_up: Default::default(),
        options: CampaignOptions::default(),
    };
    let update = CampaignUpdate {
        contacts: Some(world.import(new, 100..103).await),
        ..CampaignUpdate::default()
    };
    // The contacts must not go with the imports that a start removes.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let update = CampaignCommand::Update(Box::new(update));
    world.command(&node, campaign, update).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.store.sweep_lists().await, Ok(0));
    assert_eq!(world.row(campaign).await.contact_count, 3);
}
