//! Hears and speaks for a call: decoding, voice activity, turns, speech-to-text, text-to-speech, playout and
//! recording. Audio frames never leave this module, turn events always do.

mod actor;
mod deadline;
mod delays;
mod message;
mod operator_queue;
mod outbox;
mod stream;
mod synthesis;
mod terms;
mod transcript_queue;
mod voices;

pub use actor::*;
pub use delays::*;
pub use message::*;
pub use operator_queue::{OperatorLeg, OperatorQueue};
pub(crate) use voices::performable;
