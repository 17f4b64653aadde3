//! Calls with which agents are tried out.

use domain::{
    id::AttemptId,
    ports::store::{EndedTest, NewInboundCall, StoreResult},
    time::Timestamp,
};
use sqlx::any::AnyRow;

use crate::{
    agents,
    engine::{
        Work,
        rows::{Columns, Fetch, affected, to_json},
    },
};

/// Adds the row of an agent that is not saved, for its test call. Returns whether the call has one. The row is deleted
/// from the first, so that only the call finds it.
pub(crate) async fn add_unsaved(work: &mut Work<'_>, new: &NewInboundCall) -> StoreResult<bool> {
    let Some(document) = new.test.as_ref().and_then(|test| test.unsaved.as_ref()) else {
        return Ok(false);
    };
    let insert = sqlx::query(
        "INSERT INTO agents (id, account, name, document, version, created_at, updated_at, deleted_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $6, $6)",
    )
    .bind(new.agent.to_string())
    .bind(new.account.to_string())
    .bind(agents::name(document))
    .bind(to_json(document)?)
    .bind(new.agent_version)
    .bind(work.now.0);
    affected(insert, &mut *work.conn).await?;
    Ok(true)
}

/// Notes that a new call is a test, if it is one.
pub(crate) async fn note(work: &mut Work<'_>, new: &NewInboundCall) -> StoreResult<()> {
    let Some(test) = &new.test else { return Ok(()) };
    let agent = test.unsaved.as_ref().map(|_| new.agent.to_string());
    let insert = sqlx::query("INSERT INTO test_calls (attempt, agent) VALUES ($1, $2)");
    let insert = insert.bind(new.attempt.to_string()).bind(agent);
    affected(insert, &mut *work.conn).await.map(drop)
}

pub(crate) async fn ended(work: Work<'_>, before: Timestamp, limit: i64) -> StoreResult<Vec<EndedTest>> {
    let query = sqlx::query(
        "SELECT a.id, a.account, a.ended_at FROM test_calls t JOIN attempts a ON a.id = t.attempt \
         WHERE a.state = 'final' AND a.ended_at < $1 ORDER BY a.ended_at, a.id LIMIT $2",
    );
    let rows = query.bind(before.0).bind(limit.max(0)).all(work.conn).await?;
    let read = |row: &AnyRow| {
        Ok(EndedTest {
            account: row.id("account")?,
            attempt: row.id("id")?,
            ended_at: row.time("ended_at")?,
        })
    };
    rows.iter().map(read).collect()
}

/// Forgets a test whose conversation is deleted, with the agent that was not saved. Its row stays, as the call's does.
pub(crate) async fn forget(work: &mut Work<'_>, call: AttemptId) -> StoreResult<()> {
    for statement in [
        "UPDATE agents SET name = '', document = '{}' WHERE id = (SELECT t.agent FROM test_calls t WHERE t.attempt = $1)",
        "DELETE FROM test_calls WHERE attempt = $1",
    ] {
        affected(sqlx::query(statement).bind(call.to_string()), &mut *work.conn).await?;
    }
    Ok(())
}
