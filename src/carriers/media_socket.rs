//! A carrier's media socket: taken once by the call it names, then pumped both ways within bounds until either side
//! ends it. Whatever ends the task, the call's queue gets exactly one `Closed`.

mod allowance;

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use actors::{
    id::AttemptId,
    node::Sibling,
    ports::media_leg::{InboundItem, InboundQueue, MediaLeg, OutboundItem},
    switchboard::{DoorRefusal, SwitchboardMessage},
};
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    time::{Instant, sleep, sleep_until, timeout},
};

use self::allowance::{Allowance, Excess};
use super::twilio::{
    reorder::{Faults, Reorder},
    stream::{self, Event, Media, StreamError},
};

/// A message and a frame may have this many bytes.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;
/// Tungstenite zeroes its read buffer before every read; its default of 128 KiB costs more than the call itself.
const READ_BUFFER_BYTES: usize = 4 * 1024;
const WRITE_BUFFER_BYTES: usize = 8 * 1024;
/// A peer that reads nothing is cut off beyond this.
const MAX_WRITE_BUFFER_BYTES: usize = 256 * 1024;
/// Items that may wait for the socket.
const OUTBOUND_ITEMS: usize = 256;
/// The `start` message is due this long after the upgrade.
const START_WITHIN: Duration = Duration::from_secs(10);
/// How long the call may take to say whether it wants the socket.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// A carrier sends audio every 20 ms; a socket this quiet is dead.
const IDLE: Duration = Duration::from_secs(30);
/// Frames wait no longer than this for one before them.
const GAP_WITHIN: Duration = Duration::from_millis(100);
/// A socket that takes nothing for so long is stuck.
const WRITE_WITHIN: Duration = Duration::from_secs(10);
/// How long the peer may take to close after us.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// Whom a socket says it is for.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The attempt named in the address.
    pub attempt: AttemptId,
    /// The proof named there, 64 hex digits.
    pub proof: String,
}

impl Claim {
    /// Reads `{attempt}.{proof}`; nothing else is worth an upgrade.
    pub fn parse(token: &str) -> Option<Self> {
        let (attempt, proof) = token.split_once('.')?;
        let hex = proof.len() == 64 && proof.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        hex.then_some(())?;
        Some(Self {
            attempt: attempt.parse().ok()?,
            proof: proof.to_owned(),
        })
    }
}

/// Upgrades a request with the bounds of this module and serves the socket. `permit` is held until a call has taken
/// the socket, so that sockets nobody asked for are few.
pub fn upgrade(
    socket: WebSocketUpgrade,
    switchboard: Sibling<SwitchboardMessage>,
    claim: Claim,
    permit: OwnedSemaphorePermit,
) -> axum::response::Response {
    socket
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_write_buffer_size(MAX_WRITE_BUFFER_BYTES)
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .on_upgrade(move |socket| serve(socket, switchboard, claim, permit))
}

/// Pushes `Closed` when it is dropped, and so on every way out.
#[derive(Default)]
struct Inbound {
    queue: Arc<InboundQueue>,
    reorder: Reorder,
    clean: bool,
}

impl Inbound {
    fn media(&mut self, media: Media) {
        self.reorder
            .take(media, |audio| self.queue.push(InboundItem::Audio(audio)));
    }

    fn flush(&mut self) {
        self.reorder.flush(|audio| self.queue.push(InboundItem::Audio(audio)));
    }
}

impl Drop for Inbound {
    fn drop(&mut self) {
        self.flush();
        self.queue.push(InboundItem::Closed { clean: self.clean });
        count(self.reorder.faults());
    }
}

/// Adds up what was wrong with frames.
fn count(faults: Faults) {
    let kinds = [
        ("duplicate", faults.duplicate),
        ("swapped", faults.swapped),
        ("late", faults.late),
        ("missing", faults.missing),
    ];
    for (fault, times) in kinds.into_iter().filter(|(_, times)| *times > 0) {
        metrics::counter!("ringback_media_frame_faults_total", "fault" => fault).increment(times);
    }
}

/// Why a socket is closed, as far as the peer is told.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("no start message within {} s", START_WITHIN.as_secs())]
    NoStart,
    #[error("gone before its start message")]
    Gone,
    #[error(transparent)]
    Format(#[from] StreamError),
    #[error("binary message; this stream is text")]
    Binary,
    #[error("a second start message")]
    SecondStart,
    #[error(transparent)]
    Excess(#[from] Excess),
    #[error("silent for {} s", IDLE.as_secs())]
    Idle,
    #[error(transparent)]
    Refused(#[from] DoorRefusal),
    #[error("node did not answer in time")]
    Busy,
}

impl Fault {
    fn code(&self) -> u16 {
        match self {
            Self::Format(_) => close_code::INVALID,
            Self::Binary => close_code::UNSUPPORTED,
            Self::Busy => close_code::AGAIN,
            _ => close_code::POLICY,
        }
    }
}

async fn serve(
    mut socket: WebSocket,
    switchboard: Sibling<SwitchboardMessage>,
    claim: Claim,
    permit: OwnedSemaphorePermit,
) {
    let attempt = claim.attempt;
    let mut inbound = Inbound::default();
    let taken = match start(&mut socket, &mut inbound).await {
        Ok(start) => take(&switchboard, claim, &inbound)
            .await
            .map(|outbound| (start, outbound)),
        Err(fault) => Err(fault),
    };
    drop(permit);
    match taken {
        Ok((start, outbound)) => pump(socket, &mut inbound, start.stream, outbound, attempt).await,
        Err(fault) => {
            tracing::info!(%attempt, reason = %fault, "media socket refused");
            let _ = timeout(CLOSE_WITHIN, socket.send(close_frame(&fault))).await;
        }
    }
}

fn close_frame(fault: &Fault) -> Message {
    // A close frame holds 123 bytes of reason.
    let reason: String = fault.to_string().chars().take(100).collect();
    Message::Close(Some(CloseFrame {
        code: fault.code(),
        reason: if reason.len() > 120 {
            "refused".into()
        } else {
            reason.into()
        },
    }))
}

/// Waits for `start`. What comes before it is kept in the (bounded) queue.
async fn start(socket: &mut WebSocket, inbound: &mut Inbound) -> Result<stream::Start, Fault> {
    let mut allowance = Allowance::new(Instant::now());
    let deadline = Instant::now() + START_WITHIN;
    loop {
        let message = tokio::time::timeout_at(deadline, socket.recv())
            .await
            .map_err(|_| Fault::NoStart)?;
        let Some(Ok(message)) = message else {
            return Err(Fault::Gone);
        };
        match event(&message)? {
            Some(Event::Start(start)) => return Ok(start),
            Some(Event::Media(media)) => {
                allowance.admit_audio(media.audio.len(), Instant::now())?;
                inbound.media(media);
            }
            Some(Event::Item(item)) => {
                allowance.admit_other(Instant::now())?;
                inbound.queue.push(item);
            }
            Some(Event::Stop) => return Err(Fault::Gone),
            Some(Event::Connected | Event::Ignored) | None => allowance.admit_other(Instant::now())?,
        }
    }
}

/// The event of a text message; control frames have none.
fn event(message: &Message) -> Result<Option<Event>, Fault> {
    match message {
        Message::Text(text) => Ok(Some(stream::parse(text)?)),
        Message::Binary(_) => Err(Fault::Binary),
        Message::Ping(_) | Message::Pong(_) | Message::Close(_) => Ok(None),
    }
}

/// Offers the socket to the call it names.
async fn take(
    switchboard: &Sibling<SwitchboardMessage>,
    claim: Claim,
    inbound: &Inbound,
) -> Result<mpsc::Receiver<OutboundItem>, Fault> {
    let (outbound, items) = mpsc::channel(OUTBOUND_ITEMS);
    let leg = MediaLeg {
        format: stream::FORMAT,
        abilities: stream::ABILITIES,
        inbound: inbound.queue.clone(),
        outbound,
    };
    let answer = switchboard
        .ask(
            |reply| SwitchboardMessage::Media {
                attempt: claim.attempt,
                proof: claim.proof,
                leg,
                reply,
            },
            ANSWER_WITHIN,
        )
        .await;
    match answer {
        Some(taken) => taken.map(|()| items).map_err(Fault::from),
        None => Err(Fault::Busy),
    }
}

/// How a pump ended.
#[derive(Debug)]
enum End {
    /// The peer closed, or its connection is gone.
    Peer,
    /// The call closed its leg.
    Ours,
    /// The peer does not read.
    Stuck,
    /// The peer broke a rule.
    Fault(Fault),
}

async fn pump(
    socket: WebSocket,
    inbound: &mut Inbound,
    stream: String,
    outbound: mpsc::Receiver<OutboundItem>,
    attempt: AttemptId,
) {
    let (mut sink, mut source) = socket.split();
    let end = tokio::select! {
        end = read(&mut source, inbound) => end,
        end = write(&mut sink, &stream, outbound) => end,
    };
    match &end {
        End::Stuck => {}
        // The peer's close frame wants its answer.
        End::Peer => drop(timeout(CLOSE_WITHIN, sink.close()).await),
        End::Ours => {
            inbound.clean = true;
            let _ = timeout(
                CLOSE_WITHIN,
                finish(&mut sink, &mut source, Message::Close(None), inbound),
            )
            .await;
        }
        End::Fault(fault) => {
            tracing::warn!(%attempt, reason = %fault, "media socket closed");
            let _ = timeout(CLOSE_WITHIN, sink.send(close_frame(fault))).await;
        }
    }
    tracing::debug!(%attempt, ?end, clean = inbound.clean, "media socket ended");
}

async fn read(source: &mut SplitStream<WebSocket>, inbound: &mut Inbound) -> End {
    let mut last = Instant::now();
    let mut allowance = Allowance::new(last);
    // Set anew only when it fires: frames come fifty times a second, and a timer for each costs more than its frame.
    let idle = sleep_until(last + IDLE);
    tokio::pin!(idle);
    loop {
        let held = inbound.reorder.is_holding();
        let next = tokio::select! {
            biased;
            message = source.next() => Some(message),
            () = sleep(GAP_WITHIN), if held => None,
            () = &mut idle, if !held => None,
        };
        let message = match next {
            None if held => {
                inbound.flush();
                continue;
            }
            None if last.elapsed() >= IDLE => return End::Fault(Fault::Idle),
            None => {
                idle.as_mut().reset(last + IDLE);
                continue;
            }
            Some(None | Some(Err(_) | Ok(Message::Close(_)))) => return End::Peer,
            Some(Some(Ok(message))) => message,
        };
        last = Instant::now();
        match admit(&message, inbound, &mut allowance, last) {
            Ok(goodbye) => inbound.clean |= goodbye,
            Err(fault) => return End::Fault(fault),
        }
    }
}

/// Takes one message; true when it was the carrier's goodbye.
fn admit(message: &Message, inbound: &mut Inbound, allowance: &mut Allowance, now: Instant) -> Result<bool, Fault> {
    match event(message)? {
        Some(Event::Media(media)) => {
            allowance.admit_audio(media.audio.len(), now)?;
            inbound.media(media);
        }
        Some(Event::Item(item)) => {
            allowance.admit_other(now)?;
            inbound.queue.push(item);
        }
        Some(Event::Stop) => return Ok(true),
        Some(Event::Start(_)) => return Err(Fault::SecondStart),
        Some(Event::Connected | Event::Ignored) | None => allowance.admit_other(now)?,
    }
    Ok(false)
}

async fn write(
    sink: &mut SplitSink<WebSocket, Message>,
    stream: &str,
    mut outbound: mpsc::Receiver<OutboundItem>,
) -> End {
    while let Some(first) = outbound.recv().await {
        let mut next = Some(first);
        let batch = async {
            while let Some(item) = next {
                match item {
                    OutboundItem::Audio(audio) => {
                        for piece in audio.chunks(stream::MAX_AUDIO_BYTES) {
                            sink.feed(Message::Text(stream::media(stream, piece).into())).await?;
                        }
                    }
                    OutboundItem::Mark(name) => sink.feed(Message::Text(stream::mark(stream, &name).into())).await?,
                    OutboundItem::Clear => sink.feed(Message::Text(stream::clear(stream).into())).await?,
                    OutboundItem::Close => return Ok(ControlFlow::Break(())),
                }
                next = outbound.try_recv().ok();
            }
            sink.flush().await.map(ControlFlow::Continue)
        };
        match timeout(WRITE_WITHIN, batch).await {
            Err(_) => return End::Stuck,
            Ok(Err::<_, axum::Error>(_)) => return End::Peer,
            Ok(Ok(ControlFlow::Break(()))) => return End::Ours,
            Ok(Ok(ControlFlow::Continue(()))) => {}
        }
    }
    End::Ours
}

/// Closes from our side and reads until the peer has closed too, so that what was written is not cut off by a reset.
async fn finish(
    sink: &mut SplitSink<WebSocket, Message>,
    source: &mut SplitStream<WebSocket>,
    goodbye: Message,
    inbound: &mut Inbound,
) {
    let mut allowance = Allowance::new(Instant::now());
    if sink.send(goodbye).await.is_err() {
        return;
    }
    while let Some(Ok(message)) = source.next().await {
        if admit(&message, inbound, &mut allowance, Instant::now()).is_err() {
            return;
        }
    }
}
