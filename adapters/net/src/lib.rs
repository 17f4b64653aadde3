//! Network code shared by all adapters: the HTTP client, sockets to providers, keys, the policy on addresses,
//! circuit breakers, cached lists, parsers of settings, and redaction of foreign texts.

pub mod address_policy;
pub mod bind;
pub mod cached;
pub mod guard;
pub mod http_client;
pub mod key;
pub mod log_gate;
pub mod redact;
pub mod setting;
pub mod socket;
