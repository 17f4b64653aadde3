//! Handlers of the API, a module for each resource.

pub mod resource;
pub mod results_file;

pub mod account;
pub mod agents;
pub mod analytics;
pub mod appointments;
pub mod calls;
pub mod campaign_csv;
pub mod campaigns;
pub mod contacts;
pub mod conversations;
pub mod knowledge_base;
