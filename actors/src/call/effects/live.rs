//! Clients' commands to a live call, and its state for readers.

use super::EffectHandler;
use crate::call::{CallCommand, CallSnapshot, CommandAnswer, CommandKind, state::Event};
use domain::ports::carrier::TransferKind;

impl EffectHandler {
    /// Carries out a client's command, or refuses it.
    pub(super) async fn command(&mut self, command: Box<CallCommand>) -> CommandAnswer {
        match self.refusal(&command.kind) {
            Some(why) => CommandAnswer::Refused(why),
            None => {
                self.apply(Event::Commanded(command)).await;
                CommandAnswer::Done
            }
        }
    }

    /// Returns the state of the call at this moment.
    pub(super) fn snapshot(&self) -> Option<CallSnapshot> {
        let machine = self.machine.as_ref()?;
        Some(CallSnapshot {
            phase: machine.phase(),
            turns: machine.history().turns(),
            operator: machine.operator().map(str::to_owned),
            is_text: self.plan.is_text,
        })
    }

    fn refusal(&self, wanted: &CommandKind) -> Option<String> {
        let carrier = &self.plan.carrier;
        let cannot = |what: &str| Some(format!("the carrier `{}` cannot {what}", carrier.name()));
        if let Some(why) = self.machine.as_ref()?.refusal(wanted) {
            return Some(why);
        }
        match wanted.transfer_kind() {
            Some(_) if !carrier.transfers() => cannot("transfer calls"),
            None if matches!(wanted, CommandKind::Text { .. }) && !self.plan.is_text => {
                Some("the call is not a test call with `mode` `text`".to_owned())
            }
            Some(TransferKind::SipRefer) if !carrier.abilities().refer => {
                cannot("transfer calls with `transferType` `sip_refer`")
            }
            _ => None,
        }
    }
}
