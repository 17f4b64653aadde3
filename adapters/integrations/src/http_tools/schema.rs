//! The JSON Schema of a tool's arguments: what is taken as one, and what fits it.

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};

/// Bytes of a schema.
pub const SCHEMA_BYTES: usize = 16 * 1024;

/// Values in a schema with every `$ref` written out: each is looked at for each value of the arguments, and references to
/// references grow without bound in a few lines.
const UNFOLDED: usize = 4_000;

/// Schemas within schemas, with every `$ref` written out.
const DEEPEST: usize = 128;

/// A regular expression counts as so many values.
const PATTERN_WEIGHT: usize = 50;

/// Bytes of a compiled regular expression.
const PATTERN_BYTES: usize = 1024 * 1024;

/// What a check may cost: values of the schema, written out, times values of the arguments.
const MOST_LOOKS: usize = 1_000_000;

/// Up to here what is wrong is told in the validator's own words. It makes an error, with a copy of the value, for every
/// branch of every value before it tells the first.
const MOST_WORDED: usize = 10_000;

/// Bytes of a text that count as one value.
const TEXT_BYTES: usize = 100;

/// Regular expressions run in linear time, whatever pattern and text, and nothing is fetched for a `$ref`.
fn compiled(schema: &Value) -> Result<Validator, String> {
    let patterns = PatternOptions::regex()
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES);
    let options = jsonschema::options().with_pattern_options(patterns);
    options.build(schema).map_err(|error| format!("{error:.200}"))
}

/// A walk over a schema with its references written out.
struct Unfolding<'s> {
    root: &'s Value,
    /// References that are being followed.
    within: Vec<&'s str>,
    count: usize,
}

impl<'s> Unfolding<'s> {
    /// None when references lead in a circle or elsewhere, or when there is more than is taken.
    fn walk(&mut self, schema: &'s Value, depth: usize, unevaluated: bool) -> Option<()> {
        self.add(1)?;
        if depth > DEEPEST {
            return None;
        }
        match schema {
            Value::Object(fields) => {
                let here = fields.keys().any(|name| name.starts_with("unevaluated"));
                // Each of them looks again at all that is below, so the cost doubles with every level.
                if here && unevaluated {
                    return None;
                }
                let mut fields = fields.iter();
                fields.try_for_each(|(name, value)| {
                    self.field(schema, (name.as_str(), value), depth, here || unevaluated)
                })
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
        (name, value): (&'s str, &'s Value),
        depth: usize,
        unevaluated: bool,
    ) -> Option<()> {
        match (name, value) {
            // Counted where they are referred to.
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
            // They would have a `$ref` lead to something else than it says.
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

/// How many values a schema has with its references written out; none when that cannot be said or is too much.
fn unfolded(schema: &Value) -> Option<usize> {
    let mut unfolding = Unfolding {
        root: schema,
        within: Vec::new(),
        count: 0,
    };
    unfolding.walk(schema, 0, false)?;
    Some(unfolding.count)
}

/// How many values arguments have, with their names.
fn values(arguments: &Value) -> usize {
    match arguments {
        Value::Object(fields) => 1 + fields.values().map(|value| 1 + values(value)).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Value::String(text) => 1 + text.len() / TEXT_BYTES,
        _ => 1,
    }
}

/// How closely arguments are looked at, by what that costs.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    /// What is wrong is told in the validator's words.
    Close,
    /// It is only told whether they fit, and which argument does not.
    Quick,
    /// Not at all.
    Refused,
}

fn look(schema_values: usize, arguments: &Value) -> Look {
    match schema_values.saturating_mul(values(arguments)) {
        0..=MOST_WORDED => Look::Close,
        looks if looks <= MOST_LOOKS => Look::Quick,
        _ => Look::Refused,
    }
}

/// Why this is no schema of arguments: a code and a message; none when it is one.
pub fn problem_of(schema: &Value) -> Option<(&'static str, String)> {
    usable(schema).err()
}

/// A schema of arguments, compiled, and how many values it has; or why it is none: a code and a message.
fn usable(schema: &Value) -> Result<(Validator, usize), (&'static str, String)> {
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
    let Some(values) = unfolded(schema) else {
        let message = format!(
            "has an `$id`, a `$ref` that leads in a circle or elsewhere, an `unevaluated…` within another, or with every `$ref` \
             written out more than {UNFOLDED} values (a `pattern` counts as {PATTERN_WEIGHT}) or {DEEPEST} levels: refer with \
             `#/$defs/…` to what stands in it, and make it smaller"
        );
        return Err(("invalid_schema", message));
    };
    let unusable = |why| ("invalid_schema", format!("is no JSON Schema that can be used: {why}"));
    Ok((compiled(schema).map_err(unusable)?, values))
}

/// Why arguments do not fit a schema, for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// They are not an object.
    #[error("give a JSON object")]
    NoObject,
    /// The schema itself cannot be used.
    #[error("the tool's own schema {0}")]
    Schema(String),
    /// A check would cost too much.
    #[error("they are too many to be checked against the tool's schema: give fewer")]
    TooMany,
    /// The validator's words about up to five values.
    #[error("{0}")]
    Worded(String),
    /// The argument of this name does not fit; finding out why would cost too much.
    #[error("`/{0:.100}`: does not fit the tool's schema")]
    Argument(String),
    /// They do not fit, and no single one is to blame; finding out why would cost too much.
    #[error("they do not fit the tool's schema")]
    Together,
}

/// Whether arguments fit a schema. It computes for as long as [`MOST_LOOKS`] takes: not for a thread that others wait for.
///
/// # Errors
/// With what is wrong, for the model.
pub fn check(schema: &Value, arguments: &Value) -> Result<(), Unfit> {
    let Some(named) = arguments.as_object() else {
        return Err(Unfit::NoObject);
    };
    // One that was kept by an earlier version may be none that is taken now.
    let (validator, values) = usable(schema).map_err(|(_, why)| Unfit::Schema(why))?;
    let look = look(values, arguments);
    if look == Look::Refused {
        return Err(Unfit::TooMany);
    }
    // It makes no errors, and stops at the first value that does not fit.
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

/// The first argument that does not fit, where one can be told from the others: each alone, in a schema that wants none.
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

    /// Which look is taken at an array of so many items, each of which fits none of so many branches.
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
        // The words of a text and the names of fields are values as well.
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
        // A row of references, each to the next.
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
