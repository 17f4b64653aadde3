//! What a call is given.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::Ended;
use domain::{
    agent::Agent,
    dial_token::DialToken,
    id::AgentId,
    phone_number::PhoneNumber,
    ports::{
        carrier::{Carrier, CarrierCallId},
        store::{CallDirection, CallerId, ClaimedAttempt, ReturnedCall},
    },
};

/// Everything a call needs to know about itself.
#[derive(Clone)]
pub struct CallPlan {
    /// The claimed attempt.
    pub attempt: ClaimedAttempt,
    /// The agent's id.
    pub agent_id: AgentId,
    /// The agent.
    pub agent: Arc<Agent>,
    /// Values of the placeholders.
    pub variables: Arc<BTreeMap<String, String>>,
    /// Who places it.
    pub carrier: Arc<dyn Carrier>,
    /// Caller ID, or those that take turns; none where nothing is dialed.
    pub caller_id: Option<CallerId>,
    /// How long it may ring.
    pub ring_timeout: Duration,
    /// Of a call from outside.
    pub inbound: Option<InboundLeg>,
    /// Of a call that another process held, and that lives.
    pub inherited: Option<Arc<Inheritance>>,
}

/// What a call is taken over with.
#[derive(Debug, Clone, PartialEq)]
pub struct Inheritance {
    /// The carrier's id of its leg.
    pub leg: CarrierCallId,
    /// The call as it was left.
    pub call: ReturnedCall,
    /// The agent it began with, where another one has taken it over since.
    pub began_with: Option<Arc<Agent>>,
}

/// The leg of a call from outside: it stands before the call begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundLeg {
    /// The carrier's id.
    pub call: CarrierCallId,
    /// What the carrier's addresses are proved by.
    pub token: DialToken,
    /// The number that was called.
    pub to: PhoneNumber,
}

impl CallPlan {
    /// Who began the call.
    pub fn direction(&self) -> CallDirection {
        match (&self.inbound, &self.inherited) {
            (Some(_), _) => CallDirection::Inbound,
            (None, Some(inherited)) => inherited.call.direction,
            (None, None) => CallDirection::Outbound,
        }
    }

    /// The carrier's id of the leg, where it stands before the call begins here.
    pub fn leg(&self) -> Option<&CarrierCallId> {
        let inherited = self.inherited.as_ref().map(|inherited| &inherited.leg);
        inherited.or(self.inbound.as_ref().map(|leg| &leg.call))
    }

    /// The attempt, for when it ends.
    pub fn ended(&self) -> Ended {
        Ended {
            direction: self.direction(),
            ..Ended::from(&self.attempt)
        }
    }
}
