//! The ears and the mouth of a call: decoding, voice activity, turns, speech-to-text, text-to-speech, playout and
//! recording. A frame of audio never leaves it; a turn event always does.

mod actor;
mod deadline;
mod delays;
mod heard;
mod line;
mod message;
mod stream;
mod synthesis;
mod terms;
mod voices;

pub use actor::*;
pub use delays::*;
pub use message::*;
pub(crate) use voices::performable;
