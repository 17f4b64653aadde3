//! Picks up and says nothing, until the other side or the exchange ends the call.

use super::act::{Act, Behaviour, Sense};

pub(super) struct Silent;

impl Behaviour for Silent {
    fn sense(&mut self, _now_ms: u64, _sense: Sense<'_>) -> Option<Act> {
        None
    }
}
