//! The interfaces of a media protocol: what reads a stream, and what writes it.

use domain::ports::media_leg::{LegAbilities, OutboundItem};

use super::{
    event::{Event, Start},
    message::MessageError,
};

/// Abilities of a far end that plays what it buffers, returns marks and can clear its buffer.
pub const PLAYER: LegAbilities = LegAbilities {
    buffers: true,
    marks: true,
    clear: true,
    digits: false,
};

/// A carrier's media protocol. It reads messages, and creates the writer once the stream has started.
pub trait MediaProtocol: Send + Sync {
    /// Reads a text message. An unknown kind of message is [`Event::Ignored`].
    fn read_text(&mut self, text: &str) -> Result<Event, MessageError>;

    /// Reads a binary message. Many carriers have none.
    fn read_binary(&mut self, _message: &[u8]) -> Result<Event, MessageError> {
        Err(MessageError::Binary)
    }

    /// Whether closing the socket means that the far end ended the call, rather than lost the connection.
    fn closing_ends_the_call(&self) -> bool {
        false
    }

    /// Whether the far end may open the socket while the call still rings and send `start` when it is answered.
    fn opens_early(&self) -> bool {
        false
    }

    /// Returns the abilities of the far end. Called once the stream has started.
    fn abilities(&self) -> LegAbilities {
        PLAYER
    }

    /// Creates the writer for a stream that started with `start`.
    fn writer(&mut self, start: &Start) -> Box<dyn MediaWriter>;
}

/// Writer of a carrier's messages, in order.
pub trait MediaWriter: Send {
    /// Adds the opening messages, once the call has taken the socket.
    fn begin(&mut self, _messages: &mut Vec<MediaMessage>) {}

    /// Adds the messages for an item. [`OutboundItem::Close`] produces none.
    fn write(&mut self, item: &OutboundItem, messages: &mut Vec<MediaMessage>);
}

/// A message to a carrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaMessage {
    /// A text message.
    Text(String),
    /// A binary message.
    Binary(Vec<u8>),
}
