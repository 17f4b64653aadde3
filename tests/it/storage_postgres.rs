//! The store on PostgreSQL: the suite every store must pass, and what only several writers at once can get wrong.

use std::sync::Arc;

use actors::testkit::store_conformance::{Fixture, ManualClock};
use ringback::storage::SqlStore;

use crate::support::postgres::{Database, database};

/// A store on an empty database; there is a server.
async fn on_postgres() -> (Fixture, Database) {
    let database = database().await.unwrap();
    let clock = Arc::new(ManualClock::new());
    let store = Arc::new(SqlStore::open(&database.url, clock.clone()).await.unwrap());
    (Fixture { store, clock }, database)
}

mod conformance {
    actors::store_conformance!(super::on_postgres, in_turn);
}

// One test for the whole suite: a test runner may give each test a process, and each process would make a server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_passes_every_check_of_the_suite() {
    if database().await.is_some() {
        conformance::every_check().await;
    }
}
