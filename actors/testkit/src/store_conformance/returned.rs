//! Live calls that their carrier brings to another node.

use std::{collections::BTreeMap, time::Duration};

use serde_json::json;

use super::{Fixture, Scene, caller_number, contact, number, outcome};
use domain::{
    id::{AttemptId, NodeId},
    phone_number::PhoneNumber,
    ports::{
        carrier::CarrierCallId,
        language_model::Speaker,
        store::{
            CallDirection, Claim, ClaimedAttempt, ConversationStatus, EventFact, Fact, NewCall, NewInboundCall,
            ReturnedCall, ReturningCall, StoreError, StoreResult, TurnFact, WaitingCalls,
        },
    },
};

fn call(name: &str) -> CarrierCallId {
    CarrierCallId(name.to_owned())
}

fn turn(seq: i64, speaker: Speaker, text: &str) -> Fact {
    Fact::Turn(TurnFact {
        seq,
        speaker,
        text: text.to_owned(),
        started_ms: seq * 1_000,
        ended_ms: seq * 1_000 + 500,
        interrupted: false,
        damaged: false,
        detail: Default::default(),
    })
}

fn event(name: &str) -> Fact {
    Fact::Event(EventFact {
        name: name.to_owned(),
        at_ms: 5,
        detail: "{}".to_owned(),
    })
}

impl Scene {
    /// Returns a node that lives beside this scene's, if a store may have several, else one that comes after it.
    async fn beside(&self) -> NodeId {
        let node = NodeId::new();
        self.store.register_node(node, None).await.unwrap();
        node
    }

    async fn brought(&self, node: NodeId, held: Claim, leg: &str) -> StoreResult<ReturnedCall> {
        let returning = ReturningCall {
            held,
            carrier: "exchange".to_owned(),
            call: call(leg),
        };
        self.store.take_over(node, returning).await
    }
}

pub async fn a_live_call_goes_to_the_node_that_it_was_brought_to(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(3..5).await;
    let held = scene.dialing(campaign).await;
    let token = store.dial_token(held.attempt).await.unwrap();
    store.dialed(held, &call("c1")).await.unwrap();
    store.answered(held, scene.now()).await.unwrap();
    let facts = [
        event("answered"),
        turn(0, Speaker::Agent, "Hello!"),
        event("amd"),
        turn(1, Speaker::User, "Hello?"),
    ];
    let facts: Vec<_> = facts.into_iter().map(|fact| (held.attempt, fact)).collect();
    store.append_facts(&facts).await.unwrap();
    let collected = BTreeMap::from([("age".to_owned(), "5".to_owned())]);
    store.keep_collected(held, collected.clone()).await.unwrap();
    scene.clock.advance(Duration::from_millis(2_500));

    let node = scene.beside().await;
    let taken = scene.brought(node, held, "c1").await.unwrap();
    let claim = Claim {
        owner: node,
        epoch: held.epoch + 1,
        ..held
    };
    assert_eq!(taken.attempt.claim, claim);
    assert_eq!(
        (taken.attempt.account, taken.attempt.campaign),
        (scene.account, Some(campaign))
    );
    assert_eq!(
        (
            taken.attempt.agent,
            taken.attempt.contact_index,
            taken.attempt.attempt_no
        ),
        (scene.agent, 0, 1)
    );
    assert_eq!(taken.attempt.contact, contact(3));
    assert_eq!((taken.direction, taken.token), (CallDirection::Outbound, token));
    assert_eq!(taken.caller_id, Some(caller_number()));
    assert_eq!((taken.elapsed_ms, taken.opted_out), (2_500, false));
    let said: Vec<_> = taken.turns.iter().map(|turn| (turn.seq, turn.text.as_str())).collect();
    assert_eq!(said, [(0, "Hello!"), (1, "Hello?")]);
    let told: Vec<_> = taken.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(told, ["amd"]);
    assert_eq!(taken.collected, collected);

    // The old owner is fenced, whatever it still writes.
    let late = store.finish(held, outcome(ConversationStatus::Failed), None).await;
    assert_eq!(late, Err(StoreError::Fenced));
    assert_eq!(store.answered(held, scene.now()).await, Err(StoreError::Fenced));
    assert_eq!(
        store.keep_collected(held, BTreeMap::new()).await,
        Err(StoreError::Fenced)
    );
    assert_eq!(store.lost_claims(&[held, claim]).await, Ok(vec![held]));

    // The next time it goes to the next owner, which gets the opt-out.
    store.add_do_not_call(scene.account, &number(3)).await.unwrap();
    let taken = scene.brought(node, claim, "c1").await.unwrap();
    let told: Vec<_> = taken.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!((told, taken.opted_out), (vec!["amd", "taken_over"], true));
    // The number of takeovers is limited, in case the call itself crashes its nodes.
    let third = scene.brought(node, taken.attempt.claim, "c1").await;
    assert_eq!(third, Err(StoreError::Exists("heirs")));
    assert_eq!(
        store.lost_claims(&[taken.attempt.claim]).await,
        Ok(vec![]),
        "nothing was taken"
    );
    let last = outcome(ConversationStatus::Completed);
    store.finish(taken.attempt.claim, last, None).await.unwrap();
    let row = store.conversation(scene.account, held.attempt).await.unwrap();
    assert_eq!((row.status, row.collected), (ConversationStatus::Completed, collected));
    assert_eq!(row.ended_at.unwrap().0 - row.answered_at.unwrap().0, 2_500_000);
}

pub async fn a_call_that_was_brought_back_goes_to_one_node_and_only_while_it_lives(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..5).await;
    let (dialing, claimed) = (scene.dialing(campaign).await, scene.claim_one(campaign).await);
    let other = scene.dialing(campaign).await;
    store.dialed(other, &call("c2")).await.unwrap();
    let node = scene.beside().await;

    assert_eq!(
        scene.brought(NodeId::new(), dialing, "c1").await,
        Err(StoreError::Fenced)
    );
    assert_eq!(
        scene.brought(node, claimed, "c1").await,
        Err(StoreError::Fenced),
        "not sent"
    );
    let (another, anothers) = (
        scene.brought(node, other, "c1").await,
        scene.brought(node, dialing, "c2").await,
    );
    assert_eq!(
        (another, anothers),
        (Err(StoreError::Exists("call")), Err(StoreError::Exists("call")))
    );
    let wrong = ReturningCall {
        held: other,
        carrier: "pigeons".to_owned(),
        call: call("c2"),
    };
    assert_eq!(store.take_over(node, wrong).await, Err(StoreError::Exists("call")));
    assert_eq!(
        store.lost_claims(&[dialing, other]).await,
        Ok(vec![]),
        "nothing was taken"
    );

    // The answer to a dial was lost. Its leg comes back, so it was answered.
    store.unknown(dialing).await.unwrap();
    let taken = scene.brought(node, dialing, "c1").await.unwrap();
    assert_eq!(
        scene.brought(node, dialing, "c1").await,
        Err(StoreError::Fenced),
        "the second is too late"
    );
    assert_eq!(taken.elapsed_ms, 0);
    assert_eq!(
        store.attempt_of_call("exchange", &call("c1")).await,
        Ok(Some(dialing.attempt))
    );
    let claim = taken.attempt.claim;
    store
        .finish(claim, outcome(ConversationStatus::Completed), None)
        .await
        .unwrap();
    assert_eq!(
        scene.brought(node, claim, "c1").await,
        Err(StoreError::Fenced),
        "it is over"
    );
    let row = store.conversation(scene.account, claim.attempt).await.unwrap();
    assert!(row.answered_at.is_some());
}

pub async fn what_a_call_collects_is_kept_while_it_lasts(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let campaign = scene.running(0..2).await;
    let collected = BTreeMap::from([("name".to_owned(), "Ada".to_owned())]);
    let claimed = scene.claim_one(campaign).await;
    let kept = store.keep_collected(claimed, collected.clone()).await;
    assert_eq!(kept, Err(StoreError::Fenced), "nobody was called");
    let held = scene.dialing(campaign).await;
    store.keep_collected(held, collected.clone()).await.unwrap();
    let row = store.conversation(scene.account, held.attempt).await.unwrap();
    assert_eq!(
        (row.status, row.collected),
        (ConversationStatus::InProgress, collected.clone())
    );
    // Recovery finds no call-back.
    store
        .finish(held, outcome(ConversationStatus::Failed), None)
        .await
        .unwrap();
    let row = store.conversation(scene.account, held.attempt).await.unwrap();
    assert_eq!(row.collected, collected);
    assert_eq!(store.keep_collected(held, collected).await, Err(StoreError::Fenced));
}

pub async fn single_calls_and_calls_from_outside_are_taken_over_too(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let variables = json!({ "order": "77" }).as_object().cloned().unwrap();
    let new = NewCall {
        agent: scene.agent,
        phone_number: number(1),
        name: Some("Grace".to_owned()),
        variables,
    };
    store.create_call(scene.account, new, None).await.unwrap();
    let single = store.claim_calls(scene.node, 1).await.unwrap().remove(0);
    scene.permit(single.claim).await.unwrap();
    let inbound = NewInboundCall {
        attempt: AttemptId::new(),
        account: scene.account,
        agent: scene.agent,
        agent_version: 1,
        carrier: "exchange".to_owned(),
        call: call("in"),
        from: number(2),
        // An agent that is requested by its id needs no number.
        to: PhoneNumber::withheld(),
        ticket: None,
        variables: json!({ "order": "78" }).as_object().cloned().unwrap(),
        test: None,
    };
    let given = inbound.variables.clone();
    let received = store.receive_call(scene.node, inbound).await.unwrap().unwrap();
    assert_eq!(received.attempt.variables, given);
    let kept = store.call_variables(received.attempt.claim.attempt).await.unwrap();
    assert_eq!(kept, given);
    assert_eq!(store.waiting_calls().await.unwrap(), WaitingCalls::default());

    let node = scene.beside().await;
    let taken = scene.brought(node, single.claim, "out").await.unwrap();
    let as_claimed = ClaimedAttempt {
        claim: taken.attempt.claim,
        ..single
    };
    assert_eq!((taken.attempt, taken.direction), (as_claimed, CallDirection::Outbound));
    let taken = scene.brought(node, received.attempt.claim, "in").await.unwrap();
    let as_received = ClaimedAttempt {
        claim: taken.attempt.claim,
        ..received.attempt
    };
    assert_eq!((taken.attempt, taken.direction), (as_received, CallDirection::Inbound));
    assert_eq!((taken.token, taken.caller_id), (received.token, None));
}
