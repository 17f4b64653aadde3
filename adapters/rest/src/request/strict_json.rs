//! JSON parsing that rejects two things: a name that occurs twice in one object, because it is unclear which
//! one counts; and the character U+0000, which databases and the programs behind them do not store.

use std::{cell::RefCell, fmt};

use domain::agent::Problem;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reason why a text was rejected.
#[derive(Debug)]
pub enum Refusal {
    /// Not JSON; contains the position and the reason.
    Syntax(serde_json::Error),
    /// JSON with repeated names, or with U+0000 in a text.
    Unsound(Vec<Problem>),
}

/// Maximum number of listed problems.
const LISTED: usize = 1_000;

/// Parses one JSON value, which must be the whole of `bytes`.
pub fn parse(bytes: &[u8]) -> Result<Value, Refusal> {
    let problems = RefCell::default();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let seed = Strict {
        path: Path::Root,
        problems: &problems,
    };
    let value = seed.deserialize(&mut reader).map_err(Refusal::Syntax)?;
    reader.end().map_err(Refusal::Syntax)?;
    let problems = problems.into_inner();
    if problems.is_empty() {
        Ok(value)
    } else {
        Err(Refusal::Unsound(problems))
    }
}

/// Path to a value. It is formatted only for a problem, because names can be as long as the body, and values as many.
#[derive(Clone, Copy)]
enum Path<'p> {
    Root,
    Name(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            // Longer names are cut in the problem anyway.
            Path::Name(Path::Root, name) => write!(f, "{name:.500}"),
            Path::Name(parent, name) => write!(f, "{parent}.{name:.500}"),
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// Parser of the value at `path`.
struct Strict<'p> {
    path: Path<'p>,
    problems: &'p RefCell<Vec<Problem>>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        self.check_text(value);
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        self.check_text(&value);
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        loop {
            let seed = Strict {
                path: Path::Index(&self.path, array.len()),
                problems: self.problems,
            };
            match items.next_element_seed(seed)? {
                Some(item) => array.push(item),
                None => return Ok(Value::Array(array)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let path = Path::Name(&self.path, &name);
            let value = entries.next_value_seed(Strict {
                path,
                problems: self.problems,
            })?;
            let reader = Strict {
                path,
                problems: self.problems,
            };
            reader.check_text(&name);
            if object.contains_key(&name) {
                reader.problem("duplicate_field", "is given more than once");
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

impl Strict<'_> {
    fn problem(&self, code: &'static str, message: &str) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < LISTED {
            problems.push(Problem::new(self.path.to_string(), code, message));
        }
    }

    fn check_text(&self, text: &str) {
        if text.contains('\0') {
            self.problem(
                "not_allowed",
                "contains the character U+0000, which cannot be stored; remove it",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_given_twice_is_refused_with_its_path() {
        let Err(Refusal::Unsound(problems)) = parse(br#"{"a":[{"b":1,"b":2}],"c":{},"c":3}"#) else {
            panic!("taken");
        };
        let paths: Vec<_> = problems.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(paths, ["a[0].b", "c"]);
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let deep = "[".repeat(100_000);
        for bad in ["", "{", "{}x", "{} {}", "nul", "\"\\ud800\"", &deep] {
            assert!(matches!(parse(bad.as_bytes()), Err(Refusal::Syntax(_))), "{bad:.20}");
        }
        assert!(matches!(parse(b"{\"a\":\"\xff\"}"), Err(Refusal::Syntax(_))));
    }

    #[test]
    fn the_character_nul_is_refused_in_texts_and_names() {
        let Err(Refusal::Unsound(problems)) = parse(br#"{"a":["x","\u0000"],"b\u0000":1,"c":"\\u0000"}"#) else {
            panic!("taken");
        };
        let found: Vec<_> = problems.iter().map(|p| (p.path.as_str(), p.code)).collect();
        assert_eq!(found, [("a[1]", "not_allowed"), ("b\0", "not_allowed")]);
    }

    #[test]
    fn a_long_name_is_not_repeated_for_every_value_below_it() {
        let name = "k".repeat(100_000);
        let body = format!("{{\"{name}\":{{{}}}}}", vec!["\"a\":1"; 50_000].join(","));
        let Err(Refusal::Unsound(problems)) = parse(body.as_bytes()) else {
            panic!("taken");
        };
        assert_eq!(problems.len(), LISTED);
        assert!(problems.iter().all(|problem| problem.path.chars().count() <= 501));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9f64).prop_map(Value::from),
            "\\PC{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("\\PC{0,4}", inner, 0..4)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn sound_json_is_read_as_serde_json_reads_it(value in values()) {
            let text = value.to_string();
            let plain: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(parse(text.as_bytes()).unwrap(), plain);
        }
    }

    #[test]
    fn order_is_kept() {
        let value = parse(br#"{"z":1,"a":2}"#).unwrap();
        assert_eq!(value.to_string(), json!({"z":1,"a":2}).to_string());
    }
}
