//! Conversions between rows and values: errors, columns, and SQL whose number of values is only known at run time.

use std::{fmt::Write as _, str::FromStr};

use domain::{
    phone_number::PhoneNumber,
    ports::store::{StoreError, StoreResult},
    time::Timestamp,
};
use serde::{Serialize, de::DeserializeOwned};
use sqlx::{
    Any, AnyConnection, AssertSqlSafe, Row,
    any::{AnyArguments, AnyRow},
    query::Query,
};

/// A query with its values bound, for any database.
pub(crate) type AnyQuery<'q> = Query<'q, Any, AnyArguments>;

/// Most rows of one `INSERT`: with ten columns this is far below SQLite's limit of 32,766 values per statement.
pub(crate) const ROWS_PER_INSERT: usize = 500;

/// Prefix of the text of an error after which a repeated transaction may succeed.
const PASSING: &str = "it may be tried again at once: ";

/// Returns whether a transaction certainly changed nothing and may succeed when it is repeated.
pub(crate) fn is_passing(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(text) if text.starts_with(PASSING))
}

/// Returns whether a transaction lost against another one or waited too long for it (40, 55P03), or its
/// connection ended before the commit (08, 57P, and 25P03 for a stalled process). These are PostgreSQL's
/// codes; SQLite has none of them.
fn passes(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(inner) => inner.code().is_some_and(|code| {
            let ways = ["40001", "40P01", "55P03", "25P03", "57P", "08"];
            code.len() == 5 && ways.iter().any(|way| code.starts_with(way))
        }),
        _ => false,
    }
}

/// Returns whether PostgreSQL rejected a value itself: a data exception (22), such as U+0000 in a text, or a
/// program limit (54), such as the length of an index row. SQLite's codes are numbers of other lengths.
fn is_refusal(code: Option<&str>) -> bool {
    code.is_some_and(|code| code.len() == 5 && (code.starts_with("22") || code.starts_with("54")))
}

/// Returns whether the disk is full: SQLite's SQLITE_FULL, PostgreSQL's disk_full.
pub(crate) fn is_disk_full(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| code == "13" || code == "53100")
}

/// Returns whether the file is not an SQLite database: SQLITE_NOTADB.
pub(crate) fn is_not_a_database(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| code == "26")
}

/// Maps a database error for the caller. A missing parent row becomes `NotFound`.
pub(crate) fn unavailable(error: sqlx::Error) -> StoreError {
    match error {
        ref full if is_disk_full(full) => StoreError::disk_full(&full.to_string()),
        ref passing if passes(passing) => StoreError::Unavailable(format!("{PASSING}{passing}")),
        sqlx::Error::Database(ref inner) if inner.is_foreign_key_violation() => StoreError::NotFound,
        sqlx::Error::Database(ref inner) if is_refusal(inner.code().as_deref()) => {
            StoreError::Refused(inner.message().to_owned())
        }
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::ColumnNotFound(_) | sqlx::Error::Decode(_) => {
            StoreError::Damaged(error.to_string())
        }
        other => StoreError::Unavailable(other.to_string()),
    }
}

/// Maps an error like [`unavailable`], but a duplicate of a unique value becomes `Exists`.
pub(crate) fn unique(what: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |error| match &error {
        sqlx::Error::Database(inner) if inner.is_unique_violation() => StoreError::Exists(what),
        _ => unavailable(error),
    }
}

/// Returns the pattern of `LIKE … ESCAPE '!'` for values that contain this text, with its wildcards escaped.
pub(crate) fn containing(text: &str) -> String {
    let plain = text.replace('!', "!!").replace('%', "!%").replace('_', "!_");
    format!("%{plain}%")
}

/// Creates a query from SQL that is composed of this crate's constants, never of outside text.
pub(crate) fn composed<'q>(sql: String) -> AnyQuery<'q> {
    sqlx::query(AssertSqlSafe(sql))
}

/// Reads the rows of a query.
pub(crate) trait Fetch {
    async fn all(self, conn: &mut AnyConnection) -> StoreResult<Vec<AnyRow>>;
    async fn optional(self, conn: &mut AnyConnection) -> StoreResult<Option<AnyRow>>;
    async fn one(self, conn: &mut AnyConnection) -> StoreResult<AnyRow>;

    /// Returns the row. Returns `NotFound` if there is none.
    async fn existing(self, conn: &mut AnyConnection) -> StoreResult<AnyRow>;

    /// Returns the values of all rows.
    async fn read_all<T>(self, conn: &mut AnyConnection, read: fn(&AnyRow) -> StoreResult<T>) -> StoreResult<Vec<T>>;
}

impl Fetch for AnyQuery<'_> {
    async fn all(self, conn: &mut AnyConnection) -> StoreResult<Vec<AnyRow>> {
        self.fetch_all(conn).await.map_err(unavailable)
    }

    async fn optional(self, conn: &mut AnyConnection) -> StoreResult<Option<AnyRow>> {
        self.fetch_optional(conn).await.map_err(unavailable)
    }

    async fn one(self, conn: &mut AnyConnection) -> StoreResult<AnyRow> {
        self.fetch_one(conn).await.map_err(unavailable)
    }

    async fn existing(self, conn: &mut AnyConnection) -> StoreResult<AnyRow> {
        self.optional(conn).await?.ok_or(StoreError::NotFound)
    }

    async fn read_all<T>(self, conn: &mut AnyConnection, read: fn(&AnyRow) -> StoreResult<T>) -> StoreResult<Vec<T>> {
        self.all(conn).await?.iter().map(read).collect()
    }
}

/// Runs a query and returns the number of affected rows.
pub(crate) async fn affected(query: AnyQuery<'_>, conn: &mut AnyConnection) -> StoreResult<u64> {
    let done = query.execute(conn).await.map_err(unavailable)?;
    Ok(done.rows_affected())
}

/// Builds `head ($1,$2),($3,$4) tail` for `rows` rows of `columns` values.
pub(crate) fn insert_rows<'q>(head: &str, rows: usize, columns: usize, tail: &str) -> AnyQuery<'q> {
    let mut sql = String::with_capacity(head.len() + tail.len() + rows * columns * 6);
    sql.push_str(head);
    for row in 0..rows {
        sql.push_str(if row == 0 { " (" } else { ",(" });
        for column in 1..=columns {
            let comma = if column == 1 { "" } else { "," };
            let _ = write!(sql, "{comma}${}", row * columns + column);
        }
        sql.push(')');
    }
    sql.push(' ');
    sql.push_str(tail);
    composed(sql)
}

/// `WHERE` conditions. Only the needed ones become part of the SQL, so that the database can use its indexes.
#[derive(Default)]
pub(crate) struct Conditions {
    text: Vec<String>,
    values: Vec<Bound>,
}

/// A value of a condition.
pub(crate) enum Bound {
    Int(i64),
    Text(String),
}

impl From<i64> for Bound {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<String> for Bound {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&'static str> for Bound {
    fn from(value: &'static str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl Conditions {
    /// Adds a condition in which each `?` stands for the next of `values`.
    pub(crate) fn and<const N: usize>(&mut self, condition: &str, values: [Bound; N]) {
        let mut text = String::new();
        let mut number = self.values.len();
        for part in condition.split_inclusive('?') {
            match part.strip_suffix('?') {
                Some(before) => {
                    number += 1;
                    let _ = write!(text, "{before}${number}");
                }
                None => text.push_str(part),
            }
        }
        self.text.push(text);
        self.values.extend(values);
    }

    /// Builds `head WHERE … tail LIMIT n` with its values bound.
    pub(crate) fn query<'q>(self, head: &str, tail: &str, limit: i64) -> AnyQuery<'q> {
        let place = self.values.len() + 1;
        let sql = format!("{head} WHERE {} {tail} LIMIT ${place}", self.text.join(" AND "));
        bind_all(composed(sql), self.values).bind(limit.max(0))
    }
}

/// Binds values in order.
pub(crate) fn bind_all(query: AnyQuery<'_>, values: Vec<Bound>) -> AnyQuery<'_> {
    values.into_iter().fold(query, |query, value| match value {
        Bound::Int(value) => query.bind(value),
        Bound::Text(value) => query.bind(value),
    })
}

/// Reads columns by name into the domain's types.
pub(crate) trait Columns {
    fn int(&self, name: &str) -> StoreResult<i64>;
    fn maybe_int(&self, name: &str) -> StoreResult<Option<i64>>;
    fn text(&self, name: &str) -> StoreResult<String>;
    fn maybe_text(&self, name: &str) -> StoreResult<Option<String>>;

    fn flag(&self, name: &str) -> StoreResult<bool> {
        Ok(self.int(name)? != 0)
    }

    fn time(&self, name: &str) -> StoreResult<Timestamp> {
        self.int(name).map(Timestamp)
    }

    fn maybe_time(&self, name: &str) -> StoreResult<Option<Timestamp>> {
        Ok(self.maybe_int(name)?.map(Timestamp))
    }

    fn id<T: FromStr>(&self, name: &str) -> StoreResult<T> {
        parsed(name, &self.text(name)?)
    }

    fn maybe_id<T: FromStr>(&self, name: &str) -> StoreResult<Option<T>> {
        let text = self.maybe_text(name)?;
        text.map(|text| parsed(name, &text)).transpose()
    }

    fn number(&self, name: &str) -> StoreResult<PhoneNumber> {
        phone_number(name, &self.text(name)?)
    }

    fn maybe_number(&self, name: &str) -> StoreResult<Option<PhoneNumber>> {
        let text = self.maybe_text(name)?;
        text.map(|text| phone_number(name, &text)).transpose()
    }

    fn json<T: DeserializeOwned>(&self, name: &str) -> StoreResult<T> {
        serde_json::from_str(&self.text(name)?).map_err(|error| damaged(name, &error))
    }

    /// Reads JSON; the empty value if the column is null.
    fn maybe_json<T: DeserializeOwned + Default>(&self, name: &str) -> StoreResult<T> {
        match self.maybe_text(name)? {
            Some(_) => self.json(name),
            None => Ok(T::default()),
        }
    }

    /// Reads a word of a fixed set.
    fn word<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>) -> StoreResult<T> {
        let text = self.text(name)?;
        parse(&text).ok_or_else(|| StoreError::Damaged(format!("{name} `{text}`")))
    }
}

impl Columns for AnyRow {
    fn int(&self, name: &str) -> StoreResult<i64> {
        self.try_get(name).map_err(unavailable)
    }

    fn maybe_int(&self, name: &str) -> StoreResult<Option<i64>> {
        self.try_get(name).map_err(unavailable)
    }

    fn text(&self, name: &str) -> StoreResult<String> {
        self.try_get(name).map_err(unavailable)
    }

    fn maybe_text(&self, name: &str) -> StoreResult<Option<String>> {
        self.try_get(name).map_err(unavailable)
    }
}

// None of these puts a phone number or other personal value into an error.
fn parsed<T: FromStr>(name: &str, text: &str) -> StoreResult<T> {
    text.parse()
        .map_err(|_| StoreError::Damaged(format!("column {name} is not of its type")))
}

fn phone_number(name: &str, text: &str) -> StoreResult<PhoneNumber> {
    PhoneNumber::stored(text).map_err(|_| StoreError::Damaged(format!("column {name} is not a phone number")))
}

fn damaged(name: &str, error: &serde_json::Error) -> StoreError {
    StoreError::Damaged(format!("column {name} at {}:{}", error.line(), error.column()))
}

/// Encodes a value as JSON text.
pub(crate) fn to_json(value: &impl Serialize) -> StoreResult<String> {
    serde_json::to_string(value).map_err(|error| StoreError::Damaged(error.to_string()))
}

/// Returns `count` placeholders: `$first, $first+1, …`.
pub(crate) fn places(first: usize, count: usize) -> String {
    let places: Vec<String> = (first..first + count).map(|number| format!("${number}")).collect();
    places.join(", ")
}

/// Returns `NotFound` if a statement affected no row.
pub(crate) fn found(rows: u64) -> StoreResult<()> {
    match rows {
        0 => Err(StoreError::NotFound),
        _ => Ok(()),
    }
}
