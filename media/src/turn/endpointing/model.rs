//! The trained model of the end of a turn: boosted trees, scores of words, and how long pauses last. `turns train`
//! writes its file.
//!
//! | Bytes | Content |
//! |---|---|
//! | 4 | `RBTE` |
//! | 2 | version |
//! | 2 | number of features |
//! | 2 | number of trees |
//! | 2 | number of points of the curve |
//! | 2 | number of words |
//! | 2 | log odds before the first tree |
//! | 2 × points | share of the pauses that last longer, every [`STEP_MS`] milliseconds, in 1/65535 |
//! | 77 × trees | features of 15 nodes in order of their levels, then their thresholds, then 16 leaves |
//! | words | for each: its score, its length in bytes, its text |
//!
//! Numbers are little-endian, thresholds and leaves `i16`, log odds in 1/[`UNIT`].

/// Number of features.
pub const FEATURES: usize = 28;

/// Value for each feature.
pub type Features = [i16; FEATURES];

/// Version of the file's layout.
pub const VERSION: u16 = 1;

/// Distance of the curve's points in milliseconds.
pub const STEP_MS: u64 = 20;

/// Log odds of 1 in the file.
pub const UNIT: f32 = 512.0;

/// Levels of a tree.
const DEPTH: usize = 4;

/// Inner nodes of a tree.
pub const INNER: usize = (1 << DEPTH) - 1;

/// Leaves of a tree.
pub const LEAVES: usize = 1 << DEPTH;

/// Bytes of a tree.
const TREE: usize = INNER + 2 * INNER + 2 * LEAVES;

/// Bytes before the curve.
const HEADER: usize = 16;

/// The model that the product uses.
pub static MODEL: Model<'static> = Model::new(include_bytes!("model.bin"));

/// A model in its file's form. It is evaluated without allocation.
#[derive(Debug, Clone, Copy)]
pub struct Model<'a> {
    bytes: &'a [u8],
}

impl<'a> Model<'a> {
    /// Reads a file. One that is cut short or of another version tells nothing.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns whether the file is whole and of this version.
    pub fn is_valid(&self) -> bool {
        let mut words = self.words();
        let count = words.by_ref().count();
        self.bytes.starts_with(b"RBTE")
            && self.short(4) == i32::from(VERSION)
            && self.number(6) == FEATURES
            && count == self.number(12)
            && self.trees().len() == self.number(8) * TREE
            && self.number(10) > 0
    }

    /// Returns the log odds that a pause of these features ends the turn, before it has lasted.
    pub fn log_odds(&self, features: &Features) -> f32 {
        let trees = self.trees().chunks_exact(TREE);
        let sum: i32 = trees.map(|tree| leaf(tree, features)).sum();
        (self.signed(14) + sum) as f32 / UNIT
    }

    /// Returns the share of the pauses within turns that last longer than this.
    pub fn lasting(&self, ms: u64) -> f32 {
        let points = self.number(10);
        let step = usize::try_from(ms / STEP_MS).unwrap_or(usize::MAX);
        match step < points {
            true => self.short(HEADER + 2 * step) as f32 / f32::from(u16::MAX),
            false => 0.0,
        }
    }

    /// Returns the score of a word (positive if it often ends turns), or `None` if the model does not know it.
    pub fn score(&self, word: &str) -> Option<i16> {
        let known = self.words().find(|(_, known)| *known == word.as_bytes());
        known.map(|(score, _)| i16::from(score))
    }

    fn trees(&self) -> &'a [u8] {
        let from = HEADER + 2 * self.number(10);
        let to = from + TREE * self.number(8);
        self.bytes.get(from..to).unwrap_or_default()
    }

    fn words(&self) -> impl Iterator<Item = (i8, &'a [u8])> + use<'a> {
        let from = HEADER + 2 * self.number(10) + TREE * self.number(8);
        let mut rest = self.bytes.get(from..).unwrap_or_default();
        std::iter::from_fn(move || {
            let (&[score, length], after) = rest.split_first_chunk()?;
            let (word, after) = after.split_at_checked(usize::from(length))?;
            rest = after;
            Some((score.cast_signed(), word))
        })
    }

    fn number(&self, at: usize) -> usize {
        usize::try_from(self.short(at)).unwrap_or(0)
    }

    fn short(&self, at: usize) -> i32 {
        self.signed(at) & 0xffff
    }

    fn signed(&self, at: usize) -> i32 {
        self.bytes.get(at..).map_or(0, |bytes| i32::from(short(bytes, 0)))
    }
}

/// Returns the leaf of a tree: at each inner node, a feature above the threshold leads to the right.
fn leaf(tree: &[u8], features: &Features) -> i32 {
    let (chosen, rest) = tree.split_at(INNER);
    let mut node = 0;
    for _ in 0..DEPTH {
        let feature = chosen.get(node).map_or(0, |feature| usize::from(*feature));
        let value = features.get(feature).copied().unwrap_or(i16::MIN);
        node = 2 * node + 1 + usize::from(value > short(rest, node));
    }
    i32::from(short(rest, node))
}

fn short(bytes: &[u8], at: usize) -> i16 {
    match bytes.get(2 * at..2 * at + 2) {
        Some(&[low, high]) => i16::from_le_bytes([low, high]),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_model_is_whole() {
        assert!(MODEL.is_valid());
        assert!((20..=80).contains(&MODEL.number(8)), "{} trees", MODEL.number(8));
        assert!(MODEL.bytes.len() <= 8 * 1_024, "{} bytes", MODEL.bytes.len());
        let bytes = MODEL.bytes;
        for cut in [&[][..], &bytes[..HEADER], &bytes[..bytes.len() - 1], &bytes[1..]] {
            assert!(!Model::new(cut).is_valid());
        }
    }

    #[test]
    fn a_file_that_is_cut_short_tells_nothing() {
        let model = Model::new(b"RBTE");
        assert_eq!(model.log_odds(&[0; FEATURES]), 0.0);
        assert_eq!((model.lasting(0), model.score("and")), (0.0, None));
    }

    #[test]
    fn fewer_and_fewer_pauses_last_longer() {
        let shares: Vec<f32> = (0..300).map(|step| MODEL.lasting(step * 10)).collect();
        assert!(shares[0] > 0.99 && shares[299] < 0.01, "{shares:?}");
        assert!(shares.is_sorted_by(|longer, shorter| longer >= shorter));
    }

    #[test]
    fn a_tree_leads_to_the_right_above_a_threshold() {
        let mut tree = [0; TREE];
        // Feature 3 above 7 leads to the upper half of the leaves.
        tree[0] = 3;
        tree[INNER..INNER + 2].copy_from_slice(&7_i16.to_le_bytes());
        for node in 1..INNER {
            tree[INNER + 2 * node..INNER + 2 * node + 2].copy_from_slice(&i16::MAX.to_le_bytes());
        }
        for leaf in 0..LEAVES {
            let at = 3 * INNER + 2 * leaf;
            tree[at..at + 2].copy_from_slice(&(leaf as i16 * 100).to_le_bytes());
        }
        let mut features = [0; FEATURES];
        features[3] = 7;
        assert_eq!(leaf(&tree, &features), 0);
        features[3] = 8;
        assert_eq!(leaf(&tree, &features), 800);
    }

    #[test]
    fn connectives_score_lower_than_words_that_end_sentences() {
        for (open, closed) in [("and", "please"), ("und", "bitte"), ("y", "gracias")] {
            let score = |word| MODEL.score(word).unwrap_or(0);
            assert!(score(open) < 0 && score(open) < score(closed), "{open} {closed}");
        }
    }
}
