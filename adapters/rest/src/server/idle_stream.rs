//! A stream that HTTP serves until its client has been idle for a while.
//!
//! HTTP keeps a read and a write buffer of 8 KiB each as long as it has the connection. They are not needed
//! between the requests of a kept-alive connection. [`Talk::silence`] says when to take the stream back; the
//! next request is then served anew.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use hyper::body::{Body, Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

/// Time without a request after which the stream is taken back. It is longer than the time between the
/// requests of an active client.
pub(super) const IDLE_AFTER: Duration = Duration::from_secs(1);

/// A stream that detects when HTTP is idle; see the module.
pub(super) struct IdleStream<S> {
    stream: S,
    /// Bytes read before HTTP got the stream: the beginning of a request.
    heard: Bytes,
    talk: Talk,
    /// Whether the last write is still pending.
    writing: bool,
    silence: Option<Pin<Box<Sleep>>>,
}

impl<S> IdleStream<S> {
    /// Wraps a stream and the bytes already read from it. Returns it with the state of its requests.
    pub(super) fn new(stream: S, heard: Bytes) -> (Self, Talk) {
        let talk = Talk::default();
        let served = Self {
            stream,
            heard,
            talk: talk.clone(),
            writing: false,
            silence: None,
        };
        (served, talk)
    }

    pub(super) fn into_inner(self) -> S {
        self.stream
    }

    /// Checks whether there was nothing to read or to write for long enough.
    fn listen(&mut self, cx: &mut Context<'_>) {
        // The last turn may end in another task, without waking HTTP.
        self.talk.state.ended.register(cx.waker());
        if self.writing || self.talk.goes_on() {
            self.silence = None;
            return;
        }
        let silence = self
            .silence
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(IDLE_AFTER)));
        if silence.as_mut().poll(cx).is_ready() {
            self.talk.state.silent.store(true, Ordering::Release);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for IdleStream<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        // Read more with it: from the first byte alone HTTP would not recognise an empty line as such.
        let heard = this.heard.split_to(this.heard.len().min(buffer.remaining()));
        buffer.put_slice(&heard);
        let mut read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if !heard.is_empty() {
            // An end or an error will appear again.
            read = Poll::Ready(Ok(()));
        }
        match read {
            Poll::Pending => this.listen(cx),
            Poll::Ready(_) => {
                this.silence = None;
                this.talk.hear();
            }
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for IdleStream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.writing = written.is_pending();
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, pieces);
        this.writing = written.is_pending();
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(cx);
        this.writing = flushed.is_pending();
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// State of the requests on a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Talk {
    state: Arc<TalkState>,
}

#[derive(Debug, Default)]
struct TalkState {
    /// Requests and responses that have not ended.
    turns: AtomicUsize,
    /// Whether bytes arrived since the last of them ended, which means that a request has begun.
    begun: AtomicBool,
    /// Whether there was nothing to read or to write for long enough.
    silent: AtomicBool,
    /// Waker for the end of the last one.
    ended: AtomicWaker,
}

impl Talk {
    /// Starts a turn, which counts as a request or a body until it is dropped.
    pub(super) fn turn(&self) -> Turn {
        self.state.turns.fetch_add(1, Ordering::AcqRel);
        Turn(self.clone())
    }

    /// Resolves when the stream should be taken back. It is polled after each poll of HTTP in the same task.
    pub(super) async fn silence(&self) {
        poll_fn(|_| match self.state.silent.load(Ordering::Acquire) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    fn hear(&self) {
        self.state.begun.store(true, Ordering::Release);
        self.state.silent.store(false, Ordering::Release);
    }

    fn goes_on(&self) -> bool {
        self.state.turns.load(Ordering::Acquire) > 0 || self.state.begun.load(Ordering::Acquire)
    }
}

/// A running request or body; see [`Talk::turn`].
#[derive(Debug)]
pub(super) struct Turn(Talk);

impl Turn {
    /// Marks that the connection changes its protocol and will never be idle as HTTP again.
    pub(super) fn never_ends(self) {
        self.0.state.turns.fetch_add(1, Ordering::AcqRel);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // By now, bytes of a next request cannot be distinguished from this request's body. They may be taken
        // back with the stream.
        if self.0.state.turns.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.state.begun.store(false, Ordering::Release);
            self.0.state.ended.wake();
        }
    }
}

/// A body with the turn that lasts as long.
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

    /// Reads as HTTP would. Returns the bytes, or nothing if the stream should be taken back.
    async fn read(served: &mut IdleStream<tokio::io::DuplexStream>) -> Vec<u8> {
        let talk = served.talk.clone();
        let mut piece = vec![0; 64];
        let count = tokio::select! {
            biased;
            count = served.read(&mut piece) => count.unwrap(),
            () = talk.silence() => 0,
        };
        piece.truncate(count);
        piece
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_taken_back_after_a_silence_with_nothing_lost() {
        let (mut client, server) = tokio::io::duplex(64);
        let (mut served, talk) = IdleStream::new(server, Bytes::from_static(b"ab"));
        assert_eq!(read(&mut served).await, b"ab");
        client.write_all(b"cd").await.unwrap();
        assert_eq!(read(&mut served).await, b"cd");
        // While a request is read or answered, HTTP waits.
        assert!(timeout(10 * IDLE_AFTER, read(&mut served)).await.is_err());
        let (request, answer) = (talk.turn(), talk.turn());
        drop(request);
        assert!(timeout(10 * IDLE_AFTER, read(&mut served)).await.is_err());
        drop(answer);
        assert!(timeout(IDLE_AFTER - BARELY, read(&mut served)).await.is_err());
        assert_eq!(timeout(2 * BARELY, read(&mut served)).await.unwrap(), b"");
        let mut server = served.into_inner();
        client.write_all(b"e").await.unwrap();
        assert_eq!(server.read_u8().await.unwrap(), b'e');
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_heard_is_read_with_what_follows_it() {
        let (mut client, server) = tokio::io::duplex(64);
        let (mut served, _talk) = IdleStream::new(server, Bytes::from_static(b"a"));
        client.write_all(b"bc").await.unwrap();
        drop(client);
        assert_eq!(read(&mut served).await, b"abc");
        assert_eq!(read(&mut served).await, b"");
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_ends_elsewhere_is_heard_of() {
        let (_client, server) = tokio::io::duplex(64);
        let (mut served, talk) = IdleStream::new(server, Bytes::new());
        let turn = talk.turn();
        tokio::spawn(async move {
            tokio::time::sleep(3 * IDLE_AFTER).await;
            drop(turn);
        });
        assert_eq!(timeout(5 * IDLE_AFTER, read(&mut served)).await.unwrap(), b"");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_taken_is_waited_for() {
        let (mut client, server) = tokio::io::duplex(4);
        let (mut served, _talk) = IdleStream::new(server, Bytes::new());
        assert!(timeout(BARELY, served.write_all(b"abcdef")).await.is_err());
        assert!(timeout(10 * IDLE_AFTER, read(&mut served)).await.is_err());
        client.read_exact(&mut [0; 4]).await.unwrap();
        served.write_all(b"gh").await.unwrap();
        assert_eq!(read(&mut served).await, b"");
    }

    #[tokio::test(start_paused = true)]
    async fn an_upgraded_one_stays() {
        let (_client, server) = tokio::io::duplex(4);
        let (mut served, talk) = IdleStream::new(server, Bytes::new());
        talk.turn().never_ends();
        assert!(timeout(1_000 * IDLE_AFTER, read(&mut served)).await.is_err());
    }
}
