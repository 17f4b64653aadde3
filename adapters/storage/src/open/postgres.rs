//! Opening a PostgreSQL database: reaching it, migrations, the pools and what holds for each of their connections.

use std::{sync::Arc, time::Duration};

use domain::ports::store::{StoreError, StoreResult};
use sqlx::{AnyConnection, AnyPool, Connection, any::AnyPoolOptions};
use tokio::time::timeout;

use super::MIGRATIONS;
use crate::{
    dialect::POSTGRES,
    rows::{Columns, unavailable},
    server_history::ServerHistory,
    url::DatabaseUrl,
};
use net::http_client::install_cryptography;

/// Transactions at once. Each takes a few milliseconds of the server's disk; more of them mostly wait for each other.
const WRITERS: u32 = 8;
/// More readers than this only wait for the processor.
const READERS: u32 = 4;
/// For how long a caller waits for one of either.
const CONNECTION_WAIT: Duration = Duration::from_secs(5);
/// For how long the first connection is waited for.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// The first version that tells what became of a transaction.
const LEAST_VERSION: i64 = 130_000;

/// The pools of a database whose tables are there.
pub(crate) struct Pools {
    pub(crate) writers: AnyPool,
    pub(crate) readers: AnyPool,
    /// Whose history the writers write to.
    pub(crate) history: Arc<ServerHistory>,
}

pub(super) async fn open(url: &DatabaseUrl) -> StoreResult<Pools> {
    install_cryptography();
    let connected = timeout(CONNECT_WITHIN, AnyConnection::connect(url.secret())).await;
    let mut conn = connected
        .map_err(|_| away(&format!("no answer within {CONNECT_WITHIN:?}")))?
        .map_err(|error| refused(&error))?;
    check_version(&mut conn).await?;
    // On a connection without the limits of the others: a change of a large table may take its time. Other processes
    // that start now wait for it.
    let migrated = MIGRATIONS.run_direct(None, &mut conn, false).await;
    migrated.map_err(|error| StoreError::Unavailable(format!("cannot migrate: {error}")))?;
    // It has done its work.
    let _ = conn.close().await;
    let history = Arc::new(ServerHistory::default());
    Ok(Pools {
        writers: pool(url, WRITERS, POSTGRES.writer_setup, Some(Arc::clone(&history))).await?,
        readers: pool(url, READERS, POSTGRES.reader_setup, None).await?,
        history,
    })
}

async fn check_version(conn: &mut AnyConnection) -> StoreResult<()> {
    let query = sqlx::query("SELECT CAST(current_setting('server_version_num') AS BIGINT) AS version");
    let version = query.fetch_one(conn).await.map_err(unavailable)?.int("version")?;
    if version < LEAST_VERSION {
        return Err(StoreError::Unavailable(format!(
            "the server is PostgreSQL {}: 13 or later is needed",
            version / 10_000
        )));
    }
    Ok(())
}

async fn pool(
    url: &DatabaseUrl,
    connections: u32,
    setup: &'static [&'static str],
    history: Option<Arc<ServerHistory>>,
) -> StoreResult<AnyPool> {
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
        .map_err(unavailable)
}

/// Why there is no first connection, and the way out. The driver's own words never have the password in them.
fn refused(error: &sqlx::Error) -> StoreError {
    let text = match error {
        sqlx::Error::Database(inner) => {
            let way_out = match inner.code().as_deref() {
                Some("28P01" | "28000") => "; check user, password and the server's pg_hba.conf",
                Some("3D000") => "; make it first, as with `createdb`",
                Some("53300") => "; close other connections or raise the server's max_connections",
                _ => "",
            };
            format!("the server refused: {}{way_out}", inner.message())
        }
        // So TLS says that it does not trust the server.
        sqlx::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            format!("no trusted connection to the server: {error}; check sslmode and sslrootcert")
        }
        sqlx::Error::Io(error) => return away(&error.to_string()),
        other => other.to_string(),
    };
    StoreError::Unavailable(text)
}

fn away(why: &str) -> StoreError {
    StoreError::Unavailable(format!(
        "the server cannot be reached: {why}; is it running, and are host and port right?"
    ))
}
