//! `GET /public/v1/analytics`: counts of ended calls by hour, day, campaign, agent or version.

use std::collections::BTreeMap;

use axum::extract::State;
use domain::{
    id::{AgentId, CampaignId},
    ports::store::{CallCounts, CountedBy, CountedGroup, CountsFilter, USUAL_DAYS, days_after},
    prices::{self, PriceList},
    time::Timestamp,
};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::{
    caller::Caller,
    described::{operation::Operation, samples},
    request::{
        cursor::Binding,
        query::{Parameters, Query, RawQuery},
    },
    resources::conversations::filters::TimeSpan,
    response::{envelope::Reply, error::ApiResult},
    state::RestState,
};

/// Parameters of the operation.
#[derive(Debug, Clone)]
pub struct Wanted {
    filter: CountsFilter,
    cursor: Option<String>,
    page_size: i64,
}

impl Parameters for Wanted {
    const NAMES: &'static [&'static str] = &[
        "agentId",
        "campaignId",
        "cursor",
        "groupBy",
        "pageSize",
        "startedAfter",
        "startedBefore",
    ];

    fn read(query: &mut RawQuery) -> Self {
        let ways = format!("one of {}", CountedBy::ALL.map(CountedBy::as_str).join(", "));
        let by = query.parsed("groupBy", &ways, CountedBy::parse);
        let by = by.unwrap_or(CountedBy::Day);
        Self {
            filter: CountsFilter {
                by,
                span: span(query, by),
                campaign: query.parsed("campaignId", "a campaign's id (a UUID)", |text| {
                    text.parse::<CampaignId>().ok()
                }),
                agent: query.parsed("agentId", "an agent's id (a UUID)", |text| text.parse::<AgentId>().ok()),
            },
            cursor: query.text("cursor"),
            page_size: query.page_size(),
        }
    }
}

/// Reads the times, of which one may be missing.
fn span(query: &mut RawQuery, by: CountedBy) -> Option<(Timestamp, Timestamp)> {
    let TimeSpan {
        start: from,
        end: until,
    } = TimeSpan::read(query, "startedAfter", "startedBefore");
    let days = by.longest_days();
    match (from, until) {
        (Some(from), Some(until)) if until > days_after(from, days) => {
            let message = format!(
                "is more than {days} days before `startedBefore`, the most that can be read at once with \
                 `groupBy={}`; ask for the days in parts",
                by.as_str()
            );
            query.problem("startedAfter", "out_of_range", message);
            None
        }
        (Some(from), until) => Some((from, until.unwrap_or(days_after(from, days)))),
        (None, Some(until)) => Some((days_after(until, -USUAL_DAYS), until)),
        (None, None) => None,
    }
}

/// Counts of calls by group.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Analytics {
    /// Property by which calls are grouped.
    pub group_by: CountedBy,
    /// Start of the first hour or day (UTC) that was read, as a Unix time in seconds.
    pub start_time_unix: i64,
    /// End of the last one.
    pub end_time_unix: i64,
    /// False while calls that ended before the update to this version are being counted, newest first.
    pub complete: bool,
    /// Groups with calls: the latest hour or day first, the newest campaign, agent or version first. Calls without a
    /// campaign are the last group.
    pub rows: Vec<AnalyticsRow>,
}

/// Counts of the calls of a group.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnalyticsRow {
    /// Start of the hour or day (UTC), as a Unix time in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time_unix: Option<i64>,
    /// Campaign. Omitted for calls of no campaign.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    pub campaign_id: Option<CampaignId>,
    /// Agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    pub agent_id: Option<AgentId>,
    /// Version of the agent. Omitted for calls that did not begin, or began before versions were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<i64>,
    /// Ended calls.
    #[schema(minimum = 0)]
    pub calls: u64,
    /// Answered calls.
    #[schema(minimum = 0)]
    pub answered: u64,
    /// Sum of `conversationDuration` of the calls, in seconds.
    #[schema(minimum = 0)]
    pub conversation_duration: u64,
    /// Calls by outcome. Each call has one: the reason of its failure, else `voicemail`, else its status.
    pub outcomes: BTreeMap<String, u64>,
    /// Calls in which the person opted out of further calls.
    #[schema(minimum = 0)]
    pub opt_outs: u64,
    /// Analysed calls by overall sentiment.
    pub sentiment: BTreeMap<String, u64>,
    /// Cost of the calls. Omitted without prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CallsCost>,
    /// Latencies of the agent's answers. Omitted if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latencies: Option<Latencies>,
}

/// Cost of several calls.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CallsCost {
    /// Currency of the price list (ISO 4217).
    pub currency: String,
    /// Sum over the calls that were counted with prices in this currency, as a decimal number.
    pub total: String,
}

/// Latencies from the end of the user's speech until the agent's first audio was played, in milliseconds, rounded up
/// to 20 ms, above 2 s to 100 ms. Longer ones count as 10 s.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Latencies {
    /// Number of answers.
    #[schema(minimum = 0)]
    pub answers: u64,
    /// Half of the answers took at most so long.
    #[schema(minimum = 0)]
    pub p50_ms: u64,
    /// 95 % of the answers took at most so long.
    #[schema(minimum = 0)]
    pub p95_ms: u64,
}

impl AnalyticsRow {
    fn of(group: &CountedGroup, counts: &CallCounts, prices: Option<&PriceList>) -> Self {
        let cost = prices.map(|prices| CallsCost {
            currency: prices.currency().to_owned(),
            total: prices::amount(counts.cost.get(prices.currency()).copied().unwrap_or_default()),
        });
        let latency = |percent| counts.latency_ms(percent);
        let latencies = latency(50).zip(latency(95)).map(|(p50_ms, p95_ms)| Latencies {
            answers: counts.latencies.values().sum(),
            p50_ms,
            p95_ms,
        });
        Self {
            start_time_unix: group.start.map(Timestamp::unix_seconds),
            campaign_id: group.campaign,
            agent_id: group.agent,
            agent_version: group.version,
            calls: counts.calls,
            answered: counts.answered,
            conversation_duration: counts.seconds,
            outcomes: counts.outcomes.clone(),
            opt_outs: counts.opt_outs,
            sentiment: counts.sentiment.clone(),
            cost,
            latencies,
        }
    }
}

/// Returns the place of a group: its start or version, and its id. An id is missing where there is none.
fn place(group: &CountedGroup) -> (Timestamp, String) {
    let number = group.start.unwrap_or(Timestamp(group.version.unwrap_or_default()));
    let campaign = group.campaign.map(|id| id.to_string());
    let agent = group.agent.map(|id| id.to_string());
    (number, campaign.or(agent).unwrap_or_default())
}

/// Returns whether a place is behind another one in the list.
fn is_behind((number, id): &(Timestamp, String), (last_number, last_id): &(Timestamp, String)) -> bool {
    (id, number) < (last_id, last_number)
}

/// Handles the request.
pub async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(Wanted {
        filter,
        cursor,
        page_size,
    }): Query<Wanted>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, "analytics", format!("{filter:?}"));
    let after = binding.after::<String>(cursor.as_deref())?;
    let counts = state.store.call_counts(account.id, filter).await?;
    let size = usize::try_from(page_size).unwrap_or_default();
    let mut groups: Vec<_> = counts.groups.iter().rev().collect();
    groups.retain(|(group, _)| after.as_ref().is_none_or(|after| is_behind(&place(group), after)));
    let more = groups.len() > size;
    groups.truncate(size);
    let last = groups.last().filter(|_| more).map(|(group, _)| place(group));
    let prices = state.prices.as_deref();
    let shown = Analytics {
        group_by: filter.by,
        start_time_unix: counts.span.0.unix_seconds(),
        end_time_unix: counts.span.1.unix_seconds(),
        complete: counts.complete,
        rows: groups
            .into_iter()
            .map(|(group, counts)| AnalyticsRow::of(group, counts, prices))
            .collect(),
    };
    Ok(Reply::ok(shown).with_pagination(binding.pagination(page_size, last)))
}

/// Returns the operations of analytics.
pub fn operations() -> Vec<Operation> {
    let uuid = || json!({ "type": "string", "format": "uuid" });
    let time = || json!({ "type": "integer", "minimum": 0 });
    let operation = Operation::get("/public/v1/analytics", "getAnalytics", "Count ended calls")
        .by(show)
        .note(
            "A call is counted under its start, shortly after its end and analysis. Times are widened to whole hours \
             (`groupBy=hour`) or days, in UTC. At most 31 days can be read with `groupBy=hour`, else 366.",
        )
        .query(
            "groupBy",
            "Property by which calls are grouped",
            json!({ "type": "string", "enum": CountedBy::ALL.map(CountedBy::as_str), "default": "day" }),
        )
        .query(
            "startedAfter",
            "Start of the span as a Unix time, in seconds or (from 10^11 on) milliseconds; without it, 30 days before \
             its end",
            time(),
        )
        .query(
            "startedBefore",
            "End of the span as a Unix time, in seconds or (from 10^11 on) milliseconds; without it, the longest span \
             after `startedAfter`, or now",
            time(),
        )
        .query("campaignId", "Only calls of this campaign", uuid())
        .query("agentId", "Only calls of this agent", uuid())
        .paged()
        .page_of::<Analytics>(samples::analytics());
    vec![operation]
}
