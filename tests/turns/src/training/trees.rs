//! Gradient-boosted trees for the log odds of an event (second-order boosting with a logistic loss).

use std::{collections::BTreeMap, fmt};

use media::turn::endpointing::model::{FEATURES, Features, INNER, LEAVES, UNIT};

/// Share of each tree's correction that is applied.
const RATE: f64 = 0.12;

/// Weight that holds leaves near zero.
const RIDGE: f64 = 20.0;

/// Least second derivative of a leaf.
const LEAST: f64 = 15.0;

/// Least gain of a split.
const GAIN: f64 = 1.0;

/// Most thresholds of a feature.
const THRESHOLDS: usize = 48;

/// An example.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) features: Features,
    pub(super) is_over: bool,
    pub(super) weight: f64,
}

/// A tree in the order of its levels. A node without a split leads to the left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) features: [u8; INNER],
    pub(super) thresholds: [i16; INNER],
    pub(super) leaves: [i16; LEAVES],
}

impl Tree {
    fn leaf(&self, features: &Features) -> usize {
        let mut node = 0;
        while node < INNER {
            node = self.below(node, features);
        }
        node - INNER
    }

    /// Returns the node of the next level to which an inner node leads.
    fn below(&self, node: usize, features: &Features) -> usize {
        let value = features[usize::from(self.features[node])];
        2 * node + 1 + usize::from(value > self.thresholds[node])
    }
}

/// Trees, whose sum is the log odds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Forest {
    pub(super) start: i16,
    pub(super) trees: Vec<Tree>,
    /// Values at which each feature may be split, ascending.
    thresholds: Vec<Vec<i16>>,
}

/// First and second derivative of the loss, summed.
#[derive(Debug, Clone, Copy, Default)]
struct Slope {
    first: f64,
    second: f64,
}

impl Slope {
    fn add(&mut self, other: Self) {
        self.first += other.first;
        self.second += other.second;
    }

    fn less(self, other: Self) -> Self {
        Self {
            first: self.first - other.first,
            second: self.second - other.second,
        }
    }

    fn gain(self) -> f64 {
        self.first * self.first / (self.second + RIDGE)
    }
}

impl Forest {
    /// Returns the forest without trees.
    pub(super) fn start(samples: &[Sample]) -> Self {
        let sum = |is_over| -> f64 {
            let of = samples.iter().filter(|sample| sample.is_over == is_over);
            of.map(|sample| sample.weight).sum()
        };
        Self {
            start: ((sum(true) / sum(false)).ln() * f64::from(UNIT)) as i16,
            trees: Vec::new(),
            thresholds: (0..FEATURES).map(|feature| thresholds(samples, feature)).collect(),
        }
    }

    /// Adds a tree.
    pub(super) fn grow(&mut self, samples: &[Sample]) {
        let slopes: Vec<Slope> = samples.iter().map(|sample| self.slope(sample)).collect();
        let mut tree = Tree {
            features: [0; INNER],
            thresholds: [i16::MAX; INNER],
            leaves: [0; LEAVES],
        };
        let mut places = vec![0_usize; samples.len()];
        let mut first = 0;
        while first < INNER {
            let width = first + 1;
            for node in first..first + width {
                if let Some((feature, threshold)) = self.split(samples, &slopes, &places, node) {
                    tree.features[node] = feature as u8;
                    tree.thresholds[node] = threshold;
                }
            }
            for (place, sample) in places.iter_mut().zip(samples) {
                *place = tree.below(*place, &sample.features);
            }
            first += width;
        }
        let mut sums = [Slope::default(); LEAVES];
        for (place, slope) in places.iter().zip(&slopes) {
            sums[place - INNER].add(*slope);
        }
        tree.leaves = sums.map(|sum| (-RATE * sum.first / (sum.second + RIDGE) * f64::from(UNIT)).round() as i16);
        self.trees.push(tree);
    }

    /// Returns the loss and the area under the receiver's curve.
    pub(super) fn quality(&self, samples: &[Sample]) -> Quality {
        let mut scored: Vec<(f64, &Sample)> = samples
            .iter()
            .map(|sample| (self.log_odds(&sample.features), sample))
            .collect();
        scored.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (mut loss, mut weight, mut below, mut area, mut over) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for chunk in scored.chunk_by(|one, other| one.0 == other.0) {
            let sum = |is_over| -> f64 {
                let of = chunk.iter().filter(|(_, sample)| sample.is_over == is_over);
                of.map(|(_, sample)| sample.weight).sum()
            };
            let (positive, negative) = (sum(true), sum(false));
            area += positive * (below + negative / 2.0);
            below += negative;
            over += positive;
            let odds = chunk.first().map_or(0.0, |(odds, _)| *odds);
            loss += positive * (-odds).exp().ln_1p() + negative * odds.exp().ln_1p();
            weight += positive + negative;
        }
        Quality {
            loss: loss / weight,
            area: area / (below * over),
        }
    }

    /// Returns how often each feature splits.
    pub(super) fn uses(&self) -> BTreeMap<u8, usize> {
        let mut uses = BTreeMap::new();
        for tree in &self.trees {
            for (feature, threshold) in tree.features.iter().zip(&tree.thresholds) {
                *uses.entry(*feature).or_default() += usize::from(*threshold < i16::MAX);
            }
        }
        uses
    }

    fn log_odds(&self, features: &Features) -> f64 {
        let leaves = self
            .trees
            .iter()
            .map(|tree| i32::from(tree.leaves[tree.leaf(features)]));
        f64::from(i32::from(self.start) + leaves.sum::<i32>()) / f64::from(UNIT)
    }

    fn slope(&self, sample: &Sample) -> Slope {
        let chance = 1.0 / (1.0 + (-self.log_odds(&sample.features)).exp());
        Slope {
            first: sample.weight * (chance - f64::from(u8::from(sample.is_over))),
            second: sample.weight * (chance * (1.0 - chance)).max(1e-6),
        }
    }

    /// Returns the best split of a node.
    fn split(&self, samples: &[Sample], slopes: &[Slope], places: &[usize], node: usize) -> Option<(usize, i16)> {
        let here: Vec<usize> = (0..samples.len()).filter(|at| places[*at] == node).collect();
        let mut best: Option<(f64, usize, i16)> = None;
        for (feature, thresholds) in self.thresholds.iter().enumerate() {
            let mut sums = vec![Slope::default(); thresholds.len() + 1];
            for at in &here {
                let value = samples[*at].features[feature];
                sums[thresholds.partition_point(|threshold| *threshold < value)].add(slopes[*at]);
            }
            let mut all = Slope::default();
            sums.iter().for_each(|sum| all.add(*sum));
            let mut left = Slope::default();
            for (sum, threshold) in sums.iter().zip(thresholds) {
                left.add(*sum);
                let right = all.less(left);
                let gain = left.gain() + right.gain() - all.gain();
                let is_large = left.second >= LEAST && right.second >= LEAST && gain > GAIN;
                if is_large && best.is_none_or(|(other, ..)| gain > other) {
                    best = Some((gain, feature, *threshold));
                }
            }
        }
        best.map(|(_, feature, threshold)| (feature, threshold))
    }
}

/// Quality of a forest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quality {
    loss: f64,
    area: f64,
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "log loss {:.4}, ROC area {:.3}", self.loss, self.area)
    }
}

fn thresholds(samples: &[Sample], feature: usize) -> Vec<i16> {
    let mut values: Vec<i16> = samples.iter().map(|sample| sample.features[feature]).collect();
    values.sort_unstable();
    let step = (values.len() / THRESHOLDS).max(1);
    let mut chosen: Vec<i16> = match values.chunk_by(|one, other| one == other).count() <= THRESHOLDS {
        true => values.clone(),
        false => values.iter().step_by(step).copied().collect(),
    };
    chosen.dedup();
    // Nothing is above the greatest.
    if chosen.last() == values.last() {
        chosen.pop();
    }
    chosen
}
