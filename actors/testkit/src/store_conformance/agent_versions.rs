//! Versions of agents, and the search by name.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Fixture, document, new_account};
use domain::{
    id::AgentId,
    ports::store::{AGENT_VERSIONS_KEPT, AgentFilter, AgentVersion, Removal, StoreError},
};

fn tagged(name: &str, tags: &[&str]) -> Map<String, Value> {
    json!({ "name": name, "tags": tags }).as_object().cloned().unwrap()
}

pub async fn each_save_of_an_agent_is_a_version(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let first = store.create_agent(account, tagged("One", &["a"]), None).await.unwrap();
    let other = store.create_agent(account, document("Other"), None).await.unwrap();
    scene.clock.advance(Duration::from_secs(1));
    let second = store.update_agent(account, first.id, 1, tagged("Two", &["b"])).await;
    let second = second.unwrap();
    scene.clock.advance(Duration::from_secs(1));
    let third = store.update_agent(account, first.id, 2, tagged("Two", &["b"])).await;
    let third = third.unwrap();
    let stale = store.update_agent(account, first.id, 2, document("Three")).await;
    assert_eq!(stale, Err(StoreError::Stale));
    let version = |version, saved_at, changed: &[&str]| AgentVersion {
        version,
        saved_at,
        changed: changed.iter().map(|&path| path.to_owned()).collect(),
    };
    let versions = [
        version(3, third.updated_at, &[]),
        version(2, second.updated_at, &["name", "tags"]),
        version(1, first.updated_at, &[]),
    ];
    let listed = async |before, limit| store.agent_versions(account, first.id, before, limit).await.unwrap();
    assert_eq!(listed(None, 10).await, versions);
    assert_eq!(listed(None, 2).await, versions[..2]);
    assert_eq!(listed(Some(2), 2).await, versions[2..]);
    assert_eq!(listed(Some(1), 2).await, []);
    for row in [first.clone(), second, third] {
        assert_eq!(store.agent_version(account, first.id, row.version).await, Ok(row));
    }
    assert_eq!(store.agent_versions(account, other.id, None, 9).await.unwrap().len(), 1);

    let bob = new_account("bob@example.com");
    store.create_account(bob.clone()).await.unwrap();
    for (account, id, version) in [
        (bob.account.id, first.id, 1),
        (account, AgentId::new(), 1),
        (account, other.id, 2),
    ] {
        let missing = store.agent_version(account, id, version).await;
        assert_eq!(missing, Err(StoreError::NotFound));
    }
    let foreign = store.agent_versions(bob.account.id, first.id, None, 9).await;
    assert_eq!(foreign, Err(StoreError::NotFound));
    // They go with their agent.
    assert_eq!(store.delete_agent(account, first.id).await, Ok(Removal::Done));
    let gone = store.agent_version(account, first.id, 1).await;
    assert_eq!(gone, Err(StoreError::NotFound));
    let gone = store.agent_versions(account, first.id, None, 9).await;
    assert_eq!(gone, Err(StoreError::NotFound));
    assert_eq!(store.agent_versions(account, other.id, None, 9).await.unwrap().len(), 1);
}

pub async fn the_newest_versions_of_an_agent_are_kept(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let id = store.create_agent(account, document("A"), None).await.unwrap().id;
    for version in 1..AGENT_VERSIONS_KEPT + 3 {
        store.update_agent(account, id, version, document("A")).await.unwrap();
    }
    let kept = store.agent_versions(account, id, None, 1_000).await.unwrap();
    let kept: Vec<i64> = kept.into_iter().map(|version| version.version).collect();
    let expected: Vec<i64> = (4..=AGENT_VERSIONS_KEPT + 3).rev().collect();
    assert_eq!(kept, expected);
    assert_eq!(store.agent_version(account, id, 3).await, Err(StoreError::NotFound));
}

pub async fn agents_are_found_by_a_part_of_their_name_in_any_case(fixture: Fixture) {
    let scene = fixture.scene().await;
    let mut ids = Vec::new();
    for name in ["Ava MÜLLER", "ava muller", "İlk 50%_!", "\u{212a}iosk", "Böb"] {
        scene.clock.advance(Duration::from_micros(1));
        let made = scene
            .store
            .create_agent(scene.account, tagged(name, &[name]), None)
            .await;
        ids.push(made.unwrap().id);
    }
    let found = async |text: &str, tag: Option<&str>| {
        let filter = AgentFilter {
            name: Some(text.to_owned()),
            tag: tag.map(str::to_owned),
            after: None,
        };
        let page = scene.store.agents(scene.account, filter, 1).await.unwrap();
        let first = page.rows.first().map(|row| row.id);
        let place = ids.iter().position(|id| Some(*id) == first);
        (place, page.more)
    };
    for (text, expected) in [
        ("AVA", (Some(1), true)),
        ("müller", (Some(0), false)),
        ("mÜlLeR", (Some(0), false)),
        ("muller", (Some(1), false)),
        ("ilk", (None, false)),
        ("İLK", (Some(2), false)),
        ("kiosk", (Some(3), false)),
        ("0%_!", (Some(2), false)),
        ("a%", (None, false)),
        ("_va", (None, false)),
        ("ÖB", (Some(4), false)),
    ] {
        assert_eq!(found(text, None).await, expected, "{text}");
    }
    assert_eq!(found("ava", Some("Ava MÜLLER")).await, (Some(0), false));
    assert_eq!(found("ava", Some("Böb")).await, (None, false));
}
