//! Plans a call from a claimed attempt and its agent. Free of I/O.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::Value;

use super::{CallPlan, InboundLeg, Inheritance};
use domain::{
    agent::{Agent, LANGUAGE_OVERRIDE, NumberTransfer},
    call_values::{CallFacts, call_values},
    id::AgentId,
    phone_number::PhoneNumber,
    ports::{
        carrier::{Carrier, CarrierCallId, Carriers, InboundCall},
        store::{CallDirection, CallerId, ClaimedAttempt, ReceivedCall, ReturnedCall, Rotation},
    },
    time::Timestamp,
};

/// Data that all calls of a campaign share.
#[derive(Clone)]
pub struct PlanContext {
    /// The agent.
    pub agent: Arc<Agent>,
    /// Its version; `None` for a call that has begun already.
    pub agent_version: Option<i64>,
    /// Longest ringing time of a call.
    pub ring_timeout: Duration,
    /// The present instant.
    pub now: Timestamp,
}

/// Error: all carriers of the agent's phone numbers are missing from the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the agent's phone number is at `{provider}`, which is not configured; configure it or use another number")]
pub struct NoLine {
    /// The first of these carriers.
    pub provider: String,
}

/// Returns the carrier of the agent's first number that is at a configured carrier that can dial. An agent
/// without numbers, or with numbers for inbound calls only, uses our first carrier. If all its numbers are at
/// carriers that are not configured here, it cannot dial at all: nobody is called from another owner's
/// number.
///
/// # Errors
///
/// Returns an error if there is no such carrier.
pub fn line<'a>(agent: &Agent, carriers: &'a Carriers) -> Result<&'a Arc<dyn Carrier>, NoLine> {
    let mut missing = None;
    for provider in agent
        .phone_numbers
        .iter()
        .filter_map(|number| number.provider.as_deref())
    {
        match carriers.named(provider) {
            Some(carrier) if carrier.dials() => return Ok(carrier),
            Some(_) => {}
            None => missing = missing.or(Some(provider)),
        }
    }
    match missing {
        Some(provider) => Err(NoLine {
            provider: provider.to_owned(),
        }),
        None => Ok(carriers.first()),
    }
}

/// Plans one call that is dialed over `line`.
pub fn plan(attempt: ClaimedAttempt, line: &Arc<dyn Carrier>, context: &PlanContext) -> CallPlan {
    let caller_id = caller_id(&context.agent, line.name());
    let first = caller_id.as_ref().and_then(|caller| caller.of_permit(0));
    let (context, overridden) = for_call(context, &attempt);
    let variables = variables(&attempt, (first, Some(&attempt.contact.phone_number)), &context);
    CallPlan {
        caller_id,
        overridden,
        ..planned(attempt, variables, line, &context)
    }
}

/// Builds the part that all plans share, with no leg that exists before the call.
fn planned(
    attempt: ClaimedAttempt,
    variables: BTreeMap<String, String>,
    carrier: &Arc<dyn Carrier>,
    context: &PlanContext,
) -> CallPlan {
    CallPlan {
        agent_id: attempt.agent,
        variables: Arc::new(variables),
        attempt,
        agent: fitted(&context.agent, &**carrier),
        overridden: Vec::new(),
        agent_version: context.agent_version,
        carrier: Arc::clone(carrier),
        caller_id: None,
        ring_timeout: context.ring_timeout,
        inbound: None,
        test: None,
        is_text: false,
        inherited: None,
    }
}

/// Plans the conversation of an inbound call at `carrier`.
pub fn plan_inbound(
    received: ReceivedCall,
    (carrier, call): (&Arc<dyn Carrier>, &InboundCall),
    context: &PlanContext,
) -> CallPlan {
    let ReceivedCall { attempt, token, test } = received;
    let called = Some(&call.to).filter(|number| !number.is_nobodys());
    let (context, overridden) = for_call(context, &attempt);
    let variables = variables(&attempt, (call.from.as_ref(), called), &context);
    let plan = CallPlan {
        overridden,
        test,
        inbound: Some(InboundLeg {
            call: call.call.clone(),
            token,
            to: call.to.clone(),
        }),
        ..planned(attempt, variables, carrier, &context)
    };
    CallPlan {
        agent: plan.fitted(&context.agent),
        ..plan
    }
}

/// Plans the rest of a call that another process held, with the agent in `context`. `began_with` is the agent
/// the call began with, if that is another one.
pub fn plan_inherited(
    (call, leg): (ReturnedCall, CarrierCallId),
    carrier: &Arc<dyn Carrier>,
    (agent_id, context): (AgentId, &PlanContext),
    began_with: Option<Arc<Agent>>,
) -> CallPlan {
    let attempt = call.attempt.clone();
    let person = Some(&attempt.contact.phone_number);
    let own = call.caller_id.as_ref();
    let numbers = match call.direction {
        CallDirection::Outbound => (own, person),
        CallDirection::Inbound => (person.filter(|number| !number.is_nobodys()), own),
    };
    // After a transfer to another agent, that agent speaks its own language, without overrides.
    let began_with = began_with.map(|first| overridden(&first, &attempt).map_or(first, |(own, _)| Arc::new(own)));
    let context = &match began_with {
        None => for_call(context, &attempt).0,
        Some(_) => context.clone(),
    };
    let variables = variables(&attempt, numbers, context);
    CallPlan {
        agent_id,
        inherited: Some(Arc::new(Inheritance { leg, call, began_with })),
        ..planned(attempt, variables, carrier, context)
    }
}

/// Returns the agent with the overrides of the call or the campaign's contact, and their names.
pub(crate) fn overridden(agent: &Agent, attempt: &ClaimedAttempt) -> Option<(Agent, Vec<String>)> {
    agent.overridden([&attempt.variables, &attempt.contact.extra])
}

/// Returns the context with the agent as it begins the call, and the names of the overrides: the overrides and the
/// language of the call are applied.
fn for_call(context: &PlanContext, attempt: &ClaimedAttempt) -> (PlanContext, Vec<String>) {
    match overridden(&context.agent, attempt) {
        None => (in_first_language(context, attempt), Vec::new()),
        Some((agent, names)) => {
            let agent = Arc::new(agent);
            let context = PlanContext {
                agent,
                ..context.clone()
            };
            (in_first_language(&context, attempt), names)
        }
    }
}

/// Returns the context with its agent in the language in which the call begins: that of the call or the campaign's
/// contact, else `language` of the saved contact. A language that the agent does not have, or no longer, does not
/// count.
fn in_first_language(context: &PlanContext, attempt: &ClaimedAttempt) -> PlanContext {
    let wanted = [
        attempt.variables.get(LANGUAGE_OVERRIDE),
        attempt.contact.extra.get(LANGUAGE_OVERRIDE),
        attempt.saved_extra.get("language"),
    ];
    let (agent, own) = (
        &context.agent,
        &context.agent.conversation_config.agent.primary_language,
    );
    let has = agent.first_languages();
    let mut wanted = wanted.into_iter().flatten().filter_map(Value::as_str);
    let found = wanted.find(|code| has.iter().any(|own| own == code));
    let agent = match found.filter(|code| code != own) {
        Some(code) => Arc::new(agent.in_language(code)),
        None => agent.clone(),
    };
    PlanContext {
        agent,
        ..context.clone()
    }
}

impl CallPlan {
    /// Returns an agent without the transfers that cannot be made in this call.
    pub(crate) fn fitted(&self, agent: &Arc<Agent>) -> Arc<Agent> {
        match self.is_simulated() {
            true => Arc::clone(agent),
            false => fitted(agent, &*self.carrier),
        }
    }
}

/// Returns the agent without the transfers that this carrier cannot make.
fn fitted(agent: &Arc<Agent>, carrier: &dyn Carrier) -> Arc<Agent> {
    let tool = &agent.conversation_config.agent.prompt.built_in_tools.transfer_to_number;
    let refers = carrier.abilities().refer;
    let made = |transfer: &NumberTransfer| {
        carrier.transfers() && (refers || transfer.transfer_type.as_deref() != Some("sip_refer"))
    };
    if !tool.tool.enabled || tool.transfers.iter().all(made) {
        return Arc::clone(agent);
    }
    let mut fitted = Agent::clone(agent);
    let prompt = &mut fitted.conversation_config.agent.prompt;
    prompt.built_in_tools.transfer_to_number.transfers.retain(made);
    Arc::new(fitted)
}

/// Returns the agent's rotation if it is enabled and has numbers, else its first number at the carrier.
fn caller_id(agent: &Agent, carrier: &str) -> Option<CallerId> {
    let telephony = &agent.platform_settings.telephony;
    if telephony.number_rotation_enabled {
        let numbers: Vec<_> = telephony.rotation_numbers.iter().filter_map(|n| usable(n)).collect();
        if !numbers.is_empty() {
            let calls_each = telephony.calls_per_number.unwrap_or(1);
            return Some(CallerId::InTurn(Rotation { numbers, calls_each }));
        }
    }
    let mut numbers = agent.phone_numbers.iter();
    let own = numbers.find(|number| number.provider.as_deref() == Some(carrier))?;
    usable(&own.number).map(CallerId::Fixed)
}

fn usable(number: &str) -> Option<PhoneNumber> {
    match PhoneNumber::stored(number) {
        Ok(number) => Some(number),
        Err(error) => {
            tracing::warn!(%error, "agent's phone number not usable as caller id");
            None
        }
    }
}

fn variables(
    attempt: &ClaimedAttempt,
    (calling, called): (Option<&PhoneNumber>, Option<&PhoneNumber>),
    context: &PlanContext,
) -> BTreeMap<String, String> {
    let facts = CallFacts {
        agent_id: attempt.agent,
        attempt: attempt.claim.attempt,
        calling,
        called,
        at: context.now,
        duration_s: 0,
    };
    let given = [&attempt.saved_extra, &attempt.variables];
    call_values(&context.agent, given, &attempt.contact, &facts)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
