//! What agents do beside talking: calendars, deliveries after calls, HTTP tools and documents.

pub mod calendars;
pub mod deliveries;
pub mod documents;
pub mod http_tools;
