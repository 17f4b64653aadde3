//! Rules of accounts in memory.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;

use super::{
    MemoryStore,
    tables::{AttemptEntry, Tables},
};
use domain::{
    id::{AccountId, CampaignId},
    ports::store::{AttemptState, CallDirection, SafeguardStore, SafeguardsRow, StoreError, StoreResult},
    safeguards::{Judgement, PermitFacts, Rule, Safeguards, day_start},
    time::Timestamp,
};

impl Tables {
    /// Returns the verdict of the account's rules on a permit to which nothing else objects.
    pub(super) fn judge(&self, entry: &AttemptEntry, now: Timestamp) -> Judgement {
        let Some(row) = self.safeguards.get(&entry.account) else {
            return Judgement::default();
        };
        let rules = &row.safeguards;
        let dialed = self.attempts.values().filter(|other| {
            other.account == entry.account && other.direction == CallDirection::Outbound && other.id != entry.id
        });
        let dialed: Vec<(&AttemptEntry, Timestamp)> =
            dialed.filter_map(|other| Some((other, other.dialing_at?))).collect();
        let free_at = rules.calls_per_number.windows().filter_map(|(most, window)| {
            let of_number = dialed
                .iter()
                .filter(|(other, _)| other.phone_number == entry.phone_number);
            let mut permits: Vec<Timestamp> = of_number
                .map(|(_, at)| at.plus(window))
                .filter(|free_at| *free_at > now)
                .collect();
            permits.sort_unstable();
            permits.iter().rev().nth(most.saturating_sub(1) as usize).copied()
        });
        let today = day_start(&rules.daily_calls, now);
        rules.judge(&PermitFacts {
            number: &entry.phone_number,
            now,
            number_free_at: free_at.max(),
            calls_today: dialed.iter().filter(|(_, at)| *at >= today).count() as i64,
            dial_before: self.calls.get(&entry.id).map(|call| call.dial_before),
        })
    }
}

impl AttemptEntry {
    /// Returns the rule for which it waits.
    fn put_off(&self, now: Timestamp) -> Option<Rule> {
        self.put_off_by
            .filter(|_| self.state == AttemptState::Queued && self.due_at > now)
    }
}

impl Tables {
    /// Makes attempts due now that the account's rules put off.
    fn let_go(&mut self, account: AccountId, now: Timestamp) {
        let mut campaigns = BTreeSet::new();
        let own = self.attempts.values_mut().filter(|entry| entry.account == account);
        for entry in own.filter(|entry| entry.put_off(now).is_some()) {
            entry.due_at = now;
            entry.put_off_by = None;
            campaigns.extend(entry.campaign);
        }
        for campaign in campaigns {
            self.look_again(campaign, now);
        }
    }
}

#[async_trait]
impl SafeguardStore for MemoryStore {
    async fn safeguards(&self, account: AccountId) -> StoreResult<SafeguardsRow> {
        Ok(self.open()?.safeguards.get(&account).cloned().unwrap_or_default())
    }

    async fn set_safeguards(&self, account: AccountId, version: i64, new: Safeguards) -> StoreResult<SafeguardsRow> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        let row = tables.safeguards.entry(account).or_default();
        if row.version != version {
            return Err(StoreError::Stale);
        }
        let changed = row.safeguards != new;
        *row = SafeguardsRow {
            safeguards: new,
            version: version + 1,
        };
        let answer = row.clone();
        if changed {
            tables.let_go(account, self.now());
        }
        Ok(answer)
    }

    async fn put_off(&self, campaign: CampaignId) -> StoreResult<Vec<(Rule, i64)>> {
        let (tables, now) = (self.open()?, self.now());
        let mut counts: BTreeMap<&str, (Rule, i64)> = BTreeMap::new();
        let waiting = tables
            .attempts
            .values()
            .filter(|entry| entry.campaign == Some(campaign));
        for rule in waiting.filter_map(|entry| entry.put_off(now)) {
            counts.entry(rule.as_str()).or_insert((rule, 0)).1 += 1;
        }
        Ok(counts.into_values().collect())
    }
}
