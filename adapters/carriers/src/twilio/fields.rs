//! The fields of a webhook: usually a form, or a JSON object if its content type says so. Pure.

use axum::http::{HeaderMap, header::CONTENT_TYPE};
use serde_json::{Map, Value};

/// Names and values. An empty value counts as missing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, String)>);

/// Returns whether a request declares a JSON body.
pub fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

impl Fields {
    /// Parses the fields of a body by its content type. An unreadable body has none.
    pub fn read(headers: &HeaderMap, body: &[u8]) -> Self {
        if is_json(headers) {
            return Self::of_json(body);
        }
        Self::of_form(body)
    }

    /// Parses the fields of a form.
    pub fn of_form(form: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(form).into_owned().collect())
    }

    fn of_json(body: &[u8]) -> Self {
        let object: Map<String, Value> = serde_json::from_slice(body).unwrap_or_default();
        let written = |value| match value {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let fields = object
            .into_iter()
            .filter_map(|(name, value)| Some((name, written(value)?)));
        Self(fields.collect())
    }

    /// Returns the first non-empty value of a name.
    pub fn get(&self, wanted: &str) -> Option<&str> {
        let mut fields = self.0.iter();
        let (_, value) = fields.find(|(name, value)| name == wanted && !value.is_empty())?;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn typed(kind: &str) -> HeaderMap {
        [(CONTENT_TYPE, kind.parse().unwrap())].into_iter().collect()
    }

    #[test]
    fn a_body_is_read_by_its_type() {
        let json = br#"{"CallSid":"CA1","SequenceNumber":2,"From":"","More":{"x":1}}"#;
        let form = b"CallSid=CA1&SequenceNumber=2&From=&From=%2B1";
        for (headers, body, from) in [
            (typed("application/json"), &json[..], None),
            (typed("Application/JSON; charset=utf-8"), json, None),
            (typed("application/x-www-form-urlencoded"), form, Some("+1")),
            (HeaderMap::new(), form, Some("+1")),
        ] {
            let fields = Fields::read(&headers, body);
            assert_eq!(fields.get("CallSid"), Some("CA1"), "{headers:?}");
            assert_eq!(fields.get("SequenceNumber"), Some("2"), "{headers:?}");
            assert_eq!((fields.get("From"), fields.get("More")), (from, None), "{headers:?}");
        }
        assert_eq!(Fields::read(&typed("application/json"), form), Fields::default());
    }

    proptest! {
        #[test]
        fn nothing_makes_the_reader_panic(body in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = Fields::read(&typed("application/json"), &body);
            let _ = Fields::read(&HeaderMap::new(), &body);
        }
    }
}
