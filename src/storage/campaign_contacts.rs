//! The contacts of campaigns. An index counts from 0 in its campaign, without gaps.

use actors::{
    id::CampaignId,
    ports::store::{CampaignContact, Progress, StoreError, StoreResult},
};
use serde_json::{Map, Value};
use sqlx::any::AnyRow;

use super::{
    Work, campaigns,
    rows::{Columns, ROWS_PER_INSERT, affected, insert_rows, to_json, unavailable},
};

/// Rows that one transaction removes.
const ROWS_PER_DELETE: i64 = 5_000;

/// How a contact stands in its campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContactState {
    Pending,
    Completed,
    Failed,
    Cancelled,
}

impl ContactState {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

pub(super) async fn append(work: Work<'_>, import: CampaignId, contacts: Vec<CampaignContact>) -> StoreResult<()> {
    let count = contacts.len() as i64;
    let row = sqlx::query(
        "UPDATE campaigns SET contact_count = contact_count + $1 WHERE id = $2 AND importing = 1 \
         RETURNING contact_count",
    )
    .bind(count)
    .bind(import.to_string())
    .fetch_optional(&mut *work.conn)
    .await
    .map_err(unavailable)?;
    let mut index = row.ok_or(StoreError::NotFound)?.int("contact_count")? - count;
    for chunk in contacts.chunks(ROWS_PER_INSERT) {
        let mut insert = insert_rows(
            "INSERT INTO campaign_contacts \
             (campaign, idx, phone_number, name, email, extra, state, attempts, voicemail) VALUES",
            chunk.len(),
            9,
            "",
        );
        for contact in chunk {
            insert = insert
                .bind(import.to_string())
                .bind(index)
                .bind(contact.phone_number.as_str().to_owned())
                .bind(contact.name.clone())
                .bind(contact.email.clone())
                .bind(to_json(&contact.extra)?)
                .bind(ContactState::Pending.as_str())
                .bind(0_i64)
                .bind(0_i64);
            index += 1;
        }
        affected(insert, work.conn).await?;
    }
    Ok(())
}

/// Removes some contacts of an import that was given up; false when none were left.
pub(super) async fn delete_some(work: Work<'_>, import: CampaignId) -> StoreResult<bool> {
    let delete = sqlx::query(
        "DELETE FROM campaign_contacts WHERE campaign = $1 AND idx IN \
         (SELECT cc.idx FROM campaign_contacts cc JOIN campaigns c ON c.id = cc.campaign \
          WHERE cc.campaign = $1 AND c.importing = 1 ORDER BY cc.idx LIMIT $2)",
    )
    .bind(import.to_string())
    .bind(ROWS_PER_DELETE);
    Ok(affected(delete, work.conn).await? > 0)
}

/// The columns `read` wants, of `campaign_contacts cc` joined to its campaign `c`. The saved contact is looked up when
/// the row is read, so that it is never one that was deleted.
pub(super) const COLUMNS: &str = "cc.idx, cc.phone_number, cc.name, cc.email, cc.extra, \
     (SELECT s.id FROM contacts s WHERE s.account = c.account AND s.phone_number = cc.phone_number) AS saved";

/// One more for a claim, which `read_saved_extra` wants: the saved contact's further fields.
pub(super) const SAVED_EXTRA: &str =
    "(SELECT s.extra FROM contacts s WHERE s.account = c.account AND s.phone_number = cc.phone_number) AS saved_extra";

pub(super) fn read_saved_extra(row: &AnyRow) -> StoreResult<Map<String, Value>> {
    match row.maybe_text("saved_extra")? {
        Some(_) => row.json("saved_extra"),
        None => Ok(Map::new()),
    }
}

pub(super) fn read(row: &AnyRow) -> StoreResult<CampaignContact> {
    Ok(CampaignContact {
        phone_number: row.number("phone_number")?,
        contact: row.maybe_id("saved")?,
        name: row.maybe_text("name")?,
        email: row.maybe_text("email")?,
        extra: row.json("extra")?,
    })
}

pub(super) async fn list(
    mut work: Work<'_>,
    campaign: CampaignId,
    from: i64,
    limit: i64,
) -> StoreResult<Vec<CampaignContact>> {
    campaigns::require_visible(&mut work, campaign).await?;
    let sql = format!(
        "SELECT {COLUMNS} FROM campaign_contacts cc JOIN campaigns c ON c.id = cc.campaign \
         WHERE cc.campaign = $1 AND cc.idx >= $2 ORDER BY cc.idx LIMIT $3"
    );
    let query = super::rows::composed(sql).bind(campaign.to_string()).bind(from);
    let rows = query.bind(limit.max(0)).fetch_all(work.conn).await;
    rows.map_err(unavailable)?.iter().map(read).collect()
}

pub(super) async fn progress(mut work: Work<'_>, campaign: CampaignId) -> StoreResult<Progress> {
    campaigns::require_visible(&mut work, campaign).await?;
    let rows = sqlx::query(
        "SELECT voicemail, state, COUNT(*) AS contacts FROM campaign_contacts WHERE campaign = $1 \
         GROUP BY voicemail, state",
    )
    .bind(campaign.to_string())
    .fetch_all(work.conn)
    .await
    .map_err(unavailable)?;
    let mut progress = Progress::default();
    for row in &rows {
        let contacts = row.int("contacts")?;
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

/// Which contact of which campaign.
#[derive(Debug, Clone)]
pub(super) struct ContactKey {
    pub(super) campaign: String,
    pub(super) index: i64,
}

/// Sets a contact's state; `voicemail` says whether a machine answered last.
pub(super) async fn set_state(
    work: &mut Work<'_>,
    key: &ContactKey,
    state: ContactState,
    voicemail: bool,
) -> StoreResult<()> {
    let update =
        sqlx::query("UPDATE campaign_contacts SET state = $1, voicemail = $2 WHERE campaign = $3 AND idx = $4")
            .bind(state.as_str())
            .bind(i64::from(voicemail))
            .bind(key.campaign.clone())
            .bind(key.index);
    affected(update, work.conn).await.map(drop)
}

/// The contact is as if it had never been claimed.
pub(super) async fn set_untried(work: &mut Work<'_>, key: &ContactKey) -> StoreResult<()> {
    let update =
        sqlx::query("UPDATE campaign_contacts SET state = 'pending', attempts = 0 WHERE campaign = $1 AND idx = $2")
            .bind(key.campaign.clone())
            .bind(key.index);
    affected(update, work.conn).await.map(drop)
}
