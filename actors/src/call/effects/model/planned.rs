//! Rules of a call, read from its plan.

use std::{collections::BTreeMap, sync::Arc};

use crate::attempt::CallPlan;
use crate::call::{CallContext, routing, state::GraphRules, state::Rules};
use domain::{agent::Agent, id::AgentId, workflow::Graph};

/// Returns the rules of the plan's own agent. If another process began the call with another agent, the call lasts as
/// long as that one allows.
pub fn planned_rules(plan: &CallPlan, with: &CallContext, graph: Option<Arc<Graph>>) -> Rules {
    let rules = rules(plan, with, (plan.agent_id, &plan.agent, &plan.variables), graph);
    let began_with = plan.inherited.as_ref().and_then(|of| of.began_with.as_ref());
    match began_with {
        Some(first) => Rules {
            max_duration_ms: Rules::max_duration_ms(first),
            ..rules
        },
        None => rules,
    }
}

/// Returns the rules of an agent in this call, with its graph.
pub fn rules(
    plan: &CallPlan,
    with: &CallContext,
    (id, agent, variables): (AgentId, &Arc<Agent>, &Arc<BTreeMap<String, String>>),
    graph: Option<Arc<Graph>>,
) -> Rules {
    let rules = Rules {
        speculation: with.speculation,
        phrases: with.phrases.phrases(agent),
        simulated: plan.is_simulated(),
        single: plan.attempt.campaign.is_none(),
        carrier: plan.carrier.abilities(),
        graph: graph.map(|graph| GraphRules {
            by_words: !with
                .ports
                .analyst
                .is_asked(&routing::router(agent, graph.router.as_deref())),
            graph,
            agent: id,
            known: variables.clone(),
        }),
        settle_ms: u64::try_from(with.times.settle_until.as_millis()).unwrap_or(u64::MAX),
        ..Rules::of(agent, variables, plan.ring_timeout)
    };
    match plan.is_text {
        true => rules.in_text(),
        false => rules,
    }
}
