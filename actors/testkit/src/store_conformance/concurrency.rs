//! Guarantees under concurrency: unique things stay unique, one of several changes wins, a stop is final.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::join_all;

use super::{Fixture, Scene, document, number};
use domain::ports::store::{CampaignStatus, NewContact, Permit, StoreError};

/// Runs the work `many` times at once, each in a task of its own.
async fn at_once<T: Send + 'static, W: Future<Output = T> + Send + 'static>(
    many: usize,
    scene: &Scene,
    work: impl Fn(Scene, usize) -> W,
) -> Vec<T> {
    let tasks = (0..many).map(|n| tokio::spawn(work(scene.clone(), n)));
    join_all(tasks).await.into_iter().map(Result::unwrap).collect()
}

pub async fn campaigns_made_at_once_have_creation_times_of_their_own(fixture: Fixture) {
    let scene = fixture.scene().await;
    let made = at_once(12, &scene, |scene, n| async move {
        scene.draft(&format!("Campaign {n}"), n..n + 2).await.created_at
    });
    let times: BTreeSet<_> = made.await.into_iter().collect();
    assert_eq!(times.len(), 12);
}

pub async fn one_of_many_changes_of_an_agent_wins(fixture: Fixture) {
    let scene = fixture.scene().await;
    let changed = at_once(8, &scene, |scene, n| async move {
        let document = document(&format!("Ada {n}"));
        scene.store.update_agent(scene.account, scene.agent, 1, document).await
    });
    let changed = changed.await;
    assert_eq!(changed.iter().flatten().count(), 1);
    let lost = changed.iter().filter(|row| **row == Err(StoreError::Stale));
    assert_eq!(lost.count(), 7);
    let row = scene.store.agent(scene.account, scene.agent).await.unwrap();
    assert_eq!(Some(&row), changed.iter().flatten().next());
}

pub async fn a_number_is_saved_by_one_of_many(fixture: Fixture) {
    let scene = fixture.scene().await;
    let saved = at_once(8, &scene, |scene, n| async move {
        let new = NewContact {
            phone_number: number(n % 2),
            name: Some(n.to_string()),
            email: None,
            extra: Default::default(),
        };
        scene.store.create_contact(scene.account, new, None).await
    });
    let saved = saved.await;
    assert_eq!(saved.iter().flatten().count(), 2);
    let lost = saved
        .iter()
        .filter(|row| **row == Err(StoreError::Exists("phoneNumber")));
    assert_eq!(lost.count(), 6);
}

pub async fn after_a_stop_nothing_more_is_claimed_or_dialed(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..100).await;
    let callers = (0..6).map(|_| {
        let scene = scene.clone();
        tokio::spawn(async move {
            let mut dialing = 0;
            loop {
                let claimed = scene.claim(campaign, 3).await;
                if claimed.is_empty() {
                    return dialing;
                }
                for attempt in claimed {
                    match scene.permit(attempt.claim).await.unwrap() {
                        Permit::Granted { .. } => dialing += 1,
                        Permit::CampaignNotRunning => {}
                        other => panic!("{other:?}"),
                    }
                }
            }
        })
    });
    let callers: Vec<_> = callers.collect();
    while scene.store.progress(campaign).await.unwrap().in_progress < 10 {
        tokio::task::yield_now().await;
    }
    scene.turn(campaign, CampaignStatus::Stopped).await;
    // Later claims get nothing.
    assert!(scene.claim(campaign, 3).await.is_empty());
    let dialed: i64 = join_all(callers).await.into_iter().map(Result::unwrap).sum();
    let progress = scene.store.progress(campaign).await.unwrap();
    assert_eq!(progress.in_progress, dialed);
    assert_eq!(progress.pending, 100 - dialed);
    let remaining = scene.store.remaining(campaign).await.unwrap();
    assert_eq!((remaining.open, remaining.later), (dialed, 0));
}

pub async fn a_number_is_not_called_once_it_is_on_the_list(fixture: Fixture) {
    let scene = fixture.scene().await;
    let campaign = scene.running(0..24).await;
    let claims = Arc::new(scene.claim(campaign, 24).await);
    let permits = at_once(24, &scene, |scene, n| {
        let claims = Arc::clone(&claims);
        async move {
            // Others keep asking for their permits.
            if n % 2 == 0 {
                scene.store.add_do_not_call(scene.account, &number(n)).await.unwrap();
            }
            scene.permit(claims[n].claim).await.unwrap()
        }
    });
    for (n, permit) in permits.await.into_iter().enumerate() {
        let granted = matches!(permit, Permit::Granted { .. });
        assert_eq!((granted, permit == Permit::DoNotCall), (n % 2 == 1, n % 2 == 0), "{n}");
    }
}
