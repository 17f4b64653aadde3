//! Speech-to-text providers, against stubs on real sockets: what is said is heard once and whole, whatever breaks.

mod flux;
mod listen;
mod nonsense;
mod router;
mod scribe;
mod support;
mod transcriptions;
