//! Numbers in carrier messages. Carriers send strings where their documentation shows numbers, and the other
//! way round. Pure.

use std::fmt;

use serde::{Deserialize, Deserializer, de::Visitor};

/// A number, or a string that contains one; `None` for anything else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count(pub Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl Visitor<'_> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a string that holds one")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Count, E> {
        Ok(Count(Some(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Count, E> {
        Ok(Count(u64::try_from(number).ok()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_str<E>(self, text: &str) -> Result<Count, E> {
        Ok(Count(text.parse().ok()))
    }

    fn visit_unit<E>(self) -> Result<Count, E> {
        Ok(Count(None))
    }
}

/// A number or a string, displayed as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Written {
    /// A string.
    Text(String),
    /// A number.
    Plain(u64),
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Plain(number) => number.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_as_such_or_as_strings_and_without_sense_are_none() {
        for (text, count) in [
            ("7", Some(7)),
            (r#""7""#, Some(7)),
            (r#""x""#, None),
            ("-1", None),
            ("1.5", None),
            ("null", None),
        ] {
            assert_eq!(serde_json::from_str::<Count>(text).unwrap(), Count(count), "{text}");
        }
        for (text, shown) in [("8000", "8000"), (r#""8000""#, "8000")] {
            assert_eq!(serde_json::from_str::<Written>(text).unwrap().to_string(), shown);
        }
    }
}
