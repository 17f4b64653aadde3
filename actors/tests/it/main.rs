//! Tests of whole actors under a paused clock: one file per behaviour.

mod commands;
mod dialing;
mod journal;
mod orphans;
mod support;
