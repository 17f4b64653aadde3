//! Tests of the store on real databases.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod counting;
mod dial_journal;
mod every_store;
mod histories;
mod model;
mod on_postgresql;
#[path = "../../../../tests/support/src/postgres.rs"]
mod postgres;
