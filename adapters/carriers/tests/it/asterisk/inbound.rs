//! Tests of inbound calls through an Asterisk: they are refused with a reason, and no caller is left alone.

use std::{collections::BTreeMap, sync::Arc};

use carriers::asterisk::account::Codec;
use sim::stub_carriers::asterisk::{AsteriskStub, PASSWORD, USER};

use super::{at, sound, talks, websocket};
use crate::site::{COOPERATIVE, DESK, OURS, SILENT, Site, until};

/// Starts a service whose agent answers.
async fn answering() -> (Site, Arc<AsteriskStub>) {
    let stub = sound().await;
    let site = at(&stub, websocket(Codec::Ulaw)).await;
    (site.with_answering_agent().await, stub)
}

#[tokio::test(start_paused = true)]
async fn a_restart_leaves_no_caller_alone() {
    let (site, stub) = answering().await;
    stub.call_in(SILENT, OURS).await;
    until(30, "audio", || talks(&stub)).await;
    let site = Site {
        world: site.world.restart().await,
        ..site
    };
    site.world.pass(30).await;
    site.check_tidy();
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_was_answered_and_no_more_is_hung_up() {
    let (site, stub) = answering().await;
    stub.lose_events();
    let channel = stub.call_in(SILENT, OURS).await;
    site.world.pass(12).await;
    // The previous process died here.
    let answer = reqwest::Client::new().post(format!("{}/channels/{channel}/answer", stub.url()));
    let answered = answer.basic_auth(USER, Some(PASSWORD)).send().await.unwrap();
    assert_eq!(answered.status().as_u16(), 204);
    stub.let_events_in();
    site.world.pass(15).await;
    site.check_tidy();
}

#[tokio::test(start_paused = true)]
async fn a_call_for_nobody_is_refused_with_its_reason() {
    let (site, stub) = answering().await;
    let nobody = stub.call_in(COOPERATIVE, "+15559990002").await;
    let nowhere = stub.call_in(DESK, "s").await;
    until(30, "refusals", || stub.hung_up().len() == 2).await;
    let reasons: BTreeMap<String, String> = stub.hung_up().into_iter().collect();
    assert_eq!((&*reasons[&nobody], &*reasons[&nowhere]), ("rejected", "unallocated"));
    site.world.pass(5).await;
    site.check_tidy();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_rang_while_events_were_lost_is_answered() {
    let (site, stub) = answering().await;
    stub.lose_events();
    stub.call_in(COOPERATIVE, OURS).await;
    site.world.pass(12).await;
    assert_eq!(stub.bridges(), BTreeMap::new());
    stub.let_events_in();
    until(30, "audio", || talks(&stub)).await;
    until(180, "goodbye", || stub.live_calls() == 0).await;
    site.world.pass(5).await;
    site.check_tidy();
}
