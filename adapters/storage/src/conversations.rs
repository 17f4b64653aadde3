//! Attempts as readers see them.

pub mod analytics;
pub mod appointments;
pub mod call_counting;
pub mod call_notes;
pub mod calls_in_progress;
pub mod conversation_pages;
pub mod facts;
pub mod jobs;
pub mod recordings;
pub mod records;
pub mod retention;
pub mod transcripts;
pub mod turns;

use domain::{
    id::{AccountId, AttemptId},
    ports::{
        store::{
            Analysis, CallDirection, ConversationFilter, ConversationPage, ConversationRow, ConversationStatus,
            MOST_COUNTED, SentimentLabel, StoreResult,
        },
        usage::USAGE,
    },
};
use sqlx::any::AnyRow;

use crate::{
    callee,
    conversations::conversation_pages::Pages,
    engine::{
        Work,
        page_limits::PageLimits,
        rows::{Columns, Fetch, composed},
    },
};

/// Columns for `read` beside those of the callee; lists do not read the analysis from its page of the file.
const COLUMNS: &str = "a.id, a.account, a.campaign, a.agent, g.name AS agent_name, a.status, a.kind, a.started_at, \
     a.answered_at, a.ended_at, a.phone_number, a.caller_id, a.carrier, a.error, a.voicemail, a.transferred, \
     a.collected, a.evidence, a.summary, a.issue_tracking, a.created_at, a.agent_version, \
     a.sentiment, a.latency_ms, a.cost_nanos, (SELECT COUNT(*) FROM test_calls t WHERE t.attempt = a.id) AS is_test";

fn columns() -> String {
    // The usage is one of a call's last events.
    format!(
        "{COLUMNS}, {}, {}, CASE WHEN a.ended_at IS NOT NULL THEN (SELECT j.detail FROM (SELECT id, name, detail \
         FROM journal WHERE attempt = a.id ORDER BY id DESC LIMIT 50) AS j WHERE j.name = '{USAGE}' \
         ORDER BY j.id DESC LIMIT 1) END AS usage",
        callee::NAME,
        callee::FIELDS
    )
}

fn read(row: &AnyRow) -> StoreResult<ConversationRow> {
    let status = row.word("status", ConversationStatus::parse)?;
    let ended = !matches!(status, ConversationStatus::Scheduled | ConversationStatus::InProgress);
    let usage = row.maybe_text("usage")?;
    Ok(ConversationRow {
        id: row.id("id")?,
        account: row.id("account")?,
        campaign: row.maybe_id("campaign")?,
        agent: row.id("agent")?,
        agent_version: row.maybe_int("agent_version")?,
        agent_name: row.text("agent_name")?,
        status,
        direction: CallDirection::of_kind(&row.text("kind")?),
        started_at: row.time("started_at")?,
        answered_at: row.maybe_time("answered_at")?,
        ended_at: row.maybe_time("ended_at")?,
        contact_number: row.number("phone_number")?,
        callee: callee::read(row)?,
        caller_number: row.maybe_number("caller_id")?,
        carrier: row.maybe_text("carrier")?,
        // Until the end this column only tells why the call was delayed.
        error: row.maybe_text("error")?.filter(|_| ended),
        voicemail: row.flag("voicemail")?,
        transferred: row.flag("transferred")?,
        collected: row.json("collected")?,
        evidence: row.maybe_json("evidence")?,
        analysis: row.maybe_text("summary")?.map(Analysis::of_summary),
        sentiment: row.maybe_text("sentiment")?.as_deref().and_then(SentimentLabel::parse),
        usage: usage.and_then(|usage| serde_json::from_str(&usage).ok()),
        latency_ms: row.maybe_int("latency_ms")?,
        cost_nanos: row.maybe_int("cost_nanos")?,
        appointment: None,
        issue_tracking: row.maybe_int("issue_tracking")?.map(|kept| kept != 0),
        is_test: row.flag("is_test")?,
        created_at: row.time("created_at")?,
    })
}

/// Returns one conversation; `account` is none for the service's own jobs.
pub(super) async fn get(mut work: Work<'_>, account: Option<AccountId>, id: AttemptId) -> StoreResult<ConversationRow> {
    let query = composed(format!(
        "SELECT {}, a.analysis FROM attempts a JOIN agents g ON g.id = a.agent {} \
         WHERE a.id = $1 AND ($2 IS NULL OR a.account = $2) AND a.deleted_at IS NULL",
        columns(),
        callee::JOINS
    ));
    let row = query
        .bind(id.to_string())
        .bind(account.map(|account| account.to_string()));
    let row = row.existing(&mut *work.conn).await?;
    let mut conversation = read(&row)?;
    if row.maybe_text("analysis")?.is_some() {
        conversation.analysis = Some(row.json("analysis")?);
    }
    conversation.appointment = appointments::last(&mut work, id).await?;
    Ok(conversation)
}

/// Finds out how the matches of a filter are read.
async fn prepared(
    work: &mut Work<'_>,
    account: AccountId,
    filter: ConversationFilter,
    limit: i64,
    limits: PageLimits,
) -> StoreResult<Pages> {
    let mut pages = Pages::new(account, filter, limit, work.dialect.words, limits);
    for narrow in pages.narrow() {
        let count = pages.few(narrow).one(&mut *work.conn).await?;
        if count.flag("few")? {
            pages = pages.with_few(Some(narrow));
            break;
        }
    }
    let last = match pages.horizon() {
        Some(query) => query.optional(&mut *work.conn).await?,
        None => None,
    };
    let horizon = last.map(|row| row.time("place")).transpose()?;
    Ok(pages.with_horizon(horizon))
}

pub(super) async fn page(
    mut work: Work<'_>,
    account: AccountId,
    filter: ConversationFilter,
    limit: i64,
    limits: PageLimits,
) -> StoreResult<ConversationPage> {
    let pages = prepared(&mut work, account, filter, limit, limits).await?;
    let query = pages.query(&format!("SELECT {}", columns()));
    let rows = query.all(work.conn).await?;
    let rows: Vec<ConversationRow> = rows.iter().map(read).collect::<StoreResult<_>>()?;
    let is_full = i64::try_from(rows.len()).is_ok_and(|rows| rows >= limit);
    Ok(ConversationPage {
        rows,
        reached: pages.reached().filter(|_| !is_full),
    })
}

/// Counts the matches of a filter.
pub(super) async fn count(
    mut work: Work<'_>,
    account: AccountId,
    filter: ConversationFilter,
) -> StoreResult<(i64, bool)> {
    let limits = PageLimits {
        few: MOST_COUNTED,
        examined: MOST_COUNTED,
    };
    let pages = prepared(&mut work, account, filter, MOST_COUNTED + 1, limits).await?;
    let row = pages.count().one(work.conn).await?;
    let found = row.int("found")?;
    let is_all = found <= MOST_COUNTED && pages.reached().is_none();
    Ok((found.min(MOST_COUNTED), is_all))
}
