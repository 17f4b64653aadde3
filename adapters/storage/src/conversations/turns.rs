//! Turns of calls as they are read.

use domain::{
    id::AttemptId,
    ports::{
        language_model::Speaker,
        store::{StoreResult, TurnDetail, TurnFact},
    },
};

use crate::engine::{
    Work,
    rows::{Columns, Fetch},
};

pub(crate) fn speaker_word(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::Agent => "agent",
        Speaker::User => "user",
        Speaker::Operator => "operator",
    }
}

fn parse_speaker(word: &str) -> Option<Speaker> {
    [Speaker::Agent, Speaker::User, Speaker::Operator]
        .into_iter()
        .find(|speaker| speaker_word(*speaker) == word)
}

/// Returns the turns of a call in order.
pub(crate) async fn of(work: Work<'_>, attempt: AttemptId) -> StoreResult<Vec<TurnFact>> {
    let rows = sqlx::query(
        "SELECT seq, speaker, words, started_ms, ended_ms, interrupted, damaged, detail FROM turns \
         WHERE attempt = $1 ORDER BY seq",
    )
    .bind(attempt.to_string())
    .all(work.conn)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(TurnFact {
                seq: row.int("seq")?,
                speaker: row.word("speaker", parse_speaker)?,
                text: row.text("words")?,
                started_ms: row.int("started_ms")?,
                ended_ms: row.int("ended_ms")?,
                interrupted: row.flag("interrupted")?,
                damaged: row.flag("damaged")?,
                detail: match row.maybe_text("detail")? {
                    Some(_) => row.json("detail")?,
                    None => TurnDetail::default(),
                },
            })
        })
        .collect()
}
