//! Opens a PostgreSQL database: connects, migrates, and creates the pools with their connections' settings.

use std::{sync::Arc, time::Duration};

use domain::ports::store::StoreError;
use sqlx::{
    AnyConnection, AnyPool, Connection,
    any::AnyPoolOptions,
    migrate::{MigrateError, Migrator},
};
use tokio::time::timeout;

use crate::engine::{
    dialect::POSTGRES,
    rows::{Columns, unavailable},
    server_history::ServerHistory,
    url::DatabaseUrl,
};
use net::http_client::install_cryptography;

/// Concurrent transactions. Each takes a few milliseconds of the server's disk; more of them mostly wait for
/// each other.
const WRITERS: u32 = 8;
/// Most reader connections; more would only wait for the processor.
const READERS: u32 = 4;
/// Time a caller waits for a connection of either pool.
const CONNECTION_WAIT: Duration = Duration::from_secs(5);
/// Time limit for the first connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// First version that reports the status of a transaction.
const LEAST_VERSION: i64 = 130_000;

/// Error of opening a database. No text contains the password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The server does not answer, starts, stops, or has no free connection. It may be tried again.
    #[error("{0}")]
    Unreachable(StoreError),
    /// The database cannot be used as it is.
    #[error("{0}")]
    Refused(#[from] StoreError),
}

/// The pools of a migrated database.
pub(crate) struct Pools {
    pub(crate) writers: AnyPool,
    pub(crate) readers: AnyPool,
    /// History of the server that the writers are connected to.
    pub(crate) history: Arc<ServerHistory>,
}

pub(super) async fn open(
    url: &DatabaseUrl,
    migrator: Migrator,
    not_migrated: impl Fn(&MigrateError) -> StoreError,
) -> Result<Pools, OpenError> {
    install_cryptography();
    let connected = timeout(CONNECT_WITHIN, AnyConnection::connect(url.secret())).await;
    let mut conn = connected
        .map_err(|_| OpenError::Unreachable(unreachable(&format!("no answer within {CONNECT_WITHIN:?}"))))?
        .map_err(|error| sorted(is_unreachable(&error), refused(&error)))?;
    check_version(&mut conn).await?;
    // Use a connection without the limits of the others: changing a large table may take long. Other
    // processes that start now wait for it.
    let migrated = migrator.run_direct(None, &mut conn, false).await;
    migrated.map_err(|error| {
        let unreachable =
            matches!(&error, MigrateError::Execute(why) | MigrateError::ExecuteMigration(why, _) if is_unreachable(why));
        sorted(unreachable, not_migrated(&error))
    })?;
    // This connection is no longer needed.
    let _ = conn.close().await;
    let history = Arc::new(ServerHistory::default());
    Ok(Pools {
        writers: pool(url, WRITERS, POSTGRES.writer_setup, Some(Arc::clone(&history))).await?,
        readers: pool(url, READERS, POSTGRES.reader_setup, None).await?,
        history,
    })
}

async fn check_version(conn: &mut AnyConnection) -> Result<(), OpenError> {
    let query = sqlx::query("SELECT CAST(current_setting('server_version_num') AS BIGINT) AS version");
    let version = query.fetch_one(conn).await.map_err(unopened)?.int("version")?;
    if version < LEAST_VERSION {
        let version = version / 10_000;
        let why = format!("the server is PostgreSQL {version}; use 13 or later");
        return Err(StoreError::Unavailable(why).into());
    }
    Ok(())
}

async fn pool(
    url: &DatabaseUrl,
    connections: u32,
    setup: &'static [&'static str],
    history: Option<Arc<ServerHistory>>,
) -> Result<AnyPool, OpenError> {
    AnyPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(CONNECTION_WAIT)
        .after_connect(move |conn, _| {
            let history = history.clone();
            Box::pin(async move {
                for statement in setup {
                    sqlx::query(*statement).execute(&mut *conn).await?;
                }
                if let Some(history) = history {
                    history.look(conn).await?;
                }
                Ok(())
            })
        })
        .connect(url.secret())
        .await
        .map_err(unopened)
}

/// Returns whether the server is unreachable, starts, stops, or has no free connection.
fn is_unreachable(error: &sqlx::Error) -> bool {
    match error {
        // TLS reports an untrusted server with this kind.
        sqlx::Error::Io(error) => error.kind() != std::io::ErrorKind::InvalidData,
        sqlx::Error::PoolTimedOut => true,
        // PgBouncer reports a wrong password as 08P01.
        sqlx::Error::Database(inner) => inner.code().is_some_and(|code| {
            ["53300", "57P01", "57P02", "57P03", "08000", "08001", "08003", "08006"].contains(&&*code)
        }),
        _ => false,
    }
}

fn sorted(unreachable: bool, error: StoreError) -> OpenError {
    match unreachable {
        true => OpenError::Unreachable(error),
        false => OpenError::Refused(error),
    }
}

/// Maps an error after the first connection.
fn unopened(error: sqlx::Error) -> OpenError {
    sorted(is_unreachable(&error), unavailable(error))
}

/// Explains why the first connection failed, with a way out. The driver's texts never contain the password.
fn refused(error: &sqlx::Error) -> StoreError {
    let text = match error {
        sqlx::Error::Database(inner) => {
            let way_out = match inner.code().as_deref() {
                Some("28P01" | "28000") => "; check user, password and the server's pg_hba.conf",
                Some("3D000") => "; create it first, for example with `createdb`",
                Some("53300") => "; close other connections or raise the server's max_connections",
                _ => "",
            };
            format!("the server refused: {}{way_out}", inner.message())
        }
        // TLS reports an untrusted server with this kind.
        sqlx::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            format!("no trusted connection to the server: {error}; check sslmode and sslrootcert")
        }
        sqlx::Error::Io(error) => return unreachable(&error.to_string()),
        other => other.to_string(),
    };
    StoreError::Unavailable(text)
}

fn unreachable(why: &str) -> StoreError {
    StoreError::Unavailable(format!(
        "the server cannot be reached: {why}; is it running, and are host and port right?"
    ))
}
