//! Logs and metrics. A log line is one fact. Phone numbers are masked when they are logged; transcripts, keys
//! and audio are never logged.

mod http;
mod stages;

use std::io::IsTerminal;

use actors::{
    audio_stream::{DELAY_BOUNDS, DELAY_SECONDS},
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

/// Formats of logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One line of text.
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging to standard error. `RUST_LOG` sets the filter; a second call changes nothing.
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
    // An existing subscriber (in tests) is kept.
    drop(started);
}

/// Upper bounds in seconds of the HTTP latency histogram.
const HTTP_SECONDS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];

/// Installs the metrics recorder of this process.
///
/// # Errors
/// Returns an error if a recorder is installed already.
pub fn init_metrics() -> Result<PrometheusHandle, metrics_exporter_prometheus::BuildError> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full("ringback_http_request_seconds".into()), HTTP_SECONDS)?
        .set_buckets_for_metric(Matcher::Full(stages::SECONDS.into()), stages::BOUNDS)?
        .set_buckets_for_metric(Matcher::Full(DELAY_SECONDS.into()), &DELAY_BOUNDS)?
        .install_recorder()?;
    describe();
    Ok(handle)
}

/// A metric and its description.
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
        "Callbacks (request) and media sockets (socket) forwarded to the node that holds their call",
    ),
    Counter(
        "ringback_peer_requests_lost_total",
        "Callbacks and media sockets that were not forwarded because the other node did not answer",
    ),
    Counter(
        "ringback_peer_forgeries_total",
        "Requests that claimed to be another node's and were not",
    ),
    Counter(
        "ringback_calls_taken_over_total",
        "Live calls of failed nodes that their carrier sent to this node",
    ),
    Gauge("ringback_live_calls", "Calls from dialing to their end"),
    Gauge("ringback_lines", "Concurrent calls that this node may hold"),
    Gauge("ringback_campaigns", "Campaigns this node is working on"),
    Gauge("ringback_actors", "Live actors, from the root to the audio streams"),
    Histogram(
        DELAY_SECONDS,
        "Delays that the service adds to audio, in seconds: `frame` from the socket to the session, `clear` from the decision to the socket",
    ),
    Gauge(
        "ringback_load_level",
        "Number of kinds of work that are refused under load, 0 to 7: analysis, lists, deliveries, reads, writes, dials, inbound calls",
    ),
    Gauge(
        "ringback_load_pressure",
        "Load level with the refused share of the next kind as decimals",
    ),
    Gauge(
        "ringback_load_cpu",
        "Share of time the worker threads are busy, over a second",
    ),
    Gauge(
        "ringback_load_memory",
        "Share of the machine's or the control group's memory in use",
    ),
    Gauge("ringback_database_lag_seconds", "Waiting time of the oldest write"),
    Gauge(
        "ringback_mailbox_wait_seconds",
        "Waiting time of the last probe in the mailbox of an actor that all calls share",
    ),
    Counter(
        "ringback_refused_total",
        "Requests refused because the node was overloaded, by kind of work",
    ),
    Gauge("ringback_journal_facts", "Facts of calls that are not on disk yet"),
    Gauge("ringback_journal_bytes", "Memory of the facts that are not on disk yet"),
    Counter(
        "ringback_journal_dropped_total",
        "Facts dropped because the database was unavailable for too long",
    ),
    Gauge("ringback_tasks", "Tasks of the process that have not ended"),
    Counter("ringback_call_events_total", "Events of calls, by name"),
    Counter(
        "ringback_amd_total",
        "Machine detection verdicts; one call may have several",
    ),
    Counter(
        "ringback_call_outcomes_total",
        "Attempts that came to an end, by outcome",
    ),
    Counter(
        "ringback_speculations_total",
        "Replies prepared in the user's pause, by whether they were used; each sent a prompt to the model",
    ),
    Counter(
        "ringback_speculation_tokens_total",
        "Tokens received for prepared replies when the turn ended or went on, at four characters each, by whether they were used; 0 if the model takes longer than the pause",
    ),
    Counter(
        "ringback_speculation_characters_total",
        "Characters of prepared replies that the model wrote and that were sent to tts, by whether they were used",
    ),
    Counter(
        "ringback_provider_requests_total",
        "Requests to providers, by kind, provider and outcome; `tripped` ones were not sent",
    ),
    Counter(
        "ringback_provider_retries_total",
        "Wanted hedges and retries, by kind, provider and whether the retry budget allowed them",
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
        "Attempts to deliver webhooks and mail after calls, by kind and outcome: `delivered`, `put_off` (retried), `given_up`, `gone` (the receiver answered 410)",
    ),
    Counter(
        SAFEGUARDS,
        "Decisions of account safeguards on calls, by rule and result: `warned` (dialed), `put_off`, `refused`",
    ),
    Counter(
        "ringback_carrier_forgeries_total",
        "Requests to carrier webhooks without the carrier's valid signature, by carrier and endpoint (status or media)",
    ),
    Counter(
        FAILED_HANDSHAKES,
        "Failed TLS handshakes by reason: `timeout`, `refused` (nothing in common, or no TLS at all), `closed`",
    ),
    Counter(
        "ringback_media_frame_faults_total",
        "Audio frames of calls that arrived twice, swapped, too late or not at all, by fault",
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
}

/// Sets the figures of the journal.
pub fn set_journal(backlog: BacklogFigures) {
    metrics::gauge!("ringback_journal_facts").set(backlog.facts as f64);
    metrics::gauge!("ringback_journal_bytes").set(backlog.bytes as f64);
    metrics::counter!("ringback_journal_dropped_total").absolute(backlog.dropped);
}

/// Counts facts as they happen. A lagging counter skips facts: figures are not records.
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
        Speaker::Operator => "operator",
    };
    metrics::counter!("ringback_turns_total", "speaker" => speaker).increment(1);
}

/// Counts an event of a call. Event names come from our own code, so there are few.
fn count_event(event: &EventFact) {
    metrics::counter!("ringback_call_events_total", "event" => event.name.clone()).increment(1);
    count_speculation(event);
    stages::measure(event);
    if let Some(verdict) = amd_verdict(event) {
        metrics::counter!("ringback_amd_total", "verdict" => verdict).increment(1);
    }
}

/// Counts a reply prepared ahead and its cost, if the event is about one. A slow model has cost no token yet,
/// so the tokens alone do not show that a reply was prepared.
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

/// Returns the machine detection's verdict, if the event has one.
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
