//! The stored document of an agent: only what a client set. It is validated when it is stored, merged by
//! patches, and completed with the defaults when it is read.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::{Map, Value, json};

use super::{
    calendars::{self, calendar_problems},
    object::Agent,
    schema::{
        graph_limits::graph_problems,
        shape::{Mode, Walk, at, join},
        table::AGENT,
    },
    transfers::{TRANSFERS, transfer_problems},
};
use crate::{
    phone_number::PhoneNumber,
    problem::{Problem, shown},
};

/// A path and the id at that path.
pub type Reference = (String, String);

/// Longest document as JSON, in bytes. Free-form parts grow with every patch, and each call reads the whole document.
const DOCUMENT_BYTES: usize = 1024 * 1024;

/// Path of the transfers to other agents.
const AGENT_TRANSFERS: &str = "conversationConfig.agent.prompt.builtInTools.transferToAgent.transfers";

/// Path of the conversation graph.
const WORKFLOW: &str = "workflow";

/// Validates the body of a create request. Returns the sparse document to store, without fields set to `null`.
///
/// # Errors
///
/// Returns all problems of the body.
pub fn validate_create(body: &Value) -> Result<Map<String, Value>, Vec<Problem>> {
    let (document, problems) = checked(&in_our_spelling(body));
    if problems.is_empty() {
        Ok(document)
    } else {
        Err(problems)
    }
}

/// Applies a merge patch (RFC 7396) to a stored document. `null` resets a field to its default. The merged
/// document must obey the same rules as a new one.
///
/// # Errors
///
/// Returns all problems of the patch and of the merged document.
pub fn merge_patch(stored: &Map<String, Value>, patch: &Value) -> Result<Map<String, Value>, Vec<Problem>> {
    let patch = &*in_our_spelling(patch);
    let (_, mut problems) = Walk::check(patch, &AGENT, Mode::Patch);
    if !patch.is_object() {
        return Err(problems);
    }
    let mut merged = Value::Object(stored.clone());
    merge(&mut merged, patch);
    let (document, found) = checked(&merged);
    // Agents saved before a transfer had to name its agent, and before graphs had limits, can still be changed elsewhere.
    let untouched = [AGENT_TRANSFERS, WORKFLOW].map(|path| at(&document, path) == at(stored, path));
    for problem in found {
        let kept = match problem.code {
            "required" => untouched[0] && problem.path.starts_with(AGENT_TRANSFERS),
            "too_long" => untouched[1] && problem.path.starts_with(WORKFLOW),
            _ => false,
        };
        if !kept && !problems.iter().any(|known| known.path == problem.path) {
            problems.push(problem);
        }
    }
    if problems.is_empty() {
        Ok(document)
    } else {
        Err(problems)
    }
}

/// Returns the stored document with all defaults filled in.
///
/// # Errors
///
/// Returns an error if the document was not made by [`validate_create`] or [`merge_patch`].
pub fn complete(stored: &Map<String, Value>) -> Result<Agent, serde_json::Error> {
    serde_json::from_value(Value::Object(stored.clone()))
}

/// Returns the agents that the document transfers calls to, to check that they exist.
pub fn referenced_agents(stored: &Map<String, Value>) -> Vec<Reference> {
    let ids = agent_transfers(stored).filter_map(|(path, agent)| Some((format!("{path}.agentId"), agent?.to_owned())));
    ids.collect()
}

/// Returns the paths of transfers that name no agent. They can only be in documents saved before one was required.
pub fn transfers_to_nobody(stored: &Map<String, Value>) -> impl Iterator<Item = String> {
    let nobodys = agent_transfers(stored).filter(|(_, agent)| agent.is_none_or(|agent| agent.trim().is_empty()));
    nobodys.map(|(path, _)| path)
}

/// Returns the path of each transfer to an agent, with that agent.
fn agent_transfers(stored: &Map<String, Value>) -> impl Iterator<Item = (String, Option<&str>)> {
    let transfers = at(stored, AGENT_TRANSFERS).and_then(Value::as_array);
    let numbered = transfers.into_iter().flatten().enumerate();
    numbered.map(|(index, transfer)| {
        let agent = transfer.get("agentId").and_then(Value::as_str);
        (format!("{AGENT_TRANSFERS}[{index}]"), agent)
    })
}

/// Returns the documents and document groups that the document names, to check that they exist.
pub fn referenced_documents(stored: &Map<String, Value>) -> Vec<Reference> {
    ids(stored, "conversationConfig.agent.prompt.knowledgeBase")
}

/// Returns the numbers that the document names, and whether the agent answers them. It answers its own
/// numbers if it takes incoming calls, but not numbers used only as rotating caller IDs.
pub fn named_numbers(stored: &Map<String, Value>) -> BTreeMap<PhoneNumber, bool> {
    let answers = matches!(
        stored.get("direction").and_then(Value::as_str),
        Some("inbound" | "both")
    );
    let own = stored.get("phoneNumbers").and_then(Value::as_array);
    let own = own.into_iter().flatten().filter_map(|entry| entry.get("number"));
    let rotated = at(stored, "platformSettings.telephony.rotationNumbers").and_then(Value::as_array);
    let rotated = rotated.into_iter().flatten().map(|number| (number, false));
    let mut numbers = BTreeMap::new();
    for (number, answered) in own.map(|number| (number, answers)).chain(rotated) {
        if let Some(number) = number.as_str().and_then(|text| PhoneNumber::stored(text).ok()) {
            *numbers.entry(number).or_insert(false) |= answered;
        }
    }
    numbers
}

/// Returns the HTTP tools that the document names, to check that they exist.
pub fn referenced_tools(stored: &Map<String, Value>) -> Vec<Reference> {
    ids(stored, "conversationConfig.agent.prompt.toolIds")
}

/// Returns the transfer rules that the document names. Ids that are no rules are stored, and have no effect.
pub fn referenced_rules(stored: &Map<String, Value>) -> Vec<Reference> {
    ids(
        stored,
        "conversationConfig.agent.prompt.builtInTools.transferToNumber.transferRuleIds",
    )
}

/// Returns whether the document sets `issueTracking`.
pub fn tracks_issues(stored: &Map<String, Value>) -> bool {
    at(stored, "platformSettings.callActions.issueTracking") == Some(&Value::Bool(true))
}

/// Returns what is wrong in a part of a `conversationConfig`, each with its path from there. Unknown fields are passed
/// over, as the official types have more than ours.
pub fn config_problems(config: &Map<String, Value>) -> Vec<Problem> {
    let body = json!({ "conversationConfig": config });
    let (_, problems) = Walk::check(&body, &AGENT, Mode::Patch);
    let known = problems.into_iter().filter(|problem| problem.code != "unknown_field");
    known.collect()
}

/// Returns a body with the graph's own field in our spelling. Nodes and edges are stored in the spelling that they have.
fn in_our_spelling(body: &Value) -> Cow<'_, Value> {
    const THEIRS: &str = "prevent_subagent_loops";
    if body.get(WORKFLOW).and_then(|workflow| workflow.get(THEIRS)).is_none() {
        return Cow::Borrowed(body);
    }
    let mut body = body.clone();
    if let Some(workflow) = body.get_mut(WORKFLOW).and_then(Value::as_object_mut)
        && let Some(value) = workflow.shift_remove(THEIRS)
    {
        workflow.entry("preventSubagentLoops").or_insert(value);
    }
    Cow::Owned(body)
}

fn checked(body: &Value) -> (Map<String, Value>, Vec<Problem>) {
    let (stored, mut problems) = Walk::check(body, &AGENT, Mode::Whole);
    let document = match stored {
        Some(Value::Object(document)) => document,
        Some(_) | None => Map::new(),
    };
    problems.extend(dangling_edges(&document));
    problems.extend(too_large_graph(&document));
    problems.extend(repeated_numbers(&document));
    // If a transfer has a problem of its own, report nothing else about transfers, because the invalid part
    // is missing from the document.
    if !problems.iter().any(|problem| problem.path.starts_with(TRANSFERS)) {
        problems.extend(transfer_problems(&document));
    }
    if !problems
        .iter()
        .any(|problem| problem.path.starts_with(calendars::PLACE))
    {
        problems.extend(calendar_problems(&document));
    }
    problems.extend(too_large(&document));
    (document, problems)
}

/// Returns a problem if many patches have made the document larger than a body may be.
fn too_large(document: &Map<String, Value>) -> Option<Problem> {
    let sizes = document.iter().map(|(name, value)| (value.to_string().len(), name));
    let (size, largest) = sizes.fold((0, (0, "")), |(sum, largest), (size, name)| {
        (sum + size, largest.max((size, name.as_str())))
    });
    (size > DOCUMENT_BYTES).then(|| {
        let message = format!(
            "the agent would have {size} bytes as JSON, most of them here; at most {DOCUMENT_BYTES} are allowed"
        );
        Problem::new(largest.1, "too_long", message)
    })
}

/// Returns the limits that the conversation graph exceeds.
fn too_large_graph(document: &Map<String, Value>) -> Vec<Problem> {
    let empty = Map::new();
    let map = |path| at(document, path).and_then(Value::as_object).unwrap_or(&empty);
    graph_problems(map("workflow.nodes"), map("workflow.edges"))
}

/// Returns the edges whose ends are not nodes.
fn dangling_edges(document: &Map<String, Value>) -> Vec<Problem> {
    let nodes = at(document, "workflow.nodes").and_then(Value::as_object);
    let edges = at(document, "workflow.edges").and_then(Value::as_object);
    let mut problems = Vec::new();
    for (id, edge) in edges.into_iter().flatten() {
        for end in ["source", "target"] {
            let Some(node @ Value::String(name)) = edge.get(end) else {
                continue;
            };
            if !nodes.is_some_and(|nodes| nodes.contains_key(name)) {
                let path = join(&join("workflow.edges", id), end);
                let message = format!("{} is not a node; add it to workflow.nodes", shown(node));
                problems.push(Problem::new(path, "not_found", message));
            }
        }
    }
    problems
}

/// Returns the duplicates among an agent's own numbers.
fn repeated_numbers(document: &Map<String, Value>) -> Vec<Problem> {
    let numbers = document.get("phoneNumbers").and_then(Value::as_array);
    let mut seen = BTreeSet::new();
    let mut problems = Vec::new();
    for (index, entry) in numbers.into_iter().flatten().enumerate() {
        let Some(number) = entry.get("number") else { continue };
        if !seen.insert(number.as_str()) {
            let path = format!("phoneNumbers[{index}].number");
            problems.push(Problem::new(
                path,
                "invalid",
                format!("{} is in the list already", shown(number)),
            ));
        }
    }
    problems
}

fn ids(stored: &Map<String, Value>, path: &str) -> Vec<Reference> {
    let ids = at(stored, path).and_then(Value::as_array);
    let ids = ids.into_iter().flatten().enumerate();
    ids.filter_map(|(index, id)| Some((format!("{path}[{index}]"), id.as_str()?.to_owned())))
        .collect()
}

/// Applies a merge patch as in RFC 7396, section 2. The `json-patch` crate is not used, because it moves the
/// last key into the place of a removed key, and the order of the entities is the order of the questions.
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (name, value) in patch {
        if value.is_null() {
            target.shift_remove(name);
        } else {
            merge(target.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests;
