//! Transfer rules and the agents that use them.

use std::collections::BTreeSet;

use async_trait::async_trait;
use domain::{
    agent::{TransferRule, referenced_rules},
    id::{AccountId, TransferRuleId},
    ports::store::{
        AgentRow, CREATED, KeyTicket, Removal, StoreError, StoreResult, TransferRuleRow, TransferRuleStore,
    },
    time::Timestamp,
};
use sqlx::any::AnyRow;

use super::held_rows::{self, HeldRow};
use crate::{
    accounts::idempotency,
    engine::{
        SqlStore, Work,
        rows::{Columns, Fetch, composed, containing, to_json, unavailable},
    },
};

const COLUMNS: &str = "id, account, rule, version, created_at, updated_at";

impl HeldRow for TransferRuleRow {
    const TABLE: &'static str = "transfer_rules";
    const COLUMNS: &'static str = COLUMNS;
    const HELD_IN: (&'static str, &'static str) = ("agent_transfer_rules", "rule");

    fn read(row: &AnyRow) -> StoreResult<Self> {
        Ok(Self {
            id: row.id("id")?,
            account: row.id("account")?,
            rule: row.json("rule")?,
            version: row.int("version")?,
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
        })
    }
}

#[async_trait]
impl TransferRuleStore for SqlStore {
    async fn create_transfer_rule(
        &self,
        account: AccountId,
        new: TransferRule,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<TransferRuleRow> {
        let ticket = ticket.cloned();
        self.write(move |work| Box::pin(create(work, account, new, ticket)))
            .await
    }

    async fn transfer_rule(&self, account: AccountId, id: TransferRuleId) -> StoreResult<TransferRuleRow> {
        self.read(move |work| Box::pin(held_rows::get(work, account, id.to_string())))
            .await
    }

    async fn transfer_rules(
        &self,
        account: AccountId,
        after: Option<(Timestamp, TransferRuleId)>,
        limit: i64,
    ) -> StoreResult<Vec<TransferRuleRow>> {
        let after = after.map(|(at, id)| (at, id.to_string()));
        self.read(move |work| Box::pin(held_rows::list(work, account, after, limit)))
            .await
    }

    async fn transfer_rules_of(&self, account: AccountId, ids: &[TransferRuleId]) -> StoreResult<Vec<TransferRuleRow>> {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        self.read(move |mut work| Box::pin(async move { held_rows::known(&mut work, account, &ids).await }))
            .await
    }

    async fn update_transfer_rule(
        &self,
        account: AccountId,
        id: TransferRuleId,
        version: i64,
        new: TransferRule,
    ) -> StoreResult<TransferRuleRow> {
        self.change(account, move |work| Box::pin(update(work, account, id, version, new)))
            .await
    }

    async fn delete_transfer_rule(&self, account: AccountId, id: TransferRuleId) -> StoreResult<Removal> {
        self.change(account, move |work| {
            Box::pin(held_rows::delete::<TransferRuleRow>(work, account, id.to_string()))
        })
        .await
    }
}

async fn create(
    mut work: Work<'_>,
    account: AccountId,
    new: TransferRule,
    ticket: Option<KeyTicket>,
) -> StoreResult<TransferRuleRow> {
    let id = TransferRuleId::new();
    let insert = composed(format!(
        "INSERT INTO transfer_rules ({COLUMNS}) VALUES ($1, $2, $3, 1, $4, $4)"
    ));
    insert
        .bind(id.to_string())
        .bind(account.to_string())
        .bind(to_json(&new)?)
        .bind(work.now.0)
        .execute(&mut *work.conn)
        .await
        .map_err(unavailable)?;
    idempotency::settle(&mut work, ticket.as_ref(), CREATED, &id.to_string()).await?;
    Ok(TransferRuleRow {
        id,
        account,
        rule: new,
        version: 1,
        created_at: work.now,
        updated_at: work.now,
    })
}

async fn update(
    work: Work<'_>,
    account: AccountId,
    id: TransferRuleId,
    version: i64,
    new: TransferRule,
) -> StoreResult<TransferRuleRow> {
    let update = composed(format!(
        "UPDATE transfer_rules SET rule = $1, updated_at = $2, version = version + 1 \
         WHERE id = $3 AND account = $4 AND version = $5 RETURNING {COLUMNS}"
    ));
    let row = update
        .bind(to_json(&new)?)
        .bind(work.now.0)
        .bind(id.to_string())
        .bind(account.to_string())
        .bind(version)
        .optional(&mut *work.conn)
        .await?;
    held_rows::updated(work, account, id.to_string(), row).await
}

/// Stores which rules an agent's document names; earlier ones were cleared before. Other texts, rules of other accounts and
/// ids that were named before, by this agent or by the one that it copies, are ignored. Otherwise the rule was just
/// deleted: `Stale`.
pub(crate) async fn hold(work: &mut Work<'_>, agent: &AgentRow) -> StoreResult<()> {
    let named: BTreeSet<String> = referenced_rules(&agent.document)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    let named: Vec<String> = named.into_iter().collect();
    let found = held_rows::known::<TransferRuleRow>(work, agent.account, &named).await?;
    for id in &named {
        match found.iter().any(|row| row.id.to_string() == *id) {
            true => held_rows::hold::<TransferRuleRow>(work, agent.id, id.clone()).await?,
            false if id.parse::<TransferRuleId>().is_ok() => require_named_before(work, agent, id).await?,
            false => {}
        }
    }
    Ok(())
}

async fn require_named_before(work: &mut Work<'_>, agent: &AgentRow, rule: &str) -> StoreResult<()> {
    let query = sqlx::query(
        "SELECT id FROM agents WHERE account = $1 AND id <> $2 AND deleted_at IS NULL AND document LIKE $3 ESCAPE '!' \
         UNION ALL SELECT v.agent FROM agent_versions v JOIN agents g ON g.id = v.agent AND v.version = g.version - 1 \
         WHERE g.id = $2 AND v.document LIKE $3 ESCAPE '!' \
         UNION ALL SELECT id FROM transfer_rules WHERE id = $4 LIMIT 1",
    );
    let query = query.bind(agent.account.to_string()).bind(agent.id.to_string());
    let row = query
        .bind(containing(&to_json(&rule)?))
        .bind(rule.to_owned())
        .optional(&mut *work.conn)
        .await?;
    row.map(drop).ok_or(StoreError::Stale)
}
