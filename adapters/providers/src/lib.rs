//! Providers of language models, speech recognition and speech synthesis, and what they have in common: names,
//! addresses, health.

pub mod check;
pub mod config;
pub mod health;
pub mod hints;
pub mod knowledge;
pub mod language;
pub mod name;
pub mod prober;
pub mod roster;
pub mod settings;
pub mod speech;
pub mod team;
