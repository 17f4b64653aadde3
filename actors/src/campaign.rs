//! One running campaign: its window, pacing, claims and completion.

mod actor;
mod carrier_outage;
mod change;
mod command;
mod decide;
mod dialing;
mod message;
mod other_nodes;
mod pacing;
mod provider_health;
mod starving;
mod state;
mod update;

pub use actor::*;
pub use change::*;
pub use command::*;
pub use decide::*;
pub use message::*;
pub use pacing::*;
pub use state::*;
