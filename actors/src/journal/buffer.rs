//! Facts that wait to be written: in order, bounded, with at most one batch in progress. Free of I/O.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use domain::{
    id::AttemptId,
    ports::store::{EventFact, Fact},
};

/// A fact and its call.
pub type Entry = (AttemptId, Fact);

/// Most facts in one write.
pub const BATCH_FACTS: usize = 500;
/// Most bytes in one write (one fact may be larger).
pub const BATCH_BYTES: usize = 256 * 1024;
/// Most facts kept while the store is unavailable.
pub const KEPT_FACTS: usize = 100_000;
/// Most bytes kept while the store is unavailable.
pub const KEPT_BYTES: usize = 16 * 1024 * 1024;
/// Number of calls for which lost facts are counted.
const NOTED: usize = 10_000;

/// Name of the event that marks a call's record as incomplete.
pub const FACTS_LOST: &str = "facts_lost";

/// Facts not yet on disk.
#[derive(Debug, Default)]
pub struct Buffer {
    waiting: VecDeque<Entry>,
    bytes: usize,
    under_way: Option<Arc<Vec<Entry>>>,
    /// Whether facts are written one by one, to find the one that the store refuses.
    one_by_one: bool,
    /// Sequence number of the next fact.
    next: u64,
    /// Number of facts dropped because the store was unavailable for too long or refused them.
    dropped: u64,
    /// Number of facts lost over the bound for each call. It is written to the call's record when the store is back.
    lost: HashMap<AttemptId, u64>,
}

/// Estimates the size of a fact in bytes, text and row.
fn size(fact: &Fact) -> usize {
    64 + match fact {
        Fact::Turn(turn) => {
            let passages = turn.detail.passages.iter().map(|passage| passage.text.len());
            turn.text.len() + turn.detail.intended.as_ref().map_or(0, String::len) + passages.sum::<usize>()
        }
        Fact::Event(event) => event.name.len() + event.detail.len(),
    }
}

impl Buffer {
    /// Adds a fact. Over the bound the oldest event is dropped, and a turn only if there is no event.
    pub fn push(&mut self, entry: Entry) {
        self.bytes += size(&entry.1);
        self.waiting.push_back(entry);
        self.next += 1;
        while self.waiting.len() > KEPT_FACTS || self.bytes > KEPT_BYTES {
            let event = self.waiting.iter().position(|(_, f)| matches!(f, Fact::Event(_)));
            match self.waiting.remove(event.unwrap_or(0)) {
                Some((attempt, fact)) => self.give_up(attempt, &fact),
                None => break,
            }
        }
    }

    fn give_up(&mut self, attempt: AttemptId, fact: &Fact) {
        self.bytes -= size(fact);
        self.dropped += 1;
        if self.lost.len() < NOTED || self.lost.contains_key(&attempt) {
            *self.lost.entry(attempt).or_default() += 1;
        }
    }

    /// Returns the number of facts that wait or are being written, and their bytes.
    pub fn held(&self) -> (usize, usize) {
        let under_way = self.under_way.as_deref().map_or(&[][..], Vec::as_slice);
        let bytes: usize = under_way.iter().map(|(_, fact)| size(fact)).sum();
        (self.waiting.len() + under_way.len(), self.bytes + bytes)
    }

    /// Returns whether a batch is full.
    pub fn full(&self) -> bool {
        self.waiting.len() >= BATCH_FACTS || self.bytes >= BATCH_BYTES
    }

    /// Returns whether nothing waits and nothing is being written.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_none()
    }

    /// Returns whether a write is in progress.
    pub fn writing(&self) -> bool {
        self.under_way.is_some()
    }

    /// Returns the sequence number after the last fact added.
    pub fn end(&self) -> u64 {
        self.next
    }

    /// Returns the number below which every fact is on disk or dropped.
    pub fn settled(&self) -> u64 {
        let open = self.waiting.len() + self.under_way.as_ref().map_or(0, |batch| batch.len());
        self.next - open as u64
    }

    /// Returns the number of facts dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the next batch to write, or `None` while one is in progress or nothing waits.
    pub fn begin(&mut self) -> Option<Arc<Vec<Entry>>> {
        if self.under_way.is_some() || self.waiting.is_empty() {
            return None;
        }
        let most = if self.one_by_one { 1 } else { BATCH_FACTS };
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some((_, fact)) = self.waiting.front() {
            let size = size(fact);
            if batch.len() == most || (!batch.is_empty() && bytes + size > BATCH_BYTES) {
                break;
            }
            bytes += size;
            batch.extend(self.waiting.pop_front());
        }
        self.bytes -= bytes;
        let batch = Arc::new(batch);
        self.under_way = Some(Arc::clone(&batch));
        Some(batch)
    }

    /// Notes that the batch is on disk.
    pub fn written(&mut self) {
        self.under_way = None;
        self.one_by_one = false;
        for (attempt, facts) in std::mem::take(&mut self.lost) {
            let note = EventFact {
                name: FACTS_LOST.to_owned(),
                at_ms: 0,
                detail: format!("{{\"facts\":{facts}}}"),
            };
            self.push((attempt, Fact::Event(note)));
        }
    }

    /// Puts a batch that was not written back to the front, to be tried again.
    pub fn failed(&mut self) {
        let Some(batch) = self.under_way.take() else { return };
        for entry in batch.iter().rev() {
            self.bytes += size(&entry.1);
            self.waiting.push_front(entry.clone());
        }
    }

    /// Handles a batch that the store refuses for good: its facts are tried one by one, and a single one is dropped.
    pub fn refused(&mut self) {
        match self.under_way.as_ref().map(|batch| batch.len()) {
            Some(0 | 1) => {
                self.under_way = None;
                self.dropped += 1;
            }
            Some(_) => {
                self.failed();
                self.one_by_one = true;
            }
            None => {}
        }
    }
}

#[cfg(test)]
#[path = "buffer_tests.rs"]
mod tests;
