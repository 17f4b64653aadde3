//! A stream that is lent to HTTP and comes back when a client has asked nothing for a while.
//!
//! HTTP keeps a buffer for what it reads and one for what it writes, 8 KiB each, as long as it has the connection. Between
//! a kept connection's requests nobody needs them: this stream then tells HTTP its end, which is how a server lets go of a
//! connection without an error, and keeps the real one for the next request.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::task::AtomicWaker;
use hyper::body::{Body, Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::oneshot,
    time::Sleep,
};

/// After so long without a request the stream comes back. Longer than the time between the requests of a client at work.
pub(super) const LENT_FOR: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct Lent<S> {
    /// With where it comes back; none once it has.
    lent: Option<(S, oneshot::Sender<S>)>,
    /// Read before it was lent: the first byte of a request.
    heard: Option<u8>,
    talk: Talk,
    /// What was written last has not been taken.
    writing: bool,
    silence: Option<Pin<Box<Sleep>>>,
}

impl<S> Lent<S> {
    /// The stream to serve, after the byte that was heard on it; what counts the requests on it; and where it comes back.
    pub(super) fn new(stream: S, heard: Option<u8>) -> (Self, Talk, oneshot::Receiver<S>) {
        let talk = Talk::default();
        let (back, returned) = oneshot::channel();
        let lent = Self {
            lent: Some((stream, back)),
            heard,
            talk: talk.clone(),
            writing: false,
            silence: None,
        };
        (lent, talk, returned)
    }

    fn stream(&mut self) -> Option<&mut S> {
        self.lent.as_mut().map(|(stream, _)| stream)
    }

    /// What a write is told when there is nothing to write to.
    fn writable(&mut self) -> io::Result<&mut S> {
        self.stream().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Ready when there has been nothing to read or to write for long enough.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // The last turn may end in another task, which HTTP does not hear of.
        self.talk.state.ended.register(cx.waker());
        if self.writing || self.talk.goes_on() {
            self.silence = None;
            return Poll::Pending;
        }
        let silence = self
            .silence
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(LENT_FOR)));
        silence.as_mut().poll(cx)
    }

    fn give_back(&mut self) {
        if let Some((stream, back)) = self.lent.take() {
            // Nobody takes it when the connection is being dropped, and the stream with it.
            let _ = back.send(stream);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lent<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if buffer.remaining() > 0
            && let Some(heard) = this.heard.take()
        {
            buffer.put_slice(&[heard]);
            this.talk.hear();
            return Poll::Ready(Ok(()));
        }
        let Some(stream) = this.stream() else {
            return Poll::Ready(Ok(()));
        };
        if let Poll::Ready(read) = Pin::new(stream).poll_read(cx, buffer) {
            this.silence = None;
            this.talk.hear();
            return Poll::Ready(read);
        }
        ready!(this.poll_silence(cx));
        this.give_back();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Lent<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(this.writable()?).poll_write(cx, bytes);
        this.writing = written.is_pending();
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(this.writable()?).poll_write_vectored(cx, pieces);
        this.writing = written.is_pending();
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.lent.as_ref().is_some_and(|(stream, _)| stream.is_write_vectored())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let Some(stream) = this.stream() else {
            return Poll::Ready(Ok(()));
        };
        let flushed = Pin::new(stream).poll_flush(cx);
        this.writing = flushed.is_pending();
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.stream() {
            Some(stream) => Pin::new(stream).poll_shutdown(cx),
            None => Poll::Ready(Ok(())),
        }
    }
}

/// Whether requests are being read or answered on a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Talk {
    state: Arc<TalkState>,
}

#[derive(Debug, Default)]
struct TalkState {
    /// Requests and answers whose end has not been seen.
    turns: AtomicUsize,
    /// Bytes came since the last of them ended: a request has begun.
    begun: AtomicBool,
    /// Who waits for the end of the last.
    ended: AtomicWaker,
}

impl Talk {
    /// A request, or one of the two bodies, for as long as the turn exists.
    pub(super) fn turn(&self) -> Turn {
        self.state.turns.fetch_add(1, Ordering::AcqRel);
        Turn(self.clone())
    }

    fn hear(&self) {
        self.state.begun.store(true, Ordering::Release);
    }

    fn goes_on(&self) -> bool {
        self.state.turns.load(Ordering::Acquire) > 0 || self.state.begun.load(Ordering::Acquire)
    }
}

/// See [`Talk::turn`].
#[derive(Debug)]
pub(super) struct Turn(Talk);

impl Turn {
    /// The connection changes its protocol, and is never silent in the sense of HTTP any more.
    pub(super) fn never_ends(self) {
        self.0.state.turns.fetch_add(1, Ordering::AcqRel);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // What has come of a next request by now is not told from this one's body: who sends a part of a request before
        // the last one's answer, and then nothing, is closed.
        if self.0.state.turns.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.state.begun.store(false, Ordering::Release);
            self.0.state.ended.wake();
        }
    }
}

/// A body, and the turn that lasts as long.
#[derive(Debug)]
pub(super) struct During<B> {
    body: B,
    _turn: Turn,
}

impl<B> During<B> {
    pub(super) fn new(body: B, turn: Turn) -> Self {
        Self { body, _turn: turn }
    }
}

impl<B: Body + Unpin> Body for During<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        time::timeout,
    };

    use super::*;

    const BARELY: Duration = Duration::from_millis(1);

    /// Reads as HTTP would: what came, or the end.
    async fn read(lent: &mut Lent<tokio::io::DuplexStream>) -> Vec<u8> {
        let mut piece = vec![0; 64];
        let count = lent.read(&mut piece).await.unwrap();
        piece.truncate(count);
        piece
    }

    #[tokio::test(start_paused = true)]
    async fn it_comes_back_after_a_silence_with_nothing_lost() {
        let (mut client, server) = tokio::io::duplex(64);
        let (mut lent, talk, mut returned) = Lent::new(server, Some(b'a'));
        client.write_all(b"bc").await.unwrap();
        assert_eq!(read(&mut lent).await, b"a");
        assert_eq!(read(&mut lent).await, b"bc");
        // A request has begun, then one is being answered: HTTP waits.
        assert!(timeout(10 * LENT_FOR, read(&mut lent)).await.is_err());
        let (request, answer) = (talk.turn(), talk.turn());
        drop(request);
        assert!(timeout(10 * LENT_FOR, read(&mut lent)).await.is_err());
        drop(answer);
        assert!(timeout(LENT_FOR - BARELY, read(&mut lent)).await.is_err());
        assert!(returned.try_recv().is_err());
        assert_eq!(timeout(2 * BARELY, read(&mut lent)).await.unwrap(), b"");
        let mut server = returned.try_recv().unwrap();
        lent.shutdown().await.unwrap();
        drop(lent);
        client.write_all(b"d").await.unwrap();
        assert_eq!(server.read_u8().await.unwrap(), b'd');
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_ends_elsewhere_is_heard_of() {
        let (_client, server) = tokio::io::duplex(64);
        let (mut lent, talk, mut returned) = Lent::new(server, None);
        let turn = talk.turn();
        tokio::spawn(async move {
            tokio::time::sleep(3 * LENT_FOR).await;
            drop(turn);
        });
        assert_eq!(timeout(5 * LENT_FOR, read(&mut lent)).await.unwrap(), b"");
        assert!(returned.try_recv().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_taken_is_waited_for() {
        let (mut client, server) = tokio::io::duplex(4);
        let (mut lent, _talk, mut returned) = Lent::new(server, None);
        assert!(timeout(BARELY, lent.write_all(b"abcdef")).await.is_err());
        assert!(timeout(10 * LENT_FOR, read(&mut lent)).await.is_err());
        client.read_exact(&mut [0; 4]).await.unwrap();
        lent.write_all(b"gh").await.unwrap();
        assert_eq!(read(&mut lent).await, b"");
        assert!(returned.try_recv().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn an_upgraded_one_never_comes_back() {
        let (_client, server) = tokio::io::duplex(4);
        let (mut lent, talk, _returned) = Lent::new(server, None);
        talk.turn().never_ends();
        assert!(timeout(1_000 * LENT_FOR, read(&mut lent)).await.is_err());
    }
}
