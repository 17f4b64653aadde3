//! The line of a call: the leg at the carrier, its media socket, and the transfers it was asked for.

pub mod leg;
pub mod lost;
pub mod transfer;

use domain::ports::carrier::CarrierCallId;

/// State of the leg.
#[derive(Debug, Clone, Default)]
pub struct Leg {
    /// Whether the call is inbound.
    pub(super) inbound: bool,
    pub(super) dialed: bool,
    pub(super) dialed_ms: u64,
    pub(super) id: Option<CarrierCallId>,
    pub(super) rang: bool,
    pub(super) answered_ms: Option<u64>,
    pub(super) media_ms: Option<u64>,
    pub(super) stream_open: bool,
    /// Whether the socket died and the stream is still reporting what was said and heard until then.
    pub(super) dying: bool,
    /// Whether the media socket is not the call's first.
    pub(super) rejoined: bool,
    /// Whether the open media socket is older than a transfer that failed.
    pub(super) outlived: bool,
    /// Reason why the present stream no longer recognises speech.
    pub(super) deaf: Option<String>,
    /// Whether the user's voice interrupts by now.
    pub(super) barge_in: bool,
    pub(super) over: bool,
}
