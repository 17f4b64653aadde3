//! A wish never to be called again, heard by its words beside what the model makes of it.
//!
//! A clear wish holds at once, and is confirmed by the last words; a likely one is asked about, once. The answer, or
//! whatever else follows, decides. Who hangs up instead of answering has not wished it.

use media::turn::endpointing::Utterance;

use super::{Effect, EndReason, Phase, State};
use crate::call::CallTimer;
use domain::opt_out::{self, Wish};

/// How long the last words may take.
const GOODBYE_MS: u64 = 8_000;

/// Where the wish stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum OptOut {
    /// None was heard.
    #[default]
    Unheard,
    /// They were asked whether they wish it.
    Asked,
    /// They were asked, and did not say yes: they are not asked again.
    NotSaid,
    /// They wish it.
    Wished,
}

impl State {
    /// Takes words that are about never being called again. True when nothing else is to be made of them.
    pub(super) fn hears_opt_out(&mut self, utterance: &Utterance, now_ms: u64, fx: &mut Vec<Effect>) -> bool {
        if !self.rules.smart_opt_out || self.user.opt_out == OptOut::Wished {
            return false;
        }
        let wish = opt_out::wish(&utterance.text);
        let says_yes = self.user.opt_out == OptOut::Asked && opt_out::answer(&utterance.text) == Some(true);
        match self.phase {
            _ if wish == Some(Wish::Clear) || says_yes => self.opts_out(utterance, fx),
            Phase::Greeting | Phase::Listening | Phase::Thinking | Phase::Speaking
                if wish == Some(Wish::Likely) && self.user.opt_out == OptOut::Unheard =>
            {
                self.ask_about_opt_out(utterance, now_ms, fx);
                true
            }
            _ => false,
        }
    }

    /// Whether they were asked, and nothing that followed has decided it.
    pub(super) fn awaits_opt_out(&self) -> bool {
        self.user.opt_out == OptOut::Asked
    }

    /// Something else is said now: what the user says next is no answer to the question any more.
    pub(super) fn opt_out_not_answered(&mut self) {
        if self.user.opt_out == OptOut::Asked {
            self.user.opt_out = OptOut::NotSaid;
        }
    }

    /// The wish is written at once, however the call goes on, and while both are on the line it ends with a promise.
    fn opts_out(&mut self, utterance: &Utterance, fx: &mut Vec<Effect>) -> bool {
        let talks = self.in_conversation();
        let over = matches!(
            self.phase,
            Phase::Closing { .. } | Phase::HangingUp { .. } | Phase::Lost(_)
        );
        if !talks && !over {
            return false;
        }
        self.user.opt_out = OptOut::Wished;
        fx.push(Effect::WriteOptOut);
        if talks {
            self.keep_wish(utterance, fx);
            fx.push(Effect::CancelTimer(CallTimer::PickUp));
            self.say_goodbye(self.rules.phrases.opted_out, EndReason::Completed, GOODBYE_MS, fx);
        }
        talks
    }

    fn ask_about_opt_out(&mut self, utterance: &Utterance, now_ms: u64, fx: &mut Vec<Effect>) {
        self.user.opt_out = OptOut::Asked;
        self.keep_wish(utterance, fx);
        self.drop_reply(fx);
        self.stop_taking_over();
        fx.push(Effect::CancelTimer(CallTimer::Filler));
        if self.speech.is_some() {
            fx.push(Effect::StopSpeaking);
        }
        self.leave_listening(now_ms, fx);
        self.user.unanswered = false;
        self.reply.cutter.finish();
        self.reply.end_call = false;
        self.reply.transfer = None;
        self.reply.only_filled = false;
        self.phase = Phase::Speaking;
        self.say_all(self.rules.phrases.opt_out_meant, false, fx);
    }

    /// Keeps the words, behind what was heard of a speech that they were spoken over.
    fn keep_wish(&mut self, utterance: &Utterance, fx: &mut Vec<Effect>) {
        match self.speech {
            Some(_) => self.user.over_speech.push(utterance.clone()),
            None => self.keep_words(utterance, fx),
        }
    }
}
