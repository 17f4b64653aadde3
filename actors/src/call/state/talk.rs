//! The conversation: whose turn it is, what is answered, and what silence means.
//!
//! `silenceEndCallTimeout` counts silence while the user has the turn: the clock stands while the agent thinks or
//! speaks, goes on afterwards from where it stood, and is full again at the user's next sound.

use super::{Effect, EndReason, Phase, State, event_fact, leg::BARGE_IN_AFTER_MS};
use crate::{audio_stream::StreamEvent, call::CallTimer, ports::store::Fact};

/// How long a callee who spoke at once may go on before the greeting comes all the same.
const FIRST_WORDS_MS: u64 = 8_000;

/// A voice that becomes neither words nor an utterance holds the turn no longer than this.
const VOICE_HOLDS_MS: u64 = 15_000;

/// Sounds that show attention and want no answer.
const BACKCHANNELS: [&str; 12] = [
    "mm", "mmhm", "mhm", "uhhuh", "uh", "hm", "okay", "ok", "yeah", "right", "aha", "i see",
];

fn is_backchannel(text: &str) -> bool {
    let words: String = text
        .chars()
        .filter(|c| c.is_alphanumeric() || c.is_whitespace())
        .flat_map(char::to_lowercase)
        .collect();
    let words = words.trim();
    BACKCHANNELS.contains(&words) || BACKCHANNELS.contains(&words.replace(' ', "").as_str())
}

/// An utterance as the stream reports it.
pub(super) struct Utterance {
    pub(super) text: String,
    pub(super) damaged: bool,
    pub(super) started_ms: u64,
    pub(super) ended_ms: u64,
}

impl State {
    /// Whether both sides are on the line and no ending has begun.
    pub(super) fn in_conversation(&self) -> bool {
        match self.phase {
            Phase::Greeting | Phase::Listening | Phase::Thinking | Phase::Speaking => true,
            Phase::PickedUp => self.leg.stream_open,
            Phase::Scheduled { .. }
            | Phase::Dialing { .. }
            | Phase::Unknown
            | Phase::Ringing
            | Phase::Machine(_)
            | Phase::Closing { .. }
            | Phase::Lost
            | Phase::HangingUp { .. }
            | Phase::Ended => false,
        }
    }

    pub(super) fn stream_event(&mut self, event: StreamEvent, now_ms: u64, fx: &mut Vec<Effect>) {
        match event {
            StreamEvent::SpeechStarted { .. } => {
                self.user_sounds(true, now_ms, fx);
                self.voice_begins(fx);
            }
            StreamEvent::Interim { .. } => self.user_sounds(false, now_ms, fx),
            StreamEvent::UtteranceEnded {
                text,
                damaged,
                started_ms,
                ended_ms,
            } => {
                let utterance = Utterance {
                    text,
                    damaged,
                    started_ms,
                    ended_ms,
                };
                self.utterance(&utterance, now_ms, fx);
            }
            StreamEvent::SpeakingStarted { speech, at_ms } => self.speaking_started(speech, at_ms, now_ms, fx),
            StreamEvent::BargedIn { speech, heard, at_ms } => {
                if self.speech_over(speech, &heard, at_ms, true, fx) {
                    self.barged_in(at_ms, now_ms, fx);
                }
            }
            StreamEvent::SpeakingEnded { speech, heard, at_ms } => {
                if self.speech_over(speech, &heard, at_ms, false, fx) {
                    self.speech_finished(!heard.trim().is_empty(), now_ms, fx);
                }
            }
            StreamEvent::SpeechFailed { speech, error } => {
                if let Some(failed) = self.speech.take_if(|present| present.id == speech) {
                    // What was heard of it is reported after this.
                    self.replaced = Some(failed);
                    self.voice_failed(&error, fx);
                }
            }
            StreamEvent::BeepEnded { at_ms } => self.beep(at_ms, fx),
            StreamEvent::Amd(finding) => self.who_answered(finding, now_ms, fx),
            StreamEvent::Digit(_) => self.user_sounds(false, now_ms, fx),
            StreamEvent::DeafnessBegan(error) => {
                fx.push(event_fact("deafness", self.elapsed_ms(now_ms), "{}"));
                self.give_up(&format!("speech recogniser: {error}"), fx);
            }
            StreamEvent::MediaClosed { clean } => self.media_closed(clean, fx),
        }
    }

    /// The user's voice: silence starts afresh, but a noise that never becomes words holds nothing for good.
    fn user_sounds(&mut self, begins: bool, now_ms: u64, fx: &mut Vec<Effect>) {
        self.user.speaking |= begins;
        self.user.silence_left_ms = self.rules.silence_end_ms.unwrap_or(0);
        if self.phase == Phase::Listening {
            if let Some(ms) = self.rules.turn_timeout_ms {
                fx.push(Effect::SetTimer(CallTimer::Turn, ms.max(VOICE_HOLDS_MS)));
            }
            if let Some(ms) = self.rules.silence_end_ms {
                self.user.silence_since_ms = Some(now_ms);
                fx.push(Effect::SetTimer(CallTimer::Silence, ms.max(VOICE_HOLDS_MS)));
            }
        }
    }

    /// The user has the turn.
    pub(super) fn listen(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        self.phase = Phase::Listening;
        self.reply.rounds = 0;
        if let Some(ms) = self.rules.turn_timeout_ms {
            fx.push(Effect::SetTimer(CallTimer::Turn, ms));
        }
        if self.rules.silence_end_ms.is_some() {
            self.user.silence_since_ms = Some(now_ms);
            fx.push(Effect::SetTimer(CallTimer::Silence, self.user.silence_left_ms));
        }
    }

    /// The user no longer has the turn: his timers stand.
    pub(super) fn leave_listening_timers(&mut self, fx: &mut Vec<Effect>) {
        self.user.silence_since_ms = None;
        fx.push(Effect::CancelTimer(CallTimer::Turn));
        fx.push(Effect::CancelTimer(CallTimer::Silence));
    }

    pub(super) fn leave_listening(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        if let Some(since) = self.user.silence_since_ms {
            let passed = now_ms.saturating_sub(since);
            self.user.silence_left_ms = self.user.silence_left_ms.saturating_sub(passed);
        }
        self.leave_listening_timers(fx);
    }

    fn utterance(&mut self, utterance: &Utterance, now_ms: u64, fx: &mut Vec<Effect>) {
        self.user_sounds(false, now_ms, fx);
        self.user.speaking = false;
        let wordless = utterance.text.trim().is_empty();
        if !wordless {
            self.keep_words(utterance, fx);
        }
        match self.phase {
            Phase::PickedUp => self.first_words_over(wordless, now_ms, fx),
            // A cough or a click: nobody spoke.
            Phase::Listening if wordless && !utterance.damaged => self.listen(now_ms, fx),
            Phase::Listening if wordless => self.wordless(utterance, now_ms, fx),
            Phase::Listening | Phase::Thinking => self.answer_unless_empty(wordless, now_ms, fx),
            Phase::Greeting | Phase::Speaking => {
                // Words spoken over the pick-up belong to it; a sound of attention wants no answer.
                let opening = utterance.started_ms < BARGE_IN_AFTER_MS;
                self.user.unanswered |= !wordless && !opening && !is_backchannel(&utterance.text);
            }
            Phase::Scheduled { .. }
            | Phase::Dialing { .. }
            | Phase::Unknown
            | Phase::Ringing
            | Phase::Closing { .. }
            | Phase::Lost
            | Phase::HangingUp { .. }
            | Phase::Ended => {}
            Phase::Machine(machine) => self.machine_said(machine, utterance, now_ms, fx),
        }
    }

    fn keep_words(&mut self, utterance: &Utterance, fx: &mut Vec<Effect>) {
        self.user.was_wordless = false;
        self.user.words_ended_ms = Some(utterance.ended_ms);
        let span = self.span(utterance.started_ms, utterance.ended_ms);
        let turn = self.history.user_said(&utterance.text, span, utterance.damaged);
        fx.push(Effect::Record(Fact::Turn(turn)));
    }

    /// There was voice, but no word was understood: asked back once, then ignored.
    fn wordless(&mut self, utterance: &Utterance, now_ms: u64, fx: &mut Vec<Effect>) {
        if std::mem::replace(&mut self.user.was_wordless, true) {
            self.listen(now_ms, fx);
            return;
        }
        let span = self.span(utterance.started_ms, utterance.ended_ms);
        let turn = self.history.user_said("", span, true);
        fx.push(Effect::Record(Fact::Turn(turn)));
        self.think(now_ms, fx);
    }

    fn answer_unless_empty(&mut self, wordless: bool, now_ms: u64, fx: &mut Vec<Effect>) {
        if !wordless {
            self.reply.rounds = 0;
            self.think(now_ms, fx);
        }
    }

    /// The callee said something, or made a noise, before the greeting.
    fn first_words_over(&mut self, wordless: bool, now_ms: u64, fx: &mut Vec<Effect>) {
        fx.push(Effect::CancelTimer(CallTimer::PickUp));
        if self.rules.greeting.is_none() && !wordless {
            self.think(now_ms, fx);
        } else {
            self.greet(now_ms, fx);
        }
    }

    pub(super) fn pick_up_silence(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        if self.phase != Phase::PickedUp || !self.leg.stream_open {
            return;
        }
        if std::mem::take(&mut self.user.speaking) {
            fx.push(Effect::SetTimer(CallTimer::PickUp, FIRST_WORDS_MS));
        } else {
            self.greet(now_ms, fx);
        }
    }

    pub(super) fn greet(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        match self.rules.greeting.clone() {
            Some(greeting) => {
                self.phase = Phase::Greeting;
                self.say_all(&greeting, self.rules.greeting_protected, fx);
            }
            None => self.listen(now_ms, fx),
        }
    }

    pub(super) fn barge_in_allowed(&self, fx: &mut Vec<Effect>) {
        if self.leg.stream_open {
            fx.push(Effect::AllowBargeIn(true));
        }
    }

    fn barged_in(&mut self, at_ms: u64, now_ms: u64, fx: &mut Vec<Effect>) {
        fx.push(event_fact("barge_in", self.call_ms(at_ms), "{}"));
        if matches!(self.phase, Phase::Greeting | Phase::Speaking) {
            fx.push(Effect::CancelReply);
            self.reply.open = false;
            self.reply.cutter.finish();
            self.reply.end_call = false;
            self.listen(now_ms, fx);
            self.user_sounds(true, now_ms, fx);
        }
    }

    /// The present speech is over.
    fn speech_finished(&mut self, heard: bool, now_ms: u64, fx: &mut Vec<Effect>) {
        if heard {
            self.reply.voice_failures = 0;
        }
        match &self.phase {
            Phase::Closing { reason } => {
                let reason = reason.clone();
                self.end(reason, fx);
            }
            Phase::Machine(machine) => self.said_to_machine(*machine, fx),
            // The model is not done: what it still says is a new speech.
            Phase::Speaking if self.reply.open => {}
            Phase::Greeting | Phase::Speaking => self.turn_over(now_ms, fx),
            _ => {}
        }
    }

    pub(super) fn turn_over(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        if std::mem::take(&mut self.reply.end_call) {
            self.end(EndReason::Completed, fx);
        } else if self.user.unanswered {
            self.think(now_ms, fx);
        } else {
            self.listen(now_ms, fx);
        }
    }

    pub(super) fn turn_timeout(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        if self.phase != Phase::Listening {
            return;
        }
        let silent_ms = self.user.silence_since_ms.map(|since| now_ms.saturating_sub(since));
        if silent_ms.is_some_and(|ms| ms >= self.user.silence_left_ms) {
            // Due at the same moment: the agent does not speak up only to hang up at once.
            self.silence_timeout(fx);
        } else {
            self.user.speaking = false;
            self.history.silence();
            self.think(now_ms, fx);
        }
    }

    pub(super) fn silence_timeout(&mut self, fx: &mut Vec<Effect>) {
        if self.phase == Phase::Listening {
            self.end(EndReason::Completed, fx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sounds_of_attention_want_no_answer() {
        for text in ["Mm-hm.", "okay", "Uh huh", "I see."] {
            assert!(is_backchannel(text), "{text}");
        }
        for text in ["", "no", "okay but wait", "yes please"] {
            assert!(!is_backchannel(text), "{text}");
        }
    }
}
