//! Relays a socket to the node that serves it: copies bytes both ways, and closes both sides when one ends.

use std::{
    io,
    pin::pin,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split},
    sync::{OwnedSemaphorePermit, watch},
    time::{Instant, sleep, timeout},
};

/// Time limit for both sides to complete the HTTP upgrade.
const UPGRADED_WITHIN: Duration = Duration::from_secs(5);
/// Buffer per direction, in bytes; a sender that is further ahead has to wait.
const BUFFER_BYTES: usize = 8 * 1024;
/// Time after which a side that accepts no bytes counts as stuck.
const WRITE_WITHIN: Duration = Duration::from_secs(10);
/// Time that one side has after the other has ended, for example to answer a close frame.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);
/// Time after which a socket without traffic counts as dead. The node that serves it has a stricter limit.
const IDLE: Duration = Duration::from_secs(60);

/// A socket that is being forwarded.
pub(super) struct Relay {
    /// Side of the client that opened the socket.
    pub(super) ours: OnUpgrade,
    /// Answer of the node that serves the socket.
    pub(super) theirs: reqwest::Response,
    /// Becomes true when all forwarded sockets must end.
    pub(super) closing: watch::Receiver<bool>,
    pub(super) _seat: OwnedSemaphorePermit,
}

/// Relays the socket until it ends.
pub(super) async fn run(relay: Relay) {
    let Relay {
        ours,
        theirs,
        closing,
        _seat,
    } = relay;
    let both = async {
        let theirs = theirs.upgrade().await.ok()?;
        let ours = ours.await.ok()?;
        Some((TokioIo::new(ours), theirs))
    };
    match timeout(UPGRADED_WITHIN, both).await {
        Ok(Some((ours, theirs))) => join(ours, theirs, closing).await,
        Ok(None) | Err(_) => tracing::debug!("forwarded socket failed before the upgrade"),
    }
}

/// Time of the last traffic in either direction.
struct Heard {
    began: Instant,
    last_ms: AtomicU64,
}

impl Heard {
    fn now(&self) {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(ms, Ordering::Relaxed);
    }

    /// Returns when there was no traffic for too long.
    async fn nothing(&self) {
        loop {
            let last = self.began + Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
            let silent = last.elapsed();
            if silent >= IDLE {
                return;
            }
            sleep(IDLE - silent).await;
        }
    }
}

/// Copies until one side ends.
async fn join(
    ours: impl AsyncRead + AsyncWrite,
    theirs: impl AsyncRead + AsyncWrite,
    mut closing: watch::Receiver<bool>,
) {
    let heard = Heard {
        began: Instant::now(),
        last_ms: AtomicU64::new(0),
    };
    let ((from_us, to_us), (from_them, to_them)) = (split(ours), split(theirs));
    let mut there = pin!(copy(from_us, to_them, &heard));
    let mut back = pin!(copy(from_them, to_us, &heard));
    let left = tokio::select! {
        ended = &mut there => ended.map(|()| Left::Back),
        ended = &mut back => ended.map(|()| Left::There),
        () = heard.nothing() => Err(io::ErrorKind::TimedOut.into()),
        _ = closing.wait_for(|closing| *closing) => Err(io::ErrorKind::ConnectionAborted.into()),
    };
    let _ = match left {
        Ok(Left::There) => timeout(CLOSE_WITHIN, there).await,
        Ok(Left::Back) => timeout(CLOSE_WITHIN, back).await,
        Err(error) => return tracing::debug!(%error, "forwarded socket cut"),
    };
}

/// The direction that has not ended.
enum Left {
    There,
    Back,
}

/// Copies one direction until its end, and passes the end on.
async fn copy(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, heard: &Heard) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = from.read(&mut buffer).await?;
        heard.now();
        let write = async {
            if read == 0 {
                return to.shutdown().await;
            }
            to.write_all(&buffer[..read]).await?;
            to.flush().await
        };
        timeout(WRITE_WITHIN, write).await.map_err(io::Error::from)??;
        if read == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::{io::duplex, task::JoinHandle};

    use super::*;

    type End = tokio::io::DuplexStream;

    /// Returns both far ends of a relay, the switch that closes it, and its task.
    fn start(room: usize) -> (End, End, watch::Sender<bool>, JoinHandle<()>) {
        let ((carrier, ours), (theirs, node)) = (duplex(room), duplex(room));
        let (close, closing) = watch::channel(false);
        (carrier, node, close, tokio::spawn(join(ours, theirs, closing)))
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_go_both_ways_at_once_and_the_end_of_one_side_is_told() {
        let (mut carrier, mut node, _close, relay) = start(64 * 1024);
        let mut read = [0; 5];
        carrier.write_all(b"hello").await.unwrap();
        node.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"hello");
        let before = Instant::now();
        node.write_all(b"frame").await.unwrap();
        carrier.read_exact(&mut read).await.unwrap();
        assert_eq!((&read, before.elapsed()), (b"frame", Duration::ZERO));
        // The last bytes of the other side still arrive.
        carrier.shutdown().await.unwrap();
        assert_eq!(node.read(&mut read).await.unwrap(), 0);
        node.write_all(b"bye").await.unwrap();
        drop(node);
        let mut rest = Vec::new();
        carrier.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"bye");
        relay.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_side_that_dies_or_hangs_is_not_waited_for() {
        let (carrier, mut node, _close, relay) = start(64);
        drop(carrier);
        let before = Instant::now();
        relay.await.unwrap();
        assert!(before.elapsed() <= CLOSE_WITHIN);
        assert_eq!(node.read(&mut [0; 8]).await.unwrap(), 0);

        // The node reads nothing, and the relay does not buffer what is sent to it.
        let (mut carrier, _node, _close, relay) = start(64);
        let before = Instant::now();
        let sent = async { while carrier.write_all(&[0; 160]).await.is_ok() {} };
        tokio::join!(sent, async { relay.await.unwrap() });
        assert!(
            before.elapsed() <= WRITE_WITHIN + CLOSE_WITHIN,
            "{:?}",
            before.elapsed()
        );

        let (_carrier, _node, _close, relay) = start(64);
        let before = Instant::now();
        relay.await.unwrap();
        assert_eq!(before.elapsed(), IDLE);
    }

    #[tokio::test(start_paused = true)]
    async fn one_side_may_be_silent_as_long_as_the_other_is_not() {
        let (mut carrier, mut node, close, relay) = start(64);
        let before = Instant::now();
        while before.elapsed() < 4 * IDLE {
            sleep(IDLE / 2).await;
            carrier.write_all(b"x").await.unwrap();
            node.read_exact(&mut [0]).await.unwrap();
        }
        assert!(!relay.is_finished());
        close.send_replace(true);
        relay.await.unwrap();
    }
}
