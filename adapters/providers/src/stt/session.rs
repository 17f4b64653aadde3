//! Task that transcribes one call. It uses one recogniser after the other, each with a few retries, until the
//! call ends or none is left.

use std::{sync::Arc, time::Duration};

use domain::ports::transcriber::{Capabilities, TranscriberConfig, TranscriptStream};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};

use crate::{
    failure::Failure,
    protocols::stt::RecogniserProtocol,
    stt::{
        choice::{Choice, Way},
        results::{Counted, Results},
        socket::Connection,
        transcriptions::{self, Clips},
    },
};
use net::{guard::Pass, redact};

/// How often a call goes through several recognisers while none of them works for a while. The first one's
/// problem may be over by the time the last one fails.
const ROUNDS: usize = 2;

/// Maximum number of reconnects in a row, with and without another recogniser left. A recogniser that never
/// gave the expected words is abandoned soon in either case, because the caller waits for an answer.
const RETRIES: u32 = 1;
const LAST_RETRIES: u32 = 4;

/// Delay before the second reconnect in a row, doubled for each further one. The first reconnect is immediate.
const BACKOFF: Duration = Duration::from_millis(250);
const MOST_BACKOFF: Duration = Duration::from_secs(2);

/// A connection that lived this long failed for a new reason, unless it never gave the expected words.
const PROVEN_AFTER: Duration = Duration::from_secs(5);

/// Longest wait for the last recogniser while its circuit breaker is open.
const MOST_TRIPPED: Duration = Duration::from_secs(6);

/// Audio kept for a streaming recogniser, which gives finals every few seconds.
const STREAM_KEEPS_MS: u32 = 20_000;

/// Transcription task.
pub(super) struct Session {
    pub(super) choices: Arc<[Choice]>,
    pub(super) config: TranscriberConfig,
    pub(super) results: Results,
    /// Resolves when the call has dropped its stream.
    pub(super) gone: oneshot::Receiver<()>,
}

/// Reason why serving ended.
enum End {
    /// The call is over.
    Gone,
    /// The recogniser cannot go on.
    Lost(Lost),
}

/// Loss of a recogniser.
pub(super) struct Lost {
    pub(super) failure: Failure,
    /// Pass of the guard, if its result was not reported yet.
    pub(super) pass: Option<Pass>,
    /// Whether the recogniser gave finals before.
    pub(super) useful: bool,
    /// Whether it failed to answer although there was voice.
    pub(super) owing: bool,
}

/// Recogniser that this call abandoned.
struct GivenUp {
    failure: Failure,
    /// Whether it worked for a while before.
    proven: bool,
}

impl Session {
    /// Serves the call to its end.
    pub(super) async fn run(mut self) {
        let mut left: Vec<Choice> = self.choices.to_vec();
        let mut failure = Failure::Unavailable("no recogniser is configured: set RINGBACK_STT".into());
        let mut rounds = ROUNDS;
        while rounds > 0 && !left.is_empty() {
            rounds = if left.len() == 1 { 0 } else { rounds - 1 };
            let (mut unhealthy, count) = (Vec::new(), left.len());
            for (n, choice) in left.into_iter().enumerate() {
                let is_last = rounds == 0 && n + 1 == count;
                let Some(lost) = self.with(&choice, is_last).await else {
                    return;
                };
                failure = lost.failure;
                tracing::warn!(recogniser = %choice.name, why = redact::fit(&failure.to_string()), is_last, "recogniser given up by this call");
                if lost.proven && count > 1 {
                    rounds = ROUNDS;
                }
                if !failure.is_permanent() {
                    unhealthy.push(choice);
                }
            }
            left = unhealthy;
        }
        self.results.failed(failure.into());
    }

    /// Serves with one recogniser. Returns why it was abandoned, or `None` if the call is over.
    async fn with(&mut self, choice: &Choice, is_last: bool) -> Option<GivenUp> {
        let most = if is_last { LAST_RETRIES } else { RETRIES };
        let mut way = choice.way(&self.config);
        let (mut failures, mut waited, mut ever_proven) = (0, false, false);
        let given_up = |failure, proven| Some(GivenUp { failure, proven });
        loop {
            let pass = match choice.guard.admit() {
                Ok(pass) => pass.for_call(self.config.meter.call()),
                Err(tripped) if is_last && !waited && tripped.retry_in <= MOST_TRIPPED => {
                    waited = true;
                    self.pause(tripped.retry_in).await?;
                    continue;
                }
                Err(tripped) => return given_up(Failure::Unavailable(tripped.to_string()), ever_proven),
            };
            let began = Instant::now();
            let End::Lost(lost) = self.serve(&mut way, choice, pass).await else {
                return None;
            };
            let Lost {
                failure, useful, owing, ..
            } = lost;
            self.results.lost();
            report(choice, lost.pass, &failure, self.config.meter.call());
            let proven = began.elapsed() >= PROVEN_AFTER && (useful || !owing);
            ever_proven |= proven && useful;
            if failure.is_permanent() {
                return given_up(failure, ever_proven);
            }
            // A recogniser that gives something and then disconnects, again and again, counts like one that
            // gives nothing.
            failures = if proven || useful && failures == 0 {
                1
            } else {
                failures + 1
            };
            let may_retry = is_last || failures == 1 && proven || choice.guard.may_retry();
            let most = if owing && !useful { RETRIES } else { most };
            if failures > most || !may_retry {
                return given_up(failure, ever_proven);
            }
            tracing::info!(recogniser = %choice.name, why = redact::fit(&failure.to_string()), failures, "recogniser lost, trying again");
            self.pause(backoff(failures, &failure)).await?;
        }
    }

    /// Waits. Returns `None` if the call ended meanwhile.
    async fn pause(&mut self, length: Duration) -> Option<()> {
        tokio::select! {
            _ = &mut self.gone => None,
            () = sleep(length) => Some(()),
        }
    }

    async fn serve(&mut self, way: &mut Way, choice: &Choice, pass: Pass) -> End {
        match way {
            Way::Socket(protocol) => self.on_socket(&mut **protocol, choice, pass).await,
            Way::Clips(clips) => self.in_clips(clips, choice, pass).await,
            Way::Inside(transcriber) => {
                drop(pass);
                let config = self.config.clone();
                let stream = transcriber.open(config, self.results.straight());
                self.inside(stream).await
            }
        }
    }

    async fn on_socket(&mut self, protocol: &mut dyn RecogniserProtocol, choice: &Choice, pass: Pass) -> End {
        let counted = self.begin(
            choice,
            &protocol.request().model,
            protocol.capabilities(),
            STREAM_KEEPS_MS,
        );
        let opened = tokio::select! {
            _ = &mut self.gone => return End::Gone,
            opened = Connection::open(protocol, &mut self.results, counted, pass) => opened,
        };
        let mut connection = match opened {
            Ok(connection) => connection,
            Err((failure, pass)) => {
                return End::Lost(Lost {
                    failure,
                    pass: Some(pass),
                    useful: false,
                    owing: false,
                });
            }
        };
        tokio::select! {
            biased;
            _ = &mut self.gone => {
                connection.close().await;
                End::Gone
            }
            lost = connection.serve() => End::Lost(lost),
        }
    }

    async fn in_clips(&mut self, clips: &mut Clips, choice: &Choice, pass: Pass) -> End {
        let counted = self.begin(choice, clips.model(), clips.capabilities(), transcriptions::KEEPS_MS);
        {
            let mut state = self.results.inbox.state();
            state.connected = true;
            // Nothing is sent before a final is requested.
            state.sent = u64::MAX;
        }
        tokio::select! {
            _ = &mut self.gone => End::Gone,
            lost = clips.serve(&mut self.results, counted, &choice.guard, pass) => End::Lost(lost),
        }
    }

    /// Prepares the buffer for a recogniser and returns the counter of its audio.
    fn begin(&self, choice: &Choice, model: &str, capabilities: Capabilities, keeps_ms: u32) -> Counted {
        let mut state = self.results.inbox.state();
        state.capabilities = capabilities;
        state.buffer.keep(keeps_ms);
        let meter = self.config.meter.clone();
        Counted::new(meter, choice.provider, model, state.buffer.ms(1))
    }

    /// Passes everything to a recogniser inside this process, which does not fail.
    async fn inside(&mut self, mut stream: Box<dyn TranscriptStream>) -> End {
        let mut samples = Vec::new();
        loop {
            {
                let mut state = self.results.inbox.state();
                state.connected = true;
                state.capabilities = stream.capabilities();
                let mut from = state.buffer.start();
                let end = state.buffer.end();
                while from < end || !state.asked.is_empty() {
                    let until = state.asked.front().copied().unwrap_or(end);
                    let bytes = state
                        .buffer
                        .read(from, usize::try_from(until.saturating_sub(from)).unwrap_or(0));
                    samples.clear();
                    media::codec::decode(state.buffer.format().encoding, &bytes, &mut samples);
                    stream.push(&samples);
                    from = from.max(until);
                    if state.asked.pop_front().is_some() {
                        stream.finalize();
                    }
                }
                state.sent = end;
                state.buffer.settle(end, true);
            }
            tokio::select! {
                _ = &mut self.gone => return End::Gone,
                () = self.results.inbox.changed() => {}
            }
        }
    }
}

/// Reports the result to the guard. A pass that was already used for a success is requested again.
fn report(choice: &Choice, pass: Option<Pass>, failure: &Failure, call: u64) {
    if let Some(verdict) = failure.verdict()
        && let Some(pass) = pass.or_else(|| choice.guard.admit().ok())
    {
        pass.for_call(call).failed(verdict, &failure.to_string());
    }
}

fn backoff(failures: u32, failure: &Failure) -> Duration {
    let doubled = match failures {
        0 | 1 => Duration::ZERO,
        more => BACKOFF * 2_u32.pow((more - 2).min(8)),
    };
    let asked = match failure {
        Failure::Busy { retry_after } => retry_after.unwrap_or(BACKOFF),
        _ => Duration::ZERO,
    };
    doubled.max(asked).min(MOST_BACKOFF)
}
