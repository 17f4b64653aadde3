//! Cache of synthesised speech. Equal text in an equal voice is synthesised once. It is kept in memory, and
//! also on disk if there is a folder and the text contains no personal data. Calls that request the same text
//! at once share one synthesis. Only complete speech is kept.

mod disk;
mod flight;
mod memory;
mod speech;

use std::{
    collections::HashMap,
    io,
    path::Path,
    sync::{Arc, Mutex},
};

pub(crate) use self::speech::Key;
use self::{
    disk::Disk,
    flight::Flight,
    memory::Memory,
    speech::{Speech, locked},
};
use crate::protocols::tts::provider::Pieces;

/// Maximum bytes in memory: about 17 minutes at 8 kHz.
const MOST_MEMORY_BYTES: usize = 16 * 1024 * 1024;

/// Maximum bytes on disk: about nine hours at 8 kHz.
const MOST_DISK_BYTES: u64 = 512 * 1024 * 1024;

/// Place where speech may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Memory only, until it has not been used for long or the process ends.
    InMemory,
    /// Memory and disk, for the next process too. The speech contains no personal data.
    OnDisk,
}

/// Conditions under which speech is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keep {
    /// Place where the speech is kept.
    pub place: Kept,
    /// Fewest audible samples. Shorter speech is not kept, since it cannot be the whole text.
    pub least_samples: u64,
}

/// Starts a synthesis.
pub(crate) type Start = Box<dyn FnOnce() -> Pieces + Send>;

/// Speech cache. Clones share it.
#[derive(Clone)]
pub(crate) struct SpeechCache(Arc<Shared>);

struct Shared {
    memory: Mutex<Memory>,
    flights: Mutex<HashMap<Key, Arc<Flight>>>,
    disk: Option<Disk>,
}

fn count(outcome: &'static str) {
    metrics::counter!("ringback_speech_cache_total", "outcome" => outcome).increment(1);
}

impl SpeechCache {
    /// Opens a cache that is empty in memory and uses the speech kept in the folder, if there is one.
    pub(crate) fn open(folder: Option<&Path>) -> io::Result<Self> {
        Self::bounded(folder, MOST_MEMORY_BYTES, MOST_DISK_BYTES)
    }

    fn bounded(folder: Option<&Path>, memory_bytes: usize, disk_bytes: u64) -> io::Result<Self> {
        let disk = folder.map(|folder| Disk::open(folder, disk_bytes)).transpose()?;
        Ok(Self(Arc::new(Shared {
            memory: Mutex::new(Memory::new(memory_bytes)),
            flights: Mutex::default(),
            disk,
        })))
    }

    /// Returns whether the speech is in memory now.
    pub(crate) fn has(&self, key: Key) -> bool {
        locked(&self.0.memory).has(key)
    }

    /// Drops from memory all speech that may contain personal data. There is none on disk.
    pub(crate) fn forget_people(&self) {
        locked(&self.0.memory).forget_people();
    }

    /// Returns the speech of a key: from the cache, shared with another call, or started with `start`. Must
    /// be called within a tokio runtime.
    pub(crate) fn speak(&self, key: Key, keep: Keep, start: Start) -> Pieces {
        let disk = self.0.disk.as_ref().filter(|_| keep.place == Kept::OnDisk);
        if let Some(speech) = locked(&self.0.memory).get(key) {
            count("memory");
            if let Some(disk) = disk.filter(|disk| !disk.has(key)) {
                disk.keep(key, speech.clone());
            }
            return speech.play();
        }
        let mut flights = locked(&self.0.flights);
        if let Some(flight) = flights.get(&key) {
            count("shared");
            return flight.listen();
        }
        let flight = Arc::new(Flight::new());
        let pieces = flight.listen();
        flights.insert(key, flight.clone());
        drop(flights);
        let source = match self.0.disk.as_ref().is_some_and(|disk| disk.has(key)) {
            true => Source::Disk(start),
            false => {
                count("miss");
                Source::Provider(start())
            }
        };
        tokio::spawn(self.clone().fly(key, keep, flight, source));
        pieces
    }

    async fn fly(self, key: Key, keep: Keep, flight: Arc<Flight>, source: Source) {
        let landing = Landing {
            cache: &self,
            key,
            flight: &flight,
        };
        let pieces = match source {
            Source::Provider(pieces) => pieces,
            Source::Disk(start) => match self.read(key).await {
                Some(speech) => {
                    count("disk");
                    locked(&self.0.memory).put(key, speech.clone(), true);
                    speech.play()
                }
                None => {
                    count("miss");
                    start()
                }
            },
        };
        let may_leave = || {
            // This runs under the lock, so that no call joins a flight that is being left.
            let mut flights = locked(&self.0.flights);
            let left = flight.is_left();
            if left {
                flights.remove(&key);
            }
            left
        };
        let whole = |speech: &Speech| {
            let whole = speech.sounding_samples() >= keep.least_samples;
            if !whole {
                count("too_short");
            }
            whole
        };
        if let Some(speech) = flight.carry(pieces, may_leave).await.filter(whole)
            && locked(&self.0.memory).put(key, speech.clone(), keep.place == Kept::OnDisk)
            && let Some(disk) = self.0.disk.as_ref().filter(|_| keep.place == Kept::OnDisk)
        {
            disk.keep(key, speech);
        }
        drop(landing);
    }

    async fn read(&self, key: Key) -> Option<Speech> {
        let disk = self.0.disk.as_ref()?.clone();
        tokio::task::spawn_blocking(move || disk.read(key)).await.ok().flatten()
    }
}

/// Source of a speech.
enum Source {
    Provider(Pieces),
    Disk(Start),
}

/// Guard that ends a flight on every exit path.
struct Landing<'a> {
    cache: &'a SpeechCache,
    key: Key,
    flight: &'a Arc<Flight>,
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        let mut flights = locked(&self.cache.0.flights);
        if flights
            .get(&self.key)
            .is_some_and(|flight| Arc::ptr_eq(flight, self.flight))
        {
            flights.remove(&self.key);
        }
        self.flight.break_off();
    }
}

#[cfg(test)]
mod tests;
