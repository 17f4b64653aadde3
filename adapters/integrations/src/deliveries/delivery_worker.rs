//! Delivery worker. One task publishes account events, looks for due deliveries and leases them; each try is a separate
//! task that stores its result.

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::{
    admission::{Gate, Work},
    deliveries::DeliveryKind,
    ports::store::{DISABLED, Delivery, DueLane, Settled, Sought, Standing, Store, StoreError, StoreResult},
    prices::PriceList,
};
use tokio::{
    sync::watch,
    task::{Id, JoinError, JoinSet},
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout},
};

use super::{
    answer::Answer,
    mail::{self, Mailer},
    payload,
    places::{Places, Shares},
    webhook::WebhookSender,
};

/// Maximum number of lanes per look.
const LANES: i64 = 20_000;

/// Maximum number of account events published per pass.
const EVENTS: i64 = 500;

/// Shortest interval of publishing, so that many events share a transaction.
const PUBLISH_EVERY: Duration = Duration::from_millis(50);

/// Number of attempts to store a result. After that the lease expires and the delivery is tried again.
const SETTLES: u32 = 4;

/// How long tries in progress may take when the service stops.
const LAST_TRIES: Duration = Duration::from_secs(3);

/// Intervals of the worker. They are a parameter so that tests need not wait.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Interval between two looks into the outbox.
    pub look: Duration,
    /// Interval between two looks if more is due than was leased and a slot is free again.
    pub look_again: Duration,
    /// Interval at which the leases of tries in progress are renewed.
    pub renew: Duration,
    /// Duration after which a try counts as slow and frees its slot.
    pub slow: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            look: Duration::from_millis(200),
            look_again: Duration::from_millis(20),
            renew: Duration::from_secs(2),
            slow: Duration::from_secs(1),
        }
    }
}

/// Shared state of the tries.
struct Hands {
    store: Arc<dyn Store>,
    webhooks: WebhookSender,
    mail: Option<Mailer>,
    prices: Option<Arc<PriceList>>,
}

/// Try in progress.
struct Try {
    delivery: Delivery,
    standing: Standing,
    begun: Instant,
    slow: bool,
}

/// Delivery worker.
pub struct DeliveryWorker {
    hands: Arc<Hands>,
    pace: Pace,
    places: Places,
    tries: JoinSet<()>,
    trying: HashMap<Id, Try>,
    /// Whether more was due at the last look than was leased.
    more: bool,
    looked_at: Instant,
    next_look: Instant,
    unavailable: bool,
    /// Whether the last try to publish account events failed.
    unpublished: bool,
    published_at: Instant,
    /// When events that this node wrote are published, if that is before the next look.
    next_publish: Option<Instant>,
    gate: Gate,
}

impl DeliveryWorker {
    /// Creates a worker for this node. Several nodes work on the same outbox. Without a mailer, mail fails
    /// and is kept for later tries.
    pub fn new(store: Arc<dyn Store>, webhooks: WebhookSender, mail: Option<Mailer>, pace: Pace) -> Self {
        let hands = Hands {
            store,
            webhooks,
            mail,
            prices: None,
        };
        Self {
            hands: Arc::new(hands),
            pace,
            places: Places::default(),
            tries: JoinSet::new(),
            trying: HashMap::new(),
            more: false,
            looked_at: Instant::now(),
            next_look: Instant::now(),
            unavailable: false,
            unpublished: false,
            published_at: Instant::now(),
            next_publish: None,
            gate: Gate::default(),
        }
    }

    /// Sets a gate. While it holds deliveries back, no first tries are made. Retries go on, since they have
    /// waited already.
    #[must_use]
    pub fn behind(self, gate: Gate) -> Self {
        Self { gate, ..self }
    }

    /// Sets the prices for the cost of conversations.
    #[must_use]
    pub fn priced(mut self, prices: Option<Arc<PriceList>>) -> Self {
        // The tries share it, and none has begun.
        if let Some(hands) = Arc::get_mut(&mut self.hands) {
            hands.prices = prices;
        }
        self
    }

    /// Works until `stopping` is true or its sender is dropped, and until tries in progress have ended or had
    /// their time.
    pub async fn run(mut self, mut stopping: watch::Receiver<bool>) {
        let mut renew = interval(self.pace.renew);
        renew.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut written = self.hands.store.event_signals().written();
        loop {
            tokio::select! {
                () = stopped(&mut stopping) => break,
                () = sleep_until(self.next_look) => {
                    let first_tries = !self.gate.holds(Work::Deliveries);
                    self.look(first_tries).await;
                }
                Ok(()) = written.changed() => {
                    self.next_publish.get_or_insert(self.published_at + PUBLISH_EVERY);
                }
                () = sleep_until(self.next_publish.unwrap_or(self.next_look)), if self.next_publish.is_some() => {
                    self.publish().await;
                }
                _ = renew.tick() => self.renew().await,
                Some(over) = self.tries.join_next_with_id(), if !self.tries.is_empty() => {
                    self.over(over);
                    if self.more {
                        self.next_look = self.next_look.min(self.looked_at + self.pace.look_again);
                    }
                }
            }
        }
        if timeout(LAST_TRIES, self.last_tries()).await.is_err() {
            tracing::info!("leaving deliveries in progress to the next start");
        }
    }

    /// Tries what is due by now, so that a call that ended just before the stop need not wait for the next start.
    async fn last_tries(&mut self) {
        loop {
            self.look(true).await;
            let more = self.more;
            let Some(over) = self.tries.join_next_with_id().await else {
                if more {
                    // There was no free slot, or the store failed. Looks again after a pause.
                    sleep(self.pace.look_again).await;
                    continue;
                }
                return;
            };
            self.over(over);
        }
    }

    /// Starts due deliveries, as far as there are free slots. First tries are only started if `first_tries` is true.
    async fn look(&mut self, first_tries: bool) {
        self.looked_at = Instant::now();
        self.mark_slow();
        self.publish().await;
        match self.lease(first_tries).await {
            Ok(()) => self.unavailable = false,
            Err(error) => {
                // Logged once and not with every look, since the store may be unavailable for long.
                if !std::mem::replace(&mut self.unavailable, true) {
                    tracing::warn!(%error, "reading deliveries failed, trying again");
                }
            }
        }
        self.next_look = Instant::now() + self.pace.look;
    }

    /// Publishes account events. What is due does not wait for it.
    async fn publish(&mut self) {
        self.next_publish = None;
        match self.hands.store.publish_events(EVENTS).await {
            Ok(_) => self.unpublished = false,
            Err(error) => {
                if !std::mem::replace(&mut self.unpublished, true) {
                    tracing::warn!(%error, "publishing account events failed, trying again");
                }
            }
        }
        self.published_at = Instant::now();
    }

    /// Marks slow tries, which give their slots to others as far as there is room.
    fn mark_slow(&mut self) {
        for tried in self.trying.values_mut() {
            if !tried.slow && tried.begun.elapsed() >= self.pace.slow {
                tried.slow = self.places.make_slow(&tried.delivery.lane, tried.standing);
            }
        }
    }

    async fn lease(&mut self, first_tries: bool) -> StoreResult<()> {
        let failing_too = self.places.for_failing();
        let sought = Sought {
            failing_lanes: failing_too,
            first_tries,
        };
        let due: Vec<DueLane> = self.hands.store.due_lanes(sought, LANES).await?;
        let Shares { lanes, more } = self.places.share(due, failing_too);
        self.more = more;
        if lanes.is_empty() {
            return Ok(());
        }
        let wanted: Vec<(String, i64)> = lanes
            .iter()
            .map(|(lane, _, share)| (lane.clone(), *share as i64))
            .collect();
        let standings: HashMap<String, Standing> =
            lanes.into_iter().map(|(lane, standing, _)| (lane, standing)).collect();
        for delivery in self.hands.store.lease_deliveries(sought, &wanted).await? {
            let standing = standings.get(&delivery.lane).copied().unwrap_or(Standing::Failing);
            self.begin(delivery, standing);
        }
        Ok(())
    }

    fn begin(&mut self, delivery: Delivery, standing: Standing) {
        // Its lease expired while the store was unavailable. The running try is fenced, and the new lease
        // waits for its end.
        if self.trying.values().any(|tried| tried.delivery.id == delivery.id) {
            return;
        }
        self.places.take(&delivery.lane, standing);
        let (hands, its) = (Arc::clone(&self.hands), delivery.clone());
        let task = self.tries.spawn(async move { hands.deliver(its).await });
        let tried = Try {
            delivery,
            standing,
            begun: Instant::now(),
            slow: false,
        };
        self.trying.insert(task.id(), tried);
    }

    fn over(&mut self, over: Result<(Id, ()), JoinError>) {
        let (id, panicked) = match over {
            Ok((id, ())) => (id, false),
            Err(error) => (error.id(), error.is_panic()),
        };
        let Some(tried) = self.trying.remove(&id) else {
            return;
        };
        let Try {
            delivery,
            standing,
            slow,
            ..
        } = tried;
        self.places.free(&delivery.lane, standing, slow);
        if panicked {
            // Without a result it would come back with every lease, forever.
            let hands = Arc::clone(&self.hands);
            let settled = Answer::failed("internal error while preparing the delivery").settles(&delivery);
            self.tries.spawn(async move { hands.settle(&delivery, settled).await });
        }
    }

    async fn renew(&mut self) {
        if self.trying.is_empty() {
            return;
        }
        let tried = self.trying.values();
        let held: Vec<_> = tried.map(|tried| (tried.delivery.id, tried.delivery.lease)).collect();
        if let Err(error) = self.hands.store.renew_deliveries(&held).await {
            tracing::debug!(%error, "renewing delivery leases failed");
        }
    }
}

impl Hands {
    async fn deliver(&self, mut delivery: Delivery) {
        let settled = match self.attempt(&mut delivery).await {
            Ok(settled) => settled,
            Err(error) if is_passing(&error) => {
                // Nothing was sent. The delivery comes back when its lease ends, and no try is used up.
                tracing::warn!(delivery = %delivery.id, %error, "reading a delivery failed");
                return;
            }
            Err(error) => Answer::failed(format!("internal error: {error}")).settles(&delivery),
        };
        note(&delivery, &settled);
        self.settle(&delivery, settled).await;
    }

    async fn attempt(&self, delivery: &mut Delivery) -> StoreResult<Settled> {
        let told = async |delivery: &Delivery| payload::post_call(&*self.store, delivery, self.prices.as_deref()).await;
        let answer = match delivery.kind {
            DeliveryKind::Webhook => {
                let told = told(&*delivery).await?;
                let secrets = self.store.webhook_secrets(delivery.account).await?;
                self.webhooks.send(delivery, &secrets, told.to_string()).await
            }
            DeliveryKind::Event => return self.attempt_event(delivery).await,
            DeliveryKind::Email => match &self.mail {
                Some(mailer) => {
                    mailer
                        .send(&*self.store, delivery, &told(&*delivery).await?["data"])
                        .await?
                }
                None => Answer::failed(mail::NOT_CONFIGURED),
            },
            DeliveryKind::Invitation => match &self.mail {
                Some(mailer) => mailer.invite(&*self.store, delivery).await?,
                None => Answer::failed(mail::NOT_CONFIGURED),
            },
        };
        Ok(answer.settles(delivery))
    }

    async fn attempt_event(&self, delivery: &mut Delivery) -> StoreResult<Settled> {
        let message = match self.store.webhook_message(delivery.id).await {
            // The endpoint was disabled, or the event was erased meanwhile. It may be enabled again by now.
            Err(StoreError::NotFound) => {
                let error = DISABLED.to_owned();
                return Ok(Settled::GivenUp { error });
            }
            message => message?,
        };
        let body = payload::event(delivery, message.event.as_ref()).to_string();
        let mut sent = Delivery {
            target: message.url,
            ..delivery.clone()
        };
        let answer = self.webhooks.send(&mut sent, &message.secrets, body).await;
        delivery.reply = sent.reply.take();
        Ok(answer.settles(&sent))
    }

    /// Stores the result of a try, with a few attempts. Without it the receiver would get the same delivery again.
    async fn settle(&self, delivery: &Delivery, settled: Settled) {
        let mut pause = Duration::from_millis(250);
        for _ in 0..SETTLES {
            match self.store.settle_delivery(delivery, settled.clone()).await {
                Ok(()) => return count(delivery, &settled),
                Err(StoreError::Fenced) => return,
                Err(error) => tracing::warn!(delivery = %delivery.id, %error, "storing a delivery's result failed"),
            }
            sleep(pause).await;
            pause *= 2;
        }
    }
}

async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // A dropped sender also counts as a stop.
    let _ = stopping.wait_for(|stop| *stop).await;
}

fn is_passing(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(_))
}

fn note(delivery: &Delivery, settled: &Settled) {
    let (id, attempt, kind) = (
        delivery.id,
        delivery.attempt.map(|call| call.to_string()),
        delivery.kind.as_str(),
    );
    match settled {
        Settled::Delivered => tracing::debug!(delivery = %id, attempt, kind, "delivered"),
        Settled::PutOff { pause, error, .. } => {
            tracing::info!(delivery = %id, attempt, kind, pause_s = pause.as_secs(), error, "delivery failed, trying again later");
        }
        Settled::GivenUp { error } => {
            tracing::warn!(delivery = %id, attempt, kind, error, "delivery failed for the last time, giving up");
        }
        Settled::Gone { error, .. } => {
            tracing::warn!(delivery = %id, attempt, kind, error,
                "receiver wants no more deliveries, stopping until its agent is saved or its endpoint is enabled again");
        }
    }
}

/// Counts a finished try.
fn count(delivery: &Delivery, settled: &Settled) {
    let outcome = match settled {
        Settled::Delivered => "delivered",
        Settled::PutOff { .. } => "put_off",
        Settled::GivenUp { .. } => "given_up",
        Settled::Gone { .. } => "gone",
    };
    metrics::counter!(DELIVERIES, "kind" => delivery.kind.as_str(), "outcome" => outcome).increment(1);
}

/// Counter of tries.
pub const DELIVERIES: &str = "ringback_deliveries_total";
