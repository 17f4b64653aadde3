//! Connections of one call to the providers that may speak for it. They are opened when needed, the first one at once.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use domain::ports::synthesizer::VoiceConfig;

use crate::{
    protocols::tts::provider::{Pieces, Source, VoiceProvider},
    tts::{
        cache::{Keep, Kept, Key, SpeechCache},
        directions::{Script, Written},
        guarded::{Listener, guarded},
        sound_check::{least_samples, sounding},
    },
};
use net::guard::Guard;

/// Number of the next call.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Maximum number of texts of one call that may be kept on disk.
const MOST_FIXED: usize = 32;

/// Provider that may speak, with the voice it would use.
pub(super) struct Candidate {
    pub provider: String,
    pub voice: String,
    pub source: Arc<dyn Source>,
    /// Guard of the provider; `None` for one inside this process.
    pub guard: Option<Guard>,
}

type Line = Arc<Mutex<Box<dyn VoiceProvider>>>;

/// Separate connection for one text. It becomes the call's connection if it is faster.
pub(super) struct Fresh(Line);

pub(super) struct Connections {
    call: u64,
    candidates: Vec<Candidate>,
    config: VoiceConfig,
    cache: SpeechCache,
    open: Mutex<Vec<Option<Line>>>,
    /// Texts that are the same in every call.
    fixed: Mutex<BTreeSet<String>>,
    /// Whether no provider gave any audio for the last text.
    hung: AtomicBool,
}

impl Connections {
    pub(super) fn new(candidates: Vec<Candidate>, config: VoiceConfig, cache: SpeechCache) -> Self {
        Self {
            call: CALLS.fetch_add(1, Ordering::Relaxed),
            open: Mutex::new(candidates.iter().map(|_| None).collect()),
            candidates,
            config,
            cache,
            fixed: Mutex::default(),
            hung: AtomicBool::new(false),
        }
    }

    /// Allows the speech of a text to be kept on disk, because the text is the same in every call.
    pub(super) fn may_keep(&self, text: &str) {
        let mut fixed = locked(&self.fixed);
        if fixed.len() < MOST_FIXED {
            fixed.insert(text.trim().to_owned());
        }
    }

    pub(super) fn count(&self) -> usize {
        self.candidates.len()
    }

    /// Returns whether no provider gave any audio for the call's last text.
    pub(super) fn is_hung(&self) -> bool {
        self.hung.load(Ordering::Relaxed)
    }

    /// Records whether any provider gave audio for a text, and returns the previous value.
    pub(super) fn hang(&self, hung: bool) -> bool {
        self.hung.swap(hung, Ordering::Relaxed)
    }

    /// Returns the samples per millisecond.
    pub(super) fn samples_per_ms(&self) -> u64 {
        u64::from(self.config.sample_rate / 1_000)
    }

    pub(super) fn provider(&self, index: usize) -> &str {
        self.candidates
            .get(index)
            .map_or("", |candidate| candidate.provider.as_str())
    }

    /// Notes that the call hears this candidate now.
    pub(super) fn speaks(&self, index: usize) {
        if let Some(Candidate { provider, voice, .. }) = self.candidates.get(index) {
            self.config.meter.speaks(match voice.is_empty() {
                true => provider.clone(),
                false => format!("{provider}:{voice}"),
            });
        }
    }

    /// Opens the connection that will be used first.
    pub(super) fn warm_up(&self) {
        let well = |candidate: &Candidate| candidate.guard.as_ref().is_none_or(|guard| !guard.is_down());
        if let Some(index) = self.candidates.iter().position(well) {
            drop(self.line(index));
        }
    }

    /// Returns whether a provider may be asked once more for the same text.
    pub(super) fn may_retry(&self, index: usize) -> bool {
        let guard = self
            .candidates
            .get(index)
            .and_then(|candidate| candidate.guard.as_ref());
        guard.is_some_and(|guard| !guard.is_down() && guard.may_retry())
    }

    /// Speaks a text with a candidate: from the cache, shared with other calls, or by a request.
    pub(super) fn speak(self: &Arc<Self>, index: usize, script: &Script) -> Option<Pieces> {
        let (key, written, candidate) = self.key(index, script)?;
        if candidate.guard.is_none() {
            // Speech made inside this process is cheaper to make than to keep.
            return Some(self.ask(index, script));
        }
        let text = script.text.as_str();
        let place = match locked(&self.fixed).contains(text.trim()) {
            true => Kept::OnDisk,
            false => Kept::InMemory,
        };
        let keep = Keep {
            place,
            least_samples: least_samples(text, &self.config),
        };
        let (lines, script) = (self.clone(), script.clone());
        // The cache keeps times relative to the text with markup.
        let start = Box::new(move || lines.asked(index, &script));
        Some(written.timed(self.cache.speak(key, keep, start)))
    }

    /// Speaks a text with the first candidate, unless it is in the cache.
    pub(super) fn fetched(self: &Arc<Self>, text: &str) -> Option<Pieces> {
        let script = Script {
            text: text.to_owned(),
            cues: Vec::new(),
        };
        let (key, _, candidate) = self.key(0, &script)?;
        let idle = self.cache.has(key) || candidate.guard.as_ref().is_none_or(Guard::is_down);
        if idle { None } else { self.speak(0, &script) }
    }

    fn key(&self, index: usize, script: &Script) -> Option<(Key, Written, &Candidate)> {
        let candidate = self.candidates.get(index)?;
        let config = self.config_of(candidate);
        let signature = candidate.source.signature(&config);
        let written = self.written(candidate, script);
        let key = Key::new(&candidate.provider, &signature, &config, &written.text);
        Some((key, written, candidate))
    }

    /// Returns the text with the candidate's markup.
    fn written(&self, candidate: &Candidate, script: &Script) -> Written {
        let config = self.config_of(candidate);
        script.written(|tag| candidate.source.cue(&config, tag))
    }

    /// Speaks a text on a candidate's own connection, without the cache.
    pub(super) fn ask(&self, index: usize, script: &Script) -> Pieces {
        let pieces = self.asked(index, script);
        match self.candidates.get(index) {
            Some(candidate) => self.written(candidate, script).timed(pieces),
            None => pieces,
        }
    }

    /// Same as [`Self::ask`], but with times relative to the text with markup.
    fn asked(&self, index: usize, script: &Script) -> Pieces {
        let Some((line, candidate)) = self.line(index).zip(self.candidates.get(index)) else {
            return Box::pin(futures_util::stream::empty());
        };
        self.asked_on(&line, candidate, script)
    }

    fn asked_on(&self, line: &Line, candidate: &Candidate, script: &Script) -> Pieces {
        let written = self.written(candidate, script);
        let speak = || sounding(&script.text, locked(line).perform(&written.text, &written.words()));
        let listener = Listener {
            call: self.call,
            samples_per_ms: self.samples_per_ms(),
        };
        guarded(candidate.guard.as_ref(), listener, speak)
    }

    /// Same as [`Self::ask`], but on a new connection.
    pub(super) fn ask_anew(&self, index: usize, script: &Script) -> Option<(Pieces, Fresh)> {
        let candidate = self.candidates.get(index)?;
        let line = Arc::new(Mutex::new(candidate.source.open(&self.config_of(candidate))));
        let pieces = self.asked_on(&line, candidate, script);
        Some((self.written(candidate, script).timed(pieces), Fresh(line)))
    }

    /// Replaces the call's connection with a new one that did better.
    pub(super) fn keep(&self, index: usize, fresh: Fresh) {
        if let Some(line) = locked(&self.open).get_mut(index) {
            *line = Some(fresh.0);
        }
    }

    fn line(&self, index: usize) -> Option<Line> {
        let candidate = self.candidates.get(index)?;
        let mut open = locked(&self.open);
        let line = open.get_mut(index)?;
        let line = line.get_or_insert_with(|| Arc::new(Mutex::new(candidate.source.open(&self.config_of(candidate)))));
        Some(line.clone())
    }

    fn config_of(&self, candidate: &Candidate) -> VoiceConfig {
        VoiceConfig {
            provider: Some(candidate.provider.clone()),
            voice: candidate.voice.clone(),
            ..self.config.clone()
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
