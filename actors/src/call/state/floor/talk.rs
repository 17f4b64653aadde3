//! The conversation: whose turn it is, which words are answered, and how silence is handled.
//!
//! `silenceEndCallTimeout` counts silence while the user has the turn. The clock stops while the agent thinks
//! or speaks, then continues from where it stopped, and starts afresh at the user's next word.

use media::{
    session::SessionEvent,
    turn::{barge_in::floor, endpointing::Utterance, words},
};
use serde_json::json;

use crate::audio_stream::{SpeechId, StreamEvent};
use crate::call::state::{
    By, Effect, Latency, Machine, Phase, Speech, State, Waste, another_agent, commands, disclosing, ending, filler,
    keys, lost, menu, operator, opt_out, reply, speculation, speech, tools, transfer, voicemail, walking, who_answered,
};
use crate::call::{CallTimer, EndReason};
use domain::ports::store::Fact;

/// Most facts about pauses of playout and echoes that one call keeps.
const MOST_NOTES: usize = 200;

/// Time in milliseconds a callee who spoke at once may go on before the greeting comes anyway.
const FIRST_WORDS_MS: u64 = 8_000;

/// Time in milliseconds for which a silence timer that expires during the user's voice waits for the first
/// word, once. It is longer than the session takes to detect a sound without words.
const VOICE_HOLDS_MS: u64 = 3_000;

/// Time in milliseconds the user has after a reply that broke off, since it may not have contained a question.
const BROKE_OFF_MS: u64 = 1_000;

/// Time in milliseconds after which words that never become an utterance no longer hold the turn.
const WORDS_HOLD_MS: u64 = 15_000;

/// Returns whether both sides are on the line and no ending has begun.
pub fn in_conversation(call: &State) -> bool {
    match call.phase {
        Phase::Greeting | Phase::Listening | Phase::Thinking | Phase::Speaking => true,
        Phase::PickedUp => call.leg.stream_open,
        Phase::Scheduled { .. }
        | Phase::Dialing { .. }
        | Phase::Unknown
        | Phase::Ringing
        | Phase::Machine(_)
        | Phase::Transferring(_)
        | Phase::Operator { .. }
        | Phase::Closing { .. }
        | Phase::Lost(_)
        | Phase::HangingUp { .. }
        | Phase::Ended => false,
    }
}

pub fn stream_event(call: &mut State, event: StreamEvent) {
    match event {
        StreamEvent::Session(event) => session_event(call, event),
        StreamEvent::SpeechFailed { speech, error } => {
            if let Some(failed) = call.speech.take_if(|present| present.id == speech) {
                // The report of what was heard comes after this.
                call.replaced = Some(failed);
                reply::voice_failed(call, &error);
            } else {
                speculation::early_voice_failed(call, speech);
            }
        }
        StreamEvent::OperatorSaid(said) => operator::operator_said(call, &said),
        StreamEvent::OperatorSilent => operator::operator_silent(call),
        StreamEvent::Digit(key) => keys::key_pressed(call, key),
        StreamEvent::LineDied => call.leg.dying = true,
        StreamEvent::DeafnessBegan(error) => {
            call.record("deafness", &json!({}));
            ending::deaf(call, format!("speech recogniser: {error}"));
        }
        StreamEvent::MediaClosed { clean } => ending::media_closed(call, clean),
    }
}

fn session_event(call: &mut State, event: SessionEvent) {
    match event {
        SessionEvent::SpeechStarted { .. } => {
            call.user.speaking = true;
            who_answered::voice_begins(call);
        }
        SessionEvent::Interim { text } => {
            user_speaks(call);
            if call.phase == Phase::Machine(Machine::Menu) {
                menu::menu_goes_on(call, &text);
            }
        }
        SessionEvent::FinalWanted => {}
        SessionEvent::TurnPaused { text, at_ms } => speculation::turn_paused(call, text, at_ms),
        SessionEvent::TurnResumed { .. } => speculation::drop_early(call, Waste::Resumed),
        SessionEvent::UtteranceEnded(utterance) => on_utterance(call, &utterance, false),
        SessionEvent::SpeakingStarted {
            speech,
            at_ms,
            audio_ms,
        } => speech::speaking_started(call, speech, audio_ms, at_ms),
        SessionEvent::PlayoutPaused { speech, at_ms } => note(call, "playout_paused", Some(speech), at_ms),
        SessionEvent::PlayoutResumed { speech, at_ms } => note(call, "playout_resumed", Some(speech), at_ms),
        SessionEvent::EchoIgnored { at_ms } => note(call, "echo_ignored", None, at_ms),
        SessionEvent::BargedIn { speech, heard, at_ms } => {
            let for_key = keys::is_cut(call, speech);
            if speech::speech_over(call, speech, &heard, at_ms, true) {
                barged_in(call, speech, &heard, at_ms);
                interrupted(call);
                keys::answer_keys(call, for_key);
            }
        }
        SessionEvent::SpeakingEnded { speech, heard, at_ms } => {
            speech_ended(call, speech, &heard, at_ms);
        }
        SessionEvent::BeepEnded { at_ms } => voicemail::beep(call, at_ms),
        SessionEvent::Amd(finding) => who_answered::on_finding(call, finding),
    }
}

/// Handles the end of a speech. It was played to its end or dropped: for a key, which interrupts, or
/// because its line died, which may come back. Last words that died with the line are not said again.
fn speech_ended(call: &mut State, id: SpeechId, heard: &str, at_ms: u64) {
    let last_words = matches!(call.phase, Phase::Closing { .. }) || call.reply.end_call;
    let for_key = keys::is_cut(call, id);
    let died = call.leg.dying && !last_words;
    if !speech::speech_over(call, id, heard, at_ms, for_key || died) || died {
        return;
    }
    if for_key {
        barged_in(call, id, heard, at_ms);
        interrupted(call);
        keys::answer_keys(call, true);
    } else if !disclosing::goes_on_after_disclosure(call, id) {
        speech_finished(call, !heard.trim().is_empty());
    }
}

/// Restarts the silence timers after the user's words or a key. Sounds without words do not, since noise
/// on the line would then keep a call open for good.
pub fn user_speaks(call: &mut State) {
    call.user.silence_left_ms = call.rules.silence_end_ms.unwrap_or(0);
    call.user.held_timers = false;
    if call.phase == Phase::Listening {
        if let Some(ms) = call.rules.turn_timeout_ms {
            call.set_timer(CallTimer::Turn, ms.max(WORDS_HOLD_MS));
        }
        if let Some(ms) = call.rules.silence_end_ms {
            call.user.silence_since_ms = Some(call.now_ms);
            call.set_timer(CallTimer::Silence, ms.max(WORDS_HOLD_MS));
        }
    }
}

/// Returns whether a silence timer should wait, because the user may be about to say something.
fn voice_holds(call: &mut State, timer: CallTimer) -> bool {
    let holds = call.user.speaking && !std::mem::replace(&mut call.user.held_timers, true);
    if holds {
        call.set_timer(timer, VOICE_HOLDS_MS);
    }
    holds
}

/// Gives the user the turn, unless a client's command comes first.
pub fn listen(call: &mut State) {
    if !call.user.speaking && commands::next_command(call) {
        return;
    }
    call.phase = Phase::Listening;
    call.commands.turn_over();
    new_turn(call);
    let broke_off = std::mem::take(&mut call.reply.broke_off);
    let soon = broke_off.then_some(BROKE_OFF_MS);
    if let Some(ms) = call.rules.turn_timeout_ms.into_iter().chain(soon).min() {
        call.set_timer(CallTimer::Turn, ms);
    }
    if call.rules.silence_end_ms.is_some() {
        call.user.silence_since_ms = Some(call.now_ms);
        call.set_timer(CallTimer::Silence, call.user.silence_left_ms);
    }
}

pub fn new_turn(call: &mut State) {
    call.reply.rounds = 0;
    call.reply.fillers = 0;
    call.reply.filled_ms = None;
}

/// Stops the user's timers when the user no longer has the turn.
pub fn leave_listening_timers(call: &mut State) {
    call.user.silence_since_ms = None;
    call.stop_timer(CallTimer::Turn);
    call.stop_timer(CallTimer::Silence);
}

pub fn leave_listening(call: &mut State) {
    if let Some(since) = call.user.silence_since_ms {
        let passed = call.now_ms.saturating_sub(since);
        call.user.silence_left_ms = call.user.silence_left_ms.saturating_sub(passed);
    }
    leave_listening_timers(call);
}

/// Handles what the user said, or typed on keys (`typed`).
pub fn on_utterance(call: &mut State, utterance: &Utterance, typed: bool) {
    call.user.speaking = false;
    call.user.tries = 0;
    let wordless = utterance.text.trim().is_empty();
    let over_speech = is_told_over_speech(call, utterance, typed);
    if !wordless {
        user_speaks(call);
    }
    if !typed && opt_out::hears_opt_out(call, utterance) {
        return;
    }
    if over_speech {
        told_over_speech(call, utterance);
        return;
    }
    if !wordless {
        keep_words(call, utterance);
    }
    match call.phase {
        Phase::PickedUp => {
            turn_ended(call, utterance, wordless);
            first_words_over(call, wordless);
        }
        Phase::Listening if wordless => on_wordless(call, utterance),
        Phase::Thinking if wordless => {}
        // The words are kept, and the operator answers them.
        Phase::Operator { .. } => {}
        Phase::Listening | Phase::Thinking => {
            turn_ended(call, utterance, wordless);
            answer(call, utterance);
        }
        Phase::Greeting | Phase::Speaking => {}
        Phase::Scheduled { .. }
        | Phase::Dialing { .. }
        | Phase::Unknown
        | Phase::Ringing
        | Phase::Transferring(_)
        | Phase::Closing { .. }
        | Phase::Lost(_)
        | Phase::HangingUp { .. }
        | Phase::Ended => {}
        Phase::Machine(machine) => who_answered::machine_said(call, machine, utterance),
    }
}

/// Returns whether words need an answer although the agent has the turn. Words spoken over the pick-up
/// belong to it, and backchannels need no answer. Keys always do.
fn is_told_over_speech(call: &State, utterance: &Utterance, typed: bool) -> bool {
    let opening = !call.leg.inbound && utterance.started_ms < lost::pick_up_ends_ms(call);
    let opening = opening && !(call.rules.user_begins && disclosing::discloses(call));
    let tells = words::any(&utterance.text) && !floor::is_nod(&utterance.text);
    matches!(call.phase, Phase::Greeting | Phase::Speaking) && (typed || (!opening && tells))
}

/// Keeps words spoken over a speech that goes on. They are answered after it and follow in the history
/// what was heard of it. A reply of which nothing or only fillers were heard is made anew.
fn told_over_speech(call: &mut State, utterance: &Utterance) {
    turn_ended(call, utterance, false);
    // Words of a node are heard in any case.
    let fixed = |speech: &Speech| call.walking.is_some() && !speech.by_model;
    let unheard = |speech: &Speech| speech.started_ms.is_none() && !speech.protected && !fixed(speech);
    let replaceable = call.speech.as_ref().is_some_and(unheard) || filler::is_only_filled(call);
    if call.phase == Phase::Speaking && replaceable {
        keep_words(call, utterance);
        call.fx.push(Effect::StopSpeaking);
        call.replaced = call.speech.take();
        answer(call, utterance);
        return;
    }
    call.user.unanswered = true;
    match call.speech {
        Some(_) => call.user.over_speech.push(utterance.clone()),
        None => keep_words(call, utterance),
    }
}

/// Adds the words spoken over a speech, now that the heard part of the speech is in the history.
pub fn keep_words_over_speech(call: &mut State) {
    for utterance in std::mem::take(&mut call.user.over_speech) {
        keep_words(call, &utterance);
    }
}

pub fn keep_words(call: &mut State, utterance: &Utterance) {
    call.user.was_wordless = false;
    if let Some(walking) = &mut call.walking {
        walking.words_came();
    }
    let span = call.span(utterance.started_ms, utterance.ended_ms);
    let turn = call.history.user_said(&utterance.text, span, utterance.damaged);
    call.fx.push(Effect::Record(Fact::Turn(turn)));
}

/// Starts the latency measurement for words that will be answered.
fn turn_ended(call: &mut State, utterance: &Utterance, wordless: bool) {
    if wordless {
        return;
    }
    let stream_ms = call.stream_ms(call.now_ms);
    call.latency = Latency::turn_ended(utterance.ended_ms, utterance.final_ms, stream_ms);
    let detail = json!({
        "voiceMs": utterance.ended_ms.saturating_sub(utterance.started_ms),
        "pauseMs": stream_ms.saturating_sub(utterance.ended_ms),
    });
    call.record_at("turn_ended", call.call_ms(stream_ms), &detail);
}

/// Handles an utterance without words. After a cough or a click nobody has spoken. Voice without an
/// understood word is answered with a question once, then ignored. Neither affects the silence timers.
fn on_wordless(call: &mut State, utterance: &Utterance) {
    if commands::next_command(call) || (!opt_out::awaits_opt_out(call) && walking::walk_due(call)) {
        return;
    }
    speculation::drop_early(call, Waste::OtherWords);
    if call.walking.as_ref().is_some_and(|walking| walking.has_unjudged()) {
        return walking::answer_words(call);
    }
    if !utterance.damaged || std::mem::replace(&mut call.user.was_wordless, true) {
        return;
    }
    let span = call.span(utterance.started_ms, utterance.ended_ms);
    let turn = call.history.user_said("", span, true);
    call.fx.push(Effect::Record(Fact::Turn(turn)));
    reply::think(call);
}

fn answer(call: &mut State, utterance: &Utterance) {
    if call.handovers.is_changing() {
        // The agent that takes the call over answers them.
        call.user.unanswered = true;
        return;
    }
    new_turn(call);
    if commands::commands_first(call) {
        walking::judge_later(call);
        return;
    }
    walking::answer_turn(call, &utterance.text, utterance.damaged);
}

/// Handles words or noise of the callee before the greeting.
fn first_words_over(call: &mut State, wordless: bool) {
    call.stop_timer(CallTimer::PickUp);
    call.user.unanswered |= call.rules.user_begins && !wordless;
    if call.user.unanswered && call.rules.greeting.is_none() && !disclosing::must_disclose(call) {
        walking::answer_words(call);
    } else {
        greet(call);
    }
}

pub fn pick_up_silence(call: &mut State) {
    if call.phase != Phase::PickedUp || !call.leg.stream_open {
        return;
    }
    if std::mem::take(&mut call.user.speaking) {
        call.set_timer(CallTimer::PickUp, FIRST_WORDS_MS);
    } else {
        greet(call);
    }
}

pub fn greet(call: &mut State) {
    if let Some(why) = call.leg.deaf.take() {
        call.phase = Phase::Greeting;
        ending::give_up(call, &why);
        return;
    }
    match call.rules.greeting.clone() {
        Some(greeting) => {
            call.phase = Phase::Greeting;
            let protected = call.rules.greeting_protected;
            speech::say_all(call, &greeting, protected);
        }
        None if disclosing::must_disclose(call) => {
            call.phase = Phase::Greeting;
            disclosing::disclose(call, None);
        }
        None if walking::walk_due(call) => {}
        None => listen(call),
    }
}

pub fn barge_in_allowed(call: &mut State) {
    if call.leg.stream_open {
        call.leg.barge_in = true;
        call.fx.push(Effect::AllowBargeIn(true));
    }
}

/// Records a barge-in. The words themselves belong to the turn; events hold figures only.
fn barged_in(call: &mut State, speech: SpeechId, heard: &str, at_ms: u64) {
    let words = heard.split_whitespace().count();
    let detail = json!({ "speech": speech.0, "heardWords": words });
    call.record_at("barged_in", call.call_ms(at_ms), &detail);
}

fn interrupted(call: &mut State) {
    if matches!(call.phase, Phase::Machine(Machine::Message { .. })) {
        return voicemail::message_interrupted(call);
    }
    if matches!(call.phase, Phase::Greeting | Phase::Speaking) {
        call.fx.push(Effect::CancelReply);
        call.reply.open = false;
        call.reply.cutter.finish();
        call.reply.end_call = false;
        call.reply.transfer = None;
        another_agent::keep_agent(call);
        call.user.speaking = true;
        listen(call);
    }
}

/// Handles the end of the present speech.
fn speech_finished(call: &mut State, heard: bool) {
    if heard {
        call.reply.voice_failures = 0;
    }
    match call.phase.clone() {
        Phase::Closing { reason } => ending::end(call, reason),
        Phase::Machine(machine) => who_answered::said_to_machine(call, machine),
        // The model has not finished: its next words start a new speech.
        Phase::Speaking if call.reply.open => {}
        Phase::Greeting | Phase::Speaking => turn_over(call),
        _ => {}
    }
}

pub fn turn_over(call: &mut State) {
    if commands::next_command(call) {
        return;
    }
    if let Some(pending) = call.reply.transfer.take() {
        transfer::hand_on(call, pending.wanted);
    } else if std::mem::take(&mut call.reply.end_call) {
        call.end.note_end_by(By::Agent, Some("end_call"));
        ending::end(call, EndReason::Completed);
    } else if let Some(wanted) = call.reply.another.take() {
        another_agent::hand_over(call, wanted);
    } else if !opt_out::awaits_opt_out(call) && walking::walk_due(call) {
        // The walk goes on.
    } else if walking::has_unanswered(call) {
        walking::answer_words(call);
    } else if opt_out::awaits_opt_out(call) {
        listen(call);
    } else if tools::waits_for_tools(call) || walking::is_walking(call) {
        tools::await_tools(call);
    } else if call.tools.has_news() {
        tools::ask_on_results(call);
    } else {
        listen(call);
    }
}

pub fn turn_timeout(call: &mut State) {
    if call.phase != Phase::Listening || voice_holds(call, CallTimer::Turn) {
        return;
    }
    let silent_ms = call
        .user
        .silence_since_ms
        .map(|since| call.now_ms.saturating_sub(since));
    if silent_ms.is_some_and(|ms| ms >= call.user.silence_left_ms) {
        // Both timers expire at the same moment: the agent should not speak only to hang up at once.
        silence_timeout(call);
    } else {
        call.user.speaking = false;
        call.latency = Latency::default();
        speculation::drop_early(call, Waste::Overtaken);
        if commands::next_command(call) {
            return;
        }
        call.history.silence();
        if !walking::walk_due(call) {
            reply::think(call);
        }
    }
}

pub fn silence_timeout(call: &mut State) {
    if call.phase == Phase::Listening && !voice_holds(call, CallTimer::Silence) {
        call.end.note_end_by(By::Agent, Some("silence"));
        ending::end(call, EndReason::Completed);
    }
}

/// Records a small fact of which a noisy line makes many, up to a limit.
fn note(call: &mut State, name: &str, speech: Option<SpeechId>, at_ms: u64) {
    if call.notes < MOST_NOTES {
        call.notes += 1;
        let detail = speech.map_or_else(|| json!({}), |speech| json!({ "speech": speech.0 }));
        call.record_at(name, call.call_ms(at_ms), &detail);
    }
}
