//! Accounts at carriers: their settings, their check, and their numbers.

pub mod check;
pub mod numbers;
pub mod settings;
