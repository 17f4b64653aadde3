//! "Call me later": a new attempt at the requested time, inside the window, a limited number of times.

use std::time::Duration;

use actors::attempt::{self, Ended};
use domain::{
    callback_time,
    id::{CampaignId, NodeId},
    ports::{
        carrier::CarrierCallId,
        store::{
            AttemptStore, CampaignStatus, CampaignStore, ConversationFilter, ConversationRow, ConversationStatus,
            NodeStore, Outcome, Permit, PermitRequest, RecordStore, ScheduleText,
        },
    },
    retry::{CallBackWish, MOST_CALL_BACKS},
};
use serde_json::json;
use testkit::{fake_language::ScriptedReply, fake_ports::CLOCK_START};

use crate::{
    call_support::{TestCall, agent, greeter, ms},
    support::{Callees, World, until},
};

const MINUTE: Duration = Duration::from_secs(60);

/// Starts an answered call in which the model gives this reply to the user's words.
async fn told(reply: ScriptedReply) -> TestCall {
    let test = TestCall::greeted(greeter()).await;
    test.ports.language_model.script(reply);
    test.stream.user_says("Could you call me some other time?", 800).await;
    ms(8_000).await;
    test
}

fn later(at: &str) -> ScriptedReply {
    ScriptedReply::text("Of course, goodbye.")
        .then_tool("callLater", json!({ "at": at }))
        .then_tool("endCall", json!({ "reason": "call_back" }))
}

/// Returns all conversations of the call's campaign, oldest first.
async fn rows(test: &TestCall) -> Vec<ConversationRow> {
    let mut rows = test
        .store
        .conversations(test.account(), ConversationFilter::default(), 9)
        .await
        .unwrap();
    rows.sort_by_key(|row| row.started_at);
    rows
}

#[tokio::test(start_paused = true)]
async fn a_call_back_is_planned_with_the_outcome() {
    let test = told(later("in ten minutes")).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
    let rows = rows(&test).await;
    let statuses: Vec<_> = rows.iter().map(|row| row.status).collect();
    assert_eq!(statuses, [ConversationStatus::Completed, ConversationStatus::Scheduled]);
    let waits = rows[1].started_at.since(rows[0].ended_at.unwrap());
    // The time counts from the user's words.
    assert!(waits <= 10 * MINUTE && waits > 9 * MINUTE, "{waits:?}");
    assert_eq!(test.remaining().await.later, 1);
    assert!(
        test.events().contains(&"call_back".to_owned()),
        "for whoever takes the call over"
    );
}

#[tokio::test(start_paused = true)]
async fn a_model_that_gives_no_time_is_told_so_and_nothing_is_planned() {
    let test = told(later("whenever").then_text("Goodbye.")).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
    assert_eq!(test.remaining().await.later, 0);
    assert_eq!(rows(&test).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_last_wish_of_a_call_holds_and_an_opt_out_takes_it_back() {
    let twice = ScriptedReply::text("Of course, goodbye.")
        .then_tool("callLater", json!({ "at": "in two hours" }))
        .then_tool("callLater", json!({ "at": "2026-01-07T09:30" }))
        .then_tool("endCall", json!({ "reason": "call_back" }));
    let test = told(twice).await;
    let rows = rows(&test).await;
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1].started_at.to_iso8601(), "2026-01-07T09:30:00.000000Z");

    let opts_out = agent(json!({ "platformSettings": { "callActions": { "smartOptOut": true } } }));
    let test = TestCall::answered(opts_out).await;
    let reply = ScriptedReply::text("Understood, goodbye.")
        .then_tool("callLater", json!({ "at": "in two hours" }))
        .then_tool("endCall", json!({ "reason": "opt_out" }));
    test.ports.language_model.script(reply);
    test.stream
        .user_says("Call me in two hours. No, never call me again.", 800)
        .await;
    ms(8_000).await;
    assert_eq!(test.outcome(), Some(("completed", None)));
    assert_eq!(test.remaining().await.later, 0);
}

fn talked() -> Outcome {
    Outcome {
        status: ConversationStatus::Completed,
        error: None,
        voicemail: false,
        transferred: false,
        collected: Default::default(),
        times: Default::default(),
        facts_follow: false,
        refusal: None,
    }
}

/// Places the next due call of a campaign, in which the callee says when to be called. Returns the number of
/// earlier call-backs.
async fn call_that_asks(world: &World, node: NodeId, campaign: CampaignId, when: &str) -> Option<i64> {
    let attempt = world.store.claim(node, campaign, 1).await.unwrap().pop()?;
    let request = PermitRequest {
        carrier: "scripted".into(),
        caller_id: None,
        agent_version: None,
        restricted_prefixes: Vec::new(),
    };
    let permit = world.store.permit(attempt.claim, request).await.unwrap();
    assert!(matches!(permit, Permit::Granted { .. }), "{permit:?}");
    let leg = CarrierCallId(attempt.claim.attempt.to_string());
    world.store.dialed(attempt.claim, &leg).await.unwrap();
    world
        .store
        .answered(attempt.claim, world.ports.clock.now())
        .await
        .unwrap();
    let wish = CallBackWish {
        time: callback_time::parse(when).unwrap(),
        said_at: world.ports.clock.now(),
    };
    let ended = Ended {
        call_back: Some(wish),
        ..Ended::from(&attempt)
    };
    attempt::finish(&world.ports, &ended, &talked()).await.unwrap();
    Some(attempt.tries.call_backs)
}

#[tokio::test(start_paused = true)]
async fn a_call_back_is_dialed_at_its_time_or_when_the_window_opens_next() {
    // It is noon on a Monday in London; the campaign's zone is Berlin, an hour ahead.
    for (when, minutes) in [
        ("at two", 60),
        ("at half past two", 90),
        ("at seven", 24 * 60 - 60),
        ("on Tuesday at 14:15", 25 * 60 + 15),
    ] {
        let world = World::new().await;
        world.carrier.callees(Callees::Busy(Duration::from_secs(5)));
        let claimer = NodeId::new();
        world.store.register_node(claimer, None).await.unwrap();
        let window = ScheduleText {
            start_time: Some("12:00".into()),
            end_time: Some("15:00".into()),
            timezone: Some("Europe/Berlin".into()),
        };
        let campaign = world.running_in(1, window).await;
        assert_eq!(call_that_asks(&world, claimer, campaign, when).await, Some(0));
        let node = world.node(5).await;
        until("it waits", async || {
            world.status(campaign).await == CampaignStatus::Waiting
        })
        .await;
        let row = world.row(campaign).await;
        assert_eq!(row.next_run_at, Some(CLOCK_START.plus(minutes * MINUTE)), "{when}");
        tokio::time::sleep(minutes * MINUTE - Duration::from_secs(10)).await;
        assert!(world.carrier.dials().is_empty(), "{when}");
        tokio::time::sleep(Duration::from_secs(40)).await;
        assert_eq!(world.carrier.dials().len(), 1, "{when}");
        node.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_contact_is_called_back_a_few_times_and_then_no_more() {
    let world = World::new().await;
    let claimer = NodeId::new();
    world.store.register_node(claimer, None).await.unwrap();
    let campaign = world.running(1).await;
    for had in 0..=MOST_CALL_BACKS {
        assert_eq!(
            call_that_asks(&world, claimer, campaign, "in ten minutes").await,
            Some(had)
        );
        assert_eq!(
            call_that_asks(&world, claimer, campaign, "in ten minutes").await,
            None,
            "not yet due"
        );
        tokio::time::sleep(10 * MINUTE).await;
    }
    assert_eq!(call_that_asks(&world, claimer, campaign, "in ten minutes").await, None);
    let progress = world.store.progress(campaign).await.unwrap();
    assert_eq!((progress.completed, progress.pending), (1, 0));
}
