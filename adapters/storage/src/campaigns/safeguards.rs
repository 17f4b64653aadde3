//! The rules of accounts, and the lookups that a permit's transaction makes for them.

use async_trait::async_trait;
use domain::{
    id::{AccountId, AttemptId, CampaignId},
    phone_number::PhoneNumber,
    ports::store::{AttemptKind, Claim, SafeguardStore, SafeguardsRow, StoreError, StoreResult},
    safeguards::{CallsPerNumber, DailyCalls, Judgement, Mode, Note, PermitFacts, Rule, Safeguards, day_start},
    time::Timestamp,
};

use crate::{
    campaigns::campaign_rows::LOOK_AGAIN,
    conversations::facts,
    engine::{
        SqlStore, Work, locks,
        rows::{Columns, Fetch, affected, composed, to_json},
    },
};

#[async_trait]
impl SafeguardStore for SqlStore {
    async fn safeguards(&self, account: AccountId) -> StoreResult<SafeguardsRow> {
        self.read(move |work| Box::pin(read(work, account))).await
    }

    async fn set_safeguards(&self, account: AccountId, version: i64, new: Safeguards) -> StoreResult<SafeguardsRow> {
        self.write(move |work| Box::pin(set(work, account, version, new))).await
    }

    async fn put_off(&self, campaign: CampaignId) -> StoreResult<Vec<(Rule, i64)>> {
        self.read(move |work| Box::pin(put_off(work, campaign))).await
    }
}

async fn read(work: Work<'_>, account: AccountId) -> StoreResult<SafeguardsRow> {
    let query = sqlx::query("SELECT document, version FROM safeguards WHERE account = $1").bind(account.to_string());
    let row = query.optional(work.conn).await?;
    row.map_or_else(
        || Ok(SafeguardsRow::default()),
        |row| {
            Ok(SafeguardsRow {
                safeguards: row.json("document")?,
                version: row.int("version")?,
            })
        },
    )
}

async fn set(mut work: Work<'_>, account: AccountId, version: i64, new: Safeguards) -> StoreResult<SafeguardsRow> {
    locks::before_safeguards(&mut work, account).await?;
    let before = read(work.again(), account).await?;
    // The first version is inserted, later ones are updated. Of two writers that read the same version, one
    // finds no row.
    let sql = if version == 0 {
        "INSERT INTO safeguards (account, document, active, version, updated_at) VALUES ($1, $2, $3, $4 + 1, $5) \
         ON CONFLICT (account) DO NOTHING"
    } else {
        "UPDATE safeguards SET document = $2, active = $3, version = $4 + 1, updated_at = $5 \
         WHERE account = $1 AND version = $4"
    };
    let query = sqlx::query(sql)
        .bind(account.to_string())
        .bind(to_json(&new)?)
        .bind(i64::from(!new.all_off()))
        .bind(version)
        .bind(work.now.0);
    if affected(query, &mut *work.conn).await? == 0 {
        return Err(StoreError::Stale);
    }
    // Nothing was counted while the rule was off, and the day may be another time zone's now.
    let forget = sqlx::query("DELETE FROM daily_permits WHERE account = $1").bind(account.to_string());
    affected(forget, &mut *work.conn).await?;
    if before.safeguards != new {
        let_go(&mut work, account).await?;
    }
    Ok(SafeguardsRow {
        safeguards: new,
        version: version + 1,
    })
}

/// Makes everything that the earlier rules delayed due now, so that it is checked again. Campaigns come
/// first, as in a stop.
async fn let_go(work: &mut Work<'_>, account: AccountId) -> StoreResult<()> {
    let look_again = composed(format!(
        "{LOOK_AGAIN} AND account = $2 AND id IN (SELECT a.campaign FROM attempts a \
         WHERE a.account = $2 AND a.state = 'queued' AND a.put_off_by IS NOT NULL AND a.due_at > $1)"
    ));
    let look_again = look_again.bind(work.now.0).bind(account.to_string());
    affected(look_again, &mut *work.conn).await?;
    let due = sqlx::query(
        "UPDATE attempts SET due_at = $1, started_at = $1, put_off_by = NULL \
         WHERE account = $2 AND state = 'queued' AND put_off_by IS NOT NULL AND due_at > $1",
    );
    affected(due.bind(work.now.0).bind(account.to_string()), &mut *work.conn)
        .await
        .map(drop)
}

async fn put_off(work: Work<'_>, campaign: CampaignId) -> StoreResult<Vec<(Rule, i64)>> {
    let query = sqlx::query(
        "SELECT put_off_by, COUNT(*) AS contacts FROM attempts \
         WHERE campaign = $1 AND state = 'queued' AND due_at > $2 AND put_off_by IS NOT NULL \
         GROUP BY put_off_by ORDER BY put_off_by",
    );
    let query = query.bind(campaign.to_string()).bind(work.now.0);
    let rows = query.all(work.conn).await?;
    rows.iter()
        .map(|row| Ok((row.word("put_off_by", Rule::parse)?, row.int("contacts")?)))
        .collect()
}

/// Attempt that asks for a permit.
pub(crate) struct Subject<'a> {
    pub(crate) attempt: AttemptId,
    pub(crate) account: &'a str,
    pub(crate) number: &'a PhoneNumber,
}

/// Applies the account's rules to a permit that passed all other checks. Runs after [`locks::before_permit`],
/// so that nobody else calls the number meanwhile.
pub(crate) async fn judge(work: &mut Work<'_>, subject: &Subject<'_>, rules: &Safeguards) -> StoreResult<Judgement> {
    let number_free_at = number_free_at(work, subject, &rules.calls_per_number).await?;
    let calls_today = calls_today(work, subject, &rules.daily_calls).await?;
    let facts = PermitFacts {
        number: subject.number,
        now: work.now,
        number_free_at,
        calls_today,
        dial_before: dial_before(work, subject.attempt).await?,
    };
    Ok(rules.judge(&facts))
}

/// Stores the rules' decisions in the attempt's journal.
pub(crate) async fn keep(work: &mut Work<'_>, attempt: AttemptId, notes: &[Note]) -> StoreResult<()> {
    if notes.is_empty() {
        return Ok(());
    }
    let events: Vec<_> = notes.iter().map(|note| (attempt, note.fact())).collect();
    facts::append_events(work, &events).await
}

async fn dial_before(work: &mut Work<'_>, attempt: AttemptId) -> StoreResult<Option<Timestamp>> {
    let query = sqlx::query("SELECT dial_before FROM single_calls WHERE attempt = $1").bind(attempt.to_string());
    let row = query.optional(&mut *work.conn).await?;
    row.map(|row| row.time("dial_before")).transpose()
}

/// Returns when the number may be called again: once enough of its permits are older than each window.
async fn number_free_at(
    work: &mut Work<'_>,
    subject: &Subject<'_>,
    rule: &CallsPerNumber,
) -> StoreResult<Option<Timestamp>> {
    let mut free_at = None;
    for (most, window) in rule.windows() {
        let since = work.now.0 - i64::try_from(window.as_micros()).unwrap_or(i64::MAX);
        let query = sqlx::query(
            "SELECT dialing_at FROM attempts WHERE account = $1 AND phone_number = $2 AND dialing_at > $3 \
             AND kind <> $4 ORDER BY dialing_at DESC LIMIT 1 OFFSET $5",
        )
        .bind(subject.account.to_owned())
        .bind(subject.number.as_str().to_owned())
        .bind(since)
        .bind(AttemptKind::Inbound.as_str())
        .bind(i64::from(most) - 1);
        let row = query.optional(&mut *work.conn).await?;
        let nth = row.map(|row| row.time("dialing_at")).transpose()?;
        free_at = free_at.max(nth.map(|at| at.plus(window)));
    }
    Ok(free_at)
}

/// Returns the account's permits of the day; 0 while the rule is off.
async fn calls_today(work: &mut Work<'_>, subject: &Subject<'_>, rule: &DailyCalls) -> StoreResult<i64> {
    if rule.mode == Mode::Off {
        return Ok(0);
    }
    locks::before_daily_calls(work, subject.account).await?;
    let today = day_start(rule, work.now);
    let query = sqlx::query("SELECT permits FROM daily_permits WHERE account = $1 AND day_start = $2")
        .bind(subject.account.to_owned())
        .bind(today.0);
    let row = query.optional(&mut *work.conn).await?;
    match row {
        Some(row) => row.int("permits"),
        None => begin_day(work, subject.account, today).await,
    }
}

/// Counts the day's permits so far. Dialed attempts have the dial time as `started_at`, which an index is sorted by.
async fn begin_day(work: &mut Work<'_>, account: &str, today: Timestamp) -> StoreResult<i64> {
    let query = sqlx::query(
        "INSERT INTO daily_permits (account, day_start, permits) \
         SELECT $1, $2, COUNT(*) FROM attempts \
         WHERE account = $1 AND started_at >= $2 AND dialing_at >= $2 AND kind <> $3 \
         ON CONFLICT (account) DO UPDATE SET day_start = excluded.day_start, permits = excluded.permits \
         RETURNING permits",
    )
    .bind(account.to_owned())
    .bind(today.0)
    .bind(AttemptKind::Inbound.as_str());
    query.one(&mut *work.conn).await?.int("permits")
}

/// Counts a permit that was given under the account's rules.
pub(crate) async fn count(work: &mut Work<'_>, account: &str, rule: &DailyCalls) -> StoreResult<()> {
    if rule.mode == Mode::Off {
        return Ok(());
    }
    let update = sqlx::query("UPDATE daily_permits SET permits = permits + 1 WHERE account = $1");
    affected(update.bind(account.to_owned()), work.conn).await.map(drop)
}

/// Removes a permit from the day's count before it is given back unsent; does nothing for other claims.
pub(crate) async fn uncount(work: &mut Work<'_>, claim: Claim) -> StoreResult<()> {
    let permit = sqlx::query(
        "SELECT a.account, a.dialing_at FROM attempts a JOIN safeguards s ON s.account = a.account AND s.active = 1 \
         WHERE a.id = $1 AND COALESCE(a.owner, '') = $2 AND a.epoch = $3 AND a.state = 'dialing'",
    )
    .bind(claim.attempt.to_string())
    .bind(claim.owner.to_string())
    .bind(claim.epoch);
    let Some(row) = permit.optional(&mut *work.conn).await? else {
        return Ok(());
    };
    let update = sqlx::query(
        "UPDATE daily_permits SET permits = permits - 1 WHERE account = $1 AND day_start <= $2 AND permits > 0",
    )
    .bind(row.text("account")?)
    .bind(row.int("dialing_at")?);
    affected(update, work.conn).await.map(drop)
}
