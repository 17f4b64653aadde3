//! Forwards a request to another node and its answer back to the client.

use std::time::Duration;

use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header,
        request::Parts,
        response::{Builder, Response as HttpResponse},
    },
    response::Response,
};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use hyper::upgrade::OnUpgrade;
use tokio::time::timeout;

use super::{
    ANSWERED_WITHIN, Elsewhere, Others,
    directory::Holder,
    proof,
    relay::{self, Relay},
};

/// Largest answer, in bytes. A carrier's instructions are far smaller.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// Headers that belong to one connection or are set anew for the next.
const OF_A_CONNECTION: [HeaderName; 11] = [
    header::CONNECTION,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::HOST,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("keep-alive"),
];

/// Reason why a forwarded request has no answer.
#[derive(Debug)]
pub(super) enum NotPassed {
    /// The other node does not hold the call, or no longer.
    NotThere,
    /// Nothing listens at its address.
    Gone(String),
    /// The node did not answer in time.
    Unreached(String),
    /// Too many requests are being forwarded, or the answer cannot be passed on.
    Lost(String),
}

impl From<reqwest::Error> for NotPassed {
    /// Removes the URL, which contains a proof and must not be logged.
    fn from(error: reqwest::Error) -> Self {
        let is_refused = error.is_connect() && !error.is_timeout();
        let why = error.without_url().to_string();
        if is_refused {
            Self::Gone(why)
        } else {
            Self::Unreached(why)
        }
    }
}

fn too_many(error: impl std::fmt::Display) -> NotPassed {
    NotPassed::Lost(format!("too many forwarded requests: {error}"))
}

fn late(within: Duration) -> NotPassed {
    NotPassed::Unreached(format!("no answer within {} ms", within.as_millis()))
}

fn count(kind: &'static str) {
    metrics::counter!("ringback_peer_requests_total", "kind" => kind).increment(1);
}

impl Others {
    /// Forwards a request to the node that holds its call.
    pub(super) async fn pass_on(
        &self,
        elsewhere: &Elsewhere,
        parts: &Parts,
        body: Bytes,
    ) -> Result<Response, NotPassed> {
        let (to, follows) = (&elsewhere.holder, elsewhere.follows);
        let upgrade = parts.extensions.get::<OnUpgrade>().cloned();
        match upgrade.filter(|_| parts.headers.contains_key(header::UPGRADE)) {
            Some(upgrade) => self.pass_socket(to, follows, parts, upgrade).await,
            None => self.pass_request(to, parts, body, elsewhere.within).await,
        }
    }

    async fn pass_request(
        &self,
        to: &Holder,
        parts: &Parts,
        body: Bytes,
        within: Duration,
    ) -> Result<Response, NotPassed> {
        let _seat = self.requests.try_acquire().map_err(too_many)?;
        let request = self.request(to, parts, &body).await?.body(body);
        let answer = async { self.answered(request.send().await?).await };
        let answer = timeout(within, answer).await.map_err(|_| late(within))??;
        count("request");
        Ok(answer)
    }

    async fn pass_socket(
        &self,
        to: &Holder,
        follows: bool,
        parts: &Parts,
        ours: OnUpgrade,
    ) -> Result<Response, NotPassed> {
        let (seats, closing) = match follows {
            true => (&self.followers, &self.followers_closing),
            false => (&self.sockets, &self.closing),
        };
        let seat = seats.clone().try_acquire_owned().map_err(too_many)?;
        let mut request = self.request(to, parts, b"").await?;
        for name in [header::CONNECTION, header::UPGRADE] {
            if let Some(value) = parts.headers.get(&name) {
                request = request.header(name, value);
            }
        }
        let asked = timeout(ANSWERED_WITHIN, request.send()).await;
        let answer = asked.map_err(|_| late(ANSWERED_WITHIN))??;
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            let whole = timeout(ANSWERED_WITHIN, whole(answer)).await;
            return whole.map_err(|_| late(ANSWERED_WITHIN))?;
        }
        let mut response = with_headers(answer.status(), answer.headers());
        if let Some(headers) = response.headers_mut() {
            headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        }
        let relay = Relay {
            ours,
            theirs: answer,
            closing: closing.subscribe(),
            _seat: seat,
        };
        tokio::spawn(relay::run(relay));
        count("socket");
        built(response, Body::empty())
    }

    async fn request(&self, to: &Holder, parts: &Parts, body: &[u8]) -> Result<reqwest::RequestBuilder, NotPassed> {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let signature = self.signature(&parts.method, path, body).await;
        let signature = signature.map_err(|error| NotPassed::Lost(error.to_string()))?;
        let url = format!("{}{path}", to.address);
        let method: Method = parts.method.clone();
        let request = self
            .client
            .request(method, url)
            .headers(passed(&parts.headers))
            .header(proof::HEADER, signature);
        Ok(match parts.headers.get(header::HOST) {
            Some(host) => request.header(proof::HOST, host),
            None => request,
        })
    }

    /// Returns an answer with its whole body, or an event stream with a body that goes on.
    async fn answered(&self, answer: reqwest::Response) -> Result<Response, NotPassed> {
        let content_type = answer.headers().get(header::CONTENT_TYPE);
        if content_type.is_none_or(|of| !of.as_bytes().starts_with(b"text/event-stream")) {
            return whole(answer).await;
        }
        let seat = self.followers.clone().try_acquire_owned().map_err(too_many)?;
        let response = with_headers(answer.status(), answer.headers());
        let mut closing = self.followers_closing.subscribe();
        let pieces = answer.bytes_stream().take_until(async move {
            let _ = closing.wait_for(|closing| *closing).await;
        });
        let pieces = pieces.inspect(move |_| {
            let _seat = &seat;
        });
        count("stream");
        built(response, Body::from_stream(pieces))
    }
}

/// Returns the headers that do not belong to one connection.
fn passed(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let stays = |name: &HeaderName| {
        let is_ours = *name == proof::HEADER || *name == proof::HOST;
        !OF_A_CONNECTION.contains(name) && !is_ours && !named.iter().any(|named| named == name.as_str())
    };
    let kept = headers.iter().filter(|(name, _)| stays(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn with_headers(status: StatusCode, headers: &HeaderMap) -> Builder {
    let mut response = HttpResponse::builder().status(status);
    if let Some(own) = response.headers_mut() {
        own.extend(passed(headers));
    }
    response
}

fn built(response: Builder, body: Body) -> Result<Response, NotPassed> {
    response.body(body).map_err(|error| NotPassed::Lost(error.to_string()))
}

/// Reads an answer with its whole body.
async fn whole(mut answer: reqwest::Response) -> Result<Response, NotPassed> {
    if answer.status() == StatusCode::MISDIRECTED_REQUEST {
        return Err(NotPassed::NotThere);
    }
    let response = with_headers(answer.status(), answer.headers());
    let mut body = BytesMut::new();
    while let Some(piece) = answer.chunk().await? {
        if body.len() + piece.len() > MAX_ANSWER_BYTES {
            return Err(NotPassed::Lost("the answer is too large".to_owned()));
        }
        body.extend_from_slice(&piece);
    }
    built(response, Body::from(body.freeze()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_headers_of_the_request_itself_are_passed_on() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-twilio-signature", "abc"),
            ("content-type", "text/plain"),
            ("sec-websocket-key", "k"),
            ("authorization", "Bearer x"),
            ("host", "calls.example.com"),
            ("connection", "keep-alive, X-Hop"),
            ("keep-alive", "timeout=5"),
            ("x-hop", "1"),
            ("content-length", "3"),
            ("transfer-encoding", "chunked"),
            ("ringback-peer", "1.00"),
            ("ringback-host", "evil.example.com"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let passed = passed(&headers);
        let mut names: Vec<&str> = passed.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "authorization",
                "content-type",
                "sec-websocket-key",
                "x-twilio-signature"
            ]
        );
    }
}
