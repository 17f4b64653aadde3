//! Facts reach the store in order and in time, and survive its absence.

use std::{sync::Arc, time::Duration};

use actors::{
    id::{AttemptId, CampaignId},
    journal::{JournalActor, JournalArguments, JournalMessage},
    ports::store::{EventFact, Fact, StoreError},
    testkit::{fake_ports::CLOCK_START, memory_store::MemoryStore},
    time::TokioClock,
};
use ractor::{Actor, ActorRef};
use tokio::sync::broadcast;

struct Journal {
    store: Arc<MemoryStore>,
    actor: ActorRef<JournalMessage>,
    attempt: AttemptId,
    live: broadcast::Receiver<actors::journal::LiveFact>,
}

async fn journal() -> Journal {
    let store = Arc::new(MemoryStore::new(Arc::new(TokioClock::starting_at(CLOCK_START))));
    let sender = broadcast::Sender::new(16);
    let live = sender.subscribe();
    let arguments = JournalArguments {
        store: store.clone(),
        live: sender,
    };
    let (actor, _) = Actor::spawn(None, JournalActor, arguments).await.unwrap();
    Journal {
        store,
        actor,
        attempt: AttemptId::new(),
        live,
    }
}

impl Journal {
    fn record(&self, at_ms: i64) {
        let fact = Fact::Event(EventFact {
            name: "test".into(),
            at_ms,
            detail: "{}".into(),
        });
        let (attempt, campaign) = (self.attempt, CampaignId::new());
        let message = JournalMessage::Record {
            attempt,
            campaign,
            fact,
        };
        self.actor.cast(message).unwrap();
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
async fn facts_wait_for_a_store_that_is_away() {
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
