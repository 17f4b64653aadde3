//! AudioSocket: Asterisk opens a TCP connection for each call's audio. The connection authenticates only by a
//! UUID, so the address belongs on a private network. The UUID is random and valid for one connection of one
//! call.

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
    http::SetupError,
    link::{
        CarrierLink,
        media_socket::{
            Claim,
            allowance::{Allowance, Excess},
        },
    },
    protocol,
};

/// Linear 16-bit at 8 kHz.
pub const FORMAT: LineFormat = LineFormat {
    encoding: Encoding::Linear16,
    sample_rate: 8_000,
};
/// Abilities of a connection. It plays audio as soon as it arrives.
const ABILITIES: LegAbilities = LegAbilities {
    buffers: false,
    marks: false,
    clear: false,
    digits: false,
};

/// Time limit for the UUID after the connection opens.
const UUID_WITHIN: Duration = Duration::from_secs(5);
/// Maximum number of connections that wait for their UUID or their call.
const WAITING_CONNECTIONS: usize = 256;
const TICK: Duration = Duration::from_millis(20);
/// Items that may wait for the connection.
const OUTBOUND_ITEMS: usize = 256;
/// Maximum silence. Asterisk sends audio every 20 ms, so such a quiet connection is dead.
const IDLE: Duration = Duration::from_secs(30);
/// Maximum time for a write. A connection that accepts nothing for so long is stuck.
const WRITE_WITHIN: Duration = Duration::from_secs(10);
const READ_BYTES: usize = 4 * 1024;
/// Pause after a failed accept, for example when no file descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Binds the listening address.
pub fn bind(address: SocketAddr) -> Result<std::net::TcpListener, SetupError> {
    net::bind::bind(address).map_err(|error| SetupError::Listen {
        setting: "ASTERISK_AUDIOSOCKET_LISTEN",
        address,
        error,
    })
}

/// Reason why a connection is closed.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("no UUID within {} s", UUID_WITHIN.as_secs())]
    NoUuid,
    #[error("no call with this UUID waits for audio")]
    UnknownUuid,
    #[error("the call does not accept audio now")]
    Refused,
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Excess(#[from] Excess),
    #[error("second UUID")]
    SecondUuid,
    #[error("Asterisk sent error {0}")]
    Asterisk(u8),
    #[error("silent for {} s", IDLE.as_secs())]
    Idle,
    #[error("accepts no data")]
    Stuck,
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("closed")]
    Gone,
}

/// Accepts connections until the service ends.
pub(super) async fn serve(listener: std::net::TcpListener, switch: Arc<Switch>, link: CarrierLink) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "AudioSocket listener failed"),
    };
    let waiting = Arc::new(Semaphore::new(WAITING_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "AudioSocket accept failed");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Connections beyond the limit are dropped, so that peers without a UUID cannot keep others out for long.
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

/// Incoming side of a connection. Pushes `Closed` on drop, and so on every exit path.
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
                // Our own goodbye counts as a clean end, as Asterisk's does.
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
                    if let protocol::Event::Item(item) = protocol::key(&digit.to_string()) {
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

/// Writes the call's audio, one frame every 20 ms. Catches up on late frames. After a silence the schedule starts over.
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
