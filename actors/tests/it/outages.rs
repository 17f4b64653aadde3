//! The store goes away for a while: nothing is dialed, no call is dropped, and dialing goes on soon after.

use std::{collections::HashSet, time::Duration};

use actors::{
    admission::Level,
    campaigns::CampaignCommand,
    lines::LinesMessage,
    ports::store::{CampaignStatus, StoreError},
};
use tokio::time::Instant;

use crate::support::{Callees, World, figures, until};

/// How soon after the store's return somebody is dialed.
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
    node.siblings()
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
    node.siblings()
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
