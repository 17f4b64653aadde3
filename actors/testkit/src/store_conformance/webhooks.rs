//! Webhook endpoints, and the deliveries of events to them.

use std::time::Duration;

use super::{Fixture, Scene, account_events::published, deliveries::leased, new_account, number};
use domain::{
    deliveries::{DeliveryKind, endpoint_lane},
    id::{AccountId, DeliveryId, WebhookId},
    ports::store::{
        DISABLED, Delivery, DeliveryState, MAX_WEBHOOKS, RecentDeliveries, Settled, Sought, Standing, StoreError,
        TypePattern, WebhookEndpoint, WebhookRow,
    },
    time::Clock,
};

fn wanting(types: &[&str]) -> WebhookEndpoint {
    WebhookEndpoint {
        url: "https://example.com/events".to_owned(),
        description: "Ünser Brett".to_owned(),
        types: types.iter().map(|text| TypePattern::parse(text).unwrap()).collect(),
        enabled: true,
    }
}

async fn made(scene: &Scene, account: AccountId, types: &[&str]) -> WebhookRow {
    let made = scene
        .store
        .create_webhook(account, wanting(types), "whsec_b25l".to_owned(), None);
    made.await.unwrap().unwrap()
}

async fn another_account(scene: &Scene) -> AccountId {
    let bob = new_account("bob@example.com");
    let account = bob.account.id;
    scene.store.create_account(bob).await.unwrap();
    account
}

/// Adds a number to the do-not-call list and publishes the event.
async fn opts_out(scene: &Scene, n: usize) {
    scene.store.add_do_not_call(scene.account, &number(n)).await.unwrap();
    published(scene).await;
}

pub async fn a_webhook_belongs_to_its_account_and_is_changed_under_its_version(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, ada, bob) = (&scene.store, scene.account, another_account(&scene).await);
    let row = made(&scene, ada, &["*"]).await;
    assert_eq!(
        (row.version, row.created_at, row.updated_at),
        (1, scene.now(), scene.now())
    );
    assert_eq!(row.endpoint, wanting(&["*"]));
    assert_eq!(store.webhook(ada, row.id).await.as_ref(), Ok(&row));
    assert_eq!(store.webhook(bob, row.id).await, Err(StoreError::NotFound));
    let nobody = store.create_webhook(AccountId::new(), wanting(&["*"]), "s".to_owned(), None);
    assert_eq!(nobody.await, Err(StoreError::NotFound));
    scene.clock.advance(Duration::from_secs(1));
    let change =
        |account, version| store.update_webhook(account, row.id, version, wanting(&["call.*", "campaign.paused"]));
    let changed = change(ada, 1).await.unwrap();
    assert_eq!((changed.version, changed.updated_at), (2, scene.clock.now()));
    assert_eq!(changed.endpoint, wanting(&["call.*", "campaign.paused"]));
    assert_eq!(change(ada, 1).await, Err(StoreError::Stale));
    assert_eq!(change(bob, 2).await, Err(StoreError::NotFound));
    let mut all = vec![row.id];
    while let Some(more) = store
        .create_webhook(ada, wanting(&["*"]), "s".to_owned(), None)
        .await
        .unwrap()
    {
        all.push(more.id);
    }
    assert_eq!(all.len(), MAX_WEBHOOKS);
    made(&scene, bob, &["*"]).await;
    all.reverse();
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = store.webhooks(ada, after, 7).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some((last.created_at, last.id));
        seen.extend(page.iter().map(|row| row.id));
    }
    assert_eq!(seen, all);
    assert_eq!(store.test_webhook(bob, row.id).await, Err(StoreError::NotFound));
    assert_eq!(
        store.rotate_secret(bob, row.id, "s".to_owned()).await,
        Err(StoreError::NotFound)
    );
    assert_eq!(store.delete_webhook(bob, row.id).await, Err(StoreError::NotFound));
    store.delete_webhook(ada, row.id).await.unwrap();
    assert_eq!(store.delete_webhook(ada, row.id).await, Err(StoreError::NotFound));
}

pub async fn events_go_to_the_webhooks_that_want_them(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let bob = another_account(&scene).await;
    opts_out(&scene, 0).await;
    scene.clock.advance(Duration::from_secs(1));
    let all = made(&scene, account, &["*"]).await;
    let calls = made(&scene, account, &["call.*"]).await;
    let mine = made(&scene, account, &["contact.opted_out"]).await;
    made(&scene, bob, &["*"]).await;
    opts_out(&scene, 1).await;
    let mut sent = leased(&scene).await;
    sent.sort_by_key(|delivery| delivery.target.clone());
    let found: Vec<_> = sent
        .iter()
        .map(|delivery| {
            (
                delivery.account,
                delivery.attempt,
                delivery.kind,
                delivery.target.clone(),
            )
        })
        .collect();
    let expected = [all.id, mine.id].map(|id| (account, None, DeliveryKind::Event, id.to_string()));
    assert_eq!(found, expected);
    assert_eq!(sent[0].lane, endpoint_lane(account, all.id));
    let message = store.webhook_message(sent[0].id).await.unwrap();
    assert_eq!(
        (message.url.as_str(), message.secrets.current.as_str()),
        ("https://example.com/events", "whsec_b25l")
    );
    let event = message.event.unwrap();
    assert_eq!(
        store.events_after(account, event.place - 1, 10).await,
        Ok(vec![event.clone()])
    );
    assert_eq!(leased(&scene).await, [], "they are leased");
    store.settle_delivery(&sent[0], Settled::Delivered).await.unwrap();
    let again = store.settle_delivery(&sent[0], Settled::Delivered).await;
    assert_eq!(again, Err(StoreError::Fenced));
    let error = "the receiver answered 500".to_owned();
    let put_off = Settled::PutOff {
        pause: Duration::from_secs(5),
        lane_too: false,
        error: error.clone(),
    };
    let reply = Some("später\n".to_owned());
    let told = Delivery {
        reply: reply.clone(),
        ..sent[1].clone()
    };
    store.settle_delivery(&told, put_off).await.unwrap();
    opts_out(&scene, 2).await;
    let rows = store.webhook_deliveries(mine.id, None, 10).await.unwrap();
    assert_eq!(rows[1].reply, reply);
    let states: Vec<_> = rows
        .iter()
        .map(|row| (row.state, row.failed, row.last_error.clone()))
        .collect();
    let pending = DeliveryState::Pending;
    assert_eq!(states, [(pending, 0, None), (pending, 1, Some(error))]);
    assert_eq!(rows[1].event, Some(event));
    assert_eq!(rows[1].due_at, scene.now().plus(Duration::from_secs(5)));
    let older = store.webhook_deliveries(mine.id, Some(rows[0].id), 10).await.unwrap();
    assert_eq!(older, rows[1..]);
    assert_eq!(store.webhook_deliveries(calls.id, None, 10).await, Ok(vec![]));
    let recent = RecentDeliveries {
        succeeded: 1,
        failed: 0,
        pending: 1,
    };
    assert_eq!(store.recent_deliveries(all.id).await, Ok(recent));

    // While it is disabled, its pending deliveries are given up and no new ones are created.
    let off = WebhookEndpoint {
        enabled: false,
        ..mine.endpoint.clone()
    };
    store.update_webhook(account, mine.id, mine.version, off).await.unwrap();
    opts_out(&scene, 3).await;
    let rows = store.webhook_deliveries(mine.id, None, 10).await.unwrap();
    let given_up = (DeliveryState::GivenUp, Some(DISABLED.to_owned()));
    let states: Vec<_> = rows.iter().map(|row| (row.state, row.last_error.clone())).collect();
    assert_eq!(states, [given_up.clone(), given_up]);
    assert!(store.webhook_message(rows[0].id).await.is_err());
    store.delete_webhook(account, all.id).await.unwrap();
    scene.clock.advance(Duration::from_secs(60));
    assert_eq!(leased(&scene).await, []);
    assert_eq!(store.webhook_deliveries(all.id, None, 10).await, Ok(vec![]));
}

pub async fn a_webhooks_delivery_is_sent_again_and_a_test_has_no_event(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let webhook = made(&scene, account, &["*"]).await;
    let other = made(&scene, account, &["call.*"]).await;
    let test = store.test_webhook(account, webhook.id).await.unwrap();
    assert_eq!((test.event.as_ref(), test.state), (None, DeliveryState::Pending));
    let sent = leased(&scene).await;
    assert_eq!(sent.iter().map(|delivery| delivery.id).collect::<Vec<_>>(), [test.id]);
    assert!(store.webhook_message(test.id).await.unwrap().event.is_none());
    let give_up = || Settled::GivenUp {
        error: "gone wrong".to_owned(),
    };
    store.settle_delivery(&sent[0], give_up()).await.unwrap();
    let not_its = store.resend_delivery(other.id, test.id).await;
    assert_eq!(not_its, Err(StoreError::NotFound));
    assert_eq!(
        store.resend_delivery(webhook.id, DeliveryId::new()).await,
        Err(StoreError::NotFound)
    );
    assert_eq!(
        store.resend_delivery(WebhookId::new(), test.id).await,
        Err(StoreError::NotFound)
    );
    let again = store.resend_delivery(webhook.id, test.id).await.unwrap();
    assert_eq!(
        (again.id, again.state, again.failed, again.last_error),
        (test.id, DeliveryState::Pending, 0, None)
    );
    let held = leased(&scene).await;
    assert_eq!((held[0].id, held[0].failed), (test.id, 0));
    // It is sent again during a try: the result of that try no longer counts.
    store.resend_delivery(webhook.id, test.id).await.unwrap();
    assert_eq!(
        store.settle_delivery(&held[0], give_up()).await,
        Err(StoreError::Fenced)
    );
    let tried = leased(&scene).await;
    scene.clock.advance(Duration::from_secs(5));
    store.renew_deliveries(&[(tried[0].id, tried[0].lease)]).await.unwrap();
    scene.clock.advance(Duration::from_secs(5));
    assert_eq!(leased(&scene).await, [], "renewed");
    store.settle_delivery(&tried[0], Settled::Delivered).await.unwrap();
    scene.clock.advance(Duration::from_secs(86_400));
    let forgotten = store.forget_events(scene.now(), 100).await;
    assert_eq!(forgotten, Ok(1));
    assert_eq!(store.webhook_deliveries(webhook.id, None, 10).await, Ok(vec![]));
}

pub async fn a_webhook_that_is_gone_is_disabled(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let webhook = made(&scene, account, &["*"]).await;
    opts_out(&scene, 0).await;
    opts_out(&scene, 1).await;
    let sent = leased(&scene).await;
    let error = "the receiver answered 410".to_owned();
    let gone = |url: &str| Settled::Gone {
        error: error.clone(),
        url: url.to_owned(),
    };
    // It answered at an address that is not the endpoint's any more: the delivery is due again.
    let old = gone("https://example.com/old");
    store.settle_delivery(&sent[0], old.clone()).await.unwrap();
    assert_eq!(store.settle_delivery(&sent[0], old).await, Err(StoreError::Fenced));
    assert!(store.webhook(account, webhook.id).await.unwrap().endpoint.enabled);
    let again = leased(&scene).await;
    assert_eq!(
        again
            .iter()
            .map(|delivery| (delivery.id, delivery.failed))
            .collect::<Vec<_>>(),
        [(sent[0].id, 0)]
    );
    store
        .settle_delivery(&again[0], gone(&webhook.endpoint.url))
        .await
        .unwrap();
    let row = store.webhook(account, webhook.id).await.unwrap();
    assert_eq!((row.endpoint.enabled, row.version), (false, 2));
    let rows = store.webhook_deliveries(webhook.id, None, 10).await.unwrap();
    let states: Vec<_> = rows.iter().map(|row| (row.state, row.last_error.clone())).collect();
    let given_up = (DeliveryState::GivenUp, Some(error));
    assert_eq!(states, [given_up.clone(), given_up]);
}

pub async fn a_test_a_resend_and_a_new_address_end_the_pause_of_a_webhook(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let webhook = made(&scene, account, &["*"]).await;
    let pause = async || {
        let tried = leased(&scene).await.remove(0);
        let put_off = Settled::PutOff {
            pause: Duration::from_secs(36_000),
            lane_too: true,
            error: "the receiver answered 429".to_owned(),
        };
        store.settle_delivery(&tried, put_off).await.unwrap();
        assert_eq!(leased(&scene).await, []);
        tried.id
    };
    let ids = async || {
        leased(&scene)
            .await
            .iter()
            .map(|delivery| delivery.id)
            .collect::<Vec<_>>()
    };
    store.test_webhook(account, webhook.id).await.unwrap();
    let first = pause().await;
    let test = store.test_webhook(account, webhook.id).await.unwrap();
    assert_eq!(ids().await, [test.id]);
    store.resend_delivery(webhook.id, test.id).await.unwrap();
    assert_eq!(pause().await, test.id);
    store.resend_delivery(webhook.id, first).await.unwrap();
    assert_eq!(pause().await, first);
    opts_out(&scene, 0).await;
    assert_eq!(ids().await, [], "the receiver asked for a pause");
    let change = async |version: i64, url: &str, description: &str| {
        let new = WebhookEndpoint {
            url: url.to_owned(),
            description: description.to_owned(),
            ..webhook.endpoint.clone()
        };
        store.update_webhook(account, webhook.id, version, new).await.unwrap();
    };
    change(1, &webhook.endpoint.url, "renamed").await;
    assert_eq!(ids().await, []);
    change(2, "https://example.com/new", "renamed").await;
    let lanes = store.due_lanes(Sought::ALL, 10).await.unwrap();
    assert_eq!(
        lanes.iter().map(|due| due.standing).collect::<Vec<_>>(),
        [Standing::New]
    );
    assert_eq!(ids().await.len(), 1);
}

pub async fn a_replaced_secret_of_a_webhook_is_valid_for_a_day(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let webhook = made(&scene, account, &["*"]).await;
    let test = store.test_webhook(account, webhook.id).await.unwrap();
    let secrets = async || {
        let secrets = store.webhook_message(test.id).await.unwrap().secrets;
        (secrets.current, secrets.previous)
    };
    assert_eq!(secrets().await, ("whsec_b25l".to_owned(), None));
    let new = "whsec_dHdv".to_owned();
    store.rotate_secret(account, webhook.id, new.clone()).await.unwrap();
    scene.clock.advance(Duration::from_secs(24 * 3_600 - 1));
    assert_eq!(secrets().await, (new.clone(), Some("whsec_b25l".to_owned())));
    scene.clock.advance(Duration::from_secs(1));
    assert_eq!(secrets().await, (new, None));
}

pub async fn a_webhook_gets_no_event_from_before_it_was_enabled_or_its_types_changed(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let change = async |row: WebhookRow, types: &[&str], enabled: bool| {
        scene.clock.advance(Duration::from_secs(1));
        let new = WebhookEndpoint {
            enabled,
            ..wanting(types)
        };
        let changed = store.update_webhook(account, row.id, row.version, new).await.unwrap();
        scene.clock.advance(Duration::from_secs(1));
        changed
    };
    let opt_out = async |n: usize| store.add_do_not_call(account, &number(n)).await.map(drop).unwrap();
    let got = async |id: WebhookId| store.webhook_deliveries(id, None, 10).await.unwrap().len();
    // Nothing is published until the changes are made.
    published(&scene).await;
    let off = made(&scene, account, &["contact.opted_out"]).await;
    let other = made(&scene, account, &["call.*"]).await;
    let wider = made(&scene, account, &["contact.opted_out"]).await;
    let narrower = made(&scene, account, &["contact.opted_out", "call.*"]).await;
    let off = change(off, &["contact.opted_out"], false).await;
    opt_out(0).await;
    let off = change(off, &["contact.opted_out"], true).await;
    let off = change(off, &["*"], true).await;
    let other = change(other, &["*"], true).await;
    let wider = change(wider, &["*"], true).await;
    let narrower = change(narrower, &["call.*"], true).await;
    published(&scene).await;
    assert_eq!(
        (got(off.id).await, got(other.id).await),
        (0, 0),
        "from before the change"
    );
    assert_eq!(
        (got(wider.id).await, got(narrower.id).await),
        (1, 1),
        "wanted when it happened"
    );
    opt_out(1).await;
    published(&scene).await;
    assert_eq!((got(off.id).await, got(other.id).await), (1, 1));
    assert_eq!((got(wider.id).await, got(narrower.id).await), (2, 1));
}
