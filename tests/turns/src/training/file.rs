//! Writes the model's file.

use media::turn::endpointing::model::{FEATURES, STEP_MS, VERSION};

use super::{lexicon::Lexicon, trees::Forest};

/// Returns the share of the pauses that last longer, every [`STEP_MS`] milliseconds until none does.
pub(super) fn curve(pauses_ms: &[u64]) -> Vec<u16> {
    let mut sorted = pauses_ms.to_vec();
    sorted.sort_unstable();
    let longest_ms = sorted.last().copied().unwrap_or(0);
    let share = |ms: u64| {
        let longer = sorted.len() - sorted.partition_point(|pause| *pause <= ms);
        (longer * usize::from(u16::MAX) / sorted.len().max(1)) as u16
    };
    (0..=longest_ms / STEP_MS).map(|step| share(step * STEP_MS)).collect()
}

/// Returns the file.
pub(super) fn bytes(curve: &[u16], forest: &Forest, lexicon: &Lexicon) -> Vec<u8> {
    let mut bytes = b"RBTE".to_vec();
    let counts = [
        usize::from(VERSION),
        FEATURES,
        forest.trees.len(),
        curve.len(),
        lexicon.len(),
    ];
    for count in counts {
        bytes.extend((count as u16).to_le_bytes());
    }
    bytes.extend(forest.start.to_le_bytes());
    bytes.extend(curve.iter().flat_map(|share| share.to_le_bytes()));
    for tree in &forest.trees {
        bytes.extend(tree.features);
        bytes.extend(tree.thresholds.iter().flat_map(|threshold| threshold.to_le_bytes()));
        bytes.extend(tree.leaves.iter().flat_map(|leaf| leaf.to_le_bytes()));
    }
    for (word, score) in lexicon.words() {
        bytes.extend([score.cast_unsigned(), word.len() as u8]);
        bytes.extend(word.as_bytes());
    }
    bytes
}
