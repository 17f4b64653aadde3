//! Reasons to close a media socket, and their close codes.

use std::time::Duration;

use actors::call::LegRefusal;
use axum::extract::ws::close_code;
use tokio_tungstenite::tungstenite::{self, error::ProtocolError};

use super::allowance::Excess;
use crate::protocol::MessageError;

/// Maximum size of a message and of a frame.
pub(super) const MAX_MESSAGE_BYTES: usize = 64 * 1024;
/// Time limit for the `start` message after the upgrade. If the carrier may open the socket before the call
/// is answered, the limit is extended as long as the call still waits.
pub(super) const START_WITHIN: Duration = Duration::from_secs(10);
/// Maximum silence. A carrier sends audio every 20 ms, so such a quiet socket is dead.
pub(super) const IDLE: Duration = Duration::from_secs(30);

/// Reason why a media socket is closed, as sent to the peer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("no start message within {} s", START_WITHIN.as_secs())]
    NoStart,
    #[error("closed before its start message")]
    Gone,
    #[error(transparent)]
    Format(#[from] MessageError),
    #[error("second start message")]
    SecondStart,
    #[error(transparent)]
    Excess(#[from] Excess),
    #[error("silent for {} s", IDLE.as_secs())]
    Idle,
    #[error(transparent)]
    Refused(#[from] LegRefusal),
    #[error("node did not answer in time")]
    Busy,
    #[error("message of more than {MAX_MESSAGE_BYTES} bytes")]
    TooLarge,
    #[error("text message that is not UTF-8")]
    NotText,
    #[error("WebSocket protocol error")]
    Rules,
}

impl Fault {
    pub(super) fn code(&self) -> u16 {
        match self {
            Self::Format(MessageError::Binary) => close_code::UNSUPPORTED,
            Self::Format(_) => close_code::INVALID,
            Self::Busy => close_code::AGAIN,
            Self::TooLarge => close_code::SIZE,
            Self::NotText => close_code::INVALID,
            Self::Rules => close_code::PROTOCOL,
            Self::NoStart | Self::Gone | Self::SecondStart | Self::Excess(_) | Self::Idle | Self::Refused(_) => {
                close_code::POLICY
            }
        }
    }

    /// Classifies a read error: the connection is lost, or the peer broke WebSocket's own rules.
    pub(super) fn of_unread(error: axum::Error) -> Self {
        let error = error.into_inner();
        match error.downcast_ref::<tungstenite::Error>() {
            Some(tungstenite::Error::Capacity(_)) => Self::TooLarge,
            Some(tungstenite::Error::Utf8(_)) => Self::NotText,
            Some(tungstenite::Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => Self::Gone,
            Some(tungstenite::Error::Protocol(_)) => Self::Rules,
            _ => Self::Gone,
        }
    }

    /// Returns whether further input stays unread. Reading on would mean buffering a message of any size.
    pub(super) fn leaves_unread(&self) -> bool {
        matches!(self, Self::TooLarge | Self::NotText | Self::Rules)
    }
}
