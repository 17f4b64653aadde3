//! What several writers at once agree on beside the rows they lock. A lock lasts until its transaction ends. With one
//! writer none is needed.

use domain::{
    id::{AccountId, CampaignId},
    ports::store::StoreResult,
};

use super::{Work, rows::unavailable};

/// Before a permit is looked into: nobody else gives one for the same number of the same account, nor adds to the
/// account's do-not-call list, nor changes its rules. In a statement of its own, so that the checks behind it see what the last holder wrote.
pub(super) async fn before_permit(work: &mut Work<'_>, attempt: &str) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock_shared(hashtextextended('do-not-call:' || account, 0)), \
         pg_advisory_xact_lock_shared(hashtextextended('safeguards:' || account, 0)), \
         pg_advisory_xact_lock(hashtextextended('number:' || account || ':' || phone_number, 0)) \
         FROM attempts WHERE id = $1";
    take(work, SQL, attempt.to_owned()).await
}

/// Before the account's permits of the day are counted: nobody else gives one. Taken behind the number's own lock, and
/// only by accounts that have a rule for their day.
pub(super) async fn before_daily_calls(work: &mut Work<'_>, account: &str) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended('daily-calls:' || $1, 0))";
    take(work, SQL, account.to_owned()).await
}

/// Before the account's do-not-call list grows: no permit is being given that looked at it as it was.
pub(super) async fn before_do_not_call(work: &mut Work<'_>, account: AccountId) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended('do-not-call:' || $1, 0))";
    take(work, SQL, account.to_string()).await
}

/// Before the account's rules change: no permit is being given, or put off, by the earlier ones.
pub(super) async fn before_safeguards(work: &mut Work<'_>, account: AccountId) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended('safeguards:' || $1, 0))";
    take(work, SQL, account.to_string()).await
}

/// Before the open attempts of a campaign are counted whose calls at once have a limit: nobody else claims of it meanwhile.
pub(super) async fn before_claim(work: &mut Work<'_>, campaign: CampaignId) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended('claim:' || $1, 0))";
    take(work, SQL, campaign.to_string()).await
}

/// Before an instant is chosen at which the account made no other campaign.
pub(super) async fn before_new_campaign(work: &mut Work<'_>, account: &str) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended('campaigns:' || $1, 0))";
    take(work, SQL, account.to_owned()).await
}

/// Before an agent gets numbers: no other account's agent gets one of them meanwhile.
pub(super) async fn before_agent_numbers(work: &mut Work<'_>) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
    take(work, SQL, "agent-numbers".to_owned()).await
}

/// Before a time of a calendar is looked at: nobody else takes it meanwhile.
pub(super) async fn before_appointment(work: &mut Work<'_>, calendar: &str) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended('calendar:' || $1, 0))";
    take(work, SQL, calendar.to_owned()).await
}

async fn take(work: &mut Work<'_>, sql: &'static str, name: String) -> StoreResult<()> {
    if work.dialect.concurrent {
        let locked = sqlx::query(sql).bind(name).execute(&mut *work.conn).await;
        locked.map_err(unavailable)?;
    }
    Ok(())
}
