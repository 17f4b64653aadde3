//! Differences between two versions of an agent.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{document::complete, schema::shape::join};

/// Maximum differences that are listed.
pub const DIFFERENCES_LISTED: usize = 200;

/// Longest path of a difference, in bytes. If a name makes a path longer, the whole object around it differs.
const PATH_BYTES: usize = 200;

/// A field that differs between two versions of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Difference {
    /// Path of the field.
    pub path: String,
    /// Value in the version that is compared with; left out if it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value, required = false)]
    pub old: Option<Value>,
    /// Value in the version itself; left out if it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value, required = false)]
    pub new: Option<Value>,
}

/// Returns the fields that differ between two documents with all defaults filled in, at most
/// [`DIFFERENCES_LISTED`]. A list counts as one value.
///
/// # Errors
///
/// Returns an error if one of them is not the document of an agent.
pub fn differences(old: &Map<String, Value>, new: &Map<String, Value>) -> Result<Vec<Difference>, serde_json::Error> {
    let whole = |document| complete(document).and_then(serde_json::to_value);
    let mut found = Vec::new();
    compare("", Some(&whole(old)?), Some(&whole(new)?), &mut found);
    Ok(found)
}

/// Returns the paths of [`differences`]; none if one of the documents is not that of an agent.
pub fn changed_fields(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<String> {
    let found = differences(old, new).unwrap_or_default();
    found.into_iter().map(|difference| difference.path).collect()
}

fn compare(path: &str, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<Difference>) {
    if old == new || found.len() == DIFFERENCES_LISTED {
        return;
    }
    if let (Some(Value::Object(old)), Some(Value::Object(new))) = (old, new) {
        let names = || old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
        if names().all(|name| path.len() + name.len() < PATH_BYTES) {
            for name in names() {
                compare(&join(path, name), old.get(name), new.get(name), found);
            }
            return;
        }
    }
    found.push(Difference {
        path: path.to_owned(),
        old: old.cloned(),
        new: new.cloned(),
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agent(variables: &Value, rest: &Value) -> Map<String, Value> {
        let mut agent = json!({ "name": "Ava", "conversationConfig": { "agent": { "dynamicVariables": variables } } });
        agent.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        agent.as_object().unwrap().clone()
    }

    #[test]
    fn fields_that_differ_are_listed_and_defaults_count() {
        let old = agent(
            &json!({ "city": "Bonn", "shop": 1 }),
            &json!({ "tags": ["a"], "direction": "outbound" }),
        );
        let new = agent(&json!({ "city": "Bonn", "zip": null }), &json!({ "tags": ["a", "b"] }));
        let expected = [
            ("tags", Some(json!(["a"])), Some(json!(["a", "b"]))),
            ("conversationConfig.agent.dynamicVariables.shop", Some(json!(1)), None),
            ("conversationConfig.agent.dynamicVariables.zip", None, Some(Value::Null)),
        ];
        let expected = expected.map(|(path, old, new)| Difference {
            path: path.into(),
            old,
            new,
        });
        assert_eq!(differences(&old, &new).unwrap(), expected);
        assert_eq!(changed_fields(&old, &old), Vec::<String>::new());
    }

    #[test]
    fn neither_many_fields_nor_long_names_make_a_long_list() {
        let many: Map<String, Value> = (0..1_000).map(|n| (format!("v{n}"), json!(n))).collect();
        let plain = agent(&json!({}), &json!({}));
        let found = changed_fields(&plain, &agent(&many.into(), &json!({})));
        assert_eq!(found.len(), DIFFERENCES_LISTED);
        let long = agent(&json!({ "x".repeat(1_000): 1, "y": 2 }), &json!({}));
        assert_eq!(
            changed_fields(&plain, &long),
            ["conversationConfig.agent.dynamicVariables"]
        );
    }
}
