//! Functions for benchmarks and tests only: bulk conversations without real calls, the time that dials
//! waited, and a full disk.

use domain::{
    id::{AccountId, AgentId, CampaignId},
    ports::store::StoreResult,
};

use super::{
    SqlStore, Work,
    rows::{Columns, affected, unavailable},
};

/// Conversations per transaction.
const PIECE: i64 = 20_000;

/// Inserts conversations `$3` to `$4` (exclusive), one per second from `$5` on: of ten, four were completed
/// after up to ten minutes, five failed and one was cancelled.
const CONVERSATIONS: &str = "INSERT INTO attempts (id, account, agent, campaign, attempt_no, kind, phone_number, state, \
     epoch, due_at, started_at, dialing_at, answered_at, ended_at, duration_s, status, voicemail, transferred, \
     collected, created_at) \
     WITH RECURSIVE numbers (n) AS (SELECT CAST($3 AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < $4), \
     calls (n, at, digits, duration_s) AS (SELECT n, $5 + n * 1000000, SUBSTR(CAST(1000000000000 + n AS TEXT), 2), \
       CASE WHEN n % 10 < 4 THEN n * 7919 % 600 ELSE 0 END FROM numbers) \
     SELECT '01900000-0000-7000-8000-' || digits, $1, $2, $6, 1, 'first', '+1555' || SUBSTR(digits, 6), 'final', 1, at, \
       at, at, CASE WHEN n % 10 < 4 THEN at ELSE NULL END, at + duration_s * 1000000, duration_s, \
       CASE WHEN n % 10 < 4 THEN 'completed' WHEN n % 10 < 9 THEN 'failed' ELSE 'cancelled' END, 0, 0, '{}', at \
     FROM calls";

async fn seed(
    work: Work<'_>,
    account: AccountId,
    owner: (AgentId, CampaignId),
    numbers: std::ops::Range<i64>,
    first_at: i64,
) -> StoreResult<()> {
    let insert = sqlx::query(CONVERSATIONS)
        .bind(account.to_string())
        .bind(owner.0.to_string())
        .bind(numbers.start)
        .bind(numbers.end)
        .bind(first_at)
        .bind(owner.1.to_string());
    affected(insert, work.conn).await.map(drop)
}

async fn waits(work: Work<'_>) -> StoreResult<Vec<i64>> {
    let rows = sqlx::query(
        "SELECT dialing_at - claimed_at AS wait FROM attempts WHERE claimed_at IS NOT NULL \
         AND dialing_at IS NOT NULL",
    )
    .fetch_all(work.conn)
    .await;
    rows.map_err(unavailable)?.iter().map(|row| row.int("wait")).collect()
}

async fn limit_pages(work: Work<'_>, more: i64) -> StoreResult<()> {
    let row = sqlx::query("SELECT page_count FROM pragma_page_count")
        .fetch_one(&mut *work.conn)
        .await;
    let most = row.map_err(unavailable)?.int("page_count")? + more;
    // A pragma takes no bound values; this one is a number.
    let limit = sqlx::query(sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {most}")));
    limit.fetch_all(work.conn).await.map(drop).map_err(unavailable)
}

impl SqlStore {
    /// Lets an SQLite file grow by this many pages, as if the disk were full then. The limit ends once it has
    /// made a write fail.
    pub async fn limit_pages(&self, more: i64) -> StoreResult<()> {
        self.write(move |work| Box::pin(limit_pages(work, more))).await
    }

    /// Creates `count` conversations, one per second until now, in long stretches per agent and campaign.
    pub async fn seed_conversations(
        &self,
        account: AccountId,
        owners: &[(AgentId, CampaignId)],
        count: i64,
    ) -> StoreResult<()> {
        let first_at = self.clock.now().0 - count * 1_000_000;
        let stretch = PIECE.min(count / (4 * owners.len() as i64).max(1)).max(1);
        let mut turns = owners.iter().copied().cycle();
        let mut next = 0;
        while let (true, Some(owner)) = (next < count, turns.next()) {
            let numbers = next..(next + stretch).min(count);
            next = numbers.end;
            self.write(move |work| Box::pin(seed(work, account, owner, numbers, first_at)))
                .await?;
        }
        Ok(())
    }

    /// Returns for each dialed attempt the time from its claim to its permit, in microseconds.
    pub async fn permit_waits_us(&self) -> StoreResult<Vec<i64>> {
        self.read(|work| Box::pin(waits(work))).await
    }
}
