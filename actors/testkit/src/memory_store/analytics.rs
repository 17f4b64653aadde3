//! Counts of ended calls in memory. There are no calls of the past.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::MemoryStore;
use domain::{
    id::{AccountId, AttemptId},
    ports::store::{
        AnalyticsStore, AttemptState, COUNTED_AFTER_US, COUNTED_UNANALYSED_US, CallCounts, CountedCall, CountedGroup,
        CountingBatch, CountsFilter, GroupedCounts, StoreResult, start_of,
    },
};

#[async_trait]
impl AnalyticsStore for MemoryStore {
    async fn calls_to_count(&self, limit: i64) -> StoreResult<CountingBatch> {
        let tables = self.open()?;
        let now = self.now().0;
        let waiting = tables.attempts.values().filter(|entry| {
            let age = now - entry.ended_at.unwrap_or(entry.started_at()).0;
            let analysing = tables.jobs.values().any(|job| job.attempt == entry.id);
            entry.state == AttemptState::Final
                && !tables.counted.contains_key(&entry.id)
                && !tables.tests.contains_key(&entry.id)
                && age >= COUNTED_AFTER_US
                && (age >= COUNTED_UNANALYSED_US || !analysing)
        });
        let calls: Vec<AttemptId> = waiting
            .map(|entry| entry.id)
            .take(usize::try_from(limit).unwrap_or(0))
            .collect();
        let kept = calls.iter().filter(|id| !tables.deleted_conversations.contains(*id));
        let rows = kept.filter_map(|id| tables.attempts.get(id));
        let rows = rows.map(|entry| tables.read_conversation(entry)).collect();
        let past = None;
        Ok(CountingBatch { past, calls, rows })
    }

    async fn count_calls(&self, batch: &CountingBatch, mut counted: Vec<CountedCall>) -> StoreResult<()> {
        let mut tables = self.open()?;
        for call in &batch.calls {
            let at = counted.iter().position(|counted| counted.call == *call);
            let counts = at.map(|at| counted.swap_remove(at));
            tables.counted.entry(*call).or_insert(counts);
        }
        Ok(())
    }

    async fn call_counts(&self, account: AccountId, filter: CountsFilter) -> StoreResult<GroupedCounts> {
        let tables = self.open()?;
        let span = filter.span_at(self.now());
        let mut groups = BTreeMap::<CountedGroup, CallCounts>::new();
        for call in tables.counted.values().flatten().filter(|call| {
            call.account == account
                && (span.0..span.1).contains(&call.started_at)
                && filter.campaign.is_none_or(|id| call.campaign == Some(id))
                && filter.agent.is_none_or(|id| call.agent == id)
        }) {
            let group = filter.group(CountedGroup {
                start: Some(start_of(call.started_at, filter.reads_hours())),
                campaign: call.campaign,
                agent: Some(call.agent),
                version: call.version,
            });
            groups.entry(group).or_default().add(&call.counts);
        }
        let complete = true;
        Ok(GroupedCounts { span, groups, complete })
    }
}
