//! Notes of ended calls, by which filters and searches find them: sentiment, issues, and the full-text index.
//!
//! The index contains the words of the call's turns and of the callee's name and fields, as they were when the call was
//! indexed. FTS5 needs the same words to remove
//! them, so a call is removed from the index before its turns change. If texts are ever split differently, a migration
//! must empty the index and set `has_issue` to null.

use std::collections::BTreeMap;

use domain::{
    conversation,
    id::{AccountId, AgentId, AttemptId, CampaignId},
    ports::store::{AgentRow, ConversationRow, EndPlace, NOTED_AFTER_US, StoreError, StoreResult, TurnFact},
    transcript_search::{TURN, indexed},
};

use super::turns;
use crate::{
    agents, conversations,
    engine::{
        Work,
        rows::{Columns, Fetch, affected, composed, places},
        word_index::{PLACES, WordIndex},
    },
};

/// Calls that [`note_all`] notes in one transaction; few, so that other writes hardly wait.
pub(crate) const NOTED_AT_ONCE: usize = 20;

/// Returns the words of a call as text for FTS5.
fn text(words: &[String]) -> String {
    words.join(" ")
}

/// Returns the words of a call with their positions, as text of a `tsvector`. PostgreSQL keeps 255 positions of a word,
/// none above 16,383.
fn vector(words: &[String]) -> String {
    let mut positions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (word, at) in words.iter().zip(1_u32..).filter(|(word, _)| *word != TURN) {
        let known = positions.entry(word).or_default();
        if known.is_empty() || (known.len() < 255 && at < 16_383) {
            known.push(at.min(16_383).to_string());
        }
    }
    let entries = positions.iter().map(|(word, at)| format!("'{word}':{}", at.join(",")));
    entries.collect::<Vec<_>>().join(" ")
}

/// Account, agent and campaign of a call. Their ids are words of its text.
type Owners = (AccountId, AgentId, Option<CampaignId>);

fn words_of((account, agent, campaign): Owners, callee: &str, turns: &[TurnFact]) -> Vec<String> {
    let campaign = campaign.map(|id| id.to_string());
    let scope: Vec<String> = [account.to_string(), agent.to_string()]
        .into_iter()
        .chain(campaign)
        .collect();
    indexed(&scope, callee, turns)
}

async fn agent_of(work: &mut Work<'_>, row: &ConversationRow) -> StoreResult<Option<AgentRow>> {
    match agents::kept(work.again(), row.account, row.agent).await {
        Ok(agent) => Ok(Some(agent)),
        Err(StoreError::NotFound) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Locks a call that may be noted. An erasure waits for this transaction, or has changed the row before it.
const LOCK: &str =
    "UPDATE attempts SET has_issue = COALESCE(has_issue, 0) WHERE id = $1 AND state = 'final' AND words_kept = 1";

/// Locks a call that is still to be noted. Another node that looks for such calls waits, and then skips it.
const CLAIM: &str =
    "UPDATE attempts SET has_issue = 0 WHERE id = $1 AND has_issue IS NULL AND state = 'final' AND words_kept = 1";

/// Notes a call that is over and whose words are kept, again if it was noted before.
pub(crate) async fn note(work: &mut Work<'_>, call: AttemptId) -> StoreResult<()> {
    note_locked(work, call, LOCK).await
}

async fn note_locked(work: &mut Work<'_>, call: AttemptId, lock: &'static str) -> StoreResult<()> {
    let lock = sqlx::query(lock).bind(call.to_string());
    if affected(lock, work.conn).await? == 0 {
        return Ok(());
    }
    let row = conversations::get(work.again(), None, call).await?;
    let turns = turns::of(work.again(), call).await?;
    let agent = agent_of(work, &row).await?;
    let analysis = row.analysis.as_ref();
    let sentiment = analysis.map(|analysis| analysis.sentiment.sentiment_overall.as_str());
    let update = sqlx::query("UPDATE attempts SET sentiment = $2, has_issue = $3 WHERE id = $1 AND state = 'final'");
    let update = update.bind(call.to_string()).bind(sentiment);
    let update = update.bind(i64::from(conversation::has_issue(&row, &turns, agent.as_ref())));
    affected(update, work.conn).await?;
    forget(work, call).await?;
    let callee = row.callee.text();
    match turns.is_empty() && callee.is_empty() {
        true => Ok(()),
        false => {
            let words = words_of((row.account, row.agent, row.campaign), &callee, &turns);
            index(work, &row, callee, &words).await
        }
    }
}

async fn index(work: &mut Work<'_>, row: &ConversationRow, callee: String, words: &[String]) -> StoreResult<()> {
    let (id, account, started_at) = (row.id.to_string(), row.account.to_string(), row.started_at.0);
    match work.dialect.words {
        WordIndex::Gin => {
            let insert = sqlx::query(
                "INSERT INTO transcripts (id, account, started_at, words) VALUES ($1, $2, $3, CAST($4 AS tsvector)) \
                 ON CONFLICT (id) DO UPDATE SET words = excluded.words",
            );
            let insert = insert.bind(id).bind(account).bind(started_at).bind(vector(words));
            affected(insert, work.conn).await.map(drop)
        }
        WordIndex::Fts5 => {
            let free = sqlx::query(
                "SELECT CAST(COALESCE(MAX(place) + 1, $1) AS BIGINT) AS place FROM transcripts \
                 WHERE place >= $1 AND place < $2",
            );
            let free = free.bind(started_at * PLACES).bind((started_at + 1) * PLACES);
            let place = free.one(&mut *work.conn).await?.int("place")?;
            let insert = sqlx::query(
                "INSERT INTO transcripts (place, id, account, started_at, callee) VALUES ($1, $2, $3, $4, $5)",
            );
            let insert = insert.bind(place).bind(id).bind(account).bind(started_at);
            affected(insert.bind(callee), work.conn).await?;
            let insert = sqlx::query("INSERT INTO transcript_words (rowid, words) VALUES ($1, $2)");
            affected(insert.bind(place).bind(text(words)), work.conn)
                .await
                .map(drop)
        }
    }
}

/// Removes a call from the index. Its turns must still be as they were when it was noted.
pub(crate) async fn forget(work: &mut Work<'_>, call: AttemptId) -> StoreResult<()> {
    if work.dialect.words == WordIndex::Fts5 {
        let query = sqlx::query(
            "SELECT CAST(t.place AS BIGINT) AS place, t.callee, a.account, a.agent, a.campaign \
             FROM transcripts t JOIN attempts a ON a.id = t.id WHERE t.id = $1",
        );
        let row = query.bind(call.to_string()).optional(&mut *work.conn).await?;
        let Some(row) = row else {
            return Ok(());
        };
        let owners = (row.id("account")?, row.id("agent")?, row.maybe_id("campaign")?);
        let turns = turns::of(work.again(), call).await?;
        let delete =
            sqlx::query("INSERT INTO transcript_words (transcript_words, rowid, words) VALUES ('delete', $1, $2)");
        let words = words_of(owners, &row.text("callee")?, &turns);
        let delete = delete.bind(row.int("place")?).bind(text(&words));
        affected(delete, work.conn).await?;
    }
    let delete = sqlx::query("DELETE FROM transcripts WHERE id = $1").bind(call.to_string());
    affected(delete, work.conn).await.map(drop)
}

/// Removes calls that get further turns from the index; their analysis notes them again.
pub(crate) async fn before_turns(work: &mut Work<'_>, calls: &[AttemptId]) -> StoreResult<()> {
    if work.dialect.words != WordIndex::Fts5 {
        return Ok(());
    }
    let query = composed(format!(
        "SELECT id FROM transcripts WHERE id IN ({})",
        places(1, calls.len())
    ));
    let query = calls.iter().fold(query, |query, id| query.bind(id.to_string()));
    for row in query.all(&mut *work.conn).await? {
        forget(work, row.id("id")?).await?;
    }
    Ok(())
}

/// Returns the calls after a place in the order of ends, each with whether it must still be noted.
pub(crate) async fn over_since(work: Work<'_>, after: EndPlace, limit: i64) -> StoreResult<Vec<(EndPlace, bool)>> {
    let query = sqlx::query(
        "SELECT id, ended_at, CAST(CASE WHEN has_issue IS NULL THEN 1 ELSE 0 END AS BIGINT) AS is_new FROM attempts \
         WHERE state = 'final' AND words_kept = 1 AND (ended_at, id) > ($1, $2) AND ended_at < $3 \
         ORDER BY ended_at, id LIMIT $4",
    );
    let (ended_at, id) = after;
    let query = query.bind(ended_at.0).bind(id.to_string());
    let query = query.bind(work.now.0 - NOTED_AFTER_US).bind(limit.max(0));
    let rows = query.all(work.conn).await?;
    rows.iter()
        .map(|row| Ok(((row.time("ended_at")?, row.id("id")?), row.flag("is_new")?)))
        .collect()
}

/// Notes those calls that are still to be noted.
pub(crate) async fn note_all(mut work: Work<'_>, calls: Vec<AttemptId>) -> StoreResult<()> {
    for call in calls {
        note_locked(&mut work, call, CLAIM).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_has_few_positions_of_a_word_and_none_that_postgresql_would_move() {
        let mut words = vec!["§a".to_owned(), TURN.to_owned(), "so".to_owned()];
        words.extend(std::iter::repeat_n("so".to_owned(), 400));
        words.extend(std::iter::repeat_n("well".to_owned(), 20_000));
        words.push("end".to_owned());
        let vector = vector(&words);
        assert!(vector.starts_with("'end':16383 'so':3,4,5,"), "{vector}");
        assert_eq!(vector.matches(',').count(), 2 * 254);
        assert!(vector.ends_with("'§a':1"), "{vector}");
    }
}
