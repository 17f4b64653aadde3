//! Limits on the search for the conversations of a page.

/// Limits on the conversations examined for a page.
#[derive(Debug, Clone, Copy)]
pub struct PageLimits {
    /// Maximum size of a small index of which all conversations are examined. In a larger one, the newest matches are
    /// found soon enough.
    pub few: i64,
    /// Conversations examined for one page if no index is ordered for a filter.
    pub examined: i64,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self {
            few: 3_000,
            examined: 3_000,
        }
    }
}
