//! Places, ends, lists and changes calls through Telnyx's Call Control, version 2.
//!
//! Source: <https://developers.telnyx.com/api-reference/call-commands/dial>

use async_trait::async_trait;
use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{
        Carrier, CarrierAbilities, CarrierCallId, CarrierError, Destination, DialError, DialRequest, InboundRefusal,
        LastLook, ListedCall, Transfer, TransferKind, WayBack,
    },
    time::Timestamp,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    account::{NAME, TelnyxAccount},
    api::{Api, Call, Reports, Stream, wish},
    mark,
    ways::Ways,
};
use crate::{
    http::{self, SetupError},
    webhooks::{
        StreamTokens,
        conferences::{self, Joins, RINGS_SECONDS},
        handovers::{Handovers, Joining, Try},
    },
};

/// Maximum pages of a list: 10,000 concurrent calls.
const PAGES: usize = 40;
/// Ring times that Telnyx accepts, in seconds.
const RING_SECONDS: std::ops::RangeInclusive<u64> = 5..=600;
/// Length of a key press, in milliseconds. This is Telnyx's default.
const KEY_MS: u32 = 250;

/// An account at Telnyx.
#[derive(Debug)]
pub struct TelnyxCarrier {
    api: Api,
    pub(super) handovers: Handovers,
    pub(super) ways: Ways,
}

/// Request body of a dial.
#[derive(Serialize)]
struct Dial<'a> {
    connection_id: &'a str,
    to: &'a str,
    from: &'a str,
    timeout_secs: u64,
    /// Telnyx ignores a repeat with the same id within 60 s. The client never repeats, but a proxy might.
    command_id: String,
    #[serde(flatten)]
    reports: Reports,
    #[serde(flatten)]
    stream: Stream,
    /// Mode in which Telnyx reports who answered, and when a mailbox has beeped.
    #[serde(skip_serializing_if = "Option::is_none")]
    answering_machine_detection: Option<&'static str>,
}

/// Variable that sets the caller ID.
const CALLER_ID: &str = "TELNYX_PHONE_NUMBER";

impl TelnyxCarrier {
    /// Creates the client of an account. Telnyx reaches this node at `public`.
    pub fn new(account: TelnyxAccount, public: &str, tokens: StreamTokens) -> Result<Self, SetupError> {
        Ok(Self {
            api: Api::new(account, public, tokens)?,
            handovers: Handovers::default(),
            ways: Ways::default(),
        })
    }

    fn order<'a>(&'a self, request: &'a DialRequest, from: &'a PhoneNumber, back: &WayBack) -> Dial<'a> {
        let (shortest, longest) = RING_SECONDS.into_inner();
        Dial {
            connection_id: &self.api.account.connection,
            to: request.to.as_str(),
            from: from.as_str(),
            timeout_secs: request.ring_timeout.as_secs().clamp(shortest, longest),
            command_id: request.attempt.to_string(),
            reports: self.api.reports(back),
            stream: self.api.stream(back),
            answering_machine_detection: request.detect_machine.then_some(self.api.account.machines.word()),
        }
    }

    /// Answers an inbound call. The command has no field for the token and the sample rate of a stream, so the
    /// stream is requested separately.
    pub(crate) async fn answer(&self, call: &CarrierCallId, back: &WayBack) -> Result<(), CarrierError> {
        let command = json!({ "command_id": format!("{}-answer", back.attempt) });
        let wish = wish(&[json!(self.api.reports(back)), command]);
        self.api.command_once(call, "answer", wish).await
    }

    /// Requests a media stream. Telnyx refuses it before the call is answered, and while another one is open.
    pub(crate) async fn start_stream(&self, call: &CarrierCallId, back: &WayBack) -> Result<(), CarrierError> {
        let stream = json!(self.api.stream(back));
        self.api.command_once(call, "streaming_start", stream).await
    }

    /// Rejects an inbound call.
    pub(super) async fn reject(&self, call: &CarrierCallId, refusal: InboundRefusal) -> Result<(), CarrierError> {
        let cause = match refusal {
            InboundRefusal::NobodyAnswers => "CALL_REJECTED",
            InboundRefusal::Busy | InboundRefusal::TooMany | InboundRefusal::Unavailable => "USER_BUSY",
        };
        self.api.command_once(call, "reject", json!({ "cause": cause })).await
    }

    /// Returns the fields that both kinds of transfer need.
    fn ring(&self, transfer: &Transfer, field: &str, which: Try) -> Value {
        let Try { attempt, number } = which;
        let from = transfer.from.as_ref().or(self.api.account.from.as_ref());
        let mut wish = json!({
            "to": transfer.to.as_str(),
            "timeout_secs": RINGS_SECONDS,
            "webhook_url": self.api.addresses.status(&transfer.back),
            "webhook_url_method": "POST",
            "command_id": format!("{attempt}-to-{number}"),
        });
        wish[field] = json!(mark::destination_state(attempt, number));
        if let Some(from) = from {
            wish["from"] = json!(from.as_str());
        }
        wish
    }

    /// Has Telnyx ring the destination, join it with the caller, and report the result.
    async fn hand_on(&self, call: &CarrierCallId, transfer: &Transfer) -> Result<(), CarrierError> {
        let attempt = transfer.back.attempt;
        let earlier = self.handovers.abandon(attempt);
        let which = self.handovers.begin(attempt, call, Joining::ByCarrier);
        let mut wish = self.ring(transfer, "target_leg_client_state", which);
        wish["client_state"] = json!(mark::client_state(attempt));
        let wished = self.api.command_once(call, "transfer", wish);
        let (answer, ()) = tokio::join!(wished, conferences::let_go(self, earlier));
        if answer.is_err() {
            self.handovers.failed(which);
        }
        answer
    }

    /// Rings the destination as a call of its own. Its webhooks say when to join the caller with it.
    async fn ring_destination(&self, call: &CarrierCallId, transfer: &Transfer) -> Result<(), CarrierError> {
        if transfer.from.is_none() && self.api.account.from.is_none() {
            return Err(CarrierError::Refused(http::no_caller_id(CALLER_ID)));
        }
        let dial = |which| async move {
            let mut order = self.ring(transfer, "client_state", which);
            order["connection_id"] = json!(self.api.account.connection);
            self.api.dial(&order, &LastLook::default()).await
        };
        conferences::ring(self, transfer.back.attempt, call, dial).await
    }

    /// Asks the caller's own SIP peer to call the destination.
    async fn refer(&self, call: &CarrierCallId, to: &Destination) -> Result<(), CarrierError> {
        let Destination::Sip(address) = to else {
            return Err(CarrierError::Refused(http::REFERS_TO_SIP.to_owned()));
        };
        let wish = json!({ "sip_address": address });
        self.api.command_once(call, "refer", wish).await
    }
}

#[async_trait]
impl Carrier for TelnyxCarrier {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn dial(&self, request: &DialRequest) -> Result<CarrierCallId, DialError> {
        let Some(from) = request.from.as_ref().or(self.api.account.from.as_ref()) else {
            return Err(DialError::AccountRefused(http::no_caller_id(CALLER_ID)));
        };
        let back = http::way_back(request);
        let order = self.order(request, from, &back);
        self.ways.remember(back);
        self.api.dial(&order, &request.last_look).await
    }

    async fn hang_up(&self, call: &CarrierCallId) -> Result<(), CarrierError> {
        conferences::release(self, call).await;
        self.hang_up_leg(call).await
    }

    /// Telnyx lists an application's ringing and answered calls with our mark, and not by number. Finished
    /// calls are not listed.
    async fn find_calls(&self, _: &PhoneNumber, _: Timestamp) -> Result<Vec<ListedCall>, CarrierError> {
        let (mut found, mut after) = (Vec::new(), None);
        for _ in 0..PAGES {
            let (calls, next) = self.api.page(after.as_deref()).await?;
            let over = calls.is_empty() || next.is_none();
            found.extend(calls.iter().filter_map(listed_call));
            if over {
                break;
            }
            after = next;
        }
        Ok(found)
    }

    fn abilities(&self) -> CarrierAbilities {
        CarrierAbilities {
            detects_machines: true,
            refer: true,
            digits: true,
            comes_back: false,
        }
    }

    async fn transfer(&self, call: &CarrierCallId, transfer: &Transfer) -> Result<(), CarrierError> {
        self.ways.remember(transfer.back.clone());
        match transfer.kind {
            TransferKind::Blind => self.hand_on(call, transfer).await,
            TransferKind::Conference => self.ring_destination(call, transfer).await,
            TransferKind::SipRefer => self.refer(call, &transfer.to).await,
        }
    }

    async fn send_digits(&self, call: &CarrierCallId, keys: &str) -> Result<(), CarrierError> {
        let wish = json!({ "digits": keys, "duration_millis": KEY_MS });
        self.api.command_once(call, "send_dtmf", wish).await
    }

    /// Reopens the call's only stream. If Telnyx considers the lost one active, that is stopped first.
    async fn reopen_media(&self, call: &CarrierCallId, back: &WayBack) -> Result<(), CarrierError> {
        match self.start_stream(call, back).await {
            Err(CarrierError::Refused(_)) => {
                self.api.command_once(call, "streaming_stop", json!({})).await?;
                self.start_stream(call, back).await
            }
            answer => answer,
        }
    }
}

#[async_trait]
impl Joins for TelnyxCarrier {
    fn handovers(&self) -> &Handovers {
        &self.handovers
    }

    async fn join(&self, caller: &CarrierCallId, destination: &CarrierCallId, _: Try) -> Result<(), CarrierError> {
        let wish = json!({ "call_control_id": destination.0 });
        self.api.command_once(caller, "bridge", wish).await
    }

    async fn hang_up_leg(&self, call: &CarrierCallId) -> Result<(), CarrierError> {
        self.api.command(call, "hangup", &json!({})).await
    }
}

/// Converts a listed call with our mark. A call without one may be anybody's. The list does not contain the
/// called number.
fn listed_call(call: &Call) -> Option<ListedCall> {
    let attempt: AttemptId = mark::attempt(call.client_state.as_deref()?)?;
    Some(ListedCall {
        call: CarrierCallId::checked(&call.call_control_id)?,
        attempt: Some(attempt),
        to: String::new(),
        live: true,
    })
}
