//! Socket of one call to a provider. It is opened when the call begins, kept alive, and reopened when it is
//! lost. Texts are sent on it, and their audio comes back under their numbers.

use std::{
    collections::{BTreeMap, VecDeque},
    pin::Pin,
    sync::Arc,
    task::{Context as TaskContext, Poll},
    time::Duration,
};

use domain::ports::{
    synthesizer::{SpeechPiece, VoiceConfig},
    usage::{Meter, Unit},
};
use futures_util::{SinkExt, Stream, StreamExt, stream};
use tokio::{
    sync::{Notify, mpsc},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_tungstenite::tungstenite::{Message, protocol::CloseFrame};

use crate::{
    failure::Failure,
    protocols::tts::{
        protocol::VoiceProtocol,
        provider::{Pieces, VoiceProvider},
        spoken_text::SpokenText,
    },
};
use net::{
    redact,
    socket::{ProviderSocket, connect},
};

/// Maximum number of texts that wait for the socket.
const MOST_WAITING: usize = 8;
/// Maximum number of pieces that wait for the listener.
const PIECES_AHEAD: usize = 32;
/// Delays before a lost socket is reopened; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// Time limit for writing, after which a socket counts as stuck.
const WRITE_WITHIN: Duration = Duration::from_secs(5);
/// Time without a message of a cancelled text after which its acknowledgement counts as lost.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(2);
/// Time limit for the provider to close after us.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// Result of a text; `None` is its end.
type Outcome = Option<Result<SpeechPiece, Failure>>;

struct QueuedText {
    text: String,
    /// Text with blanks in place of markup. Word times refer to it.
    words: String,
    sink: mpsc::Sender<Outcome>,
}

/// Voice on a socket.
pub(crate) struct SocketVoice {
    wanted: mpsc::Sender<QueuedText>,
    dropped: Arc<Notify>,
}

impl SocketVoice {
    /// Starts to connect. Must be called within a tokio runtime.
    pub(crate) fn open(protocol: impl VoiceProtocol, config: &VoiceConfig) -> Self {
        let (sender, wanted) = mpsc::channel(MOST_WAITING);
        let dropped = Arc::new(Notify::new());
        let connection = Connection {
            protocol,
            line_rate: config.sample_rate,
            meter: config.meter.clone(),
            wanted,
            dropped: dropped.clone(),
            waiting: VecDeque::new(),
            open: BTreeMap::new(),
            next_id: 0,
            out: Vec::new(),
        };
        tokio::spawn(connection.run());
        Self {
            wanted: sender,
            dropped,
        }
    }
}

impl VoiceProvider for SocketVoice {
    fn speak(&mut self, text: &str) -> Pieces {
        self.perform(text, text)
    }

    fn perform(&mut self, text: &str, words: &str) -> Pieces {
        let (sink, pieces) = mpsc::channel(PIECES_AHEAD);
        let (text, words) = (text.to_owned(), words.to_owned());
        match self.wanted.try_send(QueuedText { text, words, sink }) {
            Ok(()) => Listening {
                pieces,
                dropped: self.dropped.clone(),
                _connection: self.wanted.clone(),
                ended: false,
            }
            .boxed(),
            Err(mpsc::error::TrySendError::Full(_)) => stream::iter([Err(Failure::Busy { retry_after: None })]).boxed(),
            Err(mpsc::error::TrySendError::Closed(_)) => stream::iter([Err(broken())]).boxed(),
        }
    }
}

fn broken() -> Failure {
    Failure::Protocol("the voice's connection broke off without a result".into())
}

/// Audio of one text. Dropping it cancels the text.
struct Listening {
    pieces: mpsc::Receiver<Outcome>,
    dropped: Arc<Notify>,
    /// Keeps the connection alive while this exists.
    _connection: mpsc::Sender<QueuedText>,
    ended: bool,
}

impl Stream for Listening {
    type Item = Result<SpeechPiece, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        self.pieces.poll_recv(cx).map(|outcome| {
            let item = outcome.unwrap_or_else(|| Some(Err(broken())));
            self.ended = !matches!(item, Some(Ok(_)));
            item
        })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.pieces.close();
        self.dropped.notify_one();
    }
}

/// Text in progress.
struct Open {
    text: SpokenText,
    sink: mpsc::Sender<Outcome>,
    /// Deadline for the next message of the text, if it was cancelled.
    cancelled: Option<Instant>,
}

impl Open {
    /// Gives out the pieces that are ready. Returns false if nobody wants them any more.
    async fn give(&mut self) -> bool {
        while let Some(piece) = self.text.next() {
            if self.sink.send(Some(Ok(piece))).await.is_err() {
                return false;
            }
        }
        true
    }
}

/// Reason why a socket is no longer served.
enum End {
    /// Nobody wants the voice any more.
    Done,
    /// The socket was lost.
    Lost(Failure),
}

struct Connection<P> {
    protocol: P,
    line_rate: u32,
    meter: Meter,
    wanted: mpsc::Receiver<QueuedText>,
    dropped: Arc<Notify>,
    waiting: VecDeque<QueuedText>,
    open: BTreeMap<u64, Open>,
    next_id: u64,
    /// Messages to be sent.
    out: Vec<String>,
}

impl<P: VoiceProtocol> Connection<P> {
    async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let failure = match self.connect().await {
                Ok(mut socket) => {
                    let since = Instant::now();
                    match self.serve(&mut socket).await {
                        End::Done => return self.leave(socket).await,
                        End::Lost(failure) => {
                            if since.elapsed() > LONGEST_PAUSE {
                                pause = FIRST_PAUSE;
                            }
                            failure
                        }
                    }
                }
                Err(failure) => failure,
            };
            let (provider, why) = (self.protocol.endpoint().provider, redact::fit(&failure.to_string()));
            tracing::debug!(provider, why, "voice socket lost");
            self.fail_all(&failure);
            if failure.is_permanent() {
                return self.refuse(failure).await;
            }
            if !self.rest(pause).await {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn connect(&self) -> Result<ProviderSocket, Failure> {
        let socket = connect(&self.protocol.url(), &self.protocol.endpoint().headers()).await;
        socket.map_err(|error| Failure::of_connect(self.protocol.endpoint(), &error))
    }

    /// Waits before the next attempt, but not while a text waits. Returns false if nobody wants the voice any more.
    async fn rest(&mut self, pause: Duration) -> bool {
        tokio::select! {
            () = sleep(pause) => true,
            wanted = self.wanted.recv() => {
                let more = wanted.is_some();
                self.waiting.extend(wanted);
                more
            }
        }
    }

    /// Fails every text, because the provider refuses us.
    async fn refuse(&mut self, failure: Failure) {
        while let Some(wanted) = self.wanted.recv().await {
            // The listener may be gone already.
            let _ = wanted.sink.try_send(Some(Err(failure.clone())));
        }
    }

    fn fail_all(&mut self, failure: &Failure) {
        let open = std::mem::take(&mut self.open).into_values().map(|open| open.sink);
        for sink in open.chain(self.waiting.drain(..).map(|wanted| wanted.sink)) {
            fail(sink, failure);
        }
        self.out.clear();
    }

    async fn leave(self, mut socket: ProviderSocket) {
        let goodbye = self.protocol.goodbye().map(|text| Message::Text(text.into()));
        let closed = async {
            if let Some(goodbye) = goodbye {
                socket.send(goodbye).await?;
            }
            socket.close(None).await?;
            while socket.next().await.is_some_and(|message| message.is_ok()) {}
            Ok::<_, tokio_tungstenite::tungstenite::Error>(())
        };
        // The socket is dropped in any case.
        let _ = timeout(CLOSE_WITHIN, closed).await;
    }

    async fn serve(&mut self, socket: &mut ProviderSocket) -> End {
        let keep_alive = self.protocol.keep_alive();
        let mut said = Instant::now();
        let dropped = self.dropped.clone();
        loop {
            self.begin();
            if !self.out.is_empty() {
                said = Instant::now();
                if let Err(failure) = self.send(socket).await {
                    return End::Lost(failure);
                }
            }
            let quiet_until = keep_alive.as_ref().map(|(quiet, _)| said + *quiet);
            let overdue = self.open.values().filter_map(|open| open.cancelled).min();
            tokio::select! {
                biased;
                () = dropped.notified() => self.sweep(),
                wanted = self.wanted.recv(), if self.waiting.len() < MOST_WAITING => match wanted {
                    Some(wanted) => self.waiting.push_back(wanted),
                    None => return End::Done,
                },
                message = socket.next() => {
                    if let Err(failure) = self.take(message).await {
                        return End::Lost(failure);
                    }
                }
                () = until(overdue) => {
                    if let Err(failure) = self.overdue() {
                        return End::Lost(failure);
                    }
                }
                () = until(quiet_until) => self.out.extend(keep_alive.iter().map(|(_, text)| text.clone())),
            }
        }
    }

    /// Starts waiting texts, as far as the provider accepts more.
    fn begin(&mut self) {
        while self.open.len() < self.protocol.most_open()
            && let Some(QueuedText { text, words, sink }) = self.waiting.pop_front()
        {
            if sink.is_closed() {
                continue;
            }
            let characters = text.chars().count();
            let spoken = match SpokenText::new(&words, self.protocol.format(), self.line_rate) {
                Ok(spoken) => spoken,
                Err(failure) => {
                    fail(sink, &failure);
                    continue;
                }
            };
            let id = self.next_id;
            self.next_id += 1;
            self.protocol.begin(id, &text, &mut self.out);
            let provider = self.protocol.endpoint().provider;
            self.meter
                .add(provider, self.protocol.model(), Unit::Characters, characters as u64);
            let open = Open {
                text: spoken,
                sink,
                cancelled: None,
            };
            self.open.insert(id, open);
        }
    }

    async fn send(&mut self, socket: &mut ProviderSocket) -> Result<(), Failure> {
        let messages = std::mem::take(&mut self.out);
        let sent = timeout(WRITE_WITHIN, async {
            for message in messages {
                socket.feed(Message::Text(message.into())).await?;
            }
            socket.flush().await
        });
        match sent.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.unavailable(&format!("connection lost: {error}"))),
            Err(_) => Err(self.unavailable("stopped reading")),
        }
    }

    /// Cancels the texts that nobody listens to any more.
    fn sweep(&mut self) {
        let by = Instant::now() + ACKNOWLEDGED_WITHIN;
        for (id, open) in &mut self.open {
            if open.cancelled.is_none() && open.sink.is_closed() {
                open.cancelled = Some(by);
                self.protocol.cancel(*id, &mut self.out);
            }
        }
    }

    /// Handles a cancelled text that was not acknowledged in time. The socket is broken, but stays while
    /// other texts are spoken on it.
    fn overdue(&mut self) -> Result<(), Failure> {
        if self.open.values().all(|open| open.cancelled.is_some()) {
            return Err(self.unavailable("does not acknowledge a cancelled text"));
        }
        let by = Instant::now() + ACKNOWLEDGED_WITHIN;
        self.open
            .values_mut()
            .filter_map(|open| open.cancelled.as_mut())
            .for_each(|at| *at = by);
        Ok(())
    }

    /// Handles a message from the socket.
    async fn take(
        &mut self,
        message: Option<Result<Message, tokio_tungstenite::tungstenite::Error>>,
    ) -> Result<(), Failure> {
        match message {
            Some(Ok(Message::Text(text))) => self.text(text.as_str()).await,
            Some(Ok(Message::Binary(audio))) => {
                // Binary audio belongs to the only open text.
                if let Some(id) = self.only() {
                    self.go_on(id, |text| text.audio(&audio)).await;
                }
                Ok(())
            }
            Some(Ok(Message::Close(frame))) => Err(self.closed(frame)),
            Some(Ok(_)) => Ok(()),
            Some(Err(tokio_tungstenite::tungstenite::Error::Capacity(error))) => {
                let provider = self.protocol.endpoint().provider;
                Err(Failure::Protocol(format!("{provider}: {error}")))
            }
            Some(Err(error)) => Err(self.unavailable(&format!("connection lost: {error}"))),
            None => Err(self.unavailable("connection lost")),
        }
    }

    async fn text(&mut self, message: &str) -> Result<(), Failure> {
        let event = self.protocol.read(message)?;
        let Some(id) = event.id.or_else(|| self.only()) else {
            // The message names no known text, so a failure concerns the connection.
            return event.failed.map_or(Ok(()), Err);
        };
        let Some(open) = self.open.get_mut(&id) else {
            return Ok(());
        };
        if let Some(by) = &mut open.cancelled {
            *by = Instant::now() + ACKNOWLEDGED_WITHIN;
        } else {
            if let Some(failure) = &event.failed {
                let sink = open.sink.clone();
                self.open.remove(&id);
                fail(sink, failure);
                return Ok(());
            }
            self.go_on(id, |text| text.take(&event)).await;
        }
        let cancelled = self.open.get(&id).is_some_and(|open| open.cancelled.is_some());
        let over = match cancelled && self.protocol.clears() {
            true => event.cleared,
            false => event.ended || event.failed.is_some(),
        };
        if over {
            self.end(id).await;
        }
        Ok(())
    }

    /// Passes a result to a text and gives out the pieces that are ready, unless the text was cancelled.
    async fn go_on(&mut self, id: u64, take: impl FnOnce(&mut SpokenText) -> Result<(), Failure>) {
        let Some(open) = self.open.get_mut(&id).filter(|open| open.cancelled.is_none()) else {
            return;
        };
        let taken = take(&mut open.text);
        let given = open.give().await;
        if let Err(failure) = taken {
            // From here on it is a text that nobody listens to.
            fail(open.sink.clone(), &failure);
            open.cancelled = Some(Instant::now() + ACKNOWLEDGED_WITHIN);
            self.protocol.cancel(id, &mut self.out);
        } else if !given {
            self.sweep();
        }
    }

    fn only(&self) -> Option<u64> {
        self.open.keys().next().copied().filter(|_| self.open.len() == 1)
    }

    async fn end(&mut self, id: u64) {
        if let Some(mut open) = self.open.remove(&id).filter(|open| open.cancelled.is_none()) {
            open.text.finish();
            if open.give().await {
                // The listener may be gone.
                let _ = open.sink.send(None).await;
            }
        }
    }

    fn closed(&self, frame: Option<CloseFrame>) -> Failure {
        let Some(frame) = frame else {
            return self.unavailable("closed the connection");
        };
        let (code, reason) = (u16::from(frame.code), frame.reason.as_str());
        match code {
            1008 => Failure::of_rule(self.protocol.endpoint(), reason),
            1002 | 1003 | 1007 | 1009 => {
                Failure::Protocol(format!("{} closed {code}: {reason}", self.protocol.endpoint().provider))
            }
            _ => self.unavailable(&format!("closed {code}: {reason}")),
        }
    }

    fn unavailable(&self, why: &str) -> Failure {
        Failure::Unavailable(format!("{} {why}", self.protocol.endpoint().provider))
    }
}

fn fail(sink: mpsc::Sender<Outcome>, failure: &Failure) {
    if let Err(mpsc::error::TrySendError::Full(failed)) = sink.try_send(Some(Err(failure.clone()))) {
        // The listener is behind. It receives the failure once it has caught up, unless it is dropped.
        tokio::spawn(async move { drop(sink.send(failed).await) });
    }
}

/// Waits until a time, or forever if there is none.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
