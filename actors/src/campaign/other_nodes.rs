//! A campaign that other nodes work on too: what they changed is read, and what keeps only this node from dialing does not
//! delay it for all.

use std::{sync::Arc, time::Duration};

use ractor::ActorRef;
use tokio::time::Instant;

use super::{CampaignMessage, CampaignState, Event, Intent, actor::Order, change::removed, dialing::LOOK_AGAIN};
use crate::lines::LinesMessage;
use domain::ports::store::{CampaignStatus, Remaining, StoreError};

/// For so long no other node may have called anybody before the campaign is delayed for what keeps this one from it.
const NOBODY_ELSE: Duration = Duration::from_secs(10);

/// How soon this node tries again meanwhile, where nothing else says.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// What keeps this node from dialing.
#[derive(Debug)]
pub(super) struct SetBack {
    reason: String,
    /// Its providers are down; else its carrier.
    providers_down: bool,
    /// Since when nobody else was seen to dial either.
    since: Instant,
    /// How long nobody else may before the campaign is delayed.
    patience: Duration,
}

impl CampaignState {
    /// How the campaign stands in the store: its version there; none when it is not active.
    pub(super) fn seen(&self, me: &ActorRef<CampaignMessage>, version: Option<i64>) {
        if self.is_committing() || self.draining {
            return;
        }
        let rests = version.is_none() && !self.row.active;
        let changed = version.map_or(self.row.active, |version| version > self.row.version);
        // One that was stopped already may be stopped once more, now with its calls.
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
                // It is asked again.
                Err(_) => return,
            };
            let _ = me.cast(CampaignMessage::RowRead(read));
        });
    }

    /// Another node stopped it and may have been told to hang up.
    fn ask_whether_to_hang_up(&self) {
        let (store, lines) = (Arc::clone(&self.ports.store), self.lines.clone());
        let (campaign, version) = (self.row.id, self.row.version);
        tokio::spawn(async move {
            if store.hang_up_wanted(campaign, version).await == Ok(true) {
                let _ = lines.cast(LinesMessage::HangUpCampaign(campaign));
            }
        });
    }

    /// Others are there or not.
    pub(super) fn others_live(&mut self, others: bool) {
        self.other_nodes = others;
        if !others {
            self.set_back = None;
        }
    }

    /// This node cannot dial now. Others may: it holds back alone.
    pub(super) fn hold_back_alone(&mut self, me: &ActorRef<CampaignMessage>, reason: String, providers_down: bool) {
        let now = Instant::now();
        let (since, patience) = match &self.set_back {
            Some(set_back) => (set_back.since, set_back.patience),
            // Nobody had a call while it was delayed for this.
            None if !providers_down && self.outage.as_ref().is_some_and(|outage| outage.delayed) => (now, LOOK_AGAIN),
            None => (now, NOBODY_ELSE),
        };
        tracing::info!(campaign = %self.row.id, reason, "this node holds back");
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
        // What holds it back may last longer than everybody is to wait for the word of it.
        self.wake(me, until.min(since + patience).saturating_duration_since(now));
    }

    /// Calls get through from here.
    pub(super) fn set_back_no_more(&mut self, providers: bool) {
        if self
            .set_back
            .as_ref()
            .is_some_and(|set_back| set_back.providers_down == providers)
        {
            self.set_back = None;
        }
    }

    /// Nobody else dials either: the campaign is delayed.
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

    /// Another node delayed it, or one that is no more, and no time was set to try again: it runs again when this one could hold its
    /// calls and has a line.
    pub(super) fn end_anothers_delay(&mut self, me: &ActorRef<CampaignMessage>) {
        self.providers_down = true;
        self.anothers_delay = true;
        self.ask_for_providers(me);
    }
}
