//! Short words while an answer takes long, so that nobody thinks the line is dead. They start the reply's
//! speech or stand between its pieces, and are heard, interrupted and kept like the rest of it.

use serde_json::json;

use crate::call::CallTimer;
use crate::call::state::{Phase, State, speech, tools, transfer, walking};

/// Time in milliseconds from the question to the model until the first filler, if nothing was said yet.
pub const FIRST_MS: u64 = 1_500;

/// Shortest time in milliseconds between two fillers.
const NEXT_MS: u64 = 4_000;

/// Silence in milliseconds in the middle of a reply before a filler.
const STALLED_MS: u64 = 2_000;

/// Estimated time in milliseconds to say one byte of text: 13 letters a second. That is slow, so that no
/// filler falls between words that still play.
pub const BYTE_MS: f64 = 80.0;

/// Pause in milliseconds before a filler is tried again while the user makes a sound.
const AGAIN_MS: u64 = 500;

/// Sets the filler timer for a reply of which nothing was said, with the model asked now.
pub fn await_reply(call: &mut State) {
    let due_ms = call.now_ms + FIRST_MS;
    set_filler(call, due_ms);
}

/// Sets the filler timer after a piece of the reply, which takes a while to say.
pub fn await_more(call: &mut State, piece: &str) {
    let takes_ms = piece.len() as u64 * call.rules.byte_ms;
    call.reply.said_until_ms = call.reply.said_until_ms.max(call.now_ms) + takes_ms;
    let due_ms = call.reply.said_until_ms + STALLED_MS;
    set_filler(call, due_ms);
}

pub fn set_filler(call: &mut State, due_ms: u64) {
    if call.rules.phrases.fillers.is_empty() {
        return;
    }
    let due_ms = call
        .reply
        .filled_ms
        .map_or(due_ms, |filled_ms| due_ms.max(filled_ms + NEXT_MS));
    call.set_timer(CallTimer::Filler, due_ms.saturating_sub(call.now_ms).max(1));
}

/// Says a filler because the answer takes long.
pub fn fill(call: &mut State) {
    if let Phase::Transferring(_) = call.phase {
        return transfer::comfort(call);
    }
    let fillers = call.rules.phrases.fillers;
    if !(call.reply.open || tools::waits_for_tools(call) || walking::is_walking(call))
        || fillers.is_empty()
        || !matches!(call.phase, Phase::Thinking | Phase::Speaking)
    {
        return;
    }
    if call.user.speaking {
        call.set_timer(CallTimer::Filler, AGAIN_MS);
        return;
    }
    let filler = fillers[call.reply.fillers % fillers.len()];
    call.reply.fillers += 1;
    call.reply.filled_ms = Some(call.now_ms);
    let after_token = call.latency.has_token();
    call.record("filler", &json!({ "afterFirstToken": after_token }));
    call.latency.filled = true;
    say_before_reply(call, filler);
    call.set_timer(CallTimer::Filler, NEXT_MS);
}

/// Says words before the reply in progress.
pub fn say_before_reply(call: &mut State, words: &str) {
    call.reply.only_filled |= call.phase == Phase::Thinking;
    call.phase = Phase::Speaking;
    speech::say_piece(call, format!("{words} "), false);
}

/// Returns whether the speech consists of fillers only.
pub fn is_only_filled(call: &State) -> bool {
    call.reply.only_filled && call.speech.is_some()
}
