//! What is reported about a graph: something wrong with it, or a part without effect.

use crate::problem::shortened;

/// Maximum number of blocking findings, and of warnings.
const MOST_FINDINGS: usize = 100;
/// Nodes or edges named in a message.
const LISTED: usize = 5;
/// Longest path or message, in characters.
const FINDING_CHARS: usize = 500;

/// Something to report about a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Dotted path in the agent, such as `workflow.edges.e1.target`.
    pub path: String,
    /// Message for people.
    pub message: String,
    /// Whether the graph cannot be used because of it. Otherwise a part has no effect.
    pub blocks: bool,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` {}", self.path, self.message)
    }
}

/// Findings in the order in which they were made. Of each kind, those beyond the first hundred are dropped.
#[derive(Debug, Default)]
pub(super) struct Found(pub(super) Vec<Finding>);

impl Found {
    /// Adds the reason why the graph cannot be used.
    pub(super) fn block(&mut self, path: &str, message: impl Into<String>) {
        self.add(path, message.into(), true);
    }

    /// Adds a part without effect.
    pub(super) fn warn(&mut self, path: &str, message: impl Into<String>) {
        self.add(path, message.into(), false);
    }

    fn add(&mut self, path: &str, message: String, blocks: bool) {
        if self.count(blocks) < MOST_FINDINGS {
            self.0.push(Finding {
                path: shortened(path.to_owned(), FINDING_CHARS),
                message: shortened(message, FINDING_CHARS),
                blocks,
            });
        }
    }

    fn count(&self, blocks: bool) -> usize {
        self.0.iter().filter(|finding| finding.blocks == blocks).count()
    }

    /// Returns whether further parts without effect are dropped.
    pub(super) fn is_full(&self) -> bool {
        self.count(false) >= MOST_FINDINGS
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn list(self) -> Vec<Finding> {
        self.0
    }
}

/// Returns ids for a message: the first few, each in quotes and cut.
pub(super) fn named(ids: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    let ids = ids.into_iter().take(LISTED).map(|id| format!("`{id:.100}`"));
    ids.collect::<Vec<_>>().join(", ")
}
