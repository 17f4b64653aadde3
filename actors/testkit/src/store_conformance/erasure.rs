//! Erasure: nothing of the person is left, and nobody else loses anything.

use std::time::Duration;

use serde_json::json;

use super::{Fixture, Scene, contact, number};
use domain::{
    id::{AccountId, AttemptId, ContactId},
    phone_number::PhoneNumber,
    ports::{
        language_model::Speaker,
        store::{ContactCalls, EventFact, EventRow, FACTS_FOLLOW_MS, Fact, NewContact, Permit, StoreError, TurnFact},
        usage::USAGE,
    },
    time::{Clock, Timestamp},
};

async fn saved(scene: &Scene, n: usize) -> ContactId {
    let new = NewContact {
        phone_number: number(n),
        name: Some("Ada".to_owned()),
        email: None,
        extra: json!({ "city": "Bonn" }).as_object().cloned().unwrap(),
    };
    scene.store.create_contact(scene.account, new, None).await.unwrap().id
}

fn turn() -> Fact {
    Fact::Turn(TurnFact {
        seq: 0,
        speaker: Speaker::User,
        text: "I am Ada.".to_owned(),
        started_ms: 0,
        ended_ms: 1,
        interrupted: false,
        damaged: false,
        detail: Default::default(),
    })
}

/// Events of a call: one that tells of the person, and the usage, which does not.
fn events() -> [Fact; 2] {
    [("tool", r#"{"arguments":{"name":"Ada"}}"#), (USAGE, "{}")].map(|(name, detail)| {
        let (name, detail) = (name.to_owned(), detail.to_owned());
        Fact::Event(EventFact { name, at_ms: 1, detail })
    })
}

async fn events_left(scene: &Scene, call: AttemptId) -> Vec<String> {
    let rows = scene.store.events_of(call, &["tool", USAGE], None, 10).await.unwrap();
    rows.into_iter().map(|EventRow { event, .. }| event.name).collect()
}

pub async fn an_erased_person_leaves_anonymous_rows(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let (ada, bob) = (saved(&scene, 0).await, saved(&scene, 1).await);
    let campaign = scene.running(0..2).await;
    let (first, second) = (scene.completed(campaign, 20).await, scene.completed(campaign, 20).await);
    let other = scene.draft("Other", 0..2).await;
    store
        .append_facts(&[(first.attempt, turn()), (second.attempt, turn())])
        .await
        .unwrap();
    for call in [first.attempt, second.attempt] {
        let facts = events().map(|event| (call, event));
        store.append_facts(&facts).await.unwrap();
    }
    assert_eq!(
        store.calls_of_contact(account, ada).await,
        Ok(ContactCalls::Over(vec![first.attempt]))
    );
    let nobody = store.erase_contact(AccountId::new(), ada).await;
    assert_eq!(nobody, Err(StoreError::NotFound));
    let kept = store.conversation(account, second.attempt).await.unwrap();

    store.erase_contact(account, ada).await.unwrap();
    assert_eq!(store.contact(account, ada).await, Err(StoreError::NotFound));
    assert_eq!(store.erase_contact(account, ada).await, Err(StoreError::NotFound));
    let row = store.conversation(account, first.attempt).await.unwrap();
    assert_eq!(row.contact_number, PhoneNumber::erased());
    assert!(row.collected.is_empty() && row.analysis.is_none());
    assert!(store.turns(first.attempt).await.unwrap().is_empty());
    assert_eq!(events_left(&scene, first.attempt).await, [USAGE]);
    assert_eq!(events_left(&scene, second.attempt).await, ["tool", USAGE]);
    for id in [campaign, other.id] {
        let contacts = store.campaign_contacts(id, 0, 10).await.unwrap();
        let gone = &contacts[0];
        assert_eq!(gone.phone_number, PhoneNumber::erased());
        assert!(gone.name.is_none() && gone.email.is_none() && gone.extra.is_empty());
        assert_eq!(
            (&contacts[1].phone_number, &contacts[1].name),
            (&number(1), &contact(1).name)
        );
    }
    // Its turn came after its outcome.
    scene
        .clock
        .advance(Duration::from_millis(FACTS_FOLLOW_MS.unsigned_abs()));
    let jobs = store.due_analyses(10).await.unwrap();
    assert_eq!(jobs.iter().map(|job| job.attempt).collect::<Vec<_>>(), [second.attempt]);
    assert_eq!(store.conversation(account, second.attempt).await, Ok(kept));
    assert_eq!(store.turns(second.attempt).await.unwrap().len(), 1);
    store.contact(account, bob).await.unwrap();
    assert_eq!(store.progress(campaign).await.unwrap().completed, 2);
}

pub async fn nothing_is_erased_while_a_call_goes_on(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let ada = saved(&scene, 0).await;
    let campaign = scene.running(0..1).await;
    scene.completed(campaign, 20).await;
    // The last words may still be on their way to the disk.
    assert_eq!(store.calls_of_contact(account, ada).await, Ok(ContactCalls::Going));
    assert_eq!(store.erase_contact(account, ada).await, Ok(ContactCalls::Going));
    scene.clock.advance(Duration::from_secs(10));
    let again = scene.running(0..1).await;
    let claim = scene.dialing(again).await;
    assert_eq!(store.erase_contact(account, ada).await, Ok(ContactCalls::Going));
    store.contact(account, ada).await.unwrap();
    store.not_sent(claim, 0, None).await.unwrap();
    store.erase_contact(account, ada).await.unwrap();
    assert_eq!(store.contact(account, ada).await, Err(StoreError::NotFound));
}

pub async fn an_erased_place_in_a_campaign_is_never_dialed(fixture: Fixture) {
    let scene = fixture.scene().await;
    let ada = saved(&scene, 0).await;
    let campaign = scene.running(0..2).await;
    scene.store.erase_contact(scene.account, ada).await.unwrap();
    let claims = scene.claim(campaign, 10).await;
    assert_eq!(claims.len(), 2);
    assert_eq!(scene.permit(claims[0].claim).await, Ok(Permit::DoNotCall));
    let other = scene.permit(claims[1].claim).await.unwrap();
    assert!(matches!(other, Permit::Granted { .. }), "{other:?}");
    assert_eq!(scene.store.progress(campaign).await.unwrap().cancelled, 1);
}

pub async fn words_of_old_calls_are_erased_and_their_rows_stay(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..4).await;
    let mut calls = Vec::new();
    for _ in 0..3 {
        let claim = scene.completed(campaign, 20).await;
        store.append_facts(&[(claim.attempt, turn())]).await.unwrap();
        let facts = events().map(|event| (claim.attempt, event));
        store.append_facts(&facts).await.unwrap();
        scene.clock.advance(Duration::from_secs(3_600));
        calls.push(claim.attempt);
    }
    // An open call has no end.
    scene.dialing(campaign).await;
    let now = scene.clock.now();
    let newest = store.conversation(scene.account, calls[2]).await.unwrap();
    let earliest = Timestamp(now.0 - 4 * 3_600 * 1_000_000);
    assert_eq!(store.erase_words(earliest, 10).await, Ok(0));
    let before = Timestamp(now.0 - 4_000 * 1_000_000);
    assert_eq!(store.erase_words(before, 1).await, Ok(1));
    assert_eq!(store.erase_words(before, 10).await, Ok(1));
    assert_eq!(store.erase_words(before, 10).await, Ok(0), "each once");
    for call in &calls[..2] {
        assert!(store.turns(*call).await.unwrap().is_empty());
        assert_eq!(events_left(&scene, *call).await, [USAGE]);
        let row = store.conversation(scene.account, *call).await.unwrap();
        assert!(row.collected.is_empty() && row.analysis.is_none());
        assert_ne!(row.contact_number, PhoneNumber::erased());
    }
    assert_eq!(store.turns(calls[2]).await.unwrap().len(), 1);
    assert_eq!(events_left(&scene, calls[2]).await, ["tool", USAGE]);
    assert_eq!(store.conversation(scene.account, calls[2]).await, Ok(newest));
    let jobs = store.due_analyses(10).await.unwrap();
    assert_eq!(jobs.iter().map(|job| job.attempt).collect::<Vec<_>>(), [calls[2]]);
    assert_eq!(store.progress(campaign).await.unwrap().completed, 3);
}
