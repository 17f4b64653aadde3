//! Idempotency keys: one holder at a time, settled with the result, free again after a failure, a death or a day.

use std::time::Duration;

use futures_util::future::join_all;

use super::{Fixture, Scene, document, new_account, number};
use domain::{
    id::AccountId,
    ports::store::{
        CREATED, DocumentKind, KeyTicket, KnowledgeFilter, NewContact, NewDocument, Reservation, StoreError,
    },
};

const LEASE: Duration = Duration::from_secs(30);
const DAY: Duration = Duration::from_secs(24 * 3_600);

fn new_contact(n: usize) -> NewContact {
    NewContact {
        phone_number: number(n),
        name: None,
        email: None,
        extra: Default::default(),
    }
}

impl Scene {
    async fn reserve(&self, key: &str) -> Reservation {
        self.store
            .reserve_key(self.account, key, "contacts", "h")
            .await
            .unwrap()
    }

    async fn fresh(&self, key: &str) -> KeyTicket {
        match self.reserve(key).await {
            Reservation::Fresh(ticket) => ticket,
            other => panic!("{key}: {other:?}"),
        }
    }
}

fn replay(resource: &impl ToString) -> Reservation {
    Reservation::Replay {
        status: CREATED,
        resource: resource.to_string(),
    }
}

pub async fn a_settled_key_answers_what_was_made(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let ticket = scene.fresh("contact").await;
    assert_eq!((ticket.account, ticket.key.as_str()), (account, "contact"));
    let contact = store
        .create_contact(account, new_contact(1), Some(&ticket))
        .await
        .unwrap();
    assert_eq!(scene.reserve("contact").await, replay(&contact.id));
    let ticket = scene.fresh("agent").await;
    let agent = store
        .create_agent(account, document("Ann"), Some(&ticket))
        .await
        .unwrap();
    assert_eq!(scene.reserve("agent").await, replay(&agent.id));
    let ticket = scene.fresh("document").await;
    let text = NewDocument {
        kind: DocumentKind::Text,
        name: "D".to_owned(),
        url: None,
        text: "words".to_owned(),
    };
    let made = store
        .create_document(account, text.clone(), Some(&ticket))
        .await
        .unwrap();
    assert_eq!(scene.reserve("document").await, replay(&made.id));
    let refused = store.create_document(account, text, Some(&ticket)).await;
    assert_eq!(refused, Err(StoreError::Fenced));
    let ticket = scene.fresh("group").await;
    let group = store.create_group(account, "G".to_owned(), vec![made.id], Some(&ticket));
    let group = group.await.unwrap();
    assert_eq!(scene.reserve("group").await, replay(&group.id));
    let refused = store
        .create_group(account, "H".to_owned(), Vec::new(), Some(&ticket))
        .await;
    assert_eq!(refused, Err(StoreError::Fenced));
    let all = KnowledgeFilter::default();
    assert_eq!(store.documents(account, all.clone(), 9).await.unwrap().len(), 1);
    assert_eq!(store.groups(account, all, 9).await.unwrap().len(), 1);
    let ticket = scene.fresh("campaign").await;
    let import = store.begin_import(account, scene.new_campaign("C")).await.unwrap();
    let campaign = store.finish_import(import, Some(&ticket)).await.unwrap();
    assert_eq!(scene.reserve("campaign").await, replay(&campaign.id));
    // A deletion leaves the key settled.
    store.delete_contact(account, contact.id).await.unwrap();
    assert_eq!(scene.reserve("contact").await, replay(&contact.id));
}

pub async fn a_key_belongs_to_one_request_of_one_account(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let ticket = scene.fresh("k").await;
    assert_eq!(scene.reserve("k").await, Reservation::InProgress);
    for settled in [false, true] {
        if settled {
            store
                .create_contact(account, new_contact(1), Some(&ticket))
                .await
                .unwrap();
        }
        for (operation, hash) in [("contacts", "other"), ("agents", "h")] {
            let other = store.reserve_key(account, "k", operation, hash).await;
            assert_eq!(other, Ok(Reservation::OtherRequest), "{operation} {hash}");
        }
    }
    let bob = new_account("bob@example.com");
    store.create_account(bob.clone()).await.unwrap();
    let his = store.reserve_key(bob.account.id, "k", "contacts", "h").await.unwrap();
    assert!(matches!(his, Reservation::Fresh(_)), "{his:?}");
    let nobody = store.reserve_key(AccountId::new(), "k", "contacts", "h").await;
    assert_eq!(nobody, Err(StoreError::NotFound));
}

pub async fn a_failure_frees_its_key_and_a_success_keeps_it(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    store.create_contact(account, new_contact(1), None).await.unwrap();
    let failed = scene.fresh("k").await;
    let taken = store.create_contact(account, new_contact(1), Some(&failed)).await;
    assert_eq!(taken, Err(StoreError::Exists("phoneNumber")));
    // Nothing of the failure was kept: the key is still reserved.
    assert_eq!(scene.reserve("k").await, Reservation::InProgress);
    store.release_key(&failed).await.unwrap();
    let ticket = scene.fresh("k").await;
    assert_ne!(ticket.lease, failed.lease);
    // The first holder is fenced.
    store.release_key(&failed).await.unwrap();
    assert_eq!(store.renew_key(&failed).await, Err(StoreError::Fenced));
    let late = store.create_contact(account, new_contact(2), Some(&failed)).await;
    assert_eq!(late, Err(StoreError::Fenced));
    let made = store
        .create_contact(account, new_contact(2), Some(&ticket))
        .await
        .unwrap();
    store.release_key(&ticket).await.unwrap();
    assert_eq!(scene.reserve("k").await, replay(&made.id));
    let twice = store.create_contact(account, new_contact(3), Some(&ticket)).await;
    assert_eq!(twice, Err(StoreError::Fenced));
    assert_eq!(store.renew_key(&ticket).await, Err(StoreError::Fenced));
}

pub async fn a_key_whose_request_died_is_free_after_its_lease(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let died = scene.fresh("k").await;
    scene.clock.advance(LEASE - Duration::from_secs(1));
    assert_eq!(scene.reserve("k").await, Reservation::InProgress);
    // A renewal extends the whole lease.
    store.renew_key(&died).await.unwrap();
    scene.clock.advance(LEASE - Duration::from_secs(1));
    assert_eq!(scene.reserve("k").await, Reservation::InProgress);
    scene.clock.advance(Duration::from_secs(1));
    // The key was never used up: another request may have it, too.
    let other = store.reserve_key(account, "k", "agents", "other").await.unwrap();
    let Reservation::Fresh(heir) = other else {
        panic!("{other:?}")
    };
    let agent = store.create_agent(account, document("Late"), Some(&died)).await;
    assert_eq!(agent, Err(StoreError::Fenced));
    store.create_agent(account, document("Ann"), Some(&heir)).await.unwrap();
}

pub async fn a_settled_key_is_kept_for_a_day(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let ticket = scene.fresh("k").await;
    let made = store
        .create_contact(account, new_contact(1), Some(&ticket))
        .await
        .unwrap();
    // Expired keys are removed on the way. There are more of them than one reservation removes.
    for n in 0..20 {
        scene.fresh(&format!("dead {n}")).await;
    }
    scene.clock.advance(DAY - Duration::from_secs(1));
    assert_eq!(scene.reserve("k").await, replay(&made.id));
    scene.clock.advance(Duration::from_secs(1));
    let ticket = scene.fresh("k").await;
    let made = store
        .create_contact(account, new_contact(2), Some(&ticket))
        .await
        .unwrap();
    assert_eq!(scene.reserve("k").await, replay(&made.id));
    for n in 0..20 {
        scene.fresh(&format!("dead {n}")).await;
    }
}

pub async fn a_key_is_reserved_once_at_a_time(fixture: Fixture) {
    let scene = fixture.scene().await;
    let reserved = join_all((0..50).map(|_| scene.reserve("k"))).await;
    let fresh = reserved.iter().filter(|one| matches!(one, Reservation::Fresh(_)));
    assert_eq!(fresh.count(), 1);
    let waiting = reserved.iter().filter(|one| **one == Reservation::InProgress);
    assert_eq!(waiting.count(), 49);
}
