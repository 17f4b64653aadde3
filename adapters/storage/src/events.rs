//! Account events and the deliveries that carry them outside.

pub mod attempt_ends;

pub mod account_events;
pub mod deliveries;
pub mod webhook_terms;
pub mod webhooks;
