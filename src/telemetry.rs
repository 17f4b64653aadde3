//! Logs and metrics. A log line is one fact; phone numbers are masked where they are written, and transcripts, keys
//! and audio never enter a log.

mod http;
mod stages;

use std::io::IsTerminal;

use actors::{
    audio_stream::{CLEAR_DELAYS, DELAY_BOUNDS_US, FRAME_DELAYS},
    journal::{BacklogFigures, LiveFact},
    switchboard::NodeSnapshot,
};
use domain::ports::{
    language_model::Speaker,
    store::{EventFact, Fact},
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tokio::sync::broadcast;
use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use integrations::deliveries::DELIVERIES;
use rest::server::FAILED_HANDSHAKES;
use storage::SAFEGUARDS;

pub use http::measure;

/// How logs look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One line for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging to standard error. `RUST_LOG` chooses what; a second call changes nothing.
pub fn init_logs(format: LogFormat, default_filter: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default_filter));
    let registry = tracing_subscriber::registry().with(filter);
    let writer = std::io::stderr;
    let started = match format {
        LogFormat::Text => registry
            .with(
                fmt::layer()
                    .with_ansi(std::io::stderr().is_terminal())
                    .with_target(false)
                    .with_writer(writer),
            )
            .try_init(),
        LogFormat::Json => registry.with(fmt::layer().json().with_writer(writer)).try_init(),
    };
    // A subscriber that is there already (in tests) is as good.
    drop(started);
}

/// Upper bounds in seconds of the HTTP latency histogram.
const HTTP_SECONDS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];

/// Installs the metrics recorder of this process.
///
/// # Errors
///
/// When a recorder is installed already.
pub fn init_metrics() -> Result<PrometheusHandle, metrics_exporter_prometheus::BuildError> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full("ringback_http_request_seconds".into()), HTTP_SECONDS)?
        .set_buckets_for_metric(Matcher::Full(stages::SECONDS.into()), stages::BOUNDS)?
        .install_recorder()?;
    describe();
    Ok(handle)
}

/// A metric and what it tells.
enum Described {
    Counter(&'static str, &'static str),
    Gauge(&'static str, &'static str),
    Histogram(&'static str, &'static str),
}

use Described::{Counter, Gauge, Histogram};

const DESCRIBED: &[Described] = &[
    Counter(
        "ringback_http_requests_total",
        "HTTP requests by route, method and status",
    ),
    Histogram(
        "ringback_http_request_seconds",
        "Time to answer an HTTP request, in seconds",
    ),
    Counter(
        "ringback_peer_requests_total",
        "Callbacks (request) and media sockets (socket) passed on to the node that holds their call",
    ),
    Counter(
        "ringback_peer_requests_lost_total",
        "Those that were not, as the other node did not answer",
    ),
    Counter(
        "ringback_peer_forgeries_total",
        "Requests that showed themselves as another node's and were not",
    ),
    Counter(
        "ringback_calls_taken_over_total",
        "Live calls of nodes that were gone, brought here by their carrier",
    ),
    Gauge("ringback_live_calls", "Calls from dialing to their end"),
    Gauge("ringback_lines", "Calls this node may hold at once"),
    Gauge("ringback_campaigns", "Campaigns this node is working on"),
    Gauge(
        "ringback_actors",
        "Actors that live, from the root to the audio streams",
    ),
    Counter(
        MEDIA_DELAYS,
        "Times audio was held up by the service, by microseconds: `frame` from the socket to the session, `clear` from the decision to the socket",
    ),
    Gauge(
        "ringback_load_level",
        "What is given up for want of room, 0 to 7: analysis, lists, deliveries, reads, writes, dials, calls from outside",
    ),
    Gauge(
        "ringback_load_pressure",
        "The same with the share of the next kind that is refused behind the point",
    ),
    Gauge(
        "ringback_load_cpu",
        "Share of time the worker threads are busy, over a second",
    ),
    Gauge(
        "ringback_load_memory",
        "Share of the machine's or the control group's memory in use",
    ),
    Gauge(
        "ringback_database_lag_seconds",
        "How long the oldest write has been waiting",
    ),
    Gauge(
        "ringback_mailbox_wait_seconds",
        "How long a message waited last for an actor that all calls share",
    ),
    Counter(
        "ringback_refused_total",
        "Requests refused because the node had too much to do, by kind of work",
    ),
    Gauge("ringback_journal_facts", "Facts of calls that are not on disk yet"),
    Gauge("ringback_journal_bytes", "What they take in memory"),
    Counter(
        "ringback_journal_dropped_total",
        "Facts given up, as the database was away for too long",
    ),
    Gauge("ringback_tasks", "Tasks of the process that have not ended"),
    Counter("ringback_call_events_total", "Events of calls, by name"),
    Counter(
        "ringback_amd_total",
        "Verdicts on who answered; one call may have several",
    ),
    Counter(
        "ringback_call_outcomes_total",
        "Attempts that came to an end, by outcome",
    ),
    Counter(
        "ringback_speculations_total",
        "Replies made ahead in the user's pause, by whether they were used; each had the model read a prompt",
    ),
    Counter(
        "ringback_speculation_tokens_total",
        "Tokens of replies made ahead that had come when the turn ended or went on, at four characters each, by whether they were used; none of a model that takes longer than the pause",
    ),
    Counter(
        "ringback_speculation_characters_total",
        "Characters of the same that the model wrote and that the voice was given, by whether they were used",
    ),
    Counter(
        "ringback_provider_requests_total",
        "Requests to providers, by kind, provider and outcome; tripped ones were not sent",
    ),
    Counter(
        "ringback_provider_retries_total",
        "Hedges and retries that were wanted, by kind, provider and whether the retry budget allowed them",
    ),
    Gauge(
        "ringback_provider_breaker",
        "Circuit breaker by kind and provider: 0 closed, 1 half-open, 2 open",
    ),
    Histogram(
        stages::SECONDS,
        "Stages of an answer, in seconds: final, turn_end, first_token, first_audio, playout; answer is the whole",
    ),
    Counter("ringback_turns_total", "Turns of calls, by speaker"),
    Counter(
        DELIVERIES,
        "Tries of webhooks and mail after calls, by kind and outcome: `delivered`, `put_off` (tried again), `given_up`, `gone` (the receiver answered 410)",
    ),
    Counter(
        SAFEGUARDS,
        "What safeguards of accounts said to calls, by rule and what came of it: `warned` (dialed), `put_off`, `refused`",
    ),
    Counter(
        "ringback_carrier_forgeries_total",
        "Requests to carriers' doors that the carrier had not signed, by carrier and door (status or media)",
    ),
    Counter(
        FAILED_HANDSHAKES,
        "TLS handshakes that came to nothing, by why: `timeout`, `refused` (no common ground, or no TLS at all), `closed`",
    ),
    Counter(
        "ringback_media_frame_faults_total",
        "Frames of calls' audio that came twice, swapped, too late or not at all, by fault",
    ),
];

fn describe() {
    for metric in DESCRIBED {
        match *metric {
            Counter(name, text) => metrics::describe_counter!(name, text),
            Gauge(name, text) => metrics::describe_gauge!(name, text),
            Histogram(name, text) => metrics::describe_histogram!(name, text),
        }
    }
}

/// Sets the gauges of a node, and of the process around it.
pub fn set_gauges(snapshot: NodeSnapshot, actors: usize) {
    metrics::gauge!("ringback_live_calls").set(snapshot.live_calls as f64);
    metrics::gauge!("ringback_lines").set(snapshot.lines as f64);
    metrics::gauge!("ringback_campaigns").set(snapshot.campaigns as f64);
    metrics::gauge!("ringback_actors").set(actors as f64);
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    metrics::gauge!("ringback_tasks").set(tasks as f64);
    for (what, delays) in [("frame", &FRAME_DELAYS), ("clear", &CLEAR_DELAYS)] {
        let bounds = DELAY_BOUNDS_US
            .iter()
            .map(ToString::to_string)
            .chain(["longer".to_owned()]);
        for (bound, count) in bounds.zip(delays.counts()) {
            metrics::counter!(MEDIA_DELAYS, "of" => what, "up_to_us" => bound).absolute(count);
        }
    }
}

/// Sets the figures of the journal.
pub fn set_journal(backlog: BacklogFigures) {
    metrics::gauge!("ringback_journal_facts").set(backlog.facts as f64);
    metrics::gauge!("ringback_journal_bytes").set(backlog.bytes as f64);
    metrics::counter!("ringback_journal_dropped_total").absolute(backlog.dropped);
}

/// How often the service held audio up for how long: each counts at one bound only.
pub const MEDIA_DELAYS: &str = "ringback_media_delays_total";

/// Counts facts as they happen. A lagging counter skips: figures are not records.
pub async fn count(mut facts: broadcast::Receiver<LiveFact>) {
    loop {
        match facts.recv().await {
            Ok(LiveFact { fact, .. }) => match fact {
                Fact::Turn(turn) => count_turn(turn.speaker),
                Fact::Event(event) => count_event(&event),
            },
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

fn count_turn(speaker: Speaker) {
    let speaker = match speaker {
        Speaker::Agent => "agent",
        Speaker::User => "user",
    };
    metrics::counter!("ringback_turns_total", "speaker" => speaker).increment(1);
}

/// Counts an event of a call. Names come from our own code, so there are few.
fn count_event(event: &EventFact) {
    metrics::counter!("ringback_call_events_total", "event" => event.name.clone()).increment(1);
    count_speculation(event);
    stages::measure(event);
    if let Some(verdict) = amd_verdict(event) {
        metrics::counter!("ringback_amd_total", "verdict" => verdict).increment(1);
    }
}

/// Counts a reply made ahead and what it cost, if the event tells. A slow model has cost no token yet, so that the
/// tokens alone do not show that there was one.
fn count_speculation(event: &EventFact) {
    let outcome = match event.name.as_str() {
        "speculation_used" => "used",
        "speculation_wasted" => "wasted",
        _ => return,
    };
    metrics::counter!("ringback_speculations_total", "fate" => outcome).increment(1);
    let figures: serde_json::Value = serde_json::from_str(&event.detail).unwrap_or_default();
    let count = |name: &str| figures[name].as_u64().unwrap_or(0);
    metrics::counter!("ringback_speculation_tokens_total", "fate" => outcome).increment(count("tokens"));
    for (by, figure) in [("model", "characters"), ("voice", "voiceCharacters")] {
        metrics::counter!("ringback_speculation_characters_total", "by" => by, "fate" => outcome)
            .increment(count(figure));
    }
}

/// Who answered, if the event tells.
fn amd_verdict(event: &EventFact) -> Option<String> {
    let detail: serde_json::Value = (event.name == "amd").then(|| serde_json::from_str(&event.detail).ok())??;
    Some(detail["verdict"].as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_counted_by_its_name() {
        let event = |name: &str, detail: &str| EventFact {
            name: name.into(),
            at_ms: 0,
            detail: detail.into(),
        };
        let verdict = amd_verdict(&event("amd", r#"{"verdict":"ivr","reason":"menu","atMs":1}"#));
        assert_eq!(verdict.as_deref(), Some("ivr"));
        assert_eq!(amd_verdict(&event("beep", r#"{"verdict":"ivr"}"#)), None);
        assert_eq!(amd_verdict(&event("amd", "{}")), None);
    }
}
