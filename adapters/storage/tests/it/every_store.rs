//! The store on SQLite: the suite every store must pass, and checks that need a database on disk.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{sync::Arc, time::Duration};

use domain::ports::{
    language_model::Speaker,
    store::{
        AttemptStore, CampaignStore, ConversationFilter, DirectoryStore, ErasureStore, Fact, NewContact, NodeStore,
        Patience, RecordStore, StoreError, TurnFact,
    },
};
use domain::transcript_search::Query;
use futures_util::future::join_all;
use sqlx::{Connection, SqliteConnection};
use storage::{PageLimits, SqlStore};
use tempfile::TempDir;
use testkit::store_conformance::{Fixture, ManualClock, new_account, note, number, say};

fn url(folder: &TempDir) -> String {
    format!("sqlite://{}", folder.path().join("ringback.db").display())
}

async fn on_disk() -> (Fixture, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new());
    let store = Arc::new(SqlStore::open(&url(&folder), clock.clone()).await.unwrap());
    (Fixture { store, clock }, folder)
}

mod conformance_on_disk {
    testkit::store_conformance!(super::on_disk, flavor = "multi_thread", worker_threads = 2);
}

async fn in_memory() -> (Fixture, ()) {
    let clock = Arc::new(ManualClock::new());
    let store = SqlStore::open("sqlite::memory:", clock.clone()).await.unwrap();
    // So small that the checks also reach the limits.
    let limits = PageLimits { few: 2, examined: 3 };
    let store = Arc::new(store.examining(limits));
    (Fixture { store, clock }, ())
}

mod conformance_in_memory {
    testkit::store_conformance!(super::in_memory);
}

#[tokio::test]
async fn a_second_process_is_refused_until_the_first_has_closed() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new());
    let first = SqlStore::open(&url(&folder), clock.clone()).await.unwrap();
    let second = SqlStore::open(&url(&folder), clock.clone()).await.err().unwrap();
    assert!(second.to_string().contains("in use by another process"), "{second}");
    assert!(second.to_string().contains("ringback.db.lock"), "{second}");
    first.ping().await.unwrap();
    first.close().await;
    assert!(matches!(first.ping().await, Err(StoreError::Unavailable(_))));
    SqlStore::open(&url(&folder), clock).await.unwrap();
}

#[tokio::test]
async fn a_permit_is_on_disk_when_it_is_answered() {
    let (fixture, folder) = on_disk().await;
    let clock = fixture.clock.clone();
    let scene = fixture.scene().await;
    let campaign = scene.running(0..3).await;
    let dialing = scene.dialing(campaign).await;
    let claimed = scene.claim_one(campaign).await;
    // Copy the files as they are now, like a crash would leave them.
    let crashed = tempfile::tempdir().unwrap();
    for name in ["ringback.db", "ringback.db-wal"] {
        std::fs::copy(folder.path().join(name), crashed.path().join(name)).unwrap();
    }
    let store = SqlStore::open(&url(&crashed), clock).await.unwrap();
    let heir = domain::id::NodeId::new();
    store.register_node(heir, None).await.unwrap();
    let orphaned = store.take_orphaned(heir, &Patience::default()).await.unwrap();
    let taken: Vec<_> = orphaned.iter().map(|orphaned| orphaned.claim.attempt).collect();
    assert_eq!(taken, [dialing.attempt]);
    let gone = store.conversation(scene.account, claimed.attempt).await;
    assert_eq!(gone, Err(StoreError::NotFound));
    assert_eq!(store.progress(campaign).await.unwrap().pending, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_share_a_commit_fail_alone() {
    let (fixture, _folder) = on_disk().await;
    // Every third e-mail address is taken already.
    let made = (0..60).map(|n| {
        let store = fixture.store.clone();
        async move {
            store
                .create_account(new_account(&format!("{}@example.com", n - n % 3 % 2)))
                .await
        }
    });
    let outcomes = join_all(made).await;
    let refused = outcomes
        .iter()
        .filter(|outcome| **outcome == Err(StoreError::Exists("email")));
    assert_eq!(refused.count(), 20);
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 40);
    for n in (0..60).filter(|n| n % 3 != 1) {
        let keys = fixture.store.api_keys(&format!("rb_{n}@example.com")).await.unwrap();
        assert_eq!(keys.len(), 1, "{n}");
    }
}

#[tokio::test]
async fn migrations_run_once() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let store = SqlStore::open(&url(&folder), Arc::new(ManualClock::new()))
            .await
            .unwrap();
        store.sweep_imports().await.unwrap();
        store.close().await;
    }
}

/// Counts the occurrences of a text in the files of a closed database.
fn found(folder: &TempDir, text: &str) -> usize {
    let files = std::fs::read_dir(folder.path()).unwrap();
    let bytes = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
    let counts = bytes.map(|bytes| bytes.windows(text.len()).filter(|at| *at == text.as_bytes()).count());
    counts.sum()
}

#[tokio::test]
async fn each_way_of_erasing_takes_words_out_of_every_file() {
    const CANARY: &str = "zwitscherkanarie";
    const OTHER: &str = "amsellied";
    for way in ["age", "contact", "conversation"] {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new());
        let sql = Arc::new(SqlStore::open(&url(&folder), clock.clone()).await.unwrap());
        let fixture = Fixture {
            store: sql.clone(),
            clock: clock.clone(),
        };
        let scene = fixture.scene().await;
        let contact = scene.saved(0).await.id;
        let campaign = scene.running(0..200).await;
        let mut calls = Vec::new();
        for n in 0..200 {
            let call = scene.completed(campaign, 20).await.attempt;
            let text = match n {
                0 => format!("I said {CANARY}, and again {CANARY}s"),
                _ => format!("I said {OTHER} and number {n}"),
            };
            say(&scene, call, 0, &text).await;
            calls.push(call);
        }
        note(&scene).await;
        sql.close().await;
        // In the turn and in the index, which stores shared prefixes once.
        assert!(found(&folder, CANARY) >= 3, "{way}");

        let sql = SqlStore::open(&url(&folder), clock.clone()).await.unwrap();
        match way {
            "age" => {
                let first = sql.conversation(scene.account, calls[0]).await.unwrap();
                let after = first.ended_at.unwrap().plus(Duration::from_millis(1));
                assert_eq!(sql.erase_words(after, 9).await, Ok(1));
            }
            "contact" => drop(sql.erase_contact(scene.account, contact).await.unwrap()),
            _ => sql.delete_conversation(scene.account, calls[0]).await.unwrap(),
        }
        sql.close().await;
        // The index also contains prefixes of words.
        assert_eq!(found(&folder, &CANARY[..8]), 0, "{way}");
        assert!(found(&folder, OTHER) >= 199, "{way}");
        let sql = SqlStore::open(&url(&folder), clock.clone()).await.unwrap();
        let filter = ConversationFilter {
            search: Some(Query::parse(OTHER).unwrap()),
            ..ConversationFilter::default()
        };
        assert_eq!(
            sql.conversations(scene.account, filter, 999).await.unwrap().len(),
            199,
            "{way}"
        );
        sql.close().await;
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_read_keeps_no_other_from_being_found() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new());
    let sql = Arc::new(SqlStore::open(&url(&folder), clock.clone()).await.unwrap());
    let fixture = Fixture {
        store: sql.clone(),
        clock,
    };
    let scene = fixture.scene().await;
    let campaign = scene.running(0..3).await;
    let mut calls = Vec::new();
    for _ in 0..3 {
        let call = scene.completed(campaign, 20).await.attempt;
        say(&scene, call, 0, "an orchid").await;
        calls.push(call);
    }
    let mut file = SqliteConnection::connect(&url(&folder)).await.unwrap();
    let damage = sqlx::query("UPDATE attempts SET collected = '{' WHERE id = $1");
    damage.bind(calls[1].to_string()).execute(&mut file).await.unwrap();
    note(&scene).await;
    let filter = ConversationFilter {
        search: Some(Query::parse("orchid").unwrap()),
        ..ConversationFilter::default()
    };
    let found = sql.conversations(scene.account, filter, 9).await.unwrap();
    let found: Vec<_> = found.iter().map(|row| row.id).collect();
    assert_eq!(found, [calls[2], calls[0]]);
}

#[tokio::test]
async fn what_was_erased_is_in_no_file_of_a_closed_database() {
    const SAID: &str = "my grandmother was Ottilie Quarz";
    const NAMED: &str = "Xaver Zwetschge";
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new());
    let sql = Arc::new(SqlStore::open(&url(&folder), clock.clone()).await.unwrap());
    let fixture = Fixture {
        store: sql.clone(),
        clock: clock.clone(),
    };
    let scene = fixture.scene().await;
    let new = NewContact {
        phone_number: number(0),
        name: Some(NAMED.to_owned()),
        email: None,
        extra: serde_json::Map::new(),
    };
    let contact = sql.create_contact(scene.account, new, None).await.unwrap().id;
    let campaign = scene.running(0..2).await;
    let call = scene.completed(campaign, 20).await;
    // So many that they fill pages of their own.
    let turns = (0..500).map(|seq| {
        let turn = TurnFact {
            seq,
            speaker: Speaker::User,
            text: format!("{SAID}, {seq}"),
            started_ms: 0,
            ended_ms: 1,
            interrupted: false,
            damaged: false,
            detail: Default::default(),
        };
        (call.attempt, Fact::Turn(turn))
    });
    sql.append_facts(&turns.collect::<Vec<_>>()).await.unwrap();
    clock.advance(Duration::from_secs(60));
    sql.close().await;
    assert!(found(&folder, SAID) >= 500 && found(&folder, NAMED) > 0);

    let sql = SqlStore::open(&url(&folder), clock.clone()).await.unwrap();
    sql.erase_contact(scene.account, contact).await.unwrap();
    sql.close().await;
    assert_eq!((found(&folder, SAID), found(&folder, NAMED)), (0, 0));
}
