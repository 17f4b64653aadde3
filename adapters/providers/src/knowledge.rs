//! What agents know: their documents read from the store, indexed once for all calls, compared by meaning where an
//! embeddings model is set.

mod book;
mod cache;
mod embeddings;
mod vectors;

pub use self::{cache::KnowledgeCache, embeddings::Embeddings};
