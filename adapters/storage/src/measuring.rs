//! Functions for benchmarks and tests only: bulk conversations without real calls, the time that dials
//! waited, and a full disk.

use domain::{
    id::{AccountId, AgentId, AttemptId, CampaignId},
    ports::store::{Analysis, StoreError, StoreResult},
};

use crate::engine::{
    SqlStore, Work,
    rows::{Columns, Fetch, affected, to_json, unavailable},
};

/// Conversations per transaction.
const PIECE: i64 = 20_000;

/// Inserts conversations `$3` to `$4` (exclusive), one per second from `$5` on: of ten, four were completed
/// after up to ten minutes, five failed and one was cancelled.
const CONVERSATIONS: &str = "INSERT INTO attempts (id, account, agent, campaign, attempt_no, kind, phone_number, state, \
     epoch, due_at, started_at, dialing_at, answered_at, ended_at, duration_s, status, voicemail, transferred, \
     collected, analysis, created_at) \
     WITH RECURSIVE numbers (n) AS (SELECT CAST($3 AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < $4), \
     calls (n, at, digits, duration_s) AS (SELECT n, $5 + n * 1000000, SUBSTR(CAST(1000000000000 + n AS TEXT), 2), \
       CASE WHEN n % 10 < 4 THEN n * 7919 % 600 ELSE 0 END FROM numbers) \
     SELECT '01900000-0000-7000-8000-' || digits, $1, $2, $6, 1, 'first', '+1555' || SUBSTR(digits, 6), 'final', 1, at, \
       at, at, CASE WHEN n % 10 < 4 THEN at ELSE NULL END, at + duration_s * 1000000, duration_s, \
       CASE WHEN n % 10 < 4 THEN 'completed' WHEN n % 10 < 9 THEN 'failed' ELSE 'cancelled' END, 0, 0, '{}', \
       CASE WHEN n % 10 < 4 THEN $7 ELSE NULL END, at \
     FROM calls";

/// Inserts the turns of the completed conversations `$1` to `$2` (exclusive): `$3` turns each, with a word that all
/// have ("visit") and words that few have ("caller123").
const TURNS: &str = "INSERT INTO turns (attempt, seq, speaker, words, started_ms, ended_ms, interrupted, damaged) \
     WITH RECURSIVE numbers (n) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < $2), \
     places (place) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT place + 1 FROM places WHERE place + 1 < $3) \
     SELECT '01900000-0000-7000-8000-' || SUBSTR(CAST(1000000000000 + n AS TEXT), 2), place, \
       CASE place % 2 WHEN 0 THEN 'agent' ELSE 'user' END, \
       CASE place % 2 WHEN 0 THEN 'Good morning, this is the practice. Would a visit in week ' || (n + place) % 52 || \
         ' suit you?' ELSE 'Yes, that suits me. I am caller' || n * 7919 % 50000 || ' of street ' || n % 1000 || '.' END, \
       place * 3000, place * 3000 + 2500, 0, 0 \
     FROM numbers CROSS JOIN places WHERE n % 10 < 4";

/// Inserts the latencies of the agent's turns that [`TURNS`] inserts.
const REPLIES: &str = "INSERT INTO journal (id, attempt, name, at_ms, detail, created_at) \
     WITH RECURSIVE numbers (n) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < $2), \
     places (place) AS (SELECT CAST(2 AS BIGINT) UNION ALL SELECT place + 2 FROM places WHERE place + 2 < $3), \
     calls (n, digits) AS (SELECT n, SUBSTR(CAST(1000000000000 + n AS TEXT), 2) FROM numbers WHERE n % 10 < 4) \
     SELECT '01900000-0000-7001-' || (8000 + place / 2) || '-' || digits, '01900000-0000-7000-8000-' || digits, 'reply', \
       place * 3000, '{\"turnEndMs\":210,\"askedMs\":215,\"firstTokenMs\":400,\"firstAudioMs\":600,\"playoutMs\":' || \
       600 + n % 300 || '}', $4 + n * 1000000 \
     FROM calls CROSS JOIN places";

/// Turns of a seeded conversation.
const TURNS_OF_EACH: i64 = 6;
/// Turns of the last completed one: a call of an hour.
const TURNS_OF_LONGEST: i64 = 1_200;

/// Conversations by their numbers.
#[derive(Clone)]
struct Stretch {
    numbers: std::ops::Range<i64>,
    /// Start of conversation 0.
    first_at: i64,
}

async fn seed_turns(work: Work<'_>, of: Stretch, each: i64) -> StoreResult<()> {
    for (statement, has_time) in [(TURNS, false), (REPLIES, true)] {
        let mut insert = sqlx::query(statement)
            .bind(of.numbers.start)
            .bind(of.numbers.end)
            .bind(each);
        if has_time {
            insert = insert.bind(of.first_at);
        }
        affected(insert, &mut *work.conn).await?;
    }
    Ok(())
}

async fn seed(
    work: Work<'_>,
    account: AccountId,
    agent: AgentId,
    campaign: CampaignId,
    stretch: Stretch,
) -> StoreResult<()> {
    let insert = sqlx::query(CONVERSATIONS)
        .bind(account.to_string())
        .bind(agent.to_string())
        .bind(stretch.numbers.start)
        .bind(stretch.numbers.end)
        .bind(stretch.first_at)
        .bind(campaign.to_string())
        .bind(to_json(&Analysis::of_summary("A visit was agreed.".to_owned()))?);
    affected(insert, work.conn).await.map(drop)
}

/// Returns the id that [`CONVERSATIONS`] gives to a conversation.
fn id_of(number: i64) -> String {
    format!("01900000-0000-7000-8000-{number:012}")
}

async fn lengthen(work: Work<'_>, number: i64, first_at: i64) -> StoreResult<()> {
    for table in ["turns", "journal"] {
        let delete = format!("DELETE FROM {table} WHERE attempt = $1");
        let delete = sqlx::query(sqlx::AssertSqlSafe(delete)).bind(id_of(number));
        affected(delete, &mut *work.conn).await?;
    }
    // Calls that were inserted as ended are counted like those of an older version.
    let recount = sqlx::query(
        "UPDATE cluster SET value = 'ffffffff-ffff-ffff-ffff-ffffffffffff' WHERE name = 'calls_counted_from'",
    );
    affected(recount, &mut *work.conn).await?;
    let numbers = number..number + 1;
    seed_turns(work, Stretch { numbers, first_at }, TURNS_OF_LONGEST).await
}

async fn waits(work: Work<'_>) -> StoreResult<Vec<i64>> {
    let rows = sqlx::query(
        "SELECT dialing_at - claimed_at AS wait FROM attempts WHERE claimed_at IS NOT NULL \
         AND dialing_at IS NOT NULL",
    )
    .all(work.conn)
    .await?;
    rows.iter().map(|row| row.int("wait")).collect()
}

async fn limit_pages(work: Work<'_>, more: i64) -> StoreResult<()> {
    let row = sqlx::query("SELECT page_count FROM pragma_page_count")
        .one(&mut *work.conn)
        .await?;
    let most = row.int("page_count")? + more;
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

    /// Creates `count` conversations with their turns and latencies, one per second until now, in long stretches per
    /// agent and campaign. Returns the id of the longest one, of 1,200 turns.
    pub async fn seed_conversations(
        &self,
        account: AccountId,
        owners: &[(AgentId, CampaignId)],
        count: i64,
    ) -> StoreResult<AttemptId> {
        let first_at = self.clock.now().0 - count * 1_000_000;
        let length = PIECE.min(count / (4 * owners.len() as i64).max(1)).max(1);
        let mut turns = owners.iter().copied().cycle();
        let mut next = 0;
        while let (true, Some((agent, campaign))) = (next < count, turns.next()) {
            let numbers = next..(next + length).min(count);
            next = numbers.end;
            let own = Stretch { numbers, first_at };
            let stretch = own.clone();
            self.write(move |work| Box::pin(seed(work, account, agent, campaign, own)))
                .await?;
            self.write(move |work| Box::pin(seed_turns(work, stretch, TURNS_OF_EACH)))
                .await?;
        }
        let longest = (count - 1) / 10 * 10;
        self.write(move |work| Box::pin(lengthen(work, longest, first_at)))
            .await?;
        let id = id_of(longest);
        id.parse().map_err(|_| StoreError::Damaged(id))
    }

    /// Returns for each dialed attempt the time from its claim to its permit, in microseconds.
    pub async fn permit_waits_us(&self) -> StoreResult<Vec<i64>> {
        self.read(|work| Box::pin(waits(work))).await
    }
}
