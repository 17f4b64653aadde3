//! Whether a node takes new work, and why not.

/// What keeps a node from new work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they hold independently of each other")]
pub struct Standing {
    /// The store has not taken it in yet.
    pub starting: bool,
    /// It was told to end.
    pub draining: bool,
    /// The store declared it dead.
    pub fenced: bool,
    /// It stood still for a while, and does not know yet what it lost.
    pub suspect: bool,
}

impl Default for Standing {
    /// As a node stands when it is made.
    fn default() -> Self {
        Self {
            starting: true,
            draining: false,
            fenced: false,
            suspect: false,
        }
    }
}
