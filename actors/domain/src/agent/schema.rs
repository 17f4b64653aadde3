//! The agent object as data: the table of its fields, the walk that checks a value against it, and its description.

pub(super) mod description;
pub(super) mod graph_limits;
pub(super) mod rules;
pub(super) mod shape;
pub(super) mod table;
