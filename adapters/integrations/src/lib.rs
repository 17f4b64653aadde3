//! Integrations of agents: calendars, deliveries and analysis after calls, HTTP tools and documents.

pub mod analysis_worker;
pub mod calendars;
pub mod deliveries;
pub mod documents;
pub mod http_tools;
