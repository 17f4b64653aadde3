//! The carrier's id of a call leg.

use serde::{Deserialize, Serialize};

/// The carrier's own id of a call leg.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CarrierCallId(pub String);

/// Longest id of a call, in bytes: it is the key of an index and part of a URL.
const ID_BYTES: usize = 256;

impl CarrierCallId {
    /// Accepts a carrier's id of a call if it can be stored and used in a URL: 1 to 256 visible ASCII
    /// characters. The id must name a resource below the collection of calls, not the collection itself or
    /// its parent.
    pub fn checked(text: &str) -> Option<Self> {
        let plain = (1..=ID_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        (plain && !matches!(text, "." | "..")).then(|| Self(text.to_owned()))
    }
}
