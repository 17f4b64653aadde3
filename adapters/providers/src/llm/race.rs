//! Request to one provider, with a second request beside it if the first is slow. The first to speak wins.

use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use domain::{
    ports::language_model::{LanguageError, ReplyEvent, ReplyRequest},
    prompt::Prompt,
};
use futures_util::StreamExt;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::{
    failure::Failure,
    llm::{models::Model, reply_check},
    protocols::llm::reply_stream::{Delta, Deltas},
};
use net::guard::{Guard, Pass, Verdict};

/// Delay without a word after which a second request is made beside the first.
const HEDGE_AFTER: Duration = Duration::from_millis(1_200);

/// Time limit for a provider's first word.
const FIRST_WORD_WITHIN: Duration = Duration::from_secs(4);

/// Longest pause within a reply that has begun. Speech is slower than text, so most of the reply is still
/// heard during the pause, and the remaining silence stays below what a listener takes for a broken line.
const NEXT_WORD_WITHIN: Duration = Duration::from_millis(2_500);

/// Pause before a request that failed at once is repeated.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// Request in progress.
struct Runner {
    deltas: Deltas,
    /// Pass of the guard; `None` for a model that is never down.
    pass: Option<Pass>,
    /// Events received that do not yet make a reply.
    held: VecDeque<ReplyEvent>,
}

impl Runner {
    fn start(model: &Model, request: &ReplyRequest, prompt: &Arc<Prompt>) -> Result<Self, Failure> {
        let pass = match model.guard.as_ref().map(Guard::admit) {
            Some(Ok(pass)) => Some(pass.for_call(request.meter.call())),
            // The guard has already counted the failures that led to this.
            Some(Err(tripped)) => {
                return Err(Failure::NotCounted(tripped.to_string()));
            }
            None => None,
        };
        let deltas = model.ask(request, prompt);
        Ok(Self {
            deltas,
            pass,
            held: VecDeque::new(),
        })
    }

    fn succeeded(&mut self) {
        if let Some(pass) = self.pass.take() {
            pass.succeeded();
        }
    }

    fn late(&mut self) {
        if let Some(pass) = self.pass.take() {
            pass.failed(Verdict::Unhealthy, "no word in time");
        }
    }

    fn failed(&mut self, failure: &Failure) {
        if let (Some(pass), Some(verdict)) = (self.pass.take(), failure.verdict()) {
            pass.failed(verdict, &LanguageError::from(failure.clone()).to_string());
        }
    }
}

/// Reply that is being given out.
pub(super) struct Speaking {
    runner: Runner,
    provider: &'static str,
    /// Whether all of it has been received.
    over: bool,
}

impl Speaking {
    /// Returns the next event. A reply that breaks off or stalls is an error.
    pub(super) async fn next(&mut self) -> Option<Result<ReplyEvent, LanguageError>> {
        loop {
            if let Some(event) = self.runner.held.pop_front() {
                return Some(Ok(event));
            }
            if self.over {
                return None;
            }
            let failure = match timeout(NEXT_WORD_WITHIN, self.runner.deltas.next()).await {
                Ok(Some(Ok(Delta::Event(event)))) => return Some(Ok(event)),
                Ok(Some(Ok(Delta::Thinking | Delta::Working))) => continue,
                Ok(Some(Err(failure))) => failure,
                Ok(None) => {
                    self.runner.succeeded();
                    return None;
                }
                Err(_) => Failure::unavailable(format!(
                    "nothing more came within {:.1} s",
                    NEXT_WORD_WITHIN.as_secs_f64()
                )),
            };
            self.runner.failed(&failure);
            return Some(Err(by(self.provider, failure.into())));
        }
    }
}

/// Adds the provider's name to an error.
pub(super) fn by(provider: &str, error: LanguageError) -> LanguageError {
    let named = |words: &str| format!("{provider}: {words}");
    match error {
        LanguageError::Rejected(words) => LanguageError::Rejected(named(&words)),
        LanguageError::Unavailable(words) => LanguageError::Unavailable(named(&words)),
        LanguageError::Protocol(words) => LanguageError::Protocol(named(&words)),
        busy @ LanguageError::Busy { .. } => busy,
    }
}

/// Deadlines of a race.
struct Times {
    /// Time of the second request; `None` once it was made or is no longer wanted.
    hedge_at: Option<Instant>,
    give_up_at: Instant,
}

/// Race for the first word of one provider.
pub(super) struct Race<'a> {
    pub model: &'a Model,
    pub request: &'a ReplyRequest,
    pub prompt: &'a Arc<Prompt>,
    /// Whether no other model is left to ask, so that a request that fails at once is worth repeating.
    pub is_last: bool,
}

impl Race<'_> {
    /// Runs the race.
    pub(super) async fn run(&self) -> Result<Box<Speaking>, Failure> {
        let began = Instant::now();
        let result = self.heat(began).await;
        match result {
            Err(failure) if self.is_last => match self.pause(&failure, began) {
                Some(pause) => {
                    sleep(pause).await;
                    self.heat(began).await
                }
                None => Err(failure),
            },
            result => result,
        }
    }

    /// Returns the pause before the request is repeated, or `None` if it is not.
    fn pause(&self, failure: &Failure, began: Instant) -> Option<Duration> {
        let wanted = match failure {
            Failure::Busy { retry_after } => retry_after.unwrap_or(RETRY_AFTER),
            _ => RETRY_AFTER,
        };
        let pause = wanted.max(RETRY_AFTER);
        let in_time = began.elapsed() + pause < FIRST_WORD_WITHIN;
        let guard = self.model.guard.as_ref()?;
        (failure.verdict() == Some(Verdict::Unhealthy) && in_time && guard.may_retry()).then_some(pause)
    }

    async fn heat(&self, began: Instant) -> Result<Box<Speaking>, Failure> {
        let mut runners = vec![self.start()?];
        let mut times = Times {
            hedge_at: Some(Instant::now() + HEDGE_AFTER),
            give_up_at: began + FIRST_WORD_WITHIN,
        };
        loop {
            tokio::select! {
                biased;
                (at, delta) = next_of(&mut runners) => {
                    if let Some(result) = self.take(&mut runners, at, delta, &mut times) {
                        return result;
                    }
                }
                () = sleep_until(times.hedge_at.unwrap_or(times.give_up_at)), if times.hedge_at.is_some() => {
                    times.hedge_at = None;
                    runners.extend(self.hedge());
                }
                () = sleep_until(times.give_up_at) => {
                    for runner in &mut runners {
                        runner.late();
                    }
                    let waited = began.elapsed().as_secs_f64();
                    return Err(Failure::unavailable(format!("no answer within {waited:.1} s")));
                }
            }
        }
    }

    /// Handles one request's delta. Returns the result of the race if it is decided.
    fn take(
        &self,
        runners: &mut Vec<Runner>,
        at: usize,
        delta: Option<Result<Delta, Failure>>,
        times: &mut Times,
    ) -> Option<Result<Box<Speaking>, Failure>> {
        match delta {
            Some(Ok(Delta::Thinking)) => None,
            Some(Ok(Delta::Working)) => {
                // This request has won, although nothing can be given out yet.
                runners.swap(0, at);
                runners.truncate(1);
                times.hedge_at = None;
                times.give_up_at = times.give_up_at.max(Instant::now() + NEXT_WORD_WITHIN);
                None
            }
            Some(Ok(Delta::Event(event))) => {
                let stands = reply_check::stands(&event, self.prompt);
                runners[at].held.push_back(event);
                stands.then(|| Ok(self.speaking(runners.swap_remove(at), false)))
            }
            Some(Err(failure)) => {
                runners.swap_remove(at).failed(&failure);
                runners.is_empty().then_some(Err(failure))
            }
            None => {
                let mut runner = runners.swap_remove(at);
                match reply_check::left_over(&runner.held, &self.request.history) {
                    // The model receives the error, which says nothing for or against its health.
                    Ok(()) => Some(Ok(self.speaking(runner, true))),
                    Err(failure) => {
                        runner.failed(&failure);
                        runners.is_empty().then_some(Err(failure))
                    }
                }
            }
        }
    }

    fn speaking(&self, runner: Runner, over: bool) -> Box<Speaking> {
        let provider = self.model.provider;
        Box::new(Speaking { runner, provider, over })
    }

    fn start(&self) -> Result<Runner, Failure> {
        Runner::start(self.model, self.request, self.prompt)
    }

    /// Starts a second request if the retry budget allows it.
    fn hedge(&self) -> Option<Runner> {
        let may = self.model.guard.as_ref().is_some_and(Guard::may_retry);
        may.then(|| self.start().ok()).flatten()
    }
}

/// Waits for the next delta of any request. Returns it with the request's index.
async fn next_of(runners: &mut [Runner]) -> (usize, Option<Result<Delta, Failure>>) {
    std::future::poll_fn(|context: &mut Context<'_>| {
        for (at, runner) in runners.iter_mut().enumerate() {
            if let Poll::Ready(delta) = runner.deltas.poll_next_unpin(context) {
                return Poll::Ready((at, delta));
            }
        }
        Poll::Pending
    })
    .await
}
