//! The agent's reply: asking the model, speaking what it streams, its tools, and what fails on the way.

use serde_json::{Value, json};

use super::{Effect, EndReason, Phase, State, speculation::Waste};
use crate::{
    callback_time::parse_answer,
    ports::{
        language_model::{LanguageError, ReplyEvent},
        synthesizer::SpeechError,
    },
};

/// Text of one reply beyond this is not spoken.
pub(super) const MAX_REPLY_BYTES: usize = 8_000;

/// Replies in a row that only call tools, before the user has the turn again.
const MAX_TOOL_ROUNDS: usize = 3;

const PARDON: &str = "Sorry, could you say that again?";

impl State {
    /// Asks the model; an unfinished reply is dropped.
    pub(super) fn think(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        self.drop_early(Waste::OtherWords, fx);
        self.begin_reply(now_ms, fx);
        fx.push(Effect::StartReply);
    }

    /// The user's turn is over and a reply is coming.
    pub(super) fn begin_reply(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        self.leave_listening(now_ms, fx);
        self.user.unanswered = false;
        self.phase = Phase::Thinking;
        self.reply.open = true;
        self.reply.cutter.finish();
        self.reply.bytes = 0;
        self.reply.tools = 0;
        self.reply.end_call = false;
        self.reply.protected = false;
        self.latency.asked(self.stream_ms(now_ms));
    }

    pub(super) fn reply_event(&mut self, event: ReplyEvent, now_ms: u64, fx: &mut Vec<Effect>) {
        if !self.reply.open {
            return;
        }
        self.latency.first_token(Some(self.stream_ms(now_ms)));
        match event {
            ReplyEvent::Text(text) => {
                self.reply.bytes += text.len();
                if self.reply.bytes > MAX_REPLY_BYTES {
                    fx.push(Effect::CancelReply);
                    self.reply_ended(now_ms, fx);
                    return;
                }
                for piece in self.reply.cutter.push(&text) {
                    self.speak_piece(piece, fx);
                }
            }
            ReplyEvent::Tool { name, arguments, echo } => self.tool(&name, arguments, echo, fx),
        }
    }

    pub(super) fn speak_piece(&mut self, piece: String, fx: &mut Vec<Effect>) {
        if piece.trim().is_empty() {
            return;
        }
        if self.phase == Phase::Thinking {
            self.phase = Phase::Speaking;
        }
        self.say_piece(piece, false, fx);
    }

    pub(super) fn tool(&mut self, name: &str, arguments: Value, echo: Option<Value>, fx: &mut Vec<Effect>) {
        self.reply.tools += 1;
        let result = match name {
            "collect" if self.history.collect(&arguments) => json!({ "ok": true }),
            "collect" => json!({ "error": "give `entity` and `value`, both text" }),
            "endCall" => {
                self.reply.end_call = true;
                self.reply.protected = self.rules.end_call_protected;
                if self.rules.smart_opt_out && arguments.get("reason").and_then(Value::as_str) == Some("opt_out") {
                    // At once, not after the last words: the wish holds however the call goes on.
                    fx.push(Effect::WriteOptOut);
                }
                json!({ "ok": true })
            }
            "callLater" => match arguments.get("at").and_then(Value::as_str).and_then(parse_answer) {
                Some(time) => {
                    fx.push(Effect::PlanCallBack(time));
                    json!({ "ok": true })
                }
                None => json!({ "error": "give `at`, a time within 30 days: `in ten minutes`, `tomorrow at 15:30`, or \
                                          ISO 8601" }),
            },
            "skipTurn" => {
                self.reply.rounds = MAX_TOOL_ROUNDS;
                json!({ "ok": true })
            }
            _ => json!({ "error": "not available" }),
        };
        self.history.tool(name, arguments, result, echo);
    }

    pub(super) fn reply_ended(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        if !std::mem::take(&mut self.reply.open) {
            return;
        }
        self.reply.model_failures = 0;
        let rest = self.reply.cutter.finish();
        self.speak_piece(rest, fx);
        match self.phase {
            Phase::Speaking if self.speech.is_some() => self.say_piece(String::new(), true, fx),
            // All of it was spoken, and failed, before the model came to its end.
            Phase::Speaking => self.turn_over(now_ms, fx),
            Phase::Thinking if self.reply.end_call => self.end(EndReason::Completed, fx),
            Phase::Thinking if self.reply.tools > 0 && self.reply.rounds < MAX_TOOL_ROUNDS => {
                self.reply.rounds += 1;
                self.think(now_ms, fx);
            }
            Phase::Thinking => self.listen(now_ms, fx),
            _ => {}
        }
    }

    pub(super) fn reply_failed(&mut self, error: &LanguageError, fx: &mut Vec<Effect>) {
        if !std::mem::take(&mut self.reply.open) {
            return;
        }
        fx.push(Effect::CancelReply);
        self.reply.cutter.finish();
        self.reply.model_failures += 1;
        if self.reply.model_failures >= 2 {
            self.give_up(&format!("language model: {error}"), fx);
            return;
        }
        self.reply.end_call = false;
        self.phase = Phase::Speaking;
        self.say_piece(PARDON.to_owned(), true, fx);
    }

    pub(super) fn voice_failed(&mut self, error: &SpeechError, fx: &mut Vec<Effect>) {
        self.reply.voice_failures += 1;
        let text = format!("voice: {error}");
        match &self.phase {
            Phase::Closing { reason } => {
                let reason = reason.clone();
                self.end(reason, fx);
            }
            Phase::Machine(_) => self.end(EndReason::agent(&text), fx),
            // A broken voice cannot say goodbye.
            Phase::Greeting | Phase::Speaking if self.reply.voice_failures >= 2 => {
                self.end(EndReason::agent(&text), fx);
            }
            Phase::Greeting | Phase::Speaking => {
                fx.push(Effect::CancelReply);
                self.reply.open = false;
                self.reply.cutter.finish();
                self.reply.end_call = false;
                self.phase = Phase::Speaking;
                self.say_all(PARDON, false, fx);
            }
            _ => {}
        }
    }
}
