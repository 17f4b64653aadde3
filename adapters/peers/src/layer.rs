//! Around the doors: a request that came to the wrong node is passed on, and one that another node passed on is proved.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{StatusCode, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;

use super::{
    Elsewhere, InVain, NotKnown, Others, Peers, Unreached,
    directory::Holder,
    pass::NotPassed,
    proof::{Claimed, Forged, HEADER},
    refusal,
};
use net::log_gate;

/// Largest body that is passed on: no callback has more.
const MAX_BODY_BYTES: usize = 16 * 1024;
/// So often it is looked up anew who holds a call that moved meanwhile.
const TRIES: usize = 2;

/// Lets a handler that answers [`Elsewhere`] have its request answered there. It may be asked again, so it must have done
/// nothing yet.
pub async fn to_the_holder(State(peers): State<Peers>, request: Request, next: Next) -> Response {
    if request.headers().contains_key(HEADER) {
        return match proved(&peers, request).await {
            // Wherever the call is by now: it is for the node that the carrier came to, to ask again.
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
        let in_vain = match others
            .pass_on((&elsewhere.holder, or_here), &parts, heard.bytes())
            .await
        {
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
            // What was known of it may be old: one that has left says so to the store, not to its callers.
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

/// Lets only other nodes in.
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
        tracing::warn!(%attempt, %node, address, why, left_out, "a request was not passed on to the node that holds its call");
    }
}

/// The request, if it is another node's.
async fn proved(peers: &Peers, request: Request) -> Result<Request, Response> {
    let Some(others) = &peers.0 else {
        return Err(stranger(Forged::Mismatch));
    };
    let header = request.headers().get(HEADER).map(|header| header.as_bytes().to_vec());
    let claimed = Claimed::read(&header.unwrap_or_default(), others.now_seconds()).map_err(stranger)?;
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY_BYTES).await else {
        let words = format!("what a node passes on has at most {MAX_BODY_BYTES} bytes");
        return Err(refusal(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &words));
    };
    is_peers(others, &claimed, (&parts, &body)).await?;
    Ok(Request::from_parts(parts, Body::from(body)))
}

async fn is_peers(others: &Others, claimed: &Claimed, (parts, body): (&Parts, &[u8])) -> Result<(), Response> {
    let key = others.key().await.map_err(IntoResponse::into_response)?;
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    key.verify(claimed, (parts.method.as_str(), path, body))
        .map_err(stranger)
}

fn stranger(reason: Forged) -> Response {
    metrics::counter!("ringback_peer_forgeries_total").increment(1);
    tracing::debug!(%reason, "a request that shows itself as another node's was refused");
    refusal(
        StatusCode::FORBIDDEN,
        "not_a_peer",
        "the request is not of a node of this installation, or its clock is wrong",
    )
}

/// What a handler has read of a body, pieces as they came.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<BytesMut>>);

impl Heard {
    fn listen(&self, body: Body) -> Body {
        let heard = self.clone();
        Body::new(body.map_frame(move |frame| {
            if let Some(data) = frame.data_ref() {
                let mut heard = heard.0.lock().unwrap_or_else(PoisonError::into_inner);
                // Whoever reads more has no use for it here.
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
