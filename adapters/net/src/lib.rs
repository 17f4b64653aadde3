//! What all adapters share on the network: the HTTP client, sockets to providers, keys, which addresses may be reached,
//! circuit breakers, and what of foreign texts may be shown.

pub mod address_policy;
pub mod bind;
pub mod guard;
pub mod http_client;
pub mod key;
pub mod log_gate;
pub mod redact;
pub mod socket;
