//! Handling of calls that cannot be held because every provider of a kind is down or a setting is missing: the
//! campaign is delayed and polls whether they are possible again.

use std::{sync::Arc, time::Duration};

use ractor::ActorRef;

use super::{CampaignMessage, CampaignState, Event, Intent, actor::Order};
use crate::supervision::contained;
use domain::{
    agent,
    ports::{
        Ports,
        store::{AgentRow, CampaignStatus, StoreError},
    },
};

/// Interval of the polls.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// Returns why no call of this agent can be placed now. An agent that cannot be read is handled elsewhere.
pub(super) async fn obstacle(ports: Ports, row: &AgentRow) -> Result<Option<String>, StoreError> {
    let Ok(agent) = agent::complete(&row.document) else {
        return Ok(None);
    };
    contained(async move { Ok(ports.obstacle(&agent)) }).await
}

impl CampaignState {
    /// Handles lines for which nothing was claimed, because the providers are down.
    pub(super) fn providers_down(
        &mut self,
        me: &ActorRef<CampaignMessage>,
        generation: u64,
        lines: usize,
        reason: String,
    ) {
        self.pacing.end_claim(0);
        self.return_lines(lines);
        if !self.dials() {
            return;
        }
        if generation != self.generation {
            self.look(me);
            return;
        }
        if self.other_nodes {
            self.hold_back_alone(me, reason, true);
            return;
        }
        self.providers_down = true;
        self.order(
            me,
            Order::Own(Intent {
                reason: Some(reason),
                ..Event::Obstacle.into()
            }),
        );
    }

    /// Asks whether the providers of the present agent are back.
    pub(super) fn ask_for_providers(&mut self, me: &ActorRef<CampaignMessage>) {
        if std::mem::replace(&mut self.asking, true) {
            return;
        }
        let (me, ports, store) = (me.clone(), self.ports.clone(), Arc::clone(&self.ports.store));
        let (account, agent) = (self.row.account, self.row.agent);
        tokio::spawn(async move {
            let agent = contained(async move { store.agent(account, agent).await }).await;
            let well = match &agent {
                Ok(row) => matches!(obstacle(ports, row).await, Ok(None)),
                // A missing agent is noticed when the campaign dials.
                Err(error) => *error == StoreError::NotFound,
            };
            let _ = me.cast(CampaignMessage::ProvidersAsked { well });
        });
    }

    pub(super) fn providers_asked(&mut self, me: &ActorRef<CampaignMessage>, well: bool) {
        self.asking = false;
        if !self.providers_down || self.row.status != CampaignStatus::Delayed || self.is_committing() || self.draining {
            return;
        }
        if well && std::mem::take(&mut self.anothers_delay) {
            self.providers_down = false;
            self.starved = true;
            self.wait_for_a_line(me);
        } else if well {
            self.order(me, Order::Own(Event::ObstacleGone.into()));
        } else {
            self.wake(me, ASK_EVERY);
        }
    }
}
