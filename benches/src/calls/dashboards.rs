//! Open dashboards beside the calls: their sessions, their event streams, and the requests that their pages make at
//! the start and after events.

mod pages;
mod traffic;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::try_join_all;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use self::pages::Page;
use crate::{
    BenchError,
    connection::{Connection, source},
    processes::ACCOUNT_EMAIL,
    site::Site,
};
use sim::samples::Samples;

pub use self::traffic::Traffic;

/// Sessions that an account may have. The dashboards share them, as several tabs of a browser do.
const SESSIONS: u32 = 20;

/// Connections of a dashboard for requests; a browser opens six to a host, one of them for the stream.
const CONNECTIONS: usize = 5;

/// Pause between two dashboards that open.
const STAGGER: Duration = Duration::from_millis(20);

/// Requests of all dashboards.
#[derive(Debug, Clone, Default)]
pub struct Requests {
    /// Response times in milliseconds.
    pub ms: Samples,
    /// Requests that were not answered with 200.
    pub failed: usize,
    /// Account events that came over the streams.
    pub events: usize,
}

/// Open dashboards, which close when this is dropped.
pub struct Dashboards {
    requests: Arc<Mutex<Requests>>,
    tabs: JoinSet<Result<(), BenchError>>,
}

impl Dashboards {
    /// Signs in and opens this many dashboards, one after the other.
    pub async fn open(site: &Site, count: u32) -> Result<Self, BenchError> {
        let mut all = Self {
            requests: Arc::default(),
            tabs: JoinSet::new(),
        };
        let address = site.settings.listen;
        let mut cookies = Vec::new();
        for n in 0..count {
            let source = source(n % SESSIONS);
            if n < SESSIONS {
                let mut connection = Connection::open_from(source, address).await?;
                cookies.push(connection.sign_in(ACCOUNT_EMAIL, &site.key).await?);
            }
            let cookie = &cookies[(n % SESSIONS) as usize];
            let mut stream = Connection::open_from(source, address).await?.with_cookie(cookie);
            stream.begin("/public/v1/events", "").await?;
            let mut connections = Vec::new();
            for _ in 0..CONNECTIONS {
                connections.push(Connection::open_from(source, address).await?.with_cookie(cookie));
            }
            let tab = Tab {
                page: Page::of(n),
                stream,
                connections,
                requests: Arc::clone(&all.requests),
            };
            all.tabs.spawn(tab.show());
            sleep(STAGGER).await;
        }
        Ok(all)
    }

    /// Forgets the requests so far, so that the opening does not count.
    pub fn forget(&self) {
        std::mem::take(&mut *locked(&self.requests));
    }

    /// Closes the dashboards. Returns their requests, or why one of them ended before.
    pub async fn close(mut self) -> Result<Requests, BenchError> {
        if let Some(ended) = self.tabs.try_join_next() {
            ended??;
        }
        self.tabs.shutdown().await;
        let requests = std::mem::take(&mut *locked(&self.requests));
        Ok(requests)
    }
}

fn locked(requests: &Mutex<Requests>) -> MutexGuard<'_, Requests> {
    requests.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One dashboard in a tab of a browser.
struct Tab {
    page: Page,
    stream: Connection,
    connections: Vec<Connection>,
    requests: Arc<Mutex<Requests>>,
}

impl Tab {
    /// Loads the page, and reads again what its listeners want after events. Ends only with an error.
    async fn show(mut self) -> Result<(), BenchError> {
        self.read(vec!["/me".to_owned()]).await?;
        let first = self.page.first_reads();
        self.read(first).await?;
        loop {
            let due = self.page.next_due();
            tokio::select! {
                received = self.stream.receive_on() => {
                    received?;
                    self.heard();
                }
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    let paths = self.page.due_reads(Instant::now());
                    self.read(paths).await?;
                }
            }
        }
    }

    /// Starts the waits of the listeners that want what the stream just brought.
    fn heard(&mut self) {
        let text = String::from_utf8_lossy(self.stream.received());
        let now = Instant::now();
        let mut events = 0;
        for event_type in text.lines().filter_map(|line| line.strip_prefix("event: ")) {
            events += 1;
            self.page.hear(event_type, now);
        }
        locked(&self.requests).events += events;
    }

    /// Sends requests over all connections.
    async fn read(&mut self, paths: Vec<String>) -> Result<(), BenchError> {
        let requests = &self.requests;
        let connections = self.connections.iter_mut().enumerate();
        let reads = connections.map(|(n, connection)| {
            let own: Vec<String> = paths.iter().skip(n).step_by(CONNECTIONS).cloned().collect();
            async move {
                for path in own {
                    let asked = Instant::now();
                    let answer = connection.get(&format!("/public/v1{path}"), "").await?;
                    let mut requests = locked(requests);
                    requests.ms.push(asked.elapsed().as_secs_f64() * 1_000.0);
                    requests.failed += usize::from(answer.status != 200);
                }
                Ok::<_, BenchError>(())
            }
        });
        try_join_all(reads).await.map(drop)
    }
}
