//! Facts of calls: turns and events. They are observations and need no guard; a turn is written once.

use std::collections::BTreeSet;

use domain::{
    id::{AttemptId, EventId},
    ports::store::{AccountEventType, EventFact, EventRow, Fact, PERSON_WANTED, StoreResult, TurnDetail, TurnFact},
};

use super::{jobs, transcripts, turns};
use crate::{
    engine::{
        Work,
        rows::{Columns, Fetch, ROWS_PER_INSERT, affected, composed, insert_rows, to_json},
    },
    events::account_events,
};

pub(crate) async fn append(mut work: Work<'_>, facts: Vec<(AttemptId, Fact)>) -> StoreResult<()> {
    let mut turns = Vec::new();
    let mut events = Vec::new();
    for (attempt, fact) in facts {
        match fact {
            Fact::Turn(turn) => turns.push((attempt, turn)),
            Fact::Event(event) => events.push((attempt, event)),
        }
    }
    for chunk in turns.chunks(ROWS_PER_INSERT) {
        append_turns(&mut work, chunk).await?;
    }
    for chunk in events.chunks(ROWS_PER_INSERT) {
        append_events(&mut work, chunk).await?;
    }
    Ok(())
}

async fn append_turns(work: &mut Work<'_>, facts: &[(AttemptId, TurnFact)]) -> StoreResult<()> {
    let calls: BTreeSet<AttemptId> = facts.iter().map(|(call, _)| *call).collect();
    let calls: Vec<AttemptId> = calls.into_iter().collect();
    transcripts::before_turns(work, &calls).await?;
    let mut insert = insert_rows(
        "INSERT INTO turns (attempt, seq, speaker, words, started_ms, ended_ms, interrupted, damaged, detail) \
         VALUES",
        facts.len(),
        9,
        "ON CONFLICT (attempt, seq) DO NOTHING",
    );
    for (attempt, turn) in facts {
        let known = turn.detail != TurnDetail::default();
        let detail = known.then(|| to_json(&turn.detail)).transpose()?;
        insert = insert
            .bind(attempt.to_string())
            .bind(turn.seq)
            .bind(turns::speaker_word(turn.speaker))
            .bind(turn.text.clone())
            .bind(turn.started_ms)
            .bind(turn.ended_ms)
            .bind(i64::from(turn.interrupted))
            .bind(i64::from(turn.damaged))
            .bind(detail);
    }
    affected(insert, &mut *work.conn).await?;
    jobs::analyse_again(work, &calls).await
}

/// Appends events as part of a larger transaction.
pub(crate) async fn append_events(work: &mut Work<'_>, events: &[(AttemptId, EventFact)]) -> StoreResult<()> {
    let mut insert = insert_rows(
        "INSERT INTO journal (id, attempt, name, at_ms, detail, created_at) VALUES",
        events.len(),
        6,
        "",
    );
    for (attempt, event) in events {
        insert = insert
            .bind(EventId::new().to_string())
            .bind(attempt.to_string())
            .bind(event.name.clone())
            .bind(event.at_ms)
            .bind(event.detail.clone())
            .bind(work.now.0);
    }
    affected(insert, &mut *work.conn).await?;
    for (attempt, _) in events.iter().filter(|(_, event)| event.name == PERSON_WANTED) {
        account_events::of_call(work, *attempt, AccountEventType::CallPersonWanted).await?;
    }
    Ok(())
}

pub(crate) async fn last_event(work: Work<'_>, attempt: AttemptId, name: String) -> StoreResult<Option<EventFact>> {
    let row =
        sqlx::query("SELECT at_ms, detail FROM journal WHERE attempt = $1 AND name = $2 ORDER BY id DESC LIMIT 1")
            .bind(attempt.to_string())
            .bind(name.clone())
            .optional(work.conn)
            .await?;
    row.map(|row| {
        Ok(EventFact {
            name,
            at_ms: row.int("at_ms")?,
            detail: row.text("detail")?,
        })
    })
    .transpose()
}

pub(crate) async fn events(
    work: Work<'_>,
    attempt: AttemptId,
    names: Vec<&'static str>,
    after: Option<EventId>,
    limit: i64,
) -> StoreResult<Vec<EventRow>> {
    let query = composed(format!(
        "SELECT id, created_at, name, at_ms, detail FROM journal \
         WHERE attempt = $1 AND id > $2 AND name IN ('{}') ORDER BY id LIMIT $3",
        names.join("', '")
    ));
    let query = query
        .bind(attempt.to_string())
        .bind(after.unwrap_or(EventId::FIRST).to_string())
        .bind(limit.max(0));
    let rows = query.all(work.conn).await?;
    rows.iter()
        .map(|row| {
            Ok(EventRow {
                id: row.id("id")?,
                stored_at: row.time("created_at")?,
                event: EventFact {
                    name: row.text("name")?,
                    at_ms: row.int("at_ms")?,
                    detail: row.text("detail")?,
                },
            })
        })
        .collect()
}
