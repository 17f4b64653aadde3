//! Contacts of campaigns, in lists. The index counts from 0 within a list, without gaps.

use domain::{
    id::CampaignId,
    ports::store::{CampaignContact, StoreError, StoreResult},
};
use serde_json::{Map, Value};
use sqlx::any::AnyRow;

use super::campaign_rows;
use crate::engine::{
    Work,
    rows::{Columns, Fetch, affected, composed, to_json},
};

/// Rows that one transaction deletes.
const ROWS_PER_DELETE: i64 = 5_000;

/// Creates an empty list.
pub(crate) async fn new_list(work: &mut Work<'_>) -> StoreResult<i64> {
    let list = rand::random_range(1..=i64::MAX);
    let insert = sqlx::query("INSERT INTO contact_lists (id, next_index) VALUES ($1, 0)").bind(list);
    affected(insert, work.conn).await?;
    Ok(list)
}

pub(crate) async fn append(work: Work<'_>, import: CampaignId, count: i64, rows: String) -> StoreResult<()> {
    let row = sqlx::query(
        "UPDATE campaigns SET contact_count = contact_count + $1 WHERE id = $2 AND importing = 1 \
         RETURNING contact_list, contact_count",
    )
    .bind(count)
    .bind(import.to_string())
    .existing(&mut *work.conn)
    .await?;
    let list = row.int("contact_list")?;
    let index = row.int("contact_count")? - count;
    let insert = composed(format!(
        "INSERT INTO campaign_contacts (list, idx, phone_number, name, email, extra) {}",
        work.dialect.contacts_of_json
    ));
    let insert = insert.bind(list).bind(index).bind(rows);
    match affected(insert, work.conn).await? {
        added if added == count as u64 => Ok(()),
        added => Err(StoreError::Damaged(format!("{added} of {count} contacts were added"))),
    }
}

/// Encodes contacts for [`append`]: each contact as an array, with its further fields as JSON text inside it.
pub(crate) fn rows_of(contacts: &[CampaignContact]) -> StoreResult<String> {
    let mut rows = Vec::with_capacity(contacts.len() * 128);
    rows.push(b'[');
    for (index, contact) in contacts.iter().enumerate() {
        if index > 0 {
            rows.push(b',');
        }
        let row = (
            contact.phone_number.as_str(),
            &contact.name,
            &contact.email,
            to_json(&contact.extra)?,
        );
        serde_json::to_writer(&mut rows, &row).map_err(|error| StoreError::Damaged(error.to_string()))?;
    }
    rows.push(b']');
    String::from_utf8(rows).map_err(|error| StoreError::Damaged(error.to_string()))
}

/// Returns a list that no campaign references, whose contacts must be deleted.
pub(crate) async fn loose_list(work: Work<'_>) -> StoreResult<Option<i64>> {
    let row = sqlx::query(
        "SELECT id FROM contact_lists WHERE NOT EXISTS \
         (SELECT 1 FROM campaigns WHERE campaigns.contact_list = contact_lists.id) LIMIT 1",
    )
    .optional(work.conn)
    .await?;
    row.map(|row| row.int("id")).transpose()
}

/// Deletes some rows of a list that no campaign references, and finally the list itself. Returns false when
/// nothing is left.
pub(crate) async fn delete_some(work: Work<'_>, list: i64) -> StoreResult<bool> {
    for table in ["campaign_contacts", "contact_states"] {
        let delete = composed(format!(
            "DELETE FROM {table} WHERE list = $1 AND idx IN \
             (SELECT idx FROM {table} WHERE list = $1 ORDER BY idx LIMIT $2)"
        ));
        let deleted = affected(delete.bind(list).bind(ROWS_PER_DELETE), work.conn).await?;
        if deleted > 0 {
            return Ok(true);
        }
    }
    let delete = sqlx::query("DELETE FROM contact_lists WHERE id = $1").bind(list);
    affected(delete, work.conn).await?;
    Ok(false)
}

/// Columns for `read`, from `campaign_contacts cc` and their campaign `c`. The saved contact is looked up
/// when the row is read, so it is never a deleted one.
pub(crate) const COLUMNS: &str = "cc.idx, cc.phone_number, cc.name, cc.email, cc.extra, \
     (SELECT s.id FROM contacts s WHERE s.account = c.account AND s.phone_number = cc.phone_number) AS saved";

/// Extra column of a claim for `read_saved_extra`: the saved contact's further fields.
pub(crate) const SAVED_EXTRA: &str =
    "(SELECT s.extra FROM contacts s WHERE s.account = c.account AND s.phone_number = cc.phone_number) AS saved_extra";

pub(crate) fn read_saved_extra(row: &AnyRow) -> StoreResult<Map<String, Value>> {
    match row.maybe_text("saved_extra")? {
        Some(_) => row.json("saved_extra"),
        None => Ok(Map::new()),
    }
}

pub(crate) fn read(row: &AnyRow) -> StoreResult<CampaignContact> {
    Ok(CampaignContact {
        phone_number: row.number("phone_number")?,
        contact: row.maybe_id("saved")?,
        name: row.maybe_text("name")?,
        email: row.maybe_text("email")?,
        extra: row.json("extra")?,
    })
}

pub(crate) async fn list(
    mut work: Work<'_>,
    campaign: CampaignId,
    from: i64,
    limit: i64,
) -> StoreResult<Vec<CampaignContact>> {
    let (list, _) = campaign_rows::visible_list(&mut work, campaign).await?;
    let query = composed(format!(
        "SELECT {COLUMNS} FROM campaign_contacts cc JOIN campaigns c ON c.id = $1 \
         WHERE cc.list = $2 AND cc.idx >= $3 ORDER BY cc.idx LIMIT $4"
    ));
    let query = query.bind(campaign.to_string()).bind(list).bind(from);
    query.bind(limit.max(0)).read_all(work.conn, read).await
}

/// Gives the campaign the contacts of an import of its account, and ends the import. Afterwards no campaign
/// references the earlier list.
pub(crate) async fn replace(work: &mut Work<'_>, campaign: CampaignId, import: CampaignId) -> StoreResult<()> {
    let row = sqlx::query(
        "DELETE FROM campaigns WHERE id = $2 AND importing = 1 \
         AND account = (SELECT c.account FROM campaigns c WHERE c.id = $1) RETURNING contact_list, contact_count",
    )
    .bind(campaign.to_string())
    .bind(import.to_string())
    .existing(&mut *work.conn)
    .await?;
    let update = sqlx::query("UPDATE campaigns SET contact_list = $2, contact_count = $3 WHERE id = $1")
        .bind(campaign.to_string())
        .bind(row.int("contact_list")?)
        .bind(row.int("contact_count")?);
    affected(update, work.conn).await.map(drop)
}
