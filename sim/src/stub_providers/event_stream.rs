//! A reply as server-sent events, each at its time, with the faults set by the test.

use std::{collections::VecDeque, io, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use tokio::time::{Instant, sleep_until};

use crate::stub_providers::{fault::Fault, log::Service, stub::Stub};

/// Size of an event that is far too long.
const OVERSIZED_BYTES: usize = 4 * 1024 * 1024;

/// Events of a reply.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Events of the first token, sent together.
    pub first: Vec<String>,
    /// One for each further token.
    pub tokens: Vec<String>,
    /// Events with the last token.
    pub last: Vec<String>,
    /// Error within the stream, in the provider's format.
    pub error: String,
}

/// A step of the body.
enum Step {
    Send(Instant, Bytes),
    /// Sends nothing more, forever.
    Stall,
    /// Breaks the connection.
    Drop,
}

struct Sending {
    steps: VecDeque<Step>,
    watch: Watch,
}

/// Records when a client disconnects before the end.
struct Watch {
    stub: Arc<Stub>,
    service: Service,
    /// Whether nothing more is to be sent.
    over: bool,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.over {
            self.stub.received(self.service, "disconnected");
        }
    }
}

/// Response of a model.
pub(super) enum Answer {
    /// Event by event.
    Streamed(Script),
    /// All at once.
    Whole(Response),
}

/// Records a request and answers it by `read`, which is none if its key is not accepted, unless a fault says otherwise.
pub(super) async fn answer(
    stub: Arc<Stub>,
    service: Service,
    body: &Bytes,
    refusal: fn(u16) -> Response,
    read: Option<impl FnOnce() -> Answer>,
) -> Response {
    let asked = String::from_utf8_lossy(body);
    let fault = stub.fault_of(service, &asked);
    stub.received(service, asked);
    let Some(read) = read else {
        return refusal(401);
    };
    let mut watch = Watch {
        stub,
        service,
        over: false,
    };
    let whole = match &fault {
        // Waits until the client is gone.
        Fault::Hang => std::future::pending().await,
        Fault::Refuse(status) => refusal(*status),
        _ => match read() {
            Answer::Streamed(script) => return respond(watch, script, &fault),
            Answer::Whole(response) => response,
        },
    };
    watch.over = true;
    whole
}

/// Streams a script.
fn respond(mut watch: Watch, script: Script, fault: &Fault) -> Response {
    let steps = in_time(&watch.stub, script, fault);
    watch.over = steps.is_empty();
    let sending = Sending { steps, watch };
    let body = stream::unfold(sending, |mut sending| async {
        let step = sending.steps.pop_front();
        match step {
            Some(Step::Send(at, bytes)) => {
                sleep_until(at).await;
                sending.watch.over = sending.steps.is_empty();
                Some((Ok(bytes), sending))
            }
            Some(Step::Stall) => std::future::pending().await,
            Some(Step::Drop) => {
                // The events sent before must arrive.
                tokio::task::yield_now().await;
                sending.watch.over = true;
                Some((Err(io::Error::other("dropped by order")), sending))
            }
            None => None,
        }
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (StatusCode::OK, headers, Body::from_stream(body)).into_response()
}

fn in_time(stub: &Stub, script: Script, fault: &Fault) -> VecDeque<Step> {
    let times = stub.settings.times;
    let mut at = Instant::now() + times.first_token.draw(&mut stub.chances());
    let gap = times
        .tokens_per_second
        .map_or(Duration::ZERO, |rate| Duration::from_secs(1) / rate.max(1));
    let mut events: Vec<(Instant, String)> = script.first.into_iter().map(|event| (at, event)).collect();
    for (index, token) in script.tokens.into_iter().enumerate() {
        at += if index == 0 { Duration::ZERO } else { gap };
        events.push((at, token));
    }
    events.extend(script.last.into_iter().map(|event| (at, event)));
    with_fault(events, script.error, fault)
}

fn with_fault(mut events: Vec<(Instant, String)>, error: String, fault: &Fault) -> VecDeque<Step> {
    let send = |(at, text): (Instant, String)| Step::Send(at, Bytes::from(text));
    let end = |events: &mut Vec<(Instant, String)>, after: usize| {
        events.truncate(after);
        events.last().map_or_else(Instant::now, |(at, _)| *at)
    };
    match fault {
        Fault::None | Fault::Refuse(_) | Fault::Hang => events.into_iter().map(send).collect(),
        Fault::StallAfter(after) => {
            end(&mut events, *after);
            events.into_iter().map(send).chain([Step::Stall]).collect()
        }
        Fault::DropAfter(after) => {
            end(&mut events, *after);
            events.into_iter().map(send).chain([Step::Drop]).collect()
        }
        Fault::Drip(gap) => {
            let mut at = Instant::now();
            let bytes: Vec<u8> = events.into_iter().flat_map(|(_, text)| text.into_bytes()).collect();
            let drops = bytes.into_iter().map(|byte| {
                at += *gap;
                Step::Send(at, Bytes::from(vec![byte]))
            });
            drops.collect()
        }
        Fault::MalformedAfter(after) => {
            let at = end(&mut events, *after);
            events.push((
                at,
                "data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"delta\":{\"cont\n\n".into(),
            ));
            events.into_iter().map(send).collect()
        }
        Fault::OversizedAfter(after) => {
            let at = end(&mut events, *after);
            events.push((at, format!("data: \"{}\"\n\n", "x".repeat(OVERSIZED_BYTES))));
            events.into_iter().map(send).collect()
        }
        Fault::ErrorAfter(after) => {
            let at = end(&mut events, *after);
            events.push((at, error));
            events.into_iter().map(send).collect()
        }
    }
}

/// Returns an event without a name.
pub(super) fn data(value: &serde_json::Value) -> String {
    format!("data: {value}\n\n")
}
