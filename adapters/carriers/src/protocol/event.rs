//! Events of a media stream.

use domain::ports::media_leg::InboundItem;
use media::format::LineFormat;

/// A message from a carrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Start of the stream; says which call it belongs to.
    Start(Start),
    /// Audio of the caller.
    Media(Media),
    /// A returned mark, or a key.
    Item(InboundItem),
    /// The carrier ends the stream.
    Stop,
    /// A message without information, or not meant for us.
    Ignored,
}

/// Start of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Name of the stream, repeated in outgoing messages; empty if they carry none.
    pub stream: String,
    /// Carrier's id of the leg, if given.
    pub call: Option<String>,
    /// Encoding and sample rate, both ways.
    pub format: LineFormat,
}

/// A frame of audio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Frame number, from 1; `None` if the carrier does not number frames in a known way.
    pub chunk: Option<u64>,
    /// Time since the start of the stream, in milliseconds.
    pub timestamp_ms: Option<u64>,
    /// Audio in the line's encoding.
    pub audio: Vec<u8>,
}
