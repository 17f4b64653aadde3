//! The account: keys, settings, events, and what the installation offers it.

pub mod api_keys;
pub mod catalog;
pub mod events;
pub mod health;
pub mod me;
pub mod phone_numbers;
pub mod safeguards;
pub mod services;
pub mod webhooks;
