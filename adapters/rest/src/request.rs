//! Reading of requests: bodies, queries, ids, and the fields that several resources share.

pub mod agent_references;
pub mod body;
pub mod call_language;
pub mod call_overrides;
pub mod checked;
pub mod contact_fields;
pub mod cursor;
pub mod email;
pub mod fields;
pub mod optimistic;
pub mod path_id;
pub mod query;
pub mod schemas;
pub mod strict_json;
