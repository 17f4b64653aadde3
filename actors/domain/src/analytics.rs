//! Counting of ended calls for analytics.

use std::collections::BTreeMap;

use crate::{
    conversation::{self, TurnLatency},
    ports::store::{CallCounts, CallOutcome, ConversationRow, CountedCall, OPTED_OUT, OutcomeSign, Store, StoreResult},
    prices::{self, PriceList},
};

/// Latencies up to this many milliseconds are rounded up to a multiple of [`FINE_MS`], longer ones of [`COARSE_MS`].
const FINE_UP_TO_MS: u64 = 2_000;
const FINE_MS: u64 = 20;
const COARSE_MS: u64 = 100;
/// Longer latencies count as this many milliseconds.
const LONGEST_MS: u64 = 10_000;

/// Counts ended calls, at most `limit`. Returns whether there were any, so that there may be more.
///
/// # Errors
///
/// Returns an error if the store fails. `Stale` means that another node counted the same calls.
pub async fn count(store: &dyn Store, prices: Option<&PriceList>, limit: i64) -> StoreResult<bool> {
    let batch = store.calls_to_count(limit).await?;
    if batch.past.is_none() && batch.calls.is_empty() {
        return Ok(false);
    }
    let mut counted = Vec::with_capacity(batch.rows.len());
    for row in &batch.rows {
        counted.push(CountedCall::of(row, counts_of(store, row, prices).await?));
    }
    store.count_calls(&batch, counted).await?;
    Ok(true)
}

async fn counts_of(store: &dyn Store, row: &ConversationRow, prices: Option<&PriceList>) -> StoreResult<CallCounts> {
    let latencies = match row.answered_at {
        Some(_) => conversation::latencies(store, row.id).await?,
        None => Vec::new(),
    };
    let opted_out = store.last_event(row.id, OPTED_OUT).await?;
    Ok(CallCounts {
        opt_outs: u64::from(opted_out.is_some()),
        ..counts(row, &latencies, prices)
    })
}

/// Returns the counts of one ended call, without an opt-out.
pub fn counts(row: &ConversationRow, latencies: &[TurnLatency], prices: Option<&PriceList>) -> CallCounts {
    let once = |word: &str| (word.to_owned(), 1);
    let analysis = row.analysis.as_ref();
    let cost = prices.map(|prices| {
        (
            prices.currency().to_owned(),
            prices::nanos(prices, row, row.usage.as_ref()),
        )
    });
    let mut bounds = BTreeMap::new();
    for latency in latencies {
        *bounds.entry(bound_ms(latency.playout_ms)).or_default() += 1;
    }
    CallCounts {
        calls: 1,
        answered: u64::from(row.answered_at.is_some()),
        seconds: row.duration_s(),
        opt_outs: 0,
        outcomes: outcome(row).map(|outcome| once(outcome.as_str())).into_iter().collect(),
        sentiment: analysis
            .map(|analysis| once(analysis.sentiment.sentiment_overall.as_str()))
            .into_iter()
            .collect(),
        cost: cost.into_iter().collect(),
        latencies: bounds,
    }
}

/// Returns the outcome of an ended call that says most: the reason of its failure, else whether a machine answered,
/// else its status.
fn outcome(row: &ConversationRow) -> Option<CallOutcome> {
    let error = row.error.as_deref().and_then(|error| error.split(':').next());
    let reason = CallOutcome::ALL.into_iter().find(|outcome| match outcome.sign() {
        OutcomeSign::Error(word) => error == Some(word),
        OutcomeSign::Status(_) | OutcomeSign::Machine => false,
    });
    let machine = row.voicemail.then_some(CallOutcome::Voicemail);
    let status = OutcomeSign::Status(row.status);
    let of_status = CallOutcome::ALL.into_iter().find(|outcome| outcome.sign() == status);
    reason.or(machine).or(of_status)
}

/// Returns the upper bound in milliseconds under which a latency is counted.
fn bound_ms(latency_ms: i64) -> u64 {
    let ms = u64::try_from(latency_ms).unwrap_or_default().min(LONGEST_MS);
    let step = if ms <= FINE_UP_TO_MS { FINE_MS } else { COARSE_MS };
    ms.div_ceil(step).max(1) * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_rounded_up_to_documented_bounds() {
        for (ms, bound) in [
            (-5, 20),
            (0, 20),
            (20, 20),
            (21, 40),
            (2_000, 2_000),
            (2_001, 2_100),
            (9_999, 10_000),
            (10_001, 10_000),
            (i64::MAX, 10_000),
        ] {
            assert_eq!(bound_ms(ms), bound, "{ms}");
        }
    }
}
