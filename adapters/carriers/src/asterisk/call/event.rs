//! What happens to a call, the steps that follow, and the events that it waits for.

use std::time::Duration;

use domain::ports::carrier::CallProgress;

use crate::asterisk::{cause::Gone, names::Part};

/// An event of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// Asterisk has accepted the dial, or the inbound call.
    Placed,
    /// Progress of a channel's dial, in Asterisk's term.
    Dial(Part, String),
    /// A channel was answered and is under our control.
    Entered(Part),
    /// A channel no longer exists.
    Gone(Part, Gone),
    /// We are about to hang up the call.
    HangingUp,
    /// The call needs its audio again.
    MediaWanted,
    /// The caller's SIP peer was asked to call another party.
    Referred,
    /// A transfer destination is being dialed.
    PeerPlaced(u32),
    /// A transfer destination could not be dialed, or the result of its dial is unknown.
    PeerRefused(u32),
    /// Existing channels, after events were missed.
    Listed(Listed),
    /// A wait has reached its deadline.
    InVain(Wait),
}

/// State of a call's channels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// Each part with a channel, and whether it is answered.
    pub channels: Vec<(Part, bool)>,
}

/// A step to carry out, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Report progress to the call.
    Report(CallProgress),
    /// Create the bridge.
    Bridge,
    /// Add a channel to the bridge.
    Join(Part),
    /// Have Asterisk open our audio under this number.
    OpenMedia(u32),
    /// Hang up a channel.
    HangUp(Part),
    /// Start the ringing tone in the bridge while this destination rings.
    StartRinging(u32),
    /// Stop the ringing tone.
    StopRinging(u32),
    /// Remove the bridge.
    Unbridge,
}

/// An event that a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Progress of the dial.
    Dial,
    /// The transfer destination.
    Peer,
    /// The result of a SIP REFER. Asterisk reports only the end of the call, if the far end accepts.
    Refer,
    /// Anybody to talk with, for a caller who is alone.
    SharedLimits,
}

impl Wait {
    /// Returns the time limit. A call waits 45 s for bad news of a transfer and treats none as good news.
    pub fn lasts(self) -> Duration {
        Duration::from_secs(match self {
            Self::Dial => 15 * 60,
            // A destination rings for 30 s; Asterisk ends it by itself.
            Self::Peer => 40,
            // The same 30 s, plus time for the signalling.
            Self::Refer => 35,
            // A call asks for lost audio three times, for 8 s each.
            Self::SharedLimits => 60,
        })
    }
}
