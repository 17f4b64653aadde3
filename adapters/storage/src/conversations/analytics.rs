//! Counts of ended calls for analytics. Each call is added once to a row of each level, with its removal from the queue
//! or the step of the past in the same transaction.
//!
//! A trigger queues each call that ends. The past are calls that had ended before the queue existed: they are read by
//! their ids, newest first, and those in the queue are left out. The queue is read once the past is done, so until then
//! no call leaves it.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use domain::{
    id::{AccountId, AttemptId},
    ports::store::{
        AnalyticsStore, COUNTED_AFTER_US, COUNTED_UNANALYSED_US, CallCounts, CountedCall, CountedGroup, CountingBatch,
        CountsFilter, GroupedCounts, StoreError, StoreResult, start_of,
    },
};
use futures_util::TryStreamExt;

use crate::{
    conversations,
    engine::{
        SqlStore, Work,
        rows::{Bound, Columns, Conditions, Fetch, affected, composed, places, to_json, unavailable},
    },
};

/// Name of the place of the past in the table `cluster`: calls from this id on are counted. The first id means all.
const COUNTED_FROM: &str = "calls_counted_from";

/// The place of the past once all of it is counted.
const DONE: AttemptId = AttemptId::FIRST;

/// Calls of the past before `$1`, each with whether it must be counted.
const PAST: &str = "SELECT a.id, CAST(CASE WHEN a.state = 'final' \
       AND NOT EXISTS (SELECT 1 FROM calls_to_count q WHERE q.attempt = a.id) \
       AND NOT EXISTS (SELECT 1 FROM test_calls t WHERE t.attempt = a.id) THEN 1 ELSE 0 END AS BIGINT) AS counts \
     FROM attempts a WHERE a.id < $1 ORDER BY a.id DESC LIMIT $2";

/// Queued calls that ended by `$1` and are not being analysed, or ended by `$2`.
const QUEUED: &str = "SELECT q.attempt AS id FROM calls_to_count q WHERE q.over_at <= $1 AND (q.over_at <= $2 \
       OR NOT EXISTS (SELECT 1 FROM outbox o WHERE o.attempt = q.attempt AND o.kind = 'analysis')) \
     ORDER BY q.over_at, q.attempt LIMIT $3";

/// Returns the name of the rows that are separated in this way.
fn level(by_hour: bool, by_campaign: bool, by_agent: bool) -> &'static str {
    match (by_hour, by_campaign, by_agent) {
        (true, false, false) => "hour",
        (true, true, false) => "hour/campaign",
        (true, false, true) => "hour/agent",
        (true, true, true) => "hour/campaign/agent",
        (false, false, false) => "day",
        (false, true, false) => "day/campaign",
        (false, false, true) => "day/agent",
        (false, true, true) => "day/campaign/agent",
    }
}

/// Key of a row: account, level, start, campaign, agent, version.
type Key = (AccountId, &'static str, i64, String, String, i64);

/// Returns the rows that count a call.
fn keys(call: &CountedCall) -> impl Iterator<Item = Key> + '_ {
    let ways = [(false, false), (true, false), (false, true), (true, true)];
    let ways = ways
        .into_iter()
        .flat_map(|(campaign, agent)| [(true, campaign, agent), (false, campaign, agent)]);
    ways.map(|(by_hour, by_campaign, by_agent)| {
        let campaign = call.campaign.filter(|_| by_campaign).map(|id| id.to_string());
        let agent = Some(call.agent).filter(|_| by_agent).map(|id| id.to_string());
        let version = call.version.filter(|_| by_agent);
        (
            call.account,
            level(by_hour, by_campaign, by_agent),
            start_of(call.started_at, by_hour).0,
            campaign.unwrap_or_default(),
            agent.unwrap_or_default(),
            version.unwrap_or_default(),
        )
    })
}

async fn place_of_past(work: &mut Work<'_>) -> StoreResult<AttemptId> {
    let query = sqlx::query("SELECT value FROM cluster WHERE name = $1").bind(COUNTED_FROM);
    let row = query.optional(&mut *work.conn).await?;
    row.map_or(Ok(DONE), |row| row.id("value"))
}

async fn to_count(mut work: Work<'_>, limit: i64) -> StoreResult<CountingBatch> {
    let from = place_of_past(&mut work).await?;
    let mut batch = match from {
        DONE => CountingBatch {
            calls: queued(&mut work, limit).await?,
            ..CountingBatch::default()
        },
        from => past(&mut work, from, limit).await?,
    };
    for call in &batch.calls {
        match conversations::get(work.again(), None, *call).await {
            Ok(row) => batch.rows.push(row),
            // It was deleted.
            Err(StoreError::NotFound) => {}
            // Trying again would not help.
            Err(error @ StoreError::Damaged(_)) => {
                tracing::error!(attempt = %call, %error, "call cannot be counted for analytics");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(batch)
}

async fn past(work: &mut Work<'_>, from: AttemptId, limit: i64) -> StoreResult<CountingBatch> {
    let query = sqlx::query(PAST).bind(from.to_string()).bind(limit.max(1));
    let rows = query.all(&mut *work.conn).await?;
    let mut batch = CountingBatch::default();
    let mut to = DONE;
    for row in &rows {
        to = row.id("id")?;
        if row.flag("counts")? {
            batch.calls.push(to);
        }
    }
    batch.past = Some((from, to));
    Ok(batch)
}

async fn queued(work: &mut Work<'_>, limit: i64) -> StoreResult<Vec<AttemptId>> {
    let query = sqlx::query(QUEUED)
        .bind(work.now.0 - COUNTED_AFTER_US)
        .bind(work.now.0 - COUNTED_UNANALYSED_US)
        .bind(limit.max(0));
    let rows = query.all(&mut *work.conn).await?;
    rows.iter().map(|row| row.id("id")).collect()
}

async fn count(mut work: Work<'_>, batch: CountingBatch, counted: Vec<CountedCall>) -> StoreResult<()> {
    let (from, to) = batch.past.unwrap_or((DONE, DONE));
    // This also locks the counts: only the holder of this row changes them.
    let step = sqlx::query("UPDATE cluster SET value = $3 WHERE name = $1 AND value = $2");
    let step = step.bind(COUNTED_FROM).bind(from.to_string()).bind(to.to_string());
    if affected(step, &mut *work.conn).await? == 0 {
        return Err(StoreError::Stale);
    }
    let calls: BTreeSet<AttemptId> = match batch.past {
        Some(_) => batch.calls.into_iter().collect(),
        None => take_from_queue(&mut work, &batch.calls).await?,
    };
    let mut sums: BTreeMap<Key, CallCounts> = BTreeMap::new();
    for call in counted.iter().filter(|call| calls.contains(&call.call)) {
        figures(&mut work, call).await?;
        for key in keys(call) {
            sums.entry(key).or_default().add(&call.counts);
        }
    }
    for (key, counts) in sums {
        add(&mut work, key, counts).await?;
    }
    Ok(())
}

/// Keeps the figures of a call that lists show.
async fn figures(work: &mut Work<'_>, call: &CountedCall) -> StoreResult<()> {
    let (latency, cost) = (call.counts.latency_ms(50), call.counts.cost.values().next());
    if (latency, cost) == (None, None) {
        return Ok(());
    }
    let update = sqlx::query("UPDATE attempts SET latency_ms = $2, cost_nanos = $3 WHERE id = $1 AND state = 'final'")
        .bind(call.call.to_string())
        .bind(latency.map(u64::cast_signed))
        .bind(cost.copied().map(u64::cast_signed));
    affected(update, work.conn).await.map(drop)
}

/// Removes calls from the queue. Returns those that were still in it.
async fn take_from_queue(work: &mut Work<'_>, calls: &[AttemptId]) -> StoreResult<BTreeSet<AttemptId>> {
    if calls.is_empty() {
        return Ok(BTreeSet::new());
    }
    let delete = composed(format!(
        "DELETE FROM calls_to_count WHERE attempt IN ({}) RETURNING attempt",
        places(1, calls.len())
    ));
    let delete = calls.iter().fold(delete, |query, id| query.bind(id.to_string()));
    let rows = delete.all(&mut *work.conn).await?;
    rows.iter().map(|row| row.id("attempt")).collect()
}

async fn add(work: &mut Work<'_>, key: Key, mut counts: CallCounts) -> StoreResult<()> {
    let (account, level, start, campaign, agent, version) = key;
    let select = sqlx::query(
        "SELECT counts FROM call_counts WHERE account = $1 AND level = $2 AND start_at = $3 AND campaign = $4 \
         AND agent = $5 AND version = $6",
    );
    let upsert = sqlx::query(
        "INSERT INTO call_counts (account, level, start_at, campaign, agent, version, counts) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) \
         ON CONFLICT (account, level, start_at, campaign, agent, version) DO UPDATE SET counts = excluded.counts",
    );
    let [select, upsert] = [select, upsert].map(|query| {
        let query = query.bind(account.to_string()).bind(level).bind(start);
        query.bind(campaign.clone()).bind(agent.clone()).bind(version)
    });
    if let Some(row) = select.optional(&mut *work.conn).await? {
        counts.add(&row.json("counts")?);
    }
    let upsert = upsert.bind(to_json(&counts)?);
    affected(upsert, &mut *work.conn).await.map(drop)
}

async fn read(mut work: Work<'_>, account: AccountId, filter: CountsFilter) -> StoreResult<GroupedCounts> {
    let complete = place_of_past(&mut work).await? == DONE;
    let span @ (from, until) = filter.span_at(work.now);
    let level = level(filter.reads_hours(), filter.needs_campaign(), filter.needs_agent());
    let mut conditions = Conditions::default();
    let values: [Bound; 4] = [account.to_string().into(), level.into(), from.0.into(), until.0.into()];
    conditions.and("account = ? AND level = ? AND start_at >= ? AND start_at < ?", values);
    if let Some(campaign) = filter.campaign {
        conditions.and("campaign = ?", [campaign.to_string().into()]);
    }
    if let Some(agent) = filter.agent {
        conditions.and("agent = ?", [agent.to_string().into()]);
    }
    let query = conditions.query(
        "SELECT start_at, campaign, agent, version, counts FROM call_counts",
        "",
        i64::MAX,
    );
    let mut groups: BTreeMap<CountedGroup, CallCounts> = BTreeMap::new();
    let mut rows = query.fetch(&mut *work.conn);
    while let Some(row) = rows.try_next().await.map_err(unavailable)? {
        // Ids that are empty belong to no group.
        let group = filter.group(CountedGroup {
            start: Some(row.time("start_at")?),
            campaign: row.text("campaign")?.parse().ok(),
            agent: row.text("agent")?.parse().ok(),
            version: Some(row.int("version")?).filter(|version| *version > 0),
        });
        groups.entry(group).or_default().add(&row.json("counts")?);
    }
    Ok(GroupedCounts { span, groups, complete })
}

#[async_trait]
impl AnalyticsStore for SqlStore {
    async fn calls_to_count(&self, limit: i64) -> StoreResult<CountingBatch> {
        self.read(move |work| Box::pin(to_count(work, limit))).await
    }

    async fn count_calls(&self, batch: &CountingBatch, counted: Vec<CountedCall>) -> StoreResult<()> {
        let batch = batch.clone();
        self.write(move |work| Box::pin(count(work, batch, counted))).await
    }

    async fn call_counts(&self, account: AccountId, filter: CountsFilter) -> StoreResult<GroupedCounts> {
        self.read(move |work| Box::pin(read(work, account, filter))).await
    }
}
