//! Problems of the fields of a body, and rules that several kinds of bodies share.

use std::ops::RangeInclusive;

use domain::agent::merge;
pub use domain::suggestion::suggestion;
use serde_json::Value;

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
    use super::*;

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

    #[test]
    fn a_close_name_is_offered_and_a_distant_one_is_not() {
        assert_eq!(
            suggestion("phonenumber", &["name", "phoneNumber"]),
            "; did you mean `phoneNumber`?"
        );
        assert_eq!(suggestion("page_size", &["pageSize"]), "; did you mean `pageSize`?");
        assert_eq!(suggestion("zzz", &["pageSize"]), "");
    }
}
