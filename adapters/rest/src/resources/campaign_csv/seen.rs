//! Set of a file's phone numbers, in about twenty bytes per row.

use std::hash::{BuildHasher, RandomState};

use domain::phone_number::PhoneNumber;

/// Numbers with the line of their first occurrence.
#[derive(Debug, Default)]
pub struct Seen {
    /// Numbers in the order of the file, without `+`.
    numbers: Vec<u64>,
    /// Rows that repeat a number.
    pub repeats: u64,
    /// Line of each number.
    lines: Vec<u32>,
    /// Open addressing: positions in `numbers`, from 1; 0 is free. The size is a power of two, and at most
    /// two thirds are used.
    table: Vec<u32>,
    /// Has random keys, so that no file can provoke collisions.
    hasher: RandomState,
}

impl Seen {
    /// Returns the line of the first occurrence of `number`. If there is none, records this one and returns `None`.
    pub fn note(&mut self, number: u64, line: u32) -> Option<u32> {
        if self.numbers.len() * 3 >= self.table.len() * 2 {
            self.grow();
        }
        match self.slot(number) {
            Ok(first) => {
                self.repeats += 1;
                Some(first)
            }
            Err(free) => {
                self.numbers.push(number);
                self.lines.push(line);
                self.table[free] = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
                None
            }
        }
    }

    /// Returns all numbers with the line of their first occurrence.
    pub fn entries(&self) -> impl Iterator<Item = (PhoneNumber, u32)> {
        let entries = self.numbers.iter().zip(&self.lines);
        entries.filter_map(|(digits, line)| Some((PhoneNumber::stored(&format!("+{digits}")).ok()?, *line)))
    }

    /// Returns the line of a known number, or the free slot for it.
    fn slot(&self, number: u64) -> Result<u32, usize> {
        let mask = self.table.len() - 1;
        #[expect(clippy::cast_possible_truncation, reason = "a hash has enough bits in any case")]
        let mut slot = self.hasher.hash_one(number) as usize & mask;
        while let Some(place) = (self.table[slot] as usize).checked_sub(1) {
            if self.numbers[place] == number {
                return Ok(self.lines[place]);
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
            for (line, number) in (1..).zip(numbers) {
                prop_assert_eq!(seen.note(number, line), map.get(&number).copied());
                map.entry(number).or_insert(line);
            }
        }
    }
}
