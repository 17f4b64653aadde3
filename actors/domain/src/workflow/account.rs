//! The graph of an agent within its account.

use super::{
    finding::Finding,
    findings::{Known, References, findings},
    graph::Graph,
};
use crate::{
    agent::Agent,
    id::AccountId,
    ports::store::{Store, StoreError},
};

/// Findings in a text.
const LISTED: usize = 20;

/// Returns what there is to report about an agent's graph, whose references are looked up in the account. Without a
/// graph there is nothing.
///
/// # Errors
///
/// Returns an error if the store is unavailable.
pub async fn findings_of(store: &dyn Store, account: AccountId, agent: &Agent) -> Result<Vec<Finding>, StoreError> {
    let Some(graph) = Graph::read(&agent.workflow) else {
        return Ok(Vec::new());
    };
    let named = graph.references();
    let mut known = References::default();
    if !named.tools.is_empty() {
        let tools = store.tools_of(account, &parsed(&named.tools)).await?;
        known.tools.extend(tools.iter().map(|tool| tool.id.to_string()));
    }
    if !named.documents.is_empty() {
        let documents = store.known_documents(account, &parsed(&named.documents)).await?;
        let groups = store.known_groups(account, &parsed(&named.documents)).await?;
        known.documents.extend(documents.iter().map(ToString::to_string));
        known.documents.extend(groups.iter().map(ToString::to_string));
    }
    for id in named.agents {
        let Ok(agent) = id.parse() else { continue };
        match store.agent(account, agent).await {
            Ok(_) => known.agents.insert(id),
            Err(StoreError::NotFound) => continue,
            Err(error) => return Err(error),
        };
    }
    Ok(findings(&graph, &Known::of(agent, known)))
}

/// Returns why an agent's graph cannot be used, with the first findings; none if it can, or there is none.
///
/// # Errors
///
/// Returns an error if the store is unavailable.
pub async fn graph_obstacle(
    store: &dyn Store,
    account: AccountId,
    agent: &Agent,
) -> Result<Option<String>, StoreError> {
    let mut found = findings_of(store, account, agent).await?;
    found.retain(|finding| finding.blocks);
    Ok(listed(&found).map(|list| format!("the conversation graph cannot be used: {list}")))
}

/// Returns the first findings in one text; none if there are none.
pub fn listed(findings: &[Finding]) -> Option<String> {
    let told = findings.iter().take(LISTED).map(ToString::to_string);
    let more = findings.len().saturating_sub(LISTED);
    let more = (more > 0).then(|| format!("{more} more"));
    let told: Vec<String> = told.chain(more).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

fn parsed<T: std::str::FromStr>(ids: &std::collections::BTreeSet<String>) -> Vec<T> {
    ids.iter().filter_map(|id| id.parse().ok()).collect()
}
