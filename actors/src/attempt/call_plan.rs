//! The data a call starts with.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::Ended;
use domain::{
    agent::Agent,
    dial_token::DialToken,
    id::AgentId,
    phone_number::PhoneNumber,
    ports::{
        carrier::{Carrier, CarrierCallId},
        store::{CallDirection, CallerId, ClaimedAttempt, ReturnedCall, TestActions},
    },
};

/// Everything a call needs to know about itself.
#[derive(Clone)]
pub struct CallPlan {
    /// The claimed attempt.
    pub attempt: ClaimedAttempt,
    /// Id of the agent.
    pub agent_id: AgentId,
    /// The agent.
    pub agent: Arc<Agent>,
    /// Names of the agent's fields that this call overrides.
    pub overridden: Vec<String>,
    /// Its version, for the permit.
    pub agent_version: Option<i64>,
    /// Values of the placeholders.
    pub variables: Arc<BTreeMap<String, String>>,
    /// Carrier that holds the call.
    pub carrier: Arc<dyn Carrier>,
    /// Caller ID, fixed or rotating. `None` if nothing is dialed.
    pub caller_id: Option<CallerId>,
    /// Longest ringing time.
    pub ring_timeout: Duration,
    /// The leg of an inbound call. `None` for other calls.
    pub inbound: Option<InboundLeg>,
    /// Effect of the agent's actions if the call is a test.
    pub test: Option<TestActions>,
    /// Whether the conversation is held in text, without audio.
    pub is_text: bool,
    /// The state of a live call that another process held. `None` for other calls.
    pub inherited: Option<Arc<Inheritance>>,
}

/// State with which a process takes over a call of another process.
#[derive(Debug, Clone, PartialEq)]
pub struct Inheritance {
    /// The carrier's id of its leg.
    pub leg: CarrierCallId,
    /// The call as the other process left it.
    pub call: ReturnedCall,
    /// The agent the call began with, if another agent has taken it over since.
    pub began_with: Option<Arc<Agent>>,
}

/// The leg of an inbound call. It exists before the call actor starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundLeg {
    /// The carrier's id of the leg.
    pub call: CarrierCallId,
    /// Secret from which the proofs in the carrier's callback addresses are derived.
    pub token: DialToken,
    /// The number that was called.
    pub to: PhoneNumber,
}

impl CallPlan {
    /// Returns the direction of the call: placed by us, or inbound.
    pub fn direction(&self) -> CallDirection {
        match (&self.inbound, &self.inherited) {
            (Some(_), _) => CallDirection::Inbound,
            (None, Some(inherited)) => inherited.call.direction,
            (None, None) => CallDirection::Outbound,
        }
    }

    /// Returns the direction that the model is told. In a test, an agent that takes no calls talks as if it had called.
    pub fn told_direction(&self) -> CallDirection {
        match self.test.is_some() && !self.agent.takes_calls() {
            true => CallDirection::Outbound,
            false => self.direction(),
        }
    }

    /// Returns whether the agent's actions are only said to have happened.
    pub fn is_simulated(&self) -> bool {
        self.test == Some(TestActions::Simulated)
    }

    /// Returns the carrier's id of the leg, if the leg existed before the call actor started.
    pub fn leg(&self) -> Option<&CarrierCallId> {
        let inherited = self.inherited.as_ref().map(|inherited| &inherited.leg);
        inherited.or(self.inbound.as_ref().map(|leg| &leg.call))
    }

    /// Returns the data that is needed when the attempt ends.
    pub fn ended(&self) -> Ended {
        Ended {
            direction: self.direction(),
            ..Ended::from(&self.attempt)
        }
    }
}
