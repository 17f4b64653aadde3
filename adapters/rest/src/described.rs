//! Parts of the API's description: its operations with their routes, what they share, and examples.

pub mod answers;
pub mod bodies;
pub mod common;
pub mod forms;
pub mod operation;
pub mod samples;
pub mod scoped;
