//! Reacts to the verdict on who answered. A person is never hung up on: only a machine's verdict ends the
//! call, and a person's verdict revokes it.

use media::{
    amd::{Finding, Reason, Verdict},
    turn::endpointing::Utterance,
};
use serde_json::json;

use super::{Effect, EndReason, MachineVerdict, Phase, State, menu::MENU_MS, screening::SCREENING_MS};
use crate::call::CallTimer;

/// The machine on the line, and what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Machine {
    /// A mailbox greets; the call waits for its beep.
    Beep,
    /// The message plays. Tells whether it began after a beep.
    Message { beeped: bool },
    /// A menu talks.
    Menu,
    /// The menu's key to a person was pressed at `since_ms`, in the stream's time.
    Pressed { since_ms: u64 },
    /// An assistant asks who calls. `told` counts the introductions, `since_ms` is the stream's time of the last one.
    Screening { told: u8, since_ms: u64 },
}

impl State {
    pub(super) fn who_answered(&mut self, finding: Finding) {
        if self.leg.inbound {
            // In an inbound call we reached nobody who could be a machine.
            return;
        }
        let machine = match self.phase {
            Phase::Machine(machine) => Some(machine),
            // A rejoined stream searches too, but who answered is known by then.
            _ if self.in_conversation() && !self.leg.rejoined => None,
            _ => return,
        };
        let Finding { verdict, reason, at_ms } = finding;
        let at_ms = self.call_ms(at_ms);
        let detail = json!({ "verdict": verdict.as_str(), "reason": reason.as_str(), "atMs": at_ms });
        self.record_at("amd", at_ms, &detail);
        match verdict {
            Verdict::Human => match machine {
                // An assistant sounds like a person; its words are judged one by one.
                None | Some(Machine::Screening { .. } | Machine::Pressed { .. }) => {}
                Some(Machine::Beep | Machine::Message { .. }) if self.carrier_found_machine() => {}
                Some(Machine::Beep | Machine::Message { .. } | Machine::Menu) => self.person_came(),
            },
            Verdict::Unknown => {}
            Verdict::Voicemail | Verdict::Unavailable if self.carrier_said == Some(MachineVerdict::Human) => {}
            Verdict::Voicemail => self.mailbox_answered(true),
            Verdict::Unavailable => self.announcement_answered(reason),
            Verdict::Ivr if reason == Reason::Screening => self.assistant_answered(),
            Verdict::Ivr => self.menu_answered(),
        }
    }

    /// Handles the carrier's verdict on who answered, which may come before anything is heard.
    pub(super) fn carrier_found(&mut self, verdict: MachineVerdict) {
        // A caller is a person, or hangs up by itself.
        if self.leg.inbound || self.carrier_said == Some(verdict) {
            return;
        }
        self.carrier_said = Some(verdict);
        self.carrier_due = false;
        if matches!(self.phase, Phase::Machine(_)) || self.in_conversation() {
            self.take_carriers_word(verdict);
        } else {
            self.carrier_due = matches!(self.phase, Phase::Lost(_));
        }
    }

    fn carrier_found_machine(&self) -> bool {
        matches!(self.carrier_said, Some(MachineVerdict::Machine | MachineVerdict::Beep))
    }

    /// Applies the carrier's verdict, which outranks ours. Menus, assistants and beeps, which only we detect,
    /// still count.
    pub(super) fn take_carriers_word(&mut self, verdict: MachineVerdict) {
        let told = match verdict {
            MachineVerdict::Human => Verdict::Human,
            MachineVerdict::Machine | MachineVerdict::Beep => Verdict::Voicemail,
            MachineVerdict::Fax => Verdict::Unavailable,
        };
        let at_ms = self.elapsed_ms(self.now_ms);
        let detail = json!({ "verdict": told.as_str(), "reason": "carrier", "atMs": at_ms });
        self.record_at("amd", at_ms, &detail);
        let machine = match self.phase {
            Phase::Machine(machine) => Some(machine),
            _ => None,
        };
        match (verdict, machine) {
            (MachineVerdict::Human, Some(Machine::Beep | Machine::Message { .. })) => self.person_came(),
            (MachineVerdict::Human, _) => {}
            (MachineVerdict::Fax, _) => {
                self.fall_silent();
                self.end(EndReason::Completed);
            }
            (MachineVerdict::Machine, None) => self.mailbox_answered(false),
            (MachineVerdict::Beep, None) => {
                self.user.beep_heard = true;
                self.mailbox_answered(true);
            }
            (MachineVerdict::Beep, Some(Machine::Beep | Machine::Message { beeped: false })) => {
                self.leave_message(true);
            }
            (MachineVerdict::Machine | MachineVerdict::Beep, Some(_)) => {}
        }
    }

    /// Continues after the media came back with a machine on the line. A message that was cut is said again.
    pub(super) fn machine_is_back(&mut self, machine: Machine) {
        let waits_ms = match machine {
            Machine::Message { beeped } => return self.leave_message(beeped),
            Machine::Beep => return self.mailbox_answered(false),
            Machine::Menu => MENU_MS,
            Machine::Pressed { .. } | Machine::Screening { .. } => SCREENING_MS,
        };
        self.phase = Phase::Machine(match machine {
            Machine::Screening { told, .. } => Machine::Screening { told, since_ms: 0 },
            Machine::Pressed { .. } => Machine::Pressed { since_ms: 0 },
            other => other,
        });
        self.fx.push(Effect::SetTimer(CallTimer::Machine, waits_ms));
        if machine != Machine::Menu {
            self.wait_to_be_connected();
        }
    }

    /// Starts the conversation anew because a person took over from a machine.
    pub(super) fn person_came(&mut self) {
        self.voicemail = false;
        self.user.beep_heard = false;
        self.leave_machine();
        self.opt_out_not_answered();
        self.disclose_anew();
        self.greet();
    }

    /// Handles the start of the user's voice: a beep before it was not a mailbox's, and the machine is not silent.
    pub(super) fn voice_begins(&mut self) {
        match self.phase {
            Phase::Machine(Machine::Beep | Machine::Screening { .. } | Machine::Pressed { .. }) => {
                self.user.beep_heard = false;
                self.fx.push(Effect::CancelTimer(CallTimer::Quiet));
            }
            Phase::Machine(Machine::Message { .. } | Machine::Menu) => {}
            _ => self.user.beep_heard = false,
        }
    }

    /// Handles an utterance while a machine is on the line.
    pub(super) fn machine_said(&mut self, machine: Machine, utterance: &Utterance) {
        match machine {
            Machine::Beep => self.greeting_paused(utterance.ended_ms),
            Machine::Screening { told, since_ms } => {
                if utterance.started_ms >= since_ms {
                    self.assistant_said(&utterance.text, told);
                }
            }
            Machine::Pressed { since_ms } => self.said_after_key(utterance, since_ms),
            Machine::Menu => self.menu_said(&utterance.text),
            Machine::Message { .. } => {}
        }
    }

    /// Handles the end of what the agent said to a machine.
    pub(super) fn said_to_machine(&mut self, machine: Machine) {
        match machine {
            Machine::Message { .. } => self.end(EndReason::Completed),
            Machine::Screening { .. } => self.wait_to_be_connected(),
            Machine::Beep | Machine::Menu | Machine::Pressed { .. } => {}
        }
    }

    /// Handles a machine that was silent for long enough.
    pub(super) fn machine_is_quiet(&mut self) {
        match self.phase {
            Phase::Machine(Machine::Beep) => self.leave_message(false),
            Phase::Machine(Machine::Screening { .. } | Machine::Pressed { .. }) => self.person_came(),
            _ => {}
        }
    }

    /// Handles a machine whose time is up.
    pub(super) fn machine_had_its_time(&mut self) {
        match self.phase {
            Phase::Machine(Machine::Beep) => self.leave_message(false),
            Phase::Machine(Machine::Menu | Machine::Pressed { .. } | Machine::Screening { .. }) => {
                self.end(EndReason::Completed);
            }
            _ => {}
        }
    }

    /// Drops what the agent says or is about to say, since it does not talk with machines.
    pub(super) fn fall_silent(&mut self) {
        self.drop_reply();
        self.reply.end_call = false;
        self.reply.transfer = None;
        self.forget_words();
        self.leave_listening_timers();
        self.fx.push(Effect::CancelTimer(CallTimer::PickUp));
        self.leave_machine();
    }

    fn leave_machine(&mut self) {
        self.fx.push(Effect::CancelTimer(CallTimer::Machine));
        self.fx.push(Effect::CancelTimer(CallTimer::Quiet));
        if self.speech.is_some() {
            // Its report must not be taken for that of the next speech.
            self.fx.push(Effect::StopSpeaking);
            self.replaced = self.speech.take();
        }
    }

    /// Ends the call because nobody can be reached and no message can be left. A callee who may be reachable
    /// another time counts as a mailbox, so that follow-ups call again; a number that does not exist does
    /// not.
    fn announcement_answered(&mut self, reason: Reason) {
        self.voicemail = matches!(reason, Reason::MailboxFull | Reason::NotReachable);
        self.fall_silent();
        self.end(EndReason::Completed);
    }
}
