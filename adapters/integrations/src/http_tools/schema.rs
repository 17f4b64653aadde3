//! JSON Schema of a tool's arguments: which schemas are accepted, and the check of arguments against them.

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};

/// Maximum size of a schema in bytes.
pub const SCHEMA_BYTES: usize = 16 * 1024;

/// Maximum number of values in a schema with every `$ref` expanded. Each is checked against each value of the
/// arguments, and nested references grow without bound in a few lines.
const UNFOLDED: usize = 4_000;

/// Maximum depth of a schema with every `$ref` expanded.
const DEEPEST: usize = 128;

/// Number of values that a regular expression counts as.
const PATTERN_WEIGHT: usize = 50;

/// Maximum size of a compiled regular expression in bytes.
const PATTERN_BYTES: usize = 1024 * 1024;

/// Maximum cost of a check: expanded values of the schema times values of the arguments.
const MOST_LOOKS: usize = 1_000_000;

/// Cost up to which faults are described in the validator's words. The validator first builds an error, with
/// a copy of the value, for every branch of every value.
const MOST_WORDED: usize = 10_000;

/// Bytes of a text that count as one value.
const TEXT_BYTES: usize = 100;

/// Compiles a schema. Regular expressions run in linear time for any pattern and text, and nothing is fetched
/// for a `$ref`.
fn compiled(schema: &Value) -> Result<Validator, String> {
    let patterns = PatternOptions::regex()
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES);
    let options = jsonschema::options().with_pattern_options(patterns);
    options.build(schema).map_err(|error| format!("{error:.200}"))
}

/// Walk over a schema with its references expanded.
struct Unfolding<'s> {
    root: &'s Value,
    /// References that are being followed.
    within: Vec<&'s str>,
    count: usize,
}

impl<'s> Unfolding<'s> {
    /// Counts a part of the schema. Returns `None` if references are circular or external, or if a limit is exceeded.
    fn walk(&mut self, schema: &'s Value, depth: usize, unevaluated: bool) -> Option<()> {
        self.add(1)?;
        if depth > DEEPEST {
            return None;
        }
        match schema {
            Value::Object(fields) => {
                let here = fields.keys().any(|name| name.starts_with("unevaluated"));
                // Each of these checks everything below it again, so the cost doubles with every level.
                if here && unevaluated {
                    return None;
                }
                let mut fields = fields.iter();
                fields.try_for_each(|(name, value)| self.field(schema, name, value, depth, here || unevaluated))
            }
            Value::Array(items) => items
                .iter()
                .try_for_each(|item| self.walk(item, depth + 1, unevaluated)),
            _ => Some(()),
        }
    }

    fn field(
        &mut self,
        schema: &'s Value,
        name: &'s str,
        value: &'s Value,
        depth: usize,
        unevaluated: bool,
    ) -> Option<()> {
        match (name, value) {
            // Definitions are counted where they are referred to.
            ("$defs" | "definitions", _) if std::ptr::eq(schema, self.root) => Some(()),
            ("$ref", Value::String(to)) => {
                let target = to.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer))?;
                if self.within.contains(&to.as_str()) {
                    return None;
                }
                self.within.push(to);
                self.walk(target, depth + 1, unevaluated)?;
                self.within.pop();
                Some(())
            }
            // These would make a `$ref` point to another target than it says.
            ("$dynamicRef" | "$recursiveRef" | "$id", _) => None,
            ("$schema", Value::String(draft)) if draft.contains("draft-04") => None,
            ("pattern", Value::String(_)) => self.add(PATTERN_WEIGHT),
            ("patternProperties", Value::Object(patterns)) => {
                self.add(patterns.len().saturating_mul(PATTERN_WEIGHT))?;
                self.walk(value, depth + 1, unevaluated)
            }
            _ => self.walk(value, depth + 1, unevaluated),
        }
    }

    fn add(&mut self, values: usize) -> Option<()> {
        self.count = self.count.saturating_add(values);
        (self.count <= UNFOLDED).then_some(())
    }
}

/// Returns the number of values in a schema with its references expanded, or `None` if it is unknown or too large.
fn unfolded(schema: &Value) -> Option<usize> {
    let mut unfolding = Unfolding {
        root: schema,
        within: Vec::new(),
        count: 0,
    };
    unfolding.walk(schema, 0, false)?;
    Some(unfolding.count)
}

/// Returns the number of values in arguments, including names.
fn values(arguments: &Value) -> usize {
    match arguments {
        Value::Object(fields) => 1 + fields.values().map(|value| 1 + values(value)).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Value::String(text) => 1 + text.len() / TEXT_BYTES,
        _ => 1,
    }
}

/// Precision of a check, depending on its cost.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    /// Faults are described in the validator's words.
    Close,
    /// Only tells whether the arguments fit, and which argument does not.
    Quick,
    /// The check would cost too much, so the arguments are refused.
    Refused,
}

fn look(schema_values: usize, arguments: &Value) -> Look {
    match schema_values.saturating_mul(values(arguments)) {
        0..=MOST_WORDED => Look::Close,
        looks if looks <= MOST_LOOKS => Look::Quick,
        _ => Look::Refused,
    }
}

/// Returns why a schema is not accepted, as a code and a message. Returns `None` if it is accepted.
pub fn problem_of(schema: &Value) -> Option<(&'static str, String)> {
    usable(schema).err()
}

/// Compiles a schema and counts its values. Returns a code and a message if it is not accepted.
fn usable(schema: &Value) -> Result<(Validator, usize), (&'static str, String)> {
    let Some(fields) = schema.as_object() else {
        return Err(("wrong_type", "must be an object, a JSON Schema".into()));
    };
    let size = schema.to_string().len();
    if size > SCHEMA_BYTES {
        let message = format!("has {size} bytes; at most {SCHEMA_BYTES} are allowed");
        return Err(("too_long", message));
    }
    if fields.get("type").and_then(Value::as_str) != Some("object") {
        let message = "must have the `type` `object`, because arguments have names";
        return Err(("invalid_schema", message.into()));
    }
    let Some(values) = unfolded(schema) else {
        let message = format!(
            "has an `$id`, a `$ref` that leads in a circle or elsewhere, an `unevaluated…` within another, or with every `$ref` \
             written out more than {UNFOLDED} values (a `pattern` counts as {PATTERN_WEIGHT}) or {DEEPEST} levels: refer with \
             `#/$defs/…` to what stands in it, and make it smaller"
        );
        return Err(("invalid_schema", message));
    };
    let unusable = |why| ("invalid_schema", format!("is not a usable JSON Schema: {why}"));
    Ok((compiled(schema).map_err(unusable)?, values))
}

/// Reason why arguments do not fit a schema, worded for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The arguments are not an object.
    #[error("give a JSON object")]
    NoObject,
    /// The schema itself cannot be used.
    #[error("the tool's own schema {0}")]
    Schema(String),
    /// A check would cost too much.
    #[error("they are too many to be checked against the tool's schema: give fewer")]
    TooMany,
    /// Validator's messages about up to five values.
    #[error("{0}")]
    Worded(String),
    /// The argument of this name does not fit. Finding out why would cost too much.
    #[error("`/{0:.100}`: does not fit the tool's schema")]
    Argument(String),
    /// The arguments do not fit, but no single one is the cause. Finding out why would cost too much.
    #[error("they do not fit the tool's schema")]
    Together,
}

/// Checks arguments against a schema. This may compute as long as [`MOST_LOOKS`] allows, so it must not run
/// on a thread that others wait for.
///
/// # Errors
/// Returns an error for the model that says what is wrong.
pub fn check(schema: &Value, arguments: &Value) -> Result<(), Unfit> {
    let Some(named) = arguments.as_object() else {
        return Err(Unfit::NoObject);
    };
    // A schema saved by an earlier version may not be accepted any more.
    let (validator, values) = usable(schema).map_err(|(_, why)| Unfit::Schema(why))?;
    let look = look(values, arguments);
    if look == Look::Refused {
        return Err(Unfit::TooMany);
    }
    // This check builds no errors, and stops at the first value that does not fit.
    if validator.is_valid(arguments) {
        return Ok(());
    }
    if look == Look::Close {
        return Err(Unfit::Worded(in_words(&validator, arguments)));
    }
    Err(match first_unfit(schema, named) {
        Some(name) => Unfit::Argument(name.to_owned()),
        None => Unfit::Together,
    })
}

fn in_words(validator: &Validator, arguments: &Value) -> String {
    let wrong = validator.iter_errors(arguments).take(5).map(|error| {
        let at = error.instance_path().to_string();
        let at = if at.is_empty() { "/".to_owned() } else { at };
        format!("`{at:.100}`: {error:.200}")
    });
    wrong.collect::<Vec<_>>().join("; ")
}

/// Returns the first argument that does not fit on its own, checked against a schema without required arguments.
fn first_unfit<'a>(schema: &Value, named: &'a Map<String, Value>) -> Option<&'a str> {
    let mut alone = schema.clone();
    let fields = alone.as_object_mut()?;
    fields.retain(|name, _| {
        !matches!(
            &**name,
            "required" | "minProperties" | "dependentRequired" | "dependencies"
        )
    });
    let validator = compiled(&alone).ok()?;
    if !validator.is_valid(&Value::Object(Map::new())) {
        return None;
    }
    let unfit = named.iter().find(|(name, value)| {
        let one = Map::from_iter([((*name).clone(), (*value).clone())]);
        !validator.is_valid(&Value::Object(one))
    });
    unfit.map(|(name, _)| name.as_str())
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

    /// Precision and result of a check of an array with `items` items, each of which fits none of `branches` branches.
    fn taken(branches: usize, items: usize) -> (Look, Result<(), Unfit>) {
        let never = vec![Value::Bool(false); branches];
        let schema = json!({ "type": "object", "properties": { "a": { "items": { "anyOf": never } } } });
        let arguments = json!({ "a": vec![1; items] });
        (look(unfolded(&schema).unwrap(), &arguments), check(&schema, &arguments))
    }

    #[test]
    fn what_a_check_costs_is_bounded_before_it_is_made() {
        let (look, told) = taken(2_600, 4_000);
        assert_eq!(look, Look::Refused);
        assert!(told.unwrap_err().to_string().contains("too many"));
        let (look, told) = taken(2_600, 300);
        assert_eq!(look, Look::Quick, "no errors of 780 000 branches are made");
        assert!(told.unwrap_err().to_string().contains("`/a`"));
        let (look, told) = taken(20, 50);
        assert_eq!(look, Look::Close);
        assert!(told.unwrap_err().to_string().contains("/a/0"));
        // The length of a text and the names of fields count as values too.
        let text = json!({ "a": "x".repeat(16_000) });
        assert!(values(&text) > 160);
        assert_eq!(values(&json!({ "a": { "b": [1, 2] } })), 7);
    }

    #[test]
    fn what_makes_a_look_dear_is_refused_in_a_schema() {
        let nested = |levels: usize, keyword: &str| {
            let inmost = json!({ "type": "object" });
            (0..levels).fold(
                inmost,
                |below, _| json!({ "type": "object", keyword: false, "allOf": [below] }),
            )
        };
        assert_eq!(problem_of(&nested(1, "unevaluatedProperties")), None);
        assert!(problem_of(&nested(2, "unevaluatedProperties")).is_some());
        assert!(problem_of(&nested(2, "unevaluatedItems")).is_some());
        let patterns = |count: usize| {
            let one = |n: usize| json!({ "pattern": format!("^[a-z]{{{}}}$", n + 1) });
            json!({ "type": "object", "allOf": (0..count).map(one).collect::<Vec<_>>() })
        };
        assert_eq!(problem_of(&patterns(50)), None);
        assert!(problem_of(&patterns(100)).is_some());
        let vast = json!({ "type": "object", "properties": { "a": { "pattern": "\\p{L}{1000}" } } });
        assert!(problem_of(&vast).is_some());
        // Chain of references.
        let row = |length: usize| {
            let to = |n: usize| (format!("d{n}"), json!({ "$ref": format!("#/$defs/d{}", n + 1) }));
            let mut defs: Map<String, Value> = (0..length).map(to).collect();
            defs.insert(format!("d{length}"), json!(true));
            json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": defs })
        };
        assert_eq!(problem_of(&row(20)), None);
        assert!(problem_of(&row(300)).is_some());
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
        let told = check(&schema, &json!({ "day": 4 })).unwrap_err().to_string();
        assert!(told.contains("/day"), "{told}");
    }
}
