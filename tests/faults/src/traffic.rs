//! A steady stream of requests: reads, writes and inbound calls, each on its own connection and
//! none sent a second time.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval},
};

use crate::{
    api::Api,
    caller::{self, Came},
};

/// Range of the callers' stay, in milliseconds; the turn determines it.
const STAYS: std::ops::Range<u64> = 1_000..5_000;

/// Results of the stream.
#[derive(Debug, Default)]
struct Counts {
    /// Response times, in milliseconds.
    answered: Vec<u128>,
    failures: Vec<String>,
    /// Ids of stored contacts.
    contacts: Vec<String>,
    conversations: Vec<String>,
    /// Inbound calls that were accepted.
    callers: usize,
    dropped: Vec<String>,
}

/// Requests and their counts. Clones share them.
#[derive(Clone)]
pub struct Traffic {
    api: Api,
    agent: String,
    counts: Arc<Mutex<Counts>>,
}

/// Results at the end.
#[derive(Debug)]
pub struct Sent {
    pub requests: usize,
    pub p99_ms: u128,
    pub longest_ms: u128,
    pub calls: usize,
    pub callers: usize,
    /// Inbound calls that did not end as the caller intended.
    pub dropped: Vec<String>,
    /// Requests that failed.
    pub failures: Vec<String>,
    /// Rows that were confirmed as stored and are not there.
    pub lost: Vec<String>,
}

impl Traffic {
    pub fn new(api: Api, agent: String) -> Self {
        Self {
            api,
            agent,
            counts: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends this many requests per second until it is told to finish, whatever happens to the earlier ones.
    pub async fn flow(self, per_second: f64, mut finish: watch::Receiver<bool>) {
        let mut tick = interval(Duration::from_secs_f64(1.0 / per_second));
        tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut asking = JoinSet::new();
        for turn in 0_u64.. {
            tokio::select! {
                _ = tick.tick() => {}
                _ = finish.wait_for(|finish| *finish) => break,
            }
            asking.spawn(self.clone().ask(turn));
            while asking.try_join_next().is_some() {}
        }
        asking.join_all().await;
    }

    async fn ask(self, turn: u64) {
        let began = Instant::now();
        let asked = match turn % 20 {
            0..5 => self.api.get("/campaigns?pageSize=30").await.map(drop),
            5..9 => self.api.get("/conversations?pageSize=30").await.map(drop),
            9..12 => self.api.get(&format!("/agents/{}", self.agent)).await.map(drop),
            12 => return self.caller(turn).await,
            13..19 => self.contact(turn).await,
            _ => self.call(turn).await,
        };
        let mut counts = self.lock();
        match asked {
            Ok(()) => counts.answered.push(began.elapsed().as_millis()),
            Err(error) => counts.failures.push(error.to_string()),
        }
    }

    async fn contact(&self, turn: u64) -> io::Result<()> {
        let contact = json!({ "phoneNumber": format!("+1666{turn:07}"), "name": "Somebody" });
        let id = id_of(&self.api.post("/contacts", contact).await?, "contactId")?;
        self.lock().contacts.push(id);
        Ok(())
    }

    async fn call(&self, turn: u64) -> io::Result<()> {
        let call = json!({ "agentId": self.agent, "phoneNumber": format!("+1777{turn:07}") });
        let id = id_of(&self.api.post("/calls", call).await?, "conversationId")?;
        self.lock().conversations.push(id);
        Ok(())
    }

    /// Makes an inbound call; it is not one of the timed requests.
    async fn caller(&self, turn: u64) {
        let from = format!("+1888{turn:07}");
        let stays = Duration::from_millis(STAYS.start + turn * 7_919 % (STAYS.end - STAYS.start));
        let came = caller::call(&self.api, (&self.agent, &from), stays).await;
        let mut counts = self.lock();
        match came {
            Ok(Came::HungUp) => counts.callers += 1,
            Ok(Came::Dropped(how)) => {
                counts.callers += 1;
                counts.dropped.push(how);
            }
            Err(error) => counts.failures.push(error.to_string()),
        }
    }

    /// Looks for everything that was stored, and waits until the calls are over.
    pub async fn conclude(&self, limit: Instant) -> Sent {
        let (contacts, conversations) = {
            let counts = self.lock();
            (counts.contacts.clone(), counts.conversations.clone())
        };
        let mut lost = Vec::new();
        for id in contacts {
            if let Err(error) = self.api.get(&format!("/contacts/{id}")).await {
                lost.push(format!("contact {id}: {error}"));
            }
        }
        for id in &conversations {
            if let Err(error) = self.is_over(id, limit).await {
                lost.push(format!("call {id}: {error}"));
            }
        }
        let counts = self.lock();
        let mut answered = counts.answered.clone();
        answered.sort_unstable();
        let at = answered.len() * 99 / 100;
        Sent {
            requests: answered.len() + counts.failures.len(),
            p99_ms: answered.get(at).copied().unwrap_or_default(),
            longest_ms: answered.last().copied().unwrap_or_default(),
            calls: conversations.len(),
            callers: counts.callers,
            dropped: counts.dropped.clone(),
            failures: counts.failures.clone(),
            lost,
        }
    }

    async fn is_over(&self, id: &str, limit: Instant) -> io::Result<()> {
        loop {
            let shown = self.api.get(&format!("/conversations/{id}")).await?;
            match shown["data"]["status"].as_str() {
                Some("completed" | "failed") => return Ok(()),
                status if Instant::now() > limit => {
                    return Err(io::Error::other(format!("it is still {status:?}")));
                }
                _ => tokio::time::sleep(Duration::from_millis(300)).await,
            }
        }
    }
}

fn id_of(answer: &Value, name: &str) -> io::Result<String> {
    let id = answer["data"][name].as_str().or(answer["data"]["id"].as_str());
    id.map(str::to_owned)
        .ok_or_else(|| io::Error::other(format!("no {name} in {answer}")))
}
