//! Circuit breaker and retry budget per provider. An unhealthy provider gets no requests except an occasional
//! probe, and the retry budget keeps retries from making it worse.

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

use domain::{ports::services::Outage, time::Timestamp};
use tokio::time::Instant;

use crate::redact;
pub use breaker::Verdict;
use breaker::{Breaker, Stand};

/// Kind of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Language models.
    LanguageModel,
    /// Speech to text.
    SpeechToText,
    /// Text to speech.
    TextToSpeech,
    /// Carriers, which place calls.
    Carrier,
}

impl Kind {
    /// Returns the label used in metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LanguageModel => "language",
            Self::SpeechToText => "ears",
            Self::TextToSpeech => "voice",
            Self::Carrier => "carrier",
        }
    }
}

/// The breaker lets no request through now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed recently ({why}); next request in {} s", .retry_in.as_secs_f64().ceil())]
pub struct Tripped {
    /// Time until the next request may be made.
    pub retry_in: Duration,
    /// Reason for the last failure.
    pub why: String,
}

/// One guard per kind and provider, shared by all calls.
#[derive(Debug, Clone, Default)]
pub struct Guards {
    all: Arc<Mutex<BTreeMap<Watch, Guard>>>,
    /// Set once a prober probes the providers that are down.
    probed: Arc<AtomicBool>,
}

/// Kind, provider, and the model or voice that has its own guard (empty for the whole provider).
type Watch = (Kind, String, String);

/// Time after its last use when a model or voice named by an agent is no longer probed.
const UNWANTED_AFTER: Duration = Duration::from_secs(600);

/// Limit of guards before those of models and voices named by agents are dropped and start afresh.
const MOST_NAMED: usize = 1_000;

impl Guards {
    /// Returns the guard of a provider.
    pub fn get(&self, kind: Kind, provider: &str) -> Guard {
        self.get_named(kind, provider, "")
    }

    /// Returns the guard of a model or voice that the service does not use by default. It is separate so that
    /// failures of one account's model do not block the provider for everybody else.
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

    /// Declares that a prober probes providers that are down. From then on a provider stays down until a
    /// probe succeeds, so no caller is used to find out.
    pub fn will_be_probed(&self) {
        self.probed.store(true, Ordering::Relaxed);
    }

    /// Returns the guards that failed, whose pause is over, and that a probe could find healthy again. Guards
    /// of models and voices named by agents are included only while somebody uses them.
    pub fn wanting_probe(&self) -> Vec<Guard> {
        let guards = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let wanting = guards.values().filter(|guard| guard.wants_probe() && guard.is_wanted());
        wanting.cloned().collect()
    }
}

/// Guard of one provider. Clones share the same state.
#[derive(Clone)]
pub struct Guard(Arc<Watched>);

struct Watched {
    kind: Kind,
    provider: String,
    breaker: Mutex<Breaker>,
    /// Reason for the last failure.
    why: Mutex<String>,
    /// Time when it became unhealthy; none while it is healthy.
    unhealthy_since: Mutex<Option<Instant>>,
    /// Model or voice, if this guard covers only that.
    name: String,
    /// Last time somebody wanted to use it.
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
            unhealthy_since: Mutex::default(),
            name: name.to_owned(),
            wanted: Mutex::new(Instant::now()),
            probed,
        }))
    }

    /// Lets a request through unless the provider has failed too often recently. After a pause, one request
    /// at a time is let through to test whether the provider is healthy again.
    ///
    /// # Errors
    ///
    /// Returns an error if no request may pass now.
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

    /// Returns whether the same request may be made once more, and takes one retry from the budget if so. The
    /// budget grows by a tenth of a retry with each request. Call this before a hedge or a retry, then call
    /// `admit`.
    pub fn may_retry(&self) -> bool {
        let may = self.breaker().may_retry(Instant::now());
        let allowed = if may { "yes" } else { "no" };
        let (kind, provider) = (self.kind().as_str(), self.0.provider.clone());
        metrics::counter!("ringback_provider_retries_total", "kind" => kind, "provider" => provider, "allowed" => allowed)
            .increment(1);
        may
    }

    /// Returns whether work that needs the provider should not start now: no request may pass, or a prober is
    /// active and has not found the provider healthy yet.
    pub fn is_down(&self) -> bool {
        self.want();
        let breaker = self.breaker();
        let unproved = self.0.probed.load(Ordering::Relaxed) && breaker.is_unproved();
        unproved || breaker.is_down(Instant::now())
    }

    /// Returns the reason for the last failure.
    pub fn why(&self) -> String {
        self.0.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how long the provider has been unhealthy; `None` if it is healthy.
    pub fn unhealthy_for(&self) -> Option<Duration> {
        let since = *self.0.unhealthy_since.lock().unwrap_or_else(PoisonError::into_inner);
        since.map(|since| since.elapsed())
    }

    /// Returns the present failure, if there is one. `now` is the present time.
    pub fn outage(&self, now: Timestamp) -> Option<Outage> {
        let since = self.unhealthy_for().map(|lasting| now.to_utc() - lasting);
        let rejects = || "it rejects the requests of different calls as wrong".to_owned();
        (since.is_some() || self.is_down()).then(|| Outage {
            since: since.map(|since| Timestamp::from(since).to_iso8601()),
            reason: since.map_or_else(rejects, |_| self.why()),
        })
    }

    /// Returns the model or voice that this guard covers; empty for the whole provider.
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

    /// Returns the provider's name.
    pub fn provider(&self) -> &str {
        &self.0.provider
    }

    /// Returns the provider's kind.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.0.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the breaker and reports a change of its state.
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
        let mut since = self.0.unhealthy_since.lock().unwrap_or_else(PoisonError::into_inner);
        let figure = match stand {
            Stand::Closed if doubted => {
                tracing::warn!(kind, provider, name, "provider rejects requests; nothing new starts");
                2.0
            }
            Stand::Closed => {
                let seconds = since.take().map_or(0, |since| since.elapsed().as_secs());
                tracing::info!(kind, provider, name, seconds, "provider healthy again");
                0.0
            }
            Stand::HalfOpen { .. } => 1.0,
            Stand::Open(until) => {
                let now = Instant::now();
                since.get_or_insert(now);
                let (seconds, why) = (until.saturating_duration_since(now).as_secs(), self.why());
                tracing::warn!(kind, provider, name, seconds, why, "provider unavailable");
                2.0
            }
        };
        // Failures of one account's model must not raise an alarm.
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

/// Permission for one request. A pass dropped without a result counts as cancelled, which is neither success
/// nor failure.
#[derive(Debug)]
#[must_use = "report the result of the request"]
pub struct Pass {
    guard: Guard,
    epoch: u64,
    call: Option<u64>,
    settled: bool,
}

impl Pass {
    /// Names the call that makes the request. If requests of several different calls in a row are wrong, new
    /// calls are held back until a request is right again; calls in progress continue.
    pub fn for_call(mut self, call: u64) -> Self {
        self.call = Some(call);
        self
    }

    /// Reports that the provider did what was asked.
    pub fn succeeded(mut self) {
        self.settled = true;
        self.guard.count("succeeded");
        self.guard.change(|breaker| breaker.succeeded(self.epoch));
    }

    /// Reports a failure; `why` is shown to callers that are turned away.
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
