//! The domain of Ringback: pure code that knows no actors. It contains agents and their rules, phone numbers,
//! schedules, prompts, analysis, and the ports to everything outside.

#[macro_use]
mod spelled;

pub mod account_settings;
pub mod accounts;
pub mod admission;
pub mod agent;
pub mod analysis;
pub mod analytics;
pub mod api_key;
pub mod call_values;
pub mod callback_time;
pub mod campaign_options;
pub mod conversation;
pub mod deliveries;
pub mod dial_token;
mod disclosure;
pub mod email;
mod excerpt;
pub mod history;
pub mod id;
pub mod interviewer;
pub mod knowledge;
pub mod node_times;
pub mod opt_out;
pub mod phone_number;
pub mod phrases;
pub mod pieces;
pub mod ports;
pub mod prices;
pub mod problem;
pub mod prompt;
pub mod retry;
pub mod safeguards;
pub mod schedule;
pub mod scope;
pub mod secret_token;
pub mod secrets;
mod spoken;
pub mod suggestion;
pub mod template;
pub mod text;
pub mod time;
pub mod transcript_search;
pub mod transfer;
pub mod workflow;
