//! Checks a JSON body against the schema of the type that it is read as: types, ranges, lengths, choices, required and
//! unknown fields. It lists every problem with its path.
//!
//! `null` counts as missing. A schema's pattern describes what a parser takes, so that it is the parser which checks it,
//! through [`Checked::parse`]; only the pattern of a text that must not be blank is checked here.

use std::{
    any::TypeId,
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    marker::PhantomData,
    sync::{Arc, LazyLock, RwLock},
};

use domain::agent::Problem;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema},
};
use uuid::Uuid;

pub use super::fields::Reason;
use super::fields::{joined, too_long, unknown_field, whole_within, wrong_type};
use crate::response::error::{ApiError, ApiResult};

/// Pattern of a text that must not be blank.
const NOT_BLANK: &str = r"\S";

/// Problems of a body that are listed.
const LISTED: usize = 1_000;

/// Characters of a refused value that a message repeats.
const SHOWN: usize = 50;

/// A body being read as a `T`: its fields without those that have problems, and the problems.
#[derive(Debug)]
pub struct Checked<T> {
    sound: Map<String, Value>,
    problems: Vec<Problem>,
    of: PhantomData<fn() -> T>,
}

impl<T: ToSchema + DeserializeOwned + 'static> Checked<T> {
    /// Checks a body against the schema of `T`.
    pub fn of(body: &Map<String, Value>) -> Self {
        Self::with(body, false)
    }

    /// Checks a body that changes something. Here `null` is a value, which not every field takes.
    pub fn change(body: &Map<String, Value>) -> Self {
        Self::with(body, true)
    }

    fn with(body: &Map<String, Value>, takes_null: bool) -> Self {
        let schemas = schemas_of::<T>();
        let mut check = Check {
            schemas: &schemas,
            takes_null,
            problems: Vec::new(),
        };
        let sound = check.fields("", body, &schemas.root);
        Self {
            sound,
            problems: check.problems,
            of: PhantomData,
        }
    }

    /// Gives problems of a field, or of the items of a list, the code that clients know instead of `usual`.
    pub fn recode(&mut self, path: &str, usual: &str, code: &'static str) {
        let problems = self.problems.iter_mut();
        for problem in problems.filter(|problem| problem.path.starts_with(path) && problem.code == usual) {
            problem.code = code;
        }
    }

    /// Does the same in a chain.
    #[must_use]
    pub fn coded(mut self, path: &str, usual: &str, code: &'static str) -> Self {
        self.recode(path, usual, code);
        self
    }

    /// Adds a problem of a field.
    pub fn problem(&mut self, path: &str, (code, message): Reason) {
        self.problems.push(Problem::new(path, code, message));
    }

    /// Returns whether a field whose path begins like this has a problem.
    pub fn is_refused(&self, path: &str) -> bool {
        self.problems.iter().any(|problem| problem.path.starts_with(path))
    }

    /// Returns a field that is present and has no problem.
    pub fn sound(&self, name: &str) -> Option<&Value> {
        self.sound.get(name)
    }

    /// Returns the object that has the field at a path, and the field's name.
    fn holder<'p>(&mut self, path: &'p str) -> Option<(&mut Map<String, Value>, &'p str)> {
        match path.split_once('.') {
            None => Some((&mut self.sound, path)),
            Some((part, name)) => Some((self.sound.get_mut(part)?.as_object_mut()?, name)),
        }
    }

    /// Parses the text of a field, if it is present and sound, and keeps what comes of it.
    pub fn parse(&mut self, path: &str, parse: impl FnOnce(&str) -> Result<String, Reason>) {
        let Some((fields, name)) = self.holder(path) else {
            return;
        };
        match fields.get(name).and_then(Value::as_str).map(parse) {
            Some(Ok(parsed)) => drop(fields.insert(name.to_owned(), parsed.into())),
            Some(Err(reason)) => {
                fields.remove(name);
                self.problem(path, reason);
            }
            None => {}
        }
    }

    /// Parses the texts of a list, if it is present, and reports each that cannot be parsed.
    pub fn parse_items(&mut self, path: &str, mut parse: impl FnMut(&str) -> Result<(), Reason>) {
        let items = self.holder(path);
        let items = items.and_then(|(fields, name)| fields.get(name)?.as_array());
        let mut refused = Vec::new();
        for (at, item) in items.into_iter().flatten().enumerate() {
            if let Some(Err((code, message))) = item.as_str().map(&mut parse) {
                refused.push(Problem::new(format!("{path}[{at}]"), code, message));
            }
        }
        self.problems.extend(refused);
        // Those of the schema are among them, in the order of the list.
        let begin = format!("{path}[");
        let at = |problem: &Problem| {
            problem
                .path
                .strip_prefix(&begin)?
                .split(']')
                .next()?
                .parse::<usize>()
                .ok()
        };
        self.problems.sort_by_key(|problem| at(problem).map_or(0, |at| at + 1));
    }

    /// Returns what the sound fields say, with defaults for the others.
    pub fn so_far(&self) -> T
    where
        T: Default,
    {
        serde_json::from_value(Value::Object(self.sound.clone())).unwrap_or_default()
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

/// Reads a field that may be null. One that is missing needs a default.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(value: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(value).map(Some)
}

/// Reads a body that its schema describes completely.
pub fn read<T: ToSchema + DeserializeOwned + 'static>(body: &Map<String, Value>) -> ApiResult<T> {
    Checked::of(body).end()
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

/// Returns the name of the schema to which one refers.
pub fn reference_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// Returns the schema to which one refers.
fn referred<'a>(schema: &Value, all: &'a BTreeMap<String, Value>) -> Option<&'a Value> {
    all.get(reference_of(schema)?)
}

/// Returns a schema in which an object has the properties of those that it contains at its own level.
pub fn flat(schema: &Value, all: &BTreeMap<String, Value>) -> Value {
    if let Some(named) = referred(schema, all) {
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
    takes_null: bool,
    problems: Vec<Problem>,
}

impl<'s> Check<'s> {
    fn report(&mut self, path: &str, (code, message): Reason) {
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
    fn resolved<'v>(&self, schema: &'v Value) -> Cow<'v, Value>
    where
        's: 'v,
    {
        let choices = schema["oneOf"].as_array();
        let choices = choices.map(|choices| choices.iter().filter(|choice| choice["type"] != "null"));
        if let Some(mut choices) = choices
            && let (Some(only), None) = (choices.next(), choices.next())
        {
            return self.resolved(only);
        }
        let mut schema = schema;
        while let Some(named) = referred(schema, &self.schemas.named) {
            schema = named;
        }
        match schema["allOf"].is_array() {
            true => Cow::Owned(flat(schema, &self.schemas.named)),
            false => Cow::Borrowed(schema),
        }
    }

    fn typed(&mut self, path: &str, value: &Value, expected: &str, is: impl FnOnce(&Value) -> bool) -> Option<Value> {
        if is(value) {
            return Some(value.clone());
        }
        self.report(path, wrong_type(value, expected));
        None
    }

    fn object(&mut self, path: &str, value: &Value, schema: &Value) -> Option<Value> {
        self.typed(path, value, "an object", Value::is_object)?;
        match value.as_object() {
            Some(map) if schema["properties"].is_object() => Some(self.fields(path, map, schema).into()),
            _ => Some(value.clone()),
        }
    }

    fn fields(&mut self, path: &str, map: &Map<String, Value>, schema: &Value) -> Map<String, Value> {
        let mut sound = Map::new();
        let properties = schema["properties"].as_object();
        let property = |name: &str| properties.and_then(|properties| properties.get(name));
        for name in map.keys().filter(|name| property(name).is_none()) {
            let names = properties.into_iter().flat_map(|properties| properties.keys());
            let names: Vec<&str> = names.map(String::as_str).collect();
            self.report(&joined(path, name), unknown_field(name, &names, ""));
        }
        for (name, value) in map {
            let path = joined(path, name);
            let value = match property(name) {
                Some(property) if value.is_null() => self.null(&path, property),
                Some(property) => self.value(&path, value, property),
                None => continue,
            };
            sound.extend(value.map(|value| (name.clone(), value)));
        }
        let required = schema["required"].as_array().filter(|_| !has_presets(schema));
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            let may_be_null = self.takes_null && may_be_null(&schema["properties"][name]);
            if map.get(name).is_none_or(|value| value.is_null() && !may_be_null) {
                self.report(&joined(path, name), ("required", "is required".into()));
            }
        }
        sound
    }

    fn null(&mut self, path: &str, schema: &Value) -> Option<Value> {
        if self.takes_null && may_be_null(schema) {
            return Some(Value::Null);
        }
        if self.takes_null {
            let message = "cannot be null: leave it out to keep it as it is";
            self.report(path, ("wrong_type", message.into()));
        }
        None
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
                // An item with a problem becomes null, so that the others keep their index.
                let items = items.map(|(at, item)| self.value(&format!("{path}[{at}]"), item, &schema["items"]));
                return Some(items.collect());
            }
        };
        self.report(path, problem);
        None
    }

    fn text(&mut self, path: &str, value: &Value, schema: &Value) -> Option<Value> {
        self.typed(path, value, "a string", Value::is_string)?;
        if let Some(choices) = schema["enum"].as_array() {
            if choices.contains(value) {
                return Some(value.clone());
            }
            let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
            let message = format!("{} is not one of {}", shown(value), choices.join(", "));
            self.report(path, ("not_allowed", message));
            return None;
        }
        let mut text = value.as_str()?;
        if schema["pattern"] == NOT_BLANK {
            text = text.trim();
            if text.is_empty() {
                self.report(path, ("required", "must not be blank".into()));
                return None;
            }
        }
        let length = text.chars().count();
        let most = schema["maxLength"].as_u64().and_then(|most| usize::try_from(most).ok());
        if let Some(most) = most.filter(|most| length > *most) {
            self.report(path, too_long(length, most));
            return None;
        }
        // Each id has only one spelling.
        let is_id = |text: &str| Uuid::try_parse(text).is_ok_and(|id| id.as_hyphenated().to_string() == text);
        if schema["format"] == "uuid" && !is_id(text) {
            let message = format!("`{text:.100}` is not an id (a UUID in lower case)");
            self.report(path, ("invalid_value", message));
            return None;
        }
        Some(value.clone())
    }

    fn integer(&mut self, path: &str, value: &Value, schema: &Value) -> Option<Value> {
        let limit = |name: &str, otherwise| schema[name].as_i64().unwrap_or(otherwise);
        let range = limit("minimum", i64::MIN)..=limit("maximum", i64::MAX);
        let read = whole_within(value, &range).map_err(|reason| self.report(path, reason));
        read.ok().map(Value::from)
    }
}

/// Returns whether what is missing of an object has defaults, although an answer has all of it. Either all fields of a type
/// have a default, or none in its schema.
pub fn has_presets(schema: &Value) -> bool {
    let mut properties = schema["properties"].as_object().into_iter().flatten();
    properties.any(|(_, property)| property.get("default").is_some())
}

/// Returns whether a value may be null.
pub fn may_be_null(schema: &Value) -> bool {
    let types = schema["type"].as_array().into_iter().flatten();
    let choices = schema["oneOf"].as_array().into_iter().flatten();
    types
        .chain(choices.map(|choice| &choice["type"]))
        .any(|name| name == "null")
}

/// Returns the type of a schema, apart from `null`.
fn type_of(schema: &Value) -> &str {
    let types = schema["type"].as_array().into_iter().flatten();
    let mut types = types.chain([&schema["type"]]).filter_map(Value::as_str);
    types.find(|name| *name != "null").unwrap_or_default()
}

/// Returns a refused value for a message.
fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!("`{text:.SHOWN$}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize, ToSchema)]
    #[serde(rename_all = "camelCase")]
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
        let Err(ApiError::Invalid(problems)) = Checked::<Whole>::of(body.as_object().unwrap()).end() else {
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
        let read = Checked::<Whole>::of(body.as_object().unwrap()).end().unwrap();
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
