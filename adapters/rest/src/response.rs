//! What an answer looks like: the envelope, errors, events and files.

pub mod envelope;
pub mod error;
pub mod results_file;
pub mod row_report;
pub mod sse;
