//! The JSON Schema of a tool's arguments: what is taken as one, and what fits it.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// Bytes of a schema.
pub const SCHEMA_BYTES: usize = 16 * 1024;

/// Values in a schema with every `$ref` written out: each is looked at for each value of the arguments, and references to
/// references grow without bound in a few lines.
const UNFOLDED: usize = 4_000;

/// Regular expressions run in linear time, whatever pattern and text, and nothing is fetched for a `$ref`.
fn compiled(schema: &Value) -> Result<Validator, String> {
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    options.build(schema).map_err(|error| format!("{error:.200}"))
}

/// How many values a schema has with its references written out; none when they lead in a circle, elsewhere, or to more
/// than [`UNFOLDED`].
fn unfolded(root: &Value, schema: &Value, within: &mut Vec<String>, count: &mut usize) -> Option<()> {
    *count += 1;
    if *count > UNFOLDED {
        return None;
    }
    match schema {
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| match (&**name, value) {
            // Counted where they are referred to.
            ("$defs" | "definitions", _) if std::ptr::eq(schema, root) => Some(()),
            ("$ref", Value::String(to)) => {
                let target = to.strip_prefix('#').and_then(|pointer| root.pointer(pointer))?;
                if within.contains(to) {
                    return None;
                }
                within.push(to.clone());
                unfolded(root, target, within, count)?;
                within.pop();
                Some(())
            }
            // They would have a `$ref` lead to something else than it says.
            ("$dynamicRef" | "$recursiveRef" | "$id", _) => None,
            ("$schema", Value::String(draft)) if draft.contains("draft-04") => None,
            _ => unfolded(root, value, within, count),
        }),
        Value::Array(items) => items.iter().try_for_each(|item| unfolded(root, item, within, count)),
        _ => Some(()),
    }
}

/// Why this is no schema of arguments: a code and a message; none when it is one.
pub fn problem_of(schema: &Value) -> Option<(&'static str, String)> {
    usable(schema).err()
}

/// A schema of arguments, compiled, or why it is none: a code and a message.
fn usable(schema: &Value) -> Result<Validator, (&'static str, String)> {
    let Some(fields) = schema.as_object() else {
        return Err(("wrong_type", "must be an object, a JSON Schema".into()));
    };
    let size = schema.to_string().len();
    if size > SCHEMA_BYTES {
        let message = format!("has {size} bytes; at most {SCHEMA_BYTES} are taken");
        return Err(("too_long", message));
    }
    if fields.get("type").and_then(Value::as_str) != Some("object") {
        let message = "must have the `type` `object`: arguments are named";
        return Err(("invalid_schema", message.into()));
    }
    if unfolded(schema, schema, &mut Vec::new(), &mut 0).is_none() {
        let message = format!(
            "has an `$id`, a `$ref` that leads in a circle or elsewhere, or more than {UNFOLDED} values with every `$ref` written \
             out: refer with `#/$defs/…` to what stands in it"
        );
        return Err(("invalid_schema", message));
    }
    let unusable = |why| ("invalid_schema", format!("is no JSON Schema that can be used: {why}"));
    compiled(schema).map_err(unusable)
}

/// Whether arguments fit a schema. How long they may be is the caller's to say: all of them are looked at.
///
/// # Errors
/// With what is wrong, for the model.
pub fn check(schema: &Value, arguments: &Value) -> Result<(), String> {
    if !arguments.is_object() {
        return Err("give a JSON object".into());
    }
    // One that was kept by an earlier version may be none that is taken now.
    let validator = usable(schema).map_err(|(_, why)| format!("the tool's own schema {why}"))?;
    let wrong = validator
        .iter_errors(arguments)
        .take(5)
        .map(|error| {
            let at = error.instance_path().to_string();
            let at = if at.is_empty() { "/".to_owned() } else { at };
            format!("`{at:.100}`: {error:.200}")
        })
        .collect::<Vec<_>>();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_schemas_of_objects_that_need_nothing_from_elsewhere_are_taken() {
        assert_eq!(problem_of(&json!({ "type": "object" })), None);
        let refers = json!({ "type": "object", "$defs": { "d": { "type": "string" } },
                             "properties": { "a": { "$ref": "#/$defs/d" } } });
        assert_eq!(problem_of(&refers), None);
        for bad in [
            json!([]),
            json!("object"),
            json!({}),
            json!({ "type": "array" }),
            json!({ "type": "object", "properties": { "a": { "type": "text" } } }),
            json!({ "type": "object", "properties": { "a": { "$ref": "http://127.0.0.1/s.json" } } }),
            json!({ "type": "object", "properties": { "a": { "$ref": "file:///etc/passwd" } } }),
            json!({ "type": "object", "properties": { "a": { "pattern": "(" } } }),
            json!({ "type": "object", "description": "x".repeat(SCHEMA_BYTES) }),
        ] {
            assert!(problem_of(&bad).is_some(), "{bad:.100}");
        }
    }

    #[test]
    fn a_schema_that_grows_by_its_references_is_refused() {
        let grows = |levels: usize| {
            let level = |n: usize| {
                let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
                (format!("d{n}"), json!({ "allOf": [next, next] }))
            };
            let mut defs: serde_json::Map<String, Value> = (0..levels).map(level).collect();
            defs.insert(format!("d{levels}"), json!({ "type": "object", "required": ["zzzz"] }));
            json!({ "type": "object", "$ref": "#/$defs/d0", "$defs": defs })
        };
        assert_eq!(problem_of(&grows(4)), None);
        assert!(check(&grows(4), &json!({})).is_err());
        for bad in [
            grows(18),
            grows(60),
            json!({ "type": "object", "allOf": [{ "$ref": "#" }] }),
            json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d" } },
                    "$defs": { "d": { "items": { "$ref": "#/$defs/d" } } } }),
            json!({ "type": "object", "properties": { "a": { "$dynamicRef": "#x" } } }),
            json!({ "type": "object", "properties": { "$defs": grows(18) } }),
            json!({ "type": "object", "properties": { "a": { "$id": "http://x/", "$ref": "#/$defs/d", "$defs": {} } },
                    "$defs": { "d": true } }),
        ] {
            assert!(problem_of(&bad).is_some(), "{bad:.200}");
            assert!(check(&bad, &json!({})).is_err(), "{bad:.200}");
        }
    }

    #[test]
    fn arguments_that_do_not_fit_are_named() {
        let schema = json!({ "type": "object", "required": ["day"], "additionalProperties": false,
                             "properties": { "day": { "type": "string", "maxLength": 10 } } });
        assert_eq!(check(&schema, &json!({ "day": "Monday" })), Ok(()));
        for bad in [
            json!({}),
            json!({ "day": 4 }),
            json!({ "day": "x".repeat(11) }),
            json!({ "day": "Monday", "__proto__": {} }),
            json!("day"),
            json!(null),
        ] {
            assert!(check(&schema, &bad).is_err(), "{bad}");
        }
        let told = check(&schema, &json!({ "day": 4 })).unwrap_err();
        assert!(told.contains("/day"), "{told}");
    }
}
