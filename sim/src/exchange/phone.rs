//! Media socket of a telephone. It dials the caller's stream address as Twilio does, sends a frame every 20
//! ms, plays what it receives, and closes cleanly whichever side hangs up.

use std::{io, sync::Arc, time::Duration};

use futures_util::{SinkExt, StreamExt};
use tokio::{
    net::TcpStream,
    sync::{Notify, mpsc},
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{self, Message, protocol::WebSocketConfig},
};

use super::{
    audio::{
        faults::Faults,
        stagger::{FRAME, Stagger},
    },
    callback::Status,
    handset::{Background, Frame, Handset},
    log::{Log, LogEvent},
    onward::{self, Kind, Onward},
    protocol::{self, Writer},
    registry::Wish,
    script::MediaFaults,
};

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// A caller that accepts nothing for this long is gone.
const SEND_WITHIN: Duration = Duration::from_secs(10);
const CLOSE_WITHIN: Duration = Duration::from_secs(2);
const MAX_MESSAGE_BYTES: usize = 64 * 1024;
/// Tungstenite zeroes its read buffer before every read; the default is 128 KiB.
const READ_BUFFER_BYTES: usize = 4 * 1024;

type Socket = WebSocketStream<TcpStream>;

/// Reasons why no socket to the caller could be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum DialInError {
    #[error("stream address is not of the form ws://host:port/path")]
    Address,
    #[error("no socket within {} s", CONNECT_WITHIN.as_secs())]
    Timeout,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Handshake(#[from] tungstenite::Error),
}

/// Opens the socket to the caller.
pub(super) async fn dial_in(address: &str) -> Result<Socket, DialInError> {
    let url = reqwest::Url::parse(address).map_err(|_| DialInError::Address)?;
    let (Some(host), Some(port), "ws") = (url.host_str(), url.port_or_known_default(), url.scheme()) else {
        return Err(DialInError::Address);
    };
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(READ_BUFFER_BYTES)
        .max_write_buffer_size(4 * MAX_MESSAGE_BYTES)
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    let open = async {
        let stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await?;
        stream.set_nodelay(true)?;
        let (socket, _) = client_async_with_config(address, stream, Some(config)).await?;
        Ok(socket)
    };
    timeout(CONNECT_WITHIN, open).await.map_err(|_| DialInError::Timeout)?
}

/// End of a conversation.
#[derive(Debug)]
pub(super) enum End {
    /// The callee hung up.
    Callee,
    /// The caller closed its stream.
    Caller,
    /// The caller asked the exchange to hang up, or the exchange ends all calls.
    Exchange,
    /// The call reached the longest duration.
    TooLong,
    /// The telephone died.
    Dropped,
    /// The telephone's socket is lost; it may be reopened.
    Lost,
    /// The caller asked for a transfer and has no more part in the call.
    HandedOn(Box<Onward>),
    /// The caller's socket broke or sent invalid messages.
    Broken(String),
}

/// One telephone in conversation.
pub(super) struct Phone<'a> {
    pub(super) call_id: &'a str,
    pub(super) log: &'a Log,
    pub(super) background: Arc<Background>,
    pub(super) stagger: &'a Stagger,
    pub(super) hang_up: &'a Notify,
    pub(super) longest: Duration,
    /// Faults of the path of its frames.
    pub(super) faults: MediaFaults,
    /// Channel for the report that a transfer failed.
    pub(super) statuses: &'a mpsc::Sender<Status>,
}

/// Target of a transfer that rings while the caller talks on.
#[derive(Default)]
struct Ringing(Option<(Instant, Box<Onward>)>);

impl Ringing {
    /// Waits until the ringing is over; waits forever if nothing rings.
    async fn over(&self) {
        match &self.0 {
            Some((at, _)) => tokio::time::sleep_until(*at).await,
            None => std::future::pending().await,
        }
    }
}

/// The socket with its message numbering and its clock.
struct Link {
    socket: Socket,
    writer: Writer,
    stream: String,
    opened: Instant,
    frames: usize,
    faults: Option<Faults>,
}

impl Link {
    fn now_us(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    async fn send(&mut self, texts: impl IntoIterator<Item = String>) -> Result<(), End> {
        let all = async {
            for text in texts {
                self.socket.feed(Message::Text(text.into())).await?;
            }
            self.socket.flush().await
        };
        match timeout(SEND_WITHIN, all).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed)) => Err(End::Caller),
            Ok(Err(error)) => Err(End::Broken(error.to_string())),
            Err(_) => Err(End::Broken("caller reads nothing".to_owned())),
        }
    }
}

impl Phone<'_> {
    /// Talks until somebody hangs up.
    pub(super) async fn talk(
        &self,
        socket: Socket,
        handset: &mut Handset,
        opened: Instant,
        wishes: &mut mpsc::Receiver<Wish>,
    ) -> End {
        let stream = self.call_id.replacen("CA", "MZ", 1);
        let mut link = Link {
            socket,
            writer: Writer::new(stream.clone(), self.call_id.to_owned()),
            stream,
            opened,
            frames: 0,
            faults: Faults::new(self.faults),
        };
        let end = self.converse(&mut link, handset, wishes).await;
        handset.cut_off();
        self.record(handset);
        if !matches!(end, End::Broken(_) | End::Dropped | End::Lost) {
            let _ = timeout(CLOSE_WITHIN, goodbye(&mut link, &end)).await;
        }
        end
    }

    fn record(&self, handset: &mut Handset) {
        for event in handset.take_log() {
            self.log.add(self.call_id, event);
        }
    }

    async fn converse(&self, link: &mut Link, handset: &mut Handset, wishes: &mut mpsc::Receiver<Wish>) -> End {
        let greeting = [Writer::connected(), link.writer.start()];
        if let Err(end) = link.send(greeting).await {
            return end;
        }
        self.log.add(self.call_id, LogEvent::MediaOpened);
        handset.rejoin(link.now_us());
        let mut ringing = Ringing::default();
        let mut frames = interval_at(self.stagger.first_frame(Instant::now()), FRAME);
        frames.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let over = tokio::time::sleep_until(link.opened + self.longest);
        tokio::pin!(over);
        loop {
            let step = tokio::select! {
                biased;
                () = self.hang_up.notified() => Err(End::Exchange),
                Some(wish) = wishes.recv() => self.wanted(wish, &mut ringing),
                () = ringing.over() => self.rang(&mut ringing).await,
                message = link.socket.next() => receive(link, handset, message).await,
                due = frames.tick() => self.frame(link, handset, due).await,
                () = &mut over => Err(End::TooLong),
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    fn wanted(&self, wish: Wish, ringing: &mut Ringing) -> Result<(), End> {
        let Wish::Transfer(onward) = wish else { return Ok(()) };
        self.log.add(self.call_id, onward::asked(&onward));
        match onward.kind {
            Kind::Blind => Err(End::HandedOn(onward)),
            Kind::Conference => {
                ringing.0 = Some((Instant::now() + onward.rings, onward));
                Ok(())
            }
        }
    }

    /// Handles the end of the ringing.
    async fn rang(&self, ringing: &mut Ringing) -> Result<(), End> {
        let Some((_, mut onward)) = ringing.0.take() else {
            return Ok(());
        };
        let Some(reason) = onward.refusal else {
            onward.rings = Duration::ZERO;
            return Err(End::HandedOn(onward));
        };
        let reason = reason.to_owned();
        let event = LogEvent::TransferFailed { reason: reason.clone() };
        self.log.add(self.call_id, event);
        // The receiver lives as long as the call's task.
        let _ = self.statuses.send(Status::TransferFailed { reason }).await;
        Ok(())
    }

    async fn frame(&self, link: &mut Link, handset: &mut Handset, due: Instant) -> Result<(), End> {
        handset.frame_late(due.elapsed());
        let now_us = link.now_us();
        let Frame {
            voice,
            marks,
            keys,
            hang_up,
            lose,
            drop,
        } = handset.tick(now_us);
        self.record(handset);
        let at_ms = link.frames as u64 * 20;
        let media = match voice {
            None => link.writer.media(at_ms, self.background.payload(link.frames)),
            Some(voice) => {
                let payload = self.background.beneath(&voice, link.frames);
                link.writer.media(at_ms, &payload)
            }
        };
        link.frames += 1;
        let mut marks = marks.iter().map(|mark| link.writer.mark(mark)).collect::<Vec<_>>();
        for key in keys {
            marks.push(link.writer.dtmf(key));
        }
        match &mut link.faults {
            None => link.send(marks.into_iter().chain([media])).await?,
            Some(faults) => {
                let mut texts = marks;
                faults.pass(at_ms, media, &mut texts);
                link.send(texts).await?;
            }
        }
        match (drop, lose, hang_up) {
            (true, ..) => Err(End::Dropped),
            (false, true, _) => Err(End::Lost),
            (false, false, true) => Err(End::Callee),
            (false, false, false) => Ok(()),
        }
    }
}

async fn receive(
    link: &mut Link,
    handset: &mut Handset,
    message: Option<Result<Message, tungstenite::Error>>,
) -> Result<(), End> {
    let text = match message {
        None | Some(Ok(Message::Close(_))) => return Err(End::Caller),
        Some(Err(error)) => return Err(End::Broken(error.to_string())),
        Some(Ok(Message::Binary(_))) => return Err(End::Broken("binary message; the stream is text".to_owned())),
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => return Ok(()),
        Some(Ok(Message::Text(text))) => text,
    };
    let incoming = protocol::read(&text, &link.stream).map_err(|error| End::Broken(error.to_string()))?;
    let marks = handset.receive(incoming, link.now_us());
    if marks.is_empty() {
        return Ok(());
    }
    let returned: Vec<String> = marks.iter().map(|mark| link.writer.mark(mark)).collect();
    link.send(returned).await
}

/// Closes the stream with a complete closing handshake on both sides, whichever side closed first.
async fn goodbye(link: &mut Link, end: &End) {
    if !matches!(end, End::Caller) {
        let stop = link.writer.stop();
        if link.send([stop]).await.is_err() {
            return;
        }
    }
    if link.socket.close(None).await.is_ok() {
        while let Some(Ok(_)) = link.socket.next().await {}
    }
}
