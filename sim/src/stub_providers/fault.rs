//! Faults of a provider.

use std::time::Duration;

/// Fault of one request or one connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    #[default]
    None,
    /// Answers with this HTTP status, at the handshake too: 401, 429 (with `retry-after: 1`), 500.
    Refuse(u16),
    /// Accepts the request or the connection and never answers.
    Hang,
    /// Answers this many messages, then nothing more.
    StallAfter(usize),
    /// Answers this many messages, then drops the connection without a close.
    DropAfter(usize),
    /// Answers byte by byte, or in the smallest possible messages, one each time this interval is over.
    Drip(Duration),
    /// Answers this many messages, then one that is not in its format.
    MalformedAfter(usize),
    /// Answers this many messages, then one of several megabytes.
    OversizedAfter(usize),
    /// Answers this many messages, then an error in the provider's own words.
    ErrorAfter(usize),
}
