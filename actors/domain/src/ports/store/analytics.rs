//! Counts of ended calls by hour and day, from which analytics are read.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    error::StoreResult,
    records::{ConversationRow, NOTED_AFTER_US},
};
use crate::{
    id::{AccountId, AgentId, AttemptId, CampaignId},
    time::Timestamp,
};

/// Microseconds of an hour.
const HOUR_US: i64 = 3_600_000_000;
/// Microseconds of a day.
const DAY_US: i64 = 24 * HOUR_US;

/// Days that are read if no time is asked for.
pub const USUAL_DAYS: i64 = 30;

/// Minimum age of an end before the call is counted, in microseconds. By then the analysis is usually done.
pub const COUNTED_AFTER_US: i64 = NOTED_AFTER_US;

/// Age of an end from which on the call is counted without its analysis, in microseconds.
pub const COUNTED_UNANALYSED_US: i64 = HOUR_US;

/// Property by which calls are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CountedBy {
    /// Hour of the start (UTC).
    Hour,
    /// Day of the start (UTC).
    Day,
    /// Campaign.
    Campaign,
    /// Agent.
    Agent,
    /// Agent and its version.
    Version,
}

spelled!(CountedBy, Hour "hour", Day "day", Campaign "campaign", Agent "agent", Version "version");

impl CountedBy {
    /// Returns the days that can be read at once.
    pub fn longest_days(self) -> i64 {
        match self {
            Self::Hour => 31,
            Self::Day | Self::Campaign | Self::Agent | Self::Version => 366,
        }
    }

    /// Returns the microseconds to which times are rounded.
    fn step_us(self) -> i64 {
        match self {
            Self::Hour => HOUR_US,
            Self::Day | Self::Campaign | Self::Agent | Self::Version => DAY_US,
        }
    }
}

/// Returns a time that is later by so many days.
pub fn days_after(time: Timestamp, days: i64) -> Timestamp {
    Timestamp(time.0.saturating_add(days.saturating_mul(DAY_US)))
}

/// Counts of some calls. It is stored as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCounts {
    /// Calls.
    #[serde(rename = "n")]
    pub calls: u64,
    /// Answered calls.
    #[serde(rename = "a", default)]
    pub answered: u64,
    /// Sum of the durations from the answer to the end, each in whole seconds.
    #[serde(rename = "s", default)]
    pub seconds: u64,
    /// Calls by outcome.
    #[serde(rename = "o", default)]
    pub outcomes: BTreeMap<String, u64>,
    /// Calls in which the person opted out of further calls.
    #[serde(rename = "x", default)]
    pub opt_outs: u64,
    /// Calls by overall sentiment.
    #[serde(rename = "m", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sentiment: BTreeMap<String, u64>,
    /// Cost by currency, in thousand-millionths of its unit.
    #[serde(rename = "c", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cost: BTreeMap<String, u64>,
    /// Answers of the agent by latency: the upper bound in milliseconds, and their number.
    #[serde(rename = "l", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latencies: BTreeMap<u64, u64>,
}

fn add_each<K: Ord + Clone>(sums: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    for (key, count) in more {
        match sums.get_mut(key) {
            Some(sum) => *sum = sum.saturating_add(*count),
            None => drop(sums.insert(key.clone(), *count)),
        }
    }
}

impl CallCounts {
    /// Adds the counts of other calls.
    pub fn add(&mut self, more: &Self) {
        self.calls = self.calls.saturating_add(more.calls);
        self.answered = self.answered.saturating_add(more.answered);
        self.seconds = self.seconds.saturating_add(more.seconds);
        self.opt_outs = self.opt_outs.saturating_add(more.opt_outs);
        add_each(&mut self.outcomes, &more.outcomes);
        add_each(&mut self.sentiment, &more.sentiment);
        add_each(&mut self.cost, &more.cost);
        add_each(&mut self.latencies, &more.latencies);
    }

    /// Returns the latency in milliseconds that this share of the answers does not exceed. Returns `None` if there
    /// are no answers.
    pub fn latency_ms(&self, percent: u64) -> Option<u64> {
        let all: u64 = self.latencies.values().sum();
        let rank = all.saturating_mul(percent).div_ceil(100).max(1);
        let mut passed = 0_u64;
        let mut bounds = self.latencies.iter();
        let found = bounds.find(|(_, count)| {
            passed = passed.saturating_add(**count);
            passed >= rank
        });
        found.map(|(bound, _)| *bound)
    }
}

/// An ended call with its counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedCall {
    /// The call.
    pub call: AttemptId,
    /// Owner.
    pub account: AccountId,
    /// Campaign, if it belongs to one.
    pub campaign: Option<CampaignId>,
    /// Agent.
    pub agent: AgentId,
    /// Version of the agent, if it is known.
    pub version: Option<i64>,
    /// Start.
    pub started_at: Timestamp,
    /// Counts of this call.
    pub counts: CallCounts,
}

impl CountedCall {
    /// Returns an ended call with these counts.
    pub fn of(row: &ConversationRow, counts: CallCounts) -> Self {
        Self {
            call: row.id,
            account: row.account,
            campaign: row.campaign,
            agent: row.agent,
            version: row.agent_version,
            started_at: row.started_at,
            counts,
        }
    }
}

/// Ended calls to count together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CountingBatch {
    /// Place before and after the batch, for calls that ended before calls were counted.
    pub past: Option<(AttemptId, AttemptId)>,
    /// The calls, also deleted ones.
    pub calls: Vec<AttemptId>,
    /// Those calls that are not deleted, with their analyses.
    pub rows: Vec<ConversationRow>,
}

/// Filter and grouping of counts.
#[derive(Debug, Clone, Copy)]
pub struct CountsFilter {
    /// Grouping.
    pub by: CountedBy,
    /// Starts of calls: from the first time on, before the second. The last [`USUAL_DAYS`] without it.
    pub span: Option<(Timestamp, Timestamp)>,
    /// Campaign.
    pub campaign: Option<CampaignId>,
    /// Agent.
    pub agent: Option<AgentId>,
}

impl CountsFilter {
    /// Returns the span that is read, widened to whole hours or days.
    pub fn span_at(&self, now: Timestamp) -> (Timestamp, Timestamp) {
        let step = self.by.step_us();
        let (from, until) = self.span.unwrap_or((days_after(now, -USUAL_DAYS), now));
        let floor = |time: i64| time.div_euclid(step).saturating_mul(step);
        let up = until.0.saturating_add(step - 1);
        (Timestamp(floor(from.0)), Timestamp(floor(up)))
    }

    /// Returns whether hours are read instead of days.
    pub fn reads_hours(&self) -> bool {
        self.by == CountedBy::Hour
    }

    /// Returns whether counts must be separated by campaign.
    pub fn needs_campaign(&self) -> bool {
        self.campaign.is_some() || self.by == CountedBy::Campaign
    }

    /// Returns whether counts must be separated by agent.
    pub fn needs_agent(&self) -> bool {
        self.agent.is_some() || matches!(self.by, CountedBy::Agent | CountedBy::Version)
    }

    /// Returns the group of calls with these properties.
    pub fn group(&self, whole: CountedGroup) -> CountedGroup {
        let none = CountedGroup::default();
        match self.by {
            CountedBy::Hour | CountedBy::Day => CountedGroup {
                start: whole.start,
                ..none
            },
            CountedBy::Campaign => CountedGroup {
                campaign: whole.campaign,
                ..none
            },
            CountedBy::Agent => CountedGroup {
                agent: whole.agent,
                ..none
            },
            CountedBy::Version => CountedGroup {
                agent: whole.agent,
                version: whole.version,
                ..none
            },
        }
    }
}

/// Returns the start of the hour, or else of the day, in UTC.
pub fn start_of(time: Timestamp, hour: bool) -> Timestamp {
    let step = if hour { HOUR_US } else { DAY_US };
    Timestamp(time.0 - time.0.rem_euclid(step))
}

/// Properties that the calls of a group share; of those by which it is not grouped, none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CountedGroup {
    /// Start of the hour or day.
    pub start: Option<Timestamp>,
    /// Campaign; none also for calls of no campaign.
    pub campaign: Option<CampaignId>,
    /// Agent.
    pub agent: Option<AgentId>,
    /// Version of the agent; none also if it is not known.
    pub version: Option<i64>,
}

/// Counts by group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupedCounts {
    /// Start and end of the span that was read.
    pub span: (Timestamp, Timestamp),
    /// Groups with at least one call.
    pub groups: BTreeMap<CountedGroup, CallCounts>,
    /// Whether calls that ended before calls were counted are all included.
    pub complete: bool,
}

/// Counts of ended calls. They outlive the calls' content and deletion.
#[async_trait]
pub trait AnalyticsStore: Send + Sync {
    /// Returns ended calls to count, at most `limit`: first those of the past, newest first, then the others in the
    /// order of their ends, once they are analysed or too old to wait for it. An empty batch means that there are none.
    async fn calls_to_count(&self, limit: i64) -> StoreResult<CountingBatch>;

    /// Adds the counts of a batch, in one transaction. A call that was counted meanwhile is not counted again.
    /// Returns `Stale`, and counts nothing, if the place of the past changed since the batch was read.
    async fn count_calls(&self, batch: &CountingBatch, counted: Vec<CountedCall>) -> StoreResult<()>;

    /// Returns the counts of an account's calls by group.
    async fn call_counts(&self, account: AccountId, filter: CountsFilter) -> StoreResult<GroupedCounts>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_bound_that_its_share_does_not_exceed() {
        let mut counts = CallCounts::default();
        assert_eq!(counts.latency_ms(50), None);
        counts.latencies = BTreeMap::from([(20, 94), (500, 1), (9_000, 5)]);
        assert_eq!(counts.latency_ms(50), Some(20));
        assert_eq!(counts.latency_ms(95), Some(500));
        assert_eq!(counts.latency_ms(96), Some(9_000));
    }

    #[test]
    fn a_span_is_widened_to_whole_hours_or_days() {
        let filter = |by, span| CountsFilter {
            by,
            span,
            campaign: None,
            agent: None,
        };
        let (hour, day) = (Timestamp(HOUR_US), Timestamp(DAY_US));
        let some = Some((Timestamp(HOUR_US + 1), Timestamp(2 * HOUR_US - 1)));
        let now = Timestamp(100 * DAY_US + 5);
        assert_eq!(
            filter(CountedBy::Hour, some).span_at(now),
            (hour, Timestamp(2 * HOUR_US))
        );
        assert_eq!(filter(CountedBy::Day, some).span_at(now), (Timestamp(0), day));
        let exact = Some((Timestamp(0), day));
        assert_eq!(filter(CountedBy::Agent, exact).span_at(now), (Timestamp(0), day));
        let usual = (Timestamp(70 * DAY_US), Timestamp(101 * DAY_US));
        assert_eq!(filter(CountedBy::Day, None).span_at(now), usual);
        let ends = Some((Timestamp(i64::MIN), Timestamp(i64::MAX)));
        let (from, until) = filter(CountedBy::Day, ends).span_at(now);
        assert!(from < now && until > now);
    }
}
