//! Client of `/v1/audio/transcriptions`, for OpenAI and compatible servers. Each utterance is posted as one
//! file once the voice has paused. Speech during a request is posted next, and no word twice.

mod clip;

use std::time::Duration;

use domain::ports::transcriber::{Capabilities, TranscriberConfig};
use reqwest::{Client, StatusCode, multipart};
use serde::Deserialize;
use tokio::time::Instant;

use crate::{
    endpoint::Endpoint,
    failure::Failure,
    json,
    name::plain_language,
    protocols::stt::refused,
    provider::{Stt, SttWay},
    stt::{
        results::{Counted, Results},
        session::Lost,
    },
};
use net::{
    guard::{Guard, Pass},
    redact,
};

/// Maximum audio kept. An utterance longer than [`PIECE_MS`] is posted in pieces.
pub(super) const KEEPS_MS: u32 = 60_000;
const PIECE_MS: u32 = 50_000;

/// Time limit for a request, plus a tenth of its audio's length.
const REQUEST_WITHIN: Duration = Duration::from_secs(5);

/// Maximum size of an answer in bytes.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// Longest wait for an answer before the turn goes on without it, however slow the server was.
const MOST_WITHIN: Duration = Duration::from_secs(4);

/// Utterances of one call.
pub(super) struct Clips {
    client: Client,
    endpoint: Endpoint,
    model: String,
    language: Option<String>,
    prompt: String,
    /// Time of the slowest hundredth of answers after the end of the speech; 1 s if there are no measurements.
    final_within: Duration,
    /// Whether the server only accepts files with 16 kHz.
    wideband: bool,
    /// Recent time of finals, at least the known time.
    within: Duration,
}

/// Utterance to be posted.
struct Job {
    /// Buffer position of its end.
    position: u64,
    /// Number of requested finals that it answers.
    asked: usize,
    samples: Vec<i16>,
    sample_rate: u32,
    bytes: usize,
    voice: bool,
}

#[derive(Deserialize)]
struct Answer {
    text: String,
}

impl Clips {
    pub(super) fn new(
        endpoint: &Endpoint,
        stt: &Stt,
        client: &Client,
        model: Option<&str>,
        config: &TranscriberConfig,
    ) -> Self {
        let (final_within, wideband) = match stt.way {
            SttWay::Clips { final_within, wideband } => (final_within, wideband),
            SttWay::Inside | SttWay::Socket { .. } => (Duration::ZERO, false),
        };
        let language = match config.hinglish {
            true => "hi",
            // Such servers know languages but not regions.
            false => plain_language(&config.language),
        };
        Self {
            client: client.clone(),
            endpoint: endpoint.clone(),
            model: model.unwrap_or(stt.model).to_owned(),
            language: (!language.is_empty()).then(|| language.to_owned()),
            prompt: config.keywords.join(", "),
            final_within,
            wideband,
            within: final_within,
        }
    }

    /// Returns the model for the requests.
    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// Returns the present promise.
    pub(super) fn capabilities(&self) -> Capabilities {
        Capabilities {
            final_within: self.within,
            answers_each: true,
            tells_turns: false,
            tells_interims: false,
        }
    }

    /// Posts utterances until one fails. Returns the failure, whether any succeeded, and the unused pass.
    pub(super) async fn serve(
        &mut self,
        results: &mut Results,
        mut counted: Counted,
        guard: &Guard,
        pass: Pass,
    ) -> Lost {
        // The first utterance may be a long time off, and acquires its own pass.
        drop(pass);
        let mut useful = false;
        let (failure, pass) = loop {
            let Some(job) = next_job(results) else {
                results.inbox.changed().await;
                continue;
            };
            if !job.voice {
                answer(results, &job, "", false);
                continue;
            }
            let pass = match guard.admit() {
                Ok(pass) => pass,
                Err(tripped) => break (Failure::Unavailable(tripped.to_string()), None),
            };
            counted.add(job.bytes);
            let began = Instant::now();
            let heard = self.transcribe(&job).await;
            match heard.and_then(|text| results.may_tell(text.trim()).map(|()| text)) {
                Ok(text) => {
                    pass.succeeded();
                    useful = true;
                    self.learn(began.elapsed());
                    results.inbox.state().capabilities = self.capabilities();
                    answer(results, &job, text.trim(), false);
                }
                // Only this utterance is refused, so it cannot be transcribed.
                Err(Failure::OurFault(why)) if useful => {
                    tracing::warn!(why = redact::fit(&why), "utterance refused");
                    answer(results, &job, "", true);
                }
                Err(failure) => break (failure, Some(pass)),
            }
        };
        Lost {
            failure,
            pass,
            useful,
            owing: false,
        }
    }

    /// Sets the expected time to 1.5 times that of the slowest recent answer.
    fn learn(&mut self, took: Duration) {
        let slack = took.mul_f64(1.5).min(MOST_WITHIN);
        let forgetting = self.within.mul_f64(0.9);
        self.within = self.final_within.max(slack).max(forgetting);
    }

    async fn transcribe(&self, job: &Job) -> Result<String, Failure> {
        let wav = clip::wav(&job.samples, job.sample_rate, self.wideband);
        let wav = wav.map_err(|error| Failure::OurFault(error.to_string()))?;
        let length = Duration::from_secs_f64(job.samples.len() as f64 / f64::from(job.sample_rate.max(1)));
        let file = multipart::Part::bytes(wav).file_name("speech.wav");
        let file = file.mime_str("audio/wav").map_err(|error| unhealthy(&error))?;
        let mut form = multipart::Form::new()
            .part("file", file)
            .text("model", self.model.clone())
            .text("response_format", "json")
            .text("temperature", "0");
        if let Some(language) = &self.language {
            form = form.text("language", language.clone());
        }
        if !self.prompt.is_empty() {
            form = form.text("prompt", self.prompt.clone());
        }
        let request = self.client.post(self.endpoint.url("/audio/transcriptions"));
        let request = self.endpoint.signed(request.multipart(form));
        let answered = tokio::time::timeout(REQUEST_WITHIN + length / 10, read_answer(request)).await;
        answered.unwrap_or_else(|_| Err(Failure::Unavailable("no transcript in time".into())))
    }
}

async fn read_answer(request: reqwest::RequestBuilder) -> Result<String, Failure> {
    let mut response = request.send().await.map_err(|error| unhealthy(&error))?;
    let status = response.status();
    let header = response.headers().get(reqwest::header::RETRY_AFTER);
    let seconds = header.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let retry_after = seconds.map(|seconds: u64| Duration::from_secs(seconds.min(60)));
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => break,
            Ok(Some(bytes)) => body.extend_from_slice(&bytes),
            // A refusal stays one even if its body breaks off.
            Err(_) if status != StatusCode::OK => break,
            Err(error) => return Err(unhealthy(&error)),
        }
        match body.len() > MAX_ANSWER_BYTES {
            true if status != StatusCode::OK => break,
            true => return Err(Failure::Protocol(format!("more than {MAX_ANSWER_BYTES} bytes"))),
            false => {}
        }
    }
    read_body(status, &body, retry_after)
}

/// Reads the words of an answer, or its error.
fn read_body(status: StatusCode, body: &[u8], retry_after: Option<Duration>) -> Result<String, Failure> {
    if status != StatusCode::OK {
        return Err(refused(status.as_u16(), &refusal(body), retry_after));
    }
    match json::read::<Answer>(&String::from_utf8_lossy(body)) {
        Ok(answer) => Ok(answer.text),
        // Some servers answer 200 with an error.
        Err(_) if refusal(body) != String::from_utf8_lossy(body) => Err(Failure::Unavailable(refusal(body))),
        Err(error) => Err(Failure::Protocol(error.to_string())),
    }
}

/// Reads the server's error text: `{"error":{"message"}}`, whisper.cpp's `{"error":"…"}`, or the body as it is.
fn refusal(body: &[u8]) -> String {
    let value: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let error = value.get("error");
    let words = error.and_then(|error| error.as_str().or_else(|| error.get("message")?.as_str()));
    words.map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned)
}

fn unhealthy(error: &reqwest::Error) -> Failure {
    let connect = if error.is_connect() { "not reachable: " } else { "" };
    Failure::Unavailable(format!("{connect}{error}"))
}

/// Returns the audio up to the newest requested final. It answers the older requests too.
fn next_job(results: &Results) -> Option<Job> {
    let state = results.inbox.state();
    let (start, end) = (state.buffer.start(), state.buffer.end());
    let long = end.saturating_sub(start) >= state.buffer.ms(PIECE_MS);
    let position = match state.asked.back() {
        Some(newest) => *newest,
        None if long => end,
        None => return None,
    };
    let bytes = state
        .buffer
        .read(start, usize::try_from(position.saturating_sub(start)).unwrap_or(0));
    let format = state.buffer.format();
    let may_be_voice = state.buffer.may_be_voice();
    let asked = state.asked.len();
    drop(state);
    let mut samples = Vec::new();
    media::codec::decode(format.encoding, &bytes, &mut samples);
    Some(Job {
        position,
        asked,
        voice: may_be_voice && clip::has_voice(&samples, format.sample_rate),
        samples,
        sample_rate: format.sample_rate,
        bytes: bytes.len(),
    })
}

fn answer(results: &mut Results, job: &Job, text: &str, damaged: bool) {
    if job.asked == 0 {
        results.settled(text, job.position, false);
        return;
    }
    for _ in 1..job.asked {
        results.answer("", 0, false);
    }
    results.answer(text, job.position, damaged);
}

/// Fuzzing entry point: reads an answer.
#[cfg(feature = "fuzzing")]
pub(crate) fn fuzzed(body: &[u8]) {
    for status in [StatusCode::OK, StatusCode::BAD_REQUEST] {
        let _ = read_body(status, body, None);
    }
}

#[cfg(test)]
mod tests {
    use media::format::LineFormat;

    use super::*;
    use crate::registry;

    #[test]
    fn answers_are_words_or_a_reason() {
        let read = |status: u16, body: &str| {
            let status = StatusCode::from_u16(status).unwrap();
            read_body(status, body.as_bytes(), Some(Duration::from_secs(1)))
        };
        assert_eq!(
            read(200, r#"{"text":" Hi. ","usage":{"type":"tokens"}}"#),
            Ok(" Hi. ".into())
        );
        for (status, body, want) in [
            (200, r#"{"text":7}"#, Failure::Protocol("x".into())),
            (200, r#"{"txt":""}"#, Failure::Protocol("x".into())),
            (200, "", Failure::Protocol("x".into())),
            (
                200,
                r#"{"error":"failed to read WAV file"}"#,
                Failure::Unavailable("failed to read WAV file".into()),
            ),
            (500, r#"{"error":"busy"}"#, Failure::Unavailable("500: busy".into())),
            (
                401,
                r#"{"error":{"message":"bad key"}}"#,
                Failure::Refused("401: bad key".into()),
            ),
            (413, "too long", Failure::OurFault("413: too long".into())),
            (
                429,
                "{}",
                Failure::Busy {
                    retry_after: Some(Duration::from_secs(1)),
                },
            ),
        ] {
            let got = read(status, body).unwrap_err();
            match want {
                Failure::Protocol(_) => assert!(matches!(got, Failure::Protocol(_)), "{body}: {got:?}"),
                want => assert_eq!(got, want, "{body}"),
            }
        }
    }

    #[test]
    fn a_server_that_was_slow_is_given_more_time_for_a_while() {
        let client = net::http_client::builder().build().unwrap();
        let address = registry::address("speaches").unwrap();
        let endpoint = Endpoint::new("speaches", address, "http://127.0.0.1:1/v1");
        let stt = registry::find("speaches").unwrap().stt.as_ref().unwrap();
        let config = TranscriberConfig {
            language: "en-US".into(),
            hinglish: false,
            keywords: vec!["Bharat".into(), "Ringback".into()],
            format: LineFormat::MULAW_8000,
            meter: domain::ports::usage::Meter::default(),
        };
        let mut clips = Clips::new(&endpoint, stt, &client, None, &config);
        assert_eq!(
            (clips.language.as_deref(), clips.prompt.as_str()),
            (Some("en"), "Bharat, Ringback")
        );
        assert_eq!(clips.capabilities().final_within, Duration::from_secs(1));
        clips.learn(Duration::from_secs(2));
        assert_eq!(clips.capabilities().final_within, Duration::from_secs(3));
        clips.learn(Duration::from_secs(9));
        assert_eq!(clips.capabilities().final_within, MOST_WITHIN);
        for _ in 0..20 {
            clips.learn(Duration::from_millis(300));
        }
        assert_eq!(clips.capabilities().final_within, Duration::from_secs(1));
    }
}
