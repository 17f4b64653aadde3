//! Bounded speech cache in memory. The least recently used speech is dropped first.

use std::collections::{BTreeMap, HashMap};

use super::speech::{Key, Speech};

#[derive(Debug)]
pub(super) struct Memory {
    most_bytes: usize,
    bytes: usize,
    kept: HashMap<Key, Entry>,
    /// Keys by last use.
    order: BTreeMap<u64, Key>,
    uses: u64,
}

#[derive(Debug)]
struct Entry {
    used: u64,
    /// Whether the speech contains no personal data.
    fixed: bool,
    speech: Speech,
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
        let entry = self.kept.get_mut(&key)?;
        self.order.remove(&entry.used);
        entry.used = self.uses;
        self.order.insert(self.uses, key);
        Some(entry.speech.clone())
    }

    /// Keeps a speech. Returns whether it was new.
    pub(super) fn put(&mut self, key: Key, speech: Speech, fixed: bool) -> bool {
        let bytes = speech.bytes();
        if self.has(key) || bytes > self.most_bytes / 4 {
            return false;
        }
        self.uses += 1;
        self.bytes += bytes;
        self.order.insert(self.uses, key);
        let used = self.uses;
        self.kept.insert(key, Entry { used, fixed, speech });
        while self.bytes > self.most_bytes
            && let Some((_, oldest)) = self.order.pop_first()
        {
            if let Some(gone) = self.kept.remove(&oldest) {
                self.bytes -= gone.speech.bytes();
            }
        }
        true
    }

    /// Drops all speech that may contain personal data.
    pub(super) fn forget_people(&mut self) {
        for (_, gone) in self.kept.extract_if(|_, entry| !entry.fixed) {
            self.bytes -= gone.speech.bytes();
            self.order.remove(&gone.used);
        }
    }
}
