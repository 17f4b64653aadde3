//! Evidence after a run: the judge's log, the rows of the database, and the responses of the REST API.

use std::{io, path::Path};

use sqlx::{AnyConnection, Connection, Row, any::AnyRow};

use crate::{
    api::Api,
    campaigns::Campaign,
    journal::{self, Entry},
    world::Standstill,
};

/// An attempt as stored in the database.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub id: String,
    pub campaign: String,
    pub attempt_no: i64,
    pub number: String,
    pub state: String,
    pub error: String,
    /// Time of its last permit.
    pub dialing_at: Option<i64>,
    pub ended_at: Option<i64>,
}

/// State of a campaign by the REST API.
#[derive(Debug, Clone)]
pub struct Told {
    pub status: String,
    /// Counters by name.
    pub progress: Vec<(String, u64)>,
    /// Number and status of each contact.
    pub contacts: Vec<(String, String)>,
}

/// All evidence.
pub struct Evidence {
    pub log: Vec<Entry>,
    pub campaigns: Vec<(Campaign, Told)>,
    pub attempts: Vec<Attempt>,
    /// Attempts whose call is still up at the carrier.
    pub live: Vec<String>,
    /// Intervals in which requests to the carrier stalled.
    pub standstills: Vec<Standstill>,
}

/// Reads every campaign from the REST API.
pub async fn told(api: &Api, campaigns: Vec<Campaign>) -> io::Result<Vec<(Campaign, Told)>> {
    let mut all = Vec::new();
    for campaign in campaigns {
        let shown = api.campaign(&campaign.id).await?;
        let progress = shown["progress"].as_object().cloned().unwrap_or_default();
        let told = Told {
            status: shown["status"].as_str().unwrap_or_default().to_owned(),
            progress: progress
                .into_iter()
                .map(|(name, count)| (name, count.as_u64().unwrap_or(u64::MAX)))
                .collect(),
            contacts: api.contacts(&campaign.id).await?,
        };
        all.push((campaign, told));
    }
    Ok(all)
}

/// Reads the log of a judge.
pub fn log(path: &Path) -> io::Result<Vec<Entry>> {
    journal::read(path)
}

/// Connects to the database directly, without a proxy.
pub async fn connect(url: &str) -> io::Result<AnyConnection> {
    sqlx::any::install_default_drivers();
    AnyConnection::connect(url).await.map_err(io::Error::other)
}

/// Closes a connection, and returns once its files are released.
pub async fn close(database: AnyConnection) -> io::Result<()> {
    database.close().await.map_err(io::Error::other)
}

/// Returns all attempts of a database, and closes it again.
pub async fn attempts_in(database_url: &str) -> io::Result<Vec<Attempt>> {
    let mut database = connect(database_url).await?;
    let attempts = attempts(&mut database).await;
    close(database).await?;
    attempts
}

/// Returns all attempts.
async fn attempts(database: &mut AnyConnection) -> io::Result<Vec<Attempt>> {
    let sql =
        "SELECT id, campaign, attempt_no, phone_number, state, error, dialing_at, ended_at FROM attempts ORDER BY id";
    let rows = sqlx::query(sql).fetch_all(database).await.map_err(io::Error::other)?;
    rows.iter().map(|row| attempt(row).map_err(io::Error::other)).collect()
}

fn attempt(row: &AnyRow) -> Result<Attempt, sqlx::Error> {
    Ok(Attempt {
        id: row.try_get("id")?,
        campaign: row.try_get::<Option<String>, _>("campaign")?.unwrap_or_default(),
        attempt_no: row.try_get("attempt_no")?,
        number: row.try_get("phone_number")?,
        state: row.try_get("state")?,
        error: row.try_get::<Option<String>, _>("error")?.unwrap_or_default(),
        dialing_at: row.try_get("dialing_at")?,
        ended_at: row.try_get("ended_at")?,
    })
}

/// Attempts of an incarnation: those it claimed and has not begun to dial, and those under way.
#[derive(Debug, Default)]
pub struct Held {
    pub claimed: Vec<String>,
    pub under_way: Vec<String>,
}

/// Returns the attempts that an incarnation holds now.
pub async fn held(database: &mut AnyConnection, incarnation: &str) -> io::Result<Held> {
    let sql =
        "SELECT id, state FROM attempts WHERE owner = $1 AND state IN ('claimed', 'dialing', 'dialed', 'answered')";
    let rows = sqlx::query(sql).bind(incarnation).fetch_all(database).await;
    let mut held = Held::default();
    for row in rows.map_err(io::Error::other)? {
        let id = row.try_get("id").map_err(io::Error::other)?;
        let state: String = row.try_get("state").map_err(io::Error::other)?;
        match &*state {
            "claimed" => held.claimed.push(id),
            _ => held.under_way.push(id),
        }
    }
    Ok(held)
}
