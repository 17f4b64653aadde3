//! Opens a database: for SQLite its file lock, settings, migrations and connections; PostgreSQL in a submodule.

mod postgres;

use std::{
    fs::{File, TryLockError},
    path::Path,
    time::Duration,
};

use domain::ports::store::{StoreError, StoreResult};
use sqlx::{
    AnyConnection, AnyPool, AssertSqlSafe, Connection, Row, SqlSafeStr,
    any::AnyPoolOptions,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

use super::{
    dialect::{Dialect, SQLITE},
    rows::{is_not_a_database, unavailable},
    url::DatabaseUrl,
};

pub use postgres::OpenError;
pub(crate) use postgres::Pools;

/// Includes the files of `migrations/` as literals, because sqlx's macro builds both drivers a second time
/// for the compiler.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../migrations/", $name, ".sql")))),*]
    };
}

const FILES: &[(&str, &str)] = &files![
    "0001_start",
    "0002_turns_and_call_backs",
    "0003_deliveries",
    "0004_tools",
    "0005_retention",
    "0006_appointments",
    "0007_nodes",
    "0008_safeguards",
    "0009_put_off",
    "0010_end_written",
    "0011_transfer_rules",
    "0012_issue_tracking",
    "0013_turn_detail",
    "0014_agent_versions",
    "0015_account_events",
    "0016_search",
    "0017_ring_timeout",
    "0018_api_keys",
    "0019_analytics",
    "0020_sessions",
    "0021_appointment_lists",
    "0022_test_calls",
    "0023_undialed",
    "0024_refusals",
    "0025_account_settings",
    "0026_evidence",
    "0027_callee",
    "0028_webhook_terms",
    "0029_call_figures",
    "0030_call_costs",
    "0031_opted_out_in",
    "0032_webhook_replies",
];

/// Returns the migrations for one database, by its name in the files.
fn migrator(database: &str) -> Migrator {
    let numbered = (1..).zip(FILES);
    let migrations = numbered.map(|(version, (name, sql))| {
        let description = name[5..].replace('_', " ").into();
        let sql = AssertSqlSafe(text_for(database, sql)).into_sql_str();
        Migration::new(version, description, MigrationType::Simple, sql, false)
    });
    Migrator::with_migrations(migrations.collect())
}

/// Begins the part of a file that applies to one database alone. The text before the first part applies to both.
const ONLY: &str = "-- only ";

/// Returns the text of a file for a database.
fn text_for(database: &str, sql: &str) -> String {
    let mut parts = sql.split(ONLY);
    let shared = parts.next().unwrap_or_default();
    let own = parts.filter_map(|part| part.strip_prefix(database));
    std::iter::once(shared).chain(own).collect()
}

/// Returns the error for a database, named by `what`, that cannot be brought to this version.
fn not_migrated(what: &str, error: &MigrateError) -> StoreError {
    StoreError::Unavailable(match error {
        MigrateError::VersionMissing(newer) => format!(
            "{what} was changed by a newer version of Ringback: it has migration {newer}, and this version knows only the \
             first {}; start the newer version, or restore the backup from before the upgrade (see docs/upgrade.md)",
            FILES.len()
        ),
        other => format!("cannot migrate {what}: {other}"),
    })
}

/// Most reader connections; more would only wait for the processor.
const READERS: u32 = 4;
/// Time a caller waits for a reader connection.
const READER_WAIT: Duration = Duration::from_secs(5);

/// An open database.
pub(crate) enum Opened {
    Sqlite(Sqlite),
    Postgres(Pools),
}

/// A SQLite database.
pub(crate) struct Sqlite {
    pub(crate) writer: AnyConnection,
    /// Opens the writer again; none for a database in memory.
    pub(crate) again: Option<Again>,
    /// None for a database in memory, which only its one connection can see.
    pub(crate) readers: Option<AnyPool>,
    /// Held while the writer lives; none for a database in memory.
    pub(crate) lock: Option<File>,
}

/// Reopens a writer whose connection has become unusable.
#[derive(Debug, Clone)]
pub(crate) struct Again(String);

impl Again {
    /// Opens a new connection with the same settings as the first one.
    pub(crate) async fn open(&self) -> StoreResult<AnyConnection> {
        let mut writer = connect(&self.0).await?;
        set_up(&mut writer).await.map_err(unavailable)?;
        Ok(writer)
    }
}

async fn connect(url: &str) -> StoreResult<AnyConnection> {
    AnyConnection::connect(url)
        .await
        .map_err(|error| StoreError::Unavailable(format!("cannot open {url}: {error}")))
}

async fn set_up(writer: &mut AnyConnection) -> Result<(), sqlx::Error> {
    for statement in SQLITE.writer_setup {
        sqlx::query(*statement).execute(&mut *writer).await?;
    }
    Ok(())
}

/// Whether other processes may open the same SQLite file. PostgreSQL is always shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileSharing {
    /// No other process may open the file; opening fails if one already has.
    Exclusive,
    /// Another process may have the file open. If so, that process has migrated the tables, and this one does not.
    Shared,
    /// Like `Shared`, and the file must exist.
    Existing,
}

pub(crate) async fn open(url: &str, sharing: FileSharing) -> Result<Opened, OpenError> {
    sqlx::any::install_default_drivers();
    let url = DatabaseUrl::parse(url).map_err(|error| StoreError::Unavailable(error.to_string()))?;
    match url.is_postgres() {
        true => {
            let not_migrated = |error: &MigrateError| not_migrated("the database", error);
            let pools = postgres::open(&url, migrator("PostgreSQL"), not_migrated).await;
            pools.map(Opened::Postgres)
        }
        false => Ok(open_sqlite(url.secret(), sharing).await.map(Opened::Sqlite)?),
    }
}

async fn open_sqlite(url: &str, sharing: FileSharing) -> StoreResult<Sqlite> {
    let url = &match sharing {
        FileSharing::Existing => url.to_owned(),
        FileSharing::Exclusive | FileSharing::Shared => creating(url)?,
    };
    let dialect = &SQLITE;
    let mut writer = connect(url).await.map_err(|error| {
        let path = path_in(url);
        match sharing == FileSharing::Existing && !Path::new(path).exists() {
            true => StoreError::Unavailable(format!("there is no file {path}; name the database of the service")),
            false => error,
        }
    })?;
    let file = database_file(&mut writer).await.map_err(|error| in_file(url, error))?;
    let lock = match &file {
        Some(path) => lock(path, sharing)?,
        None => None,
    };
    let held_elsewhere = file.is_some() && lock.is_none();
    if let Some(path) = &file {
        keep_private(path)?;
    }
    set_up(&mut writer).await.map_err(|error| in_file(url, error))?;
    if !held_elsewhere {
        migrator("SQLite")
            .run_direct(None, &mut writer, false)
            .await
            .map_err(|error| not_migrated(url, &error))?;
    }
    let readers = match file {
        Some(_) => Some(readers(url, dialect).await?),
        None => None,
    };
    let again = readers.is_some().then(|| Again(url.clone()));
    Ok(Sqlite {
        writer,
        again,
        readers,
        lock,
    })
}

/// Maps an error of opening the file of a SQLite URL.
fn in_file(url: &str, error: sqlx::Error) -> StoreError {
    if !is_not_a_database(&error) {
        return unavailable(error);
    }
    let path = path_in(url);
    StoreError::Unavailable(format!("{path} is not an SQLite database; name another file"))
}

fn path_in(url: &str) -> &str {
    let path = url.strip_prefix("sqlite:").unwrap_or(url);
    let path = path.strip_prefix("//").unwrap_or(path);
    path.split('?').next().unwrap_or(path)
}

/// Returns the URL with the option to create a missing file, and creates a missing folder.
fn creating(url: &str) -> StoreResult<String> {
    let rest = url.strip_prefix("sqlite:").unwrap_or(url);
    if rest == ":memory:" || rest.contains('?') {
        return Ok(url.to_owned());
    }
    let path = Path::new(rest.strip_prefix("//").unwrap_or(rest));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| StoreError::Unavailable(format!("cannot create folder {}: {error}", folder.display())))?;
    }
    Ok(format!("{url}?mode=rwc"))
}

/// Returns the path of the main database; none if it is in memory.
async fn database_file(conn: &mut AnyConnection) -> Result<Option<String>, sqlx::Error> {
    let row = sqlx::query("SELECT file FROM pragma_database_list WHERE name = 'main'");
    let row = row.fetch_one(conn).await?;
    let file: Option<String> = row.try_get("file")?;
    Ok(file.filter(|path| !path.is_empty()))
}

/// Locks the database. Two services on one file would each take the other's calls for dead, so only one is
/// admitted. Returns none if another process holds the file and sharing is allowed.
fn lock(database: &str, sharing: FileSharing) -> StoreResult<Option<File>> {
    let path = format!("{database}.lock");
    let file = File::create(&path)
        .map_err(|error| StoreError::Unavailable(format!("cannot create the lock file {path}: {error}")))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) if sharing != FileSharing::Exclusive => Ok(None),
        Err(TryLockError::WouldBlock) => Err(StoreError::Unavailable(format!(
            "database {database} is in use by another process (it holds {path}): stop that process or use another database"
        ))),
        Err(TryLockError::Error(error)) => Err(StoreError::Unavailable(format!("cannot lock {path}: {error}"))),
    }
}

/// Makes a new database readable by its owner alone, because it will hold transcripts and numbers. SQLite
/// gives its log and shared memory the same permissions. An existing file keeps the permissions its owner
/// chose.
fn keep_private(database: &str) -> StoreResult<()> {
    use std::os::unix::fs::PermissionsExt;
    let new = std::fs::metadata(database).is_ok_and(|file| file.len() == 0);
    if !new {
        return Ok(());
    }
    std::fs::set_permissions(database, std::fs::Permissions::from_mode(0o600))
        .map_err(|error| StoreError::Unavailable(format!("cannot set the permissions of {database}: {error}")))
}

async fn readers(url: &str, dialect: &'static Dialect) -> StoreResult<AnyPool> {
    AnyPoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(READER_WAIT)
        // A file does not disappear between two reads, and a test would cost as much as a read.
        .test_before_acquire(false)
        .after_connect(move |conn, _| {
            Box::pin(async move {
                for statement in dialect.reader_setup {
                    sqlx::query(*statement).execute(&mut *conn).await?;
                }
                Ok(())
            })
        })
        .connect(url)
        .await
        .map_err(unavailable)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn setting(conn: &mut AnyConnection, pragma: &'static str) -> String {
        let row = sqlx::query(pragma).fetch_one(conn).await.unwrap();
        let number = row.try_get::<i64, _>(0).map(|value| value.to_string());
        number.unwrap_or_else(|_| row.get(0))
    }

    #[tokio::test]
    async fn commits_are_synced_and_readers_cannot_write() {
        sqlx::any::install_default_drivers();
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("new/ringback.db").display());
        let mut opened = open_sqlite(&url, FileSharing::Exclusive).await.unwrap();
        assert_eq!(setting(&mut opened.writer, "PRAGMA journal_mode").await, "wal");
        assert_eq!(setting(&mut opened.writer, "PRAGMA synchronous").await, "2");
        assert_eq!(setting(&mut opened.writer, "PRAGMA foreign_keys").await, "1");
        assert_eq!(setting(&mut opened.writer, "PRAGMA secure_delete").await, "1");
        let readers = opened.readers.unwrap();
        let written = sqlx::query("DELETE FROM accounts").execute(&readers).await;
        assert!(written.is_err());
    }

    #[tokio::test]
    async fn a_new_database_is_its_owners_alone() {
        sqlx::any::install_default_drivers();
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ringback.db");
        let url = DatabaseUrl::of_file(&path);
        let opened = open_sqlite(url.secret(), FileSharing::Exclusive).await.unwrap();
        for file in [path.clone(), path.with_extension("db-wal")] {
            let mode = std::fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", file.display());
        }
        drop(opened);
    }

    #[tokio::test]
    async fn a_database_of_a_newer_version_is_refused_with_the_way_out() {
        sqlx::any::install_default_drivers();
        let folder = tempfile::tempdir().unwrap();
        let url = DatabaseUrl::of_file(&folder.path().join("ringback.db"));
        let mut opened = open_sqlite(url.secret(), FileSharing::Exclusive).await.unwrap();
        let newer = "INSERT INTO _sqlx_migrations SELECT 99, description, installed_on, success, checksum, \
                     execution_time FROM _sqlx_migrations WHERE version = 1";
        sqlx::query(newer).execute(&mut opened.writer).await.unwrap();
        drop(opened);
        let error = open_sqlite(url.secret(), FileSharing::Exclusive).await.err().unwrap();
        let error = error.to_string();
        assert!(
            error.contains("has migration 99, and this version knows only the first"),
            "{error}"
        );
        assert!(
            error.contains("restore the backup") && error.contains("docs/upgrade.md"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn another_kind_of_database_is_refused_by_name() {
        let error = open("mysql://localhost/x", FileSharing::Exclusive).await.err().unwrap();
        assert!(error.to_string().contains("write sqlite://FILE"), "{error}");
    }

    #[test]
    fn a_file_may_have_parts_for_one_database() {
        let file = "a;\n-- only SQLite\nb;\n-- only PostgreSQL\nc;\n";
        assert_eq!(text_for("SQLite", file), "a;\n\nb;\n");
        assert_eq!(text_for("PostgreSQL", file), "a;\n\nc;\n");
        // A database identifies applied migrations by a hash of their text.
        for (name, sql) in FILES.iter().filter(|(_, sql)| !sql.contains(ONLY)) {
            assert_eq!(text_for("SQLite", sql), *sql, "{name}");
        }
    }

    #[test]
    fn every_file_of_migrations_is_applied_in_its_order() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations");
        let mut found: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        found.sort();
        let numbered = (1..).zip(FILES);
        let listed: Vec<String> = numbered
            .map(|(number, (name, _))| {
                assert_eq!(name[..5], format!("{number:04}_"));
                format!("{name}.sql")
            })
            .collect();
        assert_eq!(listed, found);
    }
}
