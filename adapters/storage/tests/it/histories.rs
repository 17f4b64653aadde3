//! A server with another commit history takes over, behind a proxy that changes its target.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use domain::{
    id::NodeId,
    ports::store::{NodeStore, StoreError},
    time::SystemClock,
};
use storage::SqlStore;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    sync::watch,
    task::JoinSet,
};

use crate::postgres::{OwnServer, SOCKET, address_in};

/// A proxy: its target, and the change at the next commit.
struct Way {
    to: Mutex<PathBuf>,
    /// The server that takes over once the next commit has reached the present one.
    then: Mutex<Option<PathBuf>>,
    /// Counts the changes; each cuts all connections.
    changes: watch::Sender<u64>,
}

impl Way {
    /// Creates a folder with a socket that leads to `to`.
    fn lead(folder: &Path, to: PathBuf) -> Arc<Self> {
        let way = Arc::new(Self {
            to: Mutex::new(to),
            then: Mutex::default(),
            changes: watch::Sender::new(0),
        });
        let (listener, leading) = (UnixListener::bind(folder.join(SOCKET)).unwrap(), way.clone());
        tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(leading.clone().carry(client));
            }
        });
        way
    }

    async fn carry(self: Arc<Self>, mut client: UnixStream) {
        let mut changes = self.changes.subscribe();
        let to = self.to.lock().unwrap().clone();
        let mut server = UnixStream::connect(to).await.unwrap();
        let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
        loop {
            tokio::select! {
                _ = changes.changed() => return,
                read = client.read(&mut asked) => {
                    let Some(read) = read.ok().filter(|read| *read > 0) else { return };
                    if server.write_all(&asked[..read]).await.is_err() {
                        return;
                    }
                    let commits = asked[..read].windows(7).any(|bytes| bytes == b"COMMIT\0");
                    let then = if commits { self.then.lock().unwrap().take() } else { None };
                    if let Some(then) = then {
                        // The commit is made, and its answer is lost.
                        let _ = server.read(&mut answered).await;
                        *self.to.lock().unwrap() = then;
                        self.changes.send_modify(|changes| *changes += 1);
                        return;
                    }
                }
                read = server.read(&mut answered) => {
                    let Some(read) = read.ok().filter(|read| *read > 0) else { return };
                    if client.write_all(&answered[..read]).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commits_outcome_is_not_asked_of_another_history() {
    let (Some(old), Some(new)) = (OwnServer::start(), OwnServer::start()) else {
        return;
    };
    let open = async |url: String| SqlStore::open(&url, Arc::new(SystemClock)).await.unwrap();
    // The tables exist when it takes over; it has fewer transactions.
    let folder = new.socket().parent().unwrap().to_owned();
    open(address_in(&folder)).await.close().await;
    let folder = tempfile::tempdir().unwrap();
    let way = Way::lead(folder.path(), old.socket());
    let store = open(address_in(folder.path())).await;
    for _ in 0..100 {
        store.register_node(NodeId::new(), None).await.unwrap();
    }
    *way.then.lock().unwrap() = Some(new.socket());
    let node = NodeId::new();
    let asked = tokio::time::timeout(Duration::from_secs(60), store.register_node(node, None)).await;
    let unknown = asked.unwrap();
    assert!(matches!(unknown, Err(StoreError::Unavailable(_))), "{unknown:?}");
    assert!(!*store.failed().borrow(), "the process goes on");
    // It was not repeated either: the caller decides.
    assert!(store.heartbeat(node).await.is_err());
    store.register_node(node, None).await.unwrap();
    store.heartbeat(node).await.unwrap();
}
