//! Connection to a recogniser on a socket. It sends the buffer at a limited speed, requests finals, keeps the
//! connection open, and detects a recogniser that hangs.

use std::{ops::ControlFlow, time::Duration};

use domain::ports::transcriber::TranscriptEvent;
use futures_util::{SinkExt, StreamExt};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::{
    failure::Failure,
    protocols::stt::{RecogniserEvent, RecogniserProtocol, Request, refused},
    stt::{
        audio_buffer::BATCH_MS,
        audio_clock::AudioClock,
        pending::{ANSWER_WITHIN, Pending},
        queue::REPLAY_PERCENT,
        results::{Counted, Results},
        session::Lost,
        word_rate::Flow,
    },
};
use net::{
    guard::Pass,
    socket::{ConnectError, ProviderSocket, connect},
};

/// Time limit for the recogniser's ready message.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// Time limit for sending a piece of audio. If it is exceeded, the peer does not read and its window is full.
const WRITE_WITHIN: Duration = Duration::from_secs(2);

/// Time after which a connection without results says nothing about the provider's health.
const UNTOLD_AFTER: Duration = Duration::from_secs(5);

/// Time limit for the closing message.
const GOODBYE_WITHIN: Duration = Duration::from_millis(500);

/// Delay before a request is repeated after [`RecogniserEvent::AskAgain`].
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(300);

/// Audio this far ahead of the allowed speed is not a replay, because the line itself comes in bursts.
const BURST_MS: u64 = 500;

/// Connection to a recogniser.
pub(super) struct Connection<'a> {
    socket: ProviderSocket,
    protocol: &'a mut dyn RecogniserProtocol,
    results: &'a mut Results,
    counted: Counted,
    pass: Option<Pass>,
    clock: AudioClock,
    began: Instant,
    ready: bool,
    /// Time of the last message sent, audio or other.
    sent_at: Instant,
    /// Milliseconds of audio sent, and since when.
    paced: (u64, Instant),
    pending: Pending,
    /// Time until which an abandoned answer may still come.
    late_until: Option<Instant>,
    ask_again_at: Option<Instant>,
    /// Whether finals came.
    useful: bool,
    flow: Flow,
}

impl<'a> Connection<'a> {
    /// Connects to the recogniser.
    pub(super) async fn open(
        protocol: &'a mut dyn RecogniserProtocol,
        results: &'a mut Results,
        counted: Counted,
        pass: Pass,
    ) -> Result<Self, (Failure, Pass)> {
        let Request { url, headers, .. } = protocol.request();
        let socket = match connect(url, headers).await {
            Ok(socket) => socket,
            Err(ConnectError::Refused { status, words }) => {
                return Err((refused(status, &words, None), pass));
            }
            Err(ConnectError::Unreachable(why)) => return Err((Failure::Unavailable(why), pass)),
        };
        protocol.restarted();
        let now = Instant::now();
        let mut state = results.inbox.state();
        let start = state.buffer.start();
        state.sent = start;
        let clock = AudioClock::new(start, state.buffer.ms(1));
        drop(state);
        Ok(Self {
            socket,
            ready: !protocol.greets(),
            protocol,
            results,
            counted,
            pass: Some(pass),
            clock,
            began: now,
            sent_at: now,
            paced: (0, now),
            pending: Pending::default(),
            late_until: None,
            ask_again_at: None,
            useful: false,
            flow: Flow::new(),
        })
    }

    /// Serves until the connection breaks. The result keeps the pass if nothing was reported to the guard.
    pub(super) async fn serve(&mut self) -> Lost {
        let Err(failure) = self.pump().await;
        Lost {
            failure,
            pass: self.pass.take(),
            useful: self.useful,
            owing: self.pending.is_owing(),
        }
    }

    /// Closes the connection, within [`GOODBYE_WITHIN`].
    pub(super) async fn close(mut self) {
        if let Some(pass) = self.pass.take().filter(|_| self.ready) {
            pass.succeeded();
        }
        let goodbye = async {
            if let Some(message) = self.protocol.goodbye() {
                self.socket.send(message).await?;
            }
            self.socket.close(None).await
        };
        // The connection is dropped in any case.
        let _ = timeout(GOODBYE_WITHIN, goodbye).await;
    }

    async fn pump(&mut self) -> Result<std::convert::Infallible, Failure> {
        self.results.inbox.state().connected = self.ready;
        loop {
            while self.send_next().await?.is_continue() {}
            let due = self.next_due();
            let message = tokio::select! {
                biased;
                message = self.socket.next() => Some(message),
                () = self.results.inbox.changed() => None,
                () = sleep_until(due) => None,
            };
            match message {
                Some(message) => self.receive(message)?,
                None => self.time().await?,
            }
        }
    }

    /// Sends one message that is due. Breaks if nothing is due.
    async fn send_next(&mut self) -> Result<ControlFlow<()>, Failure> {
        if !self.ready {
            return Ok(ControlFlow::Break(()));
        }
        let (from, bytes, ask) = {
            let state = self.results.inbox.state();
            let from = state.sent.max(state.buffer.start());
            let next_ask = state.asked.get(self.pending.finals()).copied();
            let until = next_ask.unwrap_or(u64::MAX).min(state.buffer.end());
            let room = until.saturating_sub(from).min(state.buffer.ms(BATCH_MS));
            let bytes = match self.may_send_at() <= Instant::now() {
                true => state.buffer.read(from, usize::try_from(room).unwrap_or(0)),
                false => Vec::new(),
            };
            let ask = next_ask.filter(|position| *position <= from);
            (from, bytes, ask)
        };
        if let Some(position) = ask {
            self.ask(position).await?;
            return Ok(ControlFlow::Continue(()));
        }
        if bytes.is_empty() {
            return Ok(ControlFlow::Break(()));
        }
        self.clock.sent(from, bytes.len() as u64);
        self.results.inbox.state().sent = from + bytes.len() as u64;
        self.send_audio(&bytes).await?;
        Ok(ControlFlow::Continue(()))
    }

    async fn send_audio(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let now = Instant::now();
        let (sent_ms, since) = self.paced;
        // Time without audio to send does not count as credit.
        let allowed_ms = elapsed_ms(since, now) * REPLAY_PERCENT / 100;
        let ms = bytes.len() as u64 / self.clock.bytes_a_ms();
        self.paced = match sent_ms < allowed_ms {
            true => (ms, now),
            false => (sent_ms + ms, since),
        };
        if self.results.inbox.state().buffer.is_voiced() {
            self.pending.voice();
        }
        self.counted.add(bytes.len());
        let message = self.protocol.audio(bytes);
        self.send(message).await
    }

    /// Returns when a piece of audio may be sent.
    fn may_send_at(&self) -> Instant {
        let (sent_ms, since) = self.paced;
        let due_ms = sent_ms.saturating_sub(BURST_MS) * 100 / REPLAY_PERCENT;
        since + Duration::from_millis(due_ms)
    }

    async fn ask(&mut self, position: u64) -> Result<(), Failure> {
        let (news, voiced) = {
            let state = self.results.inbox.state();
            (position > state.buffer.start(), state.buffer.may_be_voice())
        };
        let voiced = voiced || self.results.has_interim();
        let message = if news { self.protocol.finalize() } else { None };
        self.pending.ask(position, voiced);
        match message {
            Some(message) => {
                if voiced {
                    self.pending.voice();
                }
                self.send(message).await
            }
            // There is nothing left that the recogniser could say.
            None => {
                self.answered("", Some(position));
                Ok(())
            }
        }
    }

    async fn send(&mut self, message: Message) -> Result<(), Failure> {
        self.sent_at = Instant::now();
        match timeout(WRITE_WITHIN, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Failure::Unavailable(error.to_string())),
            Err(_) => Err(Failure::Unavailable("it stopped reading".into())),
        }
    }

    fn receive(&mut self, message: Option<Result<Message, Error>>) -> Result<(), Failure> {
        match message {
            Some(Ok(Message::Text(text))) => {
                if let Some(event) = self.protocol.read(&text)? {
                    self.flow.take(event.bytes())?;
                    self.handle(event)?;
                }
                Ok(())
            }
            Some(Ok(Message::Close(frame))) => Err(self.protocol.closed(frame.as_ref())),
            Some(Ok(_)) => Ok(()),
            Some(Err(Error::Capacity(error))) => Err(Failure::Protocol(error.to_string())),
            Some(Err(error)) => Err(Failure::Unavailable(error.to_string())),
            None => Err(self.protocol.closed(None)),
        }
    }

    fn handle(&mut self, event: RecogniserEvent) -> Result<(), Failure> {
        match event {
            RecogniserEvent::Ready => {
                self.ready = true;
                self.results.inbox.state().connected = true;
                self.paced = (0, Instant::now());
            }
            RecogniserEvent::Interim(text) => {
                self.pending.told();
                self.results.interim(&text);
            }
            RecogniserEvent::Final { text, up_to_s, answers } => self.final_came(&text, up_to_s, answers)?,
            RecogniserEvent::TurnEnded { text, up_to_s } => {
                self.final_came(&text, Some(up_to_s), true)?;
                self.results.turn(TranscriptEvent::TurnEnded);
            }
            RecogniserEvent::TurnPaused { text } => {
                self.pending.told();
                self.results.interim(&text);
                self.results.turn(TranscriptEvent::TurnPaused);
            }
            RecogniserEvent::TurnResumed { text } => {
                self.pending.told();
                self.results.turn(TranscriptEvent::TurnResumed);
                self.results.interim(&text);
            }
            // This does not count as an answer.
            RecogniserEvent::AskAgain => self.ask_again_at = Some(Instant::now() + ASK_AGAIN_AFTER),
        }
        Ok(())
    }

    fn final_came(&mut self, text: &str, up_to_s: Option<f64>, answers: bool) -> Result<(), Failure> {
        self.results.may_tell(text)?;
        // Interims alone do not show that the recogniser works.
        self.well();
        self.useful = true;
        let late = self.late_until.is_some_and(|until| Instant::now() < until);
        let ended = answers;
        let answers = answers && self.pending.finals() > 0 && !late;
        if late {
            self.late_until = None;
        }
        let up_to = up_to_s.map(|seconds| self.clock.position(seconds));
        if answers {
            self.answered(text, up_to);
        } else {
            self.results.settled(text, up_to.unwrap_or(0), ended);
            self.give_up_on_silence();
        }
        self.pending.told();
        Ok(())
    }

    /// Gives the oldest requested final.
    fn answered(&mut self, text: &str, up_to: Option<u64>) {
        let position = self.pending.settle().unwrap_or(0);
        self.results.answer(text, up_to.unwrap_or(position), false);
    }

    /// Answers a requested final whose words have already come, or that has none, if its answer is late and
    /// may never come.
    fn give_up_on_silence(&mut self) {
        let within = self.protocol.capabilities().final_within;
        let due = self
            .pending
            .first()
            .is_some_and(|asked| asked.since.elapsed() >= within);
        if due && !self.results.has_interim() {
            self.late_until = Some(Instant::now() + ANSWER_WITHIN / 2);
            // The covered audio is unknown, so all of it is kept for a replay.
            self.answered("", Some(0));
        }
    }

    /// Reports to the guard that the provider works.
    fn well(&mut self) {
        if let Some(pass) = self.pass.take_if(|_| self.ready) {
            pass.succeeded();
        }
    }

    /// Returns when to act next if no message comes.
    fn next_due(&self) -> Instant {
        let asked = self.pending.first().filter(|_| !self.results.has_interim());
        let within = self.protocol.capabilities().final_within;
        let behind = {
            let state = self.results.inbox.state();
            state.buffer.end() > state.sent.max(state.buffer.start())
        };
        let times = [
            (!self.ready).then(|| self.began + READY_WITHIN),
            (behind && self.ready).then(|| self.may_send_at()),
            asked.map(|asked| asked.since + within),
            self.ask_again_at,
            self.pending.hung_at(),
            self.pass.as_ref().map(|_| self.began + UNTOLD_AFTER),
            self.ready.then(|| self.sent_at + self.protocol.idle().after),
        ];
        let now = Instant::now();
        times.into_iter().flatten().min().unwrap_or(now + UNTOLD_AFTER)
    }

    async fn time(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        if !self.ready && now >= self.began + READY_WITHIN {
            return Err(Failure::Unavailable(format!(
                "connected but not ready within {} s",
                READY_WITHIN.as_secs()
            )));
        }
        if self.pending.hung_at().is_some_and(|at| now >= at) {
            return Err(Failure::Unavailable("it stopped answering".into()));
        }
        if self.pass.is_some() && now >= self.began + UNTOLD_AFTER {
            // The connection was idle, which says nothing about the provider.
            self.pass = None;
        }
        self.give_up_on_silence();
        if self.ask_again_at.is_some_and(|at| now >= at) {
            self.ask_again_at = None;
            if let Some(message) = self.protocol.finalize().filter(|_| self.pending.finals() > 0) {
                self.send(message).await?;
            }
        }
        if self.ready && now >= self.sent_at + self.protocol.idle().after {
            self.keep_alive().await?;
        }
        Ok(())
    }

    async fn keep_alive(&mut self) -> Result<(), Failure> {
        match self.protocol.idle().message {
            // A keep-alive message only works after some audio.
            Some(message) if self.clock.has_begun() => self.send(Message::text(message)).await,
            _ => {
                let format = self.results.inbox.state().buffer.format();
                let silence = vec![media::codec::silence(format.encoding); format.bytes_for_ms(BATCH_MS)];
                self.clock.silence(silence.len() as u64);
                self.send_audio(&silence).await
            }
        }
    }
}

fn elapsed_ms(since: Instant, now: Instant) -> u64 {
    u64::try_from((now - since).as_millis()).unwrap_or(u64::MAX)
}
