//! How many lines a campaign asks for, and how long it holds back when nothing gets through. Free of I/O.

use std::time::Duration;

use tokio::time::Instant;

use crate::{call::NoOutcome, supervision::Backoff};
use domain::ports::store::{CampaignRow, Remaining};

/// The figures of a campaign that dials.
#[derive(Debug, Clone)]
pub struct Pacing {
    /// Calls at once.
    most: usize,
    /// Contacts and attempts that may be dialed now, as far as is known.
    due: usize,
    /// Lines granted for the next claim.
    granted: usize,
    /// Lines set aside for a claim under way.
    claiming: usize,
    /// Nothing is asked for before this instant.
    held_until: Option<Instant>,
    refusals: Backoff,
    too_late: Backoff,
    /// Since when it asks for lines and has none at all.
    starving_since: Option<Instant>,
    /// How long it does before it is delayed for it. Doubles with each time, so that campaigns that share few lines do
    /// not change their state with every call.
    patience: Duration,
}

/// A line may take so long to come.
const PATIENCE: Duration = Duration::from_secs(3);
const LONGEST_PATIENCE: Duration = Duration::from_secs(64);

/// How long nothing is asked for when a permit found the store away.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause while permits come too late to be used: a store that is quick again is to be used soon.
const LONGEST_LATE_PAUSE: Duration = Duration::from_secs(8);

impl Pacing {
    /// Nothing is known to be due yet.
    pub fn new(row: &CampaignRow) -> Self {
        Self {
            most: row
                .max_concurrent_calls
                .map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX)),
            due: 0,
            granted: 0,
            claiming: 0,
            held_until: None,
            refusals: Backoff::new(Duration::from_secs(1), Duration::from_secs(60)),
            too_late: Backoff::new(STORE_PAUSE, LONGEST_LATE_PAUSE),
            starving_since: None,
            patience: PATIENCE,
        }
    }

    /// The limit may have been changed.
    pub fn limit(&mut self, row: &CampaignRow) {
        self.most = Self::new(row).most;
    }

    /// Dialing begins: what was in the way before is not held against the carrier.
    pub fn restart(&mut self) {
        self.held_until = None;
        self.refusals.reset();
        self.too_late.reset();
        self.starving_since = None;
        self.patience = PATIENCE;
    }

    /// It asks for `want` lines with `live` calls running: until when it puts up with having none.
    pub fn asks(&mut self, want: usize, live: usize, now: Instant) -> Option<Instant> {
        if want == 0 || live + self.granted + self.claiming > 0 {
            self.starving_since = None;
            return None;
        }
        Some(*self.starving_since.get_or_insert(now) + self.patience)
    }

    /// Whether it has asked for lines in vain for too long.
    pub fn starves(&self, now: Instant) -> bool {
        self.starving_since
            .is_some_and(|since| now.duration_since(since) >= self.patience)
    }

    /// It is delayed for want of a line.
    pub fn delayed_for_lines(&mut self) {
        self.starving_since = None;
        self.patience = (self.patience * 2).min(LONGEST_PATIENCE);
    }

    /// How many lines to ask for with `live` calls running.
    pub fn want(&self, live: usize, now: Instant) -> usize {
        if self.held_until.is_some_and(|until| now < until) {
            return 0;
        }
        let taken = self.granted + self.claiming;
        self.most
            .saturating_sub(live + taken)
            .min(self.due.saturating_sub(taken))
    }

    /// Until when it holds back.
    pub fn held_until(&self, now: Instant) -> Option<Instant> {
        self.held_until.filter(|until| now < *until)
    }

    /// Whether something is known to be due.
    pub fn due(&self) -> bool {
        self.due > 0
    }

    /// The store counted.
    pub fn counted(&mut self, remaining: &Remaining) {
        // Claims under way are not counted by the store any more, or soon will not be; the next claim tells.
        self.due = usize::try_from(remaining.due).unwrap_or(0);
    }

    /// Lines were granted; how many of them are of no use.
    pub fn granted(&mut self, lines: usize, live: usize, now: Instant) -> usize {
        let used = lines.min(self.want(live, now));
        self.granted += used;
        if used > 0 {
            self.starving_since = None;
        }
        lines - used
    }

    /// Whether a claim is under way.
    pub fn claiming(&self) -> bool {
        self.claiming > 0
    }

    /// For how many lines to claim now; none while a claim is under way.
    pub fn begin_claim(&mut self) -> Option<usize> {
        if self.claiming > 0 || self.granted == 0 {
            return None;
        }
        self.claiming = std::mem::take(&mut self.granted);
        Some(self.claiming)
    }

    /// The claim is over with `claimed` attempts.
    pub fn end_claim(&mut self, claimed: usize) {
        let lines = std::mem::take(&mut self.claiming);
        self.due = if claimed < lines {
            0
        } else {
            self.due.saturating_sub(claimed)
        };
    }

    /// Lines granted and not yet claimed for, taken back.
    pub fn drop_grants(&mut self) -> usize {
        std::mem::take(&mut self.granted)
    }

    /// Asks for nothing for a while.
    pub fn hold(&mut self, until: Instant) {
        self.held_until = Some(self.held_until.map_or(until, |held| held.max(until)));
    }

    /// A call ended. One that the carrier would not take makes the campaign hold back, longer each time, so that an
    /// account without credit does not use up every contact. A store that is away gives no claims either; one whose permits
    /// come too late is not asked for more of them all the time, which would keep it slow. An attempt that
    /// waits for its own sake, as where its callee's calling hours are over, keeps no other one back.
    pub fn call_ended(&mut self, outcome: Result<(), NoOutcome>, now: Instant) {
        match outcome {
            Ok(()) => {
                self.refusals.reset();
                self.too_late.reset();
            }
            Err(NoOutcome::NotTaken) if self.held_until(now).is_none() => {
                let wait = self.refusals.failed();
                self.hold(now + wait);
            }
            Err(NoOutcome::TooLate) if self.held_until(now).is_none() => {
                let wait = self.too_late.failed();
                self.hold(now + wait);
            }
            Err(NoOutcome::StoreAway) => self.hold(now + STORE_PAUSE),
            Err(NoOutcome::NotTaken | NoOutcome::TooLate | NoOutcome::ItsOwn) => {}
        }
    }
}

#[cfg(test)]
#[path = "pacing_tests.rs"]
mod tests;
