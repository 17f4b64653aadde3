//! Values of entities, checked against the agent's settings.

use serde_json::{Number, Value};

use crate::agent::{Entity, EntityKind};

/// Longest text, in characters.
const MOST_CHARS: usize = 500;

/// Limit from which a float cannot represent every whole number.
const MOST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// Converts a value to the entity's type; none if it does not match. A text may represent a number or a flag
/// as JSON writes it, or a choice in any case. No other conversions are made.
pub fn checked(entity: &Entity, value: &Value) -> Option<Value> {
    if !entity.allowed.is_empty() {
        let text = in_words(value).to_lowercase();
        let same = |allowed: &&Value| in_words(allowed).to_lowercase() == text.trim();
        return entity.allowed.iter().find(same).cloned();
    }
    match entity.kind {
        EntityKind::String => text(value),
        EntityKind::Number => number(value).map(Value::Number),
        EntityKind::Integer => integer(value).map(Value::from),
        EntityKind::Boolean => match value {
            Value::Bool(_) => Some(value.clone()),
            Value::String(text) => text.trim().to_lowercase().parse::<bool>().ok().map(Value::Bool),
            _ => None,
        },
    }
}

/// Returns the text from which a value reads back.
pub fn in_words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn text(value: &Value) -> Option<Value> {
    let text = match value {
        Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let fits = !text.is_empty() && text.chars().count() <= MOST_CHARS;
    fits.then(|| Value::String(text))
}

fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => {
            let text = text.trim();
            let whole = text.parse::<i64>().ok().map(Number::from);
            // Rust also parses "inf" and "nan" as numbers.
            whole.or_else(|| Number::from_f64(text.parse().ok()?))
        }
        _ => None,
    }
}

fn integer(value: &Value) -> Option<i64> {
    let number = number(value)?;
    number.as_i64().or_else(|| {
        let figure = number.as_f64()?;
        let whole = figure.fract() == 0.0 && figure.abs() < MOST_WHOLE;
        whole.then_some(figure as i64)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn entity(kind: EntityKind, allowed: Vec<Value>) -> Entity {
        Entity {
            kind,
            description: String::new(),
            allowed,
        }
    }

    #[test]
    fn a_value_is_what_the_entity_wants_or_nothing() {
        use EntityKind::{Boolean, Integer, Number, String};
        for (kind, given, expected) in [
            (String, json!("  Ada  Lovelace "), Some(json!("Ada Lovelace"))),
            (String, json!(1010), Some(json!("1010"))),
            (String, json!(true), None),
            (String, json!(" "), None),
            (String, json!("x".repeat(501)), None),
            (Integer, json!(3), Some(json!(3))),
            (Integer, json!("3"), Some(json!(3))),
            (Integer, json!(3.0), Some(json!(3))),
            (Integer, json!(3.5), None),
            (Integer, json!("three"), None),
            (Integer, json!(1e300), None),
            (Integer, json!(true), None),
            (Number, json!("3.5"), Some(json!(3.5))),
            (Number, json!("inf"), None),
            (Number, json!("NaN"), None),
            (Number, json!([3]), None),
            (Boolean, json!("True"), Some(json!(true))),
            (Boolean, json!(false), Some(json!(false))),
            (Boolean, json!("yes"), None),
            (Boolean, json!(1), None),
            (Boolean, json!(null), None),
        ] {
            assert_eq!(checked(&entity(kind, Vec::new()), &given), expected, "{kind:?} {given}");
        }
        let sizes = entity(String, vec![json!("small"), json!("Large")]);
        assert_eq!(checked(&sizes, &json!(" LARGE")), Some(json!("Large")));
        assert_eq!(checked(&sizes, &json!("medium")), None);
        let endpoints = entity(Integer, vec![json!(3), json!(5)]);
        assert_eq!(checked(&endpoints, &json!("5")), Some(json!(5)));
        assert_eq!(checked(&endpoints, &json!(4)), None);
    }

    proptest! {
        #[test]
        fn what_is_kept_is_kept_again(text in "\\PC{0,20}|-?[0-9]{1,20}(\\.[0-9]{1,3})?|true|false") {
            for kind in [EntityKind::String, EntityKind::Number, EntityKind::Integer, EntityKind::Boolean] {
                let entity = entity(kind, Vec::new());
                if let Some(value) = checked(&entity, &json!(text)) {
                    let again = checked(&entity, &json!(in_words(&value)));
                    prop_assert_eq!(again.map(|value| in_words(&value)), Some(in_words(&value)));
                }
            }
        }
    }
}
