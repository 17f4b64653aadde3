//! Picks up and says nothing, until the other side or the exchange ends the call.

use super::{Act, Mind, Sense};

pub(super) struct Silent;

impl Mind for Silent {
    fn sense(&mut self, _now_ms: u64, _sense: Sense<'_>) -> Option<Act> {
        None
    }
}
