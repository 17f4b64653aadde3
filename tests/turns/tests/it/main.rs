//! The corpus is what it claims to be, and the measurement of it repeats.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod corpus;
mod grammars;
mod measuring;
mod recognising;
mod speaking;
