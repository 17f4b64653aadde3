//! What goes wrong on the way to an Asterisk: lost answers, lost events, lost starts, lost audio.

use std::{collections::BTreeMap, time::Duration};

use sim::stub_carriers::asterisk::{AsteriskFaults, AsteriskSettings};

use super::{COOPERATIVE, Over, account, call, check_tidy, check_words, faulty, until, ways, world_with};
use support::{phone_log::PhoneLog, words::interviewing_agent};

#[tokio::test(start_paused = true)]
async fn a_lost_dial_answer_is_found_again_and_never_dialed_again() {
    let stub = faulty(AsteriskFaults {
        lost_answers: true,
        ..AsteriskFaults::default()
    })
    .await;
    let world = world_with(&stub, account(&stub)).await;
    let id = call(&world, COOPERATIVE).await;
    world.until_over(&id, 120).await;
    world.pass(120).await;
    check_words(&world.read(&id).await, &PhoneLog::new(stub.entries()), COOPERATIVE);
    assert_eq!(stub.dials().len(), 1);
    check_tidy(&stub);
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_while_events_are_lost_and_its_end_is_found() {
    let stub = faulty(AsteriskFaults::default()).await;
    let world = world_with(&stub, account(&stub)).await;
    let id = call(&world, COOPERATIVE).await;
    until(30, "conversation", || {
        stub.bridges().values().any(|inside| inside.len() == 2)
    })
    .await;
    world.pass(3).await;
    stub.lose_events();
    // The callee says goodbye meanwhile, of which nobody tells.
    until(120, "end of the telephone", || stub.live_calls() == 0).await;
    stub.let_events_in();
    world.until_over(&id, 60).await;
    world.pass(30).await;
    check_words(&world.read(&id).await, &PhoneLog::new(stub.entries()), COOPERATIVE);
    check_tidy(&stub);
    assert!(stub.event_sockets() >= 2);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_missed_is_found_with_the_events() {
    let stub = faulty(AsteriskFaults::default()).await;
    let world = world_with(&stub, account(&stub)).await;
    let id = call(&world, COOPERATIVE).await;
    until(10, "dial", || !stub.dials().is_empty()).await;
    stub.lose_events();
    until(30, "channel", || stub.live_calls() == 1).await;
    world.pass(6).await;
    assert_eq!(stub.bridges(), BTreeMap::new());
    stub.let_events_in();
    world.until_over(&id, 120).await;
    world.pass(5).await;
    let conversation = world.read(&id).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    check_tidy(&stub);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_dialed_while_events_are_not_heard() {
    let stub = faulty(AsteriskFaults::default()).await;
    stub.lose_events();
    let world = world_with(&stub, account(&stub)).await;
    let id = call(&world, COOPERATIVE).await;
    world.pass(20).await;
    assert_eq!(stub.dials(), []);
    stub.let_events_in();
    world.until_over(&id, 180).await;
    world.pass(5).await;
    check_words(&world.read(&id).await, &PhoneLog::new(stub.entries()), COOPERATIVE);
}

#[tokio::test(start_paused = true)]
async fn a_restart_ends_what_nobody_knows_any_more() {
    let stub = faulty(AsteriskFaults::default()).await;
    let world = world_with(&stub, account(&stub)).await;
    let id = call(&world, COOPERATIVE).await;
    until(30, "conversation", || {
        stub.bridges().values().any(|inside| inside.len() == 2)
    })
    .await;
    world.pass(3).await;
    let world = world.restart().await;
    world.until_over(&id, 120).await;
    world.pass(30).await;
    check_tidy(&stub);
    assert_eq!(stub.dials().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stall_of_the_audio_is_outlived() {
    for media in ways() {
        let faults = AsteriskFaults {
            stall: Some((150, Duration::from_secs(2))),
            ..AsteriskFaults::default()
        };
        let settings = AsteriskSettings {
            faults,
            ..AsteriskSettings::default()
        };
        let over = Over::of(settings, media, interviewing_agent(), COOPERATIVE).await;
        over.check_completed();
        over.check_interviewed();
        assert_eq!(over.legs(), 1);
        over.world.pass(5).await;
        check_tidy(&over.stub);
    }
}

#[tokio::test(start_paused = true)]
async fn audio_that_stalls_for_good_ends_the_call_and_leaves_nothing() {
    for media in ways() {
        let faults = AsteriskFaults {
            stall: Some((150, Duration::from_secs(3_600))),
            ..AsteriskFaults::default()
        };
        let settings = AsteriskSettings {
            faults,
            ..AsteriskSettings::default()
        };
        let over = Over::of(settings, media, interviewing_agent(), COOPERATIVE).await;
        over.world.pass(5).await;
        check_tidy(&over.stub);
        assert_eq!(over.stub.dials().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answered_call_whose_audio_never_opens_is_not_left_behind() {
    let stub = faulty(AsteriskFaults::default()).await;
    let world = world_with(&stub, account(&stub)).await;
    // Asterisk is sent where nobody listens.
    stub.serve_media_to("http://127.0.0.1:1");
    let id = call(&world, COOPERATIVE).await;
    world.until_over(&id, 180).await;
    world.pass(5).await;
    assert_eq!((stub.live_calls(), stub.channels()), (0, vec![]));
    assert_eq!(stub.bridges(), BTreeMap::new());
}
