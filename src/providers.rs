//! What all providers of language and speech have in common: names, addresses, keys, sockets.

pub mod check;
pub mod guard;
pub mod health;
pub mod hints;
pub mod name;
pub mod prober;
pub mod roster;
pub mod settings;
pub mod socket;
pub mod team;
pub mod words;
