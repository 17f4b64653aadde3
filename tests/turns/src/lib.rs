//! A corpus of generated conversations, and the measurement of turn-taking in them.
//!
//! [`grammar`] reads what people say on the telephone from plain text files, one for each language and third.
//! [`corpus`] draws conversations from them by a seed. [`voice`] makes them audible. [`recogniser`] plays a
//! speech recogniser that knows the script. [`call`] runs a conversation through [`media::session::AudioSession`]
//! in simulated time and notes what became of each turn. [`figures`] and [`report`] sum this up. [`training`]
//! makes the model of the end of a turn, [`curve`] and [`decisions`] show what it does. [`words`] learns
//! what words over the agent's speech mean.

pub mod call;
pub mod caller;
pub mod chance;
pub mod corpus;
pub mod curve;
pub mod decisions;
pub mod figures;
pub mod grammar;
pub mod language;
pub mod line;
pub mod measurement;
pub mod recogniser;
pub mod record;
pub mod report;
pub mod sentence;
pub mod svg;
pub mod training;
pub mod voice;
pub mod words;
