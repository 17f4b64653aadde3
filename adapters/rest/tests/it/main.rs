//! Tests of the HTTP API through its responses; one file per resource or rule.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod agent_fields;
mod agent_versions;
mod agents;
mod analytics;
mod api_keys;
mod appointments;
mod auth;
mod calls;
mod campaign_changes;
mod campaign_csv;
mod campaign_csv_check;
mod campaign_csv_rules;
mod campaign_cuts;
mod campaign_events;
mod campaign_growth;
mod campaign_results;
mod campaign_schedules;
mod campaigns;
mod catalog;
mod contacts;
mod contract;
mod conversation_files;
mod conversation_search;
mod conversations;
mod directory;
mod envelope;
mod events;
mod hostile;
mod idempotency;
mod knowledge_search;
mod limits;
mod live;
mod live_calls;
mod overload;
mod phone_numbers;
mod recordings;
mod server;
mod services;
mod sessions;
mod sqlite;
mod test_calls;
mod transfer_rules;
mod versions;
mod webhooks;
