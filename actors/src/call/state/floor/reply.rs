//! The agent's reply: asks the model, speaks what it streams, runs its tools, and handles failures.

use serde_json::{Value, json};

use crate::call::state::{
    Effect, Phase, State, Waste, another_agent, ending, filler, opt_out, speculation, speech, talk, tools, transfer,
    voicemail,
};
use crate::call::{CallTimer, EndReason};
use domain::{
    callback_time::parse_answer,
    pieces::{self, Piece, PieceCutter},
    ports::{
        language_model::{LanguageError, ReplyEvent},
        synthesizer::SpeechError,
    },
};

/// Number of successive replies that only call tools before the user has the turn again.
pub const MAX_TOOL_ROUNDS: usize = 3;

/// Number of successive model failures without a whole sentence that end the call.
const MOST_FAILURES: usize = 2;
/// Number of successive model failures, each after a whole sentence, that end the call.
const MOST_BROKEN_OFF: usize = 4;

/// Asks the model, and drops an unfinished reply.
pub fn think(call: &mut State) {
    speculation::drop_early(call, Waste::OtherWords);
    begin_reply(call);
    call.fx.push(Effect::StartReply);
    filler::await_reply(call);
}

/// Begins a reply after the user's turn.
pub fn begin_reply(call: &mut State) {
    talk::leave_listening(call);
    opt_out::opt_out_not_answered(call);
    call.user.unanswered = false;
    // A speech that consists of fillers only continues.
    call.reply.only_filled = filler::is_only_filled(call);
    call.phase = match call.reply.only_filled {
        true => Phase::Speaking,
        false => Phase::Thinking,
    };
    call.reply.open = true;
    call.reply.cutter = PieceCutter::new(call.rules.directions.clone());
    call.reply.whole = false;
    call.reply.broke_off = false;
    call.reply.said_until_ms = 0;
    call.reply.tools = 0;
    call.reply.skips = false;
    call.reply.end_call = false;
    call.reply.transfer = None;
    another_agent::keep_agent(call);
    call.reply.protected = false;
    call.tools.told();
    call.commands.told();
    call.latency.asked(call.stream_ms(call.now_ms));
}

pub fn reply_event(call: &mut State, event: ReplyEvent) {
    if !call.reply.open {
        return;
    }
    if let Some(late) = call.latency.first_token(Some(call.stream_ms(call.now_ms))) {
        call.record("late_token", &late);
    }
    match event {
        ReplyEvent::Text(text) => {
            for piece in call.reply.cutter.push(&text) {
                speak_piece(call, piece);
            }
            if call.reply.cutter.is_too_long() {
                call.fx.push(Effect::CancelReply);
                call.reply.cutter.finish();
                reply_ended(call);
            }
        }
        ReplyEvent::Tool { name, arguments, echo } => tool(call, (&name, arguments, echo)),
    }
}

pub fn speak_piece(call: &mut State, piece: Piece) {
    if !pieces::has_words(&piece.text) {
        return;
    }
    if call.phase == Phase::Thinking {
        call.phase = Phase::Speaking;
    }
    call.reply.whole |= pieces::is_whole(&piece.text);
    call.reply.only_filled = false;
    if call.reply.open {
        filler::await_more(call, &piece.text);
    }
    speech::say_piece(call, piece, false);
    if let Some(speech) = &mut call.speech {
        speech.by_model = true;
    }
}

pub fn tool(call: &mut State, (name, arguments, echo): (&str, Value, Option<Box<Value>>)) {
    call.reply.tools += 1;
    if name == "transferToNumber" {
        transfer::person_wanted(call);
    }
    let result = match name {
        // The arguments cannot be parsed: the tool is not called. The model gets an error and may repeat the call.
        _ if !arguments.is_object() => json!({ "error": "the arguments are not a JSON object" }),
        "collect" => match call.history.collect(&arguments) {
            Ok(()) => {
                call.fx.push(Effect::KeepCollected);
                json!({ "ok": true })
            }
            Err(why) => json!({ "error": why }),
        },
        "endCall" if call.rules.may_end(&arguments) => {
            call.reply.end_call = true;
            call.reply.protected |= call.rules.end_call_protected;
            if call.rules.honours_opt_out(&arguments) {
                // Written at once, not after the last words: the wish holds however the call goes on.
                call.fx.push(Effect::WriteOptOut);
            }
            json!({ "ok": true })
        }
        // We did not try to reach the caller of an inbound call, so no call-back is planned.
        "callLater" if call.leg.inbound && !call.rules.simulated => {
            json!({ "error": "no call back can be planned from a call that came in; \
                                                                 collect the wish, and promise no call" })
        }
        "transferToNumber" if !call.rules.transfers.is_empty() => transfer::transfer_wanted(call, &arguments),
        "callLater" => match arguments.get("at").and_then(Value::as_str).and_then(parse_answer) {
            Some(time) => {
                call.fx.push(Effect::PlanCallBack(time));
                json!({ "ok": true })
            }
            None => json!({ "error": "give `at`, a time within 30 days: `in ten minutes`, `tomorrow at 15:30`, or \
                                          ISO 8601" }),
        },
        "transferToAgent" if !call.rules.agents.is_empty() => {
            return another_agent::agent_wanted(call, arguments, echo);
        }
        "languageDetection" if !call.rules.languages.is_empty() => another_agent::language_wanted(call, &arguments),
        "skipTurn" => {
            call.reply.protected |= call.rules.skip_turn_protected;
            call.reply.skips = true;
            call.reply.rounds = MAX_TOOL_ROUNDS;
            json!({ "ok": true })
        }
        "voicemailDetection" if call.rules.detects_voicemail && !call.leg.inbound => {
            voicemail::model_found_mailbox(call)
        }
        _ if call.tools.offers(name) => return tools::run_tool(call, (name, arguments, echo)),
        _ => json!({ "error": "not available" }),
    };
    tools::tool_done(call, (name, arguments, echo), result);
}

pub fn reply_ended(call: &mut State) {
    if !call.reply.open {
        return;
    }
    for rest in call.reply.cutter.finish() {
        speak_piece(call, rest);
    }
    transfer::announce_transfer(call);
    another_agent::announce_another(call);
    let silent = says_nothing(call) && !asks_again(call) && !call.reply.skips;
    if silent && !tools::leaves(call) {
        // Nobody would know whose turn it is.
        let error = LanguageError::Protocol("it answered without a word".into());
        reply_failed(call, &error);
        return;
    }
    call.reply.open = false;
    call.stop_timer(CallTimer::Filler);
    if says_nothing(call) && tools::waits_for_tools(call) {
        tools::await_tools(call);
        return;
    }
    if says_nothing(call) && asks_again(call) {
        tools::ask_on_results(call);
        return;
    }
    call.reply.model_failures = 0;
    match call.phase {
        Phase::Speaking if call.speech.is_some() => speech::say_piece(call, String::new(), true),
        // Everything was spoken, and failed, before the model finished.
        Phase::Speaking => talk::turn_over(call),
        Phase::Thinking if call.reply.end_call || call.reply.another.is_some() => talk::turn_over(call),
        Phase::Thinking => talk::listen(call),
        _ => {}
    }
}

/// Returns whether the model said nothing so far. The agent may have said fillers.
pub fn says_nothing(call: &State) -> bool {
    match call.phase {
        Phase::Thinking => true,
        Phase::Speaking => filler::is_only_filled(call),
        _ => false,
    }
}

/// Returns whether the model called tools and said nothing, so that it is asked again with their results.
fn asks_again(call: &State) -> bool {
    call.reply.tools > 0 && call.reply.rounds < MAX_TOOL_ROUNDS && !tools::leaves(call)
}

/// Handles a model that failed or broke off. Whole sentences already spoken stand; if there is none, the
/// agent apologises.
pub fn reply_failed(call: &mut State, error: &LanguageError) {
    if !std::mem::take(&mut call.reply.open) {
        return;
    }
    call.fx
        .extend([Effect::CancelReply, Effect::CancelTimer(CallTimer::Filler)]);
    call.reply.cutter.finish();
    call.reply.model_failures += 1;
    let stands = call.reply.whole;
    if call.reply.model_failures >= if stands { MOST_BROKEN_OFF } else { MOST_FAILURES } {
        ending::give_up(call, &format!("language model: {error}"));
        return;
    }
    if stands {
        call.record("reply_broke_off", &json!({ "error": error.to_string() }));
        call.reply.broke_off = !tools::leaves(call);
        match call.speech {
            Some(_) => speech::say_piece(call, String::new(), true),
            None => talk::turn_over(call),
        }
        return;
    }
    call.reply.end_call = false;
    call.reply.transfer = None;
    another_agent::keep_agent(call);
    call.phase = Phase::Speaking;
    let words = call.rules.phrases.pardon;
    speech::say_piece(call, words.to_owned(), true);
}

pub fn voice_failed(call: &mut State, error: &SpeechError) {
    call.reply.voice_failures += 1;
    let text = format!("voice: {error}");
    match call.phase.clone() {
        Phase::Closing { reason } => ending::end(call, reason),
        Phase::Machine(_) => ending::end(call, EndReason::agent(&text)),
        // Without a working tts no goodbye can be said.
        Phase::Greeting | Phase::Speaking if call.reply.voice_failures >= 2 => {
            ending::end(call, EndReason::agent(&text));
        }
        Phase::Greeting | Phase::Speaking => {
            call.fx.push(Effect::CancelReply);
            call.reply.open = false;
            call.reply.cutter.finish();
            call.reply.end_call = false;
            call.reply.transfer = None;
            another_agent::keep_agent(call);
            call.phase = Phase::Speaking;
            opt_out::opt_out_not_answered(call);
            let words = call.rules.phrases.pardon;
            speech::say_all(call, words, false);
        }
        _ => {}
    }
}
