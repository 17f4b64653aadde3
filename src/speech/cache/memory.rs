//! Speech in memory, within a bound; what has not been used for longest goes.

use std::collections::{BTreeMap, HashMap};

use super::{Key, Speech};

#[derive(Debug)]
pub(super) struct Memory {
    most_bytes: usize,
    bytes: usize,
    kept: HashMap<Key, (u64, Speech)>,
    /// By when they were used last.
    order: BTreeMap<u64, Key>,
    uses: u64,
}

impl Memory {
    pub(super) fn new(most_bytes: usize) -> Self {
        Self {
            most_bytes,
            bytes: 0,
            kept: HashMap::new(),
            order: BTreeMap::new(),
            uses: 0,
        }
    }

    pub(super) fn has(&self, key: Key) -> bool {
        self.kept.contains_key(&key)
    }

    pub(super) fn get(&mut self, key: Key) -> Option<Speech> {
        self.uses += 1;
        let (used, speech) = self.kept.get_mut(&key)?;
        self.order.remove(used);
        *used = self.uses;
        self.order.insert(self.uses, key);
        Some(speech.clone())
    }

    /// Keeps a speech; whether it was new.
    pub(super) fn put(&mut self, key: Key, speech: Speech) -> bool {
        let bytes = speech.bytes();
        if self.has(key) || bytes > self.most_bytes / 4 {
            return false;
        }
        self.uses += 1;
        self.bytes += bytes;
        self.order.insert(self.uses, key);
        self.kept.insert(key, (self.uses, speech));
        while self.bytes > self.most_bytes
            && let Some((_, oldest)) = self.order.pop_first()
        {
            if let Some((_, gone)) = self.kept.remove(&oldest) {
                self.bytes -= gone.bytes();
            }
        }
        true
    }
}
