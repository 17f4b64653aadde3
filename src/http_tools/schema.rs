//! The JSON Schema of a tool's arguments: what is taken as one, and what fits it.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// Bytes of a schema.
pub const SCHEMA_BYTES: usize = 16 * 1024;

/// Regular expressions run in linear time, whatever pattern and text, and nothing is fetched for a `$ref`.
fn compiled(schema: &Value) -> Result<Validator, String> {
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    options.build(schema).map_err(|error| format!("{error:.200}"))
}

/// Why this is no schema of arguments: a code and a message; none when it is one.
pub fn problem_of(schema: &Value) -> Option<(&'static str, String)> {
    let Some(fields) = schema.as_object() else {
        return Some(("wrong_type", "must be an object, a JSON Schema".into()));
    };
    let size = schema.to_string().len();
    if size > SCHEMA_BYTES {
        let message = format!("has {size} bytes; at most {SCHEMA_BYTES} are taken");
        return Some(("too_long", message));
    }
    if fields.get("type").and_then(Value::as_str) != Some("object") {
        let message = "must have the `type` `object`: arguments are named";
        return Some(("invalid_schema", message.into()));
    }
    let why = compiled(schema).err()?;
    Some(("invalid_schema", format!("is no JSON Schema that can be used: {why}")))
}

/// Whether arguments fit a schema.
///
/// # Errors
/// With what is wrong, for the model.
pub fn check(schema: &Value, arguments: &Value) -> Result<(), String> {
    if !arguments.is_object() {
        return Err("give a JSON object".into());
    }
    let wrong = compiled(schema)?
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
