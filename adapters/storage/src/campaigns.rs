//! Campaigns: import, lists, and the store's port for both.

pub mod safeguards;

pub mod campaign_contacts;
pub mod campaign_edits;
pub mod campaign_reads;
pub mod campaign_rows;
pub mod contact_states;
pub mod more_to_dial;
pub mod refusals;
pub mod waiting_attempts;

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    id::{AccountId, AttemptId, CampaignId, NodeId},
    ports::store::{
        Account, ActiveCampaign, CREATED, CalledAgain, CampaignContact, CampaignEdit, CampaignFilter, CampaignRow,
        CampaignStatus, CampaignStore, ContactsAdded, KeyTicket, NewCampaign, Progress, StateChange, StoreError,
        StoreResult,
    },
    time::Timestamp,
};
use sqlx::any::AnyRow;

use crate::{
    accounts::{self, idempotency},
    campaigns::campaign_rows::{SELECT, VISIBLE, get, read, set_options},
    engine::{
        SqlStore, Work, locks,
        rows::{Columns, Conditions, Fetch, affected, composed, containing, found, to_json},
    },
    events::account_events,
};

/// Age below which an import without an owner is kept if several processes share the database: its process
/// may not be registered yet.
const NOBODYS_IMPORT_US: i64 = 60 * 60 * 1_000_000;

async fn get_own(mut work: Work<'_>, account: AccountId, id: CampaignId) -> StoreResult<CampaignRow> {
    let row = get(&mut work, id).await?;
    if row.account == account {
        Ok(row)
    } else {
        Err(StoreError::NotFound)
    }
}

/// Returns the first instant from now on at which the account created no other campaign; lists page by it.
async fn free_instant(work: &mut Work<'_>, account: &str, except: CampaignId) -> StoreResult<Timestamp> {
    locks::before_new_campaign(work, account).await?;
    let mut at = work.now;
    loop {
        let taken = sqlx::query("SELECT id FROM campaigns WHERE account = $1 AND created_at = $2 AND id <> $3")
            .bind(account.to_owned())
            .bind(at.0)
            .bind(except.to_string())
            .optional(&mut *work.conn)
            .await?;
        if taken.is_none() {
            return Ok(at);
        }
        at = Timestamp(at.0 + 1);
    }
}

async fn begin_import(
    mut work: Work<'_>,
    account: AccountId,
    new: NewCampaign,
    by: Option<NodeId>,
) -> StoreResult<CampaignId> {
    let id = CampaignId::new();
    let created_at = free_instant(&mut work, &account.to_string(), id).await?;
    let list = campaign_contacts::new_list(&mut work).await?;
    let insert = sqlx::query(
        "INSERT INTO campaigns (id, account, name, name_folded, agent, start_time, end_time, timezone, follow_up, \
         created_at, updated_at, status, contact_list, version, active, scheduled, contact_count, importing, imported_by) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11, $12, 1, 0, 0, 0, 1, $13)",
    )
    .bind(id.to_string())
    .bind(account.to_string())
    .bind(new.name.clone())
    .bind(new.name.to_lowercase())
    .bind(new.agent.to_string())
    .bind(new.schedule.start_time)
    .bind(new.schedule.end_time)
    .bind(new.schedule.timezone)
    .bind(to_json(&new.follow_up)?)
    .bind(created_at.0)
    .bind(CampaignStatus::Draft.as_str())
    .bind(list)
    .bind(by.map(|node| node.to_string()));
    affected(insert, &mut *work.conn).await?;
    set_options(&mut work, id, new.options).await?;
    Ok(id)
}

async fn finish_import(mut work: Work<'_>, import: CampaignId, ticket: Option<KeyTicket>) -> StoreResult<CampaignRow> {
    locks::before_campaign_change(&mut work, import).await?;
    if !campaign_edits::has_agent(&mut work, import).await? {
        return Err(StoreError::NotFound);
    }
    let row = sqlx::query("SELECT account FROM campaigns WHERE id = $1 AND importing = 1")
        .bind(import.to_string())
        .existing(&mut *work.conn)
        .await?;
    let account = row.text("account")?;
    let created_at = free_instant(&mut work, &account, import).await?;
    let update = sqlx::query("UPDATE campaigns SET importing = 0, created_at = $1, updated_at = $1 WHERE id = $2")
        .bind(created_at.0)
        .bind(import.to_string());
    affected(update, work.conn).await?;
    account_events::of_new_campaign(&mut work, import).await?;
    idempotency::settle(&mut work, ticket.as_ref(), CREATED, &import.to_string()).await?;
    get(&mut work, import).await
}

/// Deletes the row of an import; afterwards no campaign references its list, if it had one.
async fn delete_import(work: Work<'_>, import: CampaignId) -> StoreResult<Option<i64>> {
    let row = sqlx::query("DELETE FROM campaigns WHERE id = $1 AND importing = 1 RETURNING contact_list")
        .bind(import.to_string())
        .optional(work.conn)
        .await?;
    row.map(|row| row.int("contact_list")).transpose()
}

async fn delete_imports(work: Work<'_>) -> StoreResult<u64> {
    let before = match work.dialect.many_nodes {
        false => i64::MAX,
        true => work.now.0 - NOBODYS_IMPORT_US,
    };
    let delete = sqlx::query(
        "DELETE FROM campaigns WHERE importing = 1 AND CASE WHEN imported_by IS NULL THEN created_at <= $1 \
         ELSE imported_by NOT IN (SELECT n.id FROM nodes n WHERE n.state = 'live') END",
    );
    affected(delete.bind(before), work.conn).await
}

async fn list(work: Work<'_>, account: AccountId, filter: CampaignFilter, limit: i64) -> StoreResult<Vec<CampaignRow>> {
    let mut wanted = Conditions::default();
    wanted.and(&format!("c.account = ? AND {VISIBLE}"), [account.to_string().into()]);
    if let Some(name) = filter.name {
        let pattern = containing(&name.to_lowercase());
        wanted.and("c.name_folded LIKE ? ESCAPE '!'", [pattern.into()]);
    }
    if let Some(status) = filter.status {
        wanted.and("c.status = ?", [status.as_str().into()]);
    }
    if let Some(active) = filter.active {
        wanted.and("c.active = ?", [i64::from(active).into()]);
    }
    if let Some(before) = filter.before {
        wanted.and("c.created_at < ?", [before.0.into()]);
    }
    let query = wanted.query(SELECT, "ORDER BY c.created_at DESC", limit);
    query.read_all(work.conn, read).await
}

/// Condition for the campaigns that dial, or will by themselves.
const ACTIVE: &str = "(c.status IN ('waiting', 'running', 'delayed') OR (c.status = 'paused' AND c.active = 1))";

async fn active(work: Work<'_>) -> StoreResult<Vec<CampaignRow>> {
    let query = composed(format!(
        "{SELECT} WHERE {VISIBLE} AND {ACTIVE} ORDER BY c.created_at, c.id"
    ));
    query.read_all(work.conn, read).await
}

async fn active_versions(work: Work<'_>) -> StoreResult<Vec<ActiveCampaign>> {
    let query = composed(format!(
        "SELECT c.id, c.account, c.version FROM campaigns c WHERE {VISIBLE} AND {ACTIVE}"
    ));
    let rows = query.all(work.conn).await?;
    let mark = |row: &AnyRow| {
        Ok(ActiveCampaign {
            id: row.id("id")?,
            account: row.id("account")?,
            version: row.int("version")?,
        })
    };
    rows.iter().map(mark).collect()
}

async fn want_hang_up(work: Work<'_>, id: CampaignId, version: i64) -> StoreResult<()> {
    let update = sqlx::query("UPDATE campaigns SET hang_up_version = $1 WHERE id = $2");
    found(affected(update.bind(version).bind(id.to_string()), work.conn).await?)
}

async fn hang_up_wanted(work: Work<'_>, id: CampaignId, version: i64) -> StoreResult<bool> {
    let query = sqlx::query("SELECT id FROM campaigns WHERE id = $1 AND hang_up_version = $2");
    let row = query.bind(id.to_string()).bind(version).optional(work.conn).await?;
    Ok(row.is_some())
}

impl SqlStore {
    /// Deletes an unreferenced list in many small transactions, so that a large one does not delay a permit.
    async fn remove_list(&self, list: i64) -> StoreResult<()> {
        let some = move || self.write(move |work| Box::pin(campaign_contacts::delete_some(work, list)));
        while some().await? {}
        Ok(())
    }
}

#[async_trait]
impl CampaignStore for SqlStore {
    async fn begin_import(&self, account: AccountId, new: NewCampaign) -> StoreResult<CampaignId> {
        let by = self.me();
        self.write(move |work| Box::pin(begin_import(work, account, new, by)))
            .await
    }

    async fn append_contacts(&self, import: CampaignId, contacts: &[CampaignContact]) -> StoreResult<()> {
        let (count, rows) = (contacts.len() as i64, campaign_contacts::rows_of(contacts)?);
        self.write(move |work| Box::pin(campaign_contacts::append(work, import, count, rows)))
            .await
    }

    async fn finish_import(&self, import: CampaignId, ticket: Option<&KeyTicket>) -> StoreResult<CampaignRow> {
        let ticket = ticket.cloned();
        self.write(move |work| Box::pin(finish_import(work, import, ticket)))
            .await
    }

    async fn abandon_import(&self, import: CampaignId) -> StoreResult<()> {
        let list = self.write(move |work| Box::pin(delete_import(work, import))).await?;
        match list {
            Some(list) => self.remove_list(list).await,
            None => Ok(()),
        }
    }

    async fn sweep_imports(&self) -> StoreResult<u64> {
        self.write(|work| Box::pin(delete_imports(work))).await
    }

    async fn sweep_lists(&self) -> StoreResult<u64> {
        let mut swept = 0;
        while let Some(list) = self.read(|work| Box::pin(campaign_contacts::loose_list(work))).await? {
            self.remove_list(list).await?;
            swept += 1;
        }
        Ok(swept)
    }

    async fn campaign(&self, account: AccountId, id: CampaignId) -> StoreResult<CampaignRow> {
        self.read(move |work| Box::pin(get_own(work, account, id))).await
    }

    async fn campaign_contacts(&self, id: CampaignId, from: i64, limit: i64) -> StoreResult<Vec<CampaignContact>> {
        self.read(move |work| Box::pin(campaign_contacts::list(work, id, from, limit)))
            .await
    }

    async fn progress(&self, id: CampaignId) -> StoreResult<Progress> {
        self.read(move |work| Box::pin(contact_states::progress(work, id)))
            .await
    }

    async fn campaigns(&self, account: AccountId, filter: CampaignFilter, limit: i64) -> StoreResult<Vec<CampaignRow>> {
        self.read(move |work| Box::pin(list(work, account, filter, limit)))
            .await
    }

    async fn change_state(&self, id: CampaignId, version: i64, change: StateChange) -> StoreResult<CampaignRow> {
        self.write(move |mut work| {
            Box::pin(async move { campaign_edits::change_state(&mut work, id, version, change).await })
        })
        .await
    }

    async fn update_campaign(
        &self,
        id: CampaignId,
        version: i64,
        edit: CampaignEdit,
        change: StateChange,
    ) -> StoreResult<CampaignRow> {
        self.write(move |work| Box::pin(campaign_edits::update(work, id, version, edit, change)))
            .await
    }

    async fn add_contacts(
        &self,
        id: CampaignId,
        import: CampaignId,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<ContactsAdded> {
        let seen = self.read(move |work| Box::pin(more_to_dial::present(work, id, import)));
        let (seen, ticket) = (Arc::new(seen.await?), ticket.cloned());
        self.write_compared(move |work| Box::pin(more_to_dial::add_contacts(work, id, import, seen, ticket)))
            .await
    }

    async fn call_again(
        &self,
        id: CampaignId,
        last: &[AttemptId],
        earlier: i64,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<CalledAgain> {
        let (last, ticket) = (last.to_vec(), ticket.cloned());
        self.write_compared(move |work| Box::pin(more_to_dial::call_again(work, id, last, earlier, ticket)))
            .await
    }

    async fn delete_campaign(&self, id: CampaignId, version: i64) -> StoreResult<()> {
        self.write(move |work| Box::pin(campaign_edits::delete(work, id, version)))
            .await
    }

    async fn active_campaigns(&self) -> StoreResult<Vec<CampaignRow>> {
        self.read(|work| Box::pin(active(work))).await
    }

    async fn active_versions(&self) -> StoreResult<Vec<ActiveCampaign>> {
        self.read(|work| Box::pin(active_versions(work))).await
    }

    async fn want_hang_up(&self, id: CampaignId, version: i64) -> StoreResult<()> {
        self.write(move |work| Box::pin(want_hang_up(work, id, version))).await
    }

    async fn hang_up_wanted(&self, id: CampaignId, version: i64) -> StoreResult<bool> {
        self.read(move |work| Box::pin(hang_up_wanted(work, id, version))).await
    }

    async fn account(&self, id: AccountId) -> StoreResult<Account> {
        self.read(move |work| Box::pin(accounts::get(work, id))).await
    }
}
