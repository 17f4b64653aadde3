//! A TCP proxy that can be cut, and can stall.

use std::{io, net::SocketAddr, path::PathBuf, sync::Arc};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixStream},
    sync::watch,
    task::JoinHandle,
};

use crate::commits::{Frames, Trap};

/// Behaviour of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Passes everything on.
    Open,
    /// Closes connections, and new ones too.
    Cut,
    /// Keeps connections, and passes nothing.
    Stalled,
}

/// Target of a proxy.
#[derive(Debug, Clone)]
pub enum Target {
    Tcp(SocketAddr),
    /// A PostgreSQL server, whose commits spring a trap.
    Server(PathBuf, Arc<Trap>),
    /// One of these addresses whose process is there, starting with another one each time; each with the
    /// address of its process.
    Anyone(Vec<(SocketAddr, SocketAddr)>),
}

/// A running proxy.
pub struct Proxy {
    pub address: SocketAddr,
    mode: watch::Sender<Mode>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy on a free port.
    pub async fn start(target: Target) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let mode = watch::Sender::new(Mode::Open);
        let seen = mode.clone();
        let task = tokio::spawn(async move {
            let mut target = target;
            while let Ok((client, _)) = listener.accept().await {
                if let Target::Anyone(addresses) = &mut target {
                    addresses.rotate_left(1);
                }
                if *seen.borrow() != Mode::Cut {
                    tokio::spawn(pass(client, target.clone(), seen.subscribe()));
                }
            }
        });
        Ok(Self { address, mode, task })
    }

    /// Changes its behaviour.
    pub fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.mode.send_replace(Mode::Cut);
        self.task.abort();
    }
}

async fn pass(client: TcpStream, target: Target, mode: watch::Receiver<Mode>) {
    let _ = client.set_nodelay(true);
    match target {
        Target::Tcp(address) => pass_to(client, &[address], mode).await,
        Target::Anyone(addresses) => {
            let mut there = Vec::new();
            for (endpoint, process) in addresses {
                // The address accepts connections even if the process is gone.
                if TcpStream::connect(process).await.is_ok() {
                    there.push(endpoint);
                }
            }
            pass_to(client, &there, mode).await;
        }
        Target::Server(path, trap) => {
            if let Ok(server) = UnixStream::connect(path).await {
                commits(client.into_split(), server.into_split(), mode, &trap).await;
            }
        }
    }
}

async fn pass_to(client: TcpStream, addresses: &[SocketAddr], mode: watch::Receiver<Mode>) {
    for address in addresses {
        if let Ok(server) = TcpStream::connect(address).await {
            let _ = server.set_nodelay(true);
            return both(client.into_split(), server.into_split(), mode).await;
        }
    }
}

async fn both<CR, CW, SR, SW>(client: (CR, CW), server: (SR, SW), mode: watch::Receiver<Mode>)
where
    CR: AsyncRead + Unpin,
    CW: AsyncWrite + Unpin,
    SR: AsyncRead + Unpin,
    SW: AsyncWrite + Unpin,
{
    let mut cut = mode.clone();
    tokio::select! {
        _ = cut.wait_for(|mode| *mode == Mode::Cut) => {}
        // Waits for both directions: the end of one lets the remaining data of the other through.
        _ = async { tokio::join!(one_way(client.0, server.1, mode.clone()), one_way(server.0, client.1, mode)) } => {}
    }
}

/// Passes both directions of a connection to a PostgreSQL server; the client's data in complete messages.
async fn commits<CR, CW, SR, SW>(
    (client_reads, client_writes): (CR, CW),
    (server_reads, server_writes): (SR, SW),
    mode: watch::Receiver<Mode>,
    trap: &Trap,
) where
    CR: AsyncRead + Unpin,
    CW: AsyncWrite + Unpin,
    SR: AsyncRead + Unpin,
    SW: AsyncWrite + Unpin,
{
    let mut cut = mode.clone();
    let frames = Frames::new(trap);
    tokio::select! {
        _ = cut.wait_for(|mode| *mode == Mode::Cut) => {}
        () = frames.sprung() => {}
        _ = async {
            tokio::join!(
                whole_messages(client_reads, server_writes, mode.clone(), &frames),
                answers(server_reads, client_writes, mode, &frames),
            )
        } => {}
    }
}

async fn whole_messages(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut mode: watch::Receiver<Mode>,
    frames: &Frames<'_>,
) {
    let mut buffer = Vec::with_capacity(16 * 1024);
    loop {
        let read = from.read_buf(&mut buffer).await.unwrap_or(0);
        if mode.wait_for(|mode| *mode != Mode::Stalled).await.is_err() {
            return;
        }
        let passed = frames.pass(&mut buffer);
        if read == 0 || to.write_all(&passed).await.is_err() {
            let _ = to.shutdown().await;
            return;
        }
    }
}

async fn answers(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut mode: watch::Receiver<Mode>,
    frames: &Frames<'_>,
) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).await.unwrap_or(0);
        if mode.wait_for(|mode| *mode != Mode::Stalled).await.is_err() {
            return;
        }
        frames.answered();
        if read == 0 || to.write_all(&buffer[..read]).await.is_err() {
            let _ = to.shutdown().await;
            return;
        }
    }
}

async fn one_way(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, mut mode: watch::Receiver<Mode>) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).await.unwrap_or(0);
        if mode.wait_for(|mode| *mode != Mode::Stalled).await.is_err() {
            return;
        }
        if read == 0 || to.write_all(&buffer[..read]).await.is_err() {
            let _ = to.shutdown().await;
            return;
        }
    }
}
