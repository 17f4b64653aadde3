//! Behaviour through the public interfaces; one file per behaviour.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod analysis;
mod app;
mod calls_end_to_end;
mod campaign_end_to_end;
mod campaign_end_to_end_commands;
mod campaign_end_to_end_personas;
mod campaign_end_to_end_timing;
mod canary;
mod cli;
mod cli_carriers;
mod cli_check;
mod cli_names;
mod cli_postgres;
mod cli_roster;
mod deploy;
mod dialer_load;
mod dialer_rules;
mod documents;
mod drain;
mod exchange_client;
mod fixed_phrases;
mod foreign;
mod inbound_end_to_end;
mod knowledge_base;
mod knowledge_extract;
mod knowledge_fetch;
mod knowledge_hostile;
mod knowledge_in_calls;
mod knowledge_vectors;
mod latency;
mod layout;
mod machines_end_to_end;
mod openapi;
mod opt_out;
mod safeguards;
mod several_nodes;
mod storage_outage;
mod takeover;
mod tls;
mod transfer_by_rule;
mod two_nodes;
mod voices;
mod widget;
mod words;
