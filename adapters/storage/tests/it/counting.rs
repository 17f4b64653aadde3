//! Counting of calls that ended before calls were counted, and of calls whose counting fails.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{sync::Arc, time::Duration};

use domain::{
    analytics,
    ports::store::{ConversationStatus, CountedBy, CountsFilter, StoreError},
};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};
use storage::SqlStore;
use testkit::store_conformance::{Fixture, ManualClock, Scene, count_calls, counted, outcome};

/// Leaves the calls as an update from an older version finds them.
const FORGET: [&str; 3] = [
    "DELETE FROM calls_to_count",
    "DELETE FROM call_counts",
    "UPDATE cluster SET value = 'ffffffff-ffff-ffff-ffff-ffffffffffff' WHERE name = 'calls_counted_from'",
];

/// Returns the number of counted calls, and whether they are all.
async fn total(scene: &Scene) -> (u64, bool) {
    let filter = CountsFilter {
        by: CountedBy::Campaign,
        span: None,
        campaign: None,
        agent: None,
    };
    let counted = counted(scene, filter).await;
    (
        counted.groups.values().map(|counts| counts.calls).sum(),
        counted.complete,
    )
}

/// Checks calls of the past in a database on which `run` runs a statement.
pub async fn calls_of_the_past_are_counted_once_and_resumably(fixture: Fixture, run: impl AsyncFn(&'static str)) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..8).await;
    for _ in 0..5 {
        scene.completed(campaign, 10).await;
    }
    let going_on = scene.dialing(campaign).await;
    count_calls(&scene).await;
    for statement in FORGET {
        run(statement).await;
    }
    assert_eq!(total(&scene).await, (0, false));
    let failed = outcome(ConversationStatus::Failed);
    store.finish(going_on, failed, None).await.unwrap();
    scene.clock.advance(Duration::from_secs(60));
    // The newest one ended after the update and is left to the queue.
    let first = store.calls_to_count(2).await.unwrap();
    assert_eq!((first.calls.len(), first.rows.len()), (1, 1));
    assert!(!first.calls.contains(&going_on.attempt));
    assert!(analytics::count(&**store, None, 2).await.unwrap());
    assert_eq!(total(&scene).await, (1, false));
    // Another node read the same calls before.
    assert_eq!(store.count_calls(&first, Vec::new()).await, Err(StoreError::Stale));
    while analytics::count(&**store, None, 2).await.unwrap() {}
    assert_eq!(total(&scene).await, (6, true));
    count_calls(&scene).await;
    assert_eq!(total(&scene).await, (6, true));
}

#[tokio::test]
async fn what_ended_before_the_update_is_counted_once_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("ringback.db").display());
    let clock = Arc::new(ManualClock::new());
    let store = Arc::new(SqlStore::open(&url, clock.clone()).await.unwrap());
    let run = async |statement: &'static str| run(&url, statement).await;
    calls_of_the_past_are_counted_once_and_resumably(Fixture { store, clock }, run).await;
}

async fn run(url: &str, statement: &'static str) {
    let mut file = SqliteConnection::connect(url).await.unwrap();
    sqlx::query(AssertSqlSafe(statement)).execute(&mut file).await.unwrap();
    file.close().await.unwrap();
}

#[tokio::test]
async fn a_call_whose_counting_failed_is_counted_once_later() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("ringback.db").display());
    let clock = Arc::new(ManualClock::new());
    let store = Arc::new(SqlStore::open(&url, clock.clone()).await.unwrap());
    let scene = Fixture { store, clock }.scene().await;
    count_calls(&scene).await;
    let campaign = scene.running(0..2).await;
    scene.completed(campaign, 10).await;
    scene.clock.advance(Duration::from_secs(7_200));
    // The hours are written and the days are not.
    let sabotage = "CREATE TRIGGER sabotage BEFORE INSERT ON call_counts WHEN NEW.level = 'hour' \
                    BEGIN SELECT RAISE(ABORT, 'sabotaged'); END";
    run(&url, sabotage).await;
    let failed = analytics::count(&*scene.store, None, 9).await;
    assert!(
        matches!(&failed, Err(error) if error.to_string().contains("sabotaged")),
        "{failed:?}"
    );
    assert_eq!(total(&scene).await, (0, true));
    run(&url, "DROP TRIGGER sabotage").await;
    count_calls(&scene).await;
    assert_eq!(total(&scene).await, (1, true));
}
