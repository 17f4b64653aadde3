//! What a call does about its leg: permit, dial, look-up, hang-up.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::time::Instant;

use super::Performer;
use crate::{
    call::{
        tasks::{self, LegSearch},
        writer::Write,
    },
    dial_token::Purpose,
    lines::LinesMessage,
    ports::{
        carrier::{CarrierCallId, DialRequest},
        store::PermitRequest,
    },
    time::Timestamp,
};

impl Performer {
    pub(super) fn ask_permit(&mut self) {
        let plan = &self.arguments.plan;
        let telephony = &plan.agent.platform_settings.telephony;
        let request = PermitRequest {
            carrier: plan.carrier.name().to_owned(),
            caller_id: plan.caller_id.clone(),
            restricted_prefixes: if telephony.state_restriction_enabled {
                telephony.state_restricted_numbers.clone()
            } else {
                Vec::new()
            },
        };
        let store = self.arguments.ports.store.clone();
        let claim = plan.attempt.claim;
        self.permit_asked = Instant::now();
        let task = tasks::ask_permit(store, claim, request, self.me.clone());
        self.spawn(task);
    }

    pub(super) fn dial(&mut self) {
        let Some(token) = &self.token else { return };
        let plan = &self.arguments.plan;
        let request = DialRequest {
            attempt: plan.attempt.claim.attempt,
            from: self.caller_id.clone(),
            to: plan.attempt.contact.phone_number.clone(),
            ring_timeout: plan.ring_timeout,
            status_token: token.proof(Purpose::Status),
            media_token: token.proof(Purpose::Media),
            detect_machine: false,
            hints: hints(plan.attempt.contact.extra.iter().chain(&plan.attempt.variables)),
        };
        self.dialing_at = self.arguments.ports.clock.now();
        let carrier = self.arguments.plan.carrier.clone();
        let task = tasks::dial(carrier, request, self.permit_asked, self.me.clone());
        self.spawn(task);
    }

    pub(super) fn leg_known(&mut self, id: CarrierCallId) {
        self.tell_lines(LinesMessage::LegKnown {
            attempt: self.arguments.plan.attempt.claim.attempt,
            leg: id.clone(),
        });
        self.write(Write::Dialed(id));
    }

    fn search(&self) -> LegSearch {
        let attempt = &self.arguments.plan.attempt;
        LegSearch {
            attempt: attempt.claim.attempt,
            to: attempt.contact.phone_number.clone(),
            // The carrier's clock may be behind ours.
            since: Timestamp(self.dialing_at.0 - 2_000_000),
        }
    }

    pub(super) fn fate_unknown(&mut self) {
        self.write(Write::Unknown);
        let carrier = self.arguments.plan.carrier.clone();
        let task = tasks::look_up(carrier, self.search(), self.me.clone());
        self.spawn(task);
    }

    pub(super) fn hang_up(&mut self, leg: Option<CarrierCallId>) {
        let carrier = self.arguments.plan.carrier.clone();
        self.hang_ups
            .push(tokio::spawn(tasks::hang_up(carrier, leg, self.search())));
    }
}

/// A contact's fields, or a single call's variables, as text, for carriers that read them.
fn hints<'a>(fields: impl Iterator<Item = (&'a String, &'a Value)>) -> BTreeMap<String, String> {
    fields
        .map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (name.clone(), text)
        })
        .collect()
}
