//! Unit vectors that represent the meaning of passages, and a nearest-neighbour search over them.

use domain::knowledge::Hit;

/// One vector per passage, stored one after the other.
#[derive(Debug, PartialEq)]
pub(super) struct Vectors {
    dimensions: usize,
    numbers: Vec<f32>,
}

impl Vectors {
    /// Combines vectors. Returns `None` if there are none, if they differ in length, or if they have no numbers.
    pub(super) fn of(vectors: Vec<Vec<f32>>) -> Option<Self> {
        let dimensions = vectors.first().map(Vec::len).filter(|dimensions| *dimensions > 0)?;
        let mut numbers = Vec::with_capacity(dimensions * vectors.len());
        for vector in vectors {
            if vector.len() != dimensions {
                return None;
            }
            numbers.extend(of_length_one(vector));
        }
        Some(Self { dimensions, numbers })
    }

    /// Returns the memory use in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.numbers.len() * size_of::<f32>()
    }

    /// Returns up to `most` passages whose vectors have the smallest angle to this one, best first. Returns
    /// none if its length differs from theirs.
    pub(super) fn nearest(&self, vector: Vec<f32>, most: usize) -> Vec<Hit> {
        if vector.len() != self.dimensions {
            return Vec::new();
        }
        let wanted = of_length_one(vector);
        let passages = self.numbers.chunks_exact(self.dimensions).enumerate();
        let mut hits: Vec<Hit> = passages
            .map(|(passage, vector)| Hit {
                passage,
                score: vector.iter().zip(&wanted).map(|(one, other)| one * other).sum(),
            })
            .filter(|hit: &Hit| hit.score > 0.0)
            .collect();
        hits.sort_unstable_by(|one, other| other.score.total_cmp(&one.score));
        hits.truncate(most);
        hits
    }
}

fn of_length_one(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length.is_normal() {
        vector.iter_mut().for_each(|number| *number /= length);
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_come_first_whatever_their_length() {
        let vectors = Vectors::of(vec![vec![1.0, 0.0], vec![30.0, 40.0], vec![-1.0, 0.0], vec![0.0, 0.0]]).unwrap();
        let places = |vector: Vec<f32>, most| -> Vec<usize> {
            vectors.nearest(vector, most).iter().map(|hit| hit.passage).collect()
        };
        assert_eq!(places(vec![0.6, 0.8], 5), [1, 0]);
        assert_eq!(places(vec![5.0, 0.0], 1), [0]);
        assert!(places(vec![1.0], 5).is_empty(), "another model's");
        assert_eq!(Vectors::of(vec![vec![1.0], vec![1.0, 2.0]]), None);
        assert_eq!(Vectors::of(Vec::new()), None);
    }
}
