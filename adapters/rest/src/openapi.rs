//! The API's description (OpenAPI 3.1), generated from the code, and the page that shows it.
//!
//! Schemas are the types next to each resource's operations. The agent's schemas come from the domain's
//! table. Tests check every response and every route against the description.

pub mod agents;
pub mod campaigns;
pub mod conversations;
mod docs;
mod events;
pub mod live;
pub mod sessions;

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use axum::{
    Router,
    http::header,
    routing::{MethodRouter, get},
};
use bytes::Bytes;
use domain::{
    agent::{AgentForm, agent_schemas},
    ports::store::ContactStatus,
};
use serde_json::{Map, Value, json};

use crate::{
    described::{
        answers, common, forms,
        operation::{EXTENSION, Operation, Schemas, routes},
    },
    request::{
        query::{NoParameters, Query},
        schemas::{collect, flat, reference_of},
    },
    resources::{
        account::{api_keys, catalog, me, phone_numbers, safeguards, services, webhooks},
        agents::{AgentMetadata, tools, transfer_rules},
        analytics, appointments, contacts, knowledge_base,
    },
    response::envelope::Pagination,
    state::RestState,
};

pub use docs::router as docs_router;

/// Version of the interface, not of the build.
const VERSION: &str = "1.0.0";

const ABOUT: &str = "\
AI voice agents that place and receive phone calls. Every response except the event stream, recordings, files and this \
description is JSON in one envelope: `success` with `data`, or `success` false with `error`. `HEAD` works like `GET` \
without a body. An unknown path returns 404, an unsupported method 405, and an unknown query \
parameter 400. `x-ringback-extension` marks what other services with this interface lack.";

/// Fields that are not in the service document.
const OWN_FIELDS: &[(&str, &[&str])] = &[
    ("Campaign", &["nextRunAt", "maxConcurrentCalls", "progress"]),
    ("NewCampaign", &["maxConcurrentCalls"]),
    ("CampaignPatch", &["maxConcurrentCalls"]),
    (
        "ConversationItem",
        &[
            "campaignId",
            "agentVersion",
            "contactName",
            "variables",
            "errorMessage",
            "voiceMailDetected",
            "callTransferred",
            "sentiment",
            "latencyP50Ms",
            "cost",
        ],
    ),
    (
        "Conversation",
        &[
            "conversationId",
            "campaignId",
            "agentVersion",
            "contactName",
            "variables",
            "carrier",
            "analysedBy",
            "issues",
            "usage",
            "latencyP50Ms",
        ],
    ),
    ("DataCollected", &["items"]),
    ("DocumentDetails", &["textLength"]),
    ("Health", &["status", "version"]),
];

/// Schemas that allow custom fields, and the reserved names of each.
const KEEP_EXTRAS: &[(&str, &[&str])] = &[
    ("Contact", &[]),
    ("NewContact", &["contactId", "metadata"]),
    ("ContactPatch", &["contactId", "metadata"]),
    ("CampaignContact", &[]),
    ("NewCampaignContact", &["metadata"]),
];

/// Parts of bodies and answers, which are described where they are contained.
const PARTS: [&str; 5] = [
    "CalleeRecord",
    "CampaignOptions",
    "CampaignSettings",
    "FollowUpFields",
    "ScheduleText",
];

/// Rules that are stored as given and returned with all defaults.
const SAFEGUARDS: [&str; 5] = [
    "Safeguards",
    "CallingHours",
    "CallsPerNumber",
    "AllowedPrefixes",
    "DailyCalls",
];

/// Returns the routes of all operations that need a key, but for those that only the node which holds a call can answer.
pub fn keyed() -> Router<RestState> {
    routes(resources().into_iter().flat_map(|(_, _, operations)| operations))
}

/// Returns the handler that answers with the description of a service at this address.
pub fn show<S: Clone + Send + Sync + 'static>(address: &str) -> MethodRouter<S> {
    let (address, text) = (Arc::<str>::from(address), Arc::new(OnceLock::new()));
    get(async move |_: Query<NoParameters>| {
        let text: &Bytes = text.get_or_init(|| Bytes::from(description(&address).to_string()));
        ([(header::CONTENT_TYPE, "application/json")], text.clone())
    })
}

/// Returns the whole description of a service at this address.
pub fn description(address: &str) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    let mut schemas = Schemas::default();
    let mut tags = Vec::new();
    for (tag, about, operations) in resources() {
        tags.push(json!({ "name": tag, "description": about }));
        for operation in operations {
            let operation = operation.finish(tag);
            schemas.read.extend(operation.schemas.read);
            schemas.sent.extend(operation.schemas.sent);
            let item = paths.entry(operation.path).or_insert_with(|| json!({}));
            item[operation.method] = Value::Object(operation.value);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ringback",
            "version": VERSION,
            "description": ABOUT,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": address }],
        "tags": tags,
        "paths": paths,
        "webhooks": events::webhooks(),
        "components": {
            "schemas": components(schemas),
            "responses": answers::components(),
            "parameters": answers::parameter_components(),
            "headers": answers::header_components(),
            "securitySchemes": security_schemes(),
        },
    })
}

fn resources() -> Vec<(&'static str, &'static str, Vec<Operation>)> {
    vec![
        ("Service", "Health of the service, and this description", me::service()),
        ("Account", "The account behind a key", me::operations()),
        ("API keys", "Keys with scopes", api_keys::operations()),
        (
            "Sessions",
            "Browsers that are signed in to the dashboard",
            sessions::operations(),
        ),
        ("Carriers and providers", "Their state", services::operations()),
        ("Agents", "AI agents that talk in calls", agents::operations()),
        (
            "Knowledge base",
            "Documents that agents use",
            knowledge_base::operations(),
        ),
        ("Tools", "HTTP tools that agents may use in calls", tools::operations()),
        (
            "Transfer rules",
            "Transfers that several agents offer",
            transfer_rules::operations(),
        ),
        ("Phone numbers", "Numbers and their agents", phone_numbers::operations()),
        (
            "Voices and models",
            "What the configured providers offer",
            catalog::operations(),
        ),
        ("Safeguards", "Limits on the account's calls", safeguards::operations()),
        ("Contacts", "Saved contacts", contacts::operations()),
        ("Do not call", "Numbers that are never called", contacts::do_not_call()),
        ("Campaigns", "Contacts to call, and when", campaigns::operations()),
        ("Conversations", "Results of calls", conversations::operations()),
        (
            "Appointments",
            "Appointments that calls booked",
            appointments::operations(),
        ),
        ("Analytics", "Counts of calls", analytics::operations()),
        (
            "Events",
            "What happens in the account: as a stream, and sent to webhooks",
            webhooks::operations(),
        ),
    ]
}

fn components(mut schemas: Schemas) -> BTreeMap<String, Value> {
    let mut read = schemas.read;
    collect::<common::Failure>(&mut read);
    collect::<Pagination>(&mut read);
    collect::<common::SortedPagination>(&mut read);
    collect::<ContactStatus>(&mut read);
    collect::<AgentMetadata>(&mut read);
    let bodies = read.clone();
    // The body that creates a resource is a part of the answers that show it.
    for schema in read
        .values_mut()
        .filter_map(|schema| schema.get_mut("allOf")?.as_array_mut())
        .flatten()
    {
        let body = reference_of(schema).filter(|name| schemas.sent.contains_key(*name));
        if let Some(body) = body.filter(|name| !PARTS.contains(name)) {
            *schema = forms::read(&bodies[body], &bodies);
        }
    }
    for (schemas, is_sent) in [(&mut read, false), (&mut schemas.sent, true)] {
        let all = schemas.clone();
        for schema in schemas.values_mut().filter(|schema| schema.get("allOf").is_some()) {
            *schema = flat(schema, &all);
            // The derive leaves this out of a body with flattened fields.
            if is_sent {
                schema["additionalProperties"] = false.into();
            }
        }
    }
    if let Some(new) = schemas.sent.get_mut("NewCampaign") {
        forms::optional_or_null(new);
    }
    for part in PARTS {
        read.remove(part);
        schemas.sent.remove(part);
    }
    read.values_mut().for_each(never_null_when_optional);
    // openapi-generator's TypeScript does not import a schema that has a description beside its reference.
    let choices = read
        .values_mut()
        .filter_map(|schema| schema.get_mut("oneOf")?.as_array_mut());
    for choice in choices.flatten().filter(|choice| choice["$ref"].is_string()) {
        *choice = json!({ "$ref": choice["$ref"] });
    }
    for (name, schema) in &mut read {
        if SAFEGUARDS.contains(&name.as_str()) {
            forms::without_defaults(schema);
        }
    }
    read.extend(schemas.sent);
    read.extend(agents());
    read.extend(events::schemas(&read));
    for (name, fields) in OWN_FIELDS {
        for field in *fields {
            if let Some(property) = read
                .get_mut(*name)
                .and_then(|schema| schema["properties"].get_mut(field))
            {
                property[EXTENSION] = json!(true);
            }
        }
    }
    for (name, reserved) in KEEP_EXTRAS {
        let Some(schema) = read.get_mut(*name) else { continue };
        schema["additionalProperties"] = json!(true);
        if !reserved.is_empty() {
            schema["propertyNames"] = json!({ "maxLength": 200, "pattern": r"\S", "not": { "enum": reserved } });
        }
    }
    read
}

/// Returns the three forms of the agent. The one in responses has id and metadata.
fn agents() -> BTreeMap<String, Value> {
    let mut schemas = agent_schemas(AgentForm::Read);
    schemas.extend(agent_schemas(AgentForm::New));
    schemas.extend(agent_schemas(AgentForm::Patch));
    if let Some(agent) = schemas.get_mut("Agent") {
        let mut properties = Map::new();
        properties.insert("agentId".into(), json!({ "type": "string", "format": "uuid" }));
        if let Some(Value::Object(own)) = agent.get_mut("properties").map(Value::take) {
            properties.extend(own);
        }
        properties.insert(
            "metadata".into(),
            json!({ "$ref": "#/components/schemas/AgentMetadata" }),
        );
        agent["properties"] = Value::Object(properties);
        if let Some(required) = agent["required"].as_array_mut() {
            required.extend([json!("agentId"), json!("metadata")]);
        }
    }
    schemas
}

/// Removes `null` from optional fields: in responses they are omitted instead.
fn never_null_when_optional(schema: &mut Value) {
    let required: Vec<String> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (_, property) in properties.iter_mut().filter(|(name, _)| !required.contains(name)) {
        without_null(property);
    }
}

fn without_null(property: &mut Value) {
    let null = json!("null");
    if let Some(types) = property.get_mut("type").and_then(Value::as_array_mut) {
        types.retain(|name| *name != null);
        if let [one] = types.as_slice() {
            property["type"] = one.clone();
        }
    }
    let choices = property.get_mut("oneOf").and_then(Value::as_array_mut);
    let Some(choices) = choices else { return };
    choices.retain(|choice| choice.get("type") != Some(&null));
    if let ([Value::Object(only)], Some(whole)) = (choices.clone().as_slice(), property.as_object_mut()) {
        whole.remove("oneOf");
        whole.extend(only.clone());
    }
}

fn security_schemes() -> Value {
    json!({
        "apiKeyHeader": { "type": "apiKey", "in": "header", "name": "x-api-key", "description": "The account's key" },
        "bearer": { "type": "http", "scheme": "bearer", "description": "The account's key" },
        "apiKeyQuery": {
            "type": "apiKey",
            "in": "query",
            "name": "apiKey",
            "description": "The account's key, on GET and HEAD only",
        },
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": "__Host-ringback",
            "description": "The cookie of a session, `ringback` at a loopback address without TLS. Other requests than GET \
                            and HEAD, and WebSockets, need an `Origin` header with the service's own address.",
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The approved description; after a change run `cargo run -- openapi > tests/openapi.json`.
    const AGREED: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/openapi.json"));

    #[test]
    fn the_description_is_the_one_that_was_agreed_to() {
        let agreed: Value = serde_json::from_str(AGREED).unwrap();
        assert!(
            agreed == description("http://127.0.0.1:8080"),
            "the description changed; if that is meant: cargo run -- openapi > tests/openapi.json"
        );
    }
}
