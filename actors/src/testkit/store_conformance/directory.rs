//! Accounts, keys, agents, contacts.

use std::time::Duration;

use serde_json::json;

use super::{Fixture, document, new_account, number};
use crate::{
    id::{AccountId, AgentId, ContactId},
    ports::store::{NewContact, StoreError, StoredApiKey},
    time::Clock,
};

fn new_contact(n: usize) -> NewContact {
    NewContact {
        phone_number: number(n),
        name: None,
        email: Some("x@example.com".to_owned()),
        extra: json!({ "k": [1, 2] }).as_object().cloned().unwrap(),
    }
}

pub async fn accounts_have_unique_addresses(Fixture { store, .. }: Fixture) {
    let new = new_account("ada@example.com");
    store.create_account(new.clone()).await.unwrap();
    let again = new_account("ada@example.com");
    assert_eq!(
        store.create_account(again.clone()).await,
        Err(StoreError::Exists("email"))
    );
    assert_eq!(store.account(new.account.id).await, Ok(new.account));
    assert_eq!(store.account(again.account.id).await, Err(StoreError::NotFound));
    // The key of the refused account is not there either.
    assert_eq!(store.api_keys("rb_ada@example.com").await.unwrap().len(), 1);
}

pub async fn keys_are_found_by_prefix_and_replaced_at_once(Fixture { store, .. }: Fixture) {
    let (ada, bob) = (new_account("ada@example.com"), new_account("bob@example.com"));
    store.create_account(ada.clone()).await.unwrap();
    store.create_account(bob.clone()).await.unwrap();
    let found = store.api_keys(&ada.key.prefix).await.unwrap();
    assert!(found == [(ada.key.clone(), ada.account.clone())]);
    // Prefixes are not unique.
    let shared = StoredApiKey {
        prefix: ada.key.prefix.clone(),
        hash: [9; 32],
    };
    store.replace_api_key(&bob.account.email, shared.clone()).await.unwrap();
    assert!(store.api_keys(&bob.key.prefix).await.unwrap().is_empty());
    assert_eq!(store.api_keys(&ada.key.prefix).await.unwrap().len(), 2);
    let unknown = store.replace_api_key("eve@example.com", shared).await;
    assert_eq!(unknown, Err(StoreError::NotFound));
}

pub async fn agents_are_versioned_and_belong_to_their_account(Fixture { store, clock }: Fixture) {
    let (ada, bob) = (new_account("ada@example.com"), new_account("bob@example.com"));
    store.create_account(ada.clone()).await.unwrap();
    store.create_account(bob.clone()).await.unwrap();
    let account = ada.account.id;
    let made = store.create_agent(account, document("One"), None).await.unwrap();
    assert_eq!((made.version, made.created_at), (1, clock.now()));
    assert_eq!(store.agent(account, made.id).await.as_ref(), Ok(&made));
    assert_eq!(store.agent(bob.account.id, made.id).await, Err(StoreError::NotFound));

    clock.advance(Duration::from_secs(1));
    let changed = store.update_agent(account, made.id, 1, document("Two")).await.unwrap();
    assert_eq!((changed.version, changed.updated_at), (2, clock.now()));
    assert_eq!(changed.created_at, made.created_at);
    assert_eq!(store.agent(account, made.id).await, Ok(changed));
    let stale = store.update_agent(account, made.id, 1, document("Three")).await;
    assert_eq!(stale, Err(StoreError::Stale));
    for (account, id) in [(bob.account.id, made.id), (account, AgentId::new())] {
        let missing = store.update_agent(account, id, 2, document("Three")).await;
        assert_eq!(missing, Err(StoreError::NotFound));
    }
}

pub async fn contacts_are_unique_by_number_until_deleted(Fixture { store, .. }: Fixture) {
    let (ada, bob) = (new_account("ada@example.com"), new_account("bob@example.com"));
    store.create_account(ada.clone()).await.unwrap();
    store.create_account(bob.clone()).await.unwrap();
    let (ada, bob) = (ada.account.id, bob.account.id);
    let made = store.create_contact(ada, new_contact(1), None).await.unwrap();
    assert_eq!(store.contact(ada, made.id).await.as_ref(), Ok(&made));
    let again = store.create_contact(ada, new_contact(1), None).await;
    assert_eq!(again, Err(StoreError::Exists("phoneNumber")));
    store.create_contact(bob, new_contact(1), None).await.unwrap();

    assert_eq!(store.contact(bob, made.id).await, Err(StoreError::NotFound));
    assert_eq!(store.delete_contact(bob, made.id).await, Err(StoreError::NotFound));
    assert_eq!(
        store.delete_contact(ada, ContactId::new()).await,
        Err(StoreError::NotFound)
    );
    store.delete_contact(ada, made.id).await.unwrap();
    assert_eq!(store.contact(ada, made.id).await, Err(StoreError::NotFound));
    store.create_contact(ada, new_contact(1), None).await.unwrap();
}

pub async fn rows_of_an_unknown_account_are_not_found(Fixture { store, .. }: Fixture) {
    let nobody = AccountId::new();
    let agent = store.create_agent(nobody, document("One"), None).await;
    assert_eq!(agent, Err(StoreError::NotFound));
    let contact = store.create_contact(nobody, new_contact(1), None).await;
    assert_eq!(contact, Err(StoreError::NotFound));
    let listed = store.add_do_not_call(nobody, &number(1)).await;
    assert_eq!(listed, Err(StoreError::NotFound));
}
