//! Places, ends, lists and changes calls through Vonage's Voice API, version 1.
//!
//! Source: <https://developer.vonage.com/en/api/voice>

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{
    phone_number::PhoneNumber,
    ports::carrier::{
        Carrier, CarrierAbilities, CarrierCallId, CarrierError, Destination, DialError, DialRequest, LastLook,
        ListedCall, Transfer, TransferKind, WayBack,
    },
    time::{Clock, Timestamp},
};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use super::{
    account::{NAME, VonageAccount, stream_tokens},
    answers::{Call, CallList, Placed},
    instructions::{Instructions, digits, endpoint},
    refusal::ErrorAnswer,
    reopened::Reopened,
};
use crate::{
    http::{self, Clients, Refusal as _, SetupError, base, below, not_sent},
    webhooks::{
        addresses::Addresses,
        conferences::{self, Joins, RINGS_SECONDS},
        handovers::{Handovers, Try},
    },
};

/// Page size of a list, in calls: Vonage's maximum.
const PAGE: &str = "100";
/// Maximum pages that are read.
const PAGES: usize = 40;
/// Ring times that Vonage accepts, in seconds.
const RING_SECONDS: std::ops::RangeInclusive<u64> = 1..=120;
/// Time that Vonage listens for a mailbox's beep, in seconds. This is the shortest that it offers.
const BEEP_TIMEOUT_SECONDS: u64 = 45;
/// Time within which Vonage usually reports a lost media socket. Without a report, we send the instructions unasked.
const LOSS_TOLD_WITHIN: Duration = Duration::from_secs(2);

/// An account at Vonage.
#[derive(Debug, Clone)]
pub struct VonageCarrier {
    clients: Clients,
    account: VonageAccount,
    clock: Arc<dyn Clock>,
    pub(super) instructions: Instructions,
    handovers: Arc<Handovers>,
    pub(super) reopened: Arc<Reopened>,
}

impl VonageCarrier {
    /// Creates the client of an account. Vonage reaches this node at `public`.
    pub fn new(account: VonageAccount, public: &str, clock: Arc<dyn Clock>) -> Result<Self, SetupError> {
        let account = VonageAccount {
            base_url: base("carrier's address", &account.base_url)?,
            ..account
        };
        Ok(Self {
            clients: Clients::new()?,
            instructions: Instructions {
                addresses: Addresses::new(public, NAME)?,
                tokens: stream_tokens(account.signature_secret.secret()),
                rate: account.rate,
            },
            account,
            clock,
            handovers: Arc::default(),
            reopened: Arc::default(),
        })
    }

    /// Builds a request below the URL of all calls. Returns an error if its token cannot be signed.
    fn request(&self, client: &Client, method: Method, path: &[&str]) -> Result<RequestBuilder, CarrierError> {
        let address = below(&self.account.base_url, &[&["v1", "calls"], path].concat())?;
        let now_seconds = self.clock.now().unix_seconds();
        let token = self.account.key.token(&self.account.application, now_seconds);
        let token = token.map_err(|error| CarrierError::Protocol(error.to_string()))?;
        Ok(client.request(method, address).bearer_auth(token))
    }

    /// Sends a request that may be repeated. Returns the body of the response.
    async fn ask(&self, method: Method, path: &[&str], wish: Option<&Value>) -> Result<Vec<u8>, CarrierError> {
        let mut request = self.request(&self.clients.client, method, path)?;
        if let Some(wish) = wish {
            request = request.json(wish);
        }
        http::ask(request, ErrorAnswer::read).await
    }

    /// Changes an active call. Returns `NotFound` if Vonage cannot have issued this id.
    async fn change(&self, call: &CarrierCallId, part: &[&str], wish: &Value) -> Result<(), CarrierError> {
        let call = http::addressable(call)?;
        match self.ask(Method::PUT, &[&[&*call.0], part].concat(), Some(wish)).await {
            Ok(_) => Ok(()),
            // A change may be refused because the call is over.
            Err(CarrierError::Refused(_)) if self.is_over(&call).await => Err(CarrierError::NotFound),
            Err(error) => Err(error),
        }
    }

    async fn is_over(&self, call: &CarrierCallId) -> bool {
        let said = self.ask(Method::GET, &[&call.0], None).await;
        let call = said.ok().and_then(|said| serde_json::from_slice::<Call>(&said).ok());
        call.is_some_and(|call| call.is_over())
    }

    /// Gives an answered call new instructions, effective at once.
    async fn instruct(&self, call: &CarrierCallId, ncco: Value) -> Result<(), CarrierError> {
        let wish = json!({ "action": "transfer", "destination": { "type": "ncco", "ncco": ncco } });
        self.change(call, &[], &wish).await
    }

    async fn place(&self, order: &Value, last_look: &LastLook) -> Result<CarrierCallId, DialError> {
        let request = self.request(&self.clients.dialer, Method::POST, &[]);
        let request = request.map_err(not_sent)?;
        http::place(request.json(order), last_look, ErrorAnswer::read, |placed: &Placed| {
            &placed.uuid
        })
        .await
    }

    fn order(&self, request: &DialRequest, from: &PhoneNumber) -> Value {
        let back = http::way_back(request);
        let (shortest, longest) = RING_SECONDS.into_inner();
        let mut order = json!({
            "to": [{ "type": "phone", "number": digits(&request.to) }],
            "from": { "type": "phone", "number": digits(from) },
            "ncco": self.instructions.stream(back.attempt, &back.media_token),
            "event_url": [self.instructions.addresses.status(&back)],
            "event_method": "POST",
            "ringing_timer": request.ring_timeout.as_secs().clamp(shortest, longest),
        });
        if request.detect_machine {
            order["advanced_machine_detection"] = json!({
                "behavior": "continue", "mode": "detect_beep", "beep_timeout": BEEP_TIMEOUT_SECONDS,
            });
        }
        order
    }

    /// Rings the destination into a conversation of this try. Its events say when to bring the caller there.
    async fn ring_destination(&self, call: &CarrierCallId, transfer: &Transfer) -> Result<(), CarrierError> {
        let Some(from) = transfer.from.as_ref().or(self.account.from.as_ref()) else {
            return Err(CarrierError::Refused(http::no_caller_id(CALLER_ID)));
        };
        let dial = |which| async move {
            let order = json!({
                "to": [endpoint(&transfer.to)],
                "from": { "type": "phone", "number": digits(from) },
                "ncco": self.instructions.conversation(which),
                "event_url": [self.instructions.addresses.conference(which, &transfer.back.status_token)],
                "event_method": "POST",
                "ringing_timer": RINGS_SECONDS,
            });
            self.place(&order, &LastLook::default()).await
        };
        conferences::ring(self, transfer.back.attempt, call, dial).await
    }

    /// Reads one page of the list of calls, newest first, after the first `behind` calls.
    async fn page(&self, behind: u64) -> Result<CallList, CarrierError> {
        let request = self.request(&self.clients.client, Method::GET, &[])?;
        let index = behind.to_string();
        let query = [("order", "desc"), ("page_size", PAGE), ("record_index", &index)];
        http::parse(Ok(http::ask(request.query(&query), ErrorAnswer::read).await?))
    }
}

/// Converts keys to Vonage's notation, where `p` is a pause of half a second. Vonage does not support A to D.
fn pressed(keys: &str) -> Result<String, String> {
    match keys.chars().find(|key| !matches!(key, '0'..='9' | '*' | '#' | 'w')) {
        Some(key) => Err(format!("Vonage cannot press {key}; use 0 to 9, * or #")),
        None => Ok(keys.replace('w', "p")),
    }
}

/// Variable that sets the caller ID.
const CALLER_ID: &str = "VONAGE_PHONE_NUMBER";

#[async_trait]
impl Carrier for VonageCarrier {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn dial(&self, request: &DialRequest) -> Result<CarrierCallId, DialError> {
        match request.from.as_ref().or(self.account.from.as_ref()) {
            Some(from) => self.place(&self.order(request, from), &request.last_look).await,
            None => Err(DialError::AccountRefused(http::no_caller_id(CALLER_ID))),
        }
    }

    async fn hang_up(&self, call: &CarrierCallId) -> Result<(), CarrierError> {
        conferences::release(self, call).await;
        self.hang_up_leg(call).await
    }

    /// Vonage lists calls by time and not by number. `date_start` is not used as a filter, because a ringing
    /// call may have none. Pages are read, newest first, until all calls on a page are older.
    async fn find_calls(&self, to: &PhoneNumber, since: Timestamp) -> Result<Vec<ListedCall>, CarrierError> {
        let mut found = Vec::new();
        let mut read = 0;
        for _ in 0..PAGES {
            let page = self.page(read).await?;
            let recent = page.calls().iter().filter(|call| !call.is_older_than(since));
            found.extend(recent.clone().filter_map(|call| call.listed(to.as_str())));
            read += page.calls().len() as u64;
            if read >= page.count || recent.count() == 0 {
                break;
            }
        }
        Ok(found)
    }

    fn abilities(&self) -> CarrierAbilities {
        CarrierAbilities {
            detects_machines: true,
            refer: false,
            digits: true,
            comes_back: false,
        }
    }

    async fn transfer(&self, call: &CarrierCallId, transfer: &Transfer) -> Result<(), CarrierError> {
        match transfer.kind {
            TransferKind::SipRefer => Err(CarrierError::NotOffered("transfer by SIP REFER")),
            TransferKind::Conference => self.ring_destination(call, transfer).await,
            TransferKind::Blind => {
                let from = transfer.from.as_ref().or(self.account.from.as_ref());
                let from = from.filter(|_| matches!(transfer.to, Destination::Phone(_)));
                let ncco = self.instructions.handed_on(&transfer.back, &transfer.to, from);
                self.instruct(call, ncco).await
            }
        }
    }

    async fn send_digits(&self, call: &CarrierCallId, keys: &str) -> Result<(), CarrierError> {
        let wish = json!({ "digits": pressed(keys).map_err(CarrierError::Refused)? });
        self.change(call, &["dtmf"], &wish).await
    }

    /// Vonage reports a lost socket by itself and then waits for instructions, which is the fastest way.
    /// Instructions are sent unasked only if no report comes.
    async fn reopen_media(&self, call: &CarrierCallId, back: &WayBack) -> Result<(), CarrierError> {
        if self.reopened.within(back.attempt, LOSS_TOLD_WITHIN).await {
            return Ok(());
        }
        let ncco = self.instructions.stream(back.attempt, &back.media_token);
        self.instruct(call, ncco).await
    }
}

#[async_trait]
impl Joins for VonageCarrier {
    fn handovers(&self) -> &Handovers {
        &self.handovers
    }

    /// Brings the caller into the conversation where the destination waits.
    async fn join(&self, caller: &CarrierCallId, _: &CarrierCallId, which: Try) -> Result<(), CarrierError> {
        self.instruct(caller, self.instructions.conversation(which)).await
    }

    async fn hang_up_leg(&self, call: &CarrierCallId) -> Result<(), CarrierError> {
        self.change(call, &[], &json!({ "action": "hangup" })).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_in_vonage_s_way() {
        assert_eq!(pressed("1w2*0#").as_deref(), Ok("1p2*0#"));
        for keys in ["A", "1p", "1,2", "1 2"] {
            assert!(pressed(keys).is_err(), "{keys}");
        }
    }
}
