//! A carrier whose callees all behave in the same way until told otherwise. It sends callbacks and opens
//! media sockets through the node's webhooks with the proofs it was given, as a real carrier does.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use actors::{call::CallMessage, switchboard::Switchboard};
use async_trait::async_trait;
use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::{
        carrier::{
            CallProgress, Carrier, CarrierAbilities, CarrierCallId, CarrierError, DialError, DialRequest, EndCause,
            ListedCall,
        },
        media_leg::MediaLeg,
    },
    time::Timestamp,
};
use testkit::fake_carrier::{FakeSocket, media_leg};
use tokio::time::Instant;

/// Behaviour of the callees.
#[derive(Debug, Clone, Default)]
pub enum Callees {
    /// Busy, reported after this time.
    Busy(Duration),
    /// No answer; the call ends with this cause after a second.
    End(EndCause),
    /// Answer after a second, then silence.
    #[default]
    Answer,
    /// Ringing without an answer.
    Ring,
    /// The carrier refuses the call.
    Refused(DialError),
    /// The carrier never answers the request.
    Silence,
}

#[derive(Default)]
struct Seen {
    callees: Callees,
    dials: Vec<(Instant, DialRequest)>,
    hang_ups: Vec<CarrierCallId>,
    hang_ups_crash: bool,
    hang_ups_hang: bool,
    listing: Vec<ListedCall>,
    listings_failing: usize,
    sockets: HashMap<AttemptId, FakeSocket>,
    switchboard: Option<Switchboard>,
    /// Prefix of the names of its legs; `leg` by default.
    legs: Option<&'static str>,
    abilities: CarrierAbilities,
}

/// The carrier.
#[derive(Default)]
pub struct ScriptedCarrier(Arc<Mutex<Seen>>);

impl ScriptedCarrier {
    /// Creates a carrier whose legs have another prefix.
    pub fn of_legs(legs: &'static str) -> Self {
        let carrier = Self::default();
        carrier.seen().legs = Some(legs);
        carrier
    }

    fn leg(&self, number: usize) -> CarrierCallId {
        CarrierCallId(format!("{}-{number}", self.seen().legs.unwrap_or("leg")))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes it ask by itself how calls with a broken media socket go on.
    pub fn brings_calls_back(&self) {
        self.seen().abilities.comes_back = true;
    }

    pub fn set_switchboard(&self, switchboard: Switchboard) {
        self.seen().switchboard = Some(switchboard);
    }

    /// Sets the behaviour of callees dialed from now on.
    pub fn callees(&self, callees: Callees) {
        self.seen().callees = callees;
    }

    /// Sets the listing from now on, after this number of failures.
    pub fn list(&self, failures: usize, calls: Vec<ListedCall>) {
        let mut seen = self.seen();
        seen.listings_failing = failures;
        seen.listing = calls;
    }

    pub fn dials(&self) -> Vec<(Instant, DialRequest)> {
        self.seen().dials.clone()
    }

    pub fn dialed_attempts(&self) -> Vec<AttemptId> {
        self.seen().dials.iter().map(|(_, dial)| dial.attempt).collect()
    }

    /// Makes every hang-up request panic from now on.
    pub fn crash_hang_ups(&self) {
        self.seen().hang_ups_crash = true;
    }

    /// Leaves every hang-up request without an answer from now on.
    pub fn hang_hang_ups(&self) {
        self.seen().hang_ups_hang = true;
    }

    pub fn hang_ups(&self) -> Vec<CarrierCallId> {
        self.seen().hang_ups.clone()
    }

    /// Returns the number of open media sockets.
    pub fn sockets(&self) -> usize {
        self.seen().sockets.len()
    }

    /// Lets every media socket die without a report of the carrier.
    pub fn drop_sockets(&self) {
        self.seen().sockets.clear();
    }

    /// Returns the leg of an attempt.
    pub fn leg_of(&self, attempt: AttemptId) -> CarrierCallId {
        let number = self.dialed_attempts().iter().position(|a| *a == attempt).unwrap();
        self.leg(number)
    }
}

async fn callee(seen: Arc<Mutex<Seen>>, switchboard: Switchboard, dial: DialRequest, callees: Callees) {
    let attempt = dial.attempt;
    let tell = async |progress: CallProgress| {
        let report = progress.into();
        let proof = dial.status_token.clone();
        let message = |reply| CallMessage::Progress { proof, report, reply };
        switchboard.tell_call(("scripted", attempt), message).await;
    };
    match callees {
        Callees::Busy(after) => {
            tokio::time::sleep(after).await;
            tell(CallProgress::Ended(EndCause::Busy)).await;
        }
        Callees::End(cause) => {
            tokio::time::sleep(Duration::from_secs(1)).await;
            tell(CallProgress::Ended(cause)).await;
        }
        Callees::Answer => {
            tell(CallProgress::Ringing).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            tell(CallProgress::Answered).await;
            let (leg, socket): (MediaLeg, FakeSocket) = media_leg();
            let proof = dial.media_token.clone();
            let message = |reply| CallMessage::Media { proof, leg, reply };
            if let Some(Ok(())) = switchboard.tell_call(("scripted", attempt), message).await {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.sockets.insert(attempt, socket);
            }
        }
        Callees::Ring => tell(CallProgress::Ringing).await,
        Callees::Refused(_) | Callees::Silence => {}
    }
}

#[async_trait]
impl Carrier for ScriptedCarrier {
    fn name(&self) -> &'static str {
        "scripted"
    }

    async fn dial(&self, request: &DialRequest) -> Result<CarrierCallId, DialError> {
        let (number, callees, switchboard) = {
            let mut seen = self.seen();
            seen.dials.push((Instant::now(), request.clone()));
            (seen.dials.len() - 1, seen.callees.clone(), seen.switchboard.clone())
        };
        match &callees {
            Callees::Refused(error) => return Err(error.clone()),
            Callees::Silence => std::future::pending().await,
            Callees::Busy(_) | Callees::End(_) | Callees::Answer | Callees::Ring => {}
        }
        if let Some(switchboard) = switchboard {
            tokio::spawn(callee(self.0.clone(), switchboard, request.clone(), callees));
        }
        Ok(self.leg(number))
    }

    async fn hang_up(&self, call: &CarrierCallId) -> Result<(), CarrierError> {
        let hangs = {
            let mut seen = self.seen();
            seen.hang_ups.push(call.clone());
            assert!(!seen.hang_ups_crash, "sabotaged");
            seen.hang_ups_hang
        };
        match hangs {
            true => std::future::pending().await,
            false => Ok(()),
        }
    }

    fn abilities(&self) -> CarrierAbilities {
        self.seen().abilities
    }

    async fn find_calls(&self, to: &PhoneNumber, _since: Timestamp) -> Result<Vec<ListedCall>, CarrierError> {
        let mut seen = self.seen();
        if seen.listings_failing > 0 {
            seen.listings_failing -= 1;
            return Err(CarrierError::Unavailable("away".into()));
        }
        let listed = seen.listing.iter().filter(|call| call.to == to.as_str());
        Ok(listed.cloned().collect())
    }
}
