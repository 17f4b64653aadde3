//! Cooperation with other nodes on the same campaign: reads what they changed, and prevents an obstacle of
//! this node alone from delaying the campaign for all.

use std::{sync::Arc, time::Duration};

use ractor::ActorRef;
use tokio::time::Instant;

use super::{CampaignMessage, CampaignState, Event, Intent, actor::Order, change::removed, dialing::LOOK_AGAIN};
use crate::lines::LinesMessage;
use domain::ports::store::{CampaignStatus, Remaining, StoreError};

/// Time without a call by any other node after which an obstacle of this node delays the campaign.
const NOBODY_ELSE: Duration = Duration::from_secs(10);

/// Pause before this node tries again meanwhile, unless something else determines it.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// Obstacle that keeps this node from dialing.
#[derive(Debug)]
pub(super) struct SetBack {
    reason: String,
    /// Whether its providers are down. Otherwise its carrier is.
    providers_down: bool,
    /// Time since which no other node was seen to dial.
    since: Instant,
    /// Time without a call by another node after which the campaign is delayed.
    patience: Duration,
}

impl CampaignState {
    /// Handles the campaign's version in the store, which is `None` if it is not active there.
    pub(super) fn seen(&self, me: &ActorRef<CampaignMessage>, version: Option<i64>) {
        if self.is_committing() || self.draining {
            return;
        }
        let rests = version.is_none() && !self.row.active;
        let changed = version.map_or(self.row.active, |version| version > self.row.version);
        // A campaign that is already stopped may be stopped once more, now with its calls.
        if changed || (rests && !self.live.is_empty()) {
            self.read_row(me);
        }
        if rests && !self.live.is_empty() && self.row.status == CampaignStatus::Stopped {
            self.ask_whether_to_hang_up();
        }
    }

    pub(super) fn read_row(&self, me: &ActorRef<CampaignMessage>) {
        let (me, store, row) = (me.clone(), Arc::clone(&self.ports.store), self.row.clone());
        tokio::spawn(async move {
            let read = match store.campaign(row.account, row.id).await {
                Ok(read) => read,
                Err(StoreError::NotFound) => removed(&row),
                // The row will be requested again.
                Err(_) => return,
            };
            let _ = me.cast(CampaignMessage::RowRead(read));
        });
    }

    /// Asks whether to hang up: another node stopped the campaign and may have been told to.
    fn ask_whether_to_hang_up(&self) {
        let (store, lines) = (Arc::clone(&self.ports.store), self.lines.clone());
        let (campaign, version) = (self.row.id, self.row.version);
        tokio::spawn(async move {
            if store.hang_up_wanted(campaign, version).await == Ok(true) {
                let _ = lines.cast(LinesMessage::HangUpCampaign(campaign));
            }
        });
    }

    /// Notes whether there are other nodes.
    pub(super) fn others_live(&mut self, others: bool) {
        self.other_nodes = others;
        if !others {
            self.set_back = None;
        }
    }

    /// Holds this node back alone, since it cannot dial now but others may.
    pub(super) fn hold_back_alone(&mut self, me: &ActorRef<CampaignMessage>, reason: String, providers_down: bool) {
        let now = Instant::now();
        let (since, patience) = match &self.set_back {
            Some(set_back) => (set_back.since, set_back.patience),
            // Nobody had a call while the campaign was delayed for this.
            None if !providers_down && self.outage.as_ref().is_some_and(|outage| outage.delayed) => (now, LOOK_AGAIN),
            None => (now, NOBODY_ELSE),
        };
        tracing::info!(campaign = %self.row.id, reason, "campaign not dialed by this node");
        self.set_back = Some(SetBack {
            reason,
            providers_down,
            since,
            patience,
        });
        if providers_down {
            self.pacing.hold(now + TRY_AGAIN);
        }
        let until = self.pacing.held_until(now).unwrap_or(now + TRY_AGAIN);
        // The obstacle may last longer than the time after which the campaign is delayed.
        self.wake(me, until.min(since + patience).saturating_duration_since(now));
    }

    /// Ends holding back, since calls get through from this node.
    pub(super) fn set_back_no_more(&mut self, providers: bool) {
        if self
            .set_back
            .as_ref()
            .is_some_and(|set_back| set_back.providers_down == providers)
        {
            self.set_back = None;
        }
    }

    /// Delays the campaign if no other node dials either. Returns whether it does.
    pub(super) fn delays_for_all(&mut self, me: &ActorRef<CampaignMessage>, remaining: &Remaining) -> bool {
        let now = Instant::now();
        let Some(set_back) = &mut self.set_back else {
            return false;
        };
        if remaining.open > 0 || remaining.due == 0 {
            set_back.since = now;
            set_back.patience = (set_back.patience * 2).min(NOBODY_ELSE);
        }
        let left = (set_back.since + set_back.patience).saturating_duration_since(now);
        if !left.is_zero() {
            self.wake(me, left);
            return false;
        }
        // A carrier whose pause is over is asked again first.
        let until = self.pacing.held_until(now);
        if !set_back.providers_down && until.is_none() {
            return false;
        }
        let Some(set_back) = self.set_back.take() else {
            return false;
        };
        self.providers_down = set_back.providers_down;
        let until = until.filter(|_| !set_back.providers_down);
        let next_run_at = until.map(|until| self.ports.clock.now().plus(until.duration_since(now)));
        let intent = Intent {
            reason: Some(set_back.reason),
            next_run_at,
            ..Event::Obstacle.into()
        };
        self.order(me, Order::Own(intent));
        true
    }

    /// Ends a delay without a retry time that another node caused, or one that no longer lives. The campaign
    /// runs again when this node could hold its calls and has a line.
    pub(super) fn end_anothers_delay(&mut self, me: &ActorRef<CampaignMessage>) {
        self.providers_down = true;
        self.anothers_delay = true;
        self.ask_for_providers(me);
    }
}
