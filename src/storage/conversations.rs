//! Attempts as readers see them.

use actors::{
    id::{AccountId, AttemptId},
    ports::store::{Analysis, ConversationFilter, ConversationRow, ConversationStatus, StoreError, StoreResult},
};
use sqlx::any::AnyRow;

use super::{
    Work,
    rows::{Columns, Conditions, composed, unavailable},
};

/// What `read` wants; lists leave the analysis on its page of the file.
const COLUMNS: &str = "a.id, a.account, a.campaign, a.agent, g.name AS agent_name, a.status, a.started_at, \
     a.answered_at, a.ended_at, a.phone_number, a.caller_id, a.carrier, a.error, a.voicemail, a.transferred, \
     a.collected, a.summary, a.created_at";
const FROM: &str = "FROM attempts a JOIN agents g ON g.id = a.agent";

fn read(row: &AnyRow) -> StoreResult<ConversationRow> {
    Ok(ConversationRow {
        id: row.id("id")?,
        account: row.id("account")?,
        campaign: row.maybe_id("campaign")?,
        agent: row.id("agent")?,
        agent_name: row.text("agent_name")?,
        status: row.word("status", ConversationStatus::parse)?,
        started_at: row.time("started_at")?,
        answered_at: row.maybe_time("answered_at")?,
        ended_at: row.maybe_time("ended_at")?,
        contact_number: row.number("phone_number")?,
        caller_number: row.maybe_number("caller_id")?,
        carrier: row.maybe_text("carrier")?,
        error: row.maybe_text("error")?,
        voicemail: row.flag("voicemail")?,
        transferred: row.flag("transferred")?,
        collected: row.json("collected")?,
        analysis: row.maybe_text("summary")?.map(Analysis::of_summary),
        created_at: row.time("created_at")?,
    })
}

/// One conversation; without an account for the service's own jobs.
pub(super) async fn get(work: Work<'_>, account: Option<AccountId>, id: AttemptId) -> StoreResult<ConversationRow> {
    let query = composed(format!(
        "SELECT {COLUMNS}, a.analysis {FROM} WHERE a.id = $1 AND ($2 IS NULL OR a.account = $2)"
    ));
    let row = query
        .bind(id.to_string())
        .bind(account.map(|account| account.to_string()));
    let row = row.fetch_optional(work.conn).await.map_err(unavailable)?;
    let row = row.ok_or(StoreError::NotFound)?;
    let mut conversation = read(&row)?;
    if row.maybe_text("analysis")?.is_some() {
        conversation.analysis = Some(row.json("analysis")?);
    }
    Ok(conversation)
}

fn conditions(account: AccountId, filter: &ConversationFilter) -> Conditions {
    let mut wanted = Conditions::default();
    wanted.and("a.account = ?", [account.to_string().into()]);
    if let Some(agent) = filter.agent {
        wanted.and("a.agent = ?", [agent.to_string().into()]);
    }
    if let Some(campaign) = filter.campaign {
        wanted.and("a.campaign = ?", [campaign.to_string().into()]);
    }
    if let Some(status) = filter.status {
        wanted.and("a.status = ?", [status.as_str().into()]);
    }
    if let Some(before) = filter.started_before {
        wanted.and("a.started_at < ?", [before.0.into()]);
    }
    if let Some(after) = filter.started_after {
        wanted.and("a.started_at > ?", [after.0.into()]);
    }
    if let Some(seconds) = filter.min_duration {
        let least_us = seconds.saturating_mul(1_000_000);
        wanted.and("COALESCE(a.ended_at - a.answered_at, 0) >= ?", [least_us.into()]);
    }
    if let Some((started_at, id)) = filter.after {
        wanted.and(
            "(a.started_at, a.id) < (?, ?)",
            [started_at.0.into(), id.to_string().into()],
        );
    }
    wanted
}

pub(super) async fn list(
    work: Work<'_>,
    account: AccountId,
    filter: ConversationFilter,
    limit: i64,
) -> StoreResult<Vec<ConversationRow>> {
    let head = format!("SELECT {COLUMNS} {FROM}");
    let query = conditions(account, &filter).query(&head, "ORDER BY a.started_at DESC, a.id DESC", limit);
    let rows = query.fetch_all(work.conn).await.map_err(unavailable)?;
    rows.iter().map(read).collect()
}
