//! Updates a call at an Asterisk from a list of channels, after events were missed. Pure.

use super::{
    event::{Listed, Step},
    state::{CallState, Handing, Media},
};
use crate::asterisk::{cause::Gone, names::Part};

impl CallState {
    /// Catches up on missed events. A call whose dial is still on its way may be missing from the list.
    pub(super) fn listed(&mut self, listed: &Listed) -> Vec<Step> {
        let is_there = |part| listed.channels.iter().any(|(listed, _)| *listed == part);
        let is_up = |part| listed.channels.iter().any(|(listed, up)| *listed == part && *up);
        if !is_there(Part::Call) {
            return match self.placed {
                true => self.ended(&Gone::unseen()),
                false => Vec::new(),
            };
        }
        self.placed = true;
        let mut steps = Vec::new();
        if is_up(Part::Call) {
            steps.extend(self.entered(Part::Call));
        }
        match self.media {
            Media::Opening(n) if is_up(Part::Media(n)) => steps.extend(self.entered(Part::Media(n))),
            // Audio that was requested just now is not in the list yet.
            Media::Joined(n) if !is_there(Part::Media(n)) => steps.extend(self.media_gone(n)),
            _ => {}
        }
        match self.handing {
            Handing::Ringing(_, n) if is_up(Part::Peer(n)) => steps.extend(self.peer_entered(n)),
            Handing::Ringing(_, n) | Handing::Joined(n) if !is_there(Part::Peer(n)) => {
                steps.extend(self.peer_gone(n, &Gone::unseen()));
            }
            _ => {}
        }
        steps
    }
}
