//! The agent's reply: asks the model, speaks what it streams, runs its tools, and handles failures.

use serde_json::{Value, json};

use super::{Effect, EndReason, Phase, State, speculation::Waste};
use crate::call::CallTimer;
use domain::{
    callback_time::parse_answer,
    pieces::{self, Piece, PieceCutter},
    ports::{
        language_model::{LanguageError, ReplyEvent},
        synthesizer::SpeechError,
    },
};

/// Number of successive replies that only call tools before the user has the turn again.
pub(super) const MAX_TOOL_ROUNDS: usize = 3;

/// Number of successive model failures without a whole sentence that end the call.
const MOST_FAILURES: usize = 2;
/// Number of successive model failures, each after a whole sentence, that end the call.
const MOST_BROKEN_OFF: usize = 4;

impl State {
    /// Asks the model, and drops an unfinished reply.
    pub(super) fn think(&mut self) {
        self.drop_early(Waste::OtherWords);
        self.begin_reply();
        self.fx.push(Effect::StartReply);
        self.await_reply(self.now_ms);
    }

    /// Begins a reply after the user's turn.
    pub(super) fn begin_reply(&mut self) {
        self.leave_listening();
        self.opt_out_not_answered();
        self.user.unanswered = false;
        // A speech that consists of fillers only continues.
        self.reply.only_filled = self.is_only_filled();
        self.phase = match self.reply.only_filled {
            true => Phase::Speaking,
            false => Phase::Thinking,
        };
        self.reply.open = true;
        self.reply.cutter = PieceCutter::new(self.rules.directions.clone());
        self.reply.whole = false;
        self.reply.broke_off = false;
        self.reply.said_until_ms = 0;
        self.reply.tools = 0;
        self.reply.skips = false;
        self.reply.end_call = false;
        self.reply.transfer = None;
        self.keep_agent();
        self.reply.protected = false;
        self.tools.told();
        self.commands.told();
        self.latency.asked(self.stream_ms(self.now_ms));
    }

    pub(super) fn reply_event(&mut self, event: ReplyEvent) {
        if !self.reply.open {
            return;
        }
        if let Some(late) = self.latency.first_token(Some(self.stream_ms(self.now_ms))) {
            self.record("late_token", &late);
        }
        match event {
            ReplyEvent::Text(text) => {
                for piece in self.reply.cutter.push(&text) {
                    self.speak_piece(piece);
                }
                if self.reply.cutter.is_too_long() {
                    self.fx.push(Effect::CancelReply);
                    self.reply.cutter.finish();
                    self.reply_ended();
                }
            }
            ReplyEvent::Tool { name, arguments, echo } => self.tool((&name, arguments, echo)),
        }
    }

    pub(super) fn speak_piece(&mut self, piece: Piece) {
        if !pieces::has_words(&piece.text) {
            return;
        }
        if self.phase == Phase::Thinking {
            self.phase = Phase::Speaking;
        }
        self.reply.whole |= pieces::is_whole(&piece.text);
        self.reply.only_filled = false;
        if self.reply.open {
            self.await_more(&piece.text);
        }
        self.say_piece(piece, false);
        if let Some(speech) = &mut self.speech {
            speech.by_model = true;
        }
    }

    pub(super) fn tool(&mut self, (name, arguments, echo): (&str, Value, Option<Box<Value>>)) {
        self.reply.tools += 1;
        if name == "transferToNumber" {
            self.person_wanted();
        }
        let result = match name {
            // The arguments cannot be parsed: the tool is not called. The model gets an error and may repeat the call.
            _ if !arguments.is_object() => json!({ "error": "the arguments are not a JSON object" }),
            "collect" => match self.history.collect(&arguments) {
                Ok(()) => {
                    self.fx.push(Effect::KeepCollected);
                    json!({ "ok": true })
                }
                Err(why) => json!({ "error": why }),
            },
            "endCall" if self.rules.may_end(&arguments) => {
                self.reply.end_call = true;
                self.reply.protected |= self.rules.end_call_protected;
                if self.rules.honours_opt_out(&arguments) {
                    // Written at once, not after the last words: the wish holds however the call goes on.
                    self.fx.push(Effect::WriteOptOut);
                }
                json!({ "ok": true })
            }
            // We did not try to reach the caller of an inbound call, so no call-back is planned.
            "callLater" if self.leg.inbound && !self.rules.simulated => {
                json!({ "error": "no call back can be planned from a call that came in; \
                                                                 collect the wish, and promise no call" })
            }
            "transferToNumber" if !self.rules.transfers.is_empty() => self.transfer_wanted(&arguments),
            "callLater" => match arguments.get("at").and_then(Value::as_str).and_then(parse_answer) {
                Some(time) => {
                    self.fx.push(Effect::PlanCallBack(time));
                    json!({ "ok": true })
                }
                None => json!({ "error": "give `at`, a time within 30 days: `in ten minutes`, `tomorrow at 15:30`, or \
                                          ISO 8601" }),
            },
            "transferToAgent" if !self.rules.agents.is_empty() => return self.agent_wanted(arguments, echo),
            "languageDetection" if !self.rules.languages.is_empty() => self.language_wanted(&arguments),
            "skipTurn" => {
                self.reply.protected |= self.rules.skip_turn_protected;
                self.reply.skips = true;
                self.reply.rounds = MAX_TOOL_ROUNDS;
                json!({ "ok": true })
            }
            "voicemailDetection" if self.rules.detects_voicemail && !self.leg.inbound => self.model_found_mailbox(),
            _ if self.tools.offers(name) => return self.run_tool((name, arguments, echo)),
            _ => json!({ "error": "not available" }),
        };
        self.tool_done((name, arguments, echo), result);
    }

    pub(super) fn reply_ended(&mut self) {
        if !self.reply.open {
            return;
        }
        for rest in self.reply.cutter.finish() {
            self.speak_piece(rest);
        }
        self.announce_transfer();
        self.announce_another();
        if self.leaves_in_silence() {
            // Nobody would know whose turn it is.
            let error = LanguageError::Protocol("it answered without a word".into());
            self.reply_failed(&error);
            return;
        }
        self.reply.open = false;
        self.fx.push(Effect::CancelTimer(CallTimer::Filler));
        if self.says_nothing() && self.waits_for_tools() {
            self.await_tools();
            return;
        }
        if self.says_nothing() && self.asks_again() {
            self.ask_on_results();
            return;
        }
        self.reply.model_failures = 0;
        match self.phase {
            Phase::Speaking if self.speech.is_some() => self.say_piece(String::new(), true),
            // Everything was spoken, and failed, before the model finished.
            Phase::Speaking => self.turn_over(),
            Phase::Thinking if self.reply.end_call || self.reply.another.is_some() => self.turn_over(),
            Phase::Thinking => self.listen(),
            _ => {}
        }
    }

    /// Returns whether the model said nothing so far. The agent may have said fillers.
    pub(super) fn says_nothing(&self) -> bool {
        match self.phase {
            Phase::Thinking => true,
            Phase::Speaking => self.is_only_filled(),
            _ => false,
        }
    }

    /// Returns whether the reply so far has neither words nor a tool call that needs none.
    fn leaves_in_silence(&self) -> bool {
        self.says_nothing() && !self.asks_again() && !self.reply.skips && !self.leaves()
    }

    /// Returns whether the model called tools and said nothing, so that it is asked again with their results.
    fn asks_again(&self) -> bool {
        self.reply.tools > 0 && self.reply.rounds < MAX_TOOL_ROUNDS && !self.leaves()
    }

    /// Handles a model that failed or broke off. Whole sentences already spoken stand; if there is none, the
    /// agent apologises.
    pub(super) fn reply_failed(&mut self, error: &LanguageError) {
        if !std::mem::take(&mut self.reply.open) {
            return;
        }
        self.fx
            .extend([Effect::CancelReply, Effect::CancelTimer(CallTimer::Filler)]);
        self.reply.cutter.finish();
        self.reply.model_failures += 1;
        let stands = self.reply.whole;
        if self.reply.model_failures >= if stands { MOST_BROKEN_OFF } else { MOST_FAILURES } {
            self.give_up(&format!("language model: {error}"));
            return;
        }
        if stands {
            let detail = json!({ "error": error.to_string() });
            self.record("reply_broke_off", &detail);
            self.reply.broke_off = !self.leaves();
            match self.speech {
                Some(_) => self.say_piece(String::new(), true),
                None => self.turn_over(),
            }
            return;
        }
        self.reply.end_call = false;
        self.reply.transfer = None;
        self.keep_agent();
        self.phase = Phase::Speaking;
        self.say_piece(self.rules.phrases.pardon.to_owned(), true);
    }

    pub(super) fn voice_failed(&mut self, error: &SpeechError) {
        self.reply.voice_failures += 1;
        let text = format!("voice: {error}");
        match &self.phase {
            Phase::Closing { reason } => {
                let reason = reason.clone();
                self.end(reason);
            }
            Phase::Machine(_) => self.end(EndReason::agent(&text)),
            // Without a working tts no goodbye can be said.
            Phase::Greeting | Phase::Speaking if self.reply.voice_failures >= 2 => {
                self.end(EndReason::agent(&text));
            }
            Phase::Greeting | Phase::Speaking => {
                self.fx.push(Effect::CancelReply);
                self.reply.open = false;
                self.reply.cutter.finish();
                self.reply.end_call = false;
                self.reply.transfer = None;
                self.keep_agent();
                self.phase = Phase::Speaking;
                self.opt_out_not_answered();
                self.say_all(self.rules.phrases.pardon, false);
            }
            _ => {}
        }
    }
}
