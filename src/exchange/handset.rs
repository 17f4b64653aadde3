//! wip
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, Default)]
/// wip
pub struct Figures {}
