//! The task of one call at an Asterisk. It carries out the steps of its [`CallState`], one after the other.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use domain::ports::carrier::{
    CallProgress, CarrierCallId, CarrierError, Destination, LegReport, Transfer, TransferKind, WayBack,
};
use reqwest::StatusCode;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep, timeout_at},
};

use super::{
    account::{Media, Template},
    ari::Originate,
    call::{CallState, Happening, Listed, Step, Wait},
    cause::Gone,
    names::Part,
    switch::Switch,
};

use crate::{kind::Choice, webhooks::conferences::RINGS_SECONDS};

/// Tries of a request that Asterisk, or the node, cannot serve at the moment …
const TRIES: u32 = 4;
/// … and the first pause between two tries, which doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Time that Asterisk has to open our audio, in seconds.
const MEDIA_WITHIN_SECONDS: u64 = 5;

/// An order to a call's task.
#[derive(Debug)]
pub enum Order {
    /// Something happened to the call.
    Happening(Happening),
    /// Transfer the call.
    HandOn(Transfer, oneshot::Sender<Result<(), CarrierError>>),
    /// Use these addresses from now on, and open the audio again.
    Reopen(WayBack),
}

struct Effects<'a> {
    switch: &'a Arc<Switch>,
    call: CarrierCallId,
    back: WayBack,
}

/// The current wait and its deadline.
#[derive(Default)]
struct Patience(Option<(Wait, Instant)>);

impl Patience {
    fn until(&mut self, wait: Option<Wait>) -> Option<Instant> {
        if self.0.map(|(waits_for, _)| waits_for) != wait {
            self.0 = wait.map(|wait| (wait, Instant::now() + wait.lasts()));
        }
        Some(self.0?.1)
    }

    /// Ends the wait. If it still applies, it starts again.
    fn ends(&mut self) -> Option<Order> {
        let (wait, _) = self.0.take()?;
        Some(Order::Happening(Happening::InVain(wait)))
    }
}

/// Runs the call until it is over.
pub(super) async fn run(
    switch: &Arc<Switch>,
    call: CarrierCallId,
    back: WayBack,
    mut state: CallState,
    mut orders: mpsc::Receiver<Order>,
) {
    let (mut effects, mut patience) = (Effects { switch, call, back }, Patience::default());
    while !state.is_over() {
        let order = match patience.until(state.waits_for()) {
            None => orders.recv().await,
            Some(until) => timeout_at(until, orders.recv())
                .await
                .unwrap_or_else(|_| patience.ends()),
        };
        let happening = match order {
            None => return,
            Some(Order::Happening(Happening::Listed(listed))) => effects.looked_after(&state, listed).await,
            Some(Order::Happening(happening)) => happening,
            Some(Order::Reopen(back)) => {
                effects.back = back;
                Happening::MediaWanted
            }
            Some(Order::HandOn(transfer, reply)) => {
                let asked = effects.hand_on(&mut state, &transfer).await;
                let (answer, happening) = match asked {
                    Ok(happening) => (Ok(()), Some(happening)),
                    Err((error, happening)) => (Err(error), happening),
                };
                // Reply to the request before handling its consequences.
                let _ = reply.send(answer);
                let Some(happening) = happening else { continue };
                happening
            }
        };
        let mut happenings = VecDeque::from([happening]);
        while let Some(happening) = happenings.pop_front() {
            for step in state.on(happening) {
                happenings.extend(effects.perform(step).await);
            }
        }
    }
}

impl Effects<'_> {
    /// Carries out a step. Returns the event that follows at once, if any.
    async fn perform(&self, step: Step) -> Option<Happening> {
        let (ari, attempt) = (&self.switch.ari, self.back.attempt);
        let (bridge, names) = (self.switch.names.bridge(attempt), &self.switch.names);
        let what = format!("{step:?}");
        let done = match step {
            Step::Report(progress) => {
                self.report(progress).await;
                return None;
            }
            Step::Bridge => self.patiently(|| ari.bridge(&bridge)).await,
            Step::Join(part) => {
                let channel = self.channel(part);
                self.patiently(|| ari.join(&bridge, &channel)).await
            }
            Step::OpenMedia(n) => self.open_media(n).await,
            Step::HangUp(part) => {
                let channel = self.channel(part);
                let hung_up = self.patiently(|| ari.hang_up(&channel, "normal")).await;
                if part == Part::Call && hung_up == Err(CarrierError::NotFound) {
                    // We missed its end, or will be told of it soon.
                    return Some(Happening::Gone(part, Gone::unseen()));
                }
                hung_up
            }
            Step::StartRinging(n) => ari.start_ringing(&bridge, &names.ringing(attempt, n)).await,
            Step::StopRinging(n) => ari.stop_ringing(&names.ringing(attempt, n)).await,
            Step::Unbridge => self.patiently(|| ari.unbridge(&bridge)).await,
        };
        match done {
            // A channel that no longer exists counts as hung up.
            Ok(()) | Err(CarrierError::NotFound) => {}
            Err(error) => {
                metrics::counter!("ringback_asterisk_requests_failed_total").increment(1);
                tracing::warn!(%attempt, what, %error, "Asterisk request failed");
            }
        }
        None
    }

    /// Completes a list of channels. It may be older than a call that it does not contain, so the call is
    /// looked up before it is given up.
    async fn looked_after(&self, state: &CallState, mut listed: Listed) -> Happening {
        let is_listed = listed.channels.iter().any(|(part, _)| *part == Part::Call);
        if state.is_placed() && !is_listed {
            match self.switch.ari.channel(&self.call.0).await {
                Ok(channel) => listed.channels.push((Part::Call, channel.is_up())),
                Err(CarrierError::NotFound) => {}
                // Unknown: the next list or the end of the wait decides.
                Err(_) => listed.channels.push((Part::Call, false)),
            }
        }
        Happening::Listed(listed)
    }

    fn channel(&self, part: Part) -> String {
        match part {
            Part::Call => self.call.0.clone(),
            part => self.switch.names.channel(self.back.attempt, part),
        }
    }

    /// Retries a request while Asterisk is unavailable.
    async fn patiently<F: Future<Output = Result<(), CarrierError>>>(
        &self,
        request: impl Fn() -> F,
    ) -> Result<(), CarrierError> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..TRIES {
            match request().await {
                Err(CarrierError::Unavailable(_)) => sleep(pause).await,
                settled => return settled,
            }
            pause *= 2;
        }
        request().await
    }

    async fn report(&self, progress: CallProgress) {
        let Some(link) = self.switch.link() else { return };
        let attempt = self.back.attempt.to_string();
        let mut pause = FIRST_PAUSE;
        for _ in 0..TRIES {
            let report = LegReport {
                call: Some(self.call.clone()),
                progress: progress.clone(),
            };
            let answer = link.report(&attempt, self.back.status_token.clone(), report).await;
            if answer.status() != StatusCode::SERVICE_UNAVAILABLE {
                return;
            }
            sleep(pause).await;
            pause *= 2;
        }
        tracing::warn!(attempt, ?progress, "report not delivered");
    }

    /// Has Asterisk open our audio. A lost response does no harm: the channel arrives, or the call asks again.
    async fn open_media(&self, n: u32) -> Result<(), CarrierError> {
        let back = &self.back;
        let (endpoint, formats) = match &self.switch.ari.account().media {
            Media::WebSocket { client, codec } => {
                let token = format!("{}.{}", back.attempt, back.media_token);
                (
                    format!("WebSocket/{client}/c({})v(token={token})", codec.name()),
                    codec.name(),
                )
            }
            Media::AudioSocket { reached_at, .. } => {
                let ticket = self.switch.tickets.issue(back);
                (format!("AudioSocket/{reached_at}/{ticket}"), "slin")
            }
        };
        let media = Originate {
            channel: self.channel(Part::Media(n)),
            endpoint,
            caller: None,
            ring_seconds: MEDIA_WITHIN_SECONDS,
            formats: Some(formats),
            attempt: back.attempt,
        };
        self.switch.ari.originate(&media).await
    }

    /// Transfers the call. Returns the event that follows for the line, even if the transfer was refused.
    async fn hand_on(
        &self,
        state: &mut CallState,
        transfer: &Transfer,
    ) -> Result<Happening, (CarrierError, Option<Happening>)> {
        let account = self.switch.ari.account();
        if transfer.kind == TransferKind::SipRefer {
            let refused = |error| (error, None);
            state.may_refer().map_err(refused)?;
            let endpoint = refer_to(account.refer.as_ref(), transfer).map_err(refused)?;
            self.switch
                .ari
                .redirect(&self.call.0, &endpoint)
                .await
                .map_err(refused)?;
            return Ok(Happening::Referred);
        }
        let n = state.hand_on(transfer.kind).map_err(|error| (error, None))?;
        let from = transfer.from.as_ref().or(account.from.as_ref());
        let peer = Originate {
            channel: self.channel(Part::Peer(n)),
            endpoint: match &transfer.to {
                Destination::Phone(number) => account.endpoint.with(number),
                Destination::Sip(address) => account.endpoint.with_sip(address),
            },
            caller: from.map(|number| number.as_str().to_owned()),
            ring_seconds: RINGS_SECONDS,
            formats: None,
            attempt: self.back.attempt,
        };
        match self.switch.ari.originate(&peer).await {
            Ok(()) => Ok(Happening::PeerPlaced(n)),
            Err(error) => Err((error, Some(Happening::PeerRefused(n)))),
        }
    }
}

/// Returns the endpoint that the far end is asked to call.
fn refer_to(template: Option<&Template>, transfer: &Transfer) -> Result<String, CarrierError> {
    match &transfer.to {
        Destination::Sip(address) => Ok(format!("PJSIP/{address}")),
        Destination::Phone(number) => match template {
            Some(template) => Ok(format!("PJSIP/{}", template.with(number))),
            None => Err(CarrierError::Refused(
                "SIP REFER needs ASTERISK_REFER for a phone number: set it, or use a sip: address".to_owned(),
            )),
        },
    }
}
