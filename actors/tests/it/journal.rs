//! Facts reach the store in order and in time, and survive its outages.

use std::{sync::Arc, time::Duration};

use actors::{
    journal::{Backlog, Journal, JournalActor, JournalArguments, JournalMessage, LiveFact},
    supervision::Sibling,
};
use domain::{
    id::{AttemptId, CampaignId},
    ports::store::{EventFact, Fact, Store, StoreError},
    time::TokioClock,
};
use ractor::{Actor, ActorRef};
use testkit::{fake_ports::CLOCK_START, memory_store::MemoryStore};
use tokio::sync::broadcast;

use crate::support::SlowStore;

struct Desk {
    store: Arc<MemoryStore>,
    actor: ActorRef<JournalMessage>,
    address: Sibling<JournalMessage>,
    backlog: Backlog,
    journal: Journal,
    attempt: AttemptId,
    live: broadcast::Receiver<LiveFact>,
}

async fn start(store: Arc<dyn Store>, backlog: Backlog) -> ActorRef<JournalMessage> {
    let arguments = JournalArguments { store, backlog };
    Actor::spawn(None, JournalActor, arguments).await.unwrap().0
}

async fn journal() -> Desk {
    let store = Arc::new(MemoryStore::new(Arc::new(TokioClock::starting_at(CLOCK_START))));
    let sender = broadcast::Sender::new(16);
    let live = sender.subscribe();
    let backlog = Backlog::default();
    let actor = start(store.clone(), backlog.clone()).await;
    let address = Sibling::from(actor.clone());
    let journal = Journal::new(address.clone(), backlog.clone(), sender);
    Desk {
        store,
        actor,
        address,
        backlog,
        journal,
        attempt: AttemptId::new(),
        live,
    }
}

impl Desk {
    fn record(&self, at_ms: i64) {
        let fact = Fact::Event(EventFact {
            name: "test".into(),
            at_ms,
            detail: "{}".into(),
        });
        self.journal.record(self.attempt, CampaignId::new(), fact);
    }

    fn on_disk(&self) -> Vec<i64> {
        self.store.events(self.attempt).iter().map(|e| e.at_ms).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn facts_are_on_disk_within_200_ms_and_seen_at_once() {
    let mut journal = journal().await;
    journal.record(1);
    journal.record(2);
    assert_eq!(journal.live.recv().await.unwrap().attempt, journal.attempt);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(journal.on_disk(), [] as [i64; 0], "they are written in batches");
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(journal.on_disk(), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_flush_is_answered_when_everything_before_it_is_on_disk() {
    let journal = journal().await;
    for n in 0..2000 {
        journal.record(n);
    }
    ractor::call!(journal.actor, JournalMessage::Flush).unwrap();
    assert_eq!(journal.on_disk(), (0..2000).collect::<Vec<_>>());
    ractor::call!(journal.actor, JournalMessage::Flush).unwrap();
}

#[tokio::test(start_paused = true)]
async fn facts_wait_for_a_store_that_is_unavailable() {
    let journal = journal().await;
    journal.store.fail_with(Some(StoreError::Unavailable("away".into())));
    for n in 0..1000 {
        journal.record(n);
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    journal.record(1000);
    journal.store.fail_with(None);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(journal.on_disk(), (0..=1000).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_fact_the_store_refuses_does_not_hold_up_the_others() {
    let journal = journal().await;
    journal.store.fail_with(Some(StoreError::Damaged("no".into())));
    journal.record(0);
    ractor::call!(journal.actor, JournalMessage::Flush).unwrap();
    journal.store.fail_with(None);
    journal.record(1);
    ractor::call!(journal.actor, JournalMessage::Flush).unwrap();
    assert_eq!(journal.on_disk(), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_dies_costs_no_fact_and_writes_none_twice() {
    for died_after_ms in [0, 1, 99, 110, 150] {
        let mut desk = journal().await;
        let slow = Arc::new(SlowStore::new(desk.store.clone()));
        desk.actor.stop_and_wait(None, None).await.unwrap();
        desk.actor = start(slow.clone(), desk.backlog.clone()).await;
        desk.address.set(desk.actor.clone());
        for n in 0..3 {
            desk.record(n);
        }
        tokio::time::sleep(Duration::from_millis(died_after_ms)).await;
        desk.record(3);
        desk.actor.kill();
        desk.record(4);
        tokio::time::sleep(Duration::from_millis(50)).await;
        desk.record(5);
        let heir = start(slow, desk.backlog.clone()).await;
        desk.address.set(heir);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(desk.on_disk(), [0, 1, 2, 3, 4, 5], "died after {died_after_ms} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_flush_waits_for_the_journal_that_takes_over() {
    let desk = journal().await;
    desk.record(0);
    desk.actor.kill();
    let heir = async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        desk.address.set(start(desk.store.clone(), desk.backlog.clone()).await);
    };
    let (flushed, ()) = tokio::join!(desk.journal.flush(Duration::from_secs(2)), heir);
    assert!(flushed);
    assert_eq!(desk.on_disk(), [0]);
    desk.address.get().unwrap().kill();
    assert!(!desk.journal.flush(Duration::from_secs(2)).await);
}
