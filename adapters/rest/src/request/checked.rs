//! Checks a JSON body against the schema of the type that it is read as: types, ranges, lengths, choices, required and
//! unknown fields. It lists every problem with its path.
//!
//! `null` counts as missing. A schema's pattern describes what a parser takes, so that it is the parser which checks it,
//! through [`Checked::parse`]; only the pattern of a text that must not be blank is checked here.

use std::{
    any::TypeId,
    collections::{BTreeMap, HashMap},
    marker::PhantomData,
    sync::{Arc, LazyLock, RwLock},
};

use domain::{agent::Problem, suggestion::suggestion};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema},
};

use super::fields::{kind, whole};
use crate::response::error::{ApiError, ApiResult};

/// Pattern of a text that must not be blank.
pub const NOT_BLANK: &str = r"\S";

/// Problems of a body that are listed.
const LISTED: usize = 1_000;

/// Characters of a refused value that a message repeats.
const SHOWN: usize = 50;

/// Code and message of a problem.
pub type Reason = (&'static str, String);

/// A body being read as a `T`: its fields without those that have problems, and the problems.
#[derive(Debug)]
pub struct Checked<T> {
    sound: Map<String, Value>,
    problems: Vec<Problem>,
    of: PhantomData<fn() -> T>,
}

impl<T: ToSchema + DeserializeOwned + 'static> Checked<T> {
    /// Checks a body against the schema of `T`.
    pub fn of(body: &Value) -> Self {
        let schemas = schemas_of::<T>();
        let mut check = Check {
            schemas: &schemas,
            problems: Vec::new(),
        };
        let sound = check.value("", body, &schemas.root);
        let sound = sound.and_then(|sound| sound.as_object().cloned()).unwrap_or_default();
        Self {
            sound,
            problems: check.problems,
            of: PhantomData,
        }
    }

    /// Gives problems of a field, or of the items of a list, the code that clients know instead of `usual`.
    #[must_use]
    pub fn coded(mut self, path: &str, usual: &str, code: &'static str) -> Self {
        let meant = |problem: &&mut Problem| problem.path.starts_with(path) && problem.code == usual;
        self.problems
            .iter_mut()
            .filter(meant)
            .for_each(|problem| problem.code = code);
        self
    }

    /// Adds a problem of a field.
    pub fn problem(&mut self, path: &str, (code, message): Reason) {
        self.problems.push(Problem::new(path, code, message));
    }

    /// Returns a field that is present and has no problem.
    pub fn sound(&self, name: &str) -> Option<&Value> {
        self.sound.get(name)
    }

    /// Parses the text of a field, if it is present and sound, and keeps what comes of it.
    pub fn parse<V: Into<Value>>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<V, Reason>) {
        let parsed = self.sound(name).and_then(Value::as_str).map(parse);
        match parsed {
            Some(Ok(parsed)) => drop(self.sound.insert(name.to_owned(), parsed.into())),
            Some(Err(reason)) => self.problem(name, reason),
            None => {}
        }
    }

    /// Parses the texts of a list, if it is present, and reports each that cannot be parsed.
    pub fn parse_items(&mut self, name: &str, parse: impl Fn(&str) -> Result<(), Reason>) {
        let items = self.sound(name).and_then(Value::as_array);
        let texts = items.into_iter().flatten().enumerate();
        let refused = texts.filter_map(|(at, item)| Some((at, parse(item.as_str()?).err()?)));
        let refused = refused.map(|(at, (code, message))| Problem::new(format!("{name}[{at}]"), code, message));
        let refused: Vec<Problem> = refused.collect();
        self.problems.extend(refused);
    }

    /// Ends the reading. Returns all problems as an error, if there are any.
    pub fn end(self) -> ApiResult<T> {
        if !self.problems.is_empty() {
            return Err(ApiError::Invalid(self.problems));
        }
        serde_json::from_value(Value::Object(self.sound)).map_err(|error| {
            tracing::error!(%error, "a body that fits its schema cannot be read");
            ApiError::Internal
        })
    }
}

/// Reads a body that its schema describes completely.
pub fn read<T: ToSchema + DeserializeOwned + 'static>(body: Map<String, Value>) -> ApiResult<T> {
    Checked::of(&Value::Object(body)).end()
}

/// A type's schema, and those that it refers to.
#[derive(Debug, Default)]
struct Schemas {
    root: Value,
    named: BTreeMap<String, Value>,
}

fn schemas_of<T: ToSchema + 'static>() -> Arc<Schemas> {
    static KNOWN: LazyLock<RwLock<HashMap<TypeId, Arc<Schemas>>>> = LazyLock::new(RwLock::default);
    let id = TypeId::of::<T>();
    if let Ok(known) = KNOWN.read()
        && let Some(schemas) = known.get(&id)
    {
        return Arc::clone(schemas);
    }
    let mut named = BTreeMap::new();
    collect::<T>(&mut named);
    let root = flat(&named[&*T::name()], &named);
    let schemas = Arc::new(Schemas { root, named });
    if let Ok(mut known) = KNOWN.write() {
        known.insert(id, Arc::clone(&schemas));
    }
    schemas
}

/// Adds a type's schema and those it refers to.
pub fn collect<T: ToSchema>(into: &mut BTreeMap<String, Value>) {
    let mut found: Vec<(String, RefOr<Schema>)> = vec![(T::name().into(), T::schema())];
    T::schemas(&mut found);
    for (name, schema) in found {
        // Consists of names, texts and numbers, so serialisation cannot fail.
        into.insert(name, serde_json::to_value(schema).unwrap_or_default());
    }
}

/// Returns a schema in which an object has the properties of those that it contains at its own level.
pub fn flat(schema: &Value, all: &BTreeMap<String, Value>) -> Value {
    let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    if let Some(named) = name.and_then(|name| all.get(name)) {
        return flat(named, all);
    }
    let Some(parts) = schema["allOf"].as_array() else {
        return schema.clone();
    };
    let (mut required, mut properties) = (Vec::new(), Map::new());
    for part in parts.iter().map(|part| flat(part, all)) {
        required.extend(part["required"].as_array().into_iter().flatten().cloned());
        properties.extend(
            part["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(k, v)| (k.clone(), v.clone())),
        );
    }
    let mut whole = json!({ "type": "object", "description": schema["description"], "properties": properties });
    if !required.is_empty() {
        whole["required"] = required.into();
    }
    whole
}

struct Check<'s> {
    schemas: &'s Schemas,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn report(&mut self, path: &str, code: &'static str, message: String) {
        if self.problems.len() < LISTED {
            self.problems.push(Problem::new(path, code, message));
        }
    }

    /// Returns the value if it is sound; of an object or a list, its sound parts.
    fn value(&mut self, path: &str, value: &Value, schema: &Value) -> Option<Value> {
        let schema = self.resolved(schema);
        match type_of(&schema) {
            "object" => self.object(path, value, &schema),
            "array" => self.array(path, value, &schema),
            "string" => self.text(path, value, &schema),
            "integer" => self.integer(path, value, &schema),
            "number" => self.typed(path, value, "a number", Value::is_number),
            "boolean" => self.typed(path, value, "a boolean", Value::is_boolean),
            _ => Some(value.clone()),
        }
    }

    /// Returns the schema that a reference means, without the choice of `null`.
    fn resolved(&self, schema: &Value) -> Value {
        let choices = schema["oneOf"].as_array();
        let choices = choices.map(|choices| choices.iter().filter(|choice| choice["type"] != "null"));
        if let Some(mut choices) = choices
            && let (Some(only), None) = (choices.next(), choices.next())
        {
            return self.resolved(only);
        }
        flat(schema, &self.schemas.named)
    }

    fn typed(&mut self, path: &str, value: &Value, expected: &str, is: impl FnOnce(&Value) -> bool) -> Option<Value> {
        if is(value) {
            return Some(value.clone());
        }
        self.report(path, "wrong_type", format!("must be {expected}, not {}", kind(value)));
        None
    }

    fn object(&mut self, path: &str, value: &Value, schema: &Value) -> Option<Value> {
        self.typed(path, value, "an object", Value::is_object)?;
        let (Some(map), Some(properties)) = (value.as_object(), schema["properties"].as_object()) else {
            return Some(value.clone());
        };
        let mut sound = Map::new();
        for (name, value) in map {
            let path = joined(path, name);
            match properties.get(name) {
                Some(_) if value.is_null() => {}
                Some(schema) => {
                    let value = self.value(&path, value, schema);
                    sound.extend(value.map(|value| (name.clone(), value)));
                }
                None if schema["additionalProperties"].is_object() || schema["additionalProperties"] == true => {
                    sound.insert(name.clone(), value.clone());
                }
                None => {
                    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
                    self.report(
                        &path,
                        "unknown_field",
                        format!("is not a known field{}", suggestion(name, &names)),
                    );
                }
            }
        }
        let required = schema["required"].as_array().into_iter().flatten();
        let missing = required.filter_map(Value::as_str);
        for name in missing.filter(|name| map.get(*name).unwrap_or(&Value::Null).is_null()) {
            self.report(&joined(path, name), "required", "is required".into());
        }
        Some(Value::Object(sound))
    }

    fn array(&mut self, path: &str, value: &Value, schema: &Value) -> Option<Value> {
        self.typed(path, value, "an array", Value::is_array)?;
        let items = value.as_array()?;
        let limits = (schema["minItems"].as_u64(), schema["maxItems"].as_u64());
        let count = items.len() as u64;
        let problem = match limits {
            (Some(min), Some(max)) if !(min..=max).contains(&count) => {
                ("out_of_range", format!("must have {min} to {max} entries"))
            }
            (Some(min), None) if count < min => ("required", format!("must hold at least {min}")),
            (None, Some(max)) if count > max => ("too_many", format!("has {count} items; at most {max} are allowed")),
            _ => {
                let items = items.iter().enumerate();
                let items = items.filter_map(|(at, item)| self.value(&format!("{path}[{at}]"), item, &schema["items"]));
                return Some(items.collect());
            }
        };
        self.report(path, problem.0, problem.1);
        None
    }

    fn text(&mut self, path: &str, value: &Value, schema: &Value) -> Option<Value> {
        if let Some(choices) = schema["enum"].as_array() {
            if choices.contains(value) {
                return Some(value.clone());
            }
            let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
            let message = format!("{} is not one of {}", shown(value), choices.join(", "));
            self.report(path, "not_allowed", message);
            return None;
        }
        self.typed(path, value, "a string", Value::is_string)?;
        let mut text = value.as_str()?;
        if schema["pattern"] == NOT_BLANK {
            text = text.trim();
            if text.is_empty() {
                self.report(path, "required", "must not be blank".into());
                return None;
            }
        }
        let length = text.chars().count();
        if let Some(max) = schema["maxLength"].as_u64().filter(|max| length as u64 > *max) {
            let message = format!("has {length} characters; at most {max} are allowed");
            self.report(path, "too_long", message);
            return None;
        }
        Some(value.clone())
    }

    fn integer(&mut self, path: &str, value: &Value, schema: &Value) -> Option<Value> {
        let Some(number) = whole(value) else {
            let found = if value.is_number() {
                value.to_string()
            } else {
                kind(value).into()
            };
            self.report(path, "wrong_type", format!("must be a whole number, not {found}"));
            return None;
        };
        let limit = |name: &str, otherwise| schema[name].as_i64().unwrap_or(otherwise);
        let (min, max) = (limit("minimum", i64::MIN), limit("maximum", i64::MAX));
        if !(min..=max).contains(&number) {
            self.report(
                path,
                "out_of_range",
                format!("must be from {min} to {max}, not {number}"),
            );
            return None;
        }
        Some(number.into())
    }
}

/// Returns the type of a schema, apart from `null`.
fn type_of(schema: &Value) -> &str {
    let types = schema["type"].as_array().into_iter().flatten();
    let mut types = types.chain([&schema["type"]]).filter_map(Value::as_str);
    types.find(|name| *name != "null").unwrap_or_default()
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// Returns a refused value for a message.
pub fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!("`{text:.SHOWN$}`")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize, ToSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Part {
        #[schema(max_length = 3, pattern = r"\S")]
        name: String,
        #[schema(minimum = 1, maximum = 9)]
        how_many: Option<i64>,
    }

    #[derive(Debug, PartialEq, Deserialize, ToSchema)]
    #[serde(rename_all = "camelCase")]
    struct Whole {
        #[serde(flatten)]
        part: Part,
        inner: Option<Part>,
        #[serde(default)]
        #[schema(min_items = 1)]
        choices: Vec<Choice>,
    }

    #[derive(Debug, PartialEq, Deserialize, ToSchema)]
    #[serde(rename_all = "lowercase")]
    enum Choice {
        One,
        Two,
    }

    fn problems(body: &Value) -> Vec<(String, &'static str)> {
        let Err(ApiError::Invalid(problems)) = Checked::<Whole>::of(body).end() else {
            panic!("taken");
        };
        problems
            .into_iter()
            .map(|problem| (problem.path, problem.code))
            .collect()
    }

    #[test]
    fn every_problem_is_listed_with_its_path() {
        let body = json!({ "nme": 1, "name": " ", "howMany": 10, "inner": { "howMany": "2", "name": "long" },
            "choices": ["one", "three"] });
        let expected = [
            ("nme", "unknown_field"),
            ("name", "required"),
            ("howMany", "out_of_range"),
            ("inner.howMany", "wrong_type"),
            ("inner.name", "too_long"),
            ("choices[1]", "not_allowed"),
        ];
        assert_eq!(problems(&body), expected.map(|(path, code)| (path.to_owned(), code)));
        let body = json!({ "inner": [], "choices": [] });
        let expected = [("inner", "wrong_type"), ("choices", "required"), ("name", "required")];
        assert_eq!(problems(&body), expected.map(|(path, code)| (path.to_owned(), code)));
    }

    #[test]
    fn a_sound_body_is_read_with_whole_numbers_and_without_nulls() {
        let body = json!({ "name": "abc", "howMany": 3.0, "inner": null, "choices": ["two"] });
        let read = Checked::<Whole>::of(&body).end().unwrap();
        let part = Part {
            name: "abc".into(),
            how_many: Some(3),
        };
        let expected = Whole {
            part,
            inner: None,
            choices: vec![Choice::Two],
        };
        assert_eq!(read, expected);
    }
}
