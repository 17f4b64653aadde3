//! Turn-taking as pure state machines: when the user's turn is over, and when the user takes it from the agent.
//! Time is milliseconds of the stream.

pub mod barge_in;
pub mod endpointing;
pub mod expectation;
pub mod words;
