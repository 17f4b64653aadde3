//! Provider usage of an analysis, added to that of its call.

use domain::ports::usage::USAGE;
use domain::ports::{
    store::{ConversationRow, EventFact, Fact, Store, StoreError},
    usage::Meter,
};
use serde_json::Value;

/// Adds the usage. Among several usage events of a call, the last one counts.
pub(super) async fn add(store: &dyn Store, row: &ConversationRow, meter: &Meter) -> Result<(), StoreError> {
    let Some(used) = meter.shown() else { return Ok(()) };
    let before = store.last_event(row.id, USAGE).await?;
    let mut sum = before
        .as_ref()
        .and_then(|event| serde_json::from_str(&event.detail).ok())
        .unwrap_or(Value::Null);
    plus(&mut sum, &used);
    let event = EventFact {
        name: USAGE.to_owned(),
        at_ms: before.map_or(0, |event| event.at_ms),
        detail: sum.to_string(),
    };
    store.append_facts(&[(row.id, Fact::Event(event))]).await
}

/// Adds numbers to numbers of the same name, at any depth.
fn plus(sum: &mut Value, more: &Value) {
    match (sum, more) {
        (Value::Object(sum), Value::Object(more)) => {
            for (name, more) in more {
                plus(sum.entry(name.clone()).or_insert(Value::Null), more);
            }
        }
        (sum, more) => {
            let whole = |sum: &Value| Some(sum.as_u64()?.saturating_add(more.as_u64()?));
            *sum = match (whole(sum), sum.as_f64().zip(more.as_f64())) {
                (Some(whole), _) => whole.into(),
                (None, Some((sum, more))) => (sum + more).into(),
                (None, None) => more.clone(),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_add_up() {
        let mut sum =
            json!({ "a": { "inputTokens": 3, "models": { "m": { "inputTokens": 3 } } }, "d": { "seconds": 1.5 } });
        plus(
            &mut sum,
            &json!({ "a": { "inputTokens": 4, "models": { "n": { "inputTokens": 4 } } }, "d": { "seconds": 1 } }),
        );
        let models = json!({ "m": { "inputTokens": 3 }, "n": { "inputTokens": 4 } });
        assert_eq!(
            sum,
            json!({ "a": { "inputTokens": 7, "models": models }, "d": { "seconds": 2.5 } })
        );
        let mut none = Value::Null;
        plus(&mut none, &json!({ "a": 1 }));
        assert_eq!(none, json!({ "a": 1 }));
    }
}
