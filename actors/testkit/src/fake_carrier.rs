//! A carrier that records requests, answers by script, and can send callbacks or open media with the right proof.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use media::format::LineFormat;
use tokio::sync::mpsc;

use domain::{
    phone_number::PhoneNumber,
    ports::{
        carrier::{
            Carrier, CarrierAbilities, CarrierCallId, CarrierError, DialError, DialRequest, ListedCall, Transfer,
            WayBack,
        },
        media_leg::{InboundQueue, LegAbilities, MediaLeg, OutboundItem},
    },
    time::Timestamp,
};

/// Scripted answer to one dial.
#[derive(Debug, Clone)]
pub struct ScriptedDial {
    /// Delay of the answer.
    pub after: Duration,
    /// The error, or `None` for success with the next free call id.
    pub result: Option<DialError>,
}

#[derive(Default)]
struct Seen {
    dials: Vec<DialRequest>,
    hang_ups: Vec<CarrierCallId>,
    script: VecDeque<ScriptedDial>,
    hang_up_script: VecDeque<CarrierError>,
    listing: Vec<ListedCall>,
    transfers: Vec<Transfer>,
    transfer_script: VecDeque<CarrierError>,
    digits: Vec<String>,
    digits_script: VecDeque<CarrierError>,
    reopen_script: VecDeque<CarrierError>,
    reopened: Vec<WayBack>,
    abilities: CarrierAbilities,
    /// Whether it reopens lost media sockets.
    reopens: bool,
}

/// The fake carrier. Dials not in the script succeed at once with ids `fake-1`, `fake-2` …
#[derive(Default)]
pub struct FakeCarrier(Mutex<Seen>);

/// Both ends of a fake media socket: the call's and the test's.
pub struct FakeSocket {
    /// Audio and marks towards the call.
    pub inbound: Arc<InboundQueue>,
    /// Audio and marks from the call.
    pub outbound: mpsc::Receiver<OutboundItem>,
}

/// Creates a media leg of 8 kHz mu-law with every ability, and its far end.
pub fn media_leg() -> (MediaLeg, FakeSocket) {
    let (sender, outbound) = mpsc::channel(1024);
    let inbound = Arc::new(InboundQueue::default());
    let leg = MediaLeg {
        call: None,
        format: LineFormat::MULAW_8000,
        abilities: LegAbilities {
            buffers: true,
            marks: true,
            clear: true,
            digits: false,
        },
        inbound: inbound.clone(),
        outbound: sender,
    };
    (leg, FakeSocket { inbound, outbound })
}

impl FakeCarrier {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scripts the answer to the next unscripted dial.
    pub fn script_dial(&self, after: Duration, result: Option<DialError>) {
        self.seen().script.push_back(ScriptedDial { after, result });
    }

    /// Scripts a failure of the next unscripted hang-up.
    pub fn script_hang_up_failure(&self, error: CarrierError) {
        self.seen().hang_up_script.push_back(error);
    }

    /// Sets the listing that `find_calls` returns from now on.
    pub fn set_listing(&self, listing: Vec<ListedCall>) {
        self.seen().listing = listing;
    }

    /// Sets its abilities from now on, and whether it reopens lost media sockets.
    pub fn offer(&self, abilities: CarrierAbilities, reopens: bool) {
        let mut seen = self.seen();
        (seen.abilities, seen.reopens) = (abilities, reopens);
    }

    /// Scripts a failure of the next unscripted transfer.
    pub fn script_transfer_failure(&self, error: CarrierError) {
        self.seen().transfer_script.push_back(error);
    }

    /// Scripts a failure of the next unscripted key request.
    pub fn script_digits_failure(&self, error: CarrierError) {
        self.seen().digits_script.push_back(error);
    }

    /// Scripts a failure of the next unscripted request for a lost media socket.
    pub fn script_reopen_failure(&self, error: CarrierError) {
        self.seen().reopen_script.push_back(error);
    }

    /// Returns all transfer requests.
    pub fn transfers(&self) -> Vec<Transfer> {
        self.seen().transfers.clone()
    }

    /// Returns all key requests.
    pub fn digits(&self) -> Vec<String> {
        self.seen().digits.clone()
    }

    /// Returns all requests for lost media sockets.
    pub fn reopened(&self) -> Vec<WayBack> {
        self.seen().reopened.clone()
    }

    /// Returns all dial requests.
    pub fn dials(&self) -> Vec<DialRequest> {
        self.seen().dials.clone()
    }

    /// Returns all legs that were asked to hang up, including repetitions.
    pub fn hang_ups(&self) -> Vec<CarrierCallId> {
        self.seen().hang_ups.clone()
    }
}

#[async_trait]
impl Carrier for FakeCarrier {
    fn name(&self) -> &'static str {
        "fake"
    }

    async fn dial(&self, request: &DialRequest) -> Result<CarrierCallId, DialError> {
        let (number, scripted) = {
            let mut seen = self.seen();
            seen.dials.push(request.clone());
            (seen.dials.len(), seen.script.pop_front())
        };
        let id = CarrierCallId(format!("fake-{number}"));
        let Some(scripted) = scripted else { return Ok(id) };
        tokio::time::sleep(scripted.after).await;
        scripted.result.map_or(Ok(id), Err)
    }

    async fn hang_up(&self, call: &CarrierCallId) -> Result<(), CarrierError> {
        let mut seen = self.seen();
        seen.hang_ups.push(call.clone());
        seen.hang_up_script.pop_front().map_or(Ok(()), Err)
    }

    fn abilities(&self) -> CarrierAbilities {
        self.seen().abilities
    }

    async fn transfer(&self, _call: &CarrierCallId, transfer: &Transfer) -> Result<(), CarrierError> {
        let mut seen = self.seen();
        seen.transfers.push(transfer.clone());
        seen.transfer_script.pop_front().map_or(Ok(()), Err)
    }

    async fn send_digits(&self, _call: &CarrierCallId, digits: &str) -> Result<(), CarrierError> {
        let mut seen = self.seen();
        seen.digits.push(digits.to_owned());
        seen.digits_script.pop_front().map_or(Ok(()), Err)
    }

    async fn reopen_media(&self, _call: &CarrierCallId, back: &WayBack) -> Result<(), CarrierError> {
        let mut seen = self.seen();
        seen.reopened.push(back.clone());
        if let Some(error) = seen.reopen_script.pop_front() {
            return Err(error);
        }
        seen.reopens
            .then_some(())
            .ok_or(CarrierError::NotOffered("opening a lost media socket again"))
    }

    async fn find_calls(&self, to: &PhoneNumber, _since: Timestamp) -> Result<Vec<ListedCall>, CarrierError> {
        Ok(self
            .seen()
            .listing
            .iter()
            .filter(|call| call.to == to.as_str())
            .cloned()
            .collect())
    }
}
