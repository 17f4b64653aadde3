//! However a call ends, its line, its claim and its place in the campaign's count are released.

use std::time::Duration;

use actors::{
    campaign::CampaignCommand,
    lines::{LinesMessage, LinesSnapshot},
    node::NodeHandle,
};
use domain::{
    id::CampaignId,
    ports::{
        carrier::{DialError, EndCause},
        store::{AttemptStore, CampaignStatus, CampaignStore, DirectoryStore, Progress},
    },
};
use serde_json::json;

use crate::support::{Callees, World, contact, until};

const LINES: usize = 3;

/// Outcome that a campaign's calls meet.
#[derive(Debug, Clone)]
enum End {
    Callees(Callees),
    MediaLost,
    CallCrash,
    StreamCrash,
    PoolCrash,
    DoNotCall,
    Restricted,
    PermitRefused,
    StopWithHangUp,
}

async fn lines(node: &NodeHandle) -> LinesSnapshot {
    match node.switchboard.lines.get() {
        Some(lines) => ractor::call!(lines, LinesMessage::Inspect).unwrap_or_default(),
        None => LinesSnapshot::default(),
    }
}

impl End {
    async fn prepare(&self, world: &World) {
        match self {
            Self::Callees(callees) => world.carrier.callees(callees.clone()),
            Self::DoNotCall => {
                for n in 0..LINES {
                    let number = contact(n).phone_number;
                    world.store.add_do_not_call(world.account, &number).await.unwrap();
                }
            }
            Self::Restricted => {
                let telephony = json!({ "stateRestrictionEnabled": true, "stateRestrictedNumbers": ["+1555"] });
                world.platform_settings(json!({ "telephony": telephony })).await;
            }
            _ => {}
        }
    }

    async fn happen(&self, world: &World, node: &NodeHandle, campaign: CampaignId) {
        match self {
            Self::Callees(_) | Self::DoNotCall | Self::Restricted => return,
            Self::PermitRefused => {
                // In the middle of the claims.
                tokio::time::sleep(Duration::from_millis(60)).await;
                world.command(node, campaign, CampaignCommand::Pause).await.unwrap();
                tokio::time::sleep(Duration::from_secs(5)).await;
                world.carrier.callees(Callees::Busy(Duration::from_secs(1)));
                world.command(node, campaign, CampaignCommand::Launch).await.unwrap();
                return;
            }
            _ => {}
        }
        until("calls", async || world.carrier.sockets() == LINES).await;
        let attempts = world.carrier.dialed_attempts();
        let sabotage = |attempt, stream| {
            let message = LinesMessage::Sabotage { attempt, stream };
            assert!(node.switchboard.lines.cast(message).is_ok());
        };
        match self {
            Self::CallCrash => attempts.iter().for_each(|attempt| sabotage(*attempt, false)),
            Self::StreamCrash => attempts.iter().for_each(|attempt| sabotage(*attempt, true)),
            Self::MediaLost => world.carrier.drop_sockets(),
            Self::PoolCrash => node.switchboard.lines.get().unwrap().kill(),
            Self::StopWithHangUp => {
                let stop = CampaignCommand::Stop { hang_up: true };
                world.command(node, campaign, stop).await.unwrap();
            }
            _ => {}
        }
    }
}

/// Runs a campaign to its end, then another one that needs all the same lines at once.
async fn all_is_back(end: End, expected: impl FnOnce(&mut Progress)) {
    let world = World::slow().await;
    end.prepare(&world).await;
    let node = world.node(LINES).await;
    let campaign = world.campaign(LINES).await;
    world.command(&node, campaign, CampaignCommand::Launch).await.unwrap();
    end.happen(&world, &node, campaign).await;
    until("the end", async || {
        let status = world.status(campaign).await;
        [
            CampaignStatus::Completed,
            CampaignStatus::Stopped,
            CampaignStatus::Failed,
            // After refusals.
            CampaignStatus::Delayed,
        ]
        .contains(&status)
            && world.store.progress(campaign).await.unwrap().in_progress == 0
            && lines(&node).await.calls.is_empty()
    })
    .await;
    let mut counted = Progress::default();
    expected(&mut counted);
    assert_eq!(world.store.progress(campaign).await, Ok(counted), "{end:?}");
    let left = world.store.remaining(campaign).await.unwrap();
    assert_eq!((left.due + left.later, left.open), (counted.pending, 0), "{end:?}");
    let snapshot = lines(&node).await;
    assert_eq!(
        (snapshot.lines, snapshot.granted, snapshot.calls.len()),
        (LINES, 0, 0),
        "{end:?}"
    );

    if world.status(campaign).await == CampaignStatus::Delayed {
        let stop = CampaignCommand::Stop { hang_up: false };
        world.command(&node, campaign, stop).await.unwrap();
    }
    world.platform_settings(json!({})).await;
    world.carrier.callees(Callees::Answer);
    let sockets = world.carrier.sockets();
    let next = world.campaign_of(100..100 + LINES, None).await;
    world.command(&node, next, CampaignCommand::Launch).await.unwrap();
    until("all lines at once", async || world.carrier.sockets() == sockets + LINES).await;
    assert_eq!(lines(&node).await.calls.len(), LINES, "{end:?}");
}

fn refused(error: DialError) -> End {
    End::Callees(Callees::Refused(error))
}

#[tokio::test(start_paused = true)]
async fn after_a_call_that_was_not_answered() {
    for cause in [
        EndCause::Busy,
        EndCause::NoAnswer,
        EndCause::Rejected,
        EndCause::InvalidNumber,
        EndCause::Failed("503".into()),
    ] {
        all_is_back(End::Callees(Callees::End(cause)), |p| p.failed = 3).await;
    }
    all_is_back(End::Callees(Callees::Ring), |p| p.failed = 3).await;
    all_is_back(End::Callees(Callees::Silence), |p| p.failed = 3).await;
}

#[tokio::test(start_paused = true)]
async fn after_a_dial_that_the_carrier_did_not_take() {
    all_is_back(refused(DialError::InvalidNumber("x".into())), |p| p.failed = 3).await;
    all_is_back(refused(DialError::Rejected("x".into())), |p| p.failed = 3).await;
    all_is_back(refused(DialError::Unknown("reset".into())), |p| p.failed = 3).await;
    all_is_back(refused(DialError::AccountRefused("no credit".into())), |p| {
        p.pending = 3;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn after_a_permit_that_was_refused() {
    all_is_back(End::DoNotCall, |p| p.cancelled = 3).await;
    all_is_back(End::Restricted, |p| p.cancelled = 3).await;
    all_is_back(End::PermitRefused, |p| p.failed = 3).await;
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_and_after_a_lost_socket() {
    for end in [End::MediaLost, End::CallCrash, End::StreamCrash, End::PoolCrash] {
        all_is_back(end, |p| p.failed = 3).await;
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_stop_that_hangs_up() {
    all_is_back(End::StopWithHangUp, |p| p.completed = 3).await;
}
