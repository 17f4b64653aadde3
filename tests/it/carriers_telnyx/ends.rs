//! Calls through Telnyx are ended from both ends, those that came in too.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use sim::{
    exchange::Step,
    stub_carriers::telnyx::{TelnyxFaults, TelnyxSettings, TelnyxStub},
};

use super::{
    COOPERATIVE, NO_ANSWER, account, call,
    inbound::{CALL, OURS, answered, called},
    midcall::{Over, say, told},
    stub, world_with,
};
use support::{words::interviewing_agent, world::World};

async fn end(world: &World, conversation: &str) -> Value {
    let path = format!("/public/v1/conversations/{conversation}/end");
    world.client.post(&path, json!({})).await.expect(200);
    world.until_over(conversation, 30).await
}

async fn until_told(stub: &Arc<TelnyxStub>, event: &str) {
    while !stub.delivered().iter().any(|webhook| webhook.status == event) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn hang_ups(stub: &TelnyxStub) -> usize {
    stub.commands().iter().filter(|(action, _)| action == "hangup").count()
}

#[tokio::test(start_paused = true)]
async fn ending_a_call_ends_what_rings_and_what_talks() {
    let stub = stub(TelnyxSettings::default()).await;
    let world = world_with(account(&stub)).await;
    let ringing = call(&world, NO_ANSWER).await;
    until_told(&stub, "call.initiated").await;
    world.pass(2).await;
    assert_eq!(end(&world, &ringing).await["status"], "cancelled");
    world.pass(2).await;
    assert_eq!((stub.live_calls(), hang_ups(&stub)), (0, 1));
    let talking = call(&world, COOPERATIVE).await;
    until_told(&stub, "call.answered").await;
    world.pass(4).await;
    assert_eq!(end(&world, &talking).await["status"], "completed");
    world.pass(2).await;
    assert_eq!((stub.live_calls(), hang_ups(&stub)), (0, 2));
    assert_eq!(stub.complaints(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_callee_who_hangs_up_ends_the_call() {
    let steps = vec![say("Hello?"), Step::UntilAgentSaid, say("Not now."), Step::HangUp];
    let over = Over::of(told(steps, TelnyxFaults::default()).await, interviewing_agent()).await;
    assert_eq!((over.sockets(), &over.conversation["errorMessage"]), (1, &Value::Null));
    assert_eq!((over.stub.live_calls(), over.commanded("hangup")), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_came_in_is_ended_by_us() {
    let (stub, world) = called(TelnyxFaults::default()).await;
    stub.call_in(&world.client.base, CALL, (COOPERATIVE, OURS));
    let id = answered(&stub).await;
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
    assert_eq!((stub.live_calls(), hang_ups(&stub)), (0, 1));
    assert_eq!(stub.complaints(), Vec::<String>::new());
}
