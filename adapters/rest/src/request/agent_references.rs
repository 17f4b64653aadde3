//! References of an agent to other resources: documents and groups of the knowledge base, HTTP tools, and the
//! URL of its webhook.

use std::collections::HashSet;

use domain::{
    agent::{self, Problem, Reference, referenced_documents, referenced_rules, referenced_tools, transfers_to_nobody},
    id::AccountId,
    ports::store::{AgentRow, Store},
    workflow::{findings_of, listed},
};
use serde_json::{Map, Value};
use url::Url;

use crate::response::error::ApiResult;
use net::address_policy::{ALLOW_PRIVATE, AddressPolicy};

const WEBHOOK: &str = "platformSettings.callActions.postCallWebhook";

/// Ids named in a warning.
const LISTED: usize = 20;

/// Returns a problem for each missing document or group.
pub async fn knowledge(
    store: &dyn Store,
    account: AccountId,
    document: &Map<String, Value>,
) -> ApiResult<Vec<Problem>> {
    let named = referenced_documents(document);
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let documents = store.known_documents(account, &ids(&named)).await?;
    let groups = store.known_groups(account, &ids(&named)).await?;
    let known: HashSet<String> = documents
        .iter()
        .map(ToString::to_string)
        .chain(groups.iter().map(ToString::to_string))
        .collect();
    let missing = named.into_iter().filter(|(_, text)| !known.contains(text));
    let problem = |(path, text): Reference| {
        let message = format!("there is no document or group `{text}` in this account");
        Problem::new(path, "not_found", message)
    };
    Ok(missing.map(problem).collect())
}

/// Returns a problem for each missing HTTP tool.
pub async fn tools(store: &dyn Store, account: AccountId, document: &Map<String, Value>) -> ApiResult<Vec<Problem>> {
    let named = referenced_tools(document);
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let known = store.tools_of(account, &ids(&named)).await?;
    let known: HashSet<String> = known.iter().map(|row| row.id.to_string()).collect();
    let missing = named.into_iter().filter(|(_, text)| !known.contains(text));
    let problem =
        |(path, text): Reference| Problem::new(path, "not_found", format!("there is no tool `{text}` in this account"));
    Ok(missing.map(problem).collect())
}

/// Returns a problem for each missing transfer rule. Ids that `stored` has already are kept, and ignored in calls.
pub async fn transfer_rules(
    store: &dyn Store,
    account: AccountId,
    document: &Map<String, Value>,
    stored: Option<&Map<String, Value>>,
) -> ApiResult<Vec<Problem>> {
    let kept: HashSet<String> = stored
        .map(referenced_rules)
        .into_iter()
        .flatten()
        .map(|(_, id)| id)
        .collect();
    let missing = missing_rules(store, account, document).await?;
    let missing = missing.into_iter().filter(|(_, text)| !kept.contains(text));
    let problem = |(path, text): Reference| {
        let message = format!("there is no transfer rule `{text}` in this account; create it at `/transfer-rules`");
        Problem::new(path, "not_found", message)
    };
    Ok(missing.map(problem).collect())
}

/// Returns a warning that names the ids of an agent that are no transfer rules.
pub async fn ignored_rules(store: &dyn Store, row: &AgentRow) -> ApiResult<Option<String>> {
    let missing = missing_rules(store, row.account, &row.document).await?;
    let named: Vec<String> = missing
        .into_iter()
        .take(LISTED)
        .map(|(_, text)| format!("`{text:.100}`"))
        .collect();
    Ok((!named.is_empty()).then(|| {
        let named = named.join(", ");
        format!("`transferRuleIds` that are no transfer rules of this account have no effect: {named}")
    }))
}

/// Returns a warning that names the transfers of an agent that lack the other agent.
pub fn ignored_transfers(row: &AgentRow) -> Option<String> {
    let named: Vec<String> = transfers_to_nobody(&row.document)
        .take(LISTED)
        .map(|path| format!("`{path}`"))
        .collect();
    (!named.is_empty()).then(|| format!("transfers without an `agentId` have no effect: {}", named.join(", ")))
}

/// Returns a warning about the conversation graph of an agent. Returns `None` if there is nothing to report, or if the
/// store is unavailable.
pub async fn graph(store: &dyn Store, row: &AgentRow) -> Option<String> {
    let agent = agent::complete(&row.document).ok()?;
    listed(&findings_of(store, row.account, &agent).await.ok()?)
}

async fn missing_rules(
    store: &dyn Store,
    account: AccountId,
    document: &Map<String, Value>,
) -> ApiResult<Vec<Reference>> {
    let mut named = referenced_rules(document);
    if !named.is_empty() {
        let known = store.transfer_rules_of(account, &ids(&named)).await?;
        let known: HashSet<String> = known.iter().map(|row| row.id.to_string()).collect();
        named.retain(|(_, text)| !known.contains(text));
    }
    Ok(named)
}

fn ids<T: std::str::FromStr>(named: &[Reference]) -> Vec<T> {
    named.iter().filter_map(|(_, text)| text.parse().ok()).collect()
}

/// Returns a problem if the webhook's host is an address that is not allowed. Host names are checked at each delivery.
pub fn webhook(policy: &AddressPolicy, document: &Map<String, Value>) -> Option<Problem> {
    let value = WEBHOOK.split('.').try_fold(None::<&Value>, |at, name| {
        let next = at.map_or_else(|| document.get(name), |value| value.get(name));
        next.map(Some)
    })??;
    let url = Url::parse(value.as_str()?).ok()?;
    let refused = policy.check_literal(&url).err()?;
    Some(Problem::new(
        WEBHOOK,
        "address_not_allowed",
        format!("{refused}; {ALLOW_PRIVATE}"),
    ))
}
