//! The walk through a body along its schema.

use std::borrow::Cow;

use domain::agent::Problem;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::request::{
    email::is_email,
    fields::{Reason, joined, too_long, unknown_field, whole_within, wrong_type},
    schemas::{Schemas, flat, has_presets, is_open, may_be_null, referred, type_of},
};

/// Pattern of a text that must not be blank.
const NOT_BLANK: &str = r"\S";

/// Characters of a refused value that a message repeats.
const SHOWN: usize = 50;

/// A walk through a body, and the problems found so far.
pub struct Check<'s> {
    /// Schemas of the body's type.
    pub schemas: &'s Schemas,
    /// Whether `null` is a value.
    pub takes_null: bool,
    /// Problems found so far.
    pub problems: Vec<Problem>,
}

impl<'s> Check<'s> {
    fn report(&mut self, path: &str, (code, message): Reason) {
        self.problems.push(Problem::new(path, code, message));
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

    /// Returns the sound fields of an object. Those that its schema does not name are sound if it may have any.
    pub fn fields(&mut self, path: &str, map: &Map<String, Value>, schema: &Value) -> Map<String, Value> {
        let (mut sound, is_open) = (Map::new(), is_open(schema));
        let properties = schema["properties"].as_object();
        let property = |name: &str| properties.and_then(|properties| properties.get(name));
        for name in map.keys().filter(|name| !is_open && property(name).is_none()) {
            let names = properties.into_iter().flat_map(|properties| properties.keys());
            let names: Vec<&str> = names.map(String::as_str).collect();
            self.report(&joined(path, name), unknown_field(name, &names, ""));
        }
        for (name, value) in map {
            let path = joined(path, name);
            let value = match property(name) {
                Some(property) if value.is_null() => self.null(&path, property),
                Some(property) => self.value(&path, value, property),
                None if is_open => Some(value.clone()),
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
                // A patch replaces the list as a whole, so its items are no patches.
                let takes_null = std::mem::take(&mut self.takes_null);
                let items = items.iter().enumerate();
                // An item with a problem becomes null, so that the others keep their index.
                let items = items.map(|(at, item)| self.value(&format!("{path}[{at}]"), item, &schema["items"]));
                let sound = items.collect();
                self.takes_null = takes_null;
                return Some(sound);
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
        let (given, trimmed) = (value.as_str()?, value.as_str()?.trim());
        if schema["pattern"] == NOT_BLANK && trimmed.is_empty() {
            self.report(path, ("required", "must not be blank".into()));
            return None;
        }
        if schema["format"] == "email" && !is_email(trimmed) {
            self.report(
                path,
                ("invalid_email", format!("{} is not an e-mail address", shown(value))),
            );
            return None;
        }
        // White space around a text does not make it too long.
        let most = schema["maxLength"].as_u64().and_then(|most| usize::try_from(most).ok());
        let is_long = |text: &str, most: &usize| text.chars().count() > *most;
        let text = if most.as_ref().is_some_and(|most| is_long(given, most)) {
            trimmed
        } else {
            given
        };
        if let Some(most) = most.filter(|most| is_long(text, most)) {
            self.report(path, too_long(text.chars().count(), most));
            return None;
        }
        // Each id has only one spelling.
        let is_id = |text: &str| Uuid::try_parse(text).is_ok_and(|id| id.as_hyphenated().to_string() == text);
        if schema["format"] == "uuid" && !is_id(text) {
            let message = format!("`{text:.100}` is not an id (a UUID in lower case)");
            self.report(path, ("invalid_value", message));
            return None;
        }
        Some(text.into())
    }

    fn integer(&mut self, path: &str, value: &Value, schema: &Value) -> Option<Value> {
        let limit = |name: &str, otherwise| schema[name].as_i64().unwrap_or(otherwise);
        let range = limit("minimum", i64::MIN)..=limit("maximum", i64::MAX);
        let read = whole_within(value, &range).map_err(|reason| self.report(path, reason));
        read.ok().map(Value::from)
    }
}

/// Returns a refused value for a message.
fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!("`{text:.SHOWN$}`")
}
