//! Middleware around the endpoints: forwards requests that reached the wrong node, and verifies forwarded ones.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;

use super::{
    Elsewhere, InVain, NotKnown, Others, Peers, Unreached,
    directory::Holder,
    pass::NotPassed,
    proof::{Claimed, Forged, HEADER, HOST},
    refusal,
};
use net::log_gate;

/// Largest body that is forwarded, in bytes. No callback is larger.
const MAX_BODY_BYTES: usize = 16 * 1024;
/// Number of owner lookups for a call that moves between nodes meanwhile.
const TRIES: usize = 2;

/// Forwards the request to the call's owner if the handler answers with [`Elsewhere`]. The handler may run
/// again, so it must not have changed anything before that answer.
pub async fn to_the_holder(State(peers): State<Peers>, request: Request, next: Next) -> Response {
    if request.headers().contains_key(HEADER) {
        return match proved(&peers, request).await {
            // Serve it here even if the call has moved: only the node that received the carrier's request
            // looks up the owner again.
            Ok(request) => next.run(request).await,
            Err(refused) => refused,
        };
    }
    let Some(others) = &peers.0 else {
        return next.run(request).await;
    };
    let (mut parts, body) = request.into_parts();
    let heard = Heard::default();
    let first = Request::from_parts(parts.clone(), heard.listen(body));
    let mut answer = next.clone().run(first).await;
    for left in (0..TRIES).rev() {
        let Some(elsewhere) = answer.extensions_mut().remove::<Elsewhere>() else {
            return answer;
        };
        let (attempt, or_here) = (elsewhere.attempt, elsewhere.or_here);
        let in_vain = match others.pass_on(&elsewhere, &parts, heard.bytes()).await {
            Ok(answer) if !or_here || answer.status().is_success() => return answer,
            Ok(answer) => {
                lost(&elsewhere, answer.status().as_str());
                true
            }
            Err(NotPassed::NotThere) => left == 0,
            Err(NotPassed::Unreached(why) | NotPassed::Gone(why)) if or_here => {
                lost(&elsewhere, &why);
                parts.extensions.insert(Unreached(elsewhere.holder));
                false
            }
            // The cached owner may be stale: a node that has left updates the store, but does not tell nodes
            // that have it in their cache.
            Err(NotPassed::Gone(_)) if left > 0 => false,
            Err(NotPassed::Unreached(why) | NotPassed::Gone(why) | NotPassed::Lost(why)) => {
                lost(&elsewhere, &why);
                true
            }
        };
        others.known.forget(attempt);
        match (in_vain, or_here) {
            (true, true) => drop(parts.extensions.insert(InVain)),
            (true, false) if left > 0 => return NotKnown.into_response(),
            _ => {}
        }
        let again = Request::from_parts(parts.clone(), Body::from(heard.bytes()));
        answer = next.clone().run(again).await;
    }
    match answer.extensions_mut().remove::<Elsewhere>() {
        Some(_) => NotKnown.into_response(),
        None => answer,
    }
}

/// Rejects requests that do not come from another node.
pub(super) async fn only_peers(State(peers): State<Peers>, request: Request, next: Next) -> Response {
    match proved(&peers, request).await {
        Ok(request) => next.run(request).await,
        Err(refused) => refused,
    }
}

fn lost(elsewhere: &Elsewhere, why: &str) {
    metrics::counter!("ringback_peer_requests_lost_total").increment(1);
    let Holder { node, address, .. } = &elsewhere.holder;
    if let Some(left_out) = log_gate::opens("peers", "request") {
        let attempt = elsewhere.attempt;
        tracing::warn!(%attempt, %node, address, why, left_out, "request not forwarded to owner node");
    }
}

/// Returns the request if another node signed it.
async fn proved(peers: &Peers, request: Request) -> Result<Request, Response> {
    let Some(others) = &peers.0 else {
        return Err(stranger(Forged::Mismatch));
    };
    let header = request.headers().get(HEADER).map(|header| header.as_bytes().to_vec());
    let claimed = Claimed::read(&header.unwrap_or_default(), others.now_seconds()).map_err(stranger)?;
    let (mut parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY_BYTES).await else {
        let words = format!("the body of a forwarded request must not exceed {MAX_BODY_BYTES} bytes");
        return Err(refusal(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &words));
    };
    is_peers(others, &claimed, &parts, &body).await?;
    if let Some(host) = parts.headers.remove(HOST) {
        parts.headers.insert(header::HOST, host);
    }
    Ok(Request::from_parts(parts, Body::from(body)))
}

async fn is_peers(others: &Others, claimed: &Claimed, parts: &Parts, body: &[u8]) -> Result<(), Response> {
    let key = others.key().await.map_err(IntoResponse::into_response)?;
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    key.verify(claimed, (parts.method.as_str(), path, body))
        .map_err(stranger)
}

fn stranger(reason: Forged) -> Response {
    metrics::counter!("ringback_peer_forgeries_total").increment(1);
    tracing::debug!(%reason, "unverified peer request rejected");
    refusal(
        StatusCode::FORBIDDEN,
        "not_a_peer",
        "the request does not come from a node of this installation, or that node's clock is wrong",
    )
}

/// Copy of the body that the handler has read, one frame after the other.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<BytesMut>>);

impl Heard {
    fn listen(&self, body: Body) -> Body {
        let heard = self.clone();
        Body::new(body.map_frame(move |frame| {
            if let Some(data) = frame.data_ref() {
                let mut heard = heard.0.lock().unwrap_or_else(PoisonError::into_inner);
                // A handler that reads a larger body does not need it forwarded.
                if heard.len() + data.len() <= MAX_BODY_BYTES {
                    heard.extend_from_slice(data);
                }
            }
            frame
        }))
    }

    fn bytes(&self) -> Bytes {
        let heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.clone().freeze()
    }
}
