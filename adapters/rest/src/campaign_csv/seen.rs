//! Which numbers a file had so far, in twenty-odd bytes a row.

use std::hash::{BuildHasher, RandomState};

/// Numbers with the row in which each came first.
#[derive(Debug, Default)]
pub struct Seen {
    /// In the order in which they came.
    numbers: Vec<u64>,
    /// The row of each.
    rows: Vec<u32>,
    /// Open addressing: places in `numbers`, counted from 1; 0 is free. A power of two, at most two thirds full.
    table: Vec<u32>,
    /// Its keys are random, so that no file can be made to collide.
    hasher: RandomState,
}

impl Seen {
    /// The row in which `number` came first; none, and noted, if this is the one.
    pub fn note(&mut self, number: u64, row: u32) -> Option<u32> {
        if self.numbers.len() * 3 >= self.table.len() * 2 {
            self.grow();
        }
        match self.slot(number) {
            Ok(first) => Some(first),
            Err(free) => {
                self.numbers.push(number);
                self.rows.push(row);
                self.table[free] = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
                None
            }
        }
    }

    /// The row of a number that is known, else the free slot for it.
    fn slot(&self, number: u64) -> Result<u32, usize> {
        let mask = self.table.len() - 1;
        #[expect(clippy::cast_possible_truncation, reason = "a hash has bits enough either way")]
        let mut slot = self.hasher.hash_one(number) as usize & mask;
        while let Some(place) = (self.table[slot] as usize).checked_sub(1) {
            if self.numbers[place] == number {
                return Ok(self.rows[place]);
            }
            slot = (slot + 1) & mask;
        }
        Err(slot)
    }

    fn grow(&mut self) {
        self.table = vec![0; (self.table.len() * 2).max(1_024)];
        for place in 0..self.numbers.len() {
            if let Err(free) = self.slot(self.numbers[place]) {
                self.table[free] = u32::try_from(place + 1).unwrap_or(u32::MAX);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_knows_what_a_map_knows(numbers in prop::collection::vec(0_u64..3_000, 0..6_000)) {
            let (mut seen, mut map) = (Seen::default(), HashMap::new());
            for (row, number) in (1..).zip(numbers) {
                prop_assert_eq!(seen.note(number, row), map.get(&number).copied());
                map.entry(number).or_insert(row);
            }
        }
    }
}
