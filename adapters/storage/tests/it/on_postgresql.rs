//! The store on PostgreSQL: the suite every store must pass, dead nodes, and lost connections.

use std::{sync::Arc, time::Duration};

use domain::{
    deliveries::endpoint_lane,
    id::{DeliveryId, NodeId},
    node_times::Times,
    ports::{
        carrier::CarrierCallId,
        store::{
            ConversationStatus, NewContact, NodeStore, Outcome, Patience, Store, StoreError, TypePattern,
            WebhookEndpoint,
        },
    },
    time::{Clock, SystemClock},
};
use futures_util::future::join_all;
use sqlx::{AnyConnection, AssertSqlSafe, Connection, Executor, Row};
use storage::{OpenError, PageLimits, SqlStore};
use testkit::store_conformance::{Fixture, ManualClock, contact, number, outcome};

use crate::postgres::{Database, database, execute};
use crate::{counting, model};

/// Opens a store on an empty database; a server must be available.
async fn on_postgres() -> (Fixture, Database) {
    let database = database().await.unwrap();
    let clock = Arc::new(ManualClock::new());
    let store = SqlStore::open(&database.url, clock.clone()).await.unwrap();
    // So small that the checks also reach the limits.
    let limits = PageLimits { few: 2, examined: 3 };
    let store = Arc::new(store.examining(limits));
    (Fixture { store, clock }, database)
}

mod conformance {
    testkit::store_conformance!(super::on_postgres, in_turn);
}

// These are few tests with much in each, because a test runner may run each test in a process, and each
// process starts a server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_passes_every_check_of_the_suite() {
    if database().await.is_none() {
        return;
    }
    conformance::every_check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_buries_the_silent_and_survives_lost_connections() {
    if database().await.is_none() {
        return;
    }
    what_it_has_no_place_for_is_refused_for_good().await;
    a_database_of_a_newer_version_is_refused_with_the_way_out().await;
    what_ended_before_the_update_is_counted_once().await;
    silence_is_death().await;
    who_was_silent_buries_nobody().await;
    nodes_of_other_times_are_refused_beside_living_ones().await;
    nothing_is_lost_or_done_twice_when_connections_break().await;
    two_services_start_at_once().await;
    tokio::task::spawn_blocking(model::postgresql_and_memory_agree)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_publishes_events_beside_erasures_and_other_nodes() {
    if database().await.is_none() {
        return;
    }
    an_event_erased_while_it_is_published_gives_no_place_twice().await;
    an_erased_event_leaves_no_delivery_behind().await;
    a_publisher_waits_for_no_other_and_leaves_unknown_events().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgresql_the_work_of_one_account_refuses_no_other_one() {
    if database().await.is_none() {
        return;
    }
    a_write_that_runs_for_long_is_no_overload().await;
    as_many_contacts_as_a_request_may_have_are_added().await;
}

async fn a_write_that_runs_for_long_is_no_overload() {
    let database = database().await.unwrap();
    let clock = Arc::new(ManualClock::new());
    let store = Arc::new(SqlStore::open(&database.url, clock.clone()).await.unwrap());
    let seen: Arc<dyn Store> = store.clone();
    let scene = Fixture { store: seen, clock }.scene().await;
    let lock = format!(
        "SELECT pg_advisory_xact_lock(hashtextextended('do-not-call:{}', 0))",
        scene.account
    );
    let held = holding(&database, &lock).await;
    let listed = number(1);
    let adding = scene.store.add_do_not_call(scene.account, &listed);
    let looking = async {
        let mut conn = AnyConnection::connect(&database.url).await.unwrap();
        loop {
            let waiting = conn.fetch_one("SELECT COUNT(*) FROM pg_locks WHERE NOT granted").await;
            if waiting.unwrap().get::<i64, _>(0) > 0 {
                break;
            }
        }
        assert_eq!(store.lag(), Duration::ZERO);
        commit_when_awaited(held).await;
    };
    let (added, ()) = tokio::join!(adding, looking);
    added.unwrap();
}

/// A campaign and a file of 100,000 rows each, with a number in common, as rows without statistics.
async fn as_many_contacts_as_a_request_may_have_are_added() {
    const ROWS: usize = 100_000;
    let (fixture, _database) = on_postgres().await;
    let scene = fixture.scene().await;
    let campaign = scene.running(0..ROWS).await;
    let staged: Vec<usize> = (ROWS - 1..2 * ROWS - 1).collect();
    let import = scene.staged(&staged).await;
    let added = scene.store.add_contacts(campaign, import, None).await.unwrap();
    assert_eq!((added.added, added.already_present), (ROWS as i64 - 1, 1));
    assert_eq!(added.already_present_rows, [1]);
    assert_eq!(added.contact_count, 2 * ROWS as i64 - 1);
    let last = scene
        .store
        .campaign_contacts(campaign, added.contact_count - 1, 9)
        .await
        .unwrap();
    assert_eq!(last, [contact(2 * ROWS - 2)]);
}

/// Returns a connection in a transaction that has run a statement.
async fn holding(database: &Database, sql: &str) -> AnyConnection {
    let mut conn = AnyConnection::connect(&database.url).await.unwrap();
    for sql in ["BEGIN", sql] {
        conn.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
    }
    conn
}

/// Ends the transaction once somebody waits for it.
async fn commit_when_awaited(mut conn: AnyConnection) {
    loop {
        let waiting = conn.fetch_one("SELECT COUNT(*) FROM pg_locks WHERE NOT granted").await;
        if waiting.unwrap().get::<i64, _>(0) > 0 {
            break;
        }
        tokio::task::yield_now().await;
    }
    conn.execute("COMMIT").await.unwrap();
}

async fn an_event_erased_while_it_is_published_gives_no_place_twice() {
    let (fixture, database) = on_postgres().await;
    let scene = fixture.scene().await;
    let store = scene.store.clone();
    for n in 0..3 {
        store.add_do_not_call(scene.account, &number(n)).await.unwrap();
    }
    let oldest = "DELETE FROM account_events WHERE id = (SELECT MIN(id) FROM account_events)";
    let erasing = holding(&database, oldest).await;
    let (published, ()) = tokio::join!(store.publish_events(10), commit_when_awaited(erasing));
    assert_eq!(published, Ok(2));
    store.add_do_not_call(scene.account, &number(3)).await.unwrap();
    assert_eq!(store.publish_events(10).await, Ok(1));
    let events = store.events_after(scene.account, 0, 10).await.unwrap();
    let places: Vec<_> = events.iter().map(|event| event.place).collect();
    assert!(places.len() == 3 && places.is_sorted_by(|a, b| a < b), "{places:?}");
}

async fn an_erased_event_leaves_no_delivery_behind() {
    let (fixture, database) = on_postgres().await;
    let scene = fixture.scene().await;
    let store = scene.store.clone();
    let endpoint = WebhookEndpoint {
        url: "https://example.com/events".to_owned(),
        description: String::new(),
        types: vec![TypePattern::parse("call.ended").unwrap()],
        enabled: true,
    };
    let made = store.create_webhook(scene.account, endpoint, "whsec_b25l".to_owned(), None);
    let webhook = made.await.unwrap().unwrap().id;
    let campaign = scene.running(0..1).await;
    let call = scene.completed(campaign, 1).await.attempt;
    scene.clock.advance(Duration::from_secs(60));
    // Another node has published the event and not committed yet.
    let publish = format!(
        "WITH e AS (UPDATE account_events SET place = 1 WHERE type = 'call.ended' RETURNING id, account, type) \
         INSERT INTO webhook_deliveries (id, account, endpoint, event, type, lane, state, failed, due_at, lease, created_at) \
         SELECT '{}', e.account, '{webhook}', e.id, e.type, '{}', 'pending', 0, 0, 0, 0 FROM e",
        DeliveryId::new(),
        endpoint_lane(scene.account, webhook),
    );
    let publishing = holding(&database, &publish).await;
    let erase = store.delete_conversation(scene.account, call);
    let (erased, ()) = tokio::join!(erase, commit_when_awaited(publishing));
    erased.unwrap();
    assert_eq!(store.webhook_deliveries(webhook, None, 10).await, Ok(vec![]));
    // A delivery without its event, left by an earlier version, is not sent as a test, and is forgotten with age.
    let test = store.test_webhook(scene.account, webhook).await.unwrap().id;
    assert!(store.webhook_message(test).await.is_ok());
    execute(&database.url, "UPDATE webhook_deliveries SET event = 'erased'").await;
    assert_eq!(store.webhook_message(test).await.err(), Some(StoreError::NotFound));
    scene.clock.advance(Duration::from_secs(1));
    let now = scene.clock.now();
    while store.forget_events(now, 100).await.unwrap() > 0 {}
    assert_eq!(store.webhook_deliveries(webhook, None, 10).await, Ok(vec![]));
}

async fn a_publisher_waits_for_no_other_and_leaves_unknown_events() {
    let (fixture, database) = on_postgres().await;
    let scene = fixture.scene().await;
    let store = scene.store.clone();
    store.add_do_not_call(scene.account, &number(0)).await.unwrap();
    let mut other = holding(&database, "UPDATE account_event_places SET last = last").await;
    assert_eq!(store.publish_events(10).await, Ok(0));
    other.execute("COMMIT").await.unwrap();
    execute(&database.url, "UPDATE account_events SET type = 'call.dreamt'").await;
    store.add_do_not_call(scene.account, &number(1)).await.unwrap();
    assert_eq!(store.publish_events(10).await, Ok(1));
    // A newer node publishes it.
    execute(&database.url, "UPDATE account_events SET place = 9 WHERE place IS NULL").await;
    assert_eq!(store.events_after(scene.account, 0, 10).await.unwrap().len(), 1);
}

async fn what_ended_before_the_update_is_counted_once() {
    let (fixture, database) = on_postgres().await;
    let run = async |statement: &'static str| execute(&database.url, statement).await;
    counting::calls_of_the_past_are_counted_once_and_resumably(fixture, run).await;
}

/// A rejected value must differ from an outage, so that the writer of an outcome does not retry forever.
async fn a_database_of_a_newer_version_is_refused_with_the_way_out() {
    let (fixture, database) = on_postgres().await;
    let newer = "INSERT INTO _sqlx_migrations SELECT 99, description, installed_on, success, checksum, execution_time \
                 FROM _sqlx_migrations WHERE version = 1";
    execute(&database.url, newer).await;
    let refused = SqlStore::open(&database.url, fixture.clock.clone()).await.err();
    let Some(OpenError::Refused(error)) = refused else {
        panic!("{refused:?}")
    };
    assert!(error.to_string().contains("has migration 99"), "{error}");
}

async fn what_it_has_no_place_for_is_refused_for_good() {
    let (fixture, _database) = on_postgres().await;
    let scene = fixture.scene().await;
    let campaign = scene.running(0..1).await;
    let claim = scene.dialing(campaign).await;
    let odd = Outcome {
        error: Some("no\0credit".to_owned()),
        ..outcome(ConversationStatus::Failed)
    };
    let refused = scene.store.finish(claim, odd.clone(), None).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    let long = CarrierCallId(
        (0..900_000)
            .map(|at: u32| char::from(b'!' + (at.wrapping_mul(2_654_435_761) >> 26) as u8))
            .collect(),
    );
    let refused = scene.store.dialed(claim, &long).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    scene.store.finish(claim, odd.cleaned(), None).await.unwrap();
}

/// Sends `times` signs of life, one every 3 s.
async fn live(fixture: &Fixture, nodes: &[NodeId], times: usize) {
    for _ in 0..times {
        fixture.clock.advance(Duration::from_secs(3));
        for node in nodes {
            fixture.store.heartbeat(*node).await.unwrap();
        }
    }
}

async fn silence_is_death() {
    let (fixture, _database) = on_postgres().await;
    let store = fixture.store.clone();
    let (old, new) = (NodeId::new(), NodeId::new());
    store.register_node(old, None).await.unwrap();
    store.register_node(new, None).await.unwrap();
    live(&fixture, &[old, new], 10).await;
    assert_eq!(store.take_orphaned(new, &Patience::default()).await, Ok(vec![]));
    store.heartbeat(old).await.unwrap();
    live(&fixture, &[new], 4).await;
    assert_eq!(store.take_orphaned(new, &Patience::default()).await, Ok(vec![]));
    // After 12 s of silence a node is alive, after 15 s it is dead.
    store.heartbeat(old).await.unwrap();
    live(&fixture, &[new], 5).await;
    assert_eq!(store.take_orphaned(new, &Patience::default()).await, Ok(vec![]));
    assert_eq!(store.heartbeat(old).await, Err(StoreError::Fenced));
    assert_eq!(
        store.take_orphaned(old, &Patience::default()).await,
        Err(StoreError::Fenced)
    );
}

async fn who_was_silent_buries_nobody() {
    let (fixture, _database) = on_postgres().await;
    let store = fixture.store.clone();
    let (one, two) = (NodeId::new(), NodeId::new());
    for node in [one, two] {
        store.register_node(node, None).await.unwrap();
    }
    live(&fixture, &[one, two], 6).await;
    // The database is unavailable for a minute: when it is back, every node was silent.
    fixture.clock.advance(Duration::from_secs(60));
    store.heartbeat(one).await.unwrap();
    store.take_orphaned(one, &Patience::default()).await.unwrap();
    store.heartbeat(two).await.unwrap();
    live(&fixture, &[one], 5).await;
    store.take_orphaned(one, &Patience::default()).await.unwrap();
    assert_eq!(store.heartbeat(two).await, Err(StoreError::Fenced));
}

async fn nodes_of_other_times_are_refused_beside_living_ones() {
    let (_fixture, database) = on_postgres().await;
    let hasty = Times {
        heartbeat: Duration::from_millis(100),
        dead_after: Duration::from_millis(1_500),
        send_within: Duration::from_millis(500),
        ..Times::default()
    };
    let open = async |times| {
        let store = SqlStore::open(&database.url, Arc::new(SystemClock)).await.unwrap();
        store.of_nodes(times)
    };
    let (usual, other) = (open(Times::default()).await, open(hasty).await);
    let [one, two, three, four] = [(); 4].map(|()| NodeId::new());
    usual.register_node(one, None).await.unwrap();
    let refused = other.register_node(two, None).await;
    let Err(StoreError::OtherTimes(why)) = refused else {
        panic!("{refused:?}");
    };
    for words in [
        "RINGBACK_HEARTBEAT_MS is 100, but 3000",
        "RINGBACK_DEAD_AFTER_MS is 1500, but 15000",
        "RINGBACK_SEND_WITHIN_MS is 500, but 5000",
        "stop all nodes first",
    ] {
        assert!(why.contains(words), "{why}");
    }
    assert!(!why.contains("SETTLE"), "{why}");
    // The refused node left nothing behind. A node with the same times may register, even twice.
    usual.register_node(three, None).await.unwrap();
    usual.register_node(three, None).await.unwrap();
    assert_eq!(usual.live_nodes().await.unwrap().len(), 2);
    // By the others' times one node is silent, though not by its own; one has gone.
    usual.sign_off(three).await.unwrap();
    execute(&database.url, "UPDATE nodes SET seen_at = seen_at - 14000000").await;
    let refused = other.register_node(two, None).await;
    assert!(matches!(refused, Err(StoreError::OtherTimes(_))), "{refused:?}");
    execute(&database.url, "UPDATE nodes SET seen_at = seen_at - 2000000").await;
    other.register_node(two, None).await.unwrap();
    // From now on the new times apply, also to a node that comes back.
    assert_eq!(usual.heartbeat(one).await, Err(StoreError::Fenced));
    let refused = usual.register_node(four, None).await;
    let Err(StoreError::OtherTimes(why)) = refused else {
        panic!("{refused:?}");
    };
    assert!(why.contains("RINGBACK_HEARTBEAT_MS is 3000, but 100"), "{why}");
}

async fn nothing_is_lost_or_done_twice_when_connections_break() {
    let (fixture, database) = on_postgres().await;
    let scene = fixture.scene().await;
    let callers = (0..8_usize).map(|caller| {
        let scene = scene.clone();
        tokio::spawn(async move {
            let mut saved = Vec::new();
            for n in 0..25 {
                let number = number(caller * 100 + n);
                let new = NewContact {
                    phone_number: number.clone(),
                    name: None,
                    email: None,
                    extra: Default::default(),
                };
                match scene.store.create_contact(scene.account, new, None).await {
                    Ok(row) => saved.push(row),
                    // The error came before anything was done.
                    Err(StoreError::Unavailable(_)) => {}
                    Err(other) => panic!("made twice: {other}"),
                }
            }
            saved
        })
    });
    let callers: Vec<_> = callers.collect();
    let break_all = "SELECT CAST(COUNT(pg_terminate_backend(pid)) AS BIGINT) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()";
    while !callers.iter().all(tokio::task::JoinHandle::is_finished) {
        execute(&database.url, break_all).await;
    }
    let saved = join_all(callers).await.into_iter().flat_map(Result::unwrap);
    let mut count = 0;
    for row in saved {
        assert_eq!(scene.store.contact(scene.account, row.id).await, Ok(row));
        count += 1;
    }
    assert!(count > 100, "{count}");
}

async fn two_services_start_at_once() {
    let database = database().await.unwrap();
    let open = || SqlStore::open(&database.url, Arc::new(ManualClock::new()));
    let (one, two) = tokio::join!(open(), open());
    for store in [one.unwrap(), two.unwrap()] {
        store.close().await;
    }
}

#[tokio::test]
async fn why_a_database_cannot_be_opened_is_said_without_its_password() {
    let opened = async |url: &str| {
        let opened = SqlStore::open(url, Arc::new(ManualClock::new())).await;
        opened.err().unwrap()
    };
    let open = async |url: &str| match opened(url).await {
        OpenError::Refused(error) => error.to_string(),
        error @ OpenError::Unreachable(_) => panic!("{error}"),
    };
    let reason = async |url: &str| match opened(url).await {
        OpenError::Unreachable(error) => error.to_string(),
        error @ OpenError::Refused(_) => panic!("{error}"),
    };
    let unavailable = reason("postgres://ada:hidden@127.0.0.1:1/ringback").await;
    assert!(unavailable.contains("is it running"), "{unavailable}");
    let unknown = open("postgres://ada:hidden@127.0.0.1:1/ringback?sslmod=require").await;
    assert!(unknown.contains("no parameter `sslmod`"), "{unknown}");
    assert!(
        !unavailable.contains("hidden") && !unknown.contains("hidden"),
        "{unavailable} {unknown}"
    );
    let Some(database) = database().await else { return };
    let mut url = reqwest::Url::parse(&database.url).unwrap();
    let name = url.path().trim_start_matches('/').to_owned();
    url.set_path("no_such_database");
    let missing = open(url.as_str()).await;
    assert!(
        missing.contains("no_such_database") && missing.contains("createdb"),
        "{missing}"
    );
    url.set_path(&name);
    url.set_password(Some("wrong")).unwrap();
    let wrong = open(url.as_str()).await;
    // A server with trust authentication accepts any password.
    assert!(wrong.contains("check user, password"), "{wrong}");
    assert!(!wrong.contains("wrong@"), "{wrong}");
    let user = format!("{name}_user");
    execute(
        &database.url,
        &format!("CREATE ROLE {user} LOGIN PASSWORD 'hidden' CONNECTION LIMIT 0"),
    )
    .await;
    url.set_username(&user).unwrap();
    url.set_password(Some("hidden")).unwrap();
    let full = reason(url.as_str()).await;
    execute(&database.url, &format!("DROP ROLE {user}")).await;
    assert!(full.contains("raise the server's max_connections"), "{full}");
}
