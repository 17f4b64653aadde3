//! What agents know: their documents read from the store, indexed once for all calls, compared by meaning where an
//! embeddings model is set.

mod book;
mod embeddings;
mod shelf;
mod vectors;

pub use self::{embeddings::Embeddings, shelf::Shelf};
