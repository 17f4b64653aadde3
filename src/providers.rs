//! What all providers of language and speech have in common: names, addresses, keys, sockets.

pub mod guard;
pub mod name;
pub mod settings;
pub mod socket;
