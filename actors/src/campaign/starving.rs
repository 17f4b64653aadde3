//! Handling of a campaign that should be dialing and has no line: when it is delayed, and how it runs again.

use ractor::ActorRef;
use tokio::time::Instant;

use super::{CampaignMessage, CampaignState, Event, Intent, actor::Order};
use domain::ports::store::CampaignStatus;

impl CampaignState {
    /// Handles the line pool's notice that every line is taken. After too long, the campaign is delayed.
    pub(super) fn no_line_free(&mut self, me: &ActorRef<CampaignMessage>, lines: usize) {
        if !self.dials() || !self.pacing.starves(Instant::now()) {
            return;
        }
        self.pacing.delayed_for_lines();
        self.starved = true;
        let reason = Some(format!("no line is free: all {lines} are taken by other calls"));
        self.order(
            me,
            Order::Own(Intent {
                reason,
                ..Event::Obstacle.into()
            }),
        );
    }

    /// Waits in the line pool's queue for its turn.
    pub(super) fn wait_for_a_line(&mut self, me: &ActorRef<CampaignMessage>) {
        let want = self.pacing.want(self.live.len(), Instant::now()).max(1);
        self.wish(me, want);
        if let Some(closes_at) = self.row.closes_at {
            self.wake(me, closes_at.since(self.ports.clock.now()));
        }
    }

    /// Handles the line it was given when its turn came: the campaign runs again.
    pub(super) fn line_came(&mut self, me: &ActorRef<CampaignMessage>, lines: usize) {
        self.order(me, Order::Own(Event::ObstacleGone.into()));
        // Added after the order, which returns the lines granted before.
        self.kept += lines;
    }

    /// Gives the lines back if the campaign does not run after all, because a user paused it or the store is unavailable.
    pub(super) fn keep_lines_to_run_only(&mut self) {
        if self.row.status != CampaignStatus::Running {
            let kept = std::mem::take(&mut self.kept);
            self.return_lines(kept);
        }
    }

    /// Uses lines that were granted during the delay like other lines.
    pub(super) fn use_kept(&mut self, me: &ActorRef<CampaignMessage>) {
        let kept = std::mem::take(&mut self.kept);
        if kept > 0 {
            self.lines_granted(me, kept);
        }
    }
}
