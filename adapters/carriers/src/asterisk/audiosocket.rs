//! AudioSocket: Asterisk opens a TCP connection for each call's audio. It shows a UUID and nothing else, so the address
//! belongs on a private network; a UUID is drawn at random for one call, and good for one connection.

pub mod frame;
mod pace;
pub mod tickets;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use domain::{
    id::AttemptId,
    ports::media_leg::{InboundItem, InboundQueue, LegAbilities, MediaLeg, OutboundItem},
};
use media::format::{Encoding, LineFormat};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf, tcp::OwnedWriteHalf},
    sync::{Semaphore, mpsc},
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};

use self::{
    frame::{Decoder, Frame, FrameError, GOODBYE},
    pace::Outgoing,
};
use super::switch::Switch;
use crate::{
    CarrierLink,
    http::SetupError,
    media_socket::{
        Claim,
        allowance::{Allowance, Excess},
    },
    wire,
};

/// Linear 16-bit at 8 kHz.
pub const FORMAT: LineFormat = LineFormat {
    encoding: Encoding::Linear16,
    sample_rate: 8_000,
};
/// What a connection can do: it plays what comes, when it comes.
pub const ABILITIES: LegAbilities = LegAbilities {
    buffers: false,
    marks: false,
    clear: false,
    digits: false,
};

/// The UUID is due this long after the connection.
const UUID_WITHIN: Duration = Duration::from_secs(5);
/// Connections that may wait for their UUID, and for their call, at the same time.
const WAITING_CONNECTIONS: usize = 256;
const TICK: Duration = Duration::from_millis(20);
/// Items that may wait for the connection.
const OUTBOUND_ITEMS: usize = 256;
/// Asterisk sends audio every 20 ms; a connection this quiet is dead.
const IDLE: Duration = Duration::from_secs(30);
/// A connection that takes nothing for so long is stuck.
const WRITE_WITHIN: Duration = Duration::from_secs(10);
const READ_BYTES: usize = 4 * 1024;
/// The pause after a connection that could not be taken, as when no file is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Takes the address for itself.
///
/// # Errors
///
/// When it is taken, or none of this machine.
pub fn bind(address: SocketAddr) -> Result<std::net::TcpListener, SetupError> {
    net::bind::bind(address).map_err(|error| SetupError::Listen {
        setting: "ASTERISK_AUDIOSOCKET_LISTEN",
        address,
        error,
    })
}

/// Why a connection is closed.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("no UUID within {} s", UUID_WITHIN.as_secs())]
    NoUuid,
    #[error("its UUID is of no call that waits for audio")]
    UnknownUuid,
    #[error("the call takes no audio now")]
    Refused,
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Excess(#[from] Excess),
    #[error("a second UUID")]
    SecondUuid,
    #[error("Asterisk has error {0}")]
    Asterisk(u8),
    #[error("silent for {} s", IDLE.as_secs())]
    Idle,
    #[error("takes nothing")]
    Stuck,
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("gone")]
    Gone,
}

/// Serves until the service ends.
pub(super) async fn serve(listener: std::net::TcpListener, switch: Arc<Switch>, link: CarrierLink) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "AudioSocket cannot be served"),
    };
    let waiting = Arc::new(Semaphore::new(WAITING_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "an AudioSocket connection could not be taken");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Beyond the bound, connections are dropped: those who show nothing may not keep others out for long.
        let Ok(permit) = waiting.clone().try_acquire_owned() else {
            continue;
        };
        let (switch, link) = (switch.clone(), link.clone());
        connections.spawn(async move {
            let entered = enter(stream, &switch, &link).await;
            drop(permit);
            match entered {
                Ok(connection) => connection.run().await,
                Err(fault) => {
                    metrics::counter!("ringback_asterisk_audiosockets_refused_total").increment(1);
                    tracing::warn!(reason = %fault, "AudioSocket connection refused");
                }
            }
        });
    }
}

/// A connection that its call has taken.
struct Connection {
    reader: Reader,
    sink: OwnedWriteHalf,
    outbound: mpsc::Receiver<OutboundItem>,
    attempt: AttemptId,
}

/// Its way in. Pushes `Closed` when it is dropped, and so on every way out.
struct Reader {
    source: OwnedReadHalf,
    decoder: Decoder,
    buffer: Vec<u8>,
    queue: Arc<InboundQueue>,
    allowance: Allowance,
    clean: bool,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.queue.push(InboundItem::Closed { clean: self.clean });
    }
}

async fn enter(stream: TcpStream, switch: &Switch, link: &CarrierLink) -> Result<Connection, Fault> {
    stream.set_nodelay(true)?;
    let (source, sink) = stream.into_split();
    let mut reader = Reader {
        source,
        decoder: Decoder::default(),
        buffer: vec![0; READ_BYTES],
        queue: Arc::default(),
        allowance: Allowance::new(FORMAT, Instant::now()),
        clean: false,
    };
    let first = timeout(UUID_WITHIN, reader.frame()).await;
    let Frame::Uuid(ticket) = first.map_err(|_| Fault::NoUuid)?? else {
        return Err(Fault::NoUuid);
    };
    let Claim { attempt, proof } = switch.tickets.redeem(ticket).ok_or(Fault::UnknownUuid)?;
    let (sender, outbound) = mpsc::channel(OUTBOUND_ITEMS);
    let leg = MediaLeg {
        call: None,
        format: FORMAT,
        abilities: ABILITIES,
        inbound: reader.queue.clone(),
        outbound: sender,
    };
    match link.offer(Claim { attempt, proof }, leg).await {
        Some(Ok(())) => Ok(Connection {
            reader,
            sink,
            outbound,
            attempt,
        }),
        Some(Err(_)) | None => Err(Fault::Refused),
    }
}

impl Connection {
    async fn run(mut self) {
        let ended = tokio::select! {
            ended = self.reader.run() => ended,
            ended = write(&mut self.sink, &mut self.outbound) => {
                // Our own goodbye is as good as Asterisk's.
                self.reader.clean = ended.is_ok();
                ended
            }
        };
        match ended {
            Ok(()) => {}
            Err(fault) => tracing::warn!(attempt = %self.attempt, reason = %fault, "AudioSocket connection ended"),
        }
        let _ = timeout(WRITE_WITHIN, self.sink.shutdown()).await;
    }
}

impl Reader {
    async fn frame(&mut self) -> Result<Frame, Fault> {
        loop {
            if let Some(frame) = self.decoder.take()? {
                return Ok(frame);
            }
            match self.source.read(&mut self.buffer).await? {
                0 => return Err(Fault::Gone),
                read => self.decoder.push(&self.buffer[..read]),
            }
        }
    }

    /// Reads until the connection ends.
    async fn run(&mut self) -> Result<(), Fault> {
        loop {
            let frame = timeout(IDLE, self.frame()).await.map_err(|_| Fault::Idle)??;
            let now = Instant::now();
            match frame {
                Frame::Audio(audio) => {
                    self.allowance.admit_audio(audio.len(), now)?;
                    if !audio.is_empty() {
                        self.queue.push(InboundItem::Audio(audio));
                    }
                    continue;
                }
                Frame::HangUp => {
                    self.clean = true;
                    return Ok(());
                }
                Frame::Digit(digit) => {
                    if let wire::Event::Item(item) = wire::key(&digit.to_string()) {
                        self.queue.push(item);
                    }
                }
                Frame::Error(error) => return Err(Fault::Asterisk(error)),
                Frame::Uuid(_) => return Err(Fault::SecondUuid),
                Frame::Unknown(_) => {}
            }
            self.allowance.admit_other(now)?;
        }
    }
}

/// Writes what the call sends, a frame every 20 ms. Frames that are late are made up for; after a silence the time
/// begins anew.
async fn write(sink: &mut OwnedWriteHalf, outbound: &mut mpsc::Receiver<OutboundItem>) -> Result<(), Fault> {
    let (mut outgoing, mut bytes) = (Outgoing::default(), Vec::new());
    let mut due = Instant::now();
    loop {
        tokio::select! {
            biased;
            item = outbound.recv() => match item {
                Some(OutboundItem::Audio(audio)) => {
                    if outgoing.is_empty() {
                        due = due.max(Instant::now());
                    }
                    outgoing.take(&audio);
                }
                Some(OutboundItem::Clear) => outgoing.clear(),
                Some(OutboundItem::Mark(_) | OutboundItem::Digit(_)) => {}
                Some(OutboundItem::Close) | None => {
                    let _ = timeout(WRITE_WITHIN, sink.write_all(&GOODBYE)).await;
                    return Ok(());
                }
            },
            () = sleep_until(due), if !outgoing.is_empty() => {
                due += TICK;
                outgoing.due(&mut bytes);
                timeout(WRITE_WITHIN, sink.write_all(&bytes)).await.map_err(|_| Fault::Stuck)??;
                bytes.clear();
            }
        }
    }
}
