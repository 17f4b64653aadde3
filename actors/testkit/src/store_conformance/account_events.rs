//! Events of accounts: each change has one event, in one order, visible to its account only.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Fixture, Scene, contact, deliveries::busy, new_account, number, outcome};
use domain::ports::{
    carrier::CarrierCallId,
    store::{
        AccountEvent, Analysis, CampaignStatus, ContactCalls, ConversationStatus, EventFact, Fact, Outcome,
        PERSON_WANTED, SETTLING_US, StateChange,
    },
};

/// Publishes and returns all events of the scene's account.
pub(super) async fn published(scene: &Scene) -> Vec<AccountEvent> {
    while scene.store.publish_events(3).await.unwrap() > 0 {}
    scene.store.events_after(scene.account, 0, 1_000).await.unwrap()
}

fn types(events: &[AccountEvent]) -> Vec<&'static str> {
    events.iter().map(|event| event.event_type.as_str()).collect()
}

pub async fn account_events_are_signalled_when_they_are_written_and_published(fixture: Fixture) {
    let scene = fixture.scene().await;
    published(&scene).await;
    let signals = scene.store.event_signals();
    let bob = new_account("bob@example.com");
    let bobs = signals.published(bob.account.id);
    let (mut written, mut published_here) = (signals.written(), signals.published(scene.account));
    scene.store.create_account(bob).await.unwrap();
    assert!(!written.has_changed().unwrap(), "nothing happened that has an event");
    scene.store.add_do_not_call(scene.account, &number(0)).await.unwrap();
    assert!(written.has_changed().unwrap());
    written.mark_unchanged();
    let last = published(&scene).await.last().unwrap().place;
    assert!(published_here.has_changed().unwrap());
    assert_eq!(*published_here.borrow_and_update(), last);
    assert!(!bobs.has_changed().unwrap() && !written.has_changed().unwrap());
}

pub async fn account_events_tell_of_every_change_once_and_in_order(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..1).await;
    let claim = scene.dialing(campaign).await;
    let leg = CarrierCallId("leg".to_owned());
    for _ in 0..2 {
        scene.store.dialed(claim, &leg).await.unwrap();
        scene.store.answered(claim, scene.now()).await.unwrap();
        let wanted = Fact::Event(EventFact {
            name: PERSON_WANTED.to_owned(),
            at_ms: 5,
            detail: "{}".to_owned(),
        });
        scene.store.append_facts(&[(claim.attempt, wanted)]).await.unwrap();
    }
    scene.clock.advance(Duration::from_secs(65));
    let completed = outcome(ConversationStatus::Completed);
    scene.store.finish(claim, completed, None).await.unwrap();
    let job = scene.store.due_analyses(1).await.unwrap().remove(0);
    let analysis = Analysis::of_summary("They said yes.".to_owned());
    scene.store.save_analysis(&job, analysis).await.unwrap();
    let row = scene.store.campaign(scene.account, campaign).await.unwrap();
    let delayed = |reason: &str| StateChange {
        reason: Some(reason.to_owned()),
        ..super::change(CampaignStatus::Delayed)
    };
    let why = "no \"line\" is free";
    scene
        .store
        .change_state(campaign, row.version, delayed(why))
        .await
        .unwrap();
    let stale = scene
        .store
        .change_state(campaign, row.version, super::change(CampaignStatus::Paused));
    stale.await.unwrap_err();
    let same = scene.store.change_state(campaign, row.version + 1, delayed("another"));
    same.await.unwrap();
    let failed = busy(&scene, 1).await;
    let events = published(&scene).await;
    assert_eq!(
        types(&events),
        [
            "campaign.draft",
            "campaign.running",
            "call.started",
            "call.answered",
            "call.person_wanted",
            "call.ended",
            "call.analysed",
            "campaign.delayed",
            "campaign.draft",
            "campaign.running",
            "call.ended",
        ]
    );
    assert!(events.is_sorted_by(|a, b| a.place < b.place));
    let data = |n: usize| events[n].body()["data"].clone();
    let of_campaign = json!({ "campaignId": campaign, "agentId": scene.agent });
    let with = |mut all: Value, more: &Value| {
        all.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        all
    };
    assert_eq!(data(0), with(of_campaign.clone(), &json!({ "status": "draft" })));
    assert_eq!(
        data(7),
        with(
            of_campaign.clone(),
            &json!({ "previousStatus": "running", "status": "delayed", "reason": why })
        )
    );
    let of_call = with(
        of_campaign,
        &json!({ "conversationId": claim.attempt, "direction": "outbound", "contactName": "Näme 0",
                 "variables": contact(0).extra }),
    );
    for n in [2, 3, 4, 6] {
        assert_eq!(data(n), of_call);
    }
    let ended = json!({ "status": "completed", "conversationDuration": 65, "voiceMailDetected": false,
                        "callTransferred": false });
    assert_eq!(data(5), with(of_call, &ended));
    let failure = data(10);
    assert_eq!(
        (&failure["conversationId"], &failure["errorMessage"]),
        (&json!(failed), &json!("busy"))
    );
    let body = events[5].body();
    assert_eq!(
        (&body["type"], body.as_object().unwrap().len()),
        (&json!("call.ended"), 3)
    );
    assert_eq!(body["timestamp"], events[5].created_at.to_iso8601());

    let bob = new_account("bob@example.com");
    let account = bob.account.id;
    scene.store.create_account(bob).await.unwrap();
    assert_eq!(scene.store.events_after(account, 0, 100).await, Ok(vec![]));
    assert_eq!(scene.store.last_event_place(account).await, Ok(0));
}

pub async fn an_opt_out_names_its_call_and_contact(fixture: Fixture) {
    let scene = fixture.scene().await;
    let saved = scene.saved(0).await.id;
    let campaign = scene.running(0..1).await;
    let claim = scene.completed(campaign, 1).await;
    for _ in 0..2 {
        scene
            .store
            .opt_out(scene.account, &number(0), claim.attempt)
            .await
            .unwrap();
        scene.store.add_do_not_call(scene.account, &number(1)).await.unwrap();
    }
    let listed = async || {
        let rows = scene.store.do_not_call(scene.account, None, None, 9).await.unwrap();
        let mut calls: Vec<_> = rows.into_iter().map(|row| (row.phone_number, row.call)).collect();
        calls.sort();
        calls
    };
    assert_eq!(listed().await, [(number(0), Some(claim.attempt)), (number(1), None)]);
    let events = published(&scene).await;
    let opt_outs: Vec<Value> = events[5..].iter().map(AccountEvent::body).collect();
    assert_eq!(opt_outs.len(), 2, "{opt_outs:?}");
    let of_call = json!({ "conversationId": claim.attempt, "campaignId": campaign, "agentId": scene.agent,
                          "contactId": saved });
    assert_eq!(opt_outs[0]["data"], of_call);
    assert_eq!(
        (&opt_outs[1]["type"], &opt_outs[1]["data"]),
        (&json!("contact.opted_out"), &json!({}))
    );
    scene.clock.advance(Duration::from_secs(60));
    scene
        .store
        .delete_conversation(scene.account, claim.attempt)
        .await
        .unwrap();
    assert_eq!(listed().await, [(number(0), None), (number(1), None)]);
}

pub async fn a_reader_goes_on_after_its_place_even_if_the_event_was_forgotten(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    for n in 0..6 {
        store.add_do_not_call(scene.account, &number(n)).await.unwrap();
        scene.clock.advance(Duration::from_secs(1));
    }
    let events = published(&scene).await;
    let after = async |place: i64| {
        let later = store.events_after(scene.account, place, 100).await.unwrap();
        later.iter().map(|event| event.id).collect::<Vec<_>>()
    };
    let ids: Vec<_> = events.iter().map(|event| event.id).collect();
    assert_eq!(after(events[1].place).await, ids[2..]);
    assert_eq!(store.last_event_place(scene.account).await, Ok(events[5].place));
    assert_eq!(after(0).await, ids);
    assert_eq!(after(events[5].place).await, []);
    assert_eq!(store.events_after(scene.account, 0, 2).await, Ok(events[..2].to_vec()));
    let until = events[4].created_at;
    let mut forgotten = Vec::new();
    while let some @ 1.. = store.forget_events(until, 3).await.unwrap() {
        forgotten.push(some);
    }
    assert_eq!(forgotten, [3, 1]);
    assert_eq!(after(events[1].place).await, ids[4..]);
}

pub async fn events_written_at_once_are_read_in_one_order_without_gap(fixture: Fixture) {
    let scene = fixture.scene().await;
    const WRITERS: usize = 8;
    const EACH: usize = 5;
    let writer = |n: usize| {
        let scene = scene.clone();
        tokio::spawn(async move {
            for k in 0..EACH {
                let number = number(n * EACH + k);
                scene.store.add_do_not_call(scene.account, &number).await.unwrap();
            }
        })
    };
    let publisher = || {
        let scene = scene.clone();
        tokio::spawn(async move {
            loop {
                scene.store.publish_events(7).await.unwrap();
                tokio::task::yield_now().await;
            }
        })
    };
    let publishers = [publisher(), publisher()];
    let writers: Vec<_> = (0..WRITERS).map(writer).collect();
    let (mut place, mut read) = (0, Vec::new());
    while read.len() < WRITERS * EACH {
        for event in scene.store.events_after(scene.account, place, 4).await.unwrap() {
            assert!(event.place > place);
            place = event.place;
            read.push(event.id);
        }
        tokio::task::yield_now().await;
    }
    for writer in writers {
        writer.await.unwrap();
    }
    publishers.iter().for_each(tokio::task::JoinHandle::abort);
    let all = scene.store.events_after(scene.account, 0, 1_000).await.unwrap();
    assert_eq!(read, all.iter().map(|event| event.id).collect::<Vec<_>>());
}

pub async fn events_of_an_erased_person_are_deleted(fixture: Fixture) {
    let scene = fixture.scene().await;
    let saved = scene.saved(0).await.id;
    let campaign = scene.running(0..2).await;
    let erased = scene.completed(campaign, 1).await.attempt;
    let kept = scene.completed(campaign, 1).await.attempt;
    assert_eq!(published(&scene).await.len(), 8);
    scene
        .clock
        .advance(Duration::from_micros(SETTLING_US.unsigned_abs() + 1));
    let erasure = scene.store.erase_contact(scene.account, saved).await.unwrap();
    assert_eq!(erasure, ContactCalls::Over(vec![erased]));
    let events = published(&scene).await;
    let calls: Vec<_> = events.iter().filter_map(|event| event.attempt).collect();
    assert_eq!((events.len(), calls), (5, vec![kept; 3]));
}

pub async fn events_and_erased_calls_have_only_the_kind_of_an_error(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..2).await;
    for (n, (error, kind, left)) in [
        (
            "carrier-error: no credit for +15551234567",
            "carrier-error",
            "carrier-error",
        ),
        // Such a call is never repeated.
        (
            "carrier-error: outcome unknown",
            "carrier-error",
            "carrier-error: outcome unknown",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let saved = scene.saved(n).await.id;
        let claim = scene.dialing(campaign).await;
        let failed = Outcome {
            error: Some(error.to_owned()),
            ..outcome(ConversationStatus::Failed)
        };
        scene.store.finish(claim, failed, None).await.unwrap();
        let events = published(&scene).await;
        assert_eq!(events.last().unwrap().body()["data"]["errorMessage"], kind);
        let shown = async || {
            let row = scene.store.conversation(scene.account, claim.attempt).await.unwrap();
            row.error
        };
        assert_eq!(shown().await.as_deref(), Some(error));
        let settling = Duration::from_micros(SETTLING_US.unsigned_abs() + 1);
        scene.clock.advance(settling);
        scene.store.erase_contact(scene.account, saved).await.unwrap();
        assert_eq!(shown().await.as_deref(), Some(left));
    }
}
