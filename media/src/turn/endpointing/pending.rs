//! Words on which a turn ended before they were final: their final may still come, and begins no new turn.

use crate::turn::words;

/// Time in milliseconds after a turn that ended on unsettled words in which their final may still come.
const PENDING_MS: u64 = 2_000;

/// Words on which a turn ended before they were final.
#[derive(Debug)]
pub(super) struct PendingWords {
    first: String,
    words: usize,
    until_ms: u64,
}

impl PendingWords {
    /// Returns those of a turn that ended on `unsettled` words, if there are any.
    pub(super) fn of(unsettled: &str, at_ms: u64, final_wait_ms: u64) -> Option<Self> {
        let mut unsettled = unsettled.split_whitespace();
        unsettled.next().map(|first| Self {
            first: words::bare(first),
            words: 1 + unsettled.count(),
            until_ms: at_ms + PENDING_MS.max(2 * final_wait_ms),
        })
    }
}

/// Removes words that already belonged to the previous turn.
pub(super) fn without(pending: Option<&PendingWords>, text: &str, at_ms: u64) -> String {
    let mut tokens = text.split_whitespace();
    let skip = match pending.filter(|pending| at_ms <= pending.until_ms) {
        Some(pending) if tokens.clone().next().map(words::bare).as_ref() == Some(&pending.first) => pending.words,
        _ => return text.trim().to_owned(),
    };
    tokens.by_ref().take(skip).for_each(drop);
    tokens.collect::<Vec<_>>().join(" ")
}
