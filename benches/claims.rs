//! Cost of a dial in the database: permits for one and for many callers, and claims, on a SQLite file with every
//! commit synced. Needs a real disk under `TMPDIR`. `BENCH_DATABASE_URL` names another database, which must be empty.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use domain::ports::store::{Claim, Permit};
use futures_util::future::join_all;
use storage::SqlStore;
use tempfile::TempDir;
use testkit::store_conformance::{Fixture, ManualClock, Scene};
use tokio::runtime::Runtime;

async fn scene() -> (Scene, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite://{}", folder.path().join("ringback.db").display());
    let url = std::env::var("BENCH_DATABASE_URL").unwrap_or(file);
    let clock = Arc::new(ManualClock::new());
    let store = Arc::new(SqlStore::open(&url, clock.clone()).await.unwrap());
    (Fixture { store, clock }.scene().await, folder)
}

/// Returns `count` claims of numbers that no other attempt calls.
async fn claims(scene: &Scene, next: &mut usize, count: usize) -> Vec<Claim> {
    let campaign = scene.running(*next..*next + count).await;
    *next += count;
    let claimed = scene.claim(campaign, count as i64).await;
    claimed.into_iter().map(|attempt| attempt.claim).collect()
}

/// Returns the time in which `callers` concurrent tasks get a permit for every claim, each task one after the other.
async fn permits(scene: &Scene, claims: &[Claim], callers: usize) -> Duration {
    let began = Instant::now();
    let callers = (0..callers).map(|caller| {
        let scene = scene.clone();
        let mine: Vec<Claim> = claims.iter().skip(caller).step_by(callers).copied().collect();
        tokio::spawn(async move {
            for claim in mine {
                let permit = scene.permit(claim).await.unwrap();
                assert!(matches!(permit, Permit::Granted { .. }));
            }
        })
    });
    for caller in join_all(callers).await {
        caller.unwrap();
    }
    began.elapsed()
}

fn permit(c: &mut Criterion, runtime: &Runtime, scene: &Scene, next: &mut usize) {
    let mut group = c.benchmark_group("permit");
    group.sample_size(10).throughput(Throughput::Elements(1));
    for callers in [1, 64] {
        group.bench_function(format!("{callers} callers"), |bencher| {
            bencher.iter_custom(|count| {
                let claims = runtime.block_on(claims(scene, next, count as usize));
                runtime.block_on(permits(scene, &claims, callers))
            });
        });
    }
    group.finish();
}

fn claim(c: &mut Criterion, runtime: &Runtime, scene: &Scene, next: &mut usize) {
    let mut group = c.benchmark_group("claim");
    group.sample_size(10);
    for batch in [1_usize, 100] {
        group.throughput(Throughput::Elements(batch as u64));
        group.bench_function(format!("batches of {batch}"), |bencher| {
            bencher.iter_custom(|count| {
                runtime.block_on(async {
                    let contacts = *next..*next + count as usize * batch;
                    *next = contacts.end;
                    let campaign = scene.running(contacts).await;
                    let began = Instant::now();
                    for _ in 0..count {
                        assert_eq!(scene.claim(campaign, batch as i64).await.len(), batch);
                    }
                    began.elapsed()
                })
            });
        });
    }
    group.finish();
}

fn dials(c: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let (scene, _folder) = runtime.block_on(scene());
    // Numbers that no attempt has called yet.
    let mut next = 0;
    permit(c, &runtime, &scene, &mut next);
    claim(c, &runtime, &scene, &mut next);
}

criterion_group!(benches, dials);
criterion_main!(benches);
