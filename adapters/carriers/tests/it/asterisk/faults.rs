//! Tests of faults in front of an Asterisk: lost events, lost starts, lost audio.

use std::{collections::BTreeMap, time::Duration};

use carriers::asterisk::account::Codec;
use sim::stub_carriers::Stall;
use support::words::interviewing_agent;

use super::{at, settings, sound, stub, talks, ways, websocket};
use crate::site::{COOPERATIVE, Setup, Site, until};

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_while_events_are_lost_and_its_end_is_found() {
    let stub = sound().await;
    let site = at(&stub, websocket(Codec::Ulaw)).await;
    let id = site.call(COOPERATIVE).await;
    until(30, "conversation", || talks(&stub)).await;
    site.world.pass(3).await;
    stub.lose_events();
    // The callee hangs up meanwhile, which is not reported.
    until(120, "end of the telephone", || stub.live_calls() == 0).await;
    stub.let_events_in();
    site.world.until_over(&id, 60).await;
    site.world.pass(30).await;
    site.check_words(&site.world.read(&id).await, COOPERATIVE);
    site.check_tidy();
    assert!(stub.event_sockets() >= 2);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_missed_is_found_with_the_events() {
    let stub = sound().await;
    let site = at(&stub, websocket(Codec::Ulaw)).await;
    let id = site.call(COOPERATIVE).await;
    until(10, "dial", || !stub.dials().is_empty()).await;
    stub.lose_events();
    until(30, "channel", || stub.live_calls() == 1).await;
    site.world.pass(6).await;
    assert_eq!(stub.bridges(), BTreeMap::new());
    stub.let_events_in();
    site.world.until_over(&id, 120).await;
    site.world.pass(5).await;
    let conversation = site.world.read(&id).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    site.check_tidy();
}

#[tokio::test(start_paused = true)]
async fn nobody_is_dialed_while_events_are_not_heard() {
    let stub = sound().await;
    stub.lose_events();
    let site = at(&stub, websocket(Codec::Ulaw)).await;
    let id = site.call(COOPERATIVE).await;
    site.world.pass(20).await;
    assert_eq!(stub.dials(), []);
    stub.let_events_in();
    site.world.until_over(&id, 180).await;
    site.world.pass(5).await;
    site.check_words(&site.world.read(&id).await, COOPERATIVE);
}

#[tokio::test(start_paused = true)]
async fn a_restart_ends_what_nobody_knows_any_more() {
    let stub = sound().await;
    let site = at(&stub, websocket(Codec::Ulaw)).await;
    let id = site.call(COOPERATIVE).await;
    until(30, "conversation", || talks(&stub)).await;
    site.world.pass(3).await;
    let site = Site {
        world: site.world.restart().await,
        ..site
    };
    site.world.until_over(&id, 120).await;
    site.world.pass(30).await;
    site.check_tidy();
    assert_eq!(stub.dials().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn audio_that_stalls_for_good_ends_the_call_and_leaves_nothing() {
    for media in ways() {
        let stall = Stall {
            after_frames: 150,
            lasts: Duration::from_secs(3_600),
        };
        let setup = Setup {
            stall: Some(stall),
            ..Setup::default()
        };
        let site = at(&stub(settings(&setup)).await, media).await;
        site.over(interviewing_agent(), COOPERATIVE)
            .await
            .site
            .ends_tidy(1)
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_answered_call_whose_audio_never_opens_is_not_left_behind() {
    let stub = sound().await;
    let site = at(&stub, websocket(Codec::Ulaw)).await;
    // Asterisk connects to an address where nothing listens.
    stub.serve_media_to("http://127.0.0.1:1");
    let id = site.call(COOPERATIVE).await;
    site.world.until_over(&id, 180).await;
    site.world.pass(5).await;
    assert_eq!((stub.live_calls(), stub.channels()), (0, vec![]));
    assert_eq!(stub.bridges(), BTreeMap::new());
}
