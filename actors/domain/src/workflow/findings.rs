//! Findings about a graph: what is wrong with it, and what has no effect.

mod structure;

use std::collections::BTreeSet;

use super::{
    expression::Expression,
    finding::{Finding, Found},
    graph::{Graph, Message, NodeKind, PhoneDestination, Test},
};
use crate::{agent::Agent, template::SYSTEM_VARIABLES, transfer::TransferKind};

/// Things outside a graph that it may refer to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Those of its references that exist in the account.
    pub references: References,
    /// Variables that the agent declares or collects, and those of every call.
    pub variables: BTreeSet<String>,
}

impl Known {
    /// Returns what an agent's graph may refer to.
    pub fn of(agent: &Agent, references: References) -> Self {
        let own = agent.conversation_config.agent.dynamic_variables.keys();
        let collected = agent.platform_settings.data_collection.entities.keys();
        let of_every_call = ["phoneNumber", "name", "email"].into_iter().chain(SYSTEM_VARIABLES);
        let variables = own.chain(collected).cloned().chain(of_every_call.map(str::to_owned));
        Self {
            references,
            variables: variables.collect(),
        }
    }
}

/// Ids of tools, agents, and documents or groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// Tools.
    pub tools: BTreeSet<String>,
    /// Agents.
    pub agents: BTreeSet<String>,
    /// Documents and groups.
    pub documents: BTreeSet<String>,
}

/// Returns what there is to report about a graph.
pub fn findings(graph: &Graph, known: &Known) -> Vec<Finding> {
    let mut found = Found(graph.found.clone());
    if graph.nodes.is_empty() && !found.is_empty() {
        return found.list();
    }
    structure::report(graph, &mut found);
    report_blanks(graph, &mut found);
    report_references(graph, &known.references, &mut found);
    report_values(graph, &known.variables, &mut found);
    found.list()
}

impl Graph {
    /// Returns the ids that the graph refers to, whether or not they exist.
    pub fn references(&self) -> References {
        let mut references = References::default();
        for node in self.nodes.values() {
            references.tools.extend(node.changes.tool_ids.iter().cloned());
            references.documents.extend(node.changes.knowledge_base.iter().cloned());
            match &node.kind {
                NodeKind::Tool { tools } => references.tools.extend(tools.iter().cloned()),
                NodeKind::StandaloneAgent {
                    agent_id: Some(agent), ..
                } => {
                    references.agents.insert(agent.clone());
                }
                _ => {}
            }
        }
        references
    }
}

/// Reports required texts that are blank.
fn report_blanks(graph: &Graph, found: &mut Found) {
    for (id, node) in &graph.nodes {
        let path = format!("workflow.nodes.{id}");
        if let NodeKind::Say { message, .. } = &node.kind {
            let (field, text) = match message {
                Message::Literal { text } => ("text", text),
                Message::Prompt { prompt } => ("prompt", prompt),
            };
            if text.trim().is_empty() {
                let message = "has no words; write what the agent says";
                found.block(&format!("{path}.message.{field}"), message);
            }
        }
        let global = node.global.as_ref();
        if global.is_some_and(|global| global.condition.trim().is_empty()) {
            let message = "is blank; write when the node is entered";
            found.block(&format!("{path}.global.condition"), message);
        }
    }
    for (id, edge) in &graph.edges {
        let is_blank = |test: &Test| matches!(test, Test::Llm { condition } if condition.trim().is_empty());
        for (field, _) in edge.tests().filter(|(_, test)| is_blank(test)) {
            let message = "is blank; write when the edge is taken";
            found.block(&format!("workflow.edges.{id}.{field}.condition"), message);
        }
    }
}

fn report_references(graph: &Graph, known: &References, found: &mut Found) {
    for (id, node) in &graph.nodes {
        let changes = &node.changes;
        let mut used = vec![
            ("additionalToolIds", "tool", changes.tool_ids.as_slice(), &known.tools),
            (
                "additionalKnowledgeBase",
                "document or group",
                changes.knowledge_base.as_slice(),
                &known.documents,
            ),
        ];
        match &node.kind {
            NodeKind::Tool { tools } => used.push(("tools", "tool", tools.as_slice(), &known.tools)),
            NodeKind::StandaloneAgent {
                agent_id: Some(agent), ..
            } => {
                used.push(("agentId", "agent", std::slice::from_ref(agent), &known.agents));
            }
            NodeKind::StandaloneAgent {
                node_id: Some(entry),
                agent_id: None,
                ..
            } if graph.node(entry).is_none() => {
                found.block(
                    &format!("workflow.nodes.{id}.nodeId"),
                    format!("`{entry:.100}` is not a node of this agent"),
                );
            }
            _ => {}
        }
        for (field, thing, ids, known) in used {
            for missing in ids.iter().filter(|id| !known.contains(*id)) {
                let message = format!("names `{missing:.100}`, and there is no such {thing} in this account");
                found.block(&format!("workflow.nodes.{id}.{field}"), message);
            }
        }
    }
}

/// Reports variables that nothing sets, types that do not fit, and destinations that cannot be dialed.
fn report_values(graph: &Graph, known: &BTreeSet<String>, found: &mut Found) {
    let mut set: BTreeSet<&str> = known.iter().map(String::as_str).collect();
    let mut used: Vec<(String, &str)> = Vec::new();
    let mut expressions: Vec<(String, &Expression)> = Vec::new();
    for (id, node) in &graph.nodes {
        set.extend(node.extract.iter().map(|(name, _)| name.as_str()));
        match &node.kind {
            NodeKind::UpdateState { updates } => {
                set.extend(updates.iter().map(|update| update.variable_name.as_str()));
                let path = |index| format!("workflow.nodes.{id}.updates[{index}]");
                let updates = updates.iter().enumerate();
                expressions.extend(updates.map(|(index, update)| (path(index), &update.expression)));
            }
            NodeKind::PhoneNumber {
                transfer_destination: to,
                transfer_type,
            } => {
                if TransferKind::of(transfer_type.as_deref()).is_none() {
                    let path = format!("workflow.nodes.{id}.transferType");
                    found.block(&path, "must be `blind`, `conference` or `sip_refer`");
                }
                let path = format!("workflow.nodes.{id}.transferDestination");
                match to.variable() {
                    Some(name) => used.push((path, name)),
                    None if to.usable(None, None).is_none() => {
                        let (field, message) = needed(to);
                        found.block(&format!("{path}.{field}"), message);
                    }
                    None => {}
                }
            }
            _ => {}
        }
    }
    for (id, edge) in &graph.edges {
        expressions.extend(edge.tests().filter_map(|(field, test)| match test {
            Test::Expression { expression } => Some((format!("workflow.edges.{id}.{field}"), expression)),
            _ => None,
        }));
    }
    for (path, expression) in &expressions {
        for part in expression.parts() {
            if let Some(types) = part.mismatch() {
                found.block(
                    path,
                    format!("combines {types}, which cannot be compared or calculated with"),
                );
            }
            if part.divides_by_zero() {
                found.block(path, "divides by 0, which has no result");
            }
            if let Expression::DynamicVariable { name } = part {
                used.push((path.clone(), name));
            }
        }
    }
    for (path, name) in used.into_iter().filter(|(_, name)| !set.contains(name)) {
        let message = "which nothing sets; give it a default value in `dynamicVariables` (dashboard: default values of \
                       placeholders), or extract or update it in a node";
        found.block(&path, format!("uses the variable `{name:.100}`, {message}"));
    }
}

/// Returns the field of a destination that cannot be dialed, and its requirement.
fn needed(to: &PhoneDestination) -> (&'static str, &'static str) {
    match to {
        PhoneDestination::Phone { .. } | PhoneDestination::PhoneDynamicVariable { .. } => {
            let message = "needs a number with + and country code, such as +15550100010";
            ("phoneNumber", message)
        }
        PhoneDestination::SipUri { .. } | PhoneDestination::SipUriDynamicVariable { .. } => {
            ("sipUri", "needs a SIP address, such as sip:desk@pbx.example")
        }
    }
}
