//! A circuit breaker and a retry budget per provider: one that is unwell is left alone, and is asked again now and
//! then; and no storm of retries makes it worse.

mod breaker;
mod doubt;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use crate::redact;
use breaker::{Breaker, Stand};

/// What a provider is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Language models.
    LanguageModel,
    /// Speech to text.
    SpeechToText,
    /// Text to speech.
    TextToSpeech,
    /// Places calls.
    Carrier,
}

impl Kind {
    /// For metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LanguageModel => "language",
            Self::SpeechToText => "ears",
            Self::TextToSpeech => "voice",
            Self::Carrier => "carrier",
        }
    }
}

/// What a failure says about its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Unavailable, busy, too late, or not in its own format: it counts.
    Unwell,
    /// It refuses our key or account (401, 402, 403): nothing is asked for a longer while.
    Refused,
    /// What we asked was wrong (400, 404, 413, 422): it counts as nothing, unless several calls in a row ask amiss.
    OurFault,
}

impl Verdict {
    fn as_str(self) -> &'static str {
        match self {
            Self::Unwell => "unwell",
            Self::Refused => "refused",
            Self::OurFault => "our_fault",
        }
    }
}

/// Nothing passes now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it has failed of late ({why}), and is asked again in {} s", .retry_in.as_secs_f64().ceil())]
pub struct Tripped {
    /// When to ask again.
    pub retry_in: Duration,
    /// What went wrong last.
    pub why: String,
}

/// One guard for each kind and provider, shared by all calls.
#[derive(Debug, Clone, Default)]
pub struct Guards {
    all: Arc<Mutex<BTreeMap<Watch, Guard>>>,
    /// Somebody asks those that are down, now and then.
    probed: Arc<AtomicBool>,
}

/// Kind, provider, and the model or voice that is watched apart.
type Watch = (Kind, String, String);

/// What an agent names is no longer probed when nobody has wanted it for so long.
const UNWANTED_AFTER: Duration = Duration::from_secs(600);

/// Guards of models and voices that agents name; beyond it all of them are forgotten and begin anew.
const MOST_NAMED: usize = 1_000;

impl Guards {
    /// The guard of a provider.
    pub fn get(&self, kind: Kind, provider: &str) -> Guard {
        self.get_named(kind, provider, "")
    }

    /// The guard of a provider's model or voice that the service does not use by itself. What goes wrong with one
    /// account's model must not keep the provider from all others.
    pub fn get_named(&self, kind: Kind, provider: &str, name: &str) -> Guard {
        let mut guards = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (kind, provider.to_owned(), name.to_owned());
        if guards.len() >= MOST_NAMED && !guards.contains_key(&key) {
            guards.retain(|(_, _, name), _| name.is_empty());
        }
        let guard = guards.entry(key);
        guard
            .or_insert_with(|| Guard::new(kind, provider, name, self.probed.clone()))
            .clone()
    }

    /// From now on somebody asks those that are down, now and then, so that nobody is called to find out.
    pub fn will_be_probed(&self) {
        self.probed.store(true, Ordering::Relaxed);
    }

    /// Those that have failed, whose pause is over, and of which a request would tell whether they are well again. Of
    /// what agents name only what somebody still wants.
    pub fn wanting_probe(&self) -> Vec<Guard> {
        let guards = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let wanting = guards.values().filter(|guard| guard.wants_probe() && guard.is_wanted());
        wanting.cloned().collect()
    }
}

/// Watches one provider. Clones watch together.
#[derive(Clone)]
pub struct Guard(Arc<Watched>);

struct Watched {
    kind: Kind,
    provider: String,
    breaker: Mutex<Breaker>,
    /// What went wrong last.
    why: Mutex<String>,
    /// Since when it has not been found well.
    unwell_since: Mutex<Option<Instant>>,
    /// Its model or voice, if this guard is for that alone.
    name: String,
    /// When somebody last wanted to use it.
    wanted: Mutex<Instant>,
    probed: Arc<AtomicBool>,
}

impl Guard {
    fn new(kind: Kind, provider: &str, name: &str, probed: Arc<AtomicBool>) -> Self {
        Self(Arc::new(Watched {
            kind,
            provider: provider.to_owned(),
            breaker: Mutex::default(),
            why: Mutex::default(),
            unwell_since: Mutex::default(),
            name: name.to_owned(),
            wanted: Mutex::new(Instant::now()),
            probed,
        }))
    }

    /// Lets a request through, unless the provider has failed too often of late. After a pause one request at a time
    /// is let through, to see whether it is well again.
    ///
    /// # Errors
    ///
    /// When nothing passes now.
    pub fn admit(&self) -> Result<Pass, Tripped> {
        let admitted = self.change(|breaker| breaker.admit(Instant::now()));
        match admitted {
            Ok(epoch) => Ok(Pass {
                guard: self.clone(),
                epoch,
                call: None,
                settled: false,
            }),
            Err(retry_in) => {
                self.want();
                self.count("tripped");
                Err(Tripped {
                    retry_in,
                    why: self.why(),
                })
            }
        }
    }

    /// Whether one more request may be made for the same thing; takes from the budget, which grows by a tenth of a
    /// retry with each request. Ask it before a hedge or a retry, and `admit` then.
    pub fn may_retry(&self) -> bool {
        let may = self.breaker().may_retry(Instant::now());
        let allowed = if may { "yes" } else { "no" };
        let (kind, provider) = (self.kind().as_str(), self.0.provider.clone());
        metrics::counter!("ringback_provider_retries_total", "kind" => kind, "provider" => provider, "allowed" => allowed)
            .increment(1);
        may
    }

    /// Whether nothing should be begun that needs it: nothing passes now, or somebody who probes it has not found it
    /// well again.
    pub fn is_down(&self) -> bool {
        self.want();
        let breaker = self.breaker();
        let unproved = self.0.probed.load(Ordering::Relaxed) && breaker.is_unproved();
        unproved || breaker.is_down(Instant::now())
    }

    /// What went wrong last.
    pub fn why(&self) -> String {
        self.0.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// For how long it has not been found well; none if it is.
    pub fn unwell_for(&self) -> Option<Duration> {
        let since = *self.0.unwell_since.lock().unwrap_or_else(PoisonError::into_inner);
        since.map(|since| since.elapsed())
    }

    /// The model or voice that this guard is for alone; empty for the whole provider.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    fn want(&self) {
        *self.0.wanted.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_wanted(&self) -> bool {
        let wanted = *self.0.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.name.is_empty() || wanted.elapsed() < UNWANTED_AFTER
    }

    fn wants_probe(&self) -> bool {
        let breaker = self.breaker();
        breaker.is_unproved() && !breaker.is_down(Instant::now())
    }

    /// The provider's name.
    pub fn provider(&self) -> &str {
        &self.0.provider
    }

    /// What it is used for.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.0.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the breaker, and says so if it stands differently then.
    fn change<T>(&self, change: impl FnOnce(&mut Breaker) -> T) -> T {
        let (result, before, after) = {
            let mut breaker = self.breaker();
            let before = (breaker.stand(), breaker.is_doubted());
            let result = change(&mut breaker);
            (result, before, (breaker.stand(), breaker.is_doubted()))
        };
        if (std::mem::discriminant(&before.0), before.1) != (std::mem::discriminant(&after.0), after.1) {
            self.tell(after);
        }
        result
    }

    fn tell(&self, (stand, doubted): (Stand, bool)) {
        let (kind, provider, name) = (self.kind().as_str(), self.provider(), self.name());
        let mut since = self.0.unwell_since.lock().unwrap_or_else(PoisonError::into_inner);
        let figure = match stand {
            Stand::Closed if doubted => {
                tracing::warn!(
                    kind,
                    provider,
                    name,
                    "provider refuses all that is asked: nothing new is begun"
                );
                2.0
            }
            Stand::Closed => {
                let seconds = since.take().map_or(0, |since| since.elapsed().as_secs());
                tracing::info!(kind, provider, name, seconds, "provider is well again");
                0.0
            }
            Stand::HalfOpen { .. } => 1.0,
            Stand::Open(until) => {
                let now = Instant::now();
                since.get_or_insert(now);
                let (seconds, why) = (until.saturating_duration_since(now).as_secs(), self.why());
                tracing::warn!(kind, provider, name, seconds, why, "provider is left alone for a while");
                2.0
            }
        };
        // What goes wrong with one account's model is no alarm.
        if name.is_empty() {
            metrics::gauge!("ringback_provider_breaker", "kind" => kind, "provider" => provider.to_owned()).set(figure);
        }
    }

    fn count(&self, outcome: &'static str) {
        let (kind, provider) = (self.kind().as_str(), self.0.provider.clone());
        metrics::counter!("ringback_provider_requests_total", "kind" => kind, "provider" => provider, "outcome" => outcome)
            .increment(1);
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("kind", &self.0.kind)
            .field("provider", &self.0.provider)
            .field("breaker", &*self.breaker())
            .finish()
    }
}

/// Leave for one request. Dropped without a word it was cancelled, which counts as nothing.
#[derive(Debug)]
#[must_use = "say what came of it"]
pub struct Pass {
    guard: Guard,
    epoch: u64,
    call: Option<u64>,
    settled: bool,
}

impl Pass {
    /// It is asked for this call. Several different ones that ask amiss in a row, without one that does not, keep new
    /// calls back until somebody asked aright; those under way go on.
    pub fn for_call(mut self, call: u64) -> Self {
        self.call = Some(call);
        self
    }

    /// The provider did what was asked.
    pub fn succeeded(mut self) {
        self.settled = true;
        self.guard.count("succeeded");
        self.guard.change(|breaker| breaker.succeeded(self.epoch));
    }

    /// It did not; `why` is told to those who are turned away.
    pub fn failed(mut self, verdict: Verdict, why: &str) {
        self.settled = true;
        if verdict != Verdict::OurFault {
            let why = redact::fit(why);
            *self.guard.0.why.lock().unwrap_or_else(PoisonError::into_inner) = why;
        }
        self.guard.count(verdict.as_str());
        let (epoch, now) = (self.epoch, Instant::now());
        self.guard.change(|breaker| match (verdict, self.call) {
            (Verdict::OurFault, Some(call)) => breaker.refused(epoch, call, now),
            _ => breaker.failed(epoch, verdict, now),
        });
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if !self.settled {
            self.guard.count("cancelled");
            self.guard.change(|breaker| breaker.let_go(self.epoch));
        }
    }
}
