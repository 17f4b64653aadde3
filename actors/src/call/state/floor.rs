//! Who may speak: the user's turn, and the agent's reply.

pub mod disclosing;
pub mod filler;
pub mod keys;
pub mod latency;
pub mod opt_out;
pub mod reply;
pub mod speculation;
pub mod speech;
pub mod talk;

use media::turn::endpointing::Utterance;

use self::{opt_out::OptOut, speculation::Pause};
use super::{another_agent::HandoverWish, line::transfer::Pending};
use domain::pieces::PieceCutter;

/// The user's side of the conversation.
#[derive(Debug, Clone, Default)]
pub struct User {
    /// Voice was heard that has not become an utterance.
    pub(super) speaking: bool,
    /// Words heard while the agent went on speaking are still to be answered.
    pub(super) unanswered: bool,
    /// Words spoken over the agent's speech. They follow it in the history once it is known how much of it was heard.
    pub(super) over_speech: Vec<Utterance>,
    /// The last utterance had no words and was answered as damaged.
    pub(super) was_wordless: bool,
    /// Pause in the user's turn that may lead to a reply made ahead.
    pub(super) pause: Option<Pause>,
    /// Replies made ahead in this turn.
    pub(super) tries: u32,
    /// A silence timer came due during a sound and was put off once. Words allow that again.
    pub(super) held_timers: bool,
    /// Whether the user wishes never to be called again.
    pub(super) opt_out: OptOut,
    /// Milliseconds of silence left, and the time since when they run.
    pub(super) silence_left_ms: u64,
    pub(super) silence_since_ms: Option<u64>,
}

/// State of the reply that is being made.
#[derive(Debug, Clone, Default)]
pub struct ReplyState {
    pub(super) open: bool,
    pub(super) cutter: PieceCutter,
    /// A whole sentence of it was sent to speech synthesis.
    pub(super) whole: bool,
    /// Estimated time until which the text sent to speech synthesis plays.
    pub(super) said_until_ms: u64,
    pub(super) tools: usize,
    /// Number of successive replies that only called tools.
    pub(super) rounds: usize,
    /// `skipTurn` was called: the user gets the turn again without a word.
    pub(super) skips: bool,
    /// `endCall` was called: hang up after the speech.
    pub(super) end_call: bool,
    /// `transferToNumber` was called: transfer the call after the speech.
    pub(super) transfer: Option<Pending>,
    /// `transferToAgent` was called: another agent takes over after the speech.
    pub(super) another: Option<HandoverWish>,
    pub(super) protected: bool,
    /// It broke off after a whole sentence: the agent soon continues by itself.
    pub(super) broke_off: bool,
    /// Fillers since the user's turn, and the time of the last one.
    pub(super) fillers: usize,
    pub(super) filled_ms: Option<u64>,
    /// Nothing but fillers was said of this reply.
    pub(super) only_filled: bool,
    /// Successive failures of the model.
    pub(super) model_failures: usize,
    /// Successive failures of speech synthesis.
    pub(super) voice_failures: usize,
}
