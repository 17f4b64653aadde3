//! Checks a JSON body against the schema of the type that it is read as: types, ranges, lengths, choices, required and
//! unknown fields. It lists every problem with its path.
//!
//! `null` counts as missing. A schema's pattern describes what a parser takes, so that it is the parser which checks it,
//! through [`Checked::parse`]; only the pattern of a text that must not be blank is checked here.

mod check;

use std::{collections::BTreeMap, marker::PhantomData};

use domain::agent::Problem;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value};
use utoipa::ToSchema;

pub use super::fields::Reason;
use super::{
    fields::unknown_field,
    query::plain_integer,
    schemas::{schemas_of, type_of},
};
use crate::response::error::{ApiError, ApiResult};
use check::Check;

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

    /// Checks the texts of a form, whose types are those of its schema. A field with a problem that is known already
    /// gets no second one.
    pub fn form(texts: &BTreeMap<String, String>, known: Vec<Problem>) -> Self {
        let (mut body, mut problems) = (Map::new(), known);
        let schemas = schemas_of::<T>();
        for (name, text) in texts {
            let (value, expected) = match type_of(&schemas.root["properties"][name]) {
                "boolean" => (boolean(text).map(Value::from), "`true` or `false`"),
                "integer" => (plain_integer(text).map(Value::from), "a whole number"),
                _ => (Some(text.as_str().into()), "a text"),
            };
            match value {
                Some(value) => drop(body.insert(name.clone(), value)),
                None => problems.push(Problem::new(
                    name,
                    "invalid_value",
                    format!("`{text:.100}` is not {expected}"),
                )),
            }
        }
        let mut checked = Self::of(&body);
        let found = std::mem::replace(&mut checked.problems, problems);
        checked.conclude(found);
        checked
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

impl<T> Checked<T> {
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

    /// Adds problems.
    pub fn extend(&mut self, problems: impl IntoIterator<Item = Problem>) {
        self.problems.extend(problems);
    }

    /// Adds problems that follow from several fields, apart from those of a field that has a problem already.
    pub fn conclude(&mut self, found: impl IntoIterator<Item = Problem>) {
        let known = self.problems.len();
        for problem in found {
            let mut known = self.problems[..known]
                .iter()
                .filter_map(|known| known.path.strip_prefix(&problem.path));
            if known.all(|rest| !rest.is_empty() && !rest.starts_with('[')) {
                self.problems.push(problem);
            }
        }
    }

    /// Returns all problems found so far.
    pub fn problems(&self) -> Vec<Problem> {
        self.problems.clone()
    }

    /// Reports problems of a list's items with this code at the list.
    pub fn gather(&mut self, list: &str, code: &str) {
        let problems = self.problems.iter_mut().filter(|problem| problem.code == code);
        for problem in problems.filter(|problem| index_in(list, &problem.path).is_some()) {
            list.clone_into(&mut problem.path);
        }
    }

    /// Adds a way out to the problems of unknown fields that are similar to no known one.
    pub fn explain_unknown(&mut self, way_out: &str) {
        let (_, plain) = unknown_field("", &[], "");
        let problems = self.problems.iter_mut();
        for problem in problems.filter(|problem| problem.message == plain && !problem.path.contains('.')) {
            problem.message.push_str(way_out);
        }
    }

    /// Returns whether a field whose path begins like this has a problem.
    pub fn is_refused(&self, path: &str) -> bool {
        self.problems.iter().any(|problem| problem.path.starts_with(path))
    }

    /// Returns a field that is present and has no problem.
    pub fn sound(&self, name: &str) -> Option<&Value> {
        self.sound.get(name)
    }

    /// Returns what the sound fields say of a part of the body, with defaults for the others.
    pub fn part<P: DeserializeOwned + Default>(&self) -> P {
        // The part itself may take no other fields.
        #[derive(Deserialize)]
        struct Whole<P> {
            #[serde(flatten)]
            part: P,
        }
        let whole = serde_json::from_value(Value::Object(self.sound.clone()));
        whole.map_or_else(|_| P::default(), |Whole { part }| part)
    }

    /// Returns the value of a field that is present and has no problem.
    pub fn get<V: DeserializeOwned>(&self, name: &str) -> Option<V> {
        serde_json::from_value(self.sound(name)?.clone()).ok()
    }

    /// Takes a list out of the body. Returns its sound items with their index.
    pub fn take(&mut self, list: &str) -> Vec<(usize, Value)> {
        let Some(Value::Array(items)) = self.sound.shift_remove(list) else {
            return Vec::new();
        };
        items
            .into_iter()
            .enumerate()
            .filter(|(_, item)| !item.is_null())
            .collect()
    }

    /// Puts the problems of a list's items into the order of the list.
    pub fn sort(&mut self, list: &str) {
        self.problems
            .sort_by_cached_key(|problem| index_in(list, &problem.path).map_or(0, |at| at + 1));
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
                fields.shift_remove(name);
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
        // Those of the schema are among them.
        self.sort(path);
    }
}

/// Parses `true` and `false` in any case, and `1` and `0`.
pub fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// Returns the index of the item of a list to which a path leads.
fn index_in(list: &str, path: &str) -> Option<usize> {
    path.strip_prefix(list)?
        .strip_prefix('[')?
        .split(']')
        .next()?
        .parse()
        .ok()
}

/// Reads a field that may be null. One that is missing needs a default.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(value: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(value).map(Some)
}

/// Reads a body that its schema describes completely.
pub fn read<T: ToSchema + DeserializeOwned + 'static>(body: &Map<String, Value>) -> ApiResult<T> {
    Checked::of(body).end()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

    #[derive(Debug, Deserialize, ToSchema)]
    struct Open {
        #[schema(max_length = 3)]
        name: Option<String>,
        #[serde(flatten)]
        others: Map<String, Value>,
    }

    #[test]
    fn an_open_object_keeps_fields_that_its_schema_does_not_name() {
        let body = json!({ "name": " abc ", "city": null, "age": 7 });
        let read = Checked::<Open>::of(body.as_object().unwrap()).end().unwrap();
        assert_eq!(read.name.as_deref(), Some("abc"));
        assert_eq!(Value::Object(read.others), json!({ "city": null, "age": 7 }));
    }

    #[test]
    fn a_conclusion_from_a_field_with_a_problem_is_left_out() {
        let body = json!({ "name": "abc", "howMany": 10, "choices": ["three"] });
        let mut body = Checked::<Whole>::of(body.as_object().unwrap());
        let found = ["name", "howMany", "choices"].map(|path| Problem::new(path, "not_allowed", "x"));
        body.conclude(found);
        let found: Vec<_> = body.problems().into_iter().map(|problem| problem.path).collect();
        assert_eq!(found, ["howMany", "choices[0]", "name"]);
    }
}
