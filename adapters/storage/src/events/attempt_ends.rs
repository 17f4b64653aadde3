//! Writes that follow the end of an attempt.

use domain::{
    agent,
    id::AttemptId,
    ports::store::{AccountEventType, StoreResult},
};

use crate::{
    engine::{
        Work,
        rows::{Columns, Fetch, affected},
    },
    events::{account_events, deliveries},
};

/// Does what follows the end of an attempt that was not sent, and creates its deliveries.
pub(crate) async fn ended_unsent(work: &mut Work<'_>, attempt: AttemptId) -> StoreResult<()> {
    ended(work, attempt).await?;
    deliveries::make(work, attempt).await
}

/// Stores the agent's settings that an ended attempt keeps, and the event.
pub(crate) async fn ended(work: &mut Work<'_>, attempt: AttemptId) -> StoreResult<()> {
    keep_issue_tracking(work, attempt).await?;
    account_events::of_call(work, attempt, AccountEventType::CallEnded).await
}

/// Keeps with an ended attempt whether its agent tracks issues now.
async fn keep_issue_tracking(work: &mut Work<'_>, attempt: AttemptId) -> StoreResult<()> {
    // Most agents do not, and their documents may be long.
    let query = sqlx::query(
        "SELECT g.document FROM attempts a JOIN agents g ON g.id = a.agent \
         WHERE a.id = $1 AND g.document LIKE '%\"issueTracking\"%'",
    );
    let row = query.bind(attempt.to_string()).optional(&mut *work.conn).await?;
    let tracked = match row {
        Some(row) => agent::tracks_issues(&row.json("document")?),
        None => false,
    };
    let update = sqlx::query("UPDATE attempts SET issue_tracking = $2 WHERE id = $1 AND state = 'final'");
    let update = update.bind(attempt.to_string()).bind(i64::from(tracked));
    affected(update, &mut *work.conn).await.map(drop)
}
