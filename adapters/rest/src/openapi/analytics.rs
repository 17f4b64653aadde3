//! Analytics.

use domain::ports::store::CountedBy;
use serde_json::json;

use crate::described::{operation::Operation, samples};
use crate::resources::analytics::Analytics;

/// Returns the operations of analytics.
pub fn operations() -> Vec<Operation> {
    let uuid = || json!({ "type": "string", "format": "uuid" });
    let time = || json!({ "type": "integer", "minimum": 0 });
    let operation = Operation::get("/public/v1/analytics", "getAnalytics", "Count ended calls")
        .ours()
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
