//! Speech of one text with failover: a second request if the first is slow, the next provider if one fails,
//! and a continuation from the next word if one fails in the middle.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use domain::ports::synthesizer::{SpeechError, SpeechPiece, WordEnd};
use futures_util::{StreamExt, future::select_all};
use tokio::time::{Instant, sleep_until};

use crate::{
    failure::Failure,
    protocols::tts::provider::Pieces,
    tts::{
        connections::{Connections, Fresh},
        directions::Script,
    },
};
use net::redact;

/// Delay without audio after which another provider is asked in parallel.
const FIRST_AUDIO: Duration = Duration::from_millis(1_200);
/// Delay before each further parallel request.
const NEXT_HEDGE: Duration = Duration::from_millis(600);
/// Delay without any audio after which the text fails. It is shorter than the player's timeout, so that the
/// reason is reported.
const HARD: Duration = Duration::from_millis(3_900);
/// [`HARD`] and [`FIRST_AUDIO`] if the call's previous text failed because no audio came. The text is then an
/// apology, and the caller has waited long enough. Cached speech is available at once.
const HARD_AGAIN: Duration = Duration::from_millis(1_200);
const HEDGE_AGAIN: Duration = Duration::from_millis(400);
/// A text also fails in the middle if no audio comes for this long and at most [`NEARLY_PLAYED`] is left to play.
const STALLED: Duration = Duration::from_millis(1_200);
const NEARLY_PLAYED: Duration = Duration::from_millis(300);
const LONGEST_STALL: Duration = Duration::from_secs(8);
/// Maximum total length of gaps if audio comes more slowly than it plays.
const MOST_BEHIND: Duration = Duration::from_millis(2_500);
/// Audio that may be repeated if no word times tell how far it got.
const A_LITTLE_MS: u64 = 300;
/// Maximum number of times that a text is resumed.
const MOST_RESUMED: u32 = 3;

#[derive(Debug, Clone, Copy)]
enum Ask {
    /// The call's own connection, or the cache.
    First(usize),
    /// The same provider once more on a new connection, if its retry budget allows.
    Again(usize),
}

impl Ask {
    fn index(self) -> usize {
        match self {
            Self::First(index) | Self::Again(index) => index,
        }
    }
}

struct Attempt {
    index: usize,
    pieces: Pieces,
    fresh: Option<Fresh>,
}

/// Text in progress.
pub(super) struct Failover {
    lines: Arc<Connections>,
    script: Script,
    plan: VecDeque<Ask>,
    running: Vec<Attempt>,
    /// Start of the part that is being spoken, in the text, …
    base_text: usize,
    /// … and in the audio.
    base_samples: u64,
    given_samples: u64,
    /// End of the last word given out, in the whole text.
    given_text: usize,
    timed: bool,
    /// Whether audio of the present part has come.
    begun: bool,
    first_audio: Option<Instant>,
    last_audio: Instant,
    /// Total wait for audio of the present part after its first piece.
    waited: Duration,
    hedge_at: Instant,
    hard_at: Instant,
    resumed: u32,
    /// Whether a voice was too slow for this text.
    slow: bool,
    failure: Option<Failure>,
    ended: bool,
}

impl Failover {
    pub(super) fn new(lines: Arc<Connections>, script: Script) -> Self {
        let now = Instant::now();
        let mut relay = Self {
            plan: VecDeque::new(),
            lines,
            script,
            running: Vec::new(),
            base_text: 0,
            base_samples: 0,
            given_samples: 0,
            given_text: 0,
            timed: false,
            begun: false,
            first_audio: None,
            last_audio: now,
            waited: Duration::ZERO,
            hedge_at: now,
            hard_at: now,
            resumed: 0,
            slow: false,
            failure: None,
            ended: false,
        };
        relay.begin(Ask::First(0));
        relay
    }

    /// Plans the order of providers and asks the first.
    fn begin(&mut self, first: Ask) {
        let now = Instant::now();
        self.begun = false;
        self.running.clear();
        let (hedge, hard) = match self.lines.is_hung() {
            true => (HEDGE_AGAIN, HARD_AGAIN),
            false => (FIRST_AUDIO, HARD),
        };
        (self.hedge_at, self.hard_at) = (now + hedge, now + hard);
        self.plan = VecDeque::from([first]);
        if let Ask::First(index) = first {
            self.plan.push_back(Ask::Again(index));
        }
        let others = (0..self.lines.count()).filter(|index| *index != first.index());
        self.plan.extend(others.map(Ask::First));
        self.ask_next();
    }

    /// Asks the next provider of the plan. Returns false if there is none.
    fn ask_next(&mut self) -> bool {
        while let Some(ask) = self.plan.pop_front() {
            let rest = self.script.behind(self.base_text);
            let (index, whole) = (ask.index(), self.base_text == 0);
            let attempt = match ask {
                Ask::Again(_) if !self.lines.may_retry(index) => None,
                Ask::Again(_) => self
                    .lines
                    .ask_anew(index, &rest)
                    .map(|(pieces, fresh)| (pieces, Some(fresh))),
                // Only whole texts are worth caching.
                Ask::First(_) if whole => self.lines.speak(index, &rest).map(|pieces| (pieces, None)),
                Ask::First(_) => Some((self.lines.ask(index, &rest), None)),
            };
            if let Some((pieces, fresh)) = attempt {
                self.running.push(Attempt { index, pieces, fresh });
                return true;
            }
        }
        false
    }

    /// Returns the next piece of the text. Returns `None` at the end or after an error.
    pub(super) async fn next(&mut self) -> Option<Result<SpeechPiece, SpeechError>> {
        while !self.ended {
            if self.running.is_empty() && !self.ask_next() {
                return self.give_up();
            }
            let (asked, wake_at) = (Instant::now(), self.wake_at());
            let polled = self.running.iter_mut().map(|attempt| attempt.pieces.next());
            let came = tokio::select! {
                biased;
                (item, n, _) = select_all(polled) => Some((item, n)),
                () = sleep_until(wake_at) => None,
            };
            if self.begun {
                self.waited += asked.elapsed();
            }
            match came {
                Some((Some(Ok(piece)), n)) => return Some(Ok(self.give(piece, n))),
                Some((Some(Err(failure)), n)) => self.failed(failure, n),
                Some((None, n)) if self.is_silent() => self.failed(Failure::Protocol("no audio came".into()), n),
                Some((None, _)) => {
                    self.running.clear();
                    (self.ended, self.failure) = (true, None);
                }
                None => self.late(),
            }
        }
        self.failure.take().map(|failure| Err(failure.into()))
    }

    /// Returns whether the present part has words but no audio came.
    fn is_silent(&self) -> bool {
        let rest = self.script.text.get(self.base_text..).unwrap_or_default();
        !self.begun && rest.chars().any(char::is_alphanumeric)
    }

    fn give_up(&mut self) -> Option<Result<SpeechPiece, SpeechError>> {
        self.ended = true;
        let failure = self.failure.take();
        let failure = failure.unwrap_or_else(|| Failure::Unavailable("no voice available".into()));
        Some(Err(failure.into()))
    }

    fn wake_at(&self) -> Instant {
        if !self.begun {
            let hedge = (!self.plan.is_empty()).then_some(self.hedge_at);
            return hedge.map_or(self.hard_at, |at| at.min(self.hard_at));
        }
        let given = Duration::from_millis(self.given_samples / self.lines.samples_per_ms().max(1));
        let played = self.first_audio.map_or(self.last_audio, |at| at + given);
        let dry = played.checked_sub(NEARLY_PLAYED).unwrap_or(played);
        (self.last_audio + STALLED)
            .max(dry)
            .min(self.last_audio + LONGEST_STALL)
            .min(Instant::now() + self.most_waited().saturating_sub(self.waited))
    }

    /// Returns the maximum total wait for audio of the present part.
    fn most_waited(&self) -> Duration {
        let given = self.given_samples - self.base_samples;
        MOST_BEHIND + Duration::from_millis(given / self.lines.samples_per_ms().max(1))
    }

    /// Gives out a piece of attempt `n`, which becomes the only attempt.
    fn give(&mut self, piece: SpeechPiece, n: usize) -> SpeechPiece {
        if !self.begun {
            self.begun = true;
            let mut winner = self.running.swap_remove(n);
            if let Some(fresh) = winner.fresh.take() {
                self.lines.keep(winner.index, fresh);
            }
            self.lines.speaks(winner.index);
            self.running = vec![winner];
            self.plan.clear();
            self.failure = None;
            self.lines.hang(false);
            self.base_samples = self.given_samples;
            self.waited = Duration::ZERO;
        }
        let now = Instant::now();
        self.first_audio.get_or_insert(now);
        self.last_audio = now;
        self.given_samples += piece.samples.len() as u64;
        let words: Vec<_> = piece
            .words
            .iter()
            .map(|word| WordEnd {
                text_end: self.base_text + word.text_end,
                sample_end: self.base_samples + word.sample_end,
            })
            .collect();
        if let Some(last) = words.last() {
            self.given_text = last.text_end.min(self.script.text.len());
            self.timed = true;
        }
        SpeechPiece { words, ..piece }
    }

    fn failed(&mut self, failure: Failure, n: usize) {
        let failed = self.running.swap_remove(n);
        let provider = self.lines.provider(failed.index);
        let why = redact::fit(&failure.to_string());
        tracing::info!(provider, why, begun = self.begun, "voice failed");
        if self.begun {
            return self.resume(failed.index, failure);
        }
        if !failure.may_pass() {
            let index = failed.index;
            self.plan
                .retain(|ask| !matches!(ask, Ask::Again(again) if *again == index));
        }
        self.failure = Some(failure);
    }

    /// Handles a timeout.
    fn late(&mut self) {
        let now = Instant::now();
        if self.begun {
            let index = self.running.first().map_or(0, |attempt| attempt.index);
            let provider = self.lines.provider(index).to_owned();
            self.running.clear();
            self.stalled(index, &provider);
        } else if now >= self.hard_at {
            self.running.clear();
            self.plan.clear();
            let waited = if self.lines.hang(true) { HARD_AGAIN } else { HARD };
            let seconds = waited.as_secs_f64();
            self.failure = Some(Failure::Unavailable(format!("no audio came within {seconds:.1} s")));
            self.ended = true;
        } else {
            self.hedge_at = now + if self.lines.is_hung() { HEDGE_AGAIN } else { NEXT_HEDGE };
            self.ask_next();
        }
    }

    /// Handles missing or slow audio in the middle of a text.
    fn stalled(&mut self, index: usize, provider: &str) {
        let slow = self.waited >= self.most_waited();
        if slow && std::mem::replace(&mut self.slow, true) {
            self.resumed = MOST_RESUMED;
        }
        let what = if slow {
            "is slower than real time"
        } else {
            "stalled in the middle of a text"
        };
        self.resume(index, Failure::Unavailable(format!("{provider} {what}")));
    }

    /// Resumes after the last word given out, or from the start if hardly any audio was given out.
    fn resume(&mut self, index: usize, failure: Failure) {
        let given_ms = self.given_samples / self.lines.samples_per_ms().max(1);
        let rest = self.script.text.get(self.given_text..).unwrap_or_default();
        let more = rest.chars().any(char::is_alphanumeric);
        self.resumed += 1;
        if self.timed && !more {
            // All words were given out.
            self.ended = true;
            return;
        }
        if self.resumed > MOST_RESUMED || (!self.timed && given_ms > A_LITTLE_MS) {
            self.failure = Some(failure);
            self.ended = true;
            return;
        }
        self.base_text = self.given_text + rest.len() - rest.trim_start().len();
        let again = failure.may_pass() && !self.slow;
        self.failure = Some(failure);
        let other = (0..self.lines.count()).find(|other| *other != index);
        match other {
            Some(other) if !again => self.begin(Ask::First(other)),
            _ => self.begin(Ask::Again(index)),
        }
    }
}
