//! One call through the exchange, from the accepted dial to its end.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    time::{Instant, MissedTickBehavior, interval, timeout, timeout_at},
};

use super::{
    audio::stagger::FRAME,
    callback::{self, Status, Subscription},
    handset::{Figures, Frame, Handset},
    log::LogEvent,
    onward::Onward,
    persona::{Person, Persona},
    phone::{self, End, Phone},
    protocol::Incoming,
    registry::{Entry, Stream, Wish},
    settings::SET_UP,
    switch::Switch,
};

/// End of a call.
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

/// Removes the call from the live calls when its task ends for any reason.
struct Live(Arc<Switch>, Arc<Entry>);

impl Drop for Live {
    fn drop(&mut self) {
        self.0.registry.ended(&self.1.order.call_id);
    }
}

/// Runs a call to its end and delivers its callbacks.
pub(super) async fn run(
    switch: Arc<Switch>,
    entry: Arc<Entry>,
    wishes: mpsc::Receiver<Wish>,
    line: OwnedSemaphorePermit,
) {
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
        let ending = call.carry(wishes).await;
        call.end(ending).await;
    };
    // Callbacks may still be in delivery when the call is long over. From then on, only the callbacks are waited for.
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

    /// Returns `true` if the caller hung up within `time`.
    async fn hung_up_within(&self, time: Duration) -> bool {
        timeout(time, self.entry.hang_up.notified()).await.is_ok()
    }

    async fn carry(&self, wishes: mpsc::Receiver<Wish>) -> Ending {
        let order = &self.entry.order;
        if order.callee.calls() {
            return self.answered(wishes).await;
        }
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
            _ => self.answered(wishes).await,
        }
    }

    /// Returns the ringing time before the callee acts.
    fn rings_for(&self) -> Duration {
        let order = &self.entry.order;
        match order.callee.persona {
            Persona::NoAnswer => order.ring_timeout,
            _ => self.switch.settings.pick_up_after(&order.to),
        }
    }

    async fn answered(&self, mut wishes: mpsc::Receiver<Wish>) -> Ending {
        let order = &self.entry.order;
        self.add(LogEvent::Answered);
        self.report(Status::Answered).await;
        let person = Person::new(&order.to, self.switch.settings.seed);
        let mut handset =
            Handset::new(order.callee.behaviour(person), &order.to).on_line(&order.callee.line(), &order.to);
        if self.switch.settings.keep_audio {
            handset.keep_audio(self.switch.played_audio.begin(&order.to));
        }
        let mut opened = None;
        let mut address = order.stream_url.clone();
        loop {
            let socket = tokio::select! {
                () = self.entry.hang_up.notified() => return Self::completed(&mut handset),
                socket = phone::dial_in(&address) => socket,
            };
            let socket = match socket {
                Ok(socket) => socket,
                Err(error) => return self.media_failed(&error.to_string(), opened.map(|_| handset.end())),
            };
            let opened = *opened.get_or_insert_with(Instant::now);
            self.entry.stream_is(Stream::Open);
            let end = self.phone().talk(socket, &mut handset, opened, &mut wishes).await;
            self.entry.stream_is(Stream::Closed);
            let next = match end {
                End::Broken(reason) => return self.media_failed(&reason, Some(handset.end())),
                End::Dropped => return self.dropped(handset.end()).await,
                End::Callee | End::Caller | End::Exchange | End::TooLong => return Self::completed(&mut handset),
                End::Lost => self.lost(&mut wishes).await,
                End::HandedOn(onward) => self.hand_on(&onward, &mut handset, opened).await,
            };
            match next {
                Some(next) => address = next,
                None => return Self::completed(&mut handset),
            }
        }
    }

    fn phone(&self) -> Phone<'_> {
        let order = &self.entry.order;
        Phone {
            call_id: &order.call_id,
            log: &self.switch.log,
            background: self.switch.background.clone(),
            stagger: &self.switch.stagger,
            hang_up: &self.entry.hang_up,
            longest: self.switch.settings.longest_call,
            faults: order.callee.faults(),
            statuses: self.statuses,
        }
    }

    fn completed(handset: &mut Handset) -> Ending {
        Ending {
            figures: Some(handset.end()),
            ..Ending::of("completed")
        }
    }

    /// Records the lost stream and waits until the caller asks for a new one. Returns its address, or `None`
    /// if the caller gives up the call.
    async fn lost(&self, wishes: &mut mpsc::Receiver<Wish>) -> Option<String> {
        self.add(LogEvent::MediaLost);
        self.entry.stream_is(Stream::Lost);
        let wanted = async {
            loop {
                match wishes.recv().await? {
                    Wish::Media(address) => return Some(address),
                    Wish::Transfer(_) => {}
                }
            }
        };
        tokio::select! {
            () = self.entry.hang_up.notified() => None,
            wanted = timeout(self.switch.settings.longest_call, wanted) => wanted.ok().flatten(),
        }
    }

    /// Rings the target of a transfer. If nobody answers, returns the address at which to reopen the caller's stream.
    async fn hand_on(&self, onward: &Onward, handset: &mut Handset, opened: Instant) -> Option<String> {
        if self.hung_up_within(onward.rings).await {
            return None;
        }
        if let Some(reason) = onward.refusal {
            let reason = reason.to_owned();
            self.add(LogEvent::TransferFailed { reason: reason.clone() });
            self.report(Status::TransferFailed { reason }).await;
            return Some(onward.stream_url.clone());
        }
        self.add(LogEvent::Joined { to: onward.to.clone() });
        self.report(Status::Transferred).await;
        join(self, handset, opened, onward).await;
        None
    }

    /// Keeps the call up without media, as a carrier does, until the caller gives it up.
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

/// Lets the two talk until one of them hangs up or the call is ended.
async fn join(call: &Call<'_>, here: &mut Handset, opened: Instant, onward: &Onward) {
    let Call { switch, entry, .. } = call;
    let person = Person::new(&onward.to, switch.settings.seed);
    let mut there =
        Handset::new(onward.callee.behaviour(person), &onward.to).on_line(&onward.callee.line(), &onward.to);
    let joined = Instant::now();
    let talk = async {
        let mut frames = interval(FRAME);
        frames.set_missed_tick_behavior(MissedTickBehavior::Burst);
        loop {
            frames.tick().await;
            let one = pass(here, opened, &mut there, joined);
            for event in here.take_log() {
                switch.log.add(&entry.order.call_id, event);
            }
            let other = pass(&mut there, joined, here, opened);
            // Speech of the target is no part of this call's record.
            there.take_log();
            if [one, other]
                .iter()
                .any(|frame| frame.hang_up || frame.drop || frame.lose)
            {
                return;
            }
        }
    };
    tokio::select! {
        () = entry.hang_up.notified() => {}
        _ = timeout_at(joined + switch.settings.longest_call, talk) => {}
    }
}

/// Passes one frame from one telephone to the other.
fn pass(from: &mut Handset, opened: Instant, to: &mut Handset, other_opened: Instant) -> Frame {
    let mut frame = from.tick(micros(opened));
    if let Some(voice) = frame.voice.take() {
        to.receive(Incoming::Audio(voice), micros(other_opened));
    }
    frame
}

/// Returns the microseconds since then.
fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}
