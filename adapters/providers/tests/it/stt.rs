//! Tests of speech-to-text providers against stubs on real sockets. All words are recognised exactly once,
//! whatever breaks.

mod flux;
mod listen;
mod nonsense;
mod router;
mod scribe;
pub mod support;
mod transcriptions;
