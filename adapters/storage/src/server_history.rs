//! Which history of commits the database's server has. After a failover or a restore it is another one, and what the
//! server may have forgotten is compared with the dial journal before anything is dialed.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use domain::ports::store::{StoreError, StoreResult};
use sqlx::AnyConnection;
use tokio::sync::watch;

use super::rows::composed;

/// Which history of commits PostgreSQL has: the timeline is another one after a standby was promoted and after a restore to a
/// point in time, the identifier in another cluster.
pub(super) const PRESENT: &str = "CAST((SELECT system_identifier FROM pg_control_system()) AS TEXT) || '/' || \
     substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)";

/// The history of the server at the other end of a connection.
pub(super) async fn present_of(conn: &mut AnyConnection) -> Result<String, sqlx::Error> {
    let row = composed(format!("SELECT {PRESENT} AS history")).fetch_one(conn).await?;
    sqlx::Row::try_get(&row, "history")
}

/// Which history of commits the server has, and whether that is another one than before.
#[derive(Debug, Default)]
pub(super) struct ServerHistory {
    known: Mutex<Option<String>>,
    /// How often it changed.
    changes: watch::Sender<u64>,
    /// Which of the changes the journal was compared after.
    compared: AtomicU64,
}

impl ServerHistory {
    /// Asked on each new connection, as a server that takes over breaks the old ones.
    pub(super) async fn look(&self, conn: &mut AnyConnection) -> Result<(), sqlx::Error> {
        let history = present_of(conn).await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(before) if *before != history => {
                tracing::error!(
                    before,
                    now = history,
                    "the database has another history: nothing is dialed before it was compared with the dial journal"
                );
                self.change();
            }
            _ => {}
        }
        *known = Some(history);
        Ok(())
    }

    pub(super) fn present(&self) -> Option<String> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The process before this one wrote to another history: what others know has to be written down first here, too.
    pub(super) fn compare(&self, before: Option<&str>) {
        if before.is_some() && before != self.present().as_deref() {
            tracing::error!("the database has another history than at the last start: nothing is dialed for a while");
            self.change();
        }
    }

    pub(super) fn change(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Waits for a change that the journal was not compared after, and returns its number.
    pub(super) async fn next_change(&self) -> u64 {
        let mut changes = self.changes.subscribe();
        let is_new = |change: &u64| *change != self.compared.load(Ordering::Acquire);
        let change = changes.wait_for(is_new).await.map(|change| *change);
        match change {
            Ok(change) => change,
            // The sender is ours, so it lives as long as this waits.
            Err(_) => std::future::pending().await,
        }
    }

    /// The journal was compared after this change; a later one is compared anew.
    pub(super) fn set_compared(&self, change: u64) {
        self.compared.store(change, Ordering::Release);
    }

    /// Whether permits may be given and believed.
    pub(super) fn check(&self) -> StoreResult<()> {
        if *self.changes.borrow() != self.compared.load(Ordering::Acquire) {
            let why = "the database's server changed; what it may have forgotten is being looked for".to_owned();
            return Err(StoreError::Unavailable(why));
        }
        Ok(())
    }
}
