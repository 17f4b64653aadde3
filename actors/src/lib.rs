//! The actors of Ringback: no HTTP, no SQL, no provider.
//!
//! Commands go down the tree as imperatives, facts come up in the past tense, one hop each. The database row is
//! authoritative; the actor caches it.

pub mod attempt;
pub mod audio_stream;
pub mod call;
pub mod campaign;
pub mod campaigns;
pub mod dial_gate;
pub mod journal;
pub mod lines;
pub mod live_feed;
pub mod node;
pub mod single_calls;
pub mod supervision;
pub mod switchboard;
mod text_stream;
