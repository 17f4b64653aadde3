//! Handling of a carrier that takes no calls or refuses the account: the campaign is delayed, retries from time to
//! time, and runs again when a call gets through.

use std::{collections::HashSet, time::Duration};

use ractor::ActorRef;
use tokio::time::Instant;

use super::{CampaignMessage, CampaignState, Event, Intent, actor::Order, dialing::LOOK_AGAIN};
use crate::call::{NoOutcome, Obstacle};
use domain::{id::AttemptId, ports::store::Remaining, time::Timestamp};

/// Longest pause that a carrier may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);

/// Obstacle at the carrier that lasts until a call gets through.
#[derive(Debug)]
pub(super) struct CarrierOutage {
    reason: String,
    since: Timestamp,
    /// Calls that were live when the obstacle was last met. Their end tells nothing about the carrier.
    before: HashSet<AttemptId>,
    /// Whether the campaign was delayed because of it.
    pub(super) delayed: bool,
}

impl CarrierOutage {
    fn words(&self) -> String {
        let since = self.since.to_utc().format("%Y-%m-%dT%H:%M:%SZ");
        format!("{}, since {since}", self.reason)
    }
}

impl CampaignState {
    /// Handles a call that met the obstacle: no further call is placed for a while.
    pub(super) fn met_obstacle(&mut self, me: &ActorRef<CampaignMessage>, obstacle: Obstacle) {
        if !self.dials() {
            return;
        }
        let Obstacle { reason, pause } = obstacle;
        let (now, present) = (Instant::now(), self.ports.clock.now());
        self.pacing.call_ended(Err(NoOutcome::NotTaken), now);
        self.pacing.hold(now + pause.unwrap_or_default().min(LONGEST_PAUSE));
        let until = self.pacing.held_until(now).unwrap_or(now);
        let (since, delayed) = self
            .outage
            .as_ref()
            .map_or((present, false), |outage| (outage.since, outage.delayed));
        let before = self.live.clone();
        let outage = self.outage.insert(CarrierOutage {
            reason,
            since,
            before,
            delayed,
        });
        if self.other_nodes {
            let words = outage.words();
            self.hold_back_alone(me, words, false);
            return;
        }
        let intent = Intent {
            reason: Some(outage.words()),
            next_run_at: Some(present.plus(until.duration_since(now))),
            ..Event::Obstacle.into()
        };
        self.order(me, Order::Own(intent));
    }

    /// Retries after the pause when somebody is due: the obstacle may be gone. If not, it is met again.
    pub(super) fn wait_for_the_carrier(&mut self, me: &ActorRef<CampaignMessage>) {
        let (now, present) = (Instant::now(), self.ports.clock.now());
        let held = self.pacing.held_until(now).map(|until| until.duration_since(now));
        let due = self.row.next_run_at.map(|at| at.since(present));
        let wait = held.unwrap_or_default().max(due.unwrap_or_default());
        if wait.is_zero() {
            self.order(me, Order::Own(Event::ObstacleGone.into()));
            return;
        }
        if let Some(closes_at) = self.row.closes_at {
            self.wake(me, closes_at.since(present));
        }
        self.wake(me, wait);
    }

    /// Keeps the delay while nobody is due, since those who could not be dialed were put off and no call has
    /// got through. Only the next call shows whether the carrier is back. Returns whether the delay is kept.
    pub(super) fn still_out(&mut self, me: &ActorRef<CampaignMessage>, remaining: &Remaining) -> bool {
        let Some(outage) = self.outage.as_ref().filter(|_| remaining.later > 0) else {
            return false;
        };
        if !self.live.is_subset(&outage.before) || (self.other_nodes && remaining.open > 0) {
            return false;
        }
        let soonest = self.ports.clock.now().plus(LOOK_AGAIN);
        let intent = Intent {
            reason: Some(outage.words()),
            next_run_at: remaining.next_due.map(|due| due.max(soonest)),
            ..Event::Obstacle.into()
        };
        self.order(me, Order::Own(intent));
        true
    }

    /// Handles the end of a call. A call placed since the obstacle was met shows that it is gone.
    pub(super) fn told_of_the_carrier(&mut self, attempt: AttemptId, got_through: bool) {
        if let Some(outage) = &mut self.outage
            && !outage.before.remove(&attempt)
            && got_through
        {
            self.outage = None;
            self.set_back_no_more(false);
        }
    }
}
