//! Fields that requests to carriers and providers may have, and of which types. `schemas/NAME.json` is derived from the
//! official package of a service by `tests/sdks/schemas.py`. `schemas/written.json` adds, each with its source, what no
//! package types.
//!
//! A type is a plain one (`string`, `integer`, …), `#` and the name of a shared type, `=` and a literal, an object with
//! the types of its fields, or one of `["[]", T]` (list), `["{}", T]` (map) and `["|", T, …]` (any of these).

mod guard;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{LazyLock, Mutex, PoisonError},
};

use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) use self::guard::guarded;

const DERIVED: &[(&str, &str)] = &[
    ("anthropic", include_str!("../schemas/anthropic.json")),
    ("cartesia", include_str!("../schemas/cartesia.json")),
    ("deepgram", include_str!("../schemas/deepgram.json")),
    ("elevenlabs", include_str!("../schemas/elevenlabs.json")),
    ("openai", include_str!("../schemas/openai.json")),
    ("telnyx", include_str!("../schemas/telnyx.json")),
    ("twilio", include_str!("../schemas/twilio.json")),
    ("vonage", include_str!("../schemas/vonage.json")),
];
/// Models that the packages know, by provider and kind (`llm`, `stt`, `tts`, `voice`), with the day on which one ends.
const MODELS: &str = include_str!("../schemas/models.json");
const WRITTEN: &str = include_str!("../schemas/written.json");

static SERVICES: LazyLock<BTreeMap<String, Service>> = LazyLock::new(|| read().unwrap_or_default());
static CHECKED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Types of one service.
#[derive(Debug, Default, Deserialize)]
struct Service {
    /// Query and body by method and path. A `{}` in a path is any segment.
    requests: BTreeMap<String, Request>,
    /// Socket messages and documents.
    messages: BTreeMap<String, Value>,
    types: BTreeMap<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Request {
    query: Map<String, Value>,
    body: Value,
}

/// An entry of `written.json`: a message's type, or fields of a request's part or of a type.
#[derive(Deserialize)]
struct Entry {
    service: String,
    request: Option<String>,
    part: Option<String>,
    message: Option<String>,
    is: Option<Value>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    fields: Map<String, Value>,
}

fn read() -> serde_json::Result<BTreeMap<String, Service>> {
    let mut services = BTreeMap::new();
    for (name, text) in DERIVED {
        services.insert((*name).to_owned(), serde_json::from_str::<Service>(text)?);
    }
    for entry in serde_json::from_str::<Vec<Entry>>(WRITTEN)? {
        let service = services.entry(entry.service).or_default();
        if let (Some(message), Some(kind)) = (entry.message, entry.is) {
            service.messages.insert(message, kind);
        } else if let Some(kind) = entry.kind {
            add(service.types.entry(kind).or_default(), entry.fields);
        } else if let Some(kind) = entry.request {
            let request = service.requests.entry(kind).or_default();
            match entry.part.as_deref() {
                Some("body") => add(&mut request.body, entry.fields),
                _ => request.query.extend(entry.fields),
            }
        }
    }
    Ok(services)
}

fn add(object: &mut Value, fields: Map<String, Value>) {
    match object {
        Value::Object(known) => known.extend(fields),
        other => *other = fields.into(),
    }
}

/// A field that a service does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// Path of the field, as `/stream/url`.
    pub field: String,
    why: String,
    /// Whether the value may be meant for another of several types.
    is_other: bool,
}

impl Misfit {
    /// Returns the field's name.
    pub(crate) fn name(&self) -> &str {
        self.field.trim_start_matches('/')
    }

    fn new(field: &str, why: impl Into<String>) -> Self {
        Self {
            field: field.to_owned(),
            why: why.into(),
            is_other: false,
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.why)
    }
}

/// Models of one kind, with the day on which one ends.
type Models = BTreeMap<String, Option<String>>;

/// Returns whether a provider's package knows a model, and the day on which it ends if the package tells.
pub fn known_model(provider: &str, kind: &str, model: &str) -> Option<Option<String>> {
    let known: BTreeMap<String, BTreeMap<String, Models>> = serde_json::from_str(MODELS).unwrap_or_default();
    known.get(provider)?.get(kind)?.get(model).cloned()
}

/// Returns the kinds of requests and messages that were checked in this process.
pub fn checked() -> BTreeSet<String> {
    CHECKED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Records and logs a check.
fn record(service: &str, kind: &str, result: Result<(), Misfit>) -> Result<(), Misfit> {
    let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    checked.insert(format!("{service} {kind}"));
    result.inspect_err(|misfit| tracing::error!(service, kind, %misfit, "request has a field that no schema has"))
}

/// Checks a socket message or a document against its type.
///
/// # Errors
///
/// Returns the first field that the service does not take.
pub(crate) fn message(service: &str, name: &str, message: &Value) -> Result<(), Misfit> {
    let types = SERVICES.get(service);
    let result = match types.and_then(|types| types.messages.get(name).map(|kind| (types, kind))) {
        Some((types, kind)) => Check { types, is_text: false }.fits(kind, message, ""),
        None => Err(Misfit::new("", format!("{service} has no message {name}"))),
    };
    record(service, name, result)
}

/// Checks a message as [`message`] does. Text that is not JSON passes: the reader of the message refuses it.
pub(crate) fn text(service: &str, name: &str, text: &str) -> Result<(), Misfit> {
    serde_json::from_str(text).map_or(Ok(()), |said| message(service, name, &said))
}

/// A check of one value.
struct Check<'s> {
    types: &'s Service,
    /// Whether all plain values arrive as text, as in queries and forms.
    is_text: bool,
}

impl Check<'_> {
    fn fits(&self, kind: &Value, value: &Value, at: &str) -> Result<(), Misfit> {
        match kind {
            Value::String(name) => self.is(name, value, at),
            Value::Object(fields) => self.has(fields, value, at),
            Value::Array(of) => match (of.first().and_then(Value::as_str), of.get(1)) {
                (Some("[]"), Some(kind)) => match value {
                    Value::Array(items) => {
                        let mut items = items.iter().enumerate();
                        items.try_for_each(|(index, item)| self.fits(kind, item, &format!("{at}/{index}")))
                    }
                    one if self.is_text => self.fits(kind, one, at),
                    _ => Err(Misfit::new(at, "is not a list")),
                },
                (Some("{}"), Some(kind)) => match value.as_object() {
                    Some(fields) => {
                        let mut fields = fields.iter();
                        fields.try_for_each(|(name, value)| self.fits(kind, value, &format!("{at}/{name}")))
                    }
                    None => Err(Misfit::new(at, "is not an object")),
                },
                _ => self.is_any(of, value, at),
            },
            _ => Err(Misfit::new(at, "no published schema has this field")),
        }
    }

    /// Checks an object: first the literals, which say of which kind it is.
    fn has(&self, fields: &Map<String, Value>, value: &Value, at: &str) -> Result<(), Misfit> {
        let given = value.as_object().ok_or_else(|| Misfit::new(at, "is not an object"))?;
        for (name, value) in given {
            let kind = fields.get(name).unwrap_or(&Value::Null);
            if let (true, Err(misfit)) = (is_literal(kind), self.fits(kind, value, &format!("{at}/{name}"))) {
                return Err(Misfit {
                    is_other: true,
                    ..misfit
                });
            }
        }
        let mut given = given.iter();
        given.try_for_each(|(name, value)| {
            let kind = fields.get(name).unwrap_or(&Value::Null);
            self.fits(kind, value, &format!("{at}/{name}"))
        })
    }

    /// Checks several types; the error is that of the nearest one.
    fn is_any(&self, of: &[Value], value: &Value, at: &str) -> Result<(), Misfit> {
        let mut nearest: Option<Misfit> = None;
        for kind in of.iter().skip(1) {
            let Err(misfit) = self.fits(kind, value, at) else {
                return Ok(());
            };
            let rank = |misfit: &Misfit| (!misfit.is_other, misfit.field.matches('/').count());
            if nearest.as_ref().is_none_or(|nearest| rank(&misfit) > rank(nearest)) {
                nearest = Some(misfit);
            }
        }
        Err(nearest.unwrap_or_else(|| Misfit::new(at, "has no type")))
    }

    fn is(&self, name: &str, value: &Value, at: &str) -> Result<(), Misfit> {
        if let Some(shared) = name.strip_prefix('#') {
            return match self.types.types.get(shared) {
                Some(kind) => self.fits(kind, value, at),
                None => Err(Misfit::new(at, format!("no type is named {shared}"))),
            };
        }
        let word = self.is_text.then(|| value.as_str()).flatten();
        let fits = match name {
            "any" | "file" => true,
            "string" => value.is_string(),
            "integer" => value.is_i64() || value.is_u64() || word.is_some_and(|word| word.parse::<i64>().is_ok()),
            "number" => value.is_number() || word.is_some_and(|word| word.parse::<f64>().is_ok()),
            "boolean" => value.is_boolean() || matches!(word, Some("true" | "false")),
            "null" => value.is_null(),
            literal => match (literal.strip_prefix('='), value) {
                (Some(literal), Value::String(text)) => literal == text,
                (Some(literal), other) => serde_json::from_str::<Value>(literal).is_ok_and(|literal| literal == *other),
                (None, _) => false,
            },
        };
        match fits {
            true => Ok(()),
            false => Err(Misfit::new(at, format!("{value} is not of the type {name}"))),
        }
    }
}

/// Returns whether a type is one of some literals.
fn is_literal(kind: &Value) -> bool {
    match kind {
        Value::String(name) => name.starts_with('=') || name == "null",
        Value::Array(of) => of.first().is_some_and(|first| first == "|") && of.iter().skip(1).all(is_literal),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
