//! The other person of a call: known as at its start, found in searches, and erased.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Fixture, Scene, account_events::published, callee, number, outcome, search};
use domain::{
    id::{AttemptId, CampaignId},
    phone_number::PhoneNumber,
    ports::{
        carrier::CarrierCallId,
        store::{
            CalleeRecord, CampaignContact, ContactRow, ConversationFilter, ConversationStatus, InProgressFilter,
            NewCall, NewContact, NewInboundCall,
        },
    },
    time::Timestamp,
    transcript_search::Query,
};

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn record(name: &str, variables: &Value) -> CalleeRecord {
    CalleeRecord {
        contact_name: Some(name.to_owned()),
        variables: Some(object(variables)),
    }
}

/// Saves a contact with a name and fields.
async fn saved(scene: &Scene, n: usize, name: &str) -> ContactRow {
    let new = NewContact {
        phone_number: number(n),
        name: Some(name.to_owned()),
        email: Some("saved@example.com".to_owned()),
        extra: object(&json!({ "plan": "gold", "zebra": 2 })),
    };
    scene.store.create_contact(scene.account, new, None).await.unwrap()
}

/// Gives a saved contact another name and other fields.
async fn rename(scene: &Scene, contact: &ContactRow) {
    let renamed = NewContact {
        phone_number: contact.phone_number.clone(),
        name: Some("Renamed".to_owned()),
        email: None,
        extra: object(&json!({ "plan": "none" })),
    };
    let update = scene
        .store
        .update_contact(scene.account, contact.id, contact.version, renamed);
    update.await.unwrap();
}

async fn known(scene: &Scene, call: AttemptId) -> CalleeRecord {
    scene.store.conversation(scene.account, call).await.unwrap().callee
}

/// Calls a number with this name and these values, and returns the attempt after its permit.
async fn single(scene: &Scene, n: usize, name: Option<&str>, variables: &Value) -> AttemptId {
    let new = NewCall {
        agent: scene.agent,
        phone_number: number(n),
        name: name.map(str::to_owned),
        variables: object(variables),
    };
    scene.store.create_call(scene.account, new, None).await.unwrap();
    let claim = scene.store.claim_calls(scene.node, 1).await.unwrap()[0].claim;
    scene.permit(claim).await.unwrap();
    claim.attempt
}

/// Receives a call from a number.
async fn inbound(scene: &Scene, from: PhoneNumber) -> AttemptId {
    let new = NewInboundCall {
        attempt: AttemptId::new(),
        account: scene.account,
        agent: scene.agent,
        agent_version: 1,
        carrier: "exchange".to_owned(),
        call: CarrierCallId("leg".to_owned()),
        from,
        to: PhoneNumber::withheld(),
        ticket: None,
        variables: object(&json!({ "zebra": 3, "override.language": "de" })),
        test: None,
    };
    let received = scene.store.receive_call(scene.node, new).await.unwrap().unwrap();
    received.attempt.claim.attempt
}

pub async fn a_call_keeps_the_person_as_at_its_start(fixture: Fixture) {
    let scene = fixture.scene().await;
    let contacts = [saved(&scene, 0, "Saved").await, saved(&scene, 7, "Seven").await];
    let campaign = scene.running(0..2).await;
    let claim = scene.claim_one(campaign).await;
    assert_eq!(
        known(&scene, claim.attempt).await,
        callee(0),
        "before the dial, the row's"
    );
    scene.permit(claim).await.unwrap();
    let listed = claim.attempt;
    let named = single(&scene, 8, Some("Given"), &json!({ "city": "Graz" })).await;
    let unnamed = single(&scene, 7, None, &json!({ "zebra": 4, "override.llm": "x" })).await;
    let caller = inbound(&scene, number(9)).await;
    let mut of_row = callee(0);
    let saved = object(&json!({ "email": "saved@example.com", "plan": "gold" }));
    of_row.variables.as_mut().unwrap().extend(saved);
    let expected = [
        (caller, record("", &json!({ "zebra": 3 }))),
        (
            unnamed,
            record(
                "Seven",
                &json!({ "email": "saved@example.com", "plan": "gold", "zebra": 4 }),
            ),
        ),
        (named, record("Given", &json!({ "city": "Graz" }))),
        (listed, of_row),
    ];
    let expected = expected.map(|(id, record)| {
        let contact_name = record.contact_name.filter(|name| !name.is_empty());
        (id, CalleeRecord { contact_name, ..record })
    });
    for contact in &contacts {
        rename(&scene, contact).await;
    }
    for (id, record) in &expected {
        assert_eq!(known(&scene, *id).await, *record);
        assert_eq!(scene.store.contact_of(*id).await.unwrap().name, record.contact_name);
    }
    let all = scene
        .store
        .conversations(scene.account, ConversationFilter::default(), 9);
    let all = all.await.unwrap().into_iter().map(|row| (row.id, row.callee));
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(id, _)| expected.iter().position(|(one, _)| one == id));
    assert_eq!(all, expected);
    let live = scene
        .store
        .calls_in_progress(scene.account, InProgressFilter::default(), 9);
    for call in live.await.unwrap() {
        assert!(expected.contains(&(call.id, call.callee.clone())), "{call:?}");
    }
    let changed = scene.store.latest_conversations(campaign, 9).await.unwrap();
    assert_eq!((changed[0].id, &changed[0].callee), (listed, &expected[3].1));
    assert_eq!(changed[0].who.name.as_deref(), Some("Näme 0"));
}

pub async fn a_call_that_was_not_sent_keeps_the_person_of_its_next_dial(fixture: Fixture) {
    let scene = fixture.scene().await;
    let contact = saved(&scene, 7, "Seven").await;
    let new = NewCall {
        agent: scene.agent,
        phone_number: number(7),
        name: None,
        variables: Map::new(),
    };
    scene.store.create_call(scene.account, new, None).await.unwrap();
    for name in ["Seven", "Renamed"] {
        let claim = scene.store.claim_calls(scene.node, 1).await.unwrap()[0].claim;
        scene.permit(claim).await.unwrap();
        assert_eq!(known(&scene, claim.attempt).await.contact_name.as_deref(), Some(name));
        scene.store.not_sent(claim, 0, None).await.unwrap();
        assert_eq!(known(&scene, claim.attempt).await.contact_name, None);
        if name == "Seven" {
            rename(&scene, &contact).await;
        }
    }
}

pub async fn the_fields_of_a_call_are_limited(fixture: Fixture) {
    let scene = fixture.scene().await;
    let fields = (0..100).map(|n| (format!("field {n}"), json!("é".repeat(2_000))));
    let call = single(&scene, 1, None, &Value::Object(fields.collect())).await;
    let kept = known(&scene, call).await.variables.unwrap();
    assert_eq!(kept.len(), 16);
    assert!(json!(kept).to_string().len() <= 64 * 1024);
}

/// Returns the calls that a search finds.
async fn found(scene: &Scene, query: &str) -> Vec<AttemptId> {
    let filter = ConversationFilter {
        search: Some(Query::parse(query).unwrap()),
        ..ConversationFilter::default()
    };
    let rows = scene.store.conversations(scene.account, filter, 9).await.unwrap();
    rows.iter().map(|row| row.id).collect()
}

/// Creates a call in which nobody said anything.
async fn silent(scene: &Scene, campaign: CampaignId) -> AttemptId {
    let claim = scene.dialing(campaign).await;
    let busy = outcome(ConversationStatus::Failed);
    scene.store.finish(claim, busy, None).await.unwrap();
    claim.attempt
}

pub async fn a_call_is_found_by_its_person_until_that_is_erased(fixture: Fixture) {
    let scene = fixture.scene().await;
    let contact = saved(&scene, 1, "Saved").await;
    let campaign = scene.running(0..3).await;
    let calls = [
        silent(&scene, campaign).await,
        silent(&scene, campaign).await,
        silent(&scene, campaign).await,
    ];
    search::say(&scene, calls[2], 1, "a name").await;
    search::note(&scene).await;
    for (query, expected) in [
        ("\"name 0\"", &[calls[0]][..]),
        ("p1", &[calls[1]]),
        ("gold", &[calls[1]]),
        ("name p2", &[calls[2]]),
        ("\"0 p0\"", &[]),
    ] {
        assert_eq!(found(&scene, query).await, expected, "{query}");
    }
    scene.store.erase_contact(scene.account, contact.id).await.unwrap();
    assert_eq!(found(&scene, "p1").await, []);
    assert_eq!(found(&scene, "gold").await, []);
    assert_eq!(known(&scene, calls[1]).await, CalleeRecord::default());
    // Words that come late are found with the name, and nothing of either when they are old.
    search::say(&scene, calls[2], 2, "tulip").await;
    search::note(&scene).await;
    scene.clock.advance(Duration::from_secs(3_600));
    assert_eq!(scene.store.erase_words(scene.now(), 9).await, Ok(2));
    for query in ["name*", "p2", "p0", "tulip"] {
        assert_eq!(found(&scene, query).await, [], "{query}");
    }
    for call in calls {
        assert_eq!(known(&scene, call).await, CalleeRecord::default());
    }
    let of_row = scene.store.contact_of(calls[2]).await.unwrap();
    let nobody = CampaignContact {
        phone_number: number(2),
        contact: None,
        name: None,
        email: None,
        extra: Map::new(),
    };
    assert_eq!(of_row, nobody);
    let changed = scene
        .store
        .changed_conversations(campaign, Timestamp(0), AttemptId::FIRST, 9)
        .await
        .unwrap();
    assert!(changed.iter().all(|change| change.who.name.is_none()), "{changed:?}");
    let events = published(&scene).await;
    let of_calls = events.iter().filter(|event| event.attempt.is_some());
    assert!(of_calls.clone().count() > 0);
    assert!(
        of_calls.clone().all(|event| event.detail["variables"].is_null()),
        "{events:?}"
    );
}

pub async fn an_old_single_call_leaves_nothing_of_its_request(fixture: Fixture) {
    let scene = fixture.scene().await;
    let call = single(&scene, 1, Some("Given"), &json!({ "city": "Graz" })).await;
    let waiting = NewCall {
        agent: scene.agent,
        phone_number: number(2),
        name: Some("Waiting".to_owned()),
        variables: object(&json!({ "city": "Linz" })),
    };
    scene.store.create_call(scene.account, waiting, None).await.unwrap();
    let filter = ConversationFilter::default();
    let rows = scene
        .store
        .conversations(scene.account, filter.clone(), 9)
        .await
        .unwrap();
    let waiting = rows.iter().find(|row| row.id != call).unwrap();
    assert_eq!(waiting.callee, record("Waiting", &json!({ "city": "Linz" })));
    scene.store.cancel_queued(scene.account, waiting.id).await.unwrap();
    scene.clock.advance(Duration::from_secs(3_600));
    assert_eq!(scene.store.erase_words(scene.now(), 9).await, Ok(1));
    assert_eq!(known(&scene, waiting.id).await, CalleeRecord::default());
    assert_eq!(scene.store.call_variables(waiting.id).await.unwrap(), Map::new());
}
