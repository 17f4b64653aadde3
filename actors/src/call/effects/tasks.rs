//! The call's requests to the carrier and the model, as tasks whose results come back as messages.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt};
use ractor::ActorRef;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use crate::call::{
    knowledge::CallKnowledge,
    leg_search::{LegSearch, in_time},
    message::CallMessage,
    phrase_book::PhraseBook,
    state::{AgentUnavailable, Event, ToolAnswer},
};
use crate::{audio_stream::StreamMessage, dial_gate::DialGate, supervision::Retried};
use domain::{
    agent::{Agent, complete},
    id::{AccountId, AgentId},
    ports::{
        analyst::Analyst,
        carrier::{Carrier, CarrierCallId, CarrierError, DialError, DialRequest, LastLook, Transfer, WayBack},
        language_model::{LanguageError, LanguageModel, ReplyRequest},
        store::{Claim, PermitRequest, Store, StoreError, agent_for_calls},
        tool_runner::{ToolFault, ToolOffer, ToolRun, ToolRunner, ToolScope},
        usage::Meter,
    },
    template::{self, Place},
    time::{Clock, Timestamp},
};

/// Time limit for a permit, in case the store's own shorter limit fails.
const PERMIT_WITHIN: Duration = Duration::from_secs(30);
/// Time limit for a dial, in case the carrier client's own shorter limit fails.
const DIAL_WITHIN: Duration = Duration::from_secs(15);

/// Tries of one hang-up: half a minute of pauses in all.
const HANG_UP_TRIES: u32 = 8;

/// Number of look-ups of a lost dial.
const LOOK_UPS: u32 = 4;

/// Look-ups without a result after which a lost dial counts as not placed. One is not enough, since a request
/// may have been in progress at the first.
const LOOKED_IN_VAIN: u32 = 2;

/// Number of requests for a lost media socket.
const REOPEN_TRIES: u32 = 4;
/// Pause between these requests.
const REOPEN_PAUSE: Duration = Duration::from_millis(500);

/// Time limit for the model's first piece, including its fallback providers (4 s each).
const FIRST_PIECE: Duration = Duration::from_secs(12);
/// Time limit for each further piece. A tool's arguments come in one piece, and a slow machine takes seconds to write
/// them.
const NEXT_PIECE: Duration = Duration::from_secs(6);

/// Number of tries to ask which tools an agent may use.
const OFFER_TRIES: u32 = 5;
/// Time limit of each try.
const OFFERS_WITHIN: Duration = Duration::from_secs(3);
/// Pause between these tries.
const OFFER_PAUSE: Duration = Duration::from_secs(1);

/// Time limit for looking up another agent.
const AGENT_WITHIN: Duration = Duration::from_secs(3);

/// Outside tools that the present agent may use. `None` until they are known.
pub(super) type Offers = watch::Receiver<Option<Arc<[ToolOffer]>>>;

/// Conditions that a dial must still meet when it is sent.
pub(super) struct InTime {
    pub(super) gate: DialGate,
    pub(super) clock: Arc<dyn Clock>,
    /// Time of the permit request, by the monotonic clock, which stops while a machine sleeps, and by the wall clock.
    pub(super) asked: (Instant, Timestamp),
    pub(super) within: Duration,
}

impl InTime {
    /// Returns why the dial must not be sent any more, or `None` while it may.
    pub(super) fn refusal(&self) -> Option<String> {
        let (asked, wall) = self.asked;
        if asked.elapsed().max(self.clock.now().since(wall)) >= self.within {
            return Some("the permit is too old to be used".to_owned());
        }
        self.gate
            .holds_back()
            .map(|why| format!("this node does not dial: {why}"))
    }
}

/// Asks for the permit, if this process may dial.
pub(super) async fn ask_permit(
    store: Arc<dyn Store>,
    (claim, request): (Claim, PermitRequest),
    gate: DialGate,
    me: ActorRef<CallMessage>,
) {
    let unavailable = |why: &str| Err(StoreError::Unavailable(why.to_owned()));
    if let Some(why) = gate.holds_back() {
        let _ = me.cast(CallMessage::Permitted(unavailable(&why.to_string())));
        return;
    }
    let asked = AssertUnwindSafe(store.permit(claim, request)).catch_unwind();
    let answer = match timeout(PERMIT_WITHIN, asked).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => unavailable("the permit request crashed"),
        Err(_) => unavailable("no answer to the permit request"),
    };
    let _ = me.cast(CallMessage::Permitted(answer));
}

/// Sends the one dial request if there is still time. The carrier checks again once everything it waits for is there.
pub(super) async fn dial(
    carrier: Arc<dyn Carrier>,
    mut request: DialRequest,
    in_time: InTime,
    me: ActorRef<CallMessage>,
) {
    request.last_look = LastLook::new(move || in_time.refusal());
    let result = if let Some(why) = request.last_look.refusal() {
        Err(DialError::HeldBack(why))
    } else {
        let sent = AssertUnwindSafe(carrier.dial(&request)).catch_unwind();
        match timeout(DIAL_WITHIN, sent).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(DialError::Unknown("the dial request crashed".into())),
            Err(_) => Err(DialError::Unknown("no answer to the dial request".into())),
        }
    };
    let _ = me.cast(CallMessage::Dialed(result));
}

/// Looks for the call of a lost dial, after `first` and then after pauses that double. A call that is found
/// is reported like the carrier's answer to the dial. If twice nothing of it rings or talks, the dial counts
/// as not placed.
pub(super) async fn look_up(carrier: Arc<dyn Carrier>, search: LegSearch, first: Duration, me: ActorRef<CallMessage>) {
    sleep(first).await;
    let mut over = 0;
    for _ in 0..LOOK_UPS {
        match search.look(&*carrier).await {
            Ok(sighting) => {
                if let Some(id) = sighting.live() {
                    let _ = me.cast(CallMessage::Dialed(Ok(id.clone())));
                    return;
                }
                over += u32::from(sighting.is_over());
            }
            // Only a callback can tell.
            Err(CarrierError::NotOffered(_)) => return,
            Err(error) => tracing::warn!(attempt = %search.attempt(), %error, "look-up of lost dial failed"),
        }
        if over == LOOKED_IN_VAIN {
            let _ = me.cast(CallMessage::Happened(Event::NotPlaced));
            return;
        }
        sleep(first * 2).await;
    }
}

/// Hangs up a leg, and retries while the carrier is unhealthy.
pub(super) async fn hang_up(carrier: Arc<dyn Carrier>, leg: Option<CarrierCallId>, search: LegSearch) {
    let mut pause = Duration::from_millis(250);
    let mut request = Retried::new("hang-up", search.attempt());
    for _ in 0..HANG_UP_TRIES {
        let result = match &leg {
            Some(id) => in_time(carrier.hang_up(id)).await,
            None => match search.look(&*carrier).await.map(|seen| seen.live().cloned()) {
                Ok(Some(id)) => in_time(carrier.hang_up(&id)).await,
                Ok(None) => return,
                Err(error) => Err(error),
            },
        };
        match result {
            Ok(()) | Err(CarrierError::NotFound) => {
                request.succeeded();
                return;
            }
            Err(error) => drop(request.failed(&error)),
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(8));
    }
    request.given_up();
}

/// Asks the carrier to transfer the call, once, since the effect of a second request is unknown.
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

/// Asks for a lost media socket, and retries while the carrier is unhealthy. Only failure is reported;
/// success is the socket itself.
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
                tracing::warn!(attempt = %back.attempt, error, "reopening the media socket failed, retrying");
            }
            Ok(Err(error)) => {
                tracing::info!(attempt = %back.attempt, %error, "reopening the media socket given up");
                break;
            }
            Err(_) => break,
        }
        sleep(REOPEN_PAUSE).await;
    }
    let _ = me.cast(CallMessage::Happened(Event::NotReopened { try_no }));
}

/// Presses keys through the carrier, or as tones if the carrier does not press them. If the carrier's answer
/// was lost, the keys may have been pressed and are not pressed again.
pub(super) async fn press(
    carrier: Arc<dyn Carrier>,
    leg: CarrierCallId,
    keys: String,
    stream: Option<ActorRef<StreamMessage>>,
) {
    let asked = AssertUnwindSafe(in_time(carrier.send_digits(&leg, &keys))).catch_unwind();
    match asked.await {
        Ok(Ok(())) => return,
        Ok(Err(error @ (CarrierError::NotOffered(_) | CarrierError::Refused(_) | CarrierError::NotFound))) => {
            tracing::warn!(%error, "carrier did not press keys, playing tones");
        }
        Ok(Err(error)) => return tracing::warn!(%error, "carrier's answer to keys lost, not pressed again"),
        Err(_) => return tracing::error!("pressing keys crashed"),
    }
    if let Some(stream) = stream {
        // The stream may be over.
        let _ = stream.cast(StreamMessage::Press(keys));
    }
}

/// Returns the offered tools once they are known. Replies that asked earlier are answered afterwards.
async fn known(mut offers: Offers) -> Arc<[ToolOffer]> {
    match timeout(OFFERS_WITHIN, offers.wait_for(Option::is_some)).await {
        Ok(Ok(known)) => known.clone().unwrap_or_default(),
        Ok(Err(_)) | Err(_) => Arc::default(),
    }
}

/// Returns the tools with the placeholders of their descriptions filled in; the shared list if there are none.
async fn filled(offers: Offers, variables: Arc<BTreeMap<String, String>>) -> Arc<[ToolOffer]> {
    let offers = known(offers).await;
    if offers
        .iter()
        .all(|offer| template::placeholders(&offer.description).is_empty())
    {
        return offers;
    }
    let filled = offers.iter().map(|offer| ToolOffer {
        description: template::render(Place::ToolDescription, &offer.description, &variables),
        ..offer.clone()
    });
    filled.collect()
}

/// Asks which outside tools the agent may use, and retries on failure. Without an answer, there are none.
pub(super) async fn ask_for_tools(
    runner: Arc<dyn ToolRunner>,
    scope: ToolScope,
    (generation, known): (u64, watch::Sender<Option<Arc<[ToolOffer]>>>),
    me: ActorRef<CallMessage>,
) {
    let mut offers: Arc<[ToolOffer]> = Arc::default();
    for _ in 0..OFFER_TRIES {
        let asked = AssertUnwindSafe(runner.offered(&scope)).catch_unwind();
        match timeout(OFFERS_WITHIN, asked).await {
            Ok(Ok(Ok(found))) => {
                offers = found.into();
                break;
            }
            Ok(Ok(Err(error))) => {
                tracing::warn!(attempt = %scope.attempt, %error, "tool look-up failed");
            }
            Ok(Err(_)) => tracing::error!(attempt = %scope.attempt, "tool look-up crashed"),
            Err(_) => tracing::warn!(attempt = %scope.attempt, "tool look-up timed out"),
        }
        sleep(OFFER_PAUSE).await;
    }
    let told = offers.clone();
    let _ = me.cast(CallMessage::ToolsOffered { generation, offers });
    known.send_replace(Some(told));
}

/// Looks up the agent that will take the call over, after a pause.
pub(super) async fn look_up_agent(
    store: Arc<dyn Store>,
    (account, id): (AccountId, AgentId),
    after_ms: u64,
    try_no: u32,
    me: ActorRef<CallMessage>,
) {
    sleep(Duration::from_millis(after_ms)).await;
    let asked = AssertUnwindSafe(agent_for_calls(&*store, account, id)).catch_unwind();
    let found = match timeout(AGENT_WITHIN, asked).await {
        Ok(Ok(Ok(row))) => complete(&row.document).map_err(|error| AgentUnavailable::Unreadable(error.to_string())),
        Ok(Ok(Err(error))) => Err(error.into()),
        Ok(Err(_)) => Err(AgentUnavailable::Crashed),
        Err(_) => Err(AgentUnavailable::NoAnswer),
    };
    let found = found.map(|agent| (id, Arc::new(agent)));
    let _ = me.cast(CallMessage::AgentFound { try_no, found });
}

/// Has fixed sentences made in an agent's language. If no model can be asked, the next call tries again.
pub(super) async fn make_phrases(
    book: PhraseBook,
    analyst: Arc<dyn Analyst>,
    (agent, meter): (Arc<Agent>, Meter),
    me: ActorRef<CallMessage>,
) {
    match book.make(&*analyst, &agent, &meter).await {
        Ok(()) => drop(me.cast(CallMessage::PhrasesMade)),
        Err(error) => {
            let language = &agent.conversation_config.agent.primary_language;
            tracing::warn!(language, %error, "no fixed phrases made, English ones stay for this call");
        }
    }
}

/// Runs a tool. The result is reported in any case.
pub(super) async fn run_tool(runner: Arc<dyn ToolRunner>, run: ToolRun, me: ActorRef<CallMessage>) {
    let (number, within, begun) = (run.number, run.offer.within, Instant::now());
    let asked = AssertUnwindSafe(runner.run(run)).catch_unwind();
    let result = match timeout(within, asked).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(ToolFault::Failed("it crashed".into())),
        Err(_) => Err(ToolFault::TimedOut(within)),
    };
    let answer = ToolAnswer {
        run: number,
        result: result.map_err(|fault| fault.to_string()),
        took_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    };
    let _ = me.cast(CallMessage::Happened(Event::ToolAnswered(answer)));
}

/// Searches the agent's knowledge for the last words, looks up its tools, then streams a reply as messages of
/// `generation`. In a test call it also reports the passages.
pub(super) async fn reply(
    (model, knowledge): (Arc<dyn LanguageModel>, CallKnowledge),
    (mut request, offers): (ReplyRequest, Offers),
    (generation, is_test): (u64, bool),
    me: ActorRef<CallMessage>,
) {
    let offers = filled(offers, request.variables.clone());
    (request.tools, request.knowledge) = tokio::join!(offers, knowledge.find(&request.history));
    if is_test {
        let passages = request.knowledge.clone().given();
        let _ = me.cast(CallMessage::KnowledgeGiven { generation, passages });
    }
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
