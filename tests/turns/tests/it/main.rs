//! The corpus is what it claims to be, and the measurement of it repeats.

mod corpus;
mod grammars;
mod measuring;
mod recognising;
mod speaking;
