//! Telephones that call one of a stub's numbers on request: `POST /v1/inbound`, as at the exchange
//! of `ringback phones`.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::Bytes,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use domain::phone_number::PhoneNumber;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use crate::exchange::{Persona, malformed};

/// Placeholder for the number of a caller that withholds it.
const WITHHELD: &str = "anonymous";

/// Caller and callee of an inbound call.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Telephone that calls, in E.164.
    pub phone: String,
    /// Number that it shows.
    pub from: String,
    pub to: String,
    /// Persona of the caller; `None` leaves it to the stub's settings or the number's last digit.
    pub persona: Option<String>,
}

impl Caller {
    /// Creates a caller that shows this number.
    pub fn of(from: &str, to: &str) -> Self {
        Self {
            phone: from.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            persona: None,
        }
    }
}

/// Result of an inbound call.
#[derive(Debug)]
pub enum Taken {
    Connected,
    /// Reason in words.
    Refused(String),
}

/// Makes a telephone call under this id of the call; returns the result.
pub type CallIn = Arc<dyn Fn(String, Caller) -> BoxFuture<'static, Taken> + Send + Sync>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Body {
    from: String,
    to: String,
    /// Whether the number is hidden from the callee.
    #[serde(default)]
    withheld: bool,
    persona: Option<String>,
}

impl Body {
    fn read(body: &[u8]) -> Result<Caller, String> {
        let body: Self = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
        for (name, number) in [("from", &body.from), ("to", &body.to)] {
            if !PhoneNumber::parse(number).is_ok_and(|parsed| parsed.as_str() == number) {
                return Err(format!("`{name}` must be a number such as +15550100010"));
            }
        }
        // The number does not determine the caller: some last digits belong to personas that do not talk.
        let persona = body.persona.as_deref().unwrap_or("cooperative");
        let Some(known) = Persona::named(persona) else {
            return Err(format!(
                "`persona` {persona} is unknown; docs/carriers/simulated.md lists the personas"
            ));
        };
        Ok(Caller {
            from: if body.withheld {
                WITHHELD.to_owned()
            } else {
                body.from.clone()
            },
            phone: body.from,
            to: body.to,
            persona: Some(known.name().to_owned()),
        })
    }
}

/// Returns the route.
pub fn route(call_in: CallIn) -> Router {
    Router::new().route("/v1/inbound", post(move |body: Bytes| answer(call_in.clone(), body)))
}

async fn answer(call_in: CallIn, body: Bytes) -> Response {
    let caller = match Body::read(&body) {
        Ok(caller) => caller,
        Err(message) => {
            let body = json!({ "code": "invalid_request", "message": message });
            return (StatusCode::BAD_REQUEST, Json(body)).into_response();
        }
    };
    let call = format!("in-{}", Uuid::new_v4().simple());
    // Runs in its own task, because the client may disconnect.
    match tokio::spawn(call_in(call.clone(), caller)).await {
        Ok(Taken::Connected) => (
            StatusCode::CREATED,
            Json(json!({ "callId": call, "answer": "connected" })),
        )
            .into_response(),
        Ok(Taken::Refused(why)) => Json(json!({ "callId": call, "answer": "refused", "why": why })).into_response(),
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_read_and_what_is_wrong_is_named() {
        let read = |body: &str| Body::read(body.as_bytes());
        let plain = read(r#"{"from":"+15550100010","to":"+15559990001"}"#).unwrap();
        assert_eq!(
            (&*plain.phone, &*plain.from, plain.persona.as_deref()),
            ("+15550100010", "+15550100010", Some("cooperative"))
        );
        let more = r#"{"from":"+15550100010","to":"+15559990001","withheld":true,"persona":"silent"}"#;
        let more = read(more).unwrap();
        assert_eq!(
            (&*more.phone, &*more.from, more.persona.as_deref()),
            ("+15550100010", "anonymous", Some("silent"))
        );
        for (body, named) in [
            ("", "not JSON"),
            (r#"{"from":"+15550100010"}"#, "to"),
            (r#"{"from":"x","to":"+15559990001"}"#, "`from`"),
            (r#"{"from":"+15550100010","to":"desk"}"#, "`to`"),
            (
                r#"{"from":"+15550100010","to":"+15559990001","persona":"me"}"#,
                "`persona`",
            ),
        ] {
            let why = read(body).unwrap_err();
            assert!(why.contains(named), "{why}");
        }
    }
}
