//! Ringback: a self-hosted service for AI voice agents that place and receive phone calls.
//!
//! The program: its command line, its settings, and [`app`], the one place where ports meet adapters.

pub mod api_client;
pub mod app;
pub mod cli;
pub mod config;
pub mod demo;
pub mod load;
pub mod telemetry;
