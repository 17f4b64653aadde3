//! Audio that is streamed in the body of an HTTP response. Dropping it closes the connection.

use std::time::Duration;

use domain::ports::{
    synthesizer::SpeechPiece,
    usage::{Meter, Unit},
};
use futures_util::{StreamExt, stream, stream::BoxStream};
use media::format::LineFormat;
use reqwest::{RequestBuilder, Response, header};

use crate::{
    endpoint::Endpoint,
    failure::Failure,
    protocols::tts::{
        frames::Frames,
        provider::{Pieces, VoiceProvider},
        raw_audio::{HEAD_BYTES, is_other_kind, other_than_raw},
    },
};
use net::socket::CONNECT_WITHIN;

/// Maximum bytes read of a refusal's body.
const REFUSAL_BYTES: usize = 2 * 1024;
/// Time limit for reading a refusal's body.
const REFUSAL_WITHIN: Duration = Duration::from_secs(1);
/// Maximum number of idle connections kept per provider.
const KEPT_CONNECTIONS: usize = 64;

/// Builds a client that keeps its connections.
pub(crate) fn client() -> reqwest::Client {
    let builder = net::http_client::builder()
        .connect_timeout(CONNECT_WITHIN)
        .redirect(reqwest::redirect::Policy::none())
        .pool_max_idle_per_host(KEPT_CONNECTIONS)
        .tcp_nodelay(true);
    // This only fails if TLS is broken, and then every client of the process fails.
    builder.build().unwrap_or_default()
}

/// Voice that sends an HTTP request for each text.
pub(crate) struct HttpVoice<F> {
    pub endpoint: Endpoint,
    /// Model for usage records.
    pub model: String,
    pub format: LineFormat,
    pub line_rate: u32,
    pub meter: Meter,
    /// Builds the request for a text, or returns why that is not possible.
    pub request: F,
}

impl<F: FnMut(&str) -> Result<RequestBuilder, Failure> + Send> VoiceProvider for HttpVoice<F> {
    fn speak(&mut self, text: &str) -> Pieces {
        let request = match (self.request)(text) {
            Ok(request) => request,
            Err(failure) => return stream::iter([Err(failure)]).boxed(),
        };
        let characters = text.chars().count();
        let asked = Asked {
            endpoint: self.endpoint.clone(),
            request,
            format: self.format,
            line_rate: self.line_rate,
            characters,
        };
        let (meter, provider, model) = (self.meter.clone(), self.endpoint.provider, self.model.clone());
        let mut charged = false;
        audio(asked)
            .inspect(move |piece| {
                // Text that is refused, or gives no audio, is not charged.
                if piece.is_ok() && !std::mem::replace(&mut charged, true) {
                    meter.add(provider, &model, Unit::Characters, characters as u64);
                }
            })
            .boxed()
    }
}

/// Request for audio, with the format of the answer.
pub(crate) struct Asked {
    pub endpoint: Endpoint,
    pub request: RequestBuilder,
    pub format: LineFormat,
    pub line_rate: u32,
    pub characters: usize,
}

type Body = BoxStream<'static, reqwest::Result<bytes::Bytes>>;

enum State {
    Asked(Box<Asked>),
    Coming {
        provider: &'static str,
        body: Body,
        frames: Box<Frames>,
    },
    Rest(Box<Frames>),
    Over,
}

/// Sends the request and returns the audio as it comes.
pub(crate) fn audio(asked: Asked) -> Pieces {
    stream::unfold(State::Asked(Box::new(asked)), next).boxed()
}

async fn next(mut state: State) -> Option<(Result<SpeechPiece, Failure>, State)> {
    loop {
        let step = match state {
            State::Asked(asked) => begin(*asked).await,
            State::Coming { provider, body, frames } => match go_on(provider, body, frames).await {
                Ok((Some(piece), state)) => return Some((Ok(piece), state)),
                Ok((None, state)) => Ok(state),
                Err(failure) => Err(failure),
            },
            State::Rest(mut frames) => return frames.next().map(|piece| (Ok(piece), State::Rest(frames))),
            State::Over => return None,
        };
        match step {
            Ok(next) => state = next,
            Err(failure) => return Some((Err(failure), State::Over)),
        }
    }
}

async fn begin(asked: Asked) -> Result<State, Failure> {
    let provider = asked.endpoint.provider;
    let mut frames = Frames::new(asked.format, asked.line_rate, asked.characters)?;
    let answer = asked.request.send().await;
    let answer = answer.map_err(|error| Failure::Unavailable(format!("{provider}: {}", error.without_url())))?;
    if !answer.status().is_success() {
        return Err(refused(&asked.endpoint, answer).await);
    }
    let kind = answer
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    // The value is not altered before redaction, because a key in it is only recognised in its original form.
    let kind = kind.unwrap_or_default();
    if is_other_kind(kind) {
        return Err(Failure::Protocol(format!(
            "{provider} answers {kind} instead of raw audio"
        )));
    }
    let mut body = answer.bytes_stream().boxed();
    let head = head(provider, &mut body).await?;
    if let Some(other) = other_than_raw(&head, asked.format.encoding) {
        return Err(Failure::Protocol(format!(
            "{provider} answers {other} instead of raw audio"
        )));
    }
    frames.push(&head)?;
    Ok(State::Coming {
        provider,
        body,
        frames: Box::new(frames),
    })
}

/// Reads the first bytes, which show the kind of data. A shorter body is read completely.
async fn head(provider: &str, body: &mut Body) -> Result<Vec<u8>, Failure> {
    let mut head = Vec::new();
    while head.len() < HEAD_BYTES {
        match body.next().await {
            Some(Ok(bytes)) => head.extend_from_slice(&bytes),
            Some(Err(error)) => return Err(broke_off(provider, error)),
            None => break,
        }
    }
    Ok(head)
}

fn broke_off(provider: &str, error: reqwest::Error) -> Failure {
    Failure::Unavailable(format!("{provider} broke off: {}", error.without_url()))
}

async fn go_on(
    provider: &'static str,
    mut body: Body,
    mut frames: Box<Frames>,
) -> Result<(Option<SpeechPiece>, State), Failure> {
    loop {
        if let Some(piece) = frames.next() {
            return Ok((Some(piece), State::Coming { provider, body, frames }));
        }
        match body.next().await {
            Some(Ok(bytes)) => frames.push(&bytes)?,
            Some(Err(error)) => return Err(broke_off(provider, error)),
            None => {
                frames.finish();
                return Ok((None, State::Rest(frames)));
            }
        }
    }
}

async fn refused(endpoint: &Endpoint, answer: Response) -> Failure {
    let status = answer.status().as_u16();
    let after = answer
        .headers()
        .get(header::RETRY_AFTER)
        .and_then(|value| value.to_str().ok());
    let after = after.and_then(|value| value.parse().ok()).map(Duration::from_secs);
    let mut words = Vec::new();
    let mut body = answer.bytes_stream();
    let reading = async {
        while let Some(Ok(bytes)) = body.next().await {
            words.extend_from_slice(&bytes);
            if words.len() >= REFUSAL_BYTES {
                break;
            }
        }
    };
    // The status is enough if the body does not come in time.
    let _ = tokio::time::timeout(REFUSAL_WITHIN, reading).await;
    words.truncate(REFUSAL_BYTES);
    Failure::of_speech_status(endpoint, status, &String::from_utf8_lossy(&words), after)
}
