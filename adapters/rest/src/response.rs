//! What an answer looks like: the envelope, errors, events and files.

pub mod request_id;

pub mod envelope;
pub mod error;
pub mod row_report;
