//! The conversation: whose turn it is, which words are answered, and how silence is handled.
//!
//! `silenceEndCallTimeout` counts silence while the user has the turn. The clock stops while the agent thinks
//! or speaks, then continues from where it stopped, and starts afresh at the user's next word.

use media::{
    session::SessionEvent,
    turn::{barge_in::floor, endpointing::Utterance, words},
};
use serde_json::json;

use super::{By, Effect, EndReason, Latency, Phase, Speech, State, speculation::Waste, who_answered::Machine};
use crate::{
    audio_stream::{SpeechId, StreamEvent},
    call::CallTimer,
};
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

impl State {
    /// Returns whether both sides are on the line and no ending has begun.
    pub(super) fn in_conversation(&self) -> bool {
        match self.phase {
            Phase::Greeting | Phase::Listening | Phase::Thinking | Phase::Speaking => true,
            Phase::PickedUp => self.leg.stream_open,
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

    pub(super) fn stream_event(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Session(event) => self.session_event(event),
            StreamEvent::SpeechFailed { speech, error } => {
                if let Some(failed) = self.speech.take_if(|present| present.id == speech) {
                    // The report of what was heard comes after this.
                    self.replaced = Some(failed);
                    self.voice_failed(&error);
                } else {
                    self.early_voice_failed(speech);
                }
            }
            StreamEvent::OperatorSaid(said) => self.operator_said(&said),
            StreamEvent::OperatorSilent => self.operator_silent(),
            StreamEvent::Digit(key) => self.key_pressed(key),
            StreamEvent::LineDied => self.leg.dying = true,
            StreamEvent::DeafnessBegan(error) => {
                self.record("deafness", &json!({}));
                self.deaf(format!("speech recogniser: {error}"));
            }
            StreamEvent::MediaClosed { clean } => self.media_closed(clean),
        }
    }

    fn session_event(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::SpeechStarted { .. } => {
                self.user.speaking = true;
                self.voice_begins();
            }
            SessionEvent::Interim { text } => {
                self.user_speaks();
                if self.phase == Phase::Machine(Machine::Menu) {
                    self.menu_goes_on(&text);
                }
            }
            SessionEvent::FinalWanted => {}
            SessionEvent::TurnPaused { text, at_ms } => self.turn_paused(text, at_ms),
            SessionEvent::TurnResumed { .. } => self.turn_resumed(),
            SessionEvent::UtteranceEnded(utterance) => self.utterance(&utterance, false),
            SessionEvent::SpeakingStarted {
                speech,
                at_ms,
                audio_ms,
            } => self.speaking_started(speech, audio_ms, at_ms),
            SessionEvent::PlayoutPaused { speech, at_ms } => self.note("playout_paused", Some(speech), at_ms),
            SessionEvent::PlayoutResumed { speech, at_ms } => self.note("playout_resumed", Some(speech), at_ms),
            SessionEvent::EchoIgnored { at_ms } => self.note("echo_ignored", None, at_ms),
            SessionEvent::BargedIn { speech, heard, at_ms } => {
                let for_key = self.is_cut(speech);
                if self.speech_over(speech, &heard, at_ms, true) {
                    self.barged_in(speech, &heard, at_ms);
                    self.interrupted();
                    self.answer_keys(for_key);
                }
            }
            SessionEvent::SpeakingEnded { speech, heard, at_ms } => {
                self.speech_ended(speech, &heard, at_ms);
            }
            SessionEvent::BeepEnded { at_ms } => self.beep(at_ms),
            SessionEvent::Amd(finding) => self.who_answered(finding),
        }
    }

    /// Handles the end of a speech. It was played to its end or dropped: for a key, which interrupts, or
    /// because its line died, which may come back. Last words that died with the line are not said again.
    fn speech_ended(&mut self, id: SpeechId, heard: &str, at_ms: u64) {
        let last_words = matches!(self.phase, Phase::Closing { .. }) || self.reply.end_call;
        let for_key = self.is_cut(id);
        let died = self.leg.dying && !last_words;
        if !self.speech_over(id, heard, at_ms, for_key || died) || died {
            return;
        }
        if for_key {
            self.barged_in(id, heard, at_ms);
            self.interrupted();
            self.answer_keys(true);
        } else if !self.goes_on_after_disclosure(id) {
            self.speech_finished(!heard.trim().is_empty());
        }
    }

    /// Restarts the silence timers after the user's words or a key. Sounds without words do not, since noise
    /// on the line would then keep a call open for good.
    pub(super) fn user_speaks(&mut self) {
        self.user.silence_left_ms = self.rules.silence_end_ms.unwrap_or(0);
        self.user.held_timers = false;
        if self.phase == Phase::Listening {
            if let Some(ms) = self.rules.turn_timeout_ms {
                self.fx.push(Effect::SetTimer(CallTimer::Turn, ms.max(WORDS_HOLD_MS)));
            }
            if let Some(ms) = self.rules.silence_end_ms {
                self.user.silence_since_ms = Some(self.now_ms);
                self.fx
                    .push(Effect::SetTimer(CallTimer::Silence, ms.max(WORDS_HOLD_MS)));
            }
        }
    }

    /// Returns whether a silence timer should wait, because the user may be about to say something.
    fn voice_holds(&mut self, timer: CallTimer) -> bool {
        let holds = self.user.speaking && !std::mem::replace(&mut self.user.held_timers, true);
        if holds {
            self.fx.push(Effect::SetTimer(timer, VOICE_HOLDS_MS));
        }
        holds
    }

    /// Gives the user the turn, unless a client's command comes first.
    pub(super) fn listen(&mut self) {
        if !self.user.speaking && self.next_command() {
            return;
        }
        self.phase = Phase::Listening;
        self.commands.turn_over();
        self.new_turn();
        let broke_off = std::mem::take(&mut self.reply.broke_off);
        let soon = broke_off.then_some(BROKE_OFF_MS);
        if let Some(ms) = self.rules.turn_timeout_ms.into_iter().chain(soon).min() {
            self.fx.push(Effect::SetTimer(CallTimer::Turn, ms));
        }
        if self.rules.silence_end_ms.is_some() {
            self.user.silence_since_ms = Some(self.now_ms);
            self.fx
                .push(Effect::SetTimer(CallTimer::Silence, self.user.silence_left_ms));
        }
    }

    pub(super) fn new_turn(&mut self) {
        self.reply.rounds = 0;
        self.reply.fillers = 0;
        self.reply.filled_ms = None;
    }

    /// Stops the user's timers when the user no longer has the turn.
    pub(super) fn leave_listening_timers(&mut self) {
        self.user.silence_since_ms = None;
        self.fx.push(Effect::CancelTimer(CallTimer::Turn));
        self.fx.push(Effect::CancelTimer(CallTimer::Silence));
    }

    pub(super) fn leave_listening(&mut self) {
        if let Some(since) = self.user.silence_since_ms {
            let passed = self.now_ms.saturating_sub(since);
            self.user.silence_left_ms = self.user.silence_left_ms.saturating_sub(passed);
        }
        self.leave_listening_timers();
    }

    /// Handles what the user said, or typed on keys (`typed`).
    pub(super) fn utterance(&mut self, utterance: &Utterance, typed: bool) {
        self.user.speaking = false;
        self.user.tries = 0;
        let wordless = utterance.text.trim().is_empty();
        let over_speech = self.is_told_over_speech(utterance, typed);
        if !wordless {
            self.user_speaks();
        }
        if !typed && self.hears_opt_out(utterance) {
            return;
        }
        if over_speech {
            self.told_over_speech(utterance);
            return;
        }
        if !wordless {
            self.keep_words(utterance);
        }
        match self.phase {
            Phase::PickedUp => {
                self.turn_ended(utterance, wordless);
                self.first_words_over(wordless);
            }
            Phase::Listening if wordless => self.wordless(utterance),
            Phase::Thinking if wordless => {}
            // The words are kept, and the operator answers them.
            Phase::Operator { .. } => {}
            Phase::Listening | Phase::Thinking => {
                self.turn_ended(utterance, wordless);
                self.answer(utterance);
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
            Phase::Machine(machine) => self.machine_said(machine, utterance),
        }
    }

    /// Returns whether words need an answer although the agent has the turn. Words spoken over the pick-up
    /// belong to it, and backchannels need no answer. Keys always do.
    fn is_told_over_speech(&self, utterance: &Utterance, typed: bool) -> bool {
        let opening = !self.leg.inbound && utterance.started_ms < self.pick_up_ends_ms();
        let opening = opening && !(self.rules.user_begins && self.discloses());
        let tells = words::any(&utterance.text) && !floor::is_nod(&utterance.text);
        matches!(self.phase, Phase::Greeting | Phase::Speaking) && (typed || (!opening && tells))
    }

    /// Keeps words spoken over a speech that goes on. They are answered after it and follow in the history
    /// what was heard of it. A reply of which nothing or only fillers were heard is made anew.
    fn told_over_speech(&mut self, utterance: &Utterance) {
        self.turn_ended(utterance, false);
        // Words of a node are heard in any case.
        let fixed = |speech: &Speech| self.walking.is_some() && !speech.by_model;
        let unheard = |speech: &Speech| speech.started_ms.is_none() && !speech.protected && !fixed(speech);
        let replaceable = self.speech.as_ref().is_some_and(unheard) || self.is_only_filled();
        if self.phase == Phase::Speaking && replaceable {
            self.keep_words(utterance);
            self.fx.push(Effect::StopSpeaking);
            self.replaced = self.speech.take();
            self.answer(utterance);
            return;
        }
        self.user.unanswered = true;
        match self.speech {
            Some(_) => self.user.over_speech.push(utterance.clone()),
            None => self.keep_words(utterance),
        }
    }

    /// Adds the words spoken over a speech, now that the heard part of the speech is in the history.
    pub(super) fn keep_words_over_speech(&mut self) {
        for utterance in std::mem::take(&mut self.user.over_speech) {
            self.keep_words(&utterance);
        }
    }

    pub(super) fn keep_words(&mut self, utterance: &Utterance) {
        self.user.was_wordless = false;
        if let Some(walking) = &mut self.walking {
            walking.judged = false;
        }
        let span = self.span(utterance.started_ms, utterance.ended_ms);
        let turn = self.history.user_said(&utterance.text, span, utterance.damaged);
        self.fx.push(Effect::Record(Fact::Turn(turn)));
    }

    /// Starts the latency measurement for words that will be answered.
    fn turn_ended(&mut self, utterance: &Utterance, wordless: bool) {
        if wordless {
            return;
        }
        let stream_ms = self.stream_ms(self.now_ms);
        self.latency = Latency::turn_ended(utterance.ended_ms, utterance.final_ms, stream_ms);
        let detail = json!({
            "voiceMs": utterance.ended_ms.saturating_sub(utterance.started_ms),
            "pauseMs": stream_ms.saturating_sub(utterance.ended_ms),
        });
        self.record_at("turn_ended", self.call_ms(stream_ms), &detail);
    }

    /// Handles an utterance without words. After a cough or a click nobody has spoken. Voice without an
    /// understood word is answered with a question once, then ignored. Neither affects the silence timers.
    fn wordless(&mut self, utterance: &Utterance) {
        if self.next_command() || (!self.awaits_opt_out() && self.walk_due()) {
            return;
        }
        self.drop_early(Waste::OtherWords);
        if self.walking.as_ref().is_some_and(|walking| walking.unjudged.is_some()) {
            return self.answer_words();
        }
        if !utterance.damaged || std::mem::replace(&mut self.user.was_wordless, true) {
            return;
        }
        let span = self.span(utterance.started_ms, utterance.ended_ms);
        let turn = self.history.user_said("", span, true);
        self.fx.push(Effect::Record(Fact::Turn(turn)));
        self.think();
    }

    fn answer(&mut self, utterance: &Utterance) {
        if self.taking_over.is_some() {
            // The agent that takes the call over answers them.
            self.user.unanswered = true;
            return;
        }
        self.new_turn();
        if self.commands_first() {
            self.judge_later();
            return;
        }
        self.answer_turn(&utterance.text, utterance.damaged);
    }

    /// Handles words or noise of the callee before the greeting.
    fn first_words_over(&mut self, wordless: bool) {
        self.fx.push(Effect::CancelTimer(CallTimer::PickUp));
        self.user.unanswered |= self.rules.user_begins && !wordless;
        if self.user.unanswered && self.rules.greeting.is_none() && !self.must_disclose() {
            self.answer_words();
        } else {
            self.greet();
        }
    }

    pub(super) fn pick_up_silence(&mut self) {
        if self.phase != Phase::PickedUp || !self.leg.stream_open {
            return;
        }
        if std::mem::take(&mut self.user.speaking) {
            self.fx.push(Effect::SetTimer(CallTimer::PickUp, FIRST_WORDS_MS));
        } else {
            self.greet();
        }
    }

    pub(super) fn greet(&mut self) {
        if let Some(why) = self.leg.deaf.take() {
            self.phase = Phase::Greeting;
            self.give_up(&why);
            return;
        }
        match self.rules.greeting.clone() {
            Some(greeting) => {
                self.phase = Phase::Greeting;
                self.say_all(&greeting, self.rules.greeting_protected);
            }
            None if self.must_disclose() => {
                self.phase = Phase::Greeting;
                self.disclose(None);
            }
            None if self.walk_due() => {}
            None => self.listen(),
        }
    }

    pub(super) fn barge_in_allowed(&mut self) {
        if self.leg.stream_open {
            self.leg.barge_in = true;
            self.fx.push(Effect::AllowBargeIn(true));
        }
    }

    /// Records a barge-in. The words themselves belong to the turn; events hold figures only.
    fn barged_in(&mut self, speech: SpeechId, heard: &str, at_ms: u64) {
        let words = heard.split_whitespace().count();
        let detail = json!({ "speech": speech.0, "heardWords": words });
        self.record_at("barged_in", self.call_ms(at_ms), &detail);
    }

    fn interrupted(&mut self) {
        if matches!(self.phase, Phase::Machine(Machine::Message { .. })) {
            return self.message_interrupted();
        }
        if matches!(self.phase, Phase::Greeting | Phase::Speaking) {
            self.fx.push(Effect::CancelReply);
            self.reply.open = false;
            self.reply.cutter.finish();
            self.reply.end_call = false;
            self.reply.transfer = None;
            self.keep_agent();
            self.user.speaking = true;
            self.listen();
        }
    }

    /// Handles the end of the present speech.
    fn speech_finished(&mut self, heard: bool) {
        if heard {
            self.reply.voice_failures = 0;
        }
        match &self.phase {
            Phase::Closing { reason } => {
                let reason = reason.clone();
                self.end(reason);
            }
            Phase::Machine(machine) => self.said_to_machine(*machine),
            // The model has not finished: its next words start a new speech.
            Phase::Speaking if self.reply.open => {}
            Phase::Greeting | Phase::Speaking => self.turn_over(),
            _ => {}
        }
    }

    pub(super) fn turn_over(&mut self) {
        if self.next_command() {
            return;
        }
        if let Some(pending) = self.reply.transfer.take() {
            self.hand_on(pending.wanted);
        } else if std::mem::take(&mut self.reply.end_call) {
            self.ends(By::Agent, Some("end_call"));
            self.end(EndReason::Completed);
        } else if let Some(wanted) = self.reply.another.take() {
            self.hand_over(wanted);
        } else if !self.awaits_opt_out() && self.walk_due() {
            // The walk goes on.
        } else if self.has_unanswered() {
            self.answer_words();
        } else if self.awaits_opt_out() {
            self.listen();
        } else if self.waits_for_tools() || self.is_walking() {
            self.await_tools();
        } else if self.tools.has_news() {
            self.ask_on_results();
        } else {
            self.listen();
        }
    }

    pub(super) fn turn_timeout(&mut self) {
        if self.phase != Phase::Listening || self.voice_holds(CallTimer::Turn) {
            return;
        }
        let silent_ms = self
            .user
            .silence_since_ms
            .map(|since| self.now_ms.saturating_sub(since));
        if silent_ms.is_some_and(|ms| ms >= self.user.silence_left_ms) {
            // Both timers expire at the same moment: the agent should not speak only to hang up at once.
            self.silence_timeout();
        } else {
            self.user.speaking = false;
            self.latency = Latency::default();
            self.drop_early(Waste::Overtaken);
            if self.next_command() {
                return;
            }
            self.history.silence();
            if !self.walk_due() {
                self.think();
            }
        }
    }

    pub(super) fn silence_timeout(&mut self) {
        if self.phase == Phase::Listening && !self.voice_holds(CallTimer::Silence) {
            self.ends(By::Agent, Some("silence"));
            self.end(EndReason::Completed);
        }
    }

    /// Records a small fact of which a noisy line makes many, up to a limit.
    fn note(&mut self, name: &str, speech: Option<SpeechId>, at_ms: u64) {
        if self.notes < MOST_NOTES {
            self.notes += 1;
            let detail = speech.map_or_else(|| json!({}), |speech| json!({ "speech": speech.0 }));
            self.record_at(name, self.call_ms(at_ms), &detail);
        }
    }
}
