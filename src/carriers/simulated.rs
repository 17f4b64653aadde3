//! The simulated carrier: a client of the exchange in [`crate::exchange`], by HTTP like that of any other carrier.

pub mod callback;
pub mod client;

pub use client::SimulatedCarrier;
