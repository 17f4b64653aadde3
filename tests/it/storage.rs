//! The store on SQLite: the suite every store must pass, and what only a database on disk can do.

use std::sync::Arc;

use actors::testkit::store_conformance::{Fixture, ManualClock};
use ringback::storage::SqlStore;
use tempfile::TempDir;

fn url(folder: &TempDir) -> String {
    format!("sqlite://{}", folder.path().join("ringback.db").display())
}

async fn on_disk() -> (Fixture, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new());
    let store = Arc::new(SqlStore::open(&url(&folder), clock.clone()).await.unwrap());
    (Fixture { store, clock }, folder)
}

mod conformance_on_disk {
    actors::store_conformance!(super::on_disk, flavor = "multi_thread", worker_threads = 2);
}
