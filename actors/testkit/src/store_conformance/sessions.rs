//! Browser sessions: how they are opened, what they may do, and everything that ends them.

use std::time::Duration;

use super::{Fixture, new_account};
use domain::{
    api_key::generate_key,
    id::{AccountId, SessionId},
    ports::store::{
        ApiKeyChange, ApiKeyRow, FoundSession, NewAccount, NewApiKey, OWN_KEY, OpenedWith, SESSION_IDLE_US,
        SESSION_LASTS_US, SESSIONS, StoreError, StoreResult, StoredApiKey,
    },
    scope::{Scope, Scopes},
    secret_token::{SecretToken, TokenHash},
    time::{Clock, Timestamp},
};

fn token() -> TokenHash {
    SecretToken::random().hash()
}

impl Fixture {
    async fn account(&self, email: &str) -> NewAccount {
        let (_, key) = generate_key();
        let account = NewAccount {
            key,
            ..new_account(email)
        };
        self.store.create_account(account.clone()).await.unwrap();
        account
    }

    async fn key(&self, account: AccountId, expires_at: Option<Timestamp>) -> (StoredApiKey, ApiKeyRow) {
        let (_, stored) = generate_key();
        let new = NewApiKey {
            name: "wall".to_owned(),
            stored: stored.clone(),
            scopes: [Scope::Read].into_iter().collect(),
            expires_at,
        };
        let row = self.store.add_api_key(account, new).await.unwrap().unwrap();
        (stored, row)
    }

    /// Opens a session with a key. Returns its token too.
    async fn opens(&self, account: AccountId, key: &StoredApiKey) -> (TokenHash, FoundSession) {
        let token = token();
        let opened = self.store.open_session(token, with(account, key)).await.unwrap();
        (token, opened)
    }

    async fn is_open(&self, token: TokenHash) -> bool {
        self.store.session(token).await.unwrap().is_some()
    }
}

fn with(account: AccountId, key: &StoredApiKey) -> OpenedWith {
    OpenedWith::Key {
        account,
        hash: key.hash,
        name: OWN_KEY.to_owned(),
        scopes: Scopes::all(),
    }
}

pub async fn a_session_has_the_rights_of_its_key_as_it_is_now(fixture: Fixture) {
    let Fixture { store, clock } = &fixture;
    let ada = fixture.account("ada@example.com").await;
    let id = ada.account.id;
    let (own_token, own) = fixture.opens(id, &ada.key).await;
    assert_eq!(own.account, ada.account);
    assert_eq!(
        (own.row.key_name.as_deref(), &own.row.scopes),
        (Some(OWN_KEY), &Scopes::all())
    );
    assert_eq!(
        (own.row.created_at, own.row.last_used_at, own.read_at),
        (clock.now(), clock.now(), clock.now())
    );
    assert_eq!(own.row.expires_at.0, clock.now().0 + SESSION_LASTS_US);
    assert_eq!(store.session(own_token).await, Ok(Some(own.clone())));
    assert_eq!(store.session(token()).await, Ok(None));
    clock.advance(Duration::from_secs(1));
    let (key, row) = fixture.key(id, None).await;
    let (added_token, added) = fixture.opens(id, &key).await;
    assert_eq!(
        (added.row.key_name.as_deref(), added.row.scopes.to_text()),
        (Some("wall"), "read".to_owned())
    );
    let end = Timestamp(clock.now().0 + 7_000_000);
    let change = ApiKeyChange {
        name: Some("desk".to_owned()),
        scopes: Some([Scope::Live].into_iter().collect()),
        expires_at: Some(Some(end)),
    };
    store.change_api_key(id, row.id, change).await.unwrap();
    let changed = store.session(added_token).await.unwrap().unwrap().row;
    assert_eq!(
        (changed.key_name.as_deref(), changed.scopes.to_text()),
        (Some("desk"), "live".to_owned())
    );
    assert_eq!(changed.key_expires_at, Some(end));
    assert_eq!(store.sessions_of(id).await, Ok(vec![changed, own.row.clone()]));
    // A session ends with its key.
    clock.advance(Duration::from_secs(7));
    assert_eq!(store.session(added_token).await, Ok(None));
    assert_eq!(store.sessions_of(id).await, Ok(vec![own.row]));
    let late = store.open_session(token(), with(id, &key)).await;
    assert_eq!(late, Err(StoreError::NotFound));
}

pub async fn a_session_ends_when_it_is_idle_or_old_and_stays_so(fixture: Fixture) {
    let Fixture { store, clock } = &fixture;
    let ada = fixture.account("ada@example.com").await;
    let us = |us: i64| Duration::from_micros(us.unsigned_abs());
    let (token, opened) = fixture.opens(ada.account.id, &ada.key).await;
    let last_used = async || store.session(token).await.unwrap().map(|found| found.row.last_used_at);
    clock.advance(Duration::from_secs(59));
    store.session_used(opened.row.id).await.unwrap();
    assert_eq!(last_used().await, Some(opened.row.created_at));
    let half = us(SESSION_IDLE_US / 2);
    for _ in 0..SESSION_LASTS_US / (SESSION_IDLE_US / 2) - 1 {
        clock.advance(half);
        store.session_used(opened.row.id).await.unwrap();
        assert_eq!(last_used().await, Some(clock.now()));
    }
    // It is used, and old nevertheless.
    clock.advance(half);
    assert_eq!(last_used().await, None);
    let (idle, second) = fixture.opens(ada.account.id, &ada.key).await;
    clock.advance(us(SESSION_IDLE_US - 1));
    assert!(fixture.is_open(idle).await);
    clock.advance(us(1));
    store.session_used(second.row.id).await.unwrap();
    assert!(!fixture.is_open(idle).await);
    assert_eq!(
        store.end_session(ada.account.id, second.row.id).await,
        Err(StoreError::NotFound)
    );
}

pub async fn a_session_is_ended_by_its_account_alone(fixture: Fixture) {
    let store = &fixture.store;
    let (ada, bob) = (
        fixture.account("ada@example.com").await,
        fixture.account("bob@example.com").await,
    );
    let (token, opened) = fixture.opens(ada.account.id, &ada.key).await;
    for (account, id) in [(bob.account.id, opened.row.id), (ada.account.id, SessionId::new())] {
        assert_eq!(store.end_session(account, id).await, Err(StoreError::NotFound));
    }
    assert_eq!(store.sessions_of(bob.account.id).await, Ok(vec![]));
    assert!(fixture.is_open(token).await);
    store.end_session(ada.account.id, opened.row.id).await.unwrap();
    assert!(!fixture.is_open(token).await);
    assert_eq!(
        store.end_session(ada.account.id, opened.row.id).await,
        Err(StoreError::NotFound)
    );
}

pub async fn a_replaced_or_deleted_key_ends_the_other_sessions(fixture: Fixture) {
    let store = &fixture.store;
    let ada = fixture.account("ada@example.com").await;
    let id = ada.account.id;
    let (present, opened) = fixture.opens(id, &ada.key).await;
    let (other, _) = fixture.opens(id, &ada.key).await;
    let (key, row) = fixture.key(id, None).await;
    let (of_added, added) = fixture.opens(id, &key).await;
    let (other_of_added, _) = fixture.opens(id, &key).await;
    let replace = async |keep| {
        let (_, new) = generate_key();
        store.replace_api_key(&ada.account.email, new, keep).await.unwrap();
    };
    replace(Some(opened.row.id)).await;
    assert!(fixture.is_open(present).await && !fixture.is_open(other).await);
    // A session of another key neither ends nor becomes one of the new key.
    replace(Some(added.row.id)).await;
    assert!(!fixture.is_open(present).await && fixture.is_open(of_added).await);
    // Another account's session is no reason to keep anything.
    let bob = fixture.account("bob@example.com").await;
    assert_eq!(
        store.delete_api_key(bob.account.id, row.id, Some(added.row.id)).await,
        Err(StoreError::NotFound)
    );
    let end = Some(Timestamp(added.row.expires_at.0 - 1));
    let change = ApiKeyChange {
        expires_at: Some(end),
        ..ApiKeyChange::default()
    };
    store.change_api_key(id, row.id, change).await.unwrap();
    store.delete_api_key(id, row.id, Some(added.row.id)).await.unwrap();
    let kept = store.session(of_added).await.unwrap().unwrap().row;
    assert_eq!(
        (kept.key_name.as_deref(), kept.scopes.to_text()),
        (Some("wall"), "read".to_owned())
    );
    assert_eq!(kept.key_expires_at, end);
    assert!(!fixture.is_open(other_of_added).await);
    assert_eq!(store.sessions_of(id).await, Ok(vec![kept]));
}

pub async fn an_account_has_a_limited_number_of_sessions(fixture: Fixture) {
    let Fixture { store, clock } = &fixture;
    let (ada, bob) = (
        fixture.account("ada@example.com").await,
        fixture.account("bob@example.com").await,
    );
    let (of_bob, _) = fixture.opens(bob.account.id, &bob.key).await;
    let mut tokens = Vec::new();
    for _ in 0..SESSIONS + 1 {
        clock.advance(Duration::from_secs(1));
        tokens.push(fixture.opens(ada.account.id, &ada.key).await.0);
    }
    assert_eq!(store.sessions_of(ada.account.id).await.unwrap().len(), SESSIONS);
    assert!(!fixture.is_open(tokens[0]).await && fixture.is_open(tokens[1]).await);
    assert!(fixture.is_open(of_bob).await);
    // Sessions that have ended do not count.
    let (_, new) = generate_key();
    store
        .replace_api_key(&ada.account.email, new.clone(), None)
        .await
        .unwrap();
    let (first, _) = fixture.opens(ada.account.id, &new).await;
    for _ in 1..SESSIONS {
        fixture.opens(ada.account.id, &new).await;
    }
    assert!(fixture.is_open(first).await);
}

pub async fn a_login_link_opens_one_session_within_its_time(fixture: Fixture) {
    let Fixture { store, clock } = &fixture;
    let ada = fixture.account("ada@example.com").await;
    let open = async |link| -> StoreResult<FoundSession> { store.open_session(token(), OpenedWith::Link(link)).await };
    assert_eq!(
        store.add_login_link("eve@example.com", token()).await,
        Err(StoreError::NotFound)
    );
    let (first, second) = (token(), token());
    for link in [first, second] {
        store.add_login_link(&ada.account.email, link).await.unwrap();
    }
    let opened = open(first).await.unwrap();
    assert_eq!((opened.account, opened.row.key_name), (ada.account.clone(), None));
    assert_eq!((opened.row.scopes, opened.row.key_expires_at), (Scopes::all(), None));
    assert_eq!(open(first).await, Err(StoreError::NotFound));
    assert_eq!(open(token()).await, Err(StoreError::NotFound));
    clock.advance(Duration::from_secs(600));
    assert_eq!(open(second).await, Err(StoreError::NotFound));
    // The session outlives every key.
    let (_, new) = generate_key();
    store.replace_api_key(&ada.account.email, new, None).await.unwrap();
    assert_eq!(store.sessions_of(ada.account.id).await.unwrap().len(), 1);
    // Of several that use a link at the same time, one succeeds.
    let link = token();
    store.add_login_link(&ada.account.email, link).await.unwrap();
    let tries = futures_util::future::join_all((0..8).map(|_| open(link))).await;
    assert_eq!(tries.iter().filter(|opened| opened.is_ok()).count(), 1);
    assert!(
        tries
            .iter()
            .all(|opened| opened.is_ok() || *opened == Err(StoreError::NotFound))
    );
}

pub async fn the_first_accounts_are_told(fixture: Fixture) {
    let store = &fixture.store;
    assert_eq!(store.first_accounts(2).await, Ok(vec![]));
    let ada = fixture.account("ada@example.com").await;
    assert_eq!(store.first_accounts(2).await, Ok(vec![ada.account.clone()]));
    fixture.clock.advance(Duration::from_secs(1));
    let bob = fixture.account("bob@example.com").await;
    fixture.account("eve@example.com").await;
    assert_eq!(store.first_accounts(2).await, Ok(vec![ada.account, bob.account]));
}
