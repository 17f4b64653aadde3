//! Streams of account events, and the tasks that read the store for all readers with one key or session.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::response::sse::Event;
use domain::{
    id::{AccountEventId, AccountId},
    ports::store::{AccountEvent, Store, StoreResult},
};
use tokio::sync::{Semaphore, broadcast};

use crate::{
    caller::{self, Credential},
    limits::{concurrency_limit::ConcurrencyLimit, rate_limit::KeyPrint},
    response::error::{ApiError, ApiResult},
    sse::{self, Looks},
};

/// Shortest interval of the reads of a key or session, so that many events share one.
pub(crate) const LEAST: Duration = Duration::from_millis(100);
/// Events per read.
pub(crate) const PAGE: i64 = 500;
/// Readers that read the store themselves at once, on this node.
const CATCHING_UP: usize = 2;
/// Events that wait for slow readers.
const WAITING: usize = 1_024;

type Listeners = HashMap<KeyPrint, broadcast::WeakSender<Arc<Shown>>>;

/// Event as it is in the stream, which is made once for all readers.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) event: AccountEvent,
    pub(crate) sent: Event,
}

impl Shown {
    pub(crate) fn new(event: AccountEvent) -> Self {
        let name = event.event_type.as_str();
        let sent = sse::event(name, &Position::text(&event), &event.body());
        Self { event, sent }
    }
}

/// Streams of account events, and the polling tasks that they share.
#[derive(Debug, Clone)]
pub struct AccountEvents {
    pub(crate) limit: ConcurrencyLimit,
    listeners: Arc<Mutex<Listeners>>,
    pub(crate) turns: Arc<Semaphore>,
}

impl AccountEvents {
    /// Creates the streams of a server with this many connections. They take at most half of them, so that a few accounts
    /// cannot shut out requests and carriers.
    pub fn new(connections: usize) -> Self {
        Self {
            limit: ConcurrencyLimit::new(1_000, (connections / 2).min(5_000)),
            listeners: Arc::default(),
            turns: Arc::new(Semaphore::new(CATCHING_UP)),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins the polling task of a key or session, or starts it.
    pub(crate) fn listen(&self, poll: Poll) -> broadcast::Receiver<Arc<Shown>> {
        let print = poll.credential.print();
        let mut listeners = self.locked();
        if let Some(events) = listeners.get(&print).and_then(broadcast::WeakSender::upgrade) {
            return events.subscribe();
        }
        let (events, receiver) = broadcast::channel(WAITING);
        listeners.insert(print, events.downgrade());
        tokio::spawn(poll.run(events, self.clone()));
        receiver
    }
}

/// Reads an account's events for all readers with one key or session.
pub(crate) struct Poll {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) looks: Looks,
    pub(crate) credential: Credential,
    pub(crate) account: AccountId,
    pub(crate) place: i64,
}

impl Poll {
    /// Runs until nobody listens, the key or session becomes invalid or the service stops. Dropping the sender ends the streams.
    async fn run(mut self, events: broadcast::Sender<Arc<Shown>>, all: AccountEvents) {
        loop {
            let last = self.looks.next().await;
            match caller::account_of(&*self.store, &self.credential).await {
                Ok(_) => {
                    if let Err(error) = self.read(&events).await {
                        tracing::debug!(account = %self.account, %error, "store unavailable for event streams");
                    }
                }
                Err(ApiError::Unauthorized(_)) => break,
                Err(_) => {}
            }
            if last {
                break;
            }
            let mut listeners = all.locked();
            if events.receiver_count() == 0 {
                listeners.remove(&self.credential.print());
                return;
            }
        }
        all.locked().remove(&self.credential.print());
    }

    async fn read(&mut self, events: &broadcast::Sender<Arc<Shown>>) -> StoreResult<()> {
        loop {
            let page = self.store.events_after(self.account, self.place, PAGE).await?;
            let more = page.len() as i64 == PAGE;
            for event in page {
                self.place = event.place;
                // An error means that nobody listens any more.
                let _ = events.send(Arc::new(Shown::new(event)));
            }
            if !more {
                return Ok(());
            }
        }
    }
}

/// Position of an event in its stream, as clients send it back.
pub(crate) struct Position(pub(crate) i64);

impl Position {
    /// Returns the text: the place, and the event's id, which stays readable.
    fn text(event: &AccountEvent) -> String {
        format!("{}.{}", event.place, event.id)
    }

    /// Reads the text of [`Position::text`].
    pub(crate) fn parse(text: &str) -> ApiResult<Self> {
        let parts = text.split_once('.');
        let place = parts.and_then(|(place, id)| {
            id.parse::<AccountEventId>().ok()?;
            place.parse().ok().filter(|place| *place > 0)
        });
        let message = || {
            let message = format!(
                "`{text:.60}` is not the `id` of an event of this stream; send the last one as it came, or leave the \
                 header out"
            );
            ApiError::field("Last-Event-ID", "invalid_value", message)
        };
        place.map(Self).ok_or_else(message)
    }
}
