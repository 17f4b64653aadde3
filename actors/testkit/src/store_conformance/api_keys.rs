//! API keys: an account's own one, and the ones that it adds.

use std::time::Duration;

use super::{Fixture, new_account};
use domain::{
    id::{AccountId, ApiKeyId},
    ports::store::{ADDED_KEYS, ApiKeyChange, ApiKeyRow, NewApiKey, StoreError, StoredApiKey},
    scope::{Scope, Scopes},
    time::{Clock, Timestamp},
};

fn new_key(prefix: &str, n: usize) -> NewApiKey {
    NewApiKey {
        name: format!("Käy {n}"),
        stored: StoredApiKey {
            prefix: prefix.to_owned(),
            hash: std::array::from_fn(|at| n.to_be_bytes().get(at).copied().unwrap_or(1)),
        },
        scopes: [Scope::Live, Scope::Read].into_iter().collect(),
        expires_at: None,
    }
}

pub async fn keys_are_found_by_prefix_and_replaced_at_once(Fixture { store, clock }: Fixture) {
    let (ada, bob) = (new_account("ada@example.com"), new_account("bob@example.com"));
    store.create_account(ada.clone()).await.unwrap();
    store.create_account(bob.clone()).await.unwrap();
    let found = store.api_keys(&ada.key.prefix).await.unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].stored == ada.key && found[0].account == ada.account);
    let own = ApiKeyRow::own(ada.account.id, ada.key.prefix.clone(), clock.now(), None);
    assert_eq!((&found[0].row, found[0].read_at), (&own, clock.now()));
    // Prefixes are not unique.
    let shared = StoredApiKey {
        prefix: ada.key.prefix.clone(),
        hash: [9; 32],
    };
    store
        .replace_api_key(&bob.account.email, shared.clone(), None)
        .await
        .unwrap();
    assert!(store.api_keys(&bob.key.prefix).await.unwrap().is_empty());
    assert_eq!(store.api_keys(&ada.key.prefix).await.unwrap().len(), 2);
    let unknown = store.replace_api_key("eve@example.com", shared, None).await;
    assert_eq!(unknown, Err(StoreError::NotFound));
}

pub async fn added_keys_have_scopes_and_outlive_a_replacement(Fixture { store, clock }: Fixture) {
    let (ada, bob) = (new_account("ada@example.com"), new_account("bob@example.com"));
    store.create_account(ada.clone()).await.unwrap();
    store.create_account(bob.clone()).await.unwrap();
    clock.advance(Duration::from_secs(1));
    let mut new = new_key("shared", 1);
    new.expires_at = Some(Timestamp(clock.now().0 + 5));
    let added = store.add_api_key(ada.account.id, new.clone()).await.unwrap().unwrap();
    assert_eq!((added.name.as_str(), added.expires_at), ("Käy 1", new.expires_at));
    assert_eq!(added.scopes.to_text(), "read live");
    assert_eq!((added.created_at, added.last_used_at), (clock.now(), None));
    clock.advance(Duration::from_secs(1));
    let second = store
        .add_api_key(ada.account.id, new_key("shared", 2))
        .await
        .unwrap()
        .unwrap();
    store
        .add_api_key(bob.account.id, new_key("shared", 3))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(store.api_keys("shared").await.unwrap().len(), 3);
    clock.advance(Duration::from_secs(1));
    let replaced = StoredApiKey {
        prefix: "new".to_owned(),
        hash: [9; 32],
    };
    store.replace_api_key(&ada.account.email, replaced, None).await.unwrap();
    let found = store.api_keys("shared").await.unwrap();
    let of_ada: Vec<_> = found.iter().filter(|key| key.account == ada.account).collect();
    assert_eq!(of_ada.len(), 2);
    assert!(of_ada.iter().any(|key| key.stored == new.stored && key.row == added));
    let own = ApiKeyRow::own(ada.account.id, "new".to_owned(), clock.now(), None);
    let listed = store.keys_of_account(ada.account.id).await.unwrap();
    assert_eq!(listed, [own, second, added]);
    let unknown = store.add_api_key(AccountId::new(), new_key("shared", 4)).await;
    assert_eq!(unknown, Err(StoreError::NotFound));
}

pub async fn an_added_key_is_changed_and_deleted_by_its_account(Fixture { store, clock }: Fixture) {
    let (ada, bob) = (new_account("ada@example.com"), new_account("bob@example.com"));
    store.create_account(ada.clone()).await.unwrap();
    store.create_account(bob.clone()).await.unwrap();
    let (ada, bob) = (ada.account.id, bob.account.id);
    let added = store.add_api_key(ada, new_key("p", 1)).await.unwrap().unwrap();
    let mut expected = added.clone();
    let end = Timestamp(clock.now().0 + 7);
    for change in [
        ApiKeyChange::default(),
        ApiKeyChange {
            name: Some("New".to_owned()),
            ..ApiKeyChange::default()
        },
        ApiKeyChange {
            scopes: Some(Scopes::all()),
            expires_at: Some(Some(end)),
            ..ApiKeyChange::default()
        },
        ApiKeyChange {
            expires_at: Some(None),
            ..ApiKeyChange::default()
        },
    ] {
        expected.name = change.name.clone().unwrap_or(expected.name);
        expected.scopes = change.scopes.clone().unwrap_or(expected.scopes);
        expected.expires_at = change.expires_at.unwrap_or(expected.expires_at);
        assert_eq!(
            store.change_api_key(ada, added.id, change).await.as_ref(),
            Ok(&expected)
        );
        assert_eq!(store.api_keys("p").await.unwrap()[0].row, expected);
    }
    // Nobody changes the key of another account, nor an account's own key.
    for (account, id) in [(bob, added.id), (ada, ApiKeyId::new()), (ada, ada.into())] {
        let change = ApiKeyChange {
            name: Some("Stolen".to_owned()),
            ..ApiKeyChange::default()
        };
        assert_eq!(
            store.change_api_key(account, id, change).await,
            Err(StoreError::NotFound)
        );
        assert_eq!(store.delete_api_key(account, id, None).await, Err(StoreError::NotFound));
    }
    assert_eq!(store.keys_of_account(ada).await.unwrap().len(), 2);
    store.delete_api_key(ada, added.id, None).await.unwrap();
    assert_eq!(
        store.delete_api_key(ada, added.id, None).await,
        Err(StoreError::NotFound)
    );
    assert!(store.api_keys("p").await.unwrap().is_empty());
}

pub async fn the_use_of_a_key_is_recorded_once_a_minute(Fixture { store, clock }: Fixture) {
    let ada = new_account("ada@example.com");
    store.create_account(ada.clone()).await.unwrap();
    let ada = ada.account.id;
    let added = store.add_api_key(ada, new_key("p", 1)).await.unwrap().unwrap();
    for id in [added.id, ada.into()] {
        let used = async || {
            store.api_key_used(id).await.unwrap();
            let rows = store.keys_of_account(ada).await.unwrap();
            rows.into_iter().find(|row| row.id == id).unwrap().last_used_at
        };
        let first = clock.now();
        assert_eq!(used().await, Some(first));
        clock.advance(Duration::from_secs(59));
        assert_eq!(used().await, Some(first));
        clock.advance(Duration::from_secs(1));
        assert_eq!(used().await, Some(clock.now()));
    }
    store.api_key_used(ApiKeyId::new()).await.unwrap();
}

pub async fn an_account_has_a_limited_number_of_keys(Fixture { store, .. }: Fixture) {
    let (ada, bob) = (new_account("ada@example.com"), new_account("bob@example.com"));
    store.create_account(ada.clone()).await.unwrap();
    store.create_account(bob.clone()).await.unwrap();
    let mut last = None;
    for n in 0..ADDED_KEYS {
        last = store.add_api_key(ada.account.id, new_key("p", n)).await.unwrap();
    }
    let more = async |account, n| store.add_api_key(account, new_key("p", n)).await.unwrap();
    assert_eq!(more(ada.account.id, 1_000).await, None);
    assert!(more(bob.account.id, 1_001).await.is_some());
    store
        .delete_api_key(ada.account.id, last.unwrap().id, None)
        .await
        .unwrap();
    assert!(more(ada.account.id, 1_002).await.is_some());
}
