//! Inbound calls: the agent that answers, one attempt for each leg, taken over like any other, never queued.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Fixture, Scene, caller_number, number, orphaned::live_on, outcome};
use domain::{
    id::{AccountId, AgentId, AttemptId, NodeId},
    phone_number::PhoneNumber,
    ports::{
        carrier::CarrierCallId,
        store::{
            AttemptState, CallDirection, ContactCalls, ConversationStatus, NewContact, NewInboundCall, Patience,
            Permit, ReceivedCall, Removal, StoreError, StoreResult, WaitingCalls,
        },
    },
    time::Clock,
};

fn answering(direction: &str) -> Map<String, Value> {
    let document = json!({
        "name": "Ivy", "direction": direction,
        "phoneNumbers": [{ "number": caller_number().as_str(), "provider": "exchange" }],
    });
    document.as_object().cloned().unwrap()
}

async fn agent(scene: &Scene, direction: &str) -> AgentId {
    let made = scene.store.create_agent(scene.account, answering(direction), None);
    made.await.unwrap().id
}

fn call(scene: &Scene, agent: AgentId, leg: &str) -> NewInboundCall {
    NewInboundCall {
        attempt: AttemptId::new(),
        account: scene.account,
        agent,
        agent_version: 1,
        carrier: "exchange".to_owned(),
        call: CarrierCallId(leg.to_owned()),
        from: number(7),
        to: caller_number(),
        ticket: None,
        variables: Map::new(),
        test: None,
    }
}

async fn receive(scene: &Scene, new: NewInboundCall) -> StoreResult<Option<ReceivedCall>> {
    scene.store.receive_call(scene.node, new).await
}

async fn received(scene: &Scene, agent: AgentId, leg: &str) -> ReceivedCall {
    receive(scene, call(scene, agent, leg)).await.unwrap().unwrap()
}

pub async fn a_call_from_outside_goes_its_way(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let agent = agent(&scene, "inbound").await;
    let row = store.answering_agent(&caller_number()).await.unwrap().unwrap();
    assert_eq!((row.account, row.id), (account, agent));
    assert_eq!(row, store.agent(account, agent).await.unwrap());
    scene.clock.advance(Duration::from_secs(1));
    let came_at = scene.clock.now();
    let new = call(&scene, agent, "leg");
    let call = receive(&scene, new.clone()).await.unwrap().unwrap();
    let claim = call.attempt.claim;
    assert_eq!((claim.attempt, claim.owner), (new.attempt, scene.node));
    assert_eq!((call.attempt.account, call.attempt.campaign), (account, None));
    assert_eq!(
        (call.attempt.agent, &call.attempt.contact.phone_number),
        (agent, &number(7))
    );
    assert_eq!(store.dial_token(claim.attempt).await, Ok(call.token));
    let version = store.conversation(account, claim.attempt).await.unwrap().agent_version;
    assert_eq!(version, Some(new.agent_version));

    let row = store.conversation(account, claim.attempt).await.unwrap();
    assert_eq!(
        (row.status, row.direction),
        (ConversationStatus::InProgress, CallDirection::Inbound)
    );
    assert_eq!(
        (row.contact_number, row.caller_number),
        (number(7), Some(caller_number()))
    );
    assert_eq!((row.started_at, row.created_at), (came_at, came_at));
    assert_eq!((row.carrier.as_deref(), row.answered_at), (Some("exchange"), None));
    // No other work sees it.
    assert_eq!(store.waiting_calls().await, Ok(WaitingCalls::default()));
    assert_eq!(store.claim_calls(scene.node, 9).await, Ok(Vec::new()));
    assert_eq!(store.stale_claims(scene.node, 0).await, Ok(Vec::new()));
    assert_eq!(
        store.cancel_queued(account, claim.attempt).await,
        Err(StoreError::Stale)
    );

    store.answered(claim, scene.now()).await.unwrap();
    scene.clock.advance(Duration::from_secs(60));
    store
        .finish(claim, outcome(ConversationStatus::Completed), None)
        .await
        .unwrap();
    let row = store.conversation(account, claim.attempt).await.unwrap();
    assert_eq!(
        (row.status, row.direction),
        (ConversationStatus::Completed, CallDirection::Inbound)
    );
    assert_eq!(row.answered_at, Some(came_at));
    assert_eq!(store.due_analyses(9).await.unwrap().len(), 1);
}

pub async fn a_leg_becomes_one_attempt(fixture: Fixture) {
    let scene = fixture.scene().await;
    let agent = agent(&scene, "both").await;
    let announced = (0..8).map(|_| {
        let scene = scene.clone();
        tokio::spawn(async move { receive(&scene, call(&scene, agent, "leg")).await })
    });
    let mut taken = Vec::new();
    for answer in announced.collect::<Vec<_>>() {
        match answer.await.unwrap() {
            Ok(Some(call)) => taken.push(call),
            Err(StoreError::Exists("call")) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(taken.len(), 1);
    let claim = taken[0].attempt.claim;
    let over = outcome(ConversationStatus::Completed);
    scene.store.finish(claim, over, None).await.unwrap();
    let again = receive(&scene, call(&scene, agent, "leg")).await;
    assert_eq!(again, Err(StoreError::Exists("call")));
    let elsewhere = NewInboundCall {
        carrier: "other".to_owned(),
        ..call(&scene, agent, "leg")
    };
    assert!(receive(&scene, elsewhere).await.unwrap().is_some());
    // A leg that we dialed is not an inbound call.
    let campaign = scene.running(0..1).await;
    let dialing = scene.dialing(campaign).await;
    let leg = CarrierCallId("ours".to_owned());
    scene.store.dialed(dialing, &leg).await.unwrap();
    let ours = receive(&scene, call(&scene, agent, "ours")).await;
    assert_eq!(ours, Err(StoreError::Exists("call")));
}

pub async fn only_the_agent_that_answers_receives_a_call(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    assert_eq!(store.answering_agent(&caller_number()).await, Ok(None));
    let dials = agent(&scene, "outbound").await;
    assert_eq!(store.answering_agent(&caller_number()).await, Ok(None));
    assert_eq!(receive(&scene, call(&scene, dials, "a")).await, Ok(None));
    let answers = agent(&scene, "inbound").await;
    let found = store.answering_agent(&caller_number()).await.unwrap();
    assert_eq!(found.map(|row| row.id), Some(answers));
    assert_eq!(receive(&scene, call(&scene, dials, "a")).await, Ok(None));
    // The agent changes between the look-up and the call.
    let version = store.agent(account, answers).await.unwrap().version;
    let now_dials = answering("outbound");
    let row = store.update_agent(account, answers, version, now_dials).await.unwrap();
    assert_eq!(receive(&scene, call(&scene, answers, "a")).await, Ok(None));
    store
        .update_agent(account, answers, row.version, answering("both"))
        .await
        .unwrap();
    let call_before = received(&scene, answers, "a").await;
    // The agent is held as long as it has a call.
    let claim = call_before.attempt.claim;
    let Ok(Removal::Held(holders)) = store.delete_agent(account, answers).await else {
        panic!("not held")
    };
    assert_eq!(
        (holders.len(), holders[0].kind, holders[0].id.clone()),
        (1, "call", claim.attempt.to_string())
    );
    store
        .finish(claim, outcome(ConversationStatus::Completed), None)
        .await
        .unwrap();
    assert_eq!(store.delete_agent(account, answers).await, Ok(Removal::Done));
    assert_eq!(store.answering_agent(&caller_number()).await, Ok(None));
    assert_eq!(receive(&scene, call(&scene, answers, "b")).await, Ok(None));
    let row = store.conversation(account, claim.attempt).await.unwrap();
    assert_eq!(row.agent_name, "Ivy");
}

pub async fn a_call_from_outside_is_taken_over_and_never_queued(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let agent = agent(&scene, "inbound").await;
    let came_at = scene.clock.now();
    let claim = received(&scene, agent, "leg").await.attempt.claim;
    store.release(&[claim]).await.unwrap();
    assert_eq!(store.not_sent(claim, 0, None).await, Err(StoreError::Fenced));
    assert_eq!(scene.permit(claim).await, Err(StoreError::Fenced));
    let heir = NodeId::new();
    store.register_node(heir, None).await.unwrap();
    live_on(&**store, &scene.clock, heir).await;
    let orphaned = store.take_orphaned(heir, &Patience::default()).await.unwrap();
    let [orphaned] = &orphaned[..] else {
        panic!("{orphaned:?}")
    };
    assert_eq!((orphaned.claim.attempt, orphaned.claim.owner), (claim.attempt, heir));
    assert_eq!(
        (orphaned.direction, orphaned.state),
        (CallDirection::Inbound, AttemptState::Dialed)
    );
    assert_eq!(orphaned.carrier_call, Some(CarrierCallId("leg".to_owned())));
    assert_eq!((orphaned.campaign, orphaned.dialing_at), (None, came_at));
    assert_eq!(store.answered(claim, scene.now()).await, Err(StoreError::Fenced));
    let failed = outcome(ConversationStatus::Failed);
    store.finish(orphaned.claim, failed, None).await.unwrap();
    let row = store.conversation(scene.account, claim.attempt).await.unwrap();
    assert_eq!(row.status, ConversationStatus::Failed);
    assert_eq!(store.waiting_calls().await, Ok(WaitingCalls::default()));
}

pub async fn a_node_that_is_not_known_to_live_receives_nothing(fixture: Fixture) {
    let scene = fixture.scene().await;
    let agent = agent(&scene, "inbound").await;
    let stranger = scene.store.receive_call(NodeId::new(), call(&scene, agent, "a"));
    assert_eq!(stranger.await, Err(StoreError::Fenced));
    let heir = NodeId::new();
    scene.store.register_node(heir, None).await.unwrap();
    live_on(&*scene.store, &scene.clock, heir).await;
    scene.store.take_orphaned(heir, &Patience::default()).await.unwrap();
    assert_eq!(receive(&scene, call(&scene, agent, "a")).await, Err(StoreError::Fenced));
    let taken = scene.store.receive_call(heir, call(&scene, agent, "a")).await;
    assert!(taken.unwrap().is_some());
}

pub async fn a_saved_caller_is_known_and_erased(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let agent = agent(&scene, "inbound").await;
    let extra = json!({ "city": "Paris" }).as_object().cloned().unwrap();
    let saved = NewContact {
        phone_number: number(7),
        name: Some("Maria".to_owned()),
        email: Some("maria@example.com".to_owned()),
        extra: extra.clone(),
    };
    let saved = store.create_contact(account, saved, None).await.unwrap().id;
    let call = received(&scene, agent, "a").await.attempt;
    assert_eq!(call.contact.contact, Some(saved));
    assert_eq!(call.contact.name.as_deref(), Some("Maria"));
    assert_eq!(call.contact.email.as_deref(), Some("maria@example.com"));
    assert_eq!((call.saved_extra, call.variables), (extra, Map::new()));
    assert_eq!(store.erase_contact(account, saved).await, Ok(ContactCalls::Going));
    let over = outcome(ConversationStatus::Completed);
    store.finish(call.claim, over, None).await.unwrap();
    scene.clock.advance(Duration::from_secs(10));
    let erased = ContactCalls::Over(vec![call.claim.attempt]);
    assert_eq!(store.erase_contact(account, saved).await, Ok(erased));
    let row = store.conversation(account, call.claim.attempt).await.unwrap();
    assert_eq!(row.contact_number, PhoneNumber::erased());
    assert_eq!(row.caller_number, Some(caller_number()));
}

pub async fn a_withheld_number_is_nobodys(fixture: Fixture) {
    let scene = fixture.scene().await;
    let agent = agent(&scene, "inbound").await;
    for leg in ["a", "b"] {
        let withheld = NewInboundCall {
            from: PhoneNumber::withheld(),
            ..call(&scene, agent, leg)
        };
        let call = receive(&scene, withheld).await.unwrap().unwrap().attempt;
        assert_eq!((call.contact.contact, call.contact.name), (None, None));
        let row = scene.store.conversation(scene.account, call.claim.attempt).await;
        assert_eq!(row.unwrap().contact_number, PhoneNumber::withheld());
    }
}

pub async fn an_agent_asked_for_by_its_id_needs_no_number(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let document = json!({ "name": "Ivy", "direction": "both" });
    let made = store.create_agent(account, document.as_object().cloned().unwrap(), None);
    let agent = made.await.unwrap().id;
    let to_it = |leg: &str| NewInboundCall {
        to: PhoneNumber::withheld(),
        ..call(&scene, agent, leg)
    };
    let received = receive(&scene, to_it("a")).await.unwrap().unwrap().attempt;
    assert_eq!((received.account, received.agent), (account, agent));
    let row = store.conversation(account, received.claim.attempt).await.unwrap();
    assert_eq!((row.contact_number, row.caller_number), (number(7), None));
    // A number is still answered only by its owner's agent.
    assert_eq!(receive(&scene, call(&scene, agent, "b")).await, Ok(None));
    let elsewhere = NewInboundCall {
        account: AccountId::new(),
        ..to_it("c")
    };
    assert_eq!(receive(&scene, elsewhere).await, Ok(None));
    let over = outcome(ConversationStatus::Completed);
    store.finish(received.claim, over, None).await.unwrap();
    store.delete_agent(account, agent).await.unwrap();
    assert_eq!(receive(&scene, to_it("d")).await, Ok(None));
}

pub async fn who_is_on_the_line_is_not_dialed(fixture: Fixture) {
    let scene = fixture.scene().await;
    let agent = agent(&scene, "inbound").await;
    let campaign = scene.running(7..8).await;
    let dialing = scene.claim_one(campaign).await;
    let calling = received(&scene, agent, "a").await.attempt.claim;
    assert_eq!(scene.permit(dialing).await, Ok(Permit::NumberBusy));
    let over = outcome(ConversationStatus::Completed);
    scene.store.finish(calling, over, None).await.unwrap();
    scene.clock.advance(Duration::from_secs(30));
    let dialing = scene.dialing(campaign).await;
    // A callee who is being dialed may call in at the same time.
    received(&scene, agent, "b").await;
    scene.store.answered(dialing, scene.now()).await.unwrap();
}
