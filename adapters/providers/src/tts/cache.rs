//! Equal text in an equal voice is synthesised once and kept: in memory, and on disk where there is a folder and the text
//! has nothing of a person in it. Calls that ask for the same at once share one synthesis; only complete ones are kept.

mod disk;
mod flight;
mod memory;

use std::{
    collections::HashMap,
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use domain::ports::synthesizer::{SpeechPiece, VoiceConfig};
use futures_util::{StreamExt, stream};
use sha2::{Digest, Sha256};

use self::{disk::Disk, flight::Flight, memory::Memory};
use crate::tts::{provider::Pieces, sound_check::is_audible};

/// Speech in memory: about 17 minutes at 8 kHz.
const MOST_MEMORY_BYTES: usize = 16 * 1024 * 1024;

/// Speech on disk: about nine hours at 8 kHz.
const MOST_DISK_BYTES: u64 = 512 * 1024 * 1024;

/// Changes when what is kept would be made in another way.
const VERSION: &str = "1";

/// What one speech is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key([u8; 32]);

impl Key {
    /// Of a text in a voice, with all that shapes its sound. The voice is the provider's own.
    pub(crate) fn new(provider: &str, signature: &str, config: &VoiceConfig, text: &str) -> Self {
        let mut hash = Sha256::new();
        let settings = format!(
            "{} {} {} {}",
            config.speed, config.stability, config.similarity_boost, config.latency
        );
        let rate = config.sample_rate.to_string();
        for part in [
            VERSION,
            provider,
            signature,
            &config.voice,
            &settings,
            &config.language,
            &rate,
            text.trim(),
        ] {
            // With its length, so that no two lists of parts look alike.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    fn name(self) -> String {
        hex::encode(self.0)
    }

    fn of_name(name: &str) -> Option<Self> {
        let mut key = [0; 32];
        hex::decode_to_slice(name, &mut key).ok()?;
        Some(Self(key))
    }
}

/// A complete speech.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Speech(Arc<[SpeechPiece]>);

impl Speech {
    fn bytes(&self) -> usize {
        let of = |piece: &SpeechPiece| 2 * piece.samples.len() + 16 * piece.words.len() + size_of::<SpeechPiece>();
        self.0.iter().map(of).sum()
    }

    /// Samples of the pieces in which something sounds.
    fn sounding_samples(&self) -> u64 {
        let sounding = self.0.iter().filter(|piece| is_audible(piece));
        sounding.map(|piece| piece.samples.len() as u64).sum()
    }

    fn play(self) -> Pieces {
        stream::iter((0..self.0.len()).map(move |n| Ok(self.0[n].clone()))).boxed()
    }
}

/// Where a speech may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Until it has not been used for long, or the process ends.
    InMemory,
    /// And for the next process: nobody who wants their data erased is in it.
    OnDisk,
}

/// What of a speech is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keep {
    /// Where.
    pub place: Kept,
    /// Nothing of one that sounds for less: it is not all of its text.
    pub least_samples: u64,
}

/// Begins a synthesis.
pub(crate) type Start = Box<dyn FnOnce() -> Pieces + Send>;

/// The cache. Clones are the same one.
#[derive(Clone)]
pub(crate) struct SpeechCache(Arc<Shared>);

struct Shared {
    memory: Mutex<Memory>,
    flights: Mutex<HashMap<Key, Arc<Flight>>>,
    disk: Option<Disk>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn count(outcome: &'static str) {
    metrics::counter!("ringback_speech_cache_total", "outcome" => outcome).increment(1);
}

impl SpeechCache {
    /// An empty one in memory, with what is kept in a folder if there is one.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made or read.
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

    /// Whether it is in memory now.
    pub(crate) fn has(&self, key: Key) -> bool {
        locked(&self.0.memory).has(key)
    }

    /// Drops from memory every speech that may have something of a person in it. On disk there is none.
    pub(crate) fn forget_people(&self) {
        locked(&self.0.memory).forget_people();
    }

    /// The speech of a key: kept, on its way for another call, or begun with `start`. Must be called within a tokio
    /// runtime.
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
        tokio::spawn(self.clone().fly((key, keep), flight, source));
        pieces
    }

    async fn fly(self, (key, keep): (Key, Keep), flight: Arc<Flight>, source: Source) {
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
            // Under the lock: nobody joins what is being left.
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

/// Where a speech comes from.
enum Source {
    Provider(Pieces),
    Disk(Start),
}

/// Ends a flight on every way out.
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
