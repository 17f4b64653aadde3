//! What all carriers' media protocols share. Pure.

mod event;
pub(crate) mod framing;
pub mod json_stream;
mod message;
pub mod number;
mod stream;

pub use self::{
    event::{Event, Media, Start},
    message::{MAX_NAME_BYTES, MessageError, audio, ignored_or, key, known_key, mark, named},
    stream::{MediaMessage, MediaProtocol, MediaWriter, PLAYER},
};
