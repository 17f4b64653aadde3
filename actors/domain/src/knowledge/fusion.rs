//! Reciprocal rank fusion: combines several rankings whose scores cannot be compared.

use std::collections::BTreeMap;

use super::index::Hit;

/// Weight of the first ranks against later ones; the value of Cormack, Clarke and Büttcher (SIGIR 2009).
const K: f32 = 60.0;

/// Combines the rankings into one, best first, at most `most`. A hit near the top of several comes before one
/// that is first in a single ranking.
pub fn fused(orders: &[Vec<Hit>], most: usize) -> Vec<Hit> {
    let mut scores: BTreeMap<usize, f32> = BTreeMap::new();
    for order in orders {
        for (rank, hit) in order.iter().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "a few dozen ranks")]
            let share = 1.0 / (K + rank as f32 + 1.0);
            *scores.entry(hit.passage).or_default() += share;
        }
    }
    let hits = scores.into_iter().map(|(passage, score)| Hit { passage, score });
    super::index::best(hits.collect(), most)
}
