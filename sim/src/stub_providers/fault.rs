//! What may go wrong at a provider.

use std::time::Duration;

/// One request's, or one connection's, fault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Fault {
    /// None.
    #[default]
    None,
    /// Answers with this HTTP status, at the handshake too: 401, 429 (with `retry-after: 1`), 500.
    Refuse(u16),
    /// Takes the request, or the connection, and never answers anything.
    Hang,
    /// Answers that many messages, then nothing more.
    StallAfter(usize),
    /// Answers that many messages, then drops the connection without a word.
    DropAfter(usize),
    /// Answers byte by byte, or in the smallest messages there are, one each time this is over.
    Drip(Duration),
    /// Answers that many messages, then one that is not in its format.
    MalformedAfter(usize),
    /// Answers that many messages, then one of several megabytes.
    OversizedAfter(usize),
    /// Answers that many messages, then an error in the provider's own words.
    ErrorAfter(usize),
}
