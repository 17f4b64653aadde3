//! A carrier's media socket: taken once by the call it names, then pumped both ways within bounds until either side
//! ends it. Whatever ends the task, the call's queue gets exactly one `Closed`.

pub(super) mod allowance;
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
    fault::Fault,
    reorder::{Faults, Reorder},
};
use super::{
    waiting::Place,
    wire::{Event, Media, MediaWire, MediaWriter, Start, WireMessage},
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
/// The `start` message is due this long after the upgrade. Where the carrier may open the socket before the call is answered,
/// the call is asked each time whether it still waits.
const START_WITHIN: Duration = Duration::from_secs(10);
/// A carrier sends audio every 20 ms; a socket this quiet is dead.
const IDLE: Duration = Duration::from_secs(30);
/// Frames wait no longer than this for one before them.
const GAP_WITHIN: Duration = Duration::from_millis(100);
/// A socket that takes nothing for so long is stuck.
const WRITE_WITHIN: Duration = Duration::from_secs(10);
/// To close a connection on what was not read cuts off what was written: so long the peer has to read why.
const READ_WHY_WITHIN: Duration = Duration::from_secs(1);
/// What is read and thrown away meanwhile; what is more stays unread.
const MOST_DISCARDED_BYTES: usize = 256 * 1024;
/// Said to the peer of a call that is over.
const OVER: &str = "the call is over";
/// How long the peer may take to close after us.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// Upgrades a request with the bounds of this module and serves the socket. `place` is held until a call has taken
/// the socket, so that sockets nobody asked for are few.
pub fn upgrade(
    socket: WebSocketUpgrade,
    wire: Box<dyn MediaWire>,
    desk: Desk,
    (claim, place): (Claim, Place),
) -> axum::response::Response {
    socket
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_write_buffer_size(MAX_WRITE_BUFFER_BYTES)
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .on_upgrade(move |socket| serve(socket, wire, desk, (claim, place)))
}

/// Pushes `Closed` when it is dropped, and so on every way out.
struct Inbound {
    wire: Box<dyn MediaWire>,
    queue: Arc<InboundQueue>,
    reorder: Reorder,
    clean: bool,
}

impl Inbound {
    fn new(wire: Box<dyn MediaWire>) -> Self {
        Self {
            wire,
            queue: Arc::default(),
            // What comes before the format is known is not much.
            reorder: Reorder::new(LineFormat::MULAW_8000),
            clean: false,
        }
    }

    /// The event of a message; control frames have none.
    fn event(&mut self, message: &Message) -> Result<Option<Event>, Fault> {
        match message {
            Message::Text(text) => Ok(Some(self.wire.read_text(text)?)),
            Message::Binary(bytes) => Ok(Some(self.wire.read_binary(bytes)?)),
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

async fn serve(mut socket: WebSocket, wire: Box<dyn MediaWire>, desk: Desk, (claim, place): (Claim, Place)) {
    let attempt = claim.attempt;
    let mut inbound = Inbound::new(wire);
    let taken = match start(&mut socket, &mut inbound, (&desk, &claim)).await {
        Ok(start) => take(&desk, claim, &inbound, &start)
            .await
            .map(|outbound| (start, outbound)),
        Err(fault) => Err(fault),
    };
    drop(place);
    match taken {
        Ok((start, outbound)) => pump(socket, inbound, (start, outbound), attempt).await,
        Err(fault) => {
            tracing::info!(%attempt, reason = %fault, "media socket refused");
            let _ = timeout(CLOSE_WITHIN, socket.send(close_frame(&fault))).await;
            let_read(&mut socket, &fault).await;
        }
    }
}

fn close_frame(fault: &Fault) -> Message {
    // A close frame holds 123 bytes of reason.
    let reason: String = fault.to_string().chars().take(100).collect();
    frame(fault.code(), if reason.len() > 120 { "refused" } else { &reason })
}

fn frame(code: u16, reason: &str) -> Message {
    Message::Close(Some(CloseFrame {
        code,
        reason: reason.to_owned().into(),
    }))
}

/// Waits for `start`. What comes before it is kept in the (bounded) queue.
async fn start(socket: &mut WebSocket, inbound: &mut Inbound, (desk, claim): (&Desk, &Claim)) -> Result<Start, Fault> {
    let mut allowance = Allowance::new(LineFormat::MULAW_8000, Instant::now());
    let mut deadline = Instant::now() + START_WITHIN;
    loop {
        let Ok(message) = timeout_at(deadline, socket.recv()).await else {
            if !inbound.wire.opens_early() {
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

/// Offers the socket to the call it names.
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
        abilities: inbound.wire.abilities(),
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

/// How a pump ended.
#[derive(Debug)]
enum End {
    /// The peer closed, or its connection is gone.
    Peer,
    /// The call closed its leg.
    Ours,
    /// The peer said that the call is over.
    Goodbye,
    /// The call let its leg go without a word: what came was too much for it, or it died.
    GivenUp,
    /// The peer does not read.
    Stuck,
    /// The peer broke a rule.
    Fault(Fault),
}

async fn pump(
    socket: WebSocket,
    mut inbound: Inbound,
    (start, outbound): (Start, mpsc::Receiver<OutboundItem>),
    attempt: AttemptId,
) {
    let (mut sink, mut source) = socket.split();
    let mut writer = inbound.wire.writer(&start);
    let (format, queue) = (start.format, inbound.queue.clone());
    let end = tokio::select! {
        end = read(&mut source, &mut inbound, format) => end,
        end = write(&mut sink, &mut *writer, (outbound, queue)) => end,
    };
    match &end {
        End::Stuck => {}
        // The peer's close frame wants its answer.
        End::Peer => drop(timeout(CLOSE_WITHIN, sink.close()).await),
        End::Ours | End::GivenUp => {
            inbound.clean = true;
            let goodbye = match end {
                End::GivenUp => frame(
                    close_code::POLICY,
                    "given up by its call, as for audio far ahead of real time",
                ),
                _ => frame(close_code::NORMAL, OVER),
            };
            let _ = timeout(
                CLOSE_WITHIN,
                finish((&mut sink, &mut source), goodbye, format, &mut inbound),
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
    // The call is told at once.
    drop(inbound);
    if let End::Fault(fault) = &end {
        // Both halves are kept: the connection closes with the second.
        let_read(&mut source, fault).await;
    }
}

/// Leaves the peer of a socket that was closed for a broken rule time to read why. What broke WebSocket's own rules is not
/// read any more; other messages are, until the peer closes too.
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
            Some(None) => return End::Peer,
            Some(Some(Ok(Message::Close(_)))) => {
                inbound.clean |= inbound.wire.closing_ends_the_call();
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
            // Who says goodbye in words need not close besides.
            Ok(true) if inbound.wire.closing_ends_the_call() => {
                inbound.clean = true;
                return End::Goodbye;
            }
            Ok(goodbye) => inbound.clean |= goodbye,
            Err(fault) => return End::Fault(fault),
        }
    }
}

/// Takes one message; true when it was the carrier's goodbye.
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
    (mut outbound, queue): (mpsc::Receiver<OutboundItem>, Arc<InboundQueue>),
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

async fn feed(sink: &mut SplitSink<WebSocket, Message>, messages: &mut Vec<WireMessage>) -> Result<(), axum::Error> {
    for message in messages.drain(..) {
        sink.feed(match message {
            WireMessage::Text(text) => Message::Text(text.into()),
            WireMessage::Binary(bytes) => Message::Binary(bytes.into()),
        })
        .await?;
    }
    Ok(())
}

/// Closes from our side and reads until the peer has closed too, so that what was written is not cut off by a reset.
async fn finish(
    (sink, source): (&mut SplitSink<WebSocket, Message>, &mut SplitStream<WebSocket>),
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
