//! What a call asks of the carrier and of the model, as tasks whose results come back as messages.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt};
use ractor::ActorRef;
use tokio::time::{Instant, sleep, timeout};

use super::CallMessage;
use crate::{
    audio_stream::StreamMessage,
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::{
        carrier::{Carrier, CarrierCallId, CarrierError, DialError, DialRequest, ListedCall, Transfer, WayBack},
        language_model::{LanguageError, LanguageModel, ReplyRequest},
        store::{Claim, PermitRequest, Store, StoreError},
    },
    time::Timestamp,
};

/// A permit may be used this long after it was asked for.
pub(super) const SEND_WITHIN: Duration = Duration::from_secs(5);

/// The store's and the carrier's own limits are shorter; these hold when those fail.
const PERMIT_WITHIN: Duration = Duration::from_secs(30);
const DIAL_WITHIN: Duration = Duration::from_secs(15);

/// Tries of one hang-up: half a minute of pauses in all.
const HANG_UP_TRIES: u32 = 8;

/// When a lost dial is looked up, after it was lost and then again and again.
const LOOK_UP_FIRST: Duration = Duration::from_secs(15);
const LOOK_UP_EVERY: Duration = Duration::from_secs(30);
const LOOK_UPS: u32 = 4;

/// The carrier has so long for a hang-up or a listing, should its own limit fail.
const CARRIER_WITHIN: Duration = Duration::from_secs(15);

/// Wishes for a lost media socket, and the pause between two.
const REOPEN_TRIES: u32 = 4;
const REOPEN_PAUSE: Duration = Duration::from_millis(500);

/// How long the model has for its first piece, the providers it falls back on included (4 s each), and for each further
/// one. A tool's arguments come in one piece, and a slow machine takes seconds to write them.
const FIRST_PIECE: Duration = Duration::from_secs(12);
const NEXT_PIECE: Duration = Duration::from_secs(6);

/// Asks for the permit.
pub(super) async fn ask_permit(store: Arc<dyn Store>, claim: Claim, request: PermitRequest, me: ActorRef<CallMessage>) {
    let unavailable = |why: &str| Err(StoreError::Unavailable(why.to_owned()));
    let asked = AssertUnwindSafe(store.permit(claim, request)).catch_unwind();
    let answer = match timeout(PERMIT_WITHIN, asked).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => unavailable("the permit request crashed"),
        Err(_) => unavailable("no answer to the permit request"),
    };
    let _ = me.cast(CallMessage::Permitted(answer));
}

/// Sends the one dial request, if there is still time.
pub(super) async fn dial(
    carrier: Arc<dyn Carrier>,
    request: DialRequest,
    permit_asked: Instant,
    me: ActorRef<CallMessage>,
) {
    let result = if permit_asked.elapsed() < SEND_WITHIN {
        let sent = AssertUnwindSafe(carrier.dial(&request)).catch_unwind();
        match timeout(DIAL_WITHIN, sent).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(DialError::Unknown("the dial request crashed".into())),
            Err(_) => Err(DialError::Unknown("no answer to the dial request".into())),
        }
    } else {
        Err(DialError::Unreachable("the permit is too old to be used".into()))
    };
    let _ = me.cast(CallMessage::Dialed(result));
}

/// Where a leg is found whose id is not known.
#[derive(Clone)]
pub(super) struct LegSearch {
    pub(super) attempt: AttemptId,
    pub(super) to: PhoneNumber,
    pub(super) since: Timestamp,
}

impl LegSearch {
    /// The live call the carrier placed for this attempt. One that bears another attempt's mark is not ours; without
    /// marks only a single candidate is.
    fn pick(&self, listed: &[ListedCall]) -> Option<CarrierCallId> {
        let live = || listed.iter().filter(|call| call.live);
        if let Some(ours) = live().find(|call| call.attempt == Some(self.attempt)) {
            return Some(ours.call.clone());
        }
        let mut unmarked = live().filter(|call| call.attempt.is_none());
        match (unmarked.next(), unmarked.next()) {
            (Some(only), None) => Some(only.call.clone()),
            _ => None,
        }
    }

    async fn find(&self, carrier: &Arc<dyn Carrier>) -> Result<Option<CarrierCallId>, CarrierError> {
        let listed = in_time(carrier.find_calls(&self.to, self.since)).await?;
        Ok(self.pick(&listed))
    }
}

async fn in_time<T>(asked: impl Future<Output = Result<T, CarrierError>>) -> Result<T, CarrierError> {
    let late = |_| Err(CarrierError::Unavailable("no answer to the request".into()));
    timeout(CARRIER_WITHIN, asked).await.unwrap_or_else(late)
}

/// Looks for the call of a lost dial; a find comes back as if the carrier had answered the dial.
pub(super) async fn look_up(carrier: Arc<dyn Carrier>, search: LegSearch, me: ActorRef<CallMessage>) {
    sleep(LOOK_UP_FIRST).await;
    for _ in 0..LOOK_UPS {
        match search.find(&carrier).await {
            Ok(Some(id)) => {
                let _ = me.cast(CallMessage::Dialed(Ok(id)));
                return;
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(attempt = %search.attempt, %error, "lost dial not looked up"),
        }
        sleep(LOOK_UP_EVERY).await;
    }
}

/// Ends a leg, trying again while the carrier is not well.
pub(super) async fn hang_up(carrier: Arc<dyn Carrier>, leg: Option<CarrierCallId>, search: LegSearch) {
    let mut pause = Duration::from_millis(250);
    for _ in 0..HANG_UP_TRIES {
        let result = match &leg {
            Some(id) => in_time(carrier.hang_up(id)).await,
            None => match search.find(&carrier).await {
                Ok(Some(id)) => in_time(carrier.hang_up(&id)).await,
                Ok(None) => return,
                Err(error) => Err(error),
            },
        };
        match result {
            Ok(()) | Err(CarrierError::NotFound) => return,
            Err(error) => tracing::warn!(attempt = %search.attempt, %error, "leg not hung up yet"),
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(8));
    }
    tracing::error!(attempt = %search.attempt, "leg not hung up, given up");
}

/// Asks for the call to be handed on, once: nobody knows what a second wish would do.
pub(super) async fn transfer(
    carrier: Arc<dyn Carrier>,
    leg: CarrierCallId,
    transfer: Transfer,
    try_no: u32,
    me: ActorRef<CallMessage>,
) {
    let asked = AssertUnwindSafe(in_time(carrier.transfer(&leg, &transfer))).catch_unwind();
    let crashed = |_| Err(CarrierError::Unavailable("the request crashed".into()));
    let answer = asked.await.unwrap_or_else(crashed);
    let _ = me.cast(CallMessage::TransferAsked { try_no, answer });
}

/// Asks for a lost media socket, again while the carrier is not well. Only what is in vain is reported: the socket itself
/// is the answer.
pub(super) async fn reopen_media(
    carrier: Arc<dyn Carrier>,
    leg: CarrierCallId,
    back: WayBack,
    try_no: u32,
    me: ActorRef<CallMessage>,
) {
    for _ in 0..REOPEN_TRIES {
        let asked = AssertUnwindSafe(in_time(carrier.reopen_media(&leg, &back))).catch_unwind();
        match asked.await {
            Ok(Ok(())) => return,
            Ok(Err(CarrierError::Unavailable(error))) => {
                tracing::warn!(attempt = %back.attempt, error, "lost media socket not opened again yet");
            }
            Ok(Err(error)) => {
                tracing::info!(attempt = %back.attempt, %error, "lost media socket not opened again");
                break;
            }
            Err(_) => break,
        }
        sleep(REOPEN_PAUSE).await;
    }
    let _ = me.cast(CallMessage::NotReopened { try_no });
}

/// Presses keys by the carrier; should that fail, as tones.
pub(super) async fn press(
    carrier: Arc<dyn Carrier>,
    leg: CarrierCallId,
    keys: String,
    stream: Option<ActorRef<StreamMessage>>,
) {
    let asked = AssertUnwindSafe(in_time(carrier.send_digits(&leg, &keys))).catch_unwind();
    if matches!(asked.await, Ok(Ok(()))) {
        return;
    }
    tracing::warn!("the carrier does not press keys: played as tones");
    if let Some(stream) = stream {
        // It may be over.
        let _ = stream.cast(StreamMessage::Press(keys));
    }
}

/// Streams a reply as messages of `generation`.
pub(super) async fn reply(
    model: Arc<dyn LanguageModel>,
    request: ReplyRequest,
    generation: u64,
    me: ActorRef<CallMessage>,
) {
    let stream = AssertUnwindSafe(stream_reply(&model, request, generation, &me));
    if stream.catch_unwind().await.is_err() {
        let error = LanguageError::Protocol("the language model's client crashed".into());
        let event = Some(Err(error));
        let _ = me.cast(CallMessage::Reply { generation, event });
    }
}

async fn stream_reply(
    model: &Arc<dyn LanguageModel>,
    request: ReplyRequest,
    generation: u64,
    me: &ActorRef<CallMessage>,
) {
    let mut pieces = model.reply(request);
    let mut patience = FIRST_PIECE;
    loop {
        let event = match timeout(patience, pieces.next()).await {
            Ok(event) => event,
            Err(_) => Some(Err(LanguageError::Unavailable(format!(
                "nothing came within {} s",
                patience.as_secs()
            )))),
        };
        let over = !matches!(event, Some(Ok(_)));
        if me.cast(CallMessage::Reply { generation, event }).is_err() || over {
            return;
        }
        patience = NEXT_PIECE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(id: &str, attempt: Option<AttemptId>, live: bool) -> ListedCall {
        ListedCall {
            call: CarrierCallId(id.into()),
            attempt,
            to: "+15550001111".into(),
            live,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_carrier_that_never_answers_is_not_waited_for_for_ever() {
        let asked = Instant::now();
        let result = in_time(std::future::pending::<Result<(), _>>()).await;
        assert!(matches!(result, Err(CarrierError::Unavailable(_))));
        assert_eq!(asked.elapsed(), CARRIER_WITHIN);
    }

    #[test]
    fn only_a_leg_that_is_surely_ours_is_picked() {
        let search = LegSearch {
            attempt: AttemptId::new(),
            to: PhoneNumber::parse("+15550001111").unwrap(),
            since: Timestamp(0),
        };
        let ours = Some(search.attempt);
        let other = Some(AttemptId::new());
        let found = |calls: &[ListedCall]| search.pick(calls).map(|id| id.0);
        assert_eq!(
            found(&[listed("a", None, true), listed("b", ours, true)]),
            Some("b".into())
        );
        assert_eq!(found(&[listed("a", other, true)]), None);
        assert_eq!(found(&[listed("a", ours, false)]), None);
        assert_eq!(found(&[listed("a", None, true)]), Some("a".into()));
        assert_eq!(found(&[listed("a", None, true), listed("b", None, true)]), None);
    }
}
