//! Refusals in a row for an unknown reason, in memory.

use super::tables::Tables;
use domain::{
    id::AttemptId,
    ports::store::{AttemptState, CampaignStatus, Outcome, REFUSALS_IN_A_ROW, StoreResult},
    time::Timestamp,
};

impl Tables {
    pub(super) fn got_through(&mut self, attempt: AttemptId) {
        let campaign = self.attempts.get(&attempt).and_then(|entry| entry.campaign);
        if let Some(entry) = campaign.and_then(|campaign| self.campaigns.get_mut(&campaign)) {
            entry.refusals = (None, 0);
        }
    }

    /// Counts an outcome. Returns false if the campaign waits already and the contact is called again.
    pub(super) fn counts_refusal(
        &mut self,
        attempt: AttemptId,
        outcome: &Outcome,
        now: Timestamp,
    ) -> StoreResult<bool> {
        if outcome.got_through() {
            self.got_through(attempt);
            return Ok(true);
        }
        let Some(entry) = self.attempts.get(&attempt) else {
            return Ok(true);
        };
        let (dialing, campaign) = (entry.state == AttemptState::Dialing, entry.campaign);
        let Some(entry) = campaign.and_then(|campaign| self.campaigns.get_mut(&campaign)) else {
            return Ok(true);
        };
        if entry.deleted || !outcome.is_refused() {
            return Ok(true);
        }
        let (kind, count) = &mut entry.refusals;
        if *count >= REFUSALS_IN_A_ROW && entry.row.status != CampaignStatus::Running {
            return Ok(!dialing || outcome.refusal.is_none());
        }
        if *count < REFUSALS_IN_A_ROW && outcome.refusal.is_none() {
            return Ok(true);
        }
        let goes_on = *count >= REFUSALS_IN_A_ROW || *kind == outcome.refusal;
        *count = if goes_on { *count + 1 } else { 1 };
        *kind = outcome.refusal.clone().or_else(|| kind.take());
        let (id, count) = (entry.row.id, *count);
        let row = self.row(self.visible(id)?);
        if let Some(change) = row.after_refusals(count, outcome, now) {
            self.change(id, row.version, change, now)?;
        }
        Ok(true)
    }
}
