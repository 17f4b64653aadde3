//! OpenAI's `/v1/audio/transcriptions`, as far as its clients can tell.

use std::{io::Cursor, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, HeaderValue, header},
    response::Response,
    routing::post,
};
use futures_util::stream;
use serde_json::json;
use tokio::time::{sleep, sleep_until};

use crate::stub_providers::{
    fault::Fault,
    log::Service,
    openai::refusal::{kind, refused},
    recogniser::{Recogniser, Span},
    stub::{Stub, bearer},
};

/// Files have 25 MB at most.
const MAX_BYTES: usize = 25 * 1024 * 1024;

/// Size of a response that no client should accept.
const OVERSIZED_BYTES: usize = 3 * 1024 * 1024;

/// `/v1/audio/transcriptions`.
pub const TRANSCRIPTIONS: Service = Service("/v1/audio/transcriptions");

/// Returns the route.
pub(crate) fn routes() -> Router<Arc<Stub>> {
    let route = post(transcribe).layer(DefaultBodyLimit::max(MAX_BYTES));
    Router::new().route("/v1/audio/transcriptions", route)
}

fn refusal(status: u16, words: &str, code: Option<&str>) -> Response {
    refused(status, kind(status), words, code, None)
}

fn failure(status: u16) -> Response {
    match status {
        401 => refusal(401, "Incorrect API key provided.", Some("invalid_api_key")),
        429 => refusal(429, "Rate limit reached.", Some("rate_limit_exceeded")),
        other => refusal(other, "The server had an error while processing your request.", None),
    }
}

/// Form of a request.
#[derive(Debug, Default)]
struct Form {
    file: Vec<u8>,
    model: Option<String>,
    response_format: Option<String>,
    stream: bool,
    /// All fields but the file, for the log.
    fields: Vec<String>,
}

async fn read(headers: &HeaderMap, body: Bytes) -> Option<Form> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let boundary = multer::parse_boundary(kind).ok()?;
    let body = stream::iter([Ok::<_, std::convert::Infallible>(body)]);
    let mut parts = multer::Multipart::new(body, boundary);
    let mut form = Form::default();
    while let Ok(Some(field)) = parts.next_field().await {
        let name = field.name().unwrap_or_default().to_owned();
        if name == "file" {
            form.file = field.bytes().await.ok()?.to_vec();
            continue;
        }
        let text = field.text().await.ok()?;
        match name.as_str() {
            "model" => form.model = Some(text.clone()),
            "response_format" => form.response_format = Some(text.clone()),
            "stream" => form.stream = text.eq_ignore_ascii_case("true"),
            _ => {}
        }
        form.fields.push(format!("{name}={text}"));
    }
    Some(form)
}

/// Returns the speech in a WAV file, and its length in seconds.
fn understand(file: &[u8]) -> Option<(Span, f64)> {
    let reader = hound::WavReader::new(Cursor::new(file)).ok()?;
    let spec = reader.spec();
    if spec.channels != 1 || spec.bits_per_sample != 16 {
        return None;
    }
    let mut recogniser = Recogniser::new("linear16", spec.sample_rate)?;
    let length = f64::from(reader.duration()) / f64::from(spec.sample_rate);
    let bytes: Vec<u8> = reader
        .into_samples::<i16>()
        .map_while(Result::ok)
        .flat_map(i16::to_le_bytes)
        .collect();
    recogniser.push(&bytes);
    Some((recogniser.take(), length))
}

async fn transcribe(State(stub): State<Arc<Stub>>, headers: HeaderMap, body: Bytes) -> Response {
    let arrived = tokio::time::Instant::now();
    let form = read(&headers, body).await;
    let fields = form.as_ref().map(|form| form.fields.join("&")).unwrap_or_default();
    let fault = stub.fault_of(TRANSCRIPTIONS, &fields);
    let bytes = form.as_ref().map_or(0, |form| form.file.len());
    stub.received(TRANSCRIPTIONS, format!("{fields} file {bytes}"));
    match fault {
        Fault::Refuse(status) => return failure(status),
        Fault::ErrorAfter(_) => return failure(500),
        _ => {}
    }
    if !stub.takes(bearer(&headers)) {
        return failure(401);
    }
    let Some(form) = form.filter(|form| form.model.is_some()) else {
        return refusal(400, "you must provide a model parameter", None);
    };
    if let Err(error) = stub.takes_model("stt", form.model.as_deref().unwrap_or_default()) {
        return refusal(404, &error.to_string(), Some("model_not_found"));
    }
    let Some((span, length)) = understand(&form.file) else {
        let words = "Audio file might be corrupted or unsupported";
        return refusal(400, words, Some("invalid_value"));
    };
    let mut gone = Gone(Some(stub.clone()));
    if fault == Fault::Hang {
        std::future::pending::<()>().await;
    }
    let took = stub.settings.times.final_transcript.draw(&mut stub.chances());
    sleep_until(arrived + took).await;
    gone.0 = None;
    let (kind, text) = answer(&form, &span, length);
    spoil(kind, text, &fault)
}

/// Records that a client disconnected before the response.
struct Gone(Option<Arc<Stub>>);

impl Drop for Gone {
    fn drop(&mut self) {
        if let Some(stub) = &self.0 {
            stub.received(TRANSCRIPTIONS, "disconnected");
        }
    }
}

/// Returns the content type and the text of the response.
fn answer(form: &Form, span: &Span, length: f64) -> (&'static str, String) {
    let text = span.text();
    let usage = json!({ "type": "duration", "seconds": length.ceil() });
    if form.stream {
        let delta = json!({ "type": "transcript.text.delta", "delta": text });
        let done = json!({ "type": "transcript.text.done", "text": text, "usage": usage });
        return ("text/event-stream", format!("data: {delta}\n\ndata: {done}\n\n"));
    }
    let json = match form.response_format.as_deref() {
        Some("text") => return ("text/plain", format!("{text}\n")),
        Some("verbose_json") => {
            let words = span
                .words
                .iter()
                .map(|word| json!({ "word": word.text, "start": word.start_s(), "end": word.end_s() }));
            json!({
                "task": "transcribe", "language": "english", "duration": length, "text": text,
                "words": words.collect::<Vec<_>>(), "segments": [], "usage": usage,
            })
        }
        _ => json!({ "text": text, "usage": usage }),
    };
    ("application/json", json.to_string())
}

/// Returns the response with the fault applied.
fn spoil(kind: &'static str, text: String, fault: &Fault) -> Response {
    let half = text.len() / 2;
    let body = match fault {
        Fault::MalformedAfter(_) => Body::from(text.as_bytes()[..half].to_vec()),
        Fault::OversizedAfter(_) => Body::from("x".repeat(OVERSIZED_BYTES)),
        Fault::Drip(pause) => Body::from_stream(drip(text, *pause)),
        Fault::DropAfter(_) => {
            let first = Ok(Bytes::from(text.as_bytes()[..half].to_vec()));
            let broken = Err(std::io::Error::other("the connection is dropped"));
            Body::from_stream(stream::iter([first, broken]))
        }
        Fault::StallAfter(_) => {
            let first = Bytes::from(text.as_bytes()[..half].to_vec());
            Body::from_stream(stream::unfold(Some(first), async |first| match first {
                Some(first) => Some((Ok::<_, std::io::Error>(first), None)),
                None => std::future::pending().await,
            }))
        }
        _ => Body::from(text),
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn drip(text: String, pause: Duration) -> impl futures_util::Stream<Item = Result<Bytes, std::io::Error>> + Send {
    stream::unfold((text.into_bytes(), 0), move |(text, at)| async move {
        let byte = *text.get(at)?;
        sleep(pause).await;
        Some((Ok(Bytes::from(vec![byte])), (text, at + 1)))
    })
}
