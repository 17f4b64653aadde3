//! Calls that the phones make. A call is announced to the service that owns its number, and the response says
//! where to send its media. A receiver of an announcement may ask back whether the call exists and who calls.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Json,
    body::Bytes,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use domain::phone_number::PhoneNumber;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::{
    call,
    http::{invalid, is_address, malformed, refusal},
    log::LogEvent,
    persona::Callee,
    registry::{Caller, Entry, Order},
    switch::Switch,
};

/// Longest wait for the response to an announcement.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Removes the call from the list when its task ends for any reason.
struct Listed(Arc<Switch>, String);

impl Drop for Listed {
    fn drop(&mut self) {
        self.0.calling.lock().remove(&self.1);
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CallBody {
    from: String,
    to: String,
    /// Hides the caller's number from the callee.
    #[serde(default)]
    withheld: bool,
    /// Persona of the caller; same effect as a hint with this name.
    persona: Option<String>,
    #[serde(default)]
    hints: BTreeMap<String, String>,
    announce_url: Option<String>,
}

/// Content and address of an announcement.
struct Announcement {
    url: String,
    phone: String,
    caller: Caller,
    callee: Callee,
}

impl CallBody {
    fn checked(self, switch: &Switch) -> Result<Announcement, String> {
        for (name, number) in [("from", &self.from), ("to", &self.to)] {
            if PhoneNumber::parse(number).is_err() {
                return Err(format!("`{name}` must be a number such as +15550100010"));
            }
        }
        let url = self.announce_url.or_else(|| switch.settings.announce_to.clone());
        let url = url.filter(|url| is_address(url, "http"));
        let url = url.ok_or("`announceUrl` must be an http:// address")?;
        let mut hints = self.hints;
        hints.extend(self.persona.map(|persona| ("persona".to_owned(), persona)));
        Ok(Announcement {
            url,
            caller: Caller {
                from: (!self.withheld).then(|| self.from.clone()),
                to: self.to,
            },
            callee: Callee::calling(&hints, &switch.settings.scripts),
            phone: self.from,
        })
    }
}

/// Response to an announcement.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "camelCase")]
enum Answer {
    /// The call is accepted.
    #[serde(rename_all = "camelCase")]
    Connect {
        attempt: String,
        status_url: String,
        stream_url: String,
    },
    /// Nobody answers.
    Reject,
    /// All lines are busy.
    Busy,
}

/// Makes a phone call in.
pub(super) async fn call_in(State(switch): State<Arc<Switch>>, body: Bytes) -> Response {
    let checked = serde_json::from_slice::<CallBody>(&body).map_err(|error| malformed(&error));
    let announcement = match checked.and_then(|body| body.checked(&switch)) {
        Ok(announcement) => announcement,
        Err(message) => return invalid(&message),
    };
    let Ok(line) = switch.lines.clone().try_acquire_owned() else {
        return refusal(StatusCode::TOO_MANY_REQUESTS, "no_line", "all lines are in use");
    };
    // Runs in its own task, because the client may disconnect.
    match tokio::spawn(place(switch, announcement, line)).await {
        Ok(answer) => answer,
        Err(_) => refusal(StatusCode::SERVICE_UNAVAILABLE, "closed", "the exchange is closing"),
    }
}

async fn place(switch: Arc<Switch>, announcement: Announcement, line: OwnedSemaphorePermit) -> Response {
    let Announcement {
        url,
        phone,
        caller,
        callee,
    } = announcement;
    let call_id = format!("CA{}", Uuid::new_v4().simple());
    let called_in = LogEvent::CalledIn {
        from: phone.clone(),
        withheld: caller.from.is_none(),
        to: caller.to.clone(),
        persona: callee.persona.name().to_owned(),
        unknown_persona: callee.unknown_persona.clone(),
    };
    switch.log.add(&call_id, called_in);
    switch.calling.lock().insert(call_id.clone(), caller.clone());
    let listed = Listed(switch.clone(), call_id.clone());
    let (answer, (attempt, status_url, stream_url)) = match announce(&switch, &url, &call_id, &caller).await {
        Ok(Answer::Connect {
            attempt,
            status_url,
            stream_url,
        }) => ("connected", (attempt, status_url, stream_url)),
        Ok(Answer::Reject) => return not_connected(&switch, &call_id, "rejected"),
        Ok(Answer::Busy) => return not_connected(&switch, &call_id, "busy"),
        Err(reason) => {
            tracing::warn!(reason, "inbound call announcement failed");
            return not_connected(&switch, &call_id, "failed");
        }
    };
    let (entry, wishes) = Entry::new(Order {
        call_id: call_id.clone(),
        attempt: attempt.clone(),
        to: phone,
        placed: switch.log.now(),
        status_url,
        stream_url,
        ring_timeout: Duration::ZERO,
        callee,
    });
    switch.registry.began(entry.clone());
    let talk = call::run(switch.clone(), entry, wishes, line);
    switch.spawn(async move {
        talk.await;
        drop(listed);
    });
    let connected = json!({ "callId": call_id, "answer": answer, "attempt": attempt });
    (StatusCode::CREATED, Json(connected)).into_response()
}

fn not_connected(switch: &Switch, call_id: &str, cause: &str) -> Response {
    let ended = LogEvent::Ended {
        cause: cause.to_owned(),
        figures: None,
    };
    switch.log.add(call_id, ended);
    Json(json!({ "callId": call_id, "answer": cause })).into_response()
}

async fn announce(switch: &Switch, url: &str, call_id: &str, caller: &Caller) -> Result<Answer, String> {
    let body = json!({ "callId": call_id, "from": caller.from, "to": caller.to });
    let request = switch.client.post(url).timeout(ANSWER_WITHIN).json(&body);
    let answer = request.send().await.map_err(|error| error.without_url().to_string())?;
    match answer.status() {
        StatusCode::OK => {
            let answer: Answer = answer.json().await.map_err(|error| error.without_url().to_string())?;
            match &answer {
                Answer::Connect {
                    status_url, stream_url, ..
                } if !(is_address(status_url, "http") && is_address(stream_url, "ws")) => {
                    Err("the response needs an http:// and a ws:// address".to_owned())
                }
                _ => Ok(answer),
            }
        }
        status => Err(format!("answered {status}")),
    }
}

/// Tells the receiver of an announcement who calls.
pub(super) async fn who_calls(State(switch): State<Arc<Switch>>, Path(call_id): Path<String>) -> Response {
    let caller = switch.calling.lock().get(&call_id).cloned();
    match caller {
        Some(caller) => Json(json!({ "callId": call_id, "from": caller.from, "to": caller.to })).into_response(),
        None => refusal(StatusCode::NOT_FOUND, "not_found", "no phone makes this call"),
    }
}
