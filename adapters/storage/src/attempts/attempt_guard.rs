//! The only way to change or delete a claimed attempt: the SQL always contains owner and epoch. If no row
//! matches, the caller is fenced.
//!
//! The owner is compared as `COALESCE(owner, '')`, here and wherever a claim is looked up. Otherwise
//! PostgreSQL picks the small index of held attempts, which is the cheapest while a table is new, and reads
//! everything that a node holds for each permit (750 instead of 2,100 contacts a second).

use domain::ports::store::{AttemptState, Claim, StoreError, StoreResult, Tries};
use sqlx::any::AnyRow;

use crate::{
    campaigns::contact_states::ContactKey,
    engine::{
        Work,
        rows::{AnyQuery, Columns, composed, unavailable},
    },
};

/// States in which the permit was given and the attempt is not over.
pub(crate) const SENT: &str = "('dialing', 'dialed', 'answered', 'unknown')";

/// A change of one attempt under a claim.
pub(crate) struct Guarded {
    sql: String,
    claim: Claim,
}

impl Guarded {
    /// Builds an update with `assignments`, whose values start at `$4`, for rows in one of `states` (a list
    /// in parentheses).
    pub(crate) fn update(claim: Claim, assignments: &str, states: &str) -> Self {
        let sql = format!(
            "UPDATE attempts SET {assignments} WHERE id = $1 AND COALESCE(owner, '') = $2 AND epoch = $3 AND state IN {states}"
        );
        Self::new(&sql, claim)
    }

    /// Builds a delete of the row.
    pub(crate) fn delete(claim: Claim, states: &str) -> Self {
        let sql = format!(
            "DELETE FROM attempts WHERE id = $1 AND COALESCE(owner, '') = $2 AND epoch = $3 AND state IN {states}"
        );
        Self::new(&sql, claim)
    }

    fn new(sql: &str, claim: Claim) -> Self {
        let sql = format!(
            "{sql} RETURNING id, account, agent, campaign, contact_list, contact_index, attempt_no, follow_up_no, retry_no, call_backs, \
             kind, phone_number, state, epoch, carrier, carrier_call, dialing_at, answered_at"
        );
        Self { sql, claim }
    }

    /// Runs the change with the further values that `bind` adds. Returns `Fenced` if the claim no longer holds.
    pub(crate) async fn run<'q>(
        self,
        work: &mut Work<'_>,
        bind: impl FnOnce(AnyQuery<'q>) -> AnyQuery<'q>,
    ) -> StoreResult<Held> {
        self.run_or(work, bind, unavailable).await
    }

    /// Runs the change like `run`, but maps database errors with `on_error`.
    pub(crate) async fn run_or<'q>(
        self,
        work: &mut Work<'_>,
        bind: impl FnOnce(AnyQuery<'q>) -> AnyQuery<'q>,
        on_error: impl FnOnce(sqlx::Error) -> StoreError,
    ) -> StoreResult<Held> {
        let query = bind(bind_claim(composed(self.sql), self.claim));
        let row = query.fetch_optional(&mut *work.conn).await.map_err(on_error)?;
        Held::read(row.ok_or(StoreError::Fenced)?)
    }
}

/// Binds `$1` to `$3`.
pub(crate) fn bind_claim(query: AnyQuery<'_>, claim: Claim) -> AnyQuery<'_> {
    query
        .bind(claim.attempt.to_string())
        .bind(claim.owner.to_string())
        .bind(claim.epoch)
}

/// The row after the change, or before it if the row was deleted.
pub(crate) struct Held {
    pub(crate) row: AnyRow,
    /// The contact; none for a single call.
    pub(crate) contact: Option<ContactKey>,
    pub(crate) state: AttemptState,
}

impl Held {
    fn read(row: AnyRow) -> StoreResult<Self> {
        Ok(Self {
            contact: ContactKey::read(&row)?,
            state: row.word("state", AttemptState::parse)?,
            row,
        })
    }
}

/// Reads the follow-up, retry and call-back numbers of an attempt.
pub(crate) fn tries(row: &AnyRow) -> StoreResult<Tries> {
    Ok(Tries {
        follow_up: row.int("follow_up_no")?,
        retry: row.int("retry_no")?,
        call_backs: row.int("call_backs")?,
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    /// Collects every string that changes or deletes rows of `attempts`, with its file.
    fn writes(folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                writes(&path, found);
                continue;
            }
            let source = fs::read_to_string(&path).unwrap();
            let code = source.split("#[cfg(test)]").next().unwrap();
            for text in code.split('"').filter(|text| {
                let text = text.trim_start();
                text.starts_with("UPDATE attempts") || text.starts_with("DELETE FROM attempts")
            }) {
                found.push((path.display().to_string(), text.to_owned()));
            }
        }
    }

    #[test]
    fn no_sql_changes_a_claimed_attempt_without_its_guard() {
        let mut found = Vec::new();
        writes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        assert!(found.len() >= 6, "the search lost its object: {found:?}");
        for (file, sql) in found {
            let (_, condition) = sql.split_once("WHERE").unwrap();
            let guarded = condition.contains("id = $1 AND COALESCE(owner, '') = $2 AND epoch = $3");
            // Nobody holds a queued attempt. A final one only receives its analysis, collected values, its agent's
            // `issueTracking`, its figures and what searches need.
            let nobodys = condition.contains("state = 'queued'");
            let its_own = "SET summary = $1, analysis = $2, collected = COALESCE($4, collected), evidence = $5 ";
            let analysis = sql.contains(its_own) && condition.contains("state = 'final'");
            let tracking = sql.contains("SET issue_tracking = $2 ") && condition.contains("state = 'final'");
            let figures = sql.contains("SET latency_ms = $2, ") && condition.contains("state = 'final'");
            let note = sql.contains(" has_issue = ") && condition.contains("state = 'final'");
            // Erasing a person or a call changes only rows that nobody holds.
            let erasure = condition.contains("state IN ('queued', 'final')");
            // A forgotten row is written again; its holder lost it together with the row.
            let reinstated = file.ends_with("dial_recovery/rows.rs") && condition.contains("epoch <= $3");
            assert!(
                guarded || nobodys || analysis || tracking || figures || note || erasure || reinstated,
                "{file}: {sql}"
            );
        }
    }
}
