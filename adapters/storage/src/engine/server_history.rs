//! The commit history of the database's server. It changes with a failover or a restore. Then anything the
//! server may have lost is compared with the dial journal before anything is dialed.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use domain::ports::store::{StoreError, StoreResult};
use sqlx::AnyConnection;
use tokio::sync::watch;

use super::rows::composed;

/// SQL for the identity of PostgreSQL's commit history. The timeline changes when a standby is promoted and
/// with a restore to a point in time; the system identifier differs in another cluster.
pub(crate) const PRESENT: &str = "CAST((SELECT system_identifier FROM pg_control_system()) AS TEXT) || '/' || \
     substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)";

/// Returns the history of the server at the other end of a connection.
pub(crate) async fn present_of(conn: &mut AnyConnection) -> Result<String, sqlx::Error> {
    let row = composed(format!("SELECT {PRESENT} AS history")).fetch_one(conn).await?;
    sqlx::Row::try_get(&row, "history")
}

/// The server's commit history, and whether it has changed.
#[derive(Debug, Default)]
pub(crate) struct ServerHistory {
    known: Mutex<Option<String>>,
    /// Number of changes.
    changes: watch::Sender<u64>,
    /// Number of the last change after which the journal was compared.
    compared: AtomicU64,
}

impl ServerHistory {
    /// Checks the history on each new connection, because a server that takes over breaks the old ones.
    pub(crate) async fn look(&self, conn: &mut AnyConnection) -> Result<(), sqlx::Error> {
        let history = present_of(conn).await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(before) if *before != history => {
                tracing::error!(
                    before,
                    now = history,
                    "database history changed; dialing stopped until it is compared with the dial journal"
                );
                self.change();
            }
            _ => {}
        }
        *known = Some(history);
        Ok(())
    }

    pub(crate) fn present(&self) -> Option<String> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Compares the history with the one of the process before this one. If it differs, the other nodes'
    /// dials must be written here first, too.
    pub(crate) fn compare(&self, before: Option<&str>) {
        if before.is_some() && before != self.present().as_deref() {
            tracing::error!("database history changed since the last start; dialing stopped");
            self.change();
        }
    }

    pub(crate) fn change(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Waits for a change after which the journal was not compared, and returns its number.
    pub(crate) async fn next_change(&self) -> u64 {
        let mut changes = self.changes.subscribe();
        let is_new = |change: &u64| *change != self.compared.load(Ordering::Acquire);
        let change = changes.wait_for(is_new).await.map(|change| *change);
        match change {
            Ok(change) => change,
            // The sender belongs to `self`, so it lives as long as this waits.
            Err(_) => std::future::pending().await,
        }
    }

    /// Records that the journal was compared after this change; a later change needs another comparison.
    pub(crate) fn set_compared(&self, change: u64) {
        self.compared.store(change, Ordering::Release);
    }

    /// Returns an error unless permits may be given and trusted.
    pub(crate) fn check(&self) -> StoreResult<()> {
        if *self.changes.borrow() != self.compared.load(Ordering::Acquire) {
            let why =
                "the database server changed and may have lost commits; comparing it with the dial journal".to_owned();
            return Err(StoreError::Unavailable(why));
        }
        Ok(())
    }
}
