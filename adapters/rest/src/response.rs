//! Answers: the envelope, errors, row reports and request ids.

pub mod request_id;

pub mod envelope;
pub mod error;
pub mod row_report;
