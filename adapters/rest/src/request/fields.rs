//! Reads the fields of a JSON object with types, rejects unknown ones, and lists every problem with its path.

use std::{fmt::Display, ops::RangeInclusive};

pub use domain::suggestion::suggestion;
use domain::{
    account_settings::AccountSettings,
    agent::{Problem, merge},
    phone_number::PhoneNumber,
};
use serde_json::{Map, Value};

use crate::response::error::{ApiError, ApiResult};

/// Returns the kind of a JSON value, for messages.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Code and message of a problem.
pub type Reason = (&'static str, String);

/// Returns the problem of a value that is not what is expected.
pub fn wrong_type(value: &Value, expected: &str) -> Reason {
    ("wrong_type", format!("must be {expected}, not {}", kind(value)))
}

/// Returns the problem of a field that is not among `names`. `otherwise` is added to the message of one that is similar to
/// none of them.
pub fn unknown_field(name: &str, names: &[&str], otherwise: &str) -> Reason {
    let suggestion = suggestion(name, names);
    let way_out = if suggestion.is_empty() { otherwise } else { &suggestion };
    ("unknown_field", format!("is not a known field{way_out}"))
}

/// Returns the problem of a text of more characters than allowed.
pub fn too_long(length: usize, most: usize) -> Reason {
    (
        "too_long",
        format!("has {length} characters; at most {most} are allowed"),
    )
}

/// Reads a whole number in a range.
pub fn whole_within(value: &Value, range: &RangeInclusive<i64>) -> Result<i64, Reason> {
    let Some(number) = whole(value) else {
        return Err(match value {
            Value::Number(number) => ("wrong_type", format!("must be a whole number, not {number}")),
            other => wrong_type(other, "a whole number"),
        });
    };
    match range.contains(&number) {
        true => Ok(number),
        false => Err((
            "out_of_range",
            format!("must be from {} to {}, not {number}", range.start(), range.end()),
        )),
    }
}

/// Returns the path of a field of the object at a path, which is empty for the body's root.
pub fn joined(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// An object being read, and the problems found in it.
#[derive(Debug)]
pub struct Fields<'a> {
    map: &'a Map<String, Value>,
    prefix: String,
    /// Problems found so far.
    pub problems: Vec<Problem>,
}

impl<'a> Fields<'a> {
    /// Reads the object at `prefix`, which is empty for the body's root.
    pub fn of(map: &'a Map<String, Value>, prefix: impl Into<String>) -> Self {
        Self {
            map,
            prefix: prefix.into(),
            problems: Vec::new(),
        }
    }

    /// Returns the path of a field of this object.
    pub fn path(&self, name: &str) -> String {
        joined(&self.prefix, name)
    }

    /// Adds a problem of a field.
    pub fn problem(&mut self, name: &str, code: &'static str, message: impl Into<String>) {
        self.problems.push(Problem::new(self.path(name), code, message));
    }

    /// Rejects every field that is not among `names`.
    pub fn only(&mut self, names: &[&str]) {
        self.only_or(names, "");
    }

    /// Rejects every field that is not among `names`. `otherwise` is added to the message of one that is
    /// similar to none of them.
    pub fn only_or(&mut self, names: &[&str], otherwise: &str) {
        for name in self.map.keys().filter(|name| !names.contains(&name.as_str())) {
            let (code, message) = unknown_field(name, names, otherwise);
            self.problem(name, code, message);
        }
    }

    /// Ends the reading. Returns all problems as an error, if there are any.
    pub fn end(self) -> ApiResult<()> {
        match self.problems.is_empty() {
            true => Ok(()),
            false => Err(ApiError::Invalid(self.problems)),
        }
    }

    /// Returns a field's value if it is present; `null` counts as missing.
    pub fn value(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// Returns the fields that are not among `names`, in their order.
    pub fn others(&self, names: &'a [&str]) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.map.iter().filter(|(name, _)| !names.contains(&name.as_str()))
    }

    /// Reads a field with `read`; `expected` names the type.
    fn typed<T>(&mut self, name: &str, expected: &str, read: impl FnOnce(&'a Value) -> Option<T>) -> Option<T> {
        let value = self.value(name)?;
        let typed = read(value);
        if typed.is_none() {
            let (code, message) = wrong_type(value, expected);
            self.problem(name, code, message);
        }
        typed
    }

    /// Reads a string.
    pub fn string(&mut self, name: &str) -> Option<&'a str> {
        self.typed(name, "a string", Value::as_str)
    }

    /// Reads a required string.
    pub fn required_string(&mut self, name: &str) -> Option<&'a str> {
        if self.value(name).is_none() {
            self.problem(name, "required", "is required");
        }
        self.string(name)
    }

    /// Reads a required phone number and normalises it.
    pub fn required_phone_number(&mut self, name: &str, settings: &AccountSettings) -> Option<PhoneNumber> {
        self.required_string(name)?;
        self.phone_number(name, settings)
    }

    /// Reads a phone number and normalises it.
    pub fn phone_number(&mut self, name: &str, settings: &AccountSettings) -> Option<PhoneNumber> {
        let text = self.string(name)?;
        self.parsed(name, "invalid_phone", settings.phone_number(text))
    }

    /// Returns what a text was parsed to, or reports why it could not be.
    pub fn parsed<T, E: Display>(&mut self, name: &str, code: &'static str, parsed: Result<T, E>) -> Option<T> {
        parsed.map_err(|error| self.problem(name, code, error.to_string())).ok()
    }

    /// Reads a boolean; false if it is missing.
    pub fn flag(&mut self, name: &str) -> bool {
        self.typed(name, "a boolean", Value::as_bool).unwrap_or(false)
    }

    /// Reads an array.
    pub fn array(&mut self, name: &str) -> Option<&'a [Value]> {
        self.typed(name, "an array", Value::as_array).map(Vec::as_slice)
    }

    /// Reads an object.
    pub fn object(&mut self, name: &str) -> Option<&'a Map<String, Value>> {
        self.typed(name, "an object", Value::as_object)
    }

    /// Reads a whole number in a range.
    pub fn integer(&mut self, name: &str, range: RangeInclusive<i64>) -> Option<i64> {
        let read = whole_within(self.value(name)?, &range);
        self.sound(name, read)
    }

    /// Reads a name: required, not blank, trimmed, at most 200 characters.
    pub fn name(&mut self, name: &str) -> Option<String> {
        let read = check_name(self.required_string(name)?);
        self.sound(name, read)
    }

    /// Returns what was read of a field, or reports why nothing was.
    fn sound<T>(&mut self, name: &str, read: Result<T, Reason>) -> Option<T> {
        read.map_err(|(code, message)| self.problem(name, code, message)).ok()
    }
}

/// Returns an object after a merge patch (RFC 7396). The `null`s of the patch and of its fields named `nested` stay in it:
/// a reader that takes `null` for a missing field then still rejects names that it does not know.
pub fn patched(mut object: Value, patch: &Value, nested: &[&str]) -> Value {
    merge(&mut object, patch);
    keep_nulls(&mut object, patch, nested);
    object
}

fn keep_nulls(merged: &mut Value, patch: &Value, nested: &[&str]) {
    let (Value::Object(merged), Value::Object(patch)) = (merged, patch) else {
        return;
    };
    for (name, value) in patch {
        if value.is_null() {
            merged.insert(name.clone(), Value::Null);
        } else if nested.contains(&name.as_str())
            && let Some(inner) = merged.get_mut(name)
        {
            keep_nulls(inner, value, &[]);
        }
    }
}

/// Returns an integer, also if it is written as `3.0`.
pub fn whole(value: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and within 2^53")]
    value.as_i64().or_else(|| {
        value
            .as_f64()
            .filter(|f| f.fract() == 0.0 && f.abs() < 9e15)
            .map(|f| f as i64)
    })
}

/// Maximum characters of a name.
pub const NAME_CHARACTERS: usize = 200;

/// End of the name of a copy.
const COPY: &str = " (copy)";

/// Returns the name of a copy, which is a valid name too.
pub fn name_of_copy(name: &str) -> String {
    let kept: String = name.chars().take(NAME_CHARACTERS - COPY.len()).collect();
    format!("{}{COPY}", kept.trim_end())
}

/// Trims a name and checks that it is not blank. Returns a code and a message otherwise.
pub fn check_name(text: &str) -> Result<String, Reason> {
    let trimmed = text.trim();
    let length = trimmed.chars().count();
    match length {
        0 => Err(("required", "must not be blank".into())),
        1..=NAME_CHARACTERS => Ok(trimmed.to_owned()),
        _ => Err(too_long(length, NAME_CHARACTERS)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn the_name_of_a_copy_fits() {
        assert_eq!(name_of_copy("Ava"), "Ava (copy)");
        let long = "ä ".repeat(NAME_CHARACTERS / 2);
        let copy = name_of_copy(&long);
        assert!(
            copy.ends_with("ä (copy)") && copy.chars().count() <= NAME_CHARACTERS,
            "{copy}"
        );
    }

    use super::*;

    #[test]
    fn a_close_name_is_offered_and_a_distant_one_is_not() {
        assert_eq!(
            suggestion("phonenumber", &["name", "phoneNumber"]),
            "; did you mean `phoneNumber`?"
        );
        assert_eq!(suggestion("page_size", &["pageSize"]), "; did you mean `pageSize`?");
        assert_eq!(suggestion("zzz", &["pageSize"]), "");
    }

    #[test]
    fn every_problem_is_listed_with_its_path() {
        let body = json!({ "nme": "x", "launch": "yes", "maxConcurrentCalls": 0, "contacts": 4 });
        let mut fields = Fields::of(body.as_object().unwrap(), "a[2]");
        fields.only(&["name", "launch", "maxConcurrentCalls", "contacts"]);
        fields.name("name");
        fields.flag("launch");
        fields.integer("maxConcurrentCalls", 1..=10);
        fields.array("contacts");
        let found: Vec<_> = fields.problems.iter().map(|p| (p.path.as_str(), p.code)).collect();
        assert_eq!(
            found,
            [
                ("a[2].nme", "unknown_field"),
                ("a[2].name", "required"),
                ("a[2].launch", "wrong_type"),
                ("a[2].maxConcurrentCalls", "out_of_range"),
                ("a[2].contacts", "wrong_type"),
            ]
        );
    }
}
