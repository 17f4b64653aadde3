//! One call through the exchange, from the accepted dial to its end.

use std::{sync::Arc, time::Duration};

use actors::time::Timestamp;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, mpsc},
    time::timeout,
};

use super::{
    Switch,
    callback::{self, Status, Subscription},
    handset::{Figures, Handset},
    log::LogEvent,
    persona::{Callee, Person, Persona},
    phone::{self, End, Phone},
};

/// From the accepted dial to the first ring, or to a busy tone.
const SET_UP: Duration = Duration::from_millis(100);

/// What was asked for.
#[derive(Debug, Clone)]
pub(super) struct Order {
    pub(super) call_id: String,
    pub(super) attempt: String,
    pub(super) to: String,
    pub(super) placed: Timestamp,
    pub(super) status_url: String,
    pub(super) stream_url: String,
    pub(super) ring_timeout: Duration,
    pub(super) callee: Callee,
}

/// The present state of a call, for the listing and for hanging up.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) order: Order,
    pub(super) hang_up: Notify,
}

/// How a call ended.
struct Ending {
    cause: &'static str,
    reason: String,
    figures: Option<Figures>,
}

impl Ending {
    fn of(cause: &'static str) -> Self {
        Self {
            cause,
            reason: String::new(),
            figures: None,
        }
    }
}

/// Takes the call off the list of live ones, whatever ends its task.
struct Live(Arc<Switch>, Arc<Entry>);

impl Drop for Live {
    fn drop(&mut self) {
        self.0.registry.ended(&self.1.order.call_id);
    }
}

/// Runs a call to its end and delivers its callbacks.
pub(super) async fn run(switch: Arc<Switch>, entry: Arc<Entry>, line: OwnedSemaphorePermit) {
    let (statuses, waiting) = mpsc::channel(callback::WAITING);
    let subscription = Subscription {
        client: switch.client.clone(),
        url: entry.order.status_url.clone(),
        call_id: entry.order.call_id.clone(),
        attempt: entry.order.attempt.clone(),
        duplicate: switch.settings.duplicate_statuses,
        log: switch.log.clone(),
    };
    let live = Live(switch.clone(), entry.clone());
    let talk = async move {
        let (live, _line, statuses) = (live, line, statuses);
        let call = Call {
            switch: &live.0,
            entry: &live.1,
            statuses: &statuses,
        };
        let ending = call.carry().await;
        call.end(ending).await;
    };
    // Callbacks may still be on their way when the call is long over; only they are waited for then.
    tokio::join!(talk, callback::deliver(subscription, waiting));
}

struct Call<'a> {
    switch: &'a Arc<Switch>,
    entry: &'a Entry,
    statuses: &'a mpsc::Sender<Status>,
}

impl Call<'_> {
    fn add(&self, event: LogEvent) {
        self.switch.log.add(&self.entry.order.call_id, event);
    }

    async fn report(&self, status: Status) {
        // The receiver lives as long as this task.
        let _ = self.statuses.send(status).await;
    }

    async fn end(&self, ending: Ending) {
        self.add(LogEvent::Ended {
            cause: ending.cause.to_owned(),
            figures: ending.figures,
        });
        self.switch.registry.ended(&self.entry.order.call_id);
        let (cause, reason) = (ending.cause, ending.reason);
        self.report(Status::Ended { cause, reason }).await;
    }

    /// True if the caller hung up meanwhile.
    async fn hung_up_within(&self, time: Duration) -> bool {
        timeout(time, self.entry.hang_up.notified()).await.is_ok()
    }

    async fn carry(&self) -> Ending {
        let order = &self.entry.order;
        if self.hung_up_within(SET_UP).await {
            return Ending::of("canceled");
        }
        if order.callee.persona == Persona::Busy {
            return Ending::of("busy");
        }
        self.add(LogEvent::Ringing);
        self.report(Status::Ringing).await;
        let rings = self.rings_for();
        if self.hung_up_within(rings.min(order.ring_timeout)).await {
            return Ending::of("canceled");
        }
        match order.callee.persona {
            Persona::Rejects => Ending::of("rejected"),
            Persona::NoAnswer => Ending::of("no-answer"),
            _ if rings >= order.ring_timeout => Ending::of("no-answer"),
            _ => self.answered().await,
        }
    }

    /// How long it rings before somebody acts: one ring or two, always the same for the same number.
    fn rings_for(&self) -> Duration {
        let (settings, order) = (&self.switch.settings, &self.entry.order);
        match order.callee.persona {
            Persona::NoAnswer => order.ring_timeout,
            _ => {
                let steps = Person::new(&order.to, settings.seed).choice("pick-up", 1_001);
                let (least, most) = (settings.pick_up.start(), settings.pick_up.end());
                *least + most.saturating_sub(*least).mul_f64(steps as f64 / 1_000.0)
            }
        }
    }

    async fn answered(&self) -> Ending {
        let order = &self.entry.order;
        self.add(LogEvent::Answered);
        self.report(Status::Answered).await;
        let socket = tokio::select! {
            () = self.entry.hang_up.notified() => return Ending::of("completed"),
            socket = phone::dial_in(&order.stream_url) => socket,
        };
        let socket = match socket {
            Ok(socket) => socket,
            Err(error) => return self.media_failed(&error.to_string(), None),
        };
        let person = Person::new(&order.to, self.switch.settings.seed);
        let handset = Handset::new(order.callee.mind(person), &order.to).on_line(&order.callee.line(), &order.to);
        let phone = Phone {
            call_id: &order.call_id,
            log: &self.switch.log,
            background: self.switch.background.clone(),
            stagger: &self.switch.stagger,
            hang_up: &self.entry.hang_up,
            longest: self.switch.settings.longest_call,
            wire: order.callee.wire(),
        };
        match phone.talk(socket, handset).await {
            (End::Broken(reason), figures) => self.media_failed(&reason, Some(figures)),
            (End::Dropped, figures) => self.dropped(figures).await,
            (End::Callee | End::Caller | End::Exchange | End::TooLong, figures) => Ending {
                figures: Some(figures),
                ..Ending::of("completed")
            },
        }
    }

    /// The carrier keeps the call, without media, until the caller gives it up.
    async fn dropped(&self, figures: Figures) -> Ending {
        self.add(LogEvent::Dropped);
        self.hung_up_within(self.switch.settings.longest_call).await;
        Ending {
            figures: Some(figures),
            ..Ending::of("completed")
        }
    }

    fn media_failed(&self, reason: &str, figures: Option<Figures>) -> Ending {
        let event = LogEvent::MediaFailed {
            reason: reason.to_owned(),
        };
        self.add(event);
        Ending {
            cause: "failed",
            reason: format!("media: {reason}"),
            figures,
        }
    }
}
