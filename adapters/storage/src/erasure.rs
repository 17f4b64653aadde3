//! Erasing a person: the content of calls is deleted; the rows of calls and campaign contacts stay without
//! personal data.

use async_trait::async_trait;
use domain::{
    id::{AccountId, AttemptId, ContactId},
    phone_number::PhoneNumber,
    ports::{
        store::{
            AttemptState, ContactCalls, EndedTest, ErasureStore, SETTLING_US, StoreError, StoreResult, erased_error,
        },
        usage::USAGE,
    },
    time::Timestamp,
};
use sqlx::any::AnyRow;

use crate::{
    attempts::test_calls,
    campaigns::contact_states::ContactKey,
    contacts::do_not_call,
    conversations::transcripts,
    engine::{
        SqlStore, Work,
        rows::{Columns, Fetch, affected, composed, found},
    },
    events::{account_events, deliveries},
};

/// Values of an attempt whose words are erased.
const WORDLESS: &str = "collected = '{}', evidence = NULL, summary = NULL, analysis = NULL, sentiment = NULL, \
     has_issue = NULL, contact_name = NULL, variables = NULL, words_kept = 0";

async fn number_of(work: &mut Work<'_>, account: AccountId, id: ContactId) -> StoreResult<PhoneNumber> {
    let row = sqlx::query("SELECT phone_number FROM contacts WHERE id = $1 AND account = $2")
        .bind(id.to_string())
        .bind(account.to_string())
        .existing(&mut *work.conn)
        .await?;
    row.number("phone_number")
}

async fn calls_to(work: &mut Work<'_>, account: AccountId, number: &PhoneNumber) -> StoreResult<ContactCalls> {
    let rows = sqlx::query(
        "SELECT id, state, COALESCE(end_written_at, ended_at) AS over_since FROM attempts \
         WHERE account = $1 AND phone_number = $2",
    )
    .bind(account.to_string())
    .bind(number.as_str().to_owned())
    .all(&mut *work.conn)
    .await?;
    let mut calls = Vec::with_capacity(rows.len());
    for row in &rows {
        let queued = row.word("state", AttemptState::parse)? == AttemptState::Queued;
        if !queued && !is_settled(row, work.now)? {
            return Ok(ContactCalls::Going);
        }
        calls.push(row.id("id")?);
    }
    Ok(ContactCalls::Over(calls))
}

/// Returns whether the call is over and will not write any more.
fn is_settled(row: &AnyRow, now: Timestamp) -> StoreResult<bool> {
    let over_since = row.maybe_int("over_since")?;
    let is_final = row.word("state", AttemptState::parse)? == AttemptState::Final;
    Ok(is_final && over_since.is_none_or(|since| now.0 - since >= SETTLING_US))
}

async fn conversation_is_settled(work: &mut Work<'_>, account: AccountId, id: AttemptId) -> StoreResult<bool> {
    let row = sqlx::query(
        "SELECT state, COALESCE(end_written_at, ended_at) AS over_since FROM attempts \
         WHERE id = $1 AND account = $2 AND deleted_at IS NULL",
    )
    .bind(id.to_string())
    .bind(account.to_string())
    .existing(&mut *work.conn)
    .await?;
    is_settled(&row, work.now)
}

async fn delete_conversation(mut work: Work<'_>, account: AccountId, id: AttemptId) -> StoreResult<()> {
    if !conversation_is_settled(&mut work, account, id).await? {
        return Err(StoreError::Stale);
    }
    do_not_call::forget_call(&mut work, id).await?;
    let update = composed(format!(
        "UPDATE attempts SET {WORDLESS}, deleted_at = $1 WHERE id = $2 AND state IN ('queued', 'final') AND deleted_at IS NULL"
    ));
    found(affected(update.bind(work.now.0).bind(id.to_string()), work.conn).await?)?;
    erase_content(&mut work, id).await?;
    test_calls::forget(&mut work, id).await?;
    for statement in [
        "DELETE FROM deliveries WHERE attempt = $1",
        "DELETE FROM journal WHERE attempt = $1",
    ] {
        affected(sqlx::query(statement).bind(id.to_string()), work.conn).await?;
    }
    Ok(())
}

async fn calls(mut work: Work<'_>, account: AccountId, id: ContactId) -> StoreResult<ContactCalls> {
    let number = number_of(&mut work, account, id).await?;
    calls_to(&mut work, account, &number).await
}

/// Returns the number's rows in campaigns. This scans the contact lists, which have no index for it, so do
/// not run it in a transaction that others wait for.
async fn places(mut work: Work<'_>, account: AccountId, id: ContactId) -> StoreResult<Vec<ContactKey>> {
    let number = number_of(&mut work, account, id).await?;
    let rows = sqlx::query(
        "SELECT cc.list, cc.idx FROM campaigns c JOIN campaign_contacts cc ON cc.list = c.contact_list \
         WHERE c.account = $1 AND cc.phone_number = $2",
    )
    .bind(account.to_string())
    .bind(String::from(number))
    .all(&mut *work.conn)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(ContactKey {
                list: row.int("list")?,
                index: row.int("idx")?,
            })
        })
        .collect()
}

async fn erase_call(work: &mut Work<'_>, call: AttemptId) -> StoreResult<()> {
    do_not_call::forget_call(work, call).await?;
    let update = composed(format!(
        "UPDATE attempts SET {WORDLESS}, phone_number = $1 WHERE id = $2 AND state IN ('queued', 'final')"
    ));
    let update = update.bind(String::from(PhoneNumber::erased())).bind(call.to_string());
    if affected(update, work.conn).await? == 0 {
        // It was claimed since it was read: somebody may be dialing it now.
        return Err(StoreError::Stale);
    }
    erase_content(work, call).await
}

/// Shortens the error of a call to its kind, and deletes what the call stored beside its row.
async fn erase_content(work: &mut Work<'_>, call: AttemptId) -> StoreResult<()> {
    let query = sqlx::query("SELECT error FROM attempts WHERE id = $1 AND error LIKE '%:%'").bind(call.to_string());
    if let Some(row) = query.optional(&mut *work.conn).await? {
        let error = row.text("error")?;
        let update = sqlx::query("UPDATE attempts SET error = $1 WHERE id = $2 AND state IN ('queued', 'final')");
        let update = update.bind(erased_error(&error).to_owned()).bind(call.to_string());
        affected(update, work.conn).await?;
    }
    for statement in [
        "DELETE FROM appointments WHERE attempt = $1",
        // There is nothing left to invite to.
        "DELETE FROM deliveries WHERE attempt = $1 AND kind = 'invitation' AND state = 'pending'",
        // A mail server's answer may contain the recipient's address.
        "UPDATE deliveries SET last_error = NULL WHERE attempt = $1",
    ] {
        affected(sqlx::query(statement).bind(call.to_string()), work.conn).await?;
    }
    account_events::erase(work, call).await?;
    erase_record(work, call).await
}

/// Deletes a call's turns, its events, its analysis job, and the name and variables of its request. The usage stays: it
/// contains no words of the call.
async fn erase_record(work: &mut Work<'_>, call: AttemptId) -> StoreResult<()> {
    // FTS5 needs the indexed words to remove them.
    transcripts::forget(work, call).await?;
    let forget = sqlx::query("UPDATE single_calls SET name = NULL, variables = '{}' WHERE attempt = $1");
    affected(forget.bind(call.to_string()), work.conn).await?;
    let turns = sqlx::query("DELETE FROM turns WHERE attempt = $1").bind(call.to_string());
    affected(turns, work.conn).await?;
    let events = sqlx::query("DELETE FROM journal WHERE attempt = $1 AND name <> $2").bind(call.to_string());
    affected(events.bind(USAGE), work.conn).await?;
    let jobs = sqlx::query("DELETE FROM outbox WHERE attempt = $1").bind(call.to_string());
    match affected(jobs, work.conn).await? {
        0 => Ok(()),
        // Deliveries that waited for the analysis still report the end of the call.
        _ => deliveries::make(work, call).await,
    }
}

async fn erase_words(mut work: Work<'_>, ended_before: Timestamp, limit: i64) -> StoreResult<usize> {
    let skip_locked = work.dialect.skip_locked;
    let query = composed(format!(
        "WITH old AS MATERIALIZED (SELECT id FROM attempts \
         WHERE state = 'final' AND words_kept = 1 AND ended_at < $1 ORDER BY ended_at, id LIMIT $2{skip_locked}) \
         UPDATE attempts SET {WORDLESS} \
         WHERE id IN (SELECT id FROM old) RETURNING id"
    ))
    .bind(ended_before.0)
    .bind(limit.max(0));
    let rows = query.all(&mut *work.conn).await?;
    for row in &rows {
        let call: AttemptId = row.id("id")?;
        // An appointment in the future is not a memory of the call.
        let appointments = sqlx::query("DELETE FROM appointments WHERE attempt = $1 AND ends_at < $2");
        let appointments = appointments.bind(call.to_string()).bind(ended_before.0);
        affected(appointments, work.conn).await?;
        erase_record(&mut work, call).await?;
    }
    Ok(rows.len())
}

async fn erase(
    mut work: Work<'_>,
    account: AccountId,
    id: ContactId,
    places: Vec<ContactKey>,
) -> StoreResult<ContactCalls> {
    let number = number_of(&mut work, account, id).await?;
    let calls = calls_to(&mut work, account, &number).await?;
    let ContactCalls::Over(ids) = &calls else {
        return Ok(calls);
    };
    for call in ids {
        erase_call(&mut work, *call).await?;
    }
    // Another transaction may have planned a call meanwhile.
    match calls_to(&mut work, account, &number).await? {
        ContactCalls::Over(left) if left.is_empty() => {}
        _ => return Err(StoreError::Stale),
    }
    for place in places {
        let update = sqlx::query(
            "UPDATE campaign_contacts SET phone_number = $1, name = NULL, email = NULL, extra = '{}' \
             WHERE list = $2 AND idx = $3 AND phone_number = $4",
        );
        let update = update.bind(String::from(PhoneNumber::erased())).bind(place.list);
        let update = update.bind(place.index).bind(number.as_str().to_owned());
        affected(update, work.conn).await?;
    }
    let delete = sqlx::query("DELETE FROM contacts WHERE id = $1 AND account = $2");
    found(affected(delete.bind(id.to_string()).bind(account.to_string()), work.conn).await?)?;
    Ok(calls)
}

#[async_trait]
impl ErasureStore for SqlStore {
    async fn calls_of_contact(&self, account: AccountId, id: ContactId) -> StoreResult<ContactCalls> {
        self.read(move |work| Box::pin(calls(work, account, id))).await
    }

    async fn erase_contact(&self, account: AccountId, id: ContactId) -> StoreResult<ContactCalls> {
        let places = self.read(move |work| Box::pin(places(work, account, id))).await?;
        self.write(move |work| Box::pin(erase(work, account, id, places.clone())))
            .await
    }

    async fn is_settled(&self, account: AccountId, id: AttemptId) -> StoreResult<bool> {
        self.read(move |mut work| Box::pin(async move { conversation_is_settled(&mut work, account, id).await }))
            .await
    }

    async fn delete_conversation(&self, account: AccountId, id: AttemptId) -> StoreResult<()> {
        self.write(move |work| Box::pin(delete_conversation(work, account, id)))
            .await
    }

    async fn ended_tests(&self, ended_before: Timestamp, limit: i64) -> StoreResult<Vec<EndedTest>> {
        self.read(move |work| Box::pin(test_calls::ended(work, ended_before, limit)))
            .await
    }

    async fn erase_words(&self, ended_before: Timestamp, limit: i64) -> StoreResult<usize> {
        self.write(move |work| Box::pin(erase_words(work, ended_before, limit)))
            .await
    }
}
