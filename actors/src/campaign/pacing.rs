//! Decides how many lines a campaign asks for, and how long it holds back when nothing gets through. Free of I/O.

use std::time::Duration;

use tokio::time::Instant;

use crate::{call::NoOutcome, supervision::Backoff};
use domain::ports::store::{CampaignRow, Remaining};

/// Pacing figures of a campaign that dials.
#[derive(Debug, Clone)]
pub struct Pacing {
    /// Most calls at once.
    most: usize,
    /// Known number of contacts and attempts that may be dialed now.
    due: usize,
    /// Lines granted for the next claim.
    granted: usize,
    /// Lines set aside for the claim in progress.
    claiming: usize,
    /// Earliest time of the next request for lines.
    held_until: Option<Instant>,
    refusals: Backoff,
    too_late: Backoff,
    /// Time since which it asks for lines and has none at all.
    starving_since: Option<Instant>,
    /// Time without any line after which it is delayed. It doubles with each delay, so that campaigns that
    /// share few lines do not change their state with every call.
    patience: Duration,
}

/// Initial time that a line may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// Longest time that a line may take.
const LONGEST_PATIENCE: Duration = Duration::from_secs(64);

/// Pause after a permit request found the store unavailable.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// Longest pause while permits come too late. It is short, so that a recovered store is used soon.
const LONGEST_LATE_PAUSE: Duration = Duration::from_secs(8);

impl Pacing {
    /// Creates the pacing of a campaign without known due contacts.
    pub fn new(row: &CampaignRow) -> Self {
        Self {
            most: row
                .options
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

    /// Updates the limit, which may have been changed.
    pub fn limit(&mut self, row: &CampaignRow) {
        self.most = Self::new(row).most;
    }

    /// Resets the obstacles when dialing begins.
    pub fn restart(&mut self) {
        self.held_until = None;
        self.refusals.reset();
        self.too_late.reset();
        self.starving_since = None;
        self.patience = PATIENCE;
    }

    /// Notes a request for `want` lines with `live` calls running. Returns until when it may be without any line.
    pub fn asks(&mut self, want: usize, live: usize, now: Instant) -> Option<Instant> {
        if want == 0 || live + self.granted + self.claiming > 0 {
            self.starving_since = None;
            return None;
        }
        Some(*self.starving_since.get_or_insert(now) + self.patience)
    }

    /// Returns whether it has asked for lines in vain for too long.
    pub fn starves(&self, now: Instant) -> bool {
        self.starving_since
            .is_some_and(|since| now.duration_since(since) >= self.patience)
    }

    /// Notes that the campaign is delayed for lack of a line.
    pub fn delayed_for_lines(&mut self) {
        self.starving_since = None;
        self.patience = (self.patience * 2).min(LONGEST_PATIENCE);
    }

    /// Returns how many lines to ask for with `live` calls running.
    pub fn want(&self, live: usize, now: Instant) -> usize {
        if self.held_until.is_some_and(|until| now < until) {
            return 0;
        }
        let taken = self.granted + self.claiming;
        self.most
            .saturating_sub(live + taken)
            .min(self.due.saturating_sub(taken))
    }

    /// Returns until when it holds back.
    pub fn held_until(&self, now: Instant) -> Option<Instant> {
        self.held_until.filter(|until| now < *until)
    }

    /// Returns whether something is known to be due.
    pub fn due(&self) -> bool {
        self.due > 0
    }

    /// Takes the store's count.
    pub fn counted(&mut self, remaining: &Remaining) {
        // The store stops counting attempts of a claim in progress at some point; the next claim corrects the number.
        self.due = usize::try_from(remaining.due).unwrap_or(0);
    }

    /// Takes granted lines. Returns how many of them cannot be used.
    pub fn granted(&mut self, lines: usize, live: usize, now: Instant) -> usize {
        let used = lines.min(self.want(live, now));
        self.granted += used;
        if used > 0 {
            self.starving_since = None;
        }
        lines - used
    }

    /// Returns whether a claim is in progress.
    pub fn claiming(&self) -> bool {
        self.claiming > 0
    }

    /// Returns the number of lines to claim for now, or `None` while a claim is in progress.
    pub fn begin_claim(&mut self) -> Option<usize> {
        if self.claiming > 0 || self.granted == 0 {
            return None;
        }
        self.claiming = std::mem::take(&mut self.granted);
        Some(self.claiming)
    }

    /// Ends the claim with `claimed` attempts.
    pub fn end_claim(&mut self, claimed: usize) {
        let lines = std::mem::take(&mut self.claiming);
        self.due = if claimed < lines {
            0
        } else {
            self.due.saturating_sub(claimed)
        };
    }

    /// Takes back the lines that are granted and not yet claimed for.
    pub fn drop_grants(&mut self) -> usize {
        std::mem::take(&mut self.granted)
    }

    /// Holds back until this instant.
    pub fn hold(&mut self, until: Instant) {
        self.held_until = Some(self.held_until.map_or(until, |held| held.max(until)));
    }

    /// Handles the end of a call. A call that the carrier refused makes the campaign hold back, longer each
    /// time, so that an account without credit does not use up every contact. An unavailable store gives no
    /// claims either. A store whose permits come too late is asked less often, since constant requests would
    /// keep it slow. An attempt that waits for a reason of its own, such as the callee's calling hours, holds
    /// no other one back.
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
            Err(NoOutcome::StoreUnavailable) => self.hold(now + STORE_PAUSE),
            Err(NoOutcome::NotTaken | NoOutcome::TooLate | NoOutcome::ItsOwn) => {}
        }
    }
}

#[cfg(test)]
#[path = "pacing_tests.rs"]
mod tests;
