//! wip

mod handset;
mod line;
mod log;
mod persona;
mod wire;
