//! Time limits for events that may never come. Without them, a caller could stay alone in a bridge for ever. Pure.

use domain::ports::carrier::CallProgress;

use super::{
    event::{Step, Wait},
    state::{CallState, Handing, Media, Stage},
};
use crate::asterisk::{cause::Gone, names::Part};

impl CallState {
    /// Returns what the call waits for now.
    pub fn waits_for(&self) -> Option<Wait> {
        match (self.stage, self.handing) {
            (Stage::Dialing, _) => (!self.placed).then_some(Wait::Dial),
            (Stage::Up, Handing::Asking(..) | Handing::Ringing(..)) => Some(Wait::Peer),
            (Stage::Up, Handing::Referred) => Some(Wait::Refer),
            (Stage::Up, Handing::No) => (!matches!(self.media, Media::Joined(_))).then_some(Wait::SharedLimits),
            (Stage::Up, Handing::Joined(_)) | (Stage::Over, _) => None,
        }
    }

    /// Handles the end of a wait. Does nothing if the call no longer waits for it.
    pub(super) fn in_vain(&mut self, wait: Wait) -> Vec<Step> {
        if self.waits_for() != Some(wait) {
            return Vec::new();
        }
        match (wait, self.handing) {
            (Wait::Dial, _) => {
                self.stage = Stage::Over;
                Vec::new()
            }
            (Wait::Peer, Handing::Asking(_, n) | Handing::Ringing(_, n)) => {
                let mut steps = vec![Step::HangUp(Part::Peer(n))];
                steps.extend(self.peer_gone(n, &Gone::unseen()));
                steps
            }
            (Wait::Peer, _) => Vec::new(),
            (Wait::Refer, _) => self.refer_came_to_nothing(),
            (Wait::SharedLimits, _) => vec![Step::HangUp(Part::Call)],
        }
    }

    /// Ends a REFER while the caller is still here: the far end called nobody, or nobody answered.
    fn refer_came_to_nothing(&mut self) -> Vec<Step> {
        self.handing = Handing::No;
        let mut steps = match self.media {
            Media::None => self.open_media(),
            Media::Opening(_) | Media::Joined(_) => Vec::new(),
        };
        let why = format!(
            "the call was still here {} s after the SIP REFER",
            Wait::Refer.lasts().as_secs()
        );
        steps.push(Step::Report(CallProgress::TransferFailed(why)));
        steps
    }
}
