//! A carrier's media socket. The call named in its address takes it once; then messages are forwarded both
//! ways within limits until either side ends it. However the task ends, the call's queue gets exactly one
//! `Closed`.

pub(crate) mod allowance;
mod claim;
mod fault;
mod reorder;

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use actors::{audio_stream::CLEAR_DELAYS, call::CallMessage};
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use domain::{
    id::AttemptId,
    ports::{
        carrier::CarrierCallId,
        media_leg::{InboundItem, InboundQueue, MediaLeg, OutboundItem},
    },
};
use futures_util::{
    SinkExt, Stream, StreamExt,
    stream::{SplitSink, SplitStream},
};
use media::format::LineFormat;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, sleep_until, timeout, timeout_at},
};

pub use self::claim::{Claim, Desk};
use self::{
    allowance::Allowance,
    fault::{Fault, IDLE, MAX_MESSAGE_BYTES, START_WITHIN},
    reorder::{Faults, Reorder},
};
use super::waiting::Place;
use crate::protocol::{Event, Media, MediaMessage, MediaProtocol, MediaWriter, Start};

/// Tungstenite zeroes its read buffer before every read. Its default of 128 KiB costs more than the call itself.
const READ_BUFFER_BYTES: usize = 4 * 1024;
const WRITE_BUFFER_BYTES: usize = 8 * 1024;
/// A peer that does not read is disconnected beyond this size.
const MAX_WRITE_BUFFER_BYTES: usize = 256 * 1024;
/// Items that may wait for the socket.
const OUTBOUND_ITEMS: usize = 256;
/// Maximum time that frames wait for a missing one before them.
const GAP_WITHIN: Duration = Duration::from_millis(100);
/// Maximum time for a write. A socket that accepts nothing for so long is stuck.
const WRITE_WITHIN: Duration = Duration::from_secs(10);
/// Time that the peer has to read the close reason. Closing a connection with unread input discards written output.
const READ_WHY_WITHIN: Duration = Duration::from_secs(1);
/// Maximum input that is read and discarded meanwhile. The rest stays unread.
const MOST_DISCARDED_BYTES: usize = 256 * 1024;
/// Close reason sent to the peer of a finished call.
const OVER: &str = "the call is over";
/// Time that the peer has to close after us.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// Upgrades a request with the limits of this module and serves the socket. `place` is held until a call has
/// taken the socket, which limits sockets that nobody waits for.
pub(super) fn upgrade(
    socket: WebSocketUpgrade,
    protocol: Box<dyn MediaProtocol>,
    desk: Desk,
    claim: Claim,
    place: Place,
) -> axum::response::Response {
    socket
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_write_buffer_size(MAX_WRITE_BUFFER_BYTES)
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .on_upgrade(move |socket| serve(socket, protocol, desk, claim, place))
}

/// Incoming side. Pushes `Closed` on drop, and so on every exit path.
struct Inbound {
    protocol: Box<dyn MediaProtocol>,
    queue: Arc<InboundQueue>,
    reorder: Reorder,
    clean: bool,
}

impl Inbound {
    fn new(protocol: Box<dyn MediaProtocol>) -> Self {
        Self {
            protocol,
            queue: Arc::default(),
            // A default: little arrives before the format is known.
            reorder: Reorder::new(LineFormat::MULAW_8000),
            clean: false,
        }
    }

    /// Parses the event of a message. Control frames have none.
    fn event(&mut self, message: &Message) -> Result<Option<Event>, Fault> {
        match message {
            Message::Text(text) => Ok(Some(self.protocol.read_text(text)?)),
            Message::Binary(bytes) => Ok(Some(self.protocol.read_binary(bytes)?)),
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => Ok(None),
        }
    }

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

/// Adds the frame faults to the metrics.
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

async fn serve(mut socket: WebSocket, protocol: Box<dyn MediaProtocol>, desk: Desk, claim: Claim, place: Place) {
    let attempt = claim.attempt;
    let mut inbound = Inbound::new(protocol);
    let taken = match start(&mut socket, &mut inbound, &desk, &claim).await {
        Ok(start) => take(&desk, claim, &inbound, &start)
            .await
            .map(|outbound| (start, outbound)),
        Err(fault) => Err(fault),
    };
    drop(place);
    match taken {
        Ok((start, outbound)) => pump(socket, inbound, start, outbound, attempt).await,
        Err(fault) => {
            tracing::info!(%attempt, reason = %fault, "media socket refused");
            let _ = timeout(CLOSE_WITHIN, socket.send(close_frame(&fault))).await;
            let_read(&mut socket, &fault).await;
        }
    }
}

fn close_frame(fault: &Fault) -> Message {
    // A close frame holds up to 123 bytes of reason.
    let reason: String = fault.to_string().chars().take(100).collect();
    frame(fault.code(), if reason.len() > 120 { "refused" } else { &reason })
}

fn frame(code: u16, reason: &str) -> Message {
    Message::Close(Some(CloseFrame {
        code,
        reason: reason.to_owned().into(),
    }))
}

/// Waits for `start`. Events before it are kept in the bounded queue.
async fn start(socket: &mut WebSocket, inbound: &mut Inbound, desk: &Desk, claim: &Claim) -> Result<Start, Fault> {
    let mut allowance = Allowance::new(LineFormat::MULAW_8000, Instant::now());
    let mut deadline = Instant::now() + START_WITHIN;
    loop {
        let Ok(message) = timeout_at(deadline, socket.recv()).await else {
            if !inbound.protocol.opens_early() {
                return Err(Fault::NoStart);
            }
            claim.ask(desk, true).await.ok_or(Fault::Busy)??;
            deadline = Instant::now() + START_WITHIN;
            continue;
        };
        let message = message.ok_or(Fault::Gone)?.map_err(Fault::of_unread)?;
        match inbound.event(&message)? {
            Some(Event::Start(start)) => {
                inbound.reorder.set_format(start.format);
                return Ok(start);
            }
            Some(Event::Media(media)) => {
                allowance.admit_audio(media.audio.len(), Instant::now())?;
                inbound.media(media);
            }
            Some(Event::Item(item)) => {
                allowance.admit_other(Instant::now())?;
                inbound.queue.push(item);
            }
            Some(Event::Stop) => return Err(Fault::Gone),
            Some(Event::Ignored) | None => allowance.admit_other(Instant::now())?,
        }
    }
}

/// Offers the socket to the call that it names.
async fn take(
    desk: &Desk,
    claim: Claim,
    inbound: &Inbound,
    start: &Start,
) -> Result<mpsc::Receiver<OutboundItem>, Fault> {
    let (outbound, items) = mpsc::channel(OUTBOUND_ITEMS);
    let leg = MediaLeg {
        call: start.call.as_deref().and_then(CarrierCallId::checked),
        format: start.format,
        abilities: inbound.protocol.abilities(),
        inbound: inbound.queue.clone(),
        outbound,
    };
    let Claim { attempt, proof } = claim;
    match desk
        .tell_call(attempt, |reply| CallMessage::Media { proof, leg, reply })
        .await
    {
        Some(taken) => taken.map(|()| items).map_err(Fault::from),
        None => Err(Fault::Busy),
    }
}

/// Way in which a pump ended.
#[derive(Debug)]
enum End {
    /// The peer closed, or the connection was lost.
    Peer,
    /// The call closed its leg.
    Ours,
    /// The peer reported the end of the call.
    Goodbye,
    /// The call dropped its leg without closing it: the input overloaded it, or it crashed.
    GivenUp,
    /// The peer does not read.
    Stuck,
    /// The peer broke a rule.
    Fault(Fault),
}

async fn pump(
    socket: WebSocket,
    mut inbound: Inbound,
    start: Start,
    outbound: mpsc::Receiver<OutboundItem>,
    attempt: AttemptId,
) {
    let (mut sink, mut source) = socket.split();
    let mut writer = inbound.protocol.writer(&start);
    let (format, queue) = (start.format, inbound.queue.clone());
    let end = tokio::select! {
        end = read(&mut source, &mut inbound, format) => end,
        end = write(&mut sink, &mut *writer, outbound, queue) => end,
    };
    match &end {
        End::Stuck => {}
        // The peer's close frame needs a response.
        End::Peer => drop(timeout(CLOSE_WITHIN, sink.close()).await),
        End::Ours | End::GivenUp => {
            inbound.clean = true;
            let goodbye = match end {
                End::GivenUp => frame(
                    close_code::POLICY,
                    "dropped by its call, for example for audio far ahead of real time",
                ),
                _ => frame(close_code::NORMAL, OVER),
            };
            let _ = timeout(
                CLOSE_WITHIN,
                finish(&mut sink, &mut source, goodbye, format, &mut inbound),
            )
            .await;
        }
        End::Goodbye => drop(timeout(CLOSE_WITHIN, sink.send(frame(close_code::NORMAL, OVER))).await),
        End::Fault(fault) => {
            tracing::warn!(%attempt, reason = %fault, "media socket closed");
            let _ = timeout(CLOSE_WITHIN, sink.send(close_frame(fault))).await;
        }
    }
    tracing::debug!(%attempt, ?end, clean = inbound.clean, "media socket ended");
    // The call learns of the end at once.
    drop(inbound);
    if let End::Fault(fault) = &end {
        // Both halves are kept: the connection closes when the second is dropped.
        let_read(&mut source, fault).await;
    }
}

/// Gives the peer time to read the close reason after it broke a rule. Reads and discards messages until the
/// peer closes too, unless the peer broke WebSocket's own rules.
async fn let_read<S>(source: &mut S, fault: &Fault)
where
    S: Stream<Item = Result<Message, axum::Error>> + Unpin,
{
    let discard = async {
        let mut left = MOST_DISCARDED_BYTES;
        while !fault.leaves_unread() {
            let Some(Ok(message)) = source.next().await else { return };
            match left.checked_sub(message.into_data().len()) {
                Some(less) => left = less,
                None => break,
            }
        }
        std::future::pending::<()>().await;
    };
    let _ = timeout(READ_WHY_WITHIN, discard).await;
}

async fn read(source: &mut SplitStream<WebSocket>, inbound: &mut Inbound, format: LineFormat) -> End {
    let mut last = Instant::now();
    let mut allowance = Allowance::new(format, last);
    // Reset only when it fires: frames come fifty times a second, and resetting a timer for each costs more
    // than the frame.
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
            Some(None) => return End::Peer,
            Some(Some(Ok(Message::Close(_)))) => {
                inbound.clean |= inbound.protocol.closing_ends_the_call();
                return End::Peer;
            }
            Some(Some(Err(error))) => {
                return match Fault::of_unread(error) {
                    Fault::Gone => End::Peer,
                    fault => End::Fault(fault),
                };
            }
            Some(Some(Ok(message))) => message,
        };
        last = Instant::now();
        match admit(&message, inbound, &mut allowance, last) {
            // A peer that reports the end in a message need not also close.
            Ok(true) if inbound.protocol.closing_ends_the_call() => {
                inbound.clean = true;
                return End::Goodbye;
            }
            Ok(goodbye) => inbound.clean |= goodbye,
            Err(fault) => return End::Fault(fault),
        }
    }
}

/// Handles one message. Returns true if it ends the stream.
fn admit(message: &Message, inbound: &mut Inbound, allowance: &mut Allowance, now: Instant) -> Result<bool, Fault> {
    match inbound.event(message)? {
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
        Some(Event::Ignored) | None => allowance.admit_other(now)?,
    }
    Ok(false)
}

async fn write(
    sink: &mut SplitSink<WebSocket, Message>,
    writer: &mut dyn MediaWriter,
    mut outbound: mpsc::Receiver<OutboundItem>,
    queue: Arc<InboundQueue>,
) -> End {
    let (mut messages, mut clears) = (Vec::new(), false);
    writer.begin(&mut messages);
    let mut next = None;
    loop {
        let batch = async {
            feed(sink, &mut messages).await?;
            while let Some(item) = next.take() {
                if item == OutboundItem::Close {
                    return Ok(ControlFlow::Break(()));
                }
                clears |= item == OutboundItem::Clear;
                writer.write(&item, &mut messages);
                feed(sink, &mut messages).await?;
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
        if std::mem::take(&mut clears)
            && let Some(decided) = queue.clear_sent()
        {
            CLEAR_DELAYS.record(decided.elapsed());
        }
        next = outbound.recv().await;
        if next.is_none() {
            return End::GivenUp;
        }
    }
}

async fn feed(sink: &mut SplitSink<WebSocket, Message>, messages: &mut Vec<MediaMessage>) -> Result<(), axum::Error> {
    for message in messages.drain(..) {
        sink.feed(match message {
            MediaMessage::Text(text) => Message::Text(text.into()),
            MediaMessage::Binary(bytes) => Message::Binary(bytes.into()),
        })
        .await?;
    }
    Ok(())
}

/// Closes from our side and reads until the peer has closed too, so that a reset does not discard written output.
async fn finish(
    sink: &mut SplitSink<WebSocket, Message>,
    source: &mut SplitStream<WebSocket>,
    goodbye: Message,
    format: LineFormat,
    inbound: &mut Inbound,
) {
    let mut allowance = Allowance::new(format, Instant::now());
    if sink.send(goodbye).await.is_err() {
        return;
    }
    while let Some(Ok(message)) = source.next().await {
        if admit(&message, inbound, &mut allowance, Instant::now()).is_err() {
            return;
        }
    }
}
