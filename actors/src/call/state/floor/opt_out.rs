//! Wish never to be called again, recognised from the user's words independently of the model.
//!
//! A clear wish takes effect at once and is confirmed in the last words. A likely one is asked about once;
//! the answer, or whatever follows instead, decides. A user who hangs up instead of answering has not wished
//! it.

use media::turn::endpointing::Utterance;

use crate::call::state::{By, Effect, Phase, State, another_agent, disclosing, ending, speech, talk, walking};
use crate::call::{CallTimer, EndReason};
use domain::opt_out::{self, Wish};

/// Longest duration of the last words in milliseconds.
const GOODBYE_MS: u64 = 8_000;

/// State of the wish.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OptOut {
    /// No wish was heard.
    #[default]
    Unheard,
    /// The user was asked whether they wish it.
    Asked,
    /// The user was asked and did not say yes. They are not asked again.
    NotSaid,
    /// The user wishes it.
    Wished,
}

/// Handles words about never being called again. Returns true if the words need no other handling.
pub fn hears_opt_out(call: &mut State, utterance: &Utterance) -> bool {
    if !call.rules.smart_opt_out || call.user.opt_out == OptOut::Wished {
        return false;
    }
    let wish = opt_out::wish(&utterance.text);
    let says_yes = call.user.opt_out == OptOut::Asked && opt_out::answer(&utterance.text) == Some(true);
    match call.phase {
        _ if wish == Some(Wish::Clear) || says_yes => opts_out(call, utterance),
        Phase::Greeting | Phase::Listening | Phase::Thinking | Phase::Speaking
            if wish == Some(Wish::Likely) && call.user.opt_out == OptOut::Unheard =>
        {
            ask_about_opt_out(call, utterance);
            true
        }
        _ => false,
    }
}

/// Returns whether the user was asked and nothing that followed has decided the wish.
pub fn awaits_opt_out(call: &State) -> bool {
    call.user.opt_out == OptOut::Asked
}

/// Closes the question because something else is said now: the user's next words no longer answer it.
pub fn opt_out_not_answered(call: &mut State) {
    if call.user.opt_out == OptOut::Asked {
        call.user.opt_out = OptOut::NotSaid;
    }
}

/// Writes the wish at once, however the call goes on. In a conversation with the agent, returns true and ends
/// the call with a promise.
fn opts_out(call: &mut State, utterance: &Utterance) -> bool {
    let talks = talk::in_conversation(call);
    let heard = matches!(
        call.phase,
        Phase::Closing { .. } | Phase::HangingUp { .. } | Phase::Lost(_) | Phase::Operator { .. }
    );
    if !talks && !heard {
        return false;
    }
    call.user.opt_out = OptOut::Wished;
    call.fx.push(Effect::WriteOptOut);
    if talks {
        keep_wish(call, utterance);
        call.end.note_end_by(By::Agent, Some("opted_out"));
        call.stop_timer(CallTimer::PickUp);
        let words = call.rules.phrases.opted_out;
        ending::say_goodbye(call, words, EndReason::Completed, GOODBYE_MS);
    }
    talks
}

fn ask_about_opt_out(call: &mut State, utterance: &Utterance) {
    call.user.opt_out = OptOut::Asked;
    keep_wish(call, utterance);
    ending::stop_reply(call);
    another_agent::stop_taking_over(call);
    disclosing::stop_speech(call);
    talk::leave_listening(call);
    walking::forget_words(call);
    call.reply.only_filled = false;
    call.phase = Phase::Speaking;
    let words = call.rules.phrases.opt_out_meant;
    speech::say_all(call, words, false);
}

/// Keeps the words, after the heard part of a speech that they were spoken over.
fn keep_wish(call: &mut State, utterance: &Utterance) {
    match call.speech {
        Some(_) => call.user.over_speech.push(utterance.clone()),
        None => talk::keep_words(call, utterance),
    }
}
