//! The state of a call, and how events change it.

use domain::ports::carrier::{CallProgress, CarrierError, EndCause, TransferKind};

use super::event::{Happening, Step};
use crate::asterisk::{
    cause::{self, Gone},
    names::Part,
};

/// Progress of the call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Dialing,
    Up,
    Over,
}

/// State of our audio.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Media {
    #[default]
    None,
    Opening(u32),
    Joined(u32),
}

/// State of a transfer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Handing {
    #[default]
    No,
    /// The destination's dial was sent.
    Asking(TransferKind, u32),
    /// The destination rings.
    Ringing(TransferKind, u32),
    /// The destination talks with the caller.
    Joined(u32),
    /// The caller's own SIP peer handles the transfer.
    Referred,
}

fn handed_on_already() -> CarrierError {
    CarrierError::Refused("the call is already being transferred".to_owned())
}

/// State of one call.
#[derive(Debug, Default)]
pub struct CallState {
    pub(super) stage: Stage,
    /// Asterisk is known to have the call.
    pub(super) placed: bool,
    rang: bool,
    hung_up: bool,
    dial_status: String,
    pub(super) media: Media,
    media_count: u32,
    pub(super) handing: Handing,
    peer_count: u32,
}

impl CallState {
    /// Creates a call that is dialed, or inbound and not answered yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a call of an earlier process of this service. It talks with a transfer destination and is only
    /// followed to its end.
    pub fn handed_on(peer: u32) -> Self {
        Self {
            stage: Stage::Up,
            placed: true,
            handing: Handing::Joined(peer),
            peer_count: peer,
            ..Self::new()
        }
    }

    /// Returns whether the call is over.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Returns whether Asterisk is known to have the call.
    pub fn is_placed(&self) -> bool {
        self.placed
    }

    /// Starts a transfer to a destination, whose dial follows. Returns the destination's number.
    pub fn hand_on(&mut self, kind: TransferKind) -> Result<u32, CarrierError> {
        if self.stage != Stage::Up {
            return Err(CarrierError::NotFound);
        }
        if self.handing != Handing::No {
            return Err(handed_on_already());
        }
        self.peer_count += 1;
        self.handing = Handing::Asking(kind, self.peer_count);
        Ok(self.peer_count)
    }

    /// Checks whether the caller's own SIP peer may be asked to call another party.
    pub fn may_refer(&self) -> Result<(), CarrierError> {
        match (self.stage, self.handing) {
            (Stage::Up, Handing::No) => Ok(()),
            (Stage::Up, _) => Err(handed_on_already()),
            _ => Err(CarrierError::NotFound),
        }
    }

    /// Handles an event. Returns the steps to carry out.
    pub fn on(&mut self, happening: Happening) -> Vec<Step> {
        if self.stage == Stage::Over {
            return self.late(&happening);
        }
        match happening {
            Happening::Placed => self.placed = true,
            Happening::HangingUp => self.hung_up = true,
            Happening::Referred if self.may_refer().is_ok() => self.handing = Handing::Referred,
            Happening::Referred => {}
            Happening::Dial(Part::Call, status) => return self.dials(status),
            Happening::Dial(..) => {}
            Happening::Entered(part) => return self.entered(part),
            Happening::Gone(Part::Call, gone) => return self.ended(&gone),
            Happening::Gone(Part::Media(n), _) => return self.media_gone(n),
            Happening::Gone(Part::Peer(n), gone) => return self.peer_gone(n, &gone),
            Happening::MediaWanted => return self.open_media(),
            Happening::PeerPlaced(n) => return self.peer_placed(n),
            Happening::PeerRefused(n) => return self.peer_refused(n),
            Happening::Listed(listed) => return self.listed(&listed),
            Happening::InVain(wait) => return self.in_vain(wait),
        }
        Vec::new()
    }

    /// Hangs up a channel that arrives after its call is over.
    fn late(&self, happening: &Happening) -> Vec<Step> {
        match happening {
            Happening::Entered(part) => vec![Step::HangUp(*part)],
            _ => Vec::new(),
        }
    }

    fn dials(&mut self, status: String) -> Vec<Step> {
        self.placed = true;
        let rings = matches!(&*status, "RINGING" | "PROGRESS") && self.stage == Stage::Dialing && !self.rang;
        if !status.is_empty() {
            self.dial_status = status;
        }
        self.rang |= rings;
        let ringing = rings.then_some(Step::Report(CallProgress::Ringing));
        ringing.into_iter().collect()
    }

    pub(super) fn entered(&mut self, part: Part) -> Vec<Step> {
        self.placed = true;
        match part {
            Part::Call if self.stage == Stage::Dialing => {
                self.stage = Stage::Up;
                let mut steps = vec![
                    Step::Report(CallProgress::Answered),
                    Step::Bridge,
                    Step::Join(Part::Call),
                ];
                steps.extend(self.open_media());
                steps
            }
            Part::Call => Vec::new(),
            Part::Media(n) => match self.media {
                Media::Opening(due) if due == n => {
                    self.media = Media::Joined(n);
                    vec![Step::Join(part)]
                }
                Media::Joined(here) if here == n => Vec::new(),
                _ => vec![Step::HangUp(part)],
            },
            Part::Peer(n) => self.peer_entered(n),
        }
    }

    pub(super) fn peer_entered(&mut self, n: u32) -> Vec<Step> {
        let (Handing::Asking(kind, due) | Handing::Ringing(kind, due)) = self.handing else {
            let known = self.handing == Handing::Joined(n);
            return if known {
                Vec::new()
            } else {
                vec![Step::HangUp(Part::Peer(n))]
            };
        };
        if due != n {
            return vec![Step::HangUp(Part::Peer(n))];
        }
        let mut steps = Vec::new();
        if kind == TransferKind::Blind {
            // Close the agent's audio, in case the destination answers before its dial returns.
            steps.extend(self.close_media());
            steps.push(Step::StopRinging(n));
        }
        self.handing = Handing::Joined(n);
        steps.extend([Step::Join(Part::Peer(n)), Step::Report(CallProgress::Transferred)]);
        steps
    }

    fn peer_placed(&mut self, n: u32) -> Vec<Step> {
        let Handing::Asking(kind, due) = self.handing else {
            return Vec::new();
        };
        if due != n {
            return Vec::new();
        }
        self.handing = Handing::Ringing(kind, n);
        if kind != TransferKind::Blind {
            return Vec::new();
        }
        let mut steps = self.close_media();
        steps.push(Step::StartRinging(n));
        steps
    }

    /// Handles a failed dial. A destination whose dial was accepted but whose response was lost must not keep
    /// ringing. One that has already joined stays.
    fn peer_refused(&mut self, n: u32) -> Vec<Step> {
        if !matches!(self.handing, Handing::Asking(_, due) if due == n) {
            return Vec::new();
        }
        self.handing = Handing::No;
        vec![Step::HangUp(Part::Peer(n))]
    }

    pub(super) fn peer_gone(&mut self, n: u32, gone: &Gone) -> Vec<Step> {
        match self.handing {
            Handing::Asking(kind, due) | Handing::Ringing(kind, due) if due == n => {
                self.handing = Handing::No;
                let mut steps = Vec::new();
                if kind == TransferKind::Blind {
                    steps.push(Step::StopRinging(n));
                    if self.media == Media::None {
                        steps.extend(self.open_media());
                    }
                }
                steps.push(Step::Report(CallProgress::TransferFailed(gone.said(""))));
                steps
            }
            // Nobody is left to talk with.
            Handing::Joined(here) if here == n => {
                self.handing = Handing::No;
                vec![Step::HangUp(Part::Call)]
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn open_media(&mut self) -> Vec<Step> {
        if self.stage != Stage::Up || matches!(self.handing, Handing::Joined(_)) {
            return Vec::new();
        }
        let mut steps = self.close_media();
        self.media_count += 1;
        self.media = Media::Opening(self.media_count);
        steps.push(Step::OpenMedia(self.media_count));
        steps
    }

    fn close_media(&mut self) -> Vec<Step> {
        match std::mem::replace(&mut self.media, Media::None) {
            Media::None => Vec::new(),
            Media::Opening(n) | Media::Joined(n) => vec![Step::HangUp(Part::Media(n))],
        }
    }

    pub(super) fn media_gone(&mut self, n: u32) -> Vec<Step> {
        if matches!(self.media, Media::Opening(here) | Media::Joined(here) if here == n) {
            self.media = Media::None;
        }
        Vec::new()
    }

    pub(super) fn ended(&mut self, gone: &Gone) -> Vec<Step> {
        let cause = match self.stage {
            Stage::Up => EndCause::Completed,
            _ if self.hung_up => EndCause::Canceled,
            _ => cause::unanswered(gone, &self.dial_status),
        };
        let was_up = self.stage == Stage::Up;
        self.stage = Stage::Over;
        let mut steps = vec![Step::Report(CallProgress::Ended(cause))];
        if let Some(n) = self.peer() {
            if matches!(self.handing, Handing::Ringing(TransferKind::Blind, _)) {
                steps.push(Step::StopRinging(n));
            }
            steps.push(Step::HangUp(Part::Peer(n)));
        }
        steps.extend(self.close_media());
        if was_up {
            steps.push(Step::Unbridge);
        }
        steps
    }

    fn peer(&self) -> Option<u32> {
        match self.handing {
            Handing::Asking(_, n) | Handing::Ringing(_, n) | Handing::Joined(n) => Some(n),
            Handing::No | Handing::Referred => None,
        }
    }
}
