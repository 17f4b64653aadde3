//! One provider's request for a reply, and a second one beside it when the first is slow: whichever speaks first wins.

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

use crate::failure::Failure;
use crate::llm::{
    models::Model,
    reply_check,
    reply_stream::{Delta, Deltas},
};
use net::guard::{Guard, Pass, Verdict};

/// Without a word for so long, a second request is made beside the first.
const HEDGE_AFTER: Duration = Duration::from_millis(1_200);

/// A provider has so long for its first word.
const FIRST_WORD_WITHIN: Duration = Duration::from_secs(4);

/// A reply that has begun dries up after so long: speech is slower than text, so that most of it is still heard, and
/// the rest of the silence stays below what a listener takes for a broken line.
const NEXT_WORD_WITHIN: Duration = Duration::from_millis(2_500);

/// Before a request that failed at once is repeated.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// A request under way.
struct Runner {
    deltas: Deltas,
    /// None for what is never down.
    pass: Option<Pass>,
    /// What came and does not yet make a reply.
    held: VecDeque<ReplyEvent>,
}

impl Runner {
    fn start(model: &Model, request: &ReplyRequest, prompt: &Arc<Prompt>) -> Result<Self, Failure> {
        let pass = match model.guard.as_ref().map(Guard::admit) {
            Some(Ok(pass)) => Some(pass.for_call(request.meter.call())),
            // The guard has counted what led to this.
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
            pass.failed(Verdict::Unwell, "no word in time");
        }
    }

    fn failed(&mut self, failure: &Failure) {
        if let (Some(pass), Some(verdict)) = (self.pass.take(), failure.verdict()) {
            pass.failed(verdict, &LanguageError::from(failure.clone()).to_string());
        }
    }
}

/// A reply that is given out.
pub(super) struct Speaking {
    runner: Runner,
    provider: String,
    /// All of it has come.
    over: bool,
}

impl Speaking {
    /// What comes next; a reply that breaks off or dries up is an error.
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
            return Some(Err(by(&self.provider, failure.into())));
        }
    }
}

/// Names the provider in an error.
pub(super) fn by(provider: &str, error: LanguageError) -> LanguageError {
    let named = |words: &str| format!("{provider}: {words}");
    match error {
        LanguageError::Rejected(words) => LanguageError::Rejected(named(&words)),
        LanguageError::Unavailable(words) => LanguageError::Unavailable(named(&words)),
        LanguageError::Protocol(words) => LanguageError::Protocol(named(&words)),
        busy @ LanguageError::Busy { .. } => busy,
    }
}

/// When a race takes its turns.
struct Times {
    /// None once there was a hedge, or none is wanted any more.
    hedge_at: Option<Instant>,
    give_up_at: Instant,
}

/// A race for the first word of one provider.
pub(super) struct Race<'a> {
    pub model: &'a Model,
    pub request: &'a ReplyRequest,
    pub prompt: &'a Arc<Prompt>,
    /// Nobody else is left to ask, so that a request that fails at once is worth repeating.
    pub is_last: bool,
}

impl Race<'_> {
    /// Runs it.
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

    /// How long to wait before the request is repeated, if it is.
    fn pause(&self, failure: &Failure, began: Instant) -> Option<Duration> {
        let wanted = match failure {
            Failure::Busy { retry_after } => retry_after.unwrap_or(RETRY_AFTER),
            _ => RETRY_AFTER,
        };
        let pause = wanted.max(RETRY_AFTER);
        let in_time = began.elapsed() + pause < FIRST_WORD_WITHIN;
        let guard = self.model.guard.as_ref()?;
        (failure.verdict() == Some(Verdict::Unwell) && in_time && guard.may_retry()).then_some(pause)
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
                    return Err(Failure::unavailable(format!("nothing came within {waited:.1} s")));
                }
            }
        }
    }

    /// Takes one runner's delta; what comes of the race if it is over with that.
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
                // It has won, though nothing can be given out yet.
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
                    // It is told, which says nothing for or against it.
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
        let provider = self.model.provider.clone();
        Box::new(Speaking { runner, provider, over })
    }

    fn start(&self) -> Result<Runner, Failure> {
        Runner::start(self.model, self.request, self.prompt)
    }

    /// A second request, if the retry budget has one.
    fn hedge(&self) -> Option<Runner> {
        let may = self.model.guard.as_ref().is_some_and(Guard::may_retry);
        may.then(|| self.start().ok()).flatten()
    }
}

/// The next delta of any of them, and whose it is.
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
