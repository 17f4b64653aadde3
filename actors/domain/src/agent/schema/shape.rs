//! Shapes of JSON values, and the walk that checks a value against its shape.
//!
//! The walk lists all problems. It returns the value in the form to store, without unset (`null`) fields and
//! with numbers and phone numbers in their normal form.

use serde_json::{Map, Number, Value};

use super::rules::{self, Broken};
use crate::problem::{Problem, shown};

/// A rule for a text: returns the normal form, or how the text breaks it.
pub(crate) type Rule = fn(&str) -> Result<String, Broken>;

/// Most problems listed for one request, so that a body full of mistakes gets a short answer.
const MAX_PROBLEMS: usize = 1000;
/// Longest phone number as it is written, in characters.
pub(crate) const PHONE_CHARS: usize = 64;
/// Longest unknown name, in bytes, for which a similar known name is searched.
const COMPARED_BYTES: usize = 200;
/// Similarity from which a known name is suggested.
const LIKELY: f64 = 0.84;

/// Shape that a value must have.
pub(crate) enum Shape {
    /// A text of at most `max` characters that obeys the rule.
    Text { max: usize, rule: Rule },
    /// A phone number.
    Phone,
    /// One of a few texts.
    OneOf(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A number in a range; -1 is also allowed if `never` is set.
    Number { min: f64, max: f64, never: bool },
    /// A whole number in a range.
    Integer { min: i64, max: i64 },
    /// A list of at most `max` items.
    List { max: usize, item: &'static Shape },
    /// A typed section: unknown fields are rejected.
    Section(&'static [Field]),
    /// A free-form object: stored as it is sent, with only the named fields checked.
    Open(&'static [Field]),
    /// A free-form map of names to values of one shape.
    Map(&'static Shape),
    /// A free-form map whose names are language codes.
    Languages(&'static Shape),
    /// A string of at most `max` bytes, a number or a boolean.
    Scalar { max: usize },
    /// Any value.
    Any,
}

impl Shape {
    /// Returns whether its values are texts that a required field must not leave blank.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Phone)
    }
}

/// A field of a section.
pub(crate) struct Field {
    /// Name in the API.
    pub name: &'static str,
    /// Shape of its value.
    pub shape: Shape,
    /// Whether it must be set. A section is required if one of its fields is.
    pub required: bool,
}

/// A field that may be left out.
pub(crate) const fn optional(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        shape,
        required: false,
    }
}

/// A field that must be set.
pub(crate) const fn required(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        shape,
        required: true,
    }
}

/// Kind of value that is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A whole document: required fields must be present.
    Whole,
    /// A merge patch: `null` removes a field and any field may be left out. The merged document is checked as
    /// a whole later.
    Patch,
}

/// Walks a value together with its shape.
pub(crate) struct Walk {
    mode: Mode,
    problems: Vec<Problem>,
}

impl Walk {
    /// Checks a whole value. Returns its stored form and all problems.
    pub(crate) fn check(value: &Value, shape: &Shape, mode: Mode) -> (Option<Value>, Vec<Problem>) {
        let mut walk = Self {
            mode,
            problems: Vec::new(),
        };
        let stored = walk.value(value, shape, "");
        (stored, walk.problems)
    }

    fn report(&mut self, path: &str, code: &'static str, message: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem::new(path, code, message));
        }
    }

    fn wrong_type(&mut self, path: &str, expected: &str, value: &Value) {
        let message = format!("must be {expected}, not {}", shown(value));
        self.report(path, "wrong_type", message);
    }

    fn value(&mut self, value: &Value, shape: &Shape, path: &str) -> Option<Value> {
        match shape {
            Shape::Text { max, rule } => {
                let text = self.text(value, *max, path)?;
                self.ruled(rule(text), "invalid", path)
            }
            Shape::Phone => {
                let text = self.text(value, PHONE_CHARS, path)?;
                self.ruled(rules::phone_number(text), "invalid_phone", path)
            }
            Shape::OneOf(allowed) => self.one_of(value, allowed, path),
            Shape::Flag => match value {
                Value::Bool(_) => Some(value.clone()),
                other => self.refuse(path, "true or false", other),
            },
            Shape::Number { min, max, never } => self.number(value, *min..=*max, *never, path),
            Shape::Integer { min, max } => self.integer(value, *min..=*max, path),
            Shape::List { max, item } => self.list(value, *max, item, path),
            Shape::Section(fields) => self.section(value, fields, path),
            Shape::Open(fields) => self.open(value, fields, path),
            Shape::Map(item) => self.map(value, item, rules::any, path),
            Shape::Languages(item) => self.map(value, item, rules::language, path),
            Shape::Scalar { max } => self.scalar(value, *max, path),
            Shape::Any => Some(value.clone()),
        }
    }

    fn refuse(&mut self, path: &str, expected: &str, value: &Value) -> Option<Value> {
        self.wrong_type(path, expected, value);
        None
    }

    /// Checks that a value is a text of at most so many characters.
    fn text<'v>(&mut self, value: &'v Value, max: usize, path: &str) -> Option<&'v str> {
        let Value::String(text) = value else {
            self.refuse(path, "a string", value);
            return None;
        };
        let length = text.chars().count();
        if length > max {
            let message = format!("has {length} characters; at most {max} are allowed");
            self.report(path, "too_long", message);
            return None;
        }
        Some(text)
    }

    /// Takes a text's normal form, or reports with this code why it breaks its rule.
    fn ruled(&mut self, normal: Result<String, Broken>, code: &'static str, path: &str) -> Option<Value> {
        match normal {
            Ok(normal) => Some(Value::String(normal)),
            Err(broken) => {
                self.report(path, code, broken.to_string());
                None
            }
        }
    }

    fn scalar(&mut self, value: &Value, max: usize, path: &str) -> Option<Value> {
        match value {
            Value::String(text) if text.len() > max => {
                let message = format!("has {} bytes; at most {max} are allowed", text.len());
                self.report(path, "too_long", message);
                None
            }
            Value::String(_) | Value::Number(_) | Value::Bool(_) => Some(value.clone()),
            other => self.refuse(path, "a string, a number or a boolean", other),
        }
    }

    fn one_of(&mut self, value: &Value, allowed: &[&'static str], path: &str) -> Option<Value> {
        let Value::String(text) = value else {
            return self.refuse(path, "a string", value);
        };
        if allowed.contains(&text.as_str()) {
            return Some(value.clone());
        }
        let meant = likely(text, allowed.iter().copied());
        let meant = meant
            .map(|name| format!("; did you mean \"{name}\"?"))
            .unwrap_or_default();
        let message = format!("{} is not one of {}{meant}", shown(value), listed(allowed));
        self.report(path, "not_allowed", message);
        None
    }

    fn number(
        &mut self,
        value: &Value,
        range: std::ops::RangeInclusive<f64>,
        never: bool,
        path: &str,
    ) -> Option<Value> {
        let Some(number) = value.as_f64() else {
            return self.refuse(path, "a number", value);
        };
        #[expect(
            clippy::float_cmp,
            reason = "-1 is exact in binary, and a sentinel rather than a quantity"
        )]
        let is_never = never && number == -1.0;
        if is_never || range.contains(&number) {
            return Some(value.clone());
        }
        let (min, max) = range.into_inner();
        let or_never = if never { ", or -1 for never" } else { "" };
        let message = format!("{} is out of range: {min} to {max}{or_never}", shown(value));
        self.report(path, "out_of_range", message);
        None
    }

    fn integer(&mut self, value: &Value, range: std::ops::RangeInclusive<i64>, path: &str) -> Option<Value> {
        let whole = match value {
            Value::Number(number) => whole(number),
            _ => None,
        };
        let Some(whole) = whole else {
            return self.refuse(path, "a whole number", value);
        };
        if (i128::from(*range.start())..=i128::from(*range.end())).contains(&whole) {
            return i64::try_from(whole).ok().map(Value::from);
        }
        let message = format!("{} is out of range: {} to {}", shown(value), range.start(), range.end());
        self.report(path, "out_of_range", message);
        None
    }

    fn list(&mut self, value: &Value, max: usize, item: &Shape, path: &str) -> Option<Value> {
        let Value::Array(items) = value else {
            return self.refuse(path, "a list", value);
        };
        if items.len() > max {
            let message = format!("has {} items; at most {max} are allowed", items.len());
            self.report(path, "too_long", message);
            return None;
        }
        let checked = items.iter().enumerate();
        let checked = checked.filter_map(|(index, value)| self.value(value, item, &format!("{path}[{index}]")));
        Some(Value::Array(checked.collect()))
    }

    fn section(&mut self, value: &Value, fields: &[Field], path: &str) -> Option<Value> {
        let Value::Object(object) = value else {
            return self.refuse(path, "an object", value);
        };
        let mut stored = Map::new();
        for (name, value) in object {
            let at = join(path, name);
            let Some(field) = fields.iter().find(|field| field.name == name) else {
                let message = unknown(name, fields);
                self.report(&at, "unknown_field", message);
                continue;
            };
            if !value.is_null()
                && !self.is_missing(value, field)
                && let Some(value) = self.value(value, &field.shape, &at)
            {
                stored.insert(name.clone(), value);
            }
        }
        if self.mode == Mode::Whole {
            for field in fields.iter().filter(|field| field.required) {
                self.required(object, field, path);
            }
        }
        Some(Value::Object(stored))
    }

    /// Reports a missing required field, or the missing required fields inside a missing section.
    fn required(&mut self, object: &Map<String, Value>, field: &Field, path: &str) {
        let at = join(path, field.name);
        match (object.get(field.name), &field.shape) {
            (None | Some(Value::Null), Shape::Section(fields)) => {
                self.section(&Value::Object(Map::new()), fields, &at);
            }
            (None | Some(Value::Null), _) => self.report(&at, "required", "is required and has no default"),
            (Some(value), _) if self.is_missing(value, field) => {
                self.report(&at, "required", "is required and must not be blank");
            }
            (Some(_), _) => {}
        }
    }

    /// Returns whether a required text is blank, which counts as missing.
    fn is_missing(&self, value: &Value, field: &Field) -> bool {
        let is_blank = || value.as_str().is_some_and(|text| text.trim().is_empty());
        self.mode == Mode::Whole && field.required && field.shape.is_text() && is_blank()
    }

    fn open(&mut self, value: &Value, fields: &[Field], path: &str) -> Option<Value> {
        let Value::Object(object) = value else {
            return self.refuse(path, "an object", value);
        };
        let mut stored = object.clone();
        for field in fields {
            let Some(value) = object.get(field.name).filter(|value| !value.is_null()) else {
                if field.required && self.mode == Mode::Whole {
                    self.report(&join(path, field.name), "required", "is required and has no default");
                }
                continue;
            };
            if let Some(value) = self.value(value, &field.shape, &join(path, field.name)) {
                stored.insert(field.name.to_owned(), value);
            }
        }
        Some(Value::Object(stored))
    }

    /// Checks a map. Its names must obey the rule, but are stored unchanged.
    fn map(&mut self, value: &Value, item: &Shape, rule: Rule, path: &str) -> Option<Value> {
        let Value::Object(object) = value else {
            return self.refuse(path, "an object", value);
        };
        let mut stored = Map::new();
        for (name, value) in object {
            if let Err(broken) = rule(name) {
                self.report(&join(path, name), "invalid", broken.to_string());
                continue;
            }
            if value.is_null() && self.mode == Mode::Patch {
                continue;
            }
            if let Some(value) = self.value(value, item, &join(path, name)) {
                stored.insert(name.clone(), value);
            }
        }
        Some(Value::Object(stored))
    }
}

/// Returns `path.name`, or the name alone at the top level.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// Returns the value at a path of names.
pub(crate) fn at<'a>(document: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut names = path.split('.');
    let first = document.get(names.next()?)?;
    names.try_fold(first, |value, name| value.get(name))
}

/// Returns the number if it is whole; `3.0` counts as whole.
fn whole(number: &Number) -> Option<i128> {
    let exact = number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from));
    exact.or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a whole float; one beyond i128 saturates, out of any range"
        )]
        Some(float as i128)
    })
}

fn listed(allowed: &[&str]) -> String {
    allowed
        .iter()
        .map(|text| format!("\"{text}\""))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns the one of `names` that was probably meant.
fn likely(name: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let plain = |name: &str| name.replace(['_', '-', ' '], "").to_lowercase();
    names
        // The comparison takes longer with the length, and no name of ours is that long.
        .filter(|_| name.len() <= COMPARED_BYTES)
        .map(|known| (strsim::jaro_winkler(&plain(name), &plain(known)), known))
        .filter(|(likeness, _)| *likeness >= LIKELY)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

fn unknown(name: &str, fields: &[Field]) -> String {
    match likely(name, fields.iter().map(|field| field.name)) {
        Some(likely) => format!("unknown field; did you mean \"{likely}\"?"),
        None => {
            let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
            format!("unknown field; the fields here are {}", listed(&known))
        }
    }
}
