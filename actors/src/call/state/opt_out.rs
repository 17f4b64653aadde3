//! Wish never to be called again, recognised from the user's words independently of the model.
//!
//! A clear wish takes effect at once and is confirmed in the last words. A likely one is asked about once;
//! the answer, or whatever follows instead, decides. A user who hangs up instead of answering has not wished
//! it.

use media::turn::endpointing::Utterance;

use super::{By, Effect, EndReason, Phase, State};
use crate::call::CallTimer;
use domain::opt_out::{self, Wish};

/// Longest duration of the last words in milliseconds.
const GOODBYE_MS: u64 = 8_000;

/// State of the wish.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum OptOut {
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

impl State {
    /// Handles words about never being called again. Returns true if the words need no other handling.
    pub(super) fn hears_opt_out(&mut self, utterance: &Utterance) -> bool {
        if !self.rules.smart_opt_out || self.user.opt_out == OptOut::Wished {
            return false;
        }
        let wish = opt_out::wish(&utterance.text);
        let says_yes = self.user.opt_out == OptOut::Asked && opt_out::answer(&utterance.text) == Some(true);
        match self.phase {
            _ if wish == Some(Wish::Clear) || says_yes => self.opts_out(utterance),
            Phase::Greeting | Phase::Listening | Phase::Thinking | Phase::Speaking
                if wish == Some(Wish::Likely) && self.user.opt_out == OptOut::Unheard =>
            {
                self.ask_about_opt_out(utterance);
                true
            }
            _ => false,
        }
    }

    /// Returns whether the user was asked and nothing that followed has decided the wish.
    pub(super) fn awaits_opt_out(&self) -> bool {
        self.user.opt_out == OptOut::Asked
    }

    /// Closes the question because something else is said now: the user's next words no longer answer it.
    pub(super) fn opt_out_not_answered(&mut self) {
        if self.user.opt_out == OptOut::Asked {
            self.user.opt_out = OptOut::NotSaid;
        }
    }

    /// Writes the wish at once, however the call goes on. In a conversation with the agent, returns true and ends
    /// the call with a promise.
    fn opts_out(&mut self, utterance: &Utterance) -> bool {
        let talks = self.in_conversation();
        let heard = matches!(
            self.phase,
            Phase::Closing { .. } | Phase::HangingUp { .. } | Phase::Lost(_) | Phase::Operator { .. }
        );
        if !talks && !heard {
            return false;
        }
        self.user.opt_out = OptOut::Wished;
        self.fx.push(Effect::WriteOptOut);
        if talks {
            self.keep_wish(utterance);
            self.ends(By::Agent, Some("opted_out"));
            self.fx.push(Effect::CancelTimer(CallTimer::PickUp));
            self.say_goodbye(self.rules.phrases.opted_out, EndReason::Completed, GOODBYE_MS);
        }
        talks
    }

    fn ask_about_opt_out(&mut self, utterance: &Utterance) {
        self.user.opt_out = OptOut::Asked;
        self.keep_wish(utterance);
        self.stop_reply();
        self.stop_taking_over();
        self.stop_speech();
        self.leave_listening();
        self.forget_words();
        self.reply.only_filled = false;
        self.phase = Phase::Speaking;
        self.say_all(self.rules.phrases.opt_out_meant, false);
    }

    /// Keeps the words, after the heard part of a speech that they were spoken over.
    fn keep_wish(&mut self, utterance: &Utterance) {
        match self.speech {
            Some(_) => self.user.over_speech.push(utterance.clone()),
            None => self.keep_words(utterance),
        }
    }
}
