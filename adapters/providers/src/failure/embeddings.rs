//! Reasons why a model returns no vectors.

use std::time::Duration;

/// Reason why there are no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddingsError {
    #[error("no answer within {} s", .0.as_secs_f64())]
    Late(Duration),
    #[error("{0}")]
    BrokenOff(String),
    #[error("refused with status {0}")]
    Refused(u16),
    #[error("unexpected format: {0}")]
    Protocol(String),
    #[error("{vectors} vectors for {texts} texts")]
    Count { vectors: usize, texts: usize },
}
