//! Reacts to the verdict on who answered. A person is never hung up on: only a machine's verdict ends the
//! call, and a person's verdict revokes it.

use media::{
    amd::{Finding, Reason, Verdict},
    turn::endpointing::Utterance,
};
use serde_json::json;

use crate::call::state::{
    Effect, Machine, Phase, State, disclosing, ending, menu, menu::MENU_MS, menu::SCREENING_MS, opt_out, talk,
    voicemail, walking,
};
use crate::call::{CallTimer, EndReason};
use domain::ports::carrier::MachineVerdict;

pub fn on_finding(call: &mut State, finding: Finding) {
    if call.leg.inbound {
        // In an inbound call we reached nobody who could be a machine.
        return;
    }
    let machine = match call.phase {
        Phase::Machine(machine) => Some(machine),
        // A rejoined stream searches too, but who answered is known by then.
        _ if talk::in_conversation(call) && !call.leg.rejoined => None,
        _ => return,
    };
    let Finding { verdict, reason, at_ms } = finding;
    let at_ms = call.call_ms(at_ms);
    let detail = json!({ "verdict": verdict.as_str(), "reason": reason.as_str(), "atMs": at_ms });
    call.record_at("amd", at_ms, &detail);
    match verdict {
        Verdict::Human => match machine {
            // An assistant sounds like a person; its words are judged one by one.
            None | Some(Machine::Screening { .. } | Machine::Pressed { .. }) => {}
            Some(Machine::Beep | Machine::Message { .. }) if carrier_found_machine(call) => {}
            Some(Machine::Beep | Machine::Message { .. } | Machine::Menu) => person_came(call),
        },
        Verdict::Unknown => {}
        Verdict::Voicemail | Verdict::Unavailable if call.answerer.carrier_said == Some(MachineVerdict::Human) => {}
        Verdict::Voicemail => voicemail::mailbox_answered(call, true),
        Verdict::Unavailable => {
            // A callee who may be reachable another time counts as a mailbox, so that follow-ups call again; a number
            // that does not exist does not.
            call.answerer.voicemail = matches!(reason, Reason::MailboxFull | Reason::NotReachable);
            fall_silent(call);
            ending::end(call, EndReason::Completed);
        }
        Verdict::Ivr if reason == Reason::Screening => menu::assistant_answered(call),
        Verdict::Ivr => menu::menu_answered(call),
    }
}

/// Handles the carrier's verdict on who answered, which may come before anything is heard.
pub fn carrier_found(call: &mut State, verdict: MachineVerdict) {
    // A caller is a person, or hangs up by itself.
    if call.leg.inbound || call.answerer.carrier_said == Some(verdict) {
        return;
    }
    call.answerer.carrier_said = Some(verdict);
    call.answerer.carrier_due = false;
    if matches!(call.phase, Phase::Machine(_)) || talk::in_conversation(call) {
        take_carriers_word(call, verdict);
    } else {
        call.answerer.carrier_due = matches!(call.phase, Phase::Lost(_));
    }
}

fn carrier_found_machine(call: &State) -> bool {
    matches!(
        call.answerer.carrier_said,
        Some(MachineVerdict::Machine | MachineVerdict::Beep)
    )
}

/// Applies the carrier's verdict, which outranks ours. Menus, assistants and beeps, which only we detect,
/// still count.
pub fn take_carriers_word(call: &mut State, verdict: MachineVerdict) {
    let told = match verdict {
        MachineVerdict::Human => Verdict::Human,
        MachineVerdict::Machine | MachineVerdict::Beep => Verdict::Voicemail,
        MachineVerdict::Fax => Verdict::Unavailable,
    };
    let at_ms = call.elapsed_ms(call.now_ms);
    let detail = json!({ "verdict": told.as_str(), "reason": "carrier", "atMs": at_ms });
    call.record_at("amd", at_ms, &detail);
    let machine = match call.phase {
        Phase::Machine(machine) => Some(machine),
        _ => None,
    };
    match (verdict, machine) {
        (MachineVerdict::Human, Some(Machine::Beep | Machine::Message { .. })) => person_came(call),
        (MachineVerdict::Human, _) => {}
        (MachineVerdict::Fax, _) => {
            fall_silent(call);
            ending::end(call, EndReason::Completed);
        }
        (MachineVerdict::Machine, None) => voicemail::mailbox_answered(call, false),
        (MachineVerdict::Beep, None) => {
            call.answerer.beep_heard = true;
            voicemail::mailbox_answered(call, true);
        }
        (MachineVerdict::Beep, Some(Machine::Beep | Machine::Message { beeped: false })) => {
            voicemail::leave_message(call, true);
        }
        (MachineVerdict::Machine | MachineVerdict::Beep, Some(_)) => {}
    }
}

/// Continues after the media came back with a machine on the line. A message that was cut is said again.
pub fn machine_is_back(call: &mut State, machine: Machine) {
    let waits_ms = match machine {
        Machine::Message { beeped } => return voicemail::leave_message(call, beeped),
        Machine::Beep => return voicemail::mailbox_answered(call, false),
        Machine::Menu => MENU_MS,
        Machine::Pressed { .. } | Machine::Screening { .. } => SCREENING_MS,
    };
    call.phase = Phase::Machine(match machine {
        Machine::Screening { told, .. } => Machine::Screening { told, since_ms: 0 },
        Machine::Pressed { .. } => Machine::Pressed { since_ms: 0 },
        other => other,
    });
    call.set_timer(CallTimer::Machine, waits_ms);
    if machine != Machine::Menu {
        menu::wait_to_be_connected(call);
    }
}

/// Starts the conversation anew because a person took over from a machine.
pub fn person_came(call: &mut State) {
    call.answerer.voicemail = false;
    call.answerer.beep_heard = false;
    leave_machine(call);
    opt_out::opt_out_not_answered(call);
    disclosing::disclose_anew(call);
    talk::greet(call);
}

/// Handles the start of the user's voice: a beep before it was not a mailbox's, and the machine is not silent.
pub fn voice_begins(call: &mut State) {
    match call.phase {
        Phase::Machine(Machine::Beep | Machine::Screening { .. } | Machine::Pressed { .. }) => {
            call.answerer.beep_heard = false;
            call.stop_timer(CallTimer::Quiet);
        }
        Phase::Machine(Machine::Message { .. } | Machine::Menu) => {}
        _ => call.answerer.beep_heard = false,
    }
}

/// Handles an utterance while a machine is on the line.
pub fn machine_said(call: &mut State, machine: Machine, utterance: &Utterance) {
    match machine {
        Machine::Beep => voicemail::greeting_paused(call, utterance.ended_ms),
        Machine::Screening { told, since_ms } => {
            if utterance.started_ms >= since_ms {
                menu::assistant_said(call, &utterance.text, told);
            }
        }
        Machine::Pressed { since_ms } => menu::said_after_key(call, utterance, since_ms),
        Machine::Menu => menu::menu_said(call, &utterance.text),
        Machine::Message { .. } => {}
    }
}

/// Handles the end of what the agent said to a machine.
pub fn said_to_machine(call: &mut State, machine: Machine) {
    match machine {
        Machine::Message { .. } => ending::end(call, EndReason::Completed),
        Machine::Screening { .. } => menu::wait_to_be_connected(call),
        Machine::Beep | Machine::Menu | Machine::Pressed { .. } => {}
    }
}

/// Handles a machine that was silent for long enough.
pub fn machine_is_quiet(call: &mut State) {
    match call.phase {
        Phase::Machine(Machine::Beep) => voicemail::leave_message(call, false),
        Phase::Machine(Machine::Screening { .. } | Machine::Pressed { .. }) => person_came(call),
        _ => {}
    }
}

/// Handles a machine whose time is up.
pub fn machine_had_its_time(call: &mut State) {
    match call.phase {
        Phase::Machine(Machine::Beep) => voicemail::leave_message(call, false),
        Phase::Machine(Machine::Menu | Machine::Pressed { .. } | Machine::Screening { .. }) => {
            ending::end(call, EndReason::Completed);
        }
        _ => {}
    }
}

/// Drops what the agent says or is about to say, since it does not talk with machines.
pub fn fall_silent(call: &mut State) {
    ending::drop_reply(call);
    call.reply.end_call = false;
    call.reply.transfer = None;
    walking::forget_words(call);
    talk::leave_listening_timers(call);
    call.stop_timer(CallTimer::PickUp);
    leave_machine(call);
}

fn leave_machine(call: &mut State) {
    call.stop_timer(CallTimer::Machine);
    call.stop_timer(CallTimer::Quiet);
    if call.speech.is_some() {
        // Its report must not be taken for that of the next speech.
        call.fx.push(Effect::StopSpeaking);
        call.replaced = call.speech.take();
    }
}
