//! Knowledge of agents: documents read from the store and indexed once for all calls. If an embeddings model
//! is set, they are also compared by meaning.

mod book;
mod cache;
mod embeddings;
mod vectors;

pub use self::{cache::KnowledgeCache, embeddings::Embeddings};
