//! The task of one call at an Asterisk: asks for what its [`Line`] wants done, one thing after the other.

use std::{sync::Arc, time::Duration};

use actors::ports::carrier::{
    CallProgress, CarrierCallId, CarrierError, Destination, LegReport, Transfer, TransferKind, WayBack,
};
use reqwest::StatusCode;
use serde_json::json;
use tokio::{
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};

use super::{
    account::{Media, Template},
    ari::Originate,
    line::{Happening, Line, Step},
    names::Part,
    switch::Switch,
};

/// A call whose dial came to nothing that anybody knows of is forgotten after this.
const UNPLACED_FOR: Duration = Duration::from_secs(15 * 60);
/// How often something is tried that Asterisk, or the node, cannot do at the moment …
const TRIES: u32 = 4;
/// … and the first pause between two tries, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// How long whom a call is handed on to may be rung, in seconds.
const PEER_RINGS_SECONDS: u64 = 30;
/// How long Asterisk may take to open our audio, in seconds.
const MEDIA_WITHIN_SECONDS: u64 = 5;

/// What a call's task is asked for.
#[derive(Debug)]
pub enum Order {
    /// Something happened.
    Happening(Happening),
    /// Hand the call on.
    HandOn(Transfer, oneshot::Sender<Result<(), CarrierError>>),
    /// The addresses of the call are these from now on, and it wants its audio again.
    Reopen(WayBack),
}

struct Performer<'a> {
    switch: &'a Arc<Switch>,
    call: CarrierCallId,
    back: WayBack,
}

/// Serves a call until it is over.
pub(super) async fn run(
    switch: &Arc<Switch>,
    (call, back): (CarrierCallId, WayBack),
    mut line: Line,
    mut orders: mpsc::Receiver<Order>,
) {
    let mut performer = Performer { switch, call, back };
    loop {
        let order = match line.is_placed() {
            true => orders.recv().await,
            false => timeout(UNPLACED_FOR, orders.recv()).await.unwrap_or(None),
        };
        let happening = match order {
            None => return,
            Some(Order::Happening(happening)) => happening,
            Some(Order::Reopen(back)) => {
                performer.back = back;
                Happening::MediaWanted
            }
            Some(Order::HandOn(transfer, reply)) => {
                let asked = performer.hand_on(&mut line, &transfer).await;
                let (answer, happening) = match asked {
                    Ok(happening) => (Ok(()), Some(happening)),
                    Err((error, happening)) => (Err(error), happening),
                };
                // The wish is taken before its consequences are seen to.
                let _ = reply.send(answer);
                let Some(happening) = happening else { continue };
                happening
            }
        };
        for step in line.on(happening) {
            performer.perform(step).await;
        }
        if line.is_over() {
            return;
        }
    }
}

impl Performer<'_> {
    async fn perform(&self, step: Step) {
        let (ari, attempt) = (&self.switch.ari, self.back.attempt);
        let (bridge, names) = (self.switch.names.bridge(attempt), &self.switch.names);
        let what = format!("{step:?}");
        let done = match step {
            Step::Report(progress) => return self.report(progress).await,
            Step::Bridge => self.patiently(|| ari.bridge(&bridge)).await,
            Step::Join(part) => {
                let channel = self.channel(part);
                self.patiently(|| ari.join(&bridge, &channel)).await
            }
            Step::OpenMedia(n) => self.open_media(n).await,
            Step::HangUp(part) => {
                let channel = self.channel(part);
                self.patiently(|| ari.hang_up(&channel, "normal")).await
            }
            Step::StartRinging(n) => ari.start_ringing(&bridge, &names.ringing(attempt, n)).await,
            Step::StopRinging(n) => ari.stop_ringing(&names.ringing(attempt, n)).await,
            Step::Unbridge => self.patiently(|| ari.unbridge(&bridge)).await,
        };
        match done {
            // Gone is as good as hung up.
            Ok(()) | Err(CarrierError::NotFound) => {}
            Err(error) => {
                metrics::counter!("ringback_asterisk_requests_failed_total").increment(1);
                tracing::warn!(%attempt, what, %error, "Asterisk did not do what a call needs");
            }
        }
    }

    fn channel(&self, part: Part) -> String {
        match part {
            Part::Call => self.call.0.clone(),
            part => self.switch.names.channel(self.back.attempt, part),
        }
    }

    /// Tries again what may be tried again.
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
        let Some(door) = self.switch.door() else { return };
        let attempt = self.back.attempt.to_string();
        let mut pause = FIRST_PAUSE;
        for _ in 0..TRIES {
            let report = LegReport {
                call: Some(self.call.clone()),
                progress: progress.clone(),
            };
            let answer = door.report(&attempt, self.back.status_token.clone(), report).await;
            if answer.status() != StatusCode::SERVICE_UNAVAILABLE {
                return;
            }
            sleep(pause).await;
            pause *= 2;
        }
        tracing::warn!(attempt, ?progress, "the node takes no report");
    }

    /// Has Asterisk open our audio. An answer that is lost does no harm: the channel comes, or the call asks again.
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
            variables: json!({ "RINGBACK_ATTEMPT": back.attempt.to_string() }),
        };
        self.switch.ari.originate(&media).await
    }

    /// Hands the call on: what follows for its line, even where it was not taken.
    async fn hand_on(
        &self,
        line: &mut Line,
        transfer: &Transfer,
    ) -> Result<Happening, (CarrierError, Option<Happening>)> {
        let account = self.switch.ari.account();
        if transfer.kind == TransferKind::SipRefer {
            let refused = |error| (error, None);
            line.may_refer().map_err(refused)?;
            let endpoint = refer_to(account.refer.as_ref(), transfer).map_err(refused)?;
            self.switch
                .ari
                .redirect(&self.call.0, &endpoint)
                .await
                .map_err(refused)?;
            return Ok(Happening::Referred);
        }
        let n = line.hand_on(transfer.kind).map_err(|error| (error, None))?;
        let from = transfer.from.as_ref().or(account.from.as_ref());
        let peer = Originate {
            channel: self.channel(Part::Peer(n)),
            endpoint: match &transfer.to {
                Destination::Phone(number) => account.endpoint.with(number),
                Destination::Sip(address) => account.endpoint.with_sip(address),
            },
            caller: from.map(|number| number.as_str().to_owned()),
            ring_seconds: PEER_RINGS_SECONDS,
            formats: None,
            variables: json!({ "RINGBACK_ATTEMPT": self.back.attempt.to_string() }),
        };
        match self.switch.ari.originate(&peer).await {
            Ok(()) => Ok(Happening::PeerPlaced(n)),
            Err(error) => Err((error, Some(Happening::PeerRefused(n)))),
        }
    }
}

/// What the far end of a call is asked to call.
fn refer_to(template: Option<&Template>, transfer: &Transfer) -> Result<String, CarrierError> {
    match &transfer.to {
        Destination::Sip(address) => Ok(format!("PJSIP/{address}")),
        Destination::Phone(number) => match template {
            Some(template) => Ok(format!("PJSIP/{}", template.with(number))),
            None => Err(CarrierError::Refused(
                "a number cannot be handed on to by SIP REFER: set ASTERISK_REFER, or name a sip: address".to_owned(),
            )),
        },
    }
}
