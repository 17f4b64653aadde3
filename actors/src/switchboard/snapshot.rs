//! How a node stands, for metrics, tests and the demo.

use serde::Serialize;

use crate::dial_gate::HoldsBack;

/// A node's figures at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSnapshot {
    /// Calls from dialing to their end.
    pub live_calls: usize,
    /// Lines in all.
    pub lines: usize,
    /// Campaign actors.
    pub campaigns: usize,
    /// No new work is taken.
    pub draining: bool,
    /// Why nothing is dialed at present, if so.
    pub holds_back: Option<HoldsBack>,
}
