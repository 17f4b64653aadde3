//! The agent object of the API, typed and complete: defaults are filled in when a stored document is read.

mod audio_format;
mod calendars;
mod changes;
mod config;
mod differences;
mod disclosure;
mod document;
mod figure;
mod object;
mod overrides;
mod placeholders;
mod platform;
mod schema;
mod tools;
mod transfers;

pub use audio_format::AudioFormat;
pub use calendars::CalendarProvider;
pub use changes::{LANGUAGE_OVERRIDE, Successor};
pub use config::*;
pub use differences::*;
pub(crate) use disclosure::BUSINESS;
pub use disclosure::Disclosure;
pub use document::*;
pub(crate) use object::text_of_preset;
pub use object::{Agent, AgentPhoneNumber, Direction, Workflow};
pub use overrides::{OVERRIDE_PREFIX, OVERRIDES, check_overrides, overrides_in};
pub use placeholders::open_placeholders;
pub use platform::*;
pub use schema::{description::*, graph_limits::graph_problems, table::PROVIDERS};
pub use tools::*;
pub use transfers::{TransferRule, UsableTransfer, add_transfers, validate_transfer_rule};

pub use crate::problem::Problem;
