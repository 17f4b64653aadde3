//! Binds the address and opens the database. While its server is unreachable the service waits for it, and
//! `GET /ready` tells why.

use std::{fmt::Display, io, net::SocketAddr, sync::Arc, time::Duration};

use domain::{
    node_times::Times,
    time::{Clock, SystemClock},
};
use net::bind::{bind, way_out};
use storage::{OpenError, SqlStore, dial_journal::DialJournal};
use tokio::{
    net::TcpListener,
    sync::oneshot,
    time::{Instant, sleep},
};

use crate::{config::ServeConfig, load};
use rest::server::{self, Endpoint, ServerLimits, Tls};

/// Pause between two tries to reach the database.
const TRY_EVERY: Duration = Duration::from_secs(1);

/// How long requests in progress may take after the last call of a drain.
const LAST_ANSWERS: Duration = Duration::from_secs(30);

/// Reason why the service does not start.
pub(super) type StartError = Box<dyn std::error::Error + Send + Sync>;

/// A service with its address and its database that does not serve yet.
pub struct Opened {
    pub(super) config: ServeConfig,
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
    pub(super) tls: Option<Tls>,
    pub(super) times: Times,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) store: Arc<SqlStore>,
}

impl Opened {
    pub(super) async fn new(config: ServeConfig) -> Result<Self, StartError> {
        let (tls, times) = (config.tls.load()?, config.times.times()?);
        let listener = bind(config.listen).map_err(|error| cannot_listen(config.listen, &error))?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let open = async || SqlStore::open(config.storage.database_url.secret(), clock.clone()).await;
        let opened = match open().await {
            Err(OpenError::Unreachable(why)) => {
                // Both listeners share one queue of connections.
                let endpoint = Endpoint::new(TcpListener::from_std(listener.try_clone()?)?, config.tls.load()?);
                wait(&config, endpoint, why, open).await
            }
            opened => opened,
        };
        let store = opened.map_err(|error| format!("DATABASE_URL {}: {error}", config.storage.database_url))?;
        let store = prepared(&config, store.of_nodes(times)).await?;
        let listener = TcpListener::from_std(listener)?;
        Ok(Self {
            address: listener.local_addr()?,
            config,
            listener,
            tls,
            times,
            clock,
            store,
        })
    }
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> String {
    let way_out = way_out(error, "RINGBACK_LISTEN");
    format!("RINGBACK_LISTEN {address}: cannot listen on this address: {error}{way_out}")
}

pub(super) fn server_limits(config: &ServeConfig) -> ServerLimits {
    ServerLimits {
        shutdown_grace: LAST_ANSWERS,
        header_timeout: Duration::from_secs(config.idle_seconds),
        connections: connections(config),
        ..ServerLimits::default()
    }
}

pub(super) fn connections(config: &ServeConfig) -> usize {
    usize::try_from(config.max_connections).unwrap_or(usize::MAX)
}

/// Tries to reach the database until it is there, refuses, or `RINGBACK_START_WAIT_SECONDS` are over.
async fn wait<T>(
    config: &ServeConfig,
    endpoint: Endpoint,
    why: impl Display,
    open: impl AsyncFnMut() -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    let (database, wait_s, began) = (&config.storage.database_url, config.start_wait_seconds, Instant::now());
    tracing::warn!(%database, wait_s, error = %why, "database unreachable, waiting for it");
    let (over, waited) = oneshot::channel::<()>();
    let trying = async {
        let opened = until_reached(open, config.start_wait()).await;
        let waited_s = began.elapsed().as_secs();
        match &opened {
            Ok(_) => tracing::info!(waited_s, "database reached"),
            Err(error) => tracing::error!(waited_s, %error, "database not reached"),
        }
        drop(over);
        opened
    };
    let limits = ServerLimits {
        shutdown_grace: TRY_EVERY,
        ..server_limits(config)
    };
    let answering = server::serve(endpoint, load::database_awaited(), limits, async {
        let _ = waited.await;
    });
    tokio::join!(trying, answering).0
}

/// Calls `open` every second until the database is reached or refuses, or was unreachable for `patience`;
/// without it for ever. A try in progress is never cut off, as it may be changing tables.
async fn until_reached<T>(
    mut open: impl AsyncFnMut() -> Result<T, OpenError>,
    patience: Option<Duration>,
) -> Result<T, OpenError> {
    let began = Instant::now();
    loop {
        let left = patience.map(|patience| patience.saturating_sub(began.elapsed()));
        sleep(left.unwrap_or(TRY_EVERY).min(TRY_EVERY)).await;
        match open().await {
            Err(OpenError::Unreachable(_)) if patience.is_none_or(|patience| began.elapsed() < patience) => {}
            opened => return opened,
        }
    }
}

/// Adds the dial journal. Dials of this node that the database lost are restored from it before anything is
/// claimed.
async fn prepared(config: &ServeConfig, store: SqlStore) -> Result<Arc<SqlStore>, StartError> {
    let folder = config.storage.data_dir.join("dials");
    let unusable = |e: &dyn Display| format!("cannot use {} for the dial journal: {e}", folder.display());
    let journal = DialJournal::open(folder.clone()).map_err(|e| unusable(&e))?;
    store.keep_dial_journal(journal).map_err(|e| unusable(&e))?;
    store.reconcile_dials().await?;
    Ok(Arc::new(store))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ports::store::StoreError;

    async fn seconds(patience: Option<u64>, mut answers: impl FnMut(u64) -> Result<(), OpenError>) -> (u64, bool) {
        let began = Instant::now();
        let open = async || answers(began.elapsed().as_secs());
        let opened = until_reached(open, patience.map(Duration::from_secs)).await;
        (began.elapsed().as_secs(), opened.is_ok())
    }

    #[tokio::test(start_paused = true)]
    async fn an_unreachable_server_is_awaited_and_one_that_refuses_is_not() {
        let why = || StoreError::Unavailable("the server cannot be reached".into());
        let unreachable = |_| Err(OpenError::Unreachable(why()));
        let back_at = |back: u64| move |now| if now < back { unreachable(now) } else { Ok(()) };
        assert_eq!(seconds(Some(60), unreachable).await, (60, false));
        assert_eq!(seconds(Some(60), back_at(7)).await, (7, true));
        assert_eq!(seconds(None, back_at(3_600)).await, (3_600, true));
        let refuses_at_2 = |now| {
            if now < 2 {
                unreachable(now)
            } else {
                Err(OpenError::Refused(why()))
            }
        };
        assert_eq!(seconds(None, refuses_at_2).await, (2, false));
    }
}
