//! Databases that are loaded from a dump.

use sqlx::{AnyConnection, AssertSqlSafe, Connection};

/// Runs the statements of a dump on an empty database of either kind.
pub async fn load(url: &str, dump: &str) {
    sqlx::any::install_default_drivers();
    net::http_client::install_cryptography();
    let mut conn = AnyConnection::connect(url).await.unwrap();
    let all = sqlx::raw_sql(AssertSqlSafe(dump.to_owned()));
    all.execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}
