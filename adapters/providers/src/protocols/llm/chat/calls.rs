//! Assembly of tool calls from their pieces, however a server cuts and numbers them.

use domain::ports::language_model::ReplyEvent;
use serde_json::{Map, Value, json};

use crate::{
    failure::Failure,
    protocols::llm::{
        halves,
        reply_stream::{in_all, named, one_more},
    },
};
use net::redact;

/// Tool call that is still being received.
#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Unknown fields, which the provider wants back.
    echo: Map<String, Value>,
    /// Approximate size of `echo` in bytes.
    echo_bytes: usize,
}

/// Maximum bytes kept of a call's unknown fields. A signature has some hundreds.
const MOST_ECHO: usize = 8 * 1024;

/// Tool calls of one reply, in the order they began.
#[derive(Debug, Default)]
pub(crate) struct Calls(Vec<Call>);

impl Calls {
    /// Adds a piece of a call.
    pub(crate) fn take(&mut self, piece: &Value) -> Result<(), Failure> {
        let Some(fields) = piece.as_object() else { return Ok(()) };
        let call = self.call_of(piece)?;
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("index" | "type", _) | (_, Value::Null) => {}
                ("id", id) => {
                    if let Some(id) = id.as_str().filter(|id| !id.is_empty()) {
                        id.clone_into(&mut call.id);
                    }
                }
                ("function", function) => call.take_function(function),
                (name, value) => call.keep(None, name, value),
            }
        }
        named(&call.name)?;
        in_all(self.0.iter().map(Call::bytes).sum())
    }

    /// Returns the call that a piece belongs to, and creates it if it is new.
    fn call_of(&mut self, piece: &Value) -> Result<&mut Call, Failure> {
        let index = piece.get("index").and_then(Value::as_u64);
        let id = piece.get("id").and_then(Value::as_str).unwrap_or_default();
        let name = piece
            .pointer("/function/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let known = match index {
            // Some servers give every call the index 0 and distinguish them by id, or not at all.
            Some(_) => self
                .0
                .iter()
                .rposition(|call| call.index == index && !call.is_other(id)),
            None => self.0.len().checked_sub(1),
        };
        let begins_again =
            |call: &Call| !name.is_empty() && (call.is_whole(id) || (!call.name.is_empty() && call.name != name));
        let known = known.filter(|at| !self.0[*at].is_other(id) && !begins_again(&self.0[*at]));
        let at = match known {
            Some(at) => at,
            None => {
                one_more(self.0.len())?;
                self.0.push(Call {
                    index,
                    ..Call::default()
                });
                self.0.len() - 1
            }
        };
        Ok(&mut self.0[at])
    }

    /// Returns the finished calls. Arguments that are not an object become `null`, which is reported as that
    /// call's error.
    pub(crate) fn finish(&mut self, provider: &str) -> Vec<ReplyEvent> {
        let calls = std::mem::take(&mut self.0).into_iter();
        let named = calls.filter(|call| !call.name.is_empty());
        named
            .map(|call| ReplyEvent::Tool {
                arguments: arguments(&call.name, &call.arguments),
                name: call.name,
                echo: (!call.echo.is_empty()).then(|| Box::new(json!({ provider: call.echo }))),
            })
            .collect()
    }
}

impl Call {
    /// Returns the size of the call in bytes.
    fn bytes(&self) -> usize {
        self.id.len() + self.name.len() + self.arguments.len() + self.echo_bytes
    }

    /// Keeps an unknown field of the call, or of the object `within`, to send it back to the provider. Fields
    /// that are far too long are dropped, because they would be sent again with every request.
    fn keep(&mut self, within: Option<&str>, name: &str, value: &Value) {
        let kept = within.map_or(Some(&self.echo), |within| self.echo.get(within)?.as_object());
        let was = kept.and_then(|fields| fields.get(name));
        if was == Some(value) {
            return;
        }
        let bytes = |value: &Value| name.len() + value.to_string().len();
        let all = self.echo_bytes - was.map_or(0, bytes) + bytes(value);
        if all > MOST_ECHO {
            return;
        }
        self.echo_bytes = all;
        let fields = match within {
            None => Some(&mut self.echo),
            Some(within) => self.echo.entry(within).or_insert_with(|| json!({})).as_object_mut(),
        };
        if let Some(fields) = fields {
            fields.insert(name.to_owned(), value.clone());
        }
    }

    /// Returns whether an id belongs to another call.
    fn is_other(&self, id: &str) -> bool {
        !id.is_empty() && !self.id.is_empty() && id != self.id
    }

    /// Returns whether a piece with this id and a name is another call because this one is complete.
    fn is_whole(&self, id: &str) -> bool {
        id.is_empty() && serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok()
    }

    fn take_function(&mut self, function: &Value) {
        for (name, value) in function.as_object().into_iter().flatten() {
            match (name.as_str(), value) {
                (_, Value::Null) => {}
                // Some servers repeat the name with every piece.
                ("name", Value::String(name)) => name.clone_into(&mut self.name),
                ("arguments", Value::String(piece)) => self.arguments.push_str(piece),
                // Some servers send the arguments whole, and as JSON instead of text.
                ("arguments", whole) => self.arguments = whole.to_string(),
                (name, value) => self.keep(Some("function"), name, value),
            }
        }
    }
}

/// Parses a call's arguments. An empty text means no arguments.
pub(crate) fn arguments(name: &str, text: &str) -> Value {
    parse(text).unwrap_or_else(|error| {
        tracing::warn!(
            tool = redact::fit(name),
            error,
            "tool arguments from the model are not a JSON object"
        );
        Value::Null
    })
}

/// Parses arguments, or returns an error that is fit for the log.
fn parse(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    serde_json::from_str::<Map<String, Value>>(&halves::mended(text))
        .map(Value::Object)
        // The error message quotes the text that could not be parsed.
        .map_err(|error| redact::fit(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::key::Key;

    #[test]
    fn what_is_logged_of_arguments_that_cannot_be_read_is_short_and_holds_no_key() {
        let _key = Key::new("lm-canary-0123456789");
        let long = format!("lm-canary-0123456789 {}", "x".repeat(200_000));
        let quoted = json!(long).to_string();
        assert_eq!(arguments(&long, &quoted), Value::Null);
        let logged = parse(&quoted).unwrap_err() + &redact::fit(&long);
        assert!(logged.len() < 2_000, "{}", logged.len());
        assert!(!logged.contains("canary"), "{logged}");
    }
}
