//! The other person of a call: as the call knew them, and as they are known before it.

use domain::{
    id::AttemptId,
    ports::store::{CalleeRecord, CampaignContact, StoreResult},
};
use serde_json::{Map, Value};
use sqlx::any::AnyRow;

use crate::engine::{
    Work,
    rows::{Columns, Fetch, to_json},
};

/// Name of the other person of attempt `a`, with [`JOINS`].
pub(crate) const NAME: &str =
    "CASE WHEN a.words_kept = 1 THEN COALESCE(a.contact_name, r.name, s.name) END AS contact_name";

/// Columns for [`read`] of attempt `a` in addition to [`NAME`].
pub(crate) const FIELDS: &str = "CASE WHEN a.words_kept = 1 THEN a.variables END AS variables, r.email AS row_email, \
     CASE WHEN a.words_kept = 1 THEN COALESCE(r.extra, s.variables) END AS row_fields";

/// Rows that stand in for what attempt `a` does not keep: it waits for its dial, or an older version dialed it.
pub(crate) const JOINS: &str = "LEFT JOIN campaign_contacts r ON a.variables IS NULL AND r.list = a.contact_list \
     AND r.idx = a.contact_index LEFT JOIN single_calls s ON a.variables IS NULL AND s.attempt = a.id";

pub(crate) fn read(row: &AnyRow) -> StoreResult<CalleeRecord> {
    let contact_name = row.maybe_text("contact_name")?;
    if row.maybe_text("variables")?.is_some() {
        return Ok(CalleeRecord {
            contact_name,
            variables: Some(row.json("variables")?),
        });
    }
    match row.maybe_text("row_fields")? {
        None => Ok(CalleeRecord::default()),
        Some(_) => {
            let fields: Map<String, Value> = row.json("row_fields")?;
            let email = row.maybe_text("row_email")?;
            Ok(CalleeRecord::new(contact_name, email.as_deref(), [&fields]))
        }
    }
}

/// Returns the values given for a call without a campaign.
pub(crate) async fn given_variables(work: &mut Work<'_>, attempt: AttemptId) -> StoreResult<Map<String, Value>> {
    let query = sqlx::query("SELECT variables FROM single_calls WHERE attempt = $1").bind(attempt.to_string());
    match query.optional(&mut *work.conn).await? {
        Some(row) => row.json("variables"),
        None => Ok(Map::new()),
    }
}

/// Returns the name and the fields, as JSON, that an attempt keeps when it is dialed now.
pub(crate) async fn at_the_dial(work: &mut Work<'_>, attempt: AttemptId) -> StoreResult<(Option<String>, String)> {
    let Known { contact, given } = known(work.again(), attempt).await?;
    let kept = CalleeRecord::new(contact.name, contact.email.as_deref(), [&given, &contact.extra]);
    Ok((kept.contact_name, to_json(&kept.variables)?))
}

/// Returns the person with the name of the call, and with the saved contact as it is now. Nothing but the number and
/// the saved contact's id is left of a call whose words are erased.
pub(crate) async fn contact_of(work: Work<'_>, attempt: AttemptId) -> StoreResult<CampaignContact> {
    known(work, attempt).await.map(|known| known.contact)
}

/// The person of [`contact_of`], and the values given for a call without a campaign.
struct Known {
    contact: CampaignContact,
    given: Map<String, Value>,
}

async fn known(work: Work<'_>, attempt: AttemptId) -> StoreResult<Known> {
    let query = sqlx::query(
        "SELECT a.phone_number, a.words_kept, COALESCE(p.email, c.email) AS email, p.extra, c.id AS saved, \
         c.extra AS saved_extra, s.variables AS given, \
         CASE WHEN a.variables IS NULL THEN COALESCE(p.name, s.name, c.name) ELSE a.contact_name END AS name \
         FROM attempts a \
         LEFT JOIN campaign_contacts p ON p.list = a.contact_list AND p.idx = a.contact_index \
         LEFT JOIN single_calls s ON s.attempt = a.id \
         LEFT JOIN contacts c ON c.account = a.account AND c.phone_number = a.phone_number \
         WHERE a.id = $1",
    );
    let row = query.bind(attempt.to_string()).existing(work.conn).await?;
    let mut contact = CampaignContact {
        phone_number: row.number("phone_number")?,
        contact: row.maybe_id("saved")?,
        name: None,
        email: None,
        extra: Map::new(),
    };
    let given = match row.maybe_text("given")? {
        Some(_) => row.json("given")?,
        None => Map::new(),
    };
    if !row.flag("words_kept")? {
        return Ok(Known { contact, given });
    }
    contact.name = row.maybe_text("name")?;
    contact.email = row.maybe_text("email")?;
    for column in ["extra", "saved_extra"] {
        if row.maybe_text(column)?.is_some() {
            for (name, value) in row.json::<Map<String, Value>>(column)? {
                contact.extra.entry(name).or_insert(value);
            }
        }
    }
    Ok(Known { contact, given })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::ports::store::{ConversationFilter, ConversationStatus, DeliveryStore, ErasureStore};
    use testkit::store_conformance::{Fixture, ManualClock, Scene, callee, outcome};

    use super::*;
    use crate::engine::{SqlStore, rows::affected};

    /// Makes all calls as an older version stored them.
    async fn age(work: Work<'_>) -> StoreResult<()> {
        let update = sqlx::query("UPDATE attempts SET contact_name = NULL, variables = NULL WHERE state = 'final'");
        affected(update, work.conn).await.map(drop)
    }

    async fn listed(scene: &Scene) -> CalleeRecord {
        let filter = ConversationFilter::default();
        let mut rows = scene.store.conversations(scene.account, filter, 9).await.unwrap();
        rows.remove(0).callee
    }

    #[tokio::test]
    async fn a_call_of_an_older_version_has_the_row_of_its_campaign() {
        let clock = Arc::new(ManualClock::new());
        let store = Arc::new(SqlStore::open("sqlite::memory:", clock.clone()).await.unwrap());
        let fixture = Fixture {
            store: store.clone(),
            clock,
        };
        let scene = fixture.scene().await;
        let campaign = scene.running(0..1).await;
        let claim = scene.dialing(campaign).await;
        let failed = outcome(ConversationStatus::Failed);
        scene.store.finish(claim, failed, None).await.unwrap();
        store.write(|work| Box::pin(age(work))).await.unwrap();
        assert_eq!(listed(&scene).await, callee(0));
        assert_eq!(
            store.contact_of(claim.attempt).await.unwrap().name,
            callee(0).contact_name
        );
        scene.clock.advance(std::time::Duration::from_secs(60));
        assert_eq!(store.erase_words(scene.now(), 9).await, Ok(1));
        assert_eq!(listed(&scene).await, CalleeRecord::default());
    }
}
