//! Server-sent events: code shared by all streams of the API.

use std::{convert::Infallible, time::Duration};

use axum::{
    http::{HeaderMap, HeaderValue, header},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use tokio::{sync::watch, time::sleep};

use crate::{
    limits::concurrency_limit::{ConcurrencyLimit, ConcurrencySlot},
    response::error::{ApiError, ApiResult},
};
use domain::{id::AccountId, ports::store::Store};

/// Silence after which a comment is sent. It keeps proxies from closing the stream, and detects disconnected readers.
pub const HEARTBEAT: Duration = Duration::from_secs(15);
/// Time after which a disconnected client reconnects.
const RETRY: Duration = Duration::from_secs(2);

/// Source of one reader's events. It is asked when the reader can accept more.
pub trait Source: Send + 'static {
    /// Waits at most [`HEARTBEAT`], and appends the events to send. Returns false once the stream is over.
    fn advance(&mut self, events: &mut Vec<Event>) -> impl Future<Output = bool> + Send;
}

/// Interval of reads for what other nodes publish.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Waits between the reads of a stream: until this node publishes events of the account, or else for a second.
pub struct Looks {
    published: watch::Receiver<i64>,
    stopping: watch::Receiver<bool>,
    /// Shortest wait.
    least: Duration,
}

impl Looks {
    /// Begins with what is published from now on.
    pub fn new(store: &dyn Store, account: AccountId, stopping: watch::Receiver<bool>, least: Duration) -> Self {
        Self {
            published: store.event_signals().published(account),
            stopping,
            least,
        }
    }

    /// Returns whether the service stops.
    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Waits for the next read. Returns whether it is the last one, because the service stops.
    pub async fn next(&mut self) -> bool {
        let published = async {
            sleep(self.least).await;
            if self.published.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = published => false,
            () = sleep(LOOK_EVERY) => false,
            // An error means that the service has ended.
            _ = self.stopping.wait_for(|stopping| *stopping) => true,
        }
    }
}

/// Takes a slot for a stream of an account. Returns a 503 if there are too many streams.
pub fn slot(limit: &ConcurrencyLimit, account: AccountId) -> ApiResult<ConcurrencySlot> {
    let message = "too many open event streams; close one, or try again later";
    limit.take(account).ok_or_else(|| ApiError::Unavailable(message.into()))
}

/// Returns the id of the last event that a reconnecting client has. A value that is no text, or is sent twice, becomes one
/// that is the id of no event.
pub fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all("last-event-id").iter();
    let value = values.next()?;
    let text = value.to_str().ok().filter(|_| values.next().is_none());
    Some(text.unwrap_or_default())
}

/// Creates an event.
pub fn event(name: &str, id: &str, data: &Value) -> Event {
    Event::default().event(name).id(id).data(data.to_string())
}

/// Returns the response that streams the events of a source.
pub fn response(source: impl Source) -> Response {
    let pieces = stream::unfold(Some(source), async |source| {
        let mut source = source?;
        let mut events = Vec::new();
        let more = source.advance(&mut events).await;
        Some((events, more.then_some(source)))
    });
    let begin = vec![Event::default().retry(RETRY)];
    let events = stream::once(async { begin }).chain(pieces).flat_map(stream::iter);
    let events = Sse::new(events.map(Ok::<_, Infallible>)).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    let mut response = events.into_response();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        // Without this header, some proxies buffer a response before they pass it on.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::time::SystemClock;
    use testkit::memory_store::MemoryStore;

    use tokio::time::Instant;

    use super::*;

    const LEAST: Duration = Duration::from_millis(100);

    #[tokio::test(start_paused = true)]
    async fn a_read_follows_what_this_node_publishes_at_once_and_others_within_a_second() {
        let store = MemoryStore::new(Arc::new(SystemClock));
        let signals = domain::ports::store::EventSignalling::event_signals(&store);
        let account = AccountId::new();
        let (stop, stopping) = watch::channel(false);
        let mut looks = Looks::new(&store, account, stopping, LEAST);
        let mut waited = async |after: Duration, place: Option<i64>| {
            let began = Instant::now();
            let publish = async {
                sleep(after).await;
                signals.publish(AccountId::new(), 7);
                if let Some(place) = place {
                    signals.publish(account, place);
                }
            };
            let (last, ()) = tokio::join!(
                async {
                    let last = looks.next().await;
                    (last, began.elapsed())
                },
                publish
            );
            last
        };
        assert_eq!(waited(Duration::ZERO, None).await, (false, LOOK_EVERY));
        let later = Duration::from_millis(300);
        assert_eq!(waited(later, Some(1)).await, (false, later));
        // Right after a read it waits a little, so that many events share one.
        assert_eq!(waited(Duration::ZERO, Some(2)).await, (false, LEAST));
        assert_eq!(waited(later, None).await, (false, LOOK_EVERY));
        // A signal during a read is not missed.
        signals.publish(account, 3);
        assert_eq!(waited(later, None).await, (false, LEAST));
        stop.send_replace(true);
        assert_eq!(waited(later, None).await, (true, Duration::ZERO));
    }
}
