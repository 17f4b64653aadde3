//! Imports, lists and changes of state.

use std::time::Duration;

use super::{Fixture, change, contact, number};
use domain::{
    id::{AccountId, CampaignId},
    ports::store::{ActiveCampaign, CampaignFilter, CampaignStatus, Progress, StateChange, StoreError},
    time::{Clock, Timestamp},
};

pub async fn an_import_is_seen_by_no_reader_until_it_is_finished(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let new = scene.new_campaign("Spring");
    let import = store.begin_import(scene.account, new.clone()).await.unwrap();
    store.append_contacts(import, &[contact(1), contact(2)]).await.unwrap();

    assert_eq!(store.campaign(scene.account, import).await, Err(StoreError::NotFound));
    assert_eq!(store.campaign_contacts(import, 0, 9).await, Err(StoreError::NotFound));
    assert_eq!(store.progress(import).await, Err(StoreError::NotFound));
    assert_eq!(store.remaining(import).await, Err(StoreError::NotFound));
    let running = store.change_state(import, 1, change(CampaignStatus::Running)).await;
    assert_eq!(running, Err(StoreError::NotFound));
    let list = store.campaigns(scene.account, CampaignFilter::default(), 10).await;
    assert_eq!(list, Ok(vec![]));
    assert!(store.claim(scene.node, import, 10).await.unwrap().is_empty());

    scene.clock.advance(Duration::from_secs(5));
    let row = store.finish_import(import, None).await.unwrap();
    assert_eq!(row.created_at, scene.clock.now());
    assert_eq!(
        (row.status, row.active, row.scheduled),
        (CampaignStatus::Draft, false, false)
    );
    assert_eq!((row.contact_count, row.start_index), (2, 0));
    assert_eq!((&row.name, row.agent), (&new.name, new.agent));
    assert_eq!((&row.schedule, &row.follow_up), (&new.schedule, &new.follow_up));
    assert_eq!(row.options.max_concurrent_calls, Some(7_000));
    assert_eq!(store.campaign(scene.account, import).await, Ok(row));
    // It is no longer an import.
    assert_eq!(store.finish_import(import, None).await, Err(StoreError::NotFound));
    assert_eq!(
        store.append_contacts(import, &[contact(3)]).await,
        Err(StoreError::NotFound)
    );
    store.abandon_import(import).await.unwrap();
    assert_eq!(store.sweep_imports().await, Ok(0));
    assert_eq!(store.campaign_contacts(import, 0, 9).await.unwrap().len(), 2);
}

pub async fn contacts_keep_their_order_and_fields(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let saved = scene.saved(2).await;
    let row = scene.draft("Spring", 0..5).await;
    let mut expected: Vec<_> = (0..5).map(contact).collect();
    expected[2].contact = Some(saved.id);
    assert_eq!(store.campaign_contacts(row.id, 0, 10).await.as_ref(), Ok(&expected));
    let some = store.campaign_contacts(row.id, 1, 2).await.unwrap();
    assert_eq!(some, expected[1..3]);
    // Keys of the further fields keep their order.
    let keys: Vec<_> = some[0].extra.keys().cloned().collect();
    assert_eq!(keys, ["persona", "zebra", "apple"]);
    let other = store.campaign_contacts(CampaignId::new(), 0, 10).await;
    assert_eq!(other, Err(StoreError::NotFound));
    assert_eq!(
        store.campaign(AccountId::new(), row.id).await,
        Err(StoreError::NotFound)
    );
}

pub async fn a_large_import_is_whole(fixture: Fixture) {
    let scene = fixture.scene().await;
    let row = scene.draft("Large", 0..4_321).await;
    assert_eq!((row.contact_count, row.start_index), (4_321, 0));
    let all = scene.store.campaign_contacts(row.id, 0, 5_000).await.unwrap();
    let numbers: Vec<_> = all.into_iter().map(|contact| contact.phone_number).collect();
    assert_eq!(numbers, (0..4_321).map(number).collect::<Vec<_>>());
    assert_eq!(scene.store.progress(row.id).await.unwrap().pending, 4_321);
}

pub async fn abandoned_imports_are_swept(fixture: Fixture) {
    let scene = fixture.scene().await;
    let store = &scene.store;
    let kept = scene.draft("Kept", 0..1).await;
    let mut imports = Vec::new();
    for name in ["One", "Two", "Three"] {
        let new = scene.new_campaign(name);
        let import = store.begin_import(scene.account, new).await.unwrap();
        store.append_contacts(import, &[contact(1)]).await.unwrap();
        imports.push(import);
    }
    store.abandon_import(imports[0]).await.unwrap();
    store.abandon_import(imports[0]).await.unwrap();
    assert_eq!(store.finish_import(imports[0], None).await, Err(StoreError::NotFound));
    // Its node is alive, however long it takes.
    scene.clock.advance(Duration::from_secs(2 * 60 * 60));
    assert_eq!(store.sweep_imports().await, Ok(0));
    let heir = scene.heir().await;
    let of_the_living = store.begin_import(scene.account, scene.new_campaign("Four")).await;
    assert_eq!(store.sweep_imports().await, Ok(2));
    store.heartbeat(heir.node).await.unwrap();
    assert_eq!(store.finish_import(imports[1], None).await, Err(StoreError::NotFound));
    assert_eq!(store.sweep_lists().await, Ok(2));
    assert_eq!(store.sweep_lists().await, Ok(0));
    store.abandon_import(of_the_living.unwrap()).await.unwrap();
    assert_eq!(store.campaign_contacts(kept.id, 0, 9).await, Ok(vec![contact(0)]));
    assert_eq!(store.campaign(scene.account, kept.id).await, Ok(kept));
}

pub async fn creation_times_are_unique_in_an_account(fixture: Fixture) {
    let scene = fixture.scene().await;
    let mut times = Vec::new();
    for name in ["One", "Two", "Three"] {
        times.push(scene.draft(name, 0..1).await.created_at);
    }
    let now = scene.clock.now();
    assert_eq!(times, [now, Timestamp(now.0 + 1), Timestamp(now.0 + 2)]);
}

pub async fn campaigns_are_listed_newest_first_and_filtered(fixture: Fixture) {
    let scene = fixture.scene().await;
    let mut rows = Vec::new();
    for name in ["Spring 100%", "Été", "spring_2"] {
        rows.push(scene.draft(name, 0..1).await);
        scene.clock.advance(Duration::from_secs(1));
    }
    rows[0] = scene.turn(rows[0].id, CampaignStatus::Running).await;
    let found = async |filter: CampaignFilter, limit| {
        let list = scene.store.campaigns(scene.account, filter, limit).await.unwrap();
        let position = |id| rows.iter().position(|row| row.id == id).unwrap();
        list.into_iter().map(|row| position(row.id)).collect::<Vec<_>>()
    };
    let by_name = |name: &str| CampaignFilter {
        name: Some(name.to_owned()),
        ..CampaignFilter::default()
    };
    assert_eq!(found(CampaignFilter::default(), 10).await, [2, 1, 0]);
    assert_eq!(found(CampaignFilter::default(), 2).await, [2, 1]);
    assert_eq!(found(by_name("SPRING"), 10).await, [2, 0]);
    assert_eq!(found(by_name("éTÉ"), 10).await, [1]);
    // Wildcards of SQL are ordinary characters.
    assert_eq!(found(by_name("0%"), 10).await, [0]);
    assert_eq!(found(by_name("g_"), 10).await, [2]);
    assert_eq!(found(by_name("!"), 10).await, [0; 0]);
    let running = CampaignFilter {
        status: Some(CampaignStatus::Running),
        ..CampaignFilter::default()
    };
    assert_eq!(found(running, 10).await, [0]);
    let idle = CampaignFilter {
        active: Some(false),
        ..CampaignFilter::default()
    };
    assert_eq!(found(idle, 10).await, [2, 1]);
    let next_page = CampaignFilter {
        before: Some(rows[1].created_at),
        ..CampaignFilter::default()
    };
    assert_eq!(found(next_page, 10).await, [0]);
    let others = scene
        .store
        .campaigns(AccountId::new(), CampaignFilter::default(), 10)
        .await;
    assert_eq!(others, Ok(vec![]));
}

pub async fn a_change_of_state_needs_the_present_version(fixture: Fixture) {
    let scene = fixture.scene().await;
    let draft = scene.draft("Spring", 0..2).await;
    scene.clock.advance(Duration::from_secs(1));
    let wanted = StateChange {
        status: CampaignStatus::Delayed,
        active: true,
        scheduled: true,
        next_run_at: Some(Timestamp(77)),
        opens_from: None,
        closes_at: None,
        reason: Some("no line free".to_owned()),
        cancel_waiting: false,
    };
    let changed = scene
        .store
        .change_state(draft.id, draft.version, wanted.clone())
        .await
        .unwrap();
    assert_eq!(changed.version, draft.version + 1);
    assert_eq!((changed.status, changed.active), (wanted.status, true));
    assert_eq!((changed.scheduled, changed.next_run_at), (true, wanted.next_run_at));
    assert_eq!(
        (&changed.reason, changed.updated_at),
        (&wanted.reason, scene.clock.now())
    );
    assert_eq!(changed.created_at, draft.created_at);
    assert_eq!(
        scene.store.campaign(scene.account, draft.id).await.as_ref(),
        Ok(&changed)
    );

    let stale = scene.store.change_state(draft.id, draft.version, wanted.clone()).await;
    assert_eq!(stale, Err(StoreError::Stale));
    let unknown = scene.store.change_state(CampaignId::new(), 1, wanted).await;
    assert_eq!(unknown, Err(StoreError::NotFound));
    assert_eq!(scene.store.campaign(scene.account, draft.id).await, Ok(changed));
    let progress = Progress {
        pending: 2,
        ..Progress::default()
    };
    assert_eq!(scene.store.progress(draft.id).await, Ok(progress));
}

pub async fn active_campaigns_are_those_a_node_takes_up(fixture: Fixture) {
    let scene = fixture.scene().await;
    let mut expected = Vec::new();
    for status in CampaignStatus::ALL {
        for active in [false, true] {
            let draft = scene.draft(status.as_str(), 0..1).await;
            let state = StateChange {
                active,
                ..change(status)
            };
            let row = scene.store.change_state(draft.id, 1, state).await.unwrap();
            let wanted = match status {
                CampaignStatus::Waiting | CampaignStatus::Running | CampaignStatus::Delayed => true,
                CampaignStatus::Paused => active,
                _ => false,
            };
            expected.extend(wanted.then_some(row));
        }
    }
    let marks = expected.iter().map(|row| ActiveCampaign {
        id: row.id,
        account: row.account,
        version: row.version,
    });
    let marks: Vec<_> = marks.collect();
    assert_eq!(scene.store.active_campaigns().await, Ok(expected));
    let mut active = scene.store.active_versions().await.unwrap();
    active.sort_by_key(|mark| marks.iter().position(|expected| expected == mark));
    assert_eq!(active, marks);
}

pub async fn a_stop_that_hangs_up_is_told_to_every_node(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..1).await;
    let stopped = scene.turn(campaign, CampaignStatus::Stopped).await;
    let wanted = async |version: i64| scene.store.hang_up_wanted(campaign, version).await;
    assert_eq!(wanted(stopped.version).await, Ok(false));
    scene.store.want_hang_up(campaign, stopped.version).await.unwrap();
    assert_eq!(wanted(stopped.version).await, Ok(true));
    // The request ends with the next change of state.
    let running = scene.turn(campaign, CampaignStatus::Running).await;
    assert_eq!(wanted(running.version).await, Ok(false));
}
