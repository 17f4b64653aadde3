//! Turn-taking as pure state machines: detects when the user's turn is over, and when the user takes the turn
//! from the agent. Times are milliseconds of the stream.

pub mod barge_in;
pub mod endpointing;
pub mod expectation;
pub mod words;
