//! Locks that concurrent writers need in addition to row locks. A lock lasts until the end of its
//! transaction. With one writer no locks are needed.

use domain::{
    id::{AccountId, CampaignId},
    phone_number::PhoneNumber,
    ports::store::StoreResult,
};

use super::{rows::unavailable, work::Work};

/// Locks before an account's resources change: nobody else changes them, so what is counted, replaced or named stays as
/// this transaction reads it. It comes before all other locks.
pub(crate) async fn before_change(work: &mut Work<'_>, account: AccountId) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended('account:' || $1, 0))";
    take(work, SQL, account.to_string()).await
}

/// Locks like [`before_change`] for the account of a campaign or import.
pub(crate) async fn before_campaign_change(work: &mut Work<'_>, campaign: CampaignId) -> StoreResult<()> {
    const SQL: &str =
        "SELECT pg_advisory_xact_lock(hashtextextended('account:' || account, 0)) FROM campaigns WHERE id = $1";
    take(work, SQL, campaign.to_string()).await
}

/// Locks before a call begins: its agent is not deleted meanwhile. Calls do not wait for each other.
pub(crate) async fn before_call(work: &mut Work<'_>, account: AccountId) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock_shared(hashtextextended('account:' || $1, 0))";
    take(work, SQL, account.to_string()).await
}

/// Locks before a permit is checked: nobody else extends the account's do-not-call list or changes its rules. It is a
/// separate statement, so that the checks after it see the changes of the last holder.
pub(crate) async fn before_permit(work: &mut Work<'_>, attempt: &str) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock_shared(hashtextextended('do-not-call:' || account, 0)), \
         pg_advisory_xact_lock_shared(hashtextextended('safeguards:' || account, 0)) \
         FROM attempts WHERE id = $1";
    take(work, SQL, attempt.to_owned()).await
}

/// Locks before it is checked whether a number is being called: nobody else gives a permit for it, in any of its
/// spellings. It is taken after the locks of rows.
pub(crate) async fn before_number(work: &mut Work<'_>, account: &str, number: &PhoneNumber) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended('number:' || $1, 0))";
    let dialed = number.dialed().unwrap_or_else(|| number.clone());
    take(work, SQL, format!("{account}:{}", dialed.as_str())).await
}

/// Locks before the account's permits of the day are counted: nobody else gives one. It is taken after the
/// number's own lock, and only for accounts that have a rule for their day.
pub(crate) async fn before_daily_calls(work: &mut Work<'_>, account: &str) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended('daily-calls:' || $1, 0))";
    take(work, SQL, account.to_owned()).await
}

/// Locks before the account's do-not-call list grows: no permit that checked the old list is being given.
pub(crate) async fn before_do_not_call(work: &mut Work<'_>, account: AccountId) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended('do-not-call:' || $1, 0))";
    take(work, SQL, account.to_string()).await
}

/// Locks before the account's rules change: no permit is being given or delayed by the old rules.
pub(crate) async fn before_safeguards(work: &mut Work<'_>, account: AccountId) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended('safeguards:' || $1, 0))";
    take(work, SQL, account.to_string()).await
}

/// Locks before the open attempts of a campaign with a limit on concurrent calls are counted: nobody else
/// claims from it.
pub(crate) async fn before_claim(work: &mut Work<'_>, campaign: CampaignId) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended('claim:' || $1, 0))";
    take(work, SQL, campaign.to_string()).await
}

/// Locks before contacts are added to a campaign: nobody else adds some. The campaign's row is not locked meanwhile, so
/// that its calls go on.
pub(crate) async fn before_contacts(work: &mut Work<'_>, campaign: CampaignId) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended('contacts:' || $1, 0))";
    take(work, SQL, campaign.to_string()).await
}

/// Locks before choosing an instant at which the account created no other campaign.
pub(crate) async fn before_new_campaign(work: &mut Work<'_>, account: &str) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended('campaigns:' || $1, 0))";
    take(work, SQL, account.to_owned()).await
}

/// Locks before an agent gets numbers: no other account's agent gets one of them.
pub(crate) async fn before_agent_numbers(work: &mut Work<'_>) -> StoreResult<()> {
    const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
    take(work, SQL, "agent-numbers".to_owned()).await
}

/// Locks before checking a time of a calendar: nobody else takes it.
pub(crate) async fn before_appointment(work: &mut Work<'_>, calendar: &str) -> StoreResult<()> {
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
