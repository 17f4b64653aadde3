//! Behaviour through the public doors; one file per behaviour.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod app;
mod calls_end_to_end;
mod campaign_end_to_end;
mod campaign_end_to_end_commands;
mod campaign_end_to_end_timing;
mod cli;
mod cli_postgres;
mod exchange;
mod exchange_client;
mod knowledge_base;
mod knowledge_extract;
mod knowledge_fetch;
mod knowledge_hostile;
mod media_route;
mod openapi;
mod rest_agent_fields;
mod rest_agents;
mod rest_auth;
mod rest_calls;
mod rest_campaign_changes;
mod rest_campaign_csv;
mod rest_campaign_csv_rules;
mod rest_campaign_cuts;
mod rest_campaign_events;
mod rest_campaign_results;
mod rest_campaign_schedules;
mod rest_campaigns;
mod rest_contacts;
mod rest_contract;
mod rest_conversations;
mod rest_directory;
mod rest_envelope;
mod rest_hostile;
mod rest_idempotency;
mod rest_limits;
mod rest_recordings;
mod rest_server;
mod rest_sqlite;
mod storage;
mod storage_model;
mod storage_postgres;
mod support;
mod tidy;
mod tidy_contract;
