//! History of a webhook endpoint's event types. An event is delivered if the endpoint wanted its type when the event
//! happened.

use domain::{
    id::WebhookId,
    ports::store::{AccountEventType, StoreResult, TypePattern, WebhookEndpoint},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;

use crate::engine::{
    Work,
    rows::{Columns, Fetch, to_json},
};

/// Changes that are kept; events are published within seconds.
const KEPT: usize = 50;

#[derive(Serialize, Deserialize)]
struct Term {
    from: i64,
    types: Vec<TypePattern>,
}

/// The terms of an endpoint, in their order.
pub(crate) struct Terms(Vec<Term>);

impl Terms {
    /// Reads `terms`, `types` and `created_at`.
    pub(crate) fn read(row: &AnyRow) -> StoreResult<Self> {
        let types: Vec<TypePattern> = row.json("types")?;
        let kept: Vec<Term> = match row.maybe_text("terms")? {
            Some(_) => row.json("terms")?,
            None => Vec::new(),
        };
        // An earlier version beside this one changes the types alone.
        if kept.last().is_some_and(|last| last.types == types) {
            return Ok(Self(kept));
        }
        let from = row.time("created_at")?.0;
        Ok(Self(vec![Term { from, types }]))
    }

    /// Returns whether the endpoint wanted such an event at its time.
    pub(crate) fn want(&self, event: AccountEventType, at: Timestamp) -> bool {
        let term = self.0.iter().rfind(|term| term.from <= at.0);
        term.is_some_and(|term| term.types.iter().any(|pattern| pattern.matches(event)))
    }
}

/// Returns the terms to store with a change of an endpoint; none if they stay the same. Enabling an endpoint discards its
/// earlier terms, so that it gets no event from before.
pub(crate) async fn changed(
    work: &mut Work<'_>,
    id: WebhookId,
    before: &WebhookEndpoint,
    new: &WebhookEndpoint,
) -> StoreResult<Option<String>> {
    let is_enabled = new.enabled && !before.enabled;
    if !is_enabled && new.types == before.types {
        return Ok(None);
    }
    let query = sqlx::query("SELECT terms, types, created_at FROM webhook_endpoints WHERE id = $1");
    let row = query.bind(id.to_string()).one(&mut *work.conn).await?;
    let mut terms = match is_enabled {
        true => Vec::new(),
        false => Terms::read(&row)?.0,
    };
    terms.drain(..terms.len().saturating_sub(KEPT));
    terms.push(Term {
        from: work.now.0,
        types: new.types.clone(),
    });
    to_json(&terms).map(Some)
}
