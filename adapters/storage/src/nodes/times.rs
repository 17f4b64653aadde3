//! Timings shared by the nodes of a database. They are stored when a node registers: a node with other
//! timings would declare healthy nodes dead, or be declared dead by them.

use std::{collections::HashMap, time::Duration};

use domain::{
    id::NodeId,
    node_times::Times,
    ports::store::{StoreError, StoreResult},
    time::Timestamp,
};

use crate::engine::{
    Work,
    liveness::{before, declare_dead},
    rows::{Columns, Fetch, affected},
};

/// Name of the timings in the table `cluster`.
const NODE_TIMES: &str = "node_times";

/// Stores the node's timings, or returns `OtherTimes` if nodes with other timings are alive. When they are
/// stored, nodes that were silent for the earlier limit are dead and must register again if they come back.
pub(super) async fn agree(work: &mut Work<'_>, node: NodeId, times: Times, now: Timestamp) -> StoreResult<()> {
    let own = written(times);
    // Lock the row, whether or not it exists: of two nodes that start at once the second sees the first.
    let hold = sqlx::query(
        "INSERT INTO cluster (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET name = excluded.name",
    );
    affected(hold.bind(NODE_TIMES).bind(own.clone()), &mut *work.conn).await?;
    let kept = sqlx::query("SELECT value FROM cluster WHERE name = $1").bind(NODE_TIMES);
    let kept = kept.one(&mut *work.conn).await?.text("value")?;
    if kept == own {
        return Ok(());
    }
    let kept = read(&kept);
    if work.dialect.many_nodes
        && let Some(words) = differences(times, &kept)
    {
        let dead_after = kept.get("dead-after").copied().unwrap_or(times.dead_after);
        let silent_since = before(now, dead_after);
        let others =
            sqlx::query("SELECT COUNT(*) AS nodes FROM nodes WHERE state = 'live' AND id <> $1 AND seen_at > $2");
        let others = others.bind(node.to_string()).bind(silent_since);
        let others = others.one(&mut *work.conn).await?;
        if others.int("nodes")? > 0 {
            return Err(StoreError::OtherTimes(words));
        }
        declare_dead(work, node, silent_since).await?;
        tracing::info!(times = own, "node timings changed");
    }
    let keep = sqlx::query("UPDATE cluster SET value = $2 WHERE name = $1");
    affected(keep.bind(NODE_TIMES).bind(own), &mut *work.conn)
        .await
        .map(drop)
}

/// Formats the times as `heartbeat=3000 dead-after=15000 …`, in milliseconds.
fn written(times: Times) -> String {
    let words = times.named().map(|(name, time)| format!("{name}={}", time.as_millis()));
    words.join(" ")
}

/// Parses the times, skipping unreadable ones.
fn read(written: &str) -> HashMap<&str, Duration> {
    let pairs = written.split_whitespace().filter_map(|word| word.split_once('='));
    let pairs = pairs.filter_map(|(name, ms)| Some((name, Duration::from_millis(ms.parse().ok()?))));
    pairs.collect()
}

/// Names the settings that differ from the stored ones and the way out; none if all agree.
fn differences(times: Times, kept: &HashMap<&str, Duration>) -> Option<String> {
    let differ = times.named().into_iter().filter_map(|(name, own)| {
        let theirs = kept.get(name).filter(|theirs| **theirs != own)?;
        let variable = name.to_uppercase().replace('-', "_");
        let (own, theirs) = (own.as_millis(), theirs.as_millis());
        Some(format!(
            "RINGBACK_{variable}_MS is {own}, but {theirs} on the other nodes of this database"
        ))
    });
    let differ: Vec<String> = differ.collect();
    (!differ.is_empty()).then(|| {
        format!(
            "{}: give all nodes the same value; to change it, stop all nodes first",
            differ.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named_with_both_values_and_the_way_out() {
        let kept = written(Times::default());
        assert_eq!(
            kept,
            "heartbeat=3000 dead-after=15000 send-within=5000 settle-from=15000 settle-until=120000"
        );
        assert_eq!(differences(Times::default(), &read(&kept)), None);
        // A time that another version did not store, or stores in addition, is no difference.
        assert_eq!(differences(Times::default(), &read("heartbeat=3000 more=1 x")), None);
        let other = Times {
            heartbeat: Duration::from_millis(100),
            send_within: Duration::from_millis(500),
            ..Times::default()
        };
        assert_eq!(
            differences(other, &read(&kept)).unwrap(),
            "RINGBACK_HEARTBEAT_MS is 100, but 3000 on the other nodes of this database; RINGBACK_SEND_WITHIN_MS is 500, \
             but 5000 on the other nodes of this database: give all nodes the same value; to change it, stop all nodes \
             first"
        );
    }
}
