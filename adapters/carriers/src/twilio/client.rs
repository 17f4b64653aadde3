//! Places, ends, lists and changes calls through Twilio's API, 2010-04-01.
//!
//! Source: <https://www.twilio.com/docs/voice/api/call-resource>

use std::sync::Arc;

use async_trait::async_trait;
use chrono::DateTime;
use domain::{
    phone_number::PhoneNumber,
    ports::carrier::{
        CallProgress, Carrier, CarrierAbilities, CarrierCallId, CarrierError, Destination, DialError, DialRequest,
        LastLook, ListedCall, Transfer, TransferKind, WayBack,
    },
    time::{Clock, Timestamp},
};
use reqwest::{RequestBuilder, Url};
use serde::Deserialize;

use super::{
    account::{Flavour, TwilioAccount},
    callback,
    documents::Documents,
    instructions::Instructions,
    queue::Queue,
    refusal::{ErrorAnswer, NOT_IN_STATE},
    signature::Guard,
};
use crate::{
    http::{self, Clients, Refusal as _, SetupError, base, below, not_sent, send, unexpected, words::hide_pair},
    webhooks::{
        addresses::Addresses,
        conferences::{self, Joins, RINGS_SECONDS},
        handovers::{Handovers, Try},
    },
};
use net::http_client::body;

/// Page size of a list, in calls. The newest come first, and calls to one number since one dial are few.
const LISTED: &str = "200";
/// Ring times that Twilio accepts, in seconds.
const RING_SECONDS: std::ops::RangeInclusive<u64> = 5..=600;

/// An account at Twilio or SignalWire.
#[derive(Debug, Clone)]
pub struct TwilioCarrier {
    clients: Clients,
    account: TwilioAccount,
    pub(super) instructions: Instructions,
    pub(super) documents: Documents,
    handovers: Arc<Handovers>,
    pub(super) queue: Arc<Queue>,
}

#[derive(Deserialize)]
struct Call {
    sid: String,
    #[serde(default)]
    from: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    direction: String,
    #[serde(default)]
    date_created: Option<String>,
}

impl Call {
    fn id(&self) -> &str {
        &self.sid
    }
}

#[derive(Deserialize)]
struct CallList {
    calls: Vec<Call>,
}

impl TwilioCarrier {
    /// Creates the client of an account. The carrier reaches this node at `public`. `clock` determines the age of
    /// addresses that SignalWire fetches.
    pub fn new(
        account: TwilioAccount,
        public: &str,
        guard: Arc<Guard>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SetupError> {
        let account = TwilioAccount {
            base_url: base("carrier's address", &account.base_url)?,
            ..account
        };
        hide_pair(&account.user, &account.password);
        Ok(Self {
            clients: Clients::new()?,
            documents: Documents::new(guard.document_key(), clock),
            instructions: Instructions {
                flavour: account.flavour,
                addresses: Addresses::new(public, account.flavour.name())?,
                guard,
            },
            account,
            handovers: Arc::default(),
            queue: Arc::default(),
        })
    }

    fn with_password(&self, request: RequestBuilder) -> RequestBuilder {
        request.basic_auth(&self.account.user, Some(self.account.password.secret()))
    }

    /// Returns the fields that give a call instructions. SignalWire documents only an address for them.
    fn directed(&self, twiml: String) -> Result<Directed, CarrierError> {
        Ok(match self.account.flavour {
            Flavour::Twilio => vec![("Twiml", twiml)],
            Flavour::SignalWire => {
                let address = self
                    .instructions
                    .addresses
                    .at(&format!("document/{}", self.documents.seal(&twiml)?));
                vec![("Url", address), ("Method", "POST".to_owned())]
            }
        })
    }

    /// Returns the form of a dial.
    fn order(&self, request: &DialRequest, from: &PhoneNumber) -> Result<String, DialError> {
        let (back, addresses) = (http::way_back(request), &self.instructions.addresses);
        let (shortest, longest) = RING_SECONDS.into_inner();
        let order = Order {
            to: request.to.as_str(),
            from,
            ring_seconds: request.ring_timeout.as_secs().clamp(shortest, longest),
            directed: self
                .directed(self.instructions.stream(back.attempt, &back.media_token))
                .map_err(not_sent)?,
            reports: &addresses.status(&back),
        };
        let verdicts = addresses.reports("machine", &back);
        Ok(order.form(request.detect_machine.then_some(&*verdicts)))
    }

    async fn place(&self, form: String, last_look: &LastLook) -> Result<CarrierCallId, DialError> {
        let address = format!("{}.json", self.account.calls());
        let dial = self.clients.dialer.post(address).header("content-type", FORM);
        let dial = self.with_password(dial.body(form));
        let read = match self.account.flavour {
            Flavour::Twilio => ErrorAnswer::read,
            Flavour::SignalWire => ErrorAnswer::of_signalwire,
        };
        http::place(dial, last_look, read, Call::id).await
    }

    fn caller_id<'a>(&'a self, wanted: Option<&'a PhoneNumber>) -> Result<&'a PhoneNumber, String> {
        let variable = match self.account.flavour {
            Flavour::Twilio => "TWILIO_PHONE_NUMBER",
            Flavour::SignalWire => "SIGNALWIRE_PHONE_NUMBER",
        };
        wanted
            .or(self.account.from.as_ref())
            .ok_or_else(|| http::no_caller_id(variable))
    }

    /// Gives an answered call new instructions, effective at once.
    async fn instruct(&self, call: &CarrierCallId, twiml: String) -> Result<(), CarrierError> {
        let call = http::addressable(call)?;
        let form = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(self.directed(twiml)?)
            .finish();
        let change = self.clients.client.post(self.call_address(&call)?).body(form);
        let change = self.with_password(change.header("content-type", FORM));
        http::ask(change, ErrorAnswer::read).await.map(drop)
    }

    /// Asks the call's own SIP peer to call the destination. A call that is not on SIP is refused here, since the
    /// carrier would refuse it only after it has closed the media socket.
    async fn refer(&self, call: &CarrierCallId, transfer: &Transfer) -> Result<(), CarrierError> {
        let Destination::Sip(address) = &transfer.to else {
            return Err(CarrierError::Refused(http::REFERS_TO_SIP.to_owned()));
        };
        let shown = self.clients.client.get(self.call_address(&http::addressable(call)?)?);
        let shown: Call = http::ask_json(self.with_password(shown)).await?;
        if ![shown.from, shown.to].iter().any(|party| party.starts_with("sip")) {
            let wanted = "SIP REFER needs a caller on SIP, and this one is on the telephone network";
            return Err(CarrierError::Refused(wanted.to_owned()));
        }
        self.instruct(call, self.instructions.referred(&transfer.back, address))
            .await
    }

    /// Rings the destination into a conference of this try. Its reports say when to bring the caller there.
    async fn ring_destination(&self, call: &CarrierCallId, transfer: &Transfer) -> Result<(), CarrierError> {
        let from = self.caller_id(transfer.from.as_ref()).map_err(CarrierError::Refused)?;
        let dial = |which| async move {
            let order = Order {
                to: transfer.to.as_str(),
                from,
                ring_seconds: RINGS_SECONDS,
                directed: self.directed(self.instructions.conference(which)).map_err(not_sent)?,
                reports: &self
                    .instructions
                    .addresses
                    .conference(which, &transfer.back.status_token),
            };
            self.place(order.form(None), &LastLook::default()).await
        };
        conferences::ring(self, transfer.back.attempt, call, dial).await
    }

    /// Requests a call's end in one of the two ways.
    async fn end(&self, address: Url, way: &str) -> Result<End, CarrierError> {
        let change = self.clients.client.post(address).body(format!("Status={way}"));
        let change = change.header("content-type", FORM);
        let answer = send(self.with_password(change)).await?;
        let status = answer.status();
        let said = body(answer).await;
        if !status.is_success() {
            return match ErrorAnswer::read(&said.map_err(http::unread)?).code.0 {
                NOT_IN_STATE => Ok(End::NotInState),
                _ => Err(unexpected(status)),
            };
        }
        let call: Call = http::parse(said)?;
        Ok(match (callback::progress(&call.status, None), way) {
            (Some(CallProgress::Placed | CallProgress::Ringing), COMPLETED) => End::NotInState,
            (Some(CallProgress::Answered), CANCELED) => End::NotInState,
            _ => End::Over,
        })
    }

    /// Returns whether a call has not started yet. Returns false if the carrier does not respond.
    pub(super) async fn is_queued(&self, call: &CarrierCallId) -> bool {
        let Ok(address) = self.call_address(call) else {
            return false;
        };
        let Ok(answer) = send(self.with_password(self.clients.client.get(address))).await else {
            return false;
        };
        let said = body(answer).await.unwrap_or_default();
        serde_json::from_slice(&said).is_ok_and(|call: Call| call.status == "queued")
    }

    fn call_address(&self, call: &CarrierCallId) -> Result<Url, CarrierError> {
        below(&self.account.calls(), &[&format!("{}.json", call.0)])
    }
}

const FORM: &str = "application/x-www-form-urlencoded";

/// Fields that give a call instructions.
type Directed = Vec<(&'static str, String)>;

/// A call to place.
struct Order<'a> {
    to: &'a str,
    from: &'a PhoneNumber,
    ring_seconds: u64,
    directed: Directed,
    /// Address of its status reports.
    reports: &'a str,
}

impl Order<'_> {
    /// Returns the form. `verdicts` is the address for the report of who answered, if the carrier is to detect that.
    fn form(&self, verdicts: Option<&str>) -> String {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("To", self.to)
            .append_pair("From", self.from.as_str())
            .extend_pairs(&self.directed)
            .append_pair("Timeout", &self.ring_seconds.to_string())
            .append_pair("StatusCallback", self.reports)
            .append_pair("StatusCallbackMethod", "POST");
        for event in ["initiated", "ringing", "answered", "completed"] {
            form.append_pair("StatusCallbackEvent", event);
        }
        if let Some(verdicts) = verdicts {
            // Not `DetectMessageEnd`: we need to know during the greeting. Asynchronous, so that nobody waits
            // for the result.
            form.append_pair("MachineDetection", "Enable")
                .append_pair("AsyncAmd", "true")
                .append_pair("AsyncAmdStatusCallback", verdicts)
                .append_pair("AsyncAmdStatusCallbackMethod", "POST");
        }
        form.finish()
    }
}

/// Status that ends an answered call, and sometimes an unanswered one.
const COMPLETED: &str = "completed";
/// Status that ends an unanswered call. It does not affect an answered one.
const CANCELED: &str = "canceled";

/// Result of a request to end a call.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Over,
    /// The call is in the other state (answered or unanswered), or over.
    NotInState,
}

#[async_trait]
impl Carrier for TwilioCarrier {
    fn name(&self) -> &'static str {
        self.account.flavour.name()
    }

    async fn dial(&self, request: &DialRequest) -> Result<CarrierCallId, DialError> {
        let from = self.caller_id(request.from.as_ref());
        let from = from.map_err(DialError::AccountRefused)?;
        let call = self.place(self.order(request, from)?, &request.last_look).await?;
        self.watch(&call);
        Ok(call)
    }

    async fn hang_up(&self, call: &CarrierCallId) -> Result<(), CarrierError> {
        conferences::release(self, call).await;
        self.hang_up_leg(call).await
    }

    /// Does not filter by `StartTime`, because a call that still waits in the carrier's queue has none.
    async fn find_calls(&self, to: &PhoneNumber, since: Timestamp) -> Result<Vec<ListedCall>, CarrierError> {
        let address = format!("{}.json", self.account.calls());
        let query = [("To", to.as_str()), ("PageSize", LISTED)];
        let listed: CallList =
            http::ask_json(self.with_password(self.clients.client.get(address).query(&query))).await?;
        Ok(listed
            .calls
            .into_iter()
            .filter_map(|call| listed_call(call, since))
            .collect())
    }

    /// SignalWire accepts keys through the media socket. Twilio has only an instruction for them, which would
    /// end the stream.
    fn abilities(&self) -> CarrierAbilities {
        CarrierAbilities {
            detects_machines: true,
            refer: self.account.flavour == Flavour::SignalWire,
            digits: false,
            comes_back: true,
        }
    }

    async fn transfer(&self, call: &CarrierCallId, transfer: &Transfer) -> Result<(), CarrierError> {
        match transfer.kind {
            TransferKind::SipRefer if self.account.flavour == Flavour::SignalWire => self.refer(call, transfer).await,
            // `<Refer>` is for calls that arrived over a SIP domain. It is not known to work from a stream.
            TransferKind::SipRefer => Err(CarrierError::NotOffered("transfer by SIP REFER")),
            TransferKind::Conference => self.ring_destination(call, transfer).await,
            TransferKind::Blind => {
                let from = transfer.from.as_ref().or(self.account.from.as_ref());
                let twiml = self.instructions.handed_on(&transfer.back, &transfer.to, from);
                self.instruct(call, twiml).await
            }
        }
    }

    async fn reopen_media(&self, call: &CarrierCallId, back: &WayBack) -> Result<(), CarrierError> {
        let twiml = self.instructions.stream(back.attempt, &back.media_token);
        self.instruct(call, twiml).await
    }
}

#[async_trait]
impl Joins for TwilioCarrier {
    fn handovers(&self) -> &Handovers {
        &self.handovers
    }

    /// Brings the caller into the conference where the destination waits.
    async fn join(&self, caller: &CarrierCallId, _: &CarrierCallId, which: Try) -> Result<(), CarrierError> {
        self.instruct(caller, self.instructions.conference(which)).await
    }

    /// Cancels a ringing call or completes an answered one. Between the two requests it may change from one
    /// to the other.
    async fn hang_up_leg(&self, call: &CarrierCallId) -> Result<(), CarrierError> {
        let call = http::addressable(call)?;
        let address = self.call_address(&call)?;
        for way in [COMPLETED, CANCELED, COMPLETED] {
            if self.end(address.clone(), way).await? == End::Over {
                return Ok(());
            }
        }
        Err(CarrierError::NotFound)
    }
}

/// Converts a listed call that we placed since `since`. The carrier keeps no mark of ours on it.
fn listed_call(call: Call, since: Timestamp) -> Option<ListedCall> {
    let outbound = call.direction.starts_with("outbound");
    let created = call.date_created.as_deref().and_then(seconds)?;
    // The carrier's times have whole seconds.
    let recent = created >= since.0.div_euclid(1_000_000);
    let id = CarrierCallId::checked(&call.sid)?;
    (outbound && recent).then(|| ListedCall {
        call: id,
        attempt: None,
        to: call.to,
        live: !matches!(callback::progress(&call.status, None), Some(CallProgress::Ended(_))),
    })
}

/// Parses a time in RFC 2822 format, as Twilio writes it, or in RFC 3339 format. Returns seconds since 1970.
fn seconds(text: &str) -> Option<i64> {
    let time = DateTime::parse_from_rfc2822(text).or_else(|_| DateTime::parse_from_rfc3339(text));
    time.ok().map(|time| time.timestamp())
}
