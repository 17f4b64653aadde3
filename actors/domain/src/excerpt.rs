//! Pieces of documents, as replies get them and as the record of a call shows them.

use serde::{Deserialize, Serialize};

/// A piece of a document as given to a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Excerpt {
    /// The document's name.
    pub document: String,
    /// Heading above it; empty if there is none.
    pub heading: String,
    /// Text of the excerpt.
    pub text: String,
}
