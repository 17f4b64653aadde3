//! The domain of Ringback and its actors: no HTTP, no SQL, no provider.
//!
//! Commands go down the tree as imperatives, facts come up in the past tense, one hop each. The row is the truth,
//! the actor its cache.

pub mod admission;
pub mod agent;
pub mod analysis;
pub mod audio_stream;
pub mod call;
pub mod callback_time;
pub mod campaign;
pub mod campaigns;
pub mod deliveries;
pub mod dial_token;
pub mod email;
pub mod id;
pub mod interviewer;
pub mod journal;
pub mod knowledge;
pub mod lines;
pub mod node;
pub mod opt_out;
pub mod phone_number;
pub mod ports;
pub mod prompt;
pub mod safeguards;
pub mod single_calls;
pub mod switchboard;
pub mod template;
#[cfg(feature = "testkit")]
pub mod testkit;
pub mod text;
pub mod time;
