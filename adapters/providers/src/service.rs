//! The providers of one service: which it chose, whether they work, and what an agent cannot have from them.

pub mod check;
pub mod config;
pub mod configured;
pub mod health;
pub mod hints;
pub mod limits;
pub mod prober;
pub mod services;
pub mod summary;
