//! States of the contacts of a list. The first claim of a contact creates its row, so an import writes none.

use domain::{
    id::CampaignId,
    ports::store::{Progress, StoreError, StoreResult},
};
use sqlx::any::AnyRow;

use super::campaign_rows;
use crate::engine::{
    Work,
    rows::{Columns, Fetch, affected},
};

/// State of a contact in its campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContactState {
    Pending,
    Completed,
    Failed,
    Cancelled,
}

impl ContactState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Key of a contact: its list and its index there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContactKey {
    pub(crate) list: i64,
    pub(crate) index: i64,
}

impl ContactKey {
    /// Reads the key from a row with `contact_list` and `contact_index`; none for a single call.
    pub(crate) fn read(row: &AnyRow) -> StoreResult<Option<Self>> {
        let key = (row.maybe_int("contact_list")?, row.maybe_int("contact_index")?);
        Ok(match key {
            (Some(list), Some(index)) => Some(Self { list, index }),
            _ => None,
        })
    }
}

/// Sets a claimed contact's state; `voicemail` tells whether a machine answered last.
pub(crate) async fn set(
    work: &mut Work<'_>,
    contact: Option<ContactKey>,
    state: ContactState,
    voicemail: bool,
) -> StoreResult<()> {
    let Some(contact) = contact else { return Ok(()) };
    let update = sqlx::query("UPDATE contact_states SET state = $1, voicemail = $2 WHERE list = $3 AND idx = $4")
        .bind(state.as_str())
        .bind(i64::from(voicemail))
        .bind(contact.list)
        .bind(contact.index);
    affected(update, work.conn).await.map(drop)
}

/// Marks the contact of a queued attempt as being called.
pub(crate) async fn set_in_progress(work: &mut Work<'_>, contact: ContactKey) -> StoreResult<()> {
    let update = sqlx::query("UPDATE contact_states SET state = 'in_progress' WHERE list = $1 AND idx = $2");
    let update = update.bind(contact.list).bind(contact.index);
    affected(update, work.conn).await.map(drop)
}

/// Counts a further planned attempt and sets the contact pending again.
pub(crate) async fn add_attempt(work: &mut Work<'_>, contact: Option<ContactKey>) -> StoreResult<()> {
    let Some(contact) = contact else { return Ok(()) };
    let update = sqlx::query(
        "UPDATE contact_states SET state = 'pending', attempts = attempts + 1 WHERE list = $1 AND idx = $2",
    );
    let update = update.bind(contact.list).bind(contact.index);
    affected(update, work.conn).await.map(drop)
}

/// Resets the contact as if it had never been claimed.
pub(crate) async fn set_untried(work: &mut Work<'_>, contact: Option<ContactKey>) -> StoreResult<()> {
    let Some(contact) = contact else { return Ok(()) };
    let update = sqlx::query("UPDATE contact_states SET state = 'pending', attempts = 0 WHERE list = $1 AND idx = $2")
        .bind(contact.list)
        .bind(contact.index);
    affected(update, work.conn).await.map(drop)
}

pub(crate) async fn progress(mut work: Work<'_>, campaign: CampaignId) -> StoreResult<Progress> {
    let (list, contacts) = campaign_rows::visible_list(&mut work, campaign).await?;
    let rows = sqlx::query(
        "SELECT voicemail, state, COUNT(*) AS contacts FROM contact_states WHERE list = $1 GROUP BY voicemail, state",
    )
    .bind(list)
    .all(work.conn)
    .await?;
    let mut progress = Progress {
        pending: contacts,
        ..Progress::default()
    };
    for row in &rows {
        let contacts = row.int("contacts")?;
        // They were counted as never claimed.
        progress.pending -= contacts;
        match row.text("state")?.as_str() {
            "pending" => progress.pending += contacts,
            "in_progress" => progress.in_progress += contacts,
            "completed" => {
                progress.completed += contacts;
                progress.voicemail += if row.flag("voicemail")? { contacts } else { 0 };
            }
            "failed" => progress.failed += contacts,
            "cancelled" => progress.cancelled += contacts,
            other => return Err(StoreError::Damaged(format!("contact state `{other}`"))),
        }
    }
    Ok(progress)
}
