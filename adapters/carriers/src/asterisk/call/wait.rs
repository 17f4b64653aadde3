//! What a call at an Asterisk waits for that may never come: without an end to it, a caller would sit in a bridge with
//! nobody for ever. Pure.

use std::time::Duration;

use domain::ports::carrier::CallProgress;

use super::{CallState, Handing, Media, Stage, Step};
use crate::asterisk::{cause::Gone, names::Part};

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// A word of the dial.
    Dial,
    /// Whom the call is handed on to.
    Peer,
    /// What comes of a SIP REFER. Asterisk tells nothing of it but the end of the call, if the far end takes it.
    Refer,
    /// Anybody, for a caller who hears nobody.
    Company,
}

impl Wait {
    /// How long. A call waits 45 s for bad news of a transfer, and takes none for a good one.
    pub fn lasts(self) -> Duration {
        Duration::from_secs(match self {
            Self::Dial => 15 * 60,
            // A peer rings for 30 s, which Asterisk ends by itself.
            Self::Peer => 40,
            // The same 30 s, and some for the signalling.
            Self::Refer => 35,
            // A call asks for lost audio three times, for 8 s each.
            Self::Company => 60,
        })
    }
}

impl CallState {
    /// What is waited for now.
    pub fn waits_for(&self) -> Option<Wait> {
        match (self.stage, self.handing) {
            (Stage::Dialing, _) => (!self.placed).then_some(Wait::Dial),
            (Stage::Up, Handing::Asking(..) | Handing::Ringing(..)) => Some(Wait::Peer),
            (Stage::Up, Handing::Referred) => Some(Wait::Refer),
            (Stage::Up, Handing::No) => (!matches!(self.media, Media::Joined(_))).then_some(Wait::Company),
            (Stage::Up, Handing::Joined(_)) | (Stage::Over, _) => None,
        }
    }

    /// It did not come. Whatever came meanwhile is waited for no more.
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
            (Wait::Company, _) => vec![Step::HangUp(Part::Call)],
        }
    }

    /// The caller is still here: the far end has called nobody, or nobody who answered.
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
