//! Tests of speech-to-text providers against stubs on real sockets. All words are recognised exactly once,
//! whatever breaks.

mod flux;
mod listen;
mod nonsense;
mod router;
mod scribe;
mod support;
mod transcriptions;
