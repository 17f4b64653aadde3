//! Settings of an account.

use domain::{account_settings::AccountSettings, id::AccountId, ports::store::StoreError};

use super::Fixture;

pub async fn settings_replace_only_those_that_were_read(fixture: Fixture) {
    let scene = fixture.scene().await;
    let read = async || scene.store.account(scene.account).await.unwrap().settings;
    let set = async |before, after| scene.store.set_account_settings(scene.account, before, after).await;
    let unset = AccountSettings::default();
    assert_eq!(read().await, unset);
    let german = AccountSettings {
        default_country: Some("DE".parse().unwrap()),
        ..unset
    };
    set(unset, german).await.unwrap();
    assert_eq!(read().await, german);
    let in_oslo = AccountSettings {
        timezone: "Europe/Oslo".parse().unwrap(),
        ..unset
    };
    assert_eq!(set(unset, in_oslo).await, Err(StoreError::Stale));
    set(german, in_oslo).await.unwrap();
    assert_eq!(read().await, in_oslo);
    let nobodys = scene.store.set_account_settings(AccountId::new(), unset, german).await;
    assert_eq!(nobodys, Err(StoreError::Stale));
}
