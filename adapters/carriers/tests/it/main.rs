//! Tests of carriers over sockets, against their stubs and with the whole service.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod asterisk;
mod conformance;
mod hostile;
mod lost_answers;
mod media_route;
mod midcall;
mod orders;
mod plain;
mod refusals;
mod site;
mod telnyx;
mod twilio;
mod vonage;
