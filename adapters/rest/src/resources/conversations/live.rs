//! A call while it lasts: commands, listeners, operators, texts, and the feed that follows it.

pub mod commands;
pub mod listen;
pub mod operate;
pub mod operator_audio;
pub mod socket;
pub mod text;
pub mod tickets;
pub mod watch;
