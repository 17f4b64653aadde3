//! State machine of one call at an Asterisk: its channels, its bridge, and its transfer destination. Events
//! go in, steps to carry out come out. Pure.

mod event;
mod missed;
mod state;
mod wait;

pub use self::{
    event::{Happening, Listed, Step, Wait},
    state::CallState,
};

#[cfg(test)]
mod tests;
