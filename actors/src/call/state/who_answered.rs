//! What the call does with the verdict on who answered. A person is never hung up on: only a machine's verdict ends
//! anything, and a person's takes it back.

use media::amd::{Finding, Reason, Verdict};
use serde_json::json;

use super::{Effect, EndReason, Phase, State, event_fact, talk::Utterance};
use crate::call::CallTimer;

/// How long a menu may talk before the call ends. Nothing is said to it, so no person is kept from coming on.
const MENU_MS: u64 = 20_000;

/// A machine on the line, and what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Machine {
    /// A mailbox greets: its beep is waited for.
    Beep,
    /// The message plays; whether it began after a beep.
    Message { beeped: bool },
    /// A menu talks.
    Menu,
    /// An assistant asks who calls; how often it was told, and when last, in the stream's time.
    Screening { told: u8, since_ms: u64 },
}

impl State {
    pub(super) fn who_answered(&mut self, finding: Finding, now_ms: u64, fx: &mut Vec<Effect>) {
        if self.leg.inbound {
            // Nobody was reached by us who could be a machine.
            return;
        }
        let machine = match self.phase {
            Phase::Machine(machine) => Some(machine),
            _ if self.in_conversation() => None,
            _ => return,
        };
        let Finding { verdict, reason, at_ms } = finding;
        let at_ms = self.call_ms(at_ms);
        let detail = json!({ "verdict": verdict.as_str(), "reason": reason.as_str(), "atMs": at_ms });
        fx.push(event_fact("amd", at_ms, &detail.to_string()));
        match verdict {
            Verdict::Human => match machine {
                // What an assistant says sounds like a person; its words are judged one by one.
                None | Some(Machine::Screening { .. }) => {}
                Some(Machine::Beep | Machine::Message { .. } | Machine::Menu) => self.person_came(now_ms, fx),
            },
            Verdict::Unknown => {}
            Verdict::Voicemail => self.mailbox_answered(fx),
            Verdict::Unavailable => self.announcement_answered(reason, fx),
            Verdict::Ivr if reason == Reason::Screening => self.assistant_answered(now_ms, fx),
            Verdict::Ivr => self.menu_answered(fx),
        }
    }

    /// A person took over from a machine: the conversation begins anew.
    pub(super) fn person_came(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        self.voicemail = false;
        self.user.beep_heard = false;
        self.leave_machine(fx);
        self.greet(now_ms, fx);
    }

    /// The user's voice begins: no beep before it was a mailbox's, and no machine is silent.
    pub(super) fn voice_begins(&mut self, fx: &mut Vec<Effect>) {
        match self.phase {
            Phase::Machine(Machine::Beep | Machine::Screening { .. }) => {
                self.user.beep_heard = false;
                fx.push(Effect::CancelTimer(CallTimer::Quiet));
            }
            Phase::Machine(Machine::Message { .. } | Machine::Menu) => {}
            _ => self.user.beep_heard = false,
        }
    }

    /// An utterance while a machine is on the line.
    pub(super) fn machine_said(&mut self, machine: Machine, utterance: &Utterance, now_ms: u64, fx: &mut Vec<Effect>) {
        match machine {
            Machine::Beep => self.greeting_paused(utterance.ended_ms, now_ms, fx),
            Machine::Screening { told, since_ms } => {
                if utterance.started_ms >= since_ms {
                    self.assistant_said(&utterance.text, told, now_ms, fx);
                }
            }
            Machine::Message { .. } | Machine::Menu => {}
        }
    }

    /// What the agent said to a machine is over.
    pub(super) fn said_to_machine(&mut self, machine: Machine, fx: &mut Vec<Effect>) {
        match machine {
            Machine::Message { .. } => self.end(EndReason::Completed, fx),
            Machine::Screening { .. } => self.wait_to_be_connected(fx),
            Machine::Beep | Machine::Menu => {}
        }
    }

    /// A machine was silent for long enough.
    pub(super) fn machine_is_quiet(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        match self.phase {
            Phase::Machine(Machine::Beep) => self.leave_message(false, fx),
            Phase::Machine(Machine::Screening { .. }) => self.person_came(now_ms, fx),
            _ => {}
        }
    }

    /// A machine was given enough time.
    pub(super) fn machine_had_its_time(&mut self, fx: &mut Vec<Effect>) {
        match self.phase {
            Phase::Machine(Machine::Beep) => self.leave_message(false, fx),
            Phase::Machine(Machine::Menu | Machine::Screening { .. }) => self.end(EndReason::Completed, fx),
            _ => {}
        }
    }

    /// No conversation with a machine: what the agent says or is about to say is dropped.
    pub(super) fn fall_silent(&mut self, fx: &mut Vec<Effect>) {
        self.drop_reply(fx);
        self.reply.end_call = false;
        self.user.unanswered = false;
        self.leave_listening_timers(fx);
        fx.push(Effect::CancelTimer(CallTimer::PickUp));
        self.leave_machine(fx);
    }

    fn leave_machine(&mut self, fx: &mut Vec<Effect>) {
        fx.push(Effect::CancelTimer(CallTimer::Machine));
        fx.push(Effect::CancelTimer(CallTimer::Quiet));
        if self.speech.is_some() {
            // Its report must not be taken for that of the next one.
            fx.push(Effect::StopSpeaking);
            self.replaced = self.speech.take();
        }
    }

    /// Nobody can be reached and nothing can be left. A callee who may be reached another time counts as a mailbox,
    /// so that follow-ups call again; a number that does not exist does not.
    fn announcement_answered(&mut self, reason: Reason, fx: &mut Vec<Effect>) {
        self.voicemail = matches!(reason, Reason::MailboxFull | Reason::NotReachable);
        self.fall_silent(fx);
        self.end(EndReason::Completed, fx);
    }

    /// Nothing is pressed or said: a choice made for the callee could order, cancel or pay something.
    fn menu_answered(&mut self, fx: &mut Vec<Effect>) {
        self.fall_silent(fx);
        self.phase = Phase::Machine(Machine::Menu);
        fx.push(Effect::SetTimer(CallTimer::Machine, MENU_MS));
    }
}
