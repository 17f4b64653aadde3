//! Speech-to-text providers, against stubs on real sockets: what is said is heard once and whole, whatever breaks.

mod listen;
mod support;
