//! Test of a receiver that is unavailable for a day while the service is killed repeatedly: everything arrives.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    id::AttemptId,
    ports::store::{DeliveryState, Sought},
};
use tokio::sync::mpsc;

use super::{
    receiver::{Cut, Receiver, Reply},
    world::World,
};

/// Number of kills while the receiver is unavailable, and again while it accepts everything.
const KILLS: usize = 10;

/// Number of tries within a day: at once and after 5 s, 5 min, 30 min, 2 h, 5 h and 10 h.
const FAILING_TRIES: usize = 7;

/// Returns `DELIVERY_EVENTS`; 5,000 in the long form.
fn events() -> usize {
    std::env::var("DELIVERY_EVENTS").map_or(60, |text| text.parse().unwrap())
}

/// Returns the hits at which to kill, spread over the expected tries, alternately before and after the answer.
fn cuts(first: usize, tries: usize) -> impl Iterator<Item = (usize, Cut)> {
    (0..KILLS).map(move |kill| {
        let cut = if kill % 2 == 0 {
            Cut::AfterAnswer
        } else {
            Cut::BeforeAnswer
        };
        (first + (kill + 1) * tries / (KILLS + 1), cut)
    })
}

/// Lets the worker run until nothing is due, and kills it at each cut. Returns the number of kills.
async fn work(world: &mut World, receiver: &Receiver, cuts: &mut mpsc::UnboundedReceiver<()>) -> usize {
    let mut kills = 0;
    loop {
        tokio::select! {
            biased;
            Some(()) = cuts.recv() => {
                kills += 1;
                world.kill().await;
                // The leases of the killed worker expire.
                world.advance(8);
            }
            () = quiet(world, receiver) => return kills,
        }
    }
}

/// Waits until nothing is due and no webhook has come for a while.
async fn quiet(world: &World, receiver: &Receiver) {
    let (mut still, mut seen) = (0, 0);
    while still < 5 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        let due = world.scene.store.due_lanes(Sought::ALL, 1).await.unwrap();
        let hits = receiver.told().hits.len();
        still = if due.is_empty() && hits == seen { still + 1 } else { 0 };
        seen = hits;
    }
}

async fn all_done(world: &World, attempts: &[AttemptId]) -> bool {
    for attempt in attempts {
        if world.delivery(*attempt).await.state != DeliveryState::Done {
            return false;
        }
    }
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_day_without_a_receiver_and_twenty_kills_everything_arrives_under_one_id() {
    let events = events();
    let mut receiver = Receiver::start().await;
    let mut cut = receiver.cuts();
    receiver.told().reply = Reply::Status(503);
    let mut world = World::new().await;
    world.asks_for_webhook(&receiver.url("/hook")).await;
    let attempts = world.unanswered(events).await;
    receiver.told().cuts.extend(cuts(0, events * FAILING_TRIES));
    world.start();
    let mut kills = 0;
    // One day, in steps that are shorter than any pause of the schedule.
    for _ in 0..24 * 6 {
        kills += work(&mut world, &receiver, &mut cut).await;
        world.advance(600);
    }
    kills += work(&mut world, &receiver, &mut cut).await;
    let failed = receiver.told().hits.len();
    receiver.told().cuts.extend(cuts(failed, events));
    receiver.told().reply = Reply::Status(200);
    while !all_done(&world, &attempts).await {
        world.advance(600);
        kills += work(&mut world, &receiver, &mut cut).await;
    }
    assert_eq!(kills, 2 * KILLS);

    let hits = receiver.hits();
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for hit in &hits {
        ids.entry(hit.conversation()).or_default().insert(hit.id.clone());
    }
    let told: BTreeSet<String> = ids.keys().cloned().collect();
    let ended: BTreeSet<String> = attempts.iter().map(ToString::to_string).collect();
    assert_eq!(told, ended);
    assert!(ids.values().all(|ids| ids.len() == 1), "a conversation with two ids");
    let secret = world.secrets().await.current;
    assert!(hits.iter().all(|hit| hit.is_signed_with(&secret)));
    // A kill uses up no step: all had seven failures, and the last try of the schedule was left.
    for attempt in &attempts {
        assert_eq!(world.delivery(*attempt).await.failed, FAILING_TRIES as i64);
    }
    println!("{events} events, {kills} kills, {} tries", hits.len());
}
