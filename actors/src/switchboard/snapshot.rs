//! Snapshot of a node, for metrics, tests and the demo.

use serde::Serialize;

use crate::dial_gate::HoldsBack;

/// Figures of a node at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSnapshot {
    /// Number of calls from dialing to their end.
    pub live_calls: usize,
    /// Number of lines.
    pub lines: usize,
    /// Number of campaign actors.
    pub campaigns: usize,
    /// Whether no new work is taken.
    pub draining: bool,
    /// Reason why nothing is dialed at present, if any.
    pub holds_back: Option<HoldsBack>,
}
