//! Calls through Vonage are ended from both ends, those that came in too.

use std::sync::Arc;

use carriers::vonage::account::Rate;
use serde_json::{Value, json};
use sim::{
    exchange::Step,
    stub_carriers::vonage::{VonageFaults, VonageStub},
};

use super::{
    COOPERATIVE, NO_ANSWER, account, call,
    inbound::{OURS, called, conversation},
    midcall::{NUMBER, Over, say, told},
    stub, world_with,
};
use support::{words::interviewing_agent, world::World};

async fn end(world: &World, conversation: &str) -> Value {
    let path = format!("/public/v1/conversations/{conversation}/end");
    world.client.post(&path, json!({})).await.expect(200);
    world.until_over(conversation, 30).await
}

async fn until_told(stub: &Arc<VonageStub>, status: &str) {
    while !stub.delivered().iter().any(|event| event.status == status) {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn ending_a_call_ends_what_rings_and_what_talks() {
    let stub = stub().await;
    let world = world_with(account(&stub, Rate::Narrow)).await;
    let ringing = call(&world, NO_ANSWER).await;
    until_told(&stub, "ringing").await;
    assert_eq!(end(&world, &ringing).await["status"], "cancelled");
    until_told(&stub, "cancelled").await;
    let talking = call(&world, COOPERATIVE).await;
    until_told(&stub, "answered").await;
    world.pass(4).await;
    assert_eq!(end(&world, &talking).await["status"], "completed");
    until_told(&stub, "completed").await;
    assert_eq!((stub.live_calls(), stub.complaints()), (0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_callee_who_hangs_up_ends_the_call() {
    let steps = vec![say("Hello?"), Step::UntilAgentSaid, say("Not now."), Step::HangUp];
    let over = Over::of(told(steps, VonageFaults::default()).await, interviewing_agent(), NUMBER).await;
    assert_eq!(over.conversation["status"], "completed", "{:#}", over.conversation);
    assert_eq!((over.sockets(), &over.conversation["errorMessage"]), (1, &Value::Null));
    assert_eq!(over.stub.live_calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_came_in_is_ended_by_us() {
    let (stub, world) = called().await;
    let answer = stub
        .call_in(&world.client.base, "in-1", (COOPERATIVE, OURS))
        .await
        .unwrap();
    let id = conversation(&answer.ncco);
    world.pass(8).await;
    assert_eq!(
        (stub.live_calls(), &world.read(&id).await["status"]),
        (1, &json!("in_progress"))
    );
    let over = end(&world, &id).await;
    assert_eq!(
        (&over["status"], &over["errorMessage"]),
        (&json!("completed"), &Value::Null),
        "{over:#}"
    );
    world.pass(3).await;
    assert_eq!((stub.live_calls(), stub.complaints()), (0, vec![]));
}
