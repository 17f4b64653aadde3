//! Tests of dead endpoints beside a working one.

use std::time::{Duration, Instant};

use domain::ports::store::DeliveryState;

use super::{
    receiver::{Receiver, Reply},
    world::{World, until},
};

fn count(name: &str, short: usize) -> usize {
    std::env::var(name).map_or(short, |text| text.parse().unwrap())
}

/// Creates `endpoints` endpoints, each with its own host, and ended calls for them. A third refuses
/// connections; the rest never answer.
async fn dead(world: &mut World, receiver: &Receiver, endpoints: usize, calls: usize) {
    for n in 0..endpoints {
        let host = format!("127.1.{}.{}", n / 250, n % 250 + 1);
        let port = if n % 3 == 0 { 9 } else { receiver.address.port() };
        world.asks_for_webhook(&format!("http://{host}:{port}/dead")).await;
        world.unanswered(calls).await;
    }
}

async fn world(receiver: &Receiver, answer: Duration) -> World {
    receiver.told().replies.insert("/dead", Reply::Never);
    let mut world = World::new().await;
    world.limits.answer = answer;
    world
}

/// Dead receivers take an hour per answer here. So a healthy one only gets its webhooks if it waits for none of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_healthy_endpoint_waits_for_no_dead_one() {
    let receiver = Receiver::start().await;
    let mut world = world(&receiver, Duration::from_secs(3_600)).await;
    dead(&mut world, &receiver, count("DEAD_ENDPOINTS", 300), 2).await;
    world.start();
    world.asks_for_webhook(&receiver.url("/well")).await;
    for _ in 0..20 {
        let attempt = world.unanswered(1).await.remove(0);
        until("delivered", async || {
            world.delivery(attempt).await.state == DeliveryState::Done
        })
        .await;
    }
    // The same from the outbox that a killed process leaves.
    world.kill().await;
    let attempt = world.unanswered(1).await.remove(0);
    until("delivered", async || {
        world.delivery(attempt).await.state == DeliveryState::Done
    })
    .await;
    let hits = receiver.hits();
    assert_eq!(hits.iter().filter(|hit| hit.path == "/well").count(), 21);
}

/// Measurement: `DEAD_ENDPOINTS=1000 cargo test --release -p integrations --test it p99_beside -- --ignored
/// --nocapture`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures"]
async fn p99_beside_dead_endpoints() {
    let receiver = Receiver::start().await;
    let mut world = world(&receiver, Duration::from_secs(15)).await;
    let endpoints = count("DEAD_ENDPOINTS", 1_000);
    dead(&mut world, &receiver, endpoints, 5).await;
    world.start();
    world.asks_for_webhook(&receiver.url("/well")).await;
    let mut times = Vec::new();
    for n in 0..count("DELIVERY_EVENTS", 400) {
        let attempt = world.unanswered(1).await.remove(0);
        let began = Instant::now();
        let own = format!("\"conversationId\":\"{attempt}\"");
        until("delivered", async || {
            receiver
                .told()
                .hits
                .iter()
                .rev()
                .take(600)
                .any(|hit| hit.body.contains(&own))
        })
        .await;
        times.push(began.elapsed());
        // The retries to the dead endpoints go on.
        world.advance(if n % 10 == 0 { 60 } else { 1 });
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!(
        "{endpoints} dead endpoints: p50 {:?}, p99 {:?}, most {:?}",
        at(50),
        at(99),
        at(100)
    );
}
