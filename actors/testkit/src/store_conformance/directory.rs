//! Accounts, keys, agents, contacts.

use std::{collections::HashSet, time::Duration};

use serde_json::{Map, Value, json};

use super::{Fixture, document, new_account, number};
use domain::{
    id::{AccountId, AgentId, ContactId},
    phone_number::PhoneNumber,
    ports::store::{
        AgentFilter, AgentPage, AgentRow, CampaignStatus, ContactFilter, DoNotCallRow, NewContact, NumberFilter,
        Removal, StoreError,
    },
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
    // The key of the refused account does not exist either.
    assert_eq!(store.api_keys("rb_ada@example.com").await.unwrap().len(), 1);
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
    assert_eq!(store.any_agent(made.id).await.as_ref(), Ok(&made));
    assert_eq!(store.any_agent(AgentId::new()).await, Err(StoreError::NotFound));

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
    assert_eq!(store.delete_agent(account, made.id).await, Ok(Removal::Done));
    assert_eq!(store.any_agent(made.id).await, Err(StoreError::NotFound));
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

fn agent_document(name: &str, numbers: &[usize], rotated: &[usize], direction: &str) -> Map<String, Value> {
    let own: Vec<Value> = numbers.iter().map(|n| json!({ "number": number(*n) })).collect();
    let rotated: Vec<PhoneNumber> = rotated.iter().map(|n| number(*n)).collect();
    let document = json!({
        "name": name, "direction": direction, "phoneNumbers": own,
        "platformSettings": { "telephony": { "rotationNumbers": rotated } },
    });
    document.as_object().cloned().unwrap()
}

fn transferring(name: &str, to: AgentId) -> Map<String, Value> {
    let tools = json!({ "transferToAgent": { "transfers": [{ "agentId": to }] } });
    let prompt = json!({ "prompt": { "builtInTools": tools } });
    let document = json!({ "name": name, "conversationConfig": { "agent": prompt } });
    document.as_object().cloned().unwrap()
}

pub async fn agents_are_listed_newest_first_without_gap_or_repeat(fixture: Fixture) {
    let scene = fixture.scene().await;
    let mut made = vec![scene.agent];
    for n in 0..6 {
        // Some have the same instant.
        scene.clock.advance(Duration::from_micros(n % 2));
        let row = scene
            .store
            .create_agent(scene.account, document("A"), None)
            .await
            .unwrap();
        made.push(row.id);
    }
    let deleted = made.remove(2);
    assert_eq!(
        scene.store.delete_agent(scene.account, deleted).await,
        Ok(Removal::Done)
    );
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let filter = AgentFilter {
            after,
            ..AgentFilter::default()
        };
        let page = scene.store.agents(scene.account, filter, 2).await.unwrap();
        seen.extend(page.rows.iter().map(|row| row.id));
        after = page.rows.last().map(|row| (row.created_at, row.id));
        if !page.more {
            break;
        }
        assert_eq!(page.rows.len(), 2);
    }
    made.reverse();
    assert_eq!(seen, made);
    // Large documents make short pages.
    let large = json!({ "name": "L", "widget": "x".repeat(3 << 20) });
    let large = large.as_object().unwrap();
    for _ in 0..4 {
        scene
            .store
            .create_agent(scene.account, large.clone(), None)
            .await
            .unwrap();
    }
    let page = scene.store.agents(scene.account, AgentFilter::default(), 100).await;
    let page = page.unwrap();
    assert_eq!((page.rows.len(), page.more), (2, true));
}

pub async fn agents_are_found_by_a_tag_of_theirs_and_by_nothing_like_it(fixture: Fixture) {
    let scene = fixture.scene().await;
    let tagged = async |document: Value| {
        scene.clock.advance(Duration::from_micros(1));
        let document = document.as_object().cloned().unwrap();
        let row = scene.store.create_agent(scene.account, document, None).await;
        row.unwrap().id
    };
    let odd = "100%_\"é!";
    let first = tagged(json!({ "name": "A", "tags": ["sales", odd] })).await;
    for n in 0..5 {
        // None of them has the tag `sales`.
        tagged(json!({ "name": "sales", "tags": ["Sales", "sales team", "presales"] })).await;
        tagged(json!({ "name": "B", "workflow": { "nodes": { "sales": n } } })).await;
    }
    let last = tagged(json!({ "name": "C", "tags": ["other", "sales"] })).await;
    let found = async |tag: &str, after: Option<&AgentRow>, limit: i64| {
        let filter = AgentFilter {
            tag: Some(tag.to_owned()),
            after: after.map(|row| (row.created_at, row.id)),
            ..AgentFilter::default()
        };
        scene.store.agents(scene.account, filter, limit).await.unwrap()
    };
    let ids = |page: &AgentPage| page.rows.iter().map(|row| row.id).collect::<Vec<_>>();
    let page = found("sales", None, 2).await;
    assert_eq!((ids(&page), page.more), (vec![last, first], false));
    let page = found("sales", None, 1).await;
    assert_eq!((ids(&page), page.more), (vec![last], true));
    let page = found("sales", page.rows.last(), 1).await;
    assert_eq!((ids(&page), page.more), (vec![first], false));
    assert_eq!(ids(&found(odd, None, 30).await), [first]);
    for none in ["SALES", "sale", "%", "", "name", "100%_"] {
        let page = found(none, None, 30).await;
        assert!(page.rows.is_empty() && !page.more, "{none}");
    }
    assert_eq!(found("Sales", None, 30).await.rows.len(), 5);
}

pub async fn an_agent_in_use_is_not_deleted(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let campaign = scene.draft("Dials", 0..2).await;
    let held = store.delete_agent(account, scene.agent).await;
    assert!(
        matches!(held, Ok(Removal::Held(_))),
        "a draft can be launched: {held:?}"
    );
    for status in [
        CampaignStatus::Running,
        CampaignStatus::Paused,
        CampaignStatus::Waiting,
        CampaignStatus::Delayed,
    ] {
        scene.turn(campaign.id, status).await;
        let held = store.delete_agent(account, scene.agent).await;
        let Ok(Removal::Held(holders)) = held else {
            panic!("{status:?}: {held:?}")
        };
        assert_eq!((holders[0].kind, holders[0].name.as_str()), ("campaign", "Dials"));
    }
    scene.turn(campaign.id, CampaignStatus::Stopped).await;
    let handing = store
        .create_agent(account, transferring("Hands on", scene.agent), None)
        .await
        .unwrap();
    let held = store.delete_agent(account, scene.agent).await.unwrap();
    let Removal::Held(holders) = held else {
        panic!("{held:?}")
    };
    assert_eq!(
        (holders[0].kind, holders[0].id.as_str()),
        ("agent", handing.id.to_string().as_str())
    );
    let patched = store.update_agent(account, handing.id, 1, document("Hands on")).await;
    patched.unwrap();
    let bob = new_account("bob@example.com");
    store.create_account(bob.clone()).await.unwrap();
    let foreign = store.delete_agent(bob.account.id, scene.agent).await;
    assert_eq!(foreign, Err(StoreError::NotFound));
    assert_eq!(store.delete_agent(account, scene.agent).await, Ok(Removal::Done));
    assert_eq!(
        store.delete_agent(account, scene.agent).await,
        Err(StoreError::NotFound)
    );
    assert_eq!(store.agent(account, scene.agent).await, Err(StoreError::NotFound));
    // It is kept for the remaining work on its calls.
    let kept = store.kept_agent(account, scene.agent).await.unwrap();
    assert_eq!((kept.id, kept.account), (scene.agent, account));
    let foreign = store.kept_agent(bob.account.id, scene.agent).await;
    assert_eq!(foreign, Err(StoreError::NotFound));
    assert_eq!(
        store.kept_agent(account, AgentId::new()).await,
        Err(StoreError::NotFound)
    );
    // New references to it are refused.
    let late = store
        .create_agent(account, transferring("Late", scene.agent), None)
        .await;
    assert_eq!(late, Err(StoreError::Stale));
}

pub async fn a_number_has_one_owner_and_one_agent_that_answers(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let bob = new_account("bob@example.com");
    store.create_account(bob.clone()).await.unwrap();
    let bob = bob.account.id;
    let taken = Err(StoreError::Exists("number"));
    let inbound = agent_document("In", &[1], &[2], "inbound");
    let holder = store.create_agent(account, inbound, None).await.unwrap();
    // Outbound beside inbound is allowed within an account.
    let outbound = agent_document("Out", &[1, 2], &[3], "outbound");
    let second = store.create_agent(account, outbound, None).await.unwrap();
    let both = agent_document("Both", &[1], &[], "both");
    assert_eq!(store.create_agent(account, both.clone(), None).await.map(drop), taken);
    assert_eq!(store.taken_numbers(account, None, &both).await, Ok(vec![number(1)]));
    assert_eq!(store.taken_numbers(account, Some(holder.id), &both).await, Ok(vec![]));
    // Rotated numbers have an owner too.
    for n in [1, 2, 3] {
        let his = agent_document("His", &[n], &[], "outbound");
        assert_eq!(store.create_agent(bob, his.clone(), None).await.map(drop), taken, "{n}");
        assert_eq!(store.taken_numbers(bob, None, &his).await, Ok(vec![number(n)]));
    }
    assert_eq!(
        store.update_agent(account, second.id, 1, both.clone()).await.map(drop),
        taken
    );
    assert_eq!(store.agent(account, second.id).await.unwrap().version, 1);
    // A number that was given up is free.
    store.update_agent(account, holder.id, 1, document("In")).await.unwrap();
    store.update_agent(account, second.id, 1, both).await.unwrap();
    store.delete_agent(account, second.id).await.unwrap();
    store
        .create_agent(bob, agent_document("His", &[1], &[2, 3], "inbound"), None)
        .await
        .unwrap();
}

pub async fn contacts_are_found_and_listed_newest_first(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let bob = new_account("bob@example.com");
    store.create_account(bob.clone()).await.unwrap();
    store
        .create_contact(bob.account.id, new_contact(1), None)
        .await
        .unwrap();
    for (n, name) in [(1, "Ärger"), (2, "Ada 100%"), (3, "Bob"), (40, "ada_x")] {
        let new = NewContact {
            name: Some(name.to_owned()),
            ..new_contact(n)
        };
        store.create_contact(account, new, None).await.unwrap();
        scene.clock.advance(Duration::from_micros(1));
    }
    store.create_contact(account, new_contact(5), None).await.unwrap();
    let find = async |name: Option<&str>, number: Option<&str>| {
        let filter = ContactFilter {
            name: name.map(str::to_owned),
            number: number.map(str::to_owned),
            after: None,
        };
        let rows = store.contacts(account, filter, 10).await.unwrap();
        let names = rows.into_iter().map(|row| row.name.unwrap_or_default());
        names.collect::<Vec<String>>()
    };
    assert_eq!(find(None, None).await, ["", "ada_x", "Bob", "Ada 100%", "Ärger"]);
    assert_eq!(find(Some("ADA"), None).await, ["ada_x", "Ada 100%"]);
    assert_eq!(find(Some("ä"), None).await, ["Ärger"]);
    assert_eq!(find(Some("0%"), None).await, ["Ada 100%"]);
    assert_eq!(find(Some("a_x"), None).await, ["ada_x"]);
    assert_eq!(find(Some("40"), Some("40")).await, ["ada_x"]);
    assert_eq!(find(Some("100"), Some("0000003")).await, ["Bob", "Ada 100%"]);
    let mut after = None;
    let mut seen = 0;
    loop {
        let filter = ContactFilter {
            after,
            ..ContactFilter::default()
        };
        let rows = store.contacts(account, filter, 2).await.unwrap();
        seen += rows.len();
        after = rows.last().map(|row| (row.created_at, row.id));
        if rows.is_empty() {
            break;
        }
    }
    assert_eq!(seen, 5);
}

pub async fn a_contact_is_changed_under_its_version(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let made = store.create_contact(account, new_contact(1), None).await.unwrap();
    store.create_contact(account, new_contact(2), None).await.unwrap();
    assert_eq!(made.version, 1);
    let taken = store.update_contact(account, made.id, 1, new_contact(2)).await;
    assert_eq!(taken, Err(StoreError::Exists("phoneNumber")));
    let new = NewContact {
        name: Some("Ada".to_owned()),
        ..new_contact(3)
    };
    let changed = store.update_contact(account, made.id, 1, new).await.unwrap();
    assert_eq!((changed.version, &changed.phone_number), (2, &number(3)));
    assert_eq!(changed.created_at, made.created_at);
    assert_eq!(store.contact(account, made.id).await, Ok(changed));
    let stale = store.update_contact(account, made.id, 1, new_contact(4)).await;
    assert_eq!(stale, Err(StoreError::Stale));
    let foreign = store.update_contact(AccountId::new(), made.id, 2, new_contact(4)).await;
    assert_eq!(foreign, Err(StoreError::NotFound));
    store.create_contact(account, new_contact(1), None).await.unwrap();
}

pub async fn the_do_not_call_list_is_read_and_shortened(fixture: Fixture) {
    let scene = fixture.scene().await;
    let (store, account) = (&scene.store, scene.account);
    let first = store.add_do_not_call(account, &number(0)).await.unwrap();
    for n in 1..5 {
        scene.clock.advance(Duration::from_micros(n as u64 % 2));
        store.add_do_not_call(account, &number(n)).await.unwrap();
    }
    assert_eq!(store.add_do_not_call(account, &number(0)).await, Ok(first));
    let mut seen = Vec::new();
    loop {
        let after = seen
            .last()
            .map(|row: &DoNotCallRow| (row.created_at, row.phone_number.clone()));
        let page = store.do_not_call(account, None, after, 2).await.unwrap();
        if page.is_empty() {
            break;
        }
        seen.extend(page);
    }
    let numbers: Vec<PhoneNumber> = seen.into_iter().map(|row| row.phone_number).collect();
    assert_eq!(numbers, [4, 3, 2, 1, 0].map(number));
    let nobodys = store.remove_do_not_call(AccountId::new(), &number(1)).await;
    assert_eq!(nobodys, Err(StoreError::NotFound));
    store.remove_do_not_call(account, &number(1)).await.unwrap();
    assert_eq!(
        store.remove_do_not_call(account, &number(1)).await,
        Err(StoreError::NotFound)
    );
    for (search, found) in [
        (None, 4),
        (Some(number(2).as_str()[3..].to_owned()), 1),
        (Some("5_5".to_owned()), 0),
    ] {
        let rows = store.do_not_call(account, search, None, 10).await.unwrap();
        assert_eq!(rows.len(), found);
    }
    let many: Vec<PhoneNumber> = (1..1_200).map(number).collect();
    let listed = [2, 3, 4].map(number).into_iter().collect();
    assert_eq!(store.among_do_not_call(account, &many).await, Ok(listed));
    assert_eq!(store.among_do_not_call(account, &[]).await, Ok(HashSet::new()));
    assert_eq!(
        store.among_do_not_call(AccountId::new(), &many).await,
        Ok(HashSet::new())
    );
}

pub async fn a_replaced_secret_is_valid_for_a_day(fixture: Fixture) {
    let scene = fixture.scene().await;
    let secrets = async || {
        let secrets = scene.store.webhook_secrets(scene.account).await.unwrap();
        (secrets.current, secrets.previous)
    };
    assert_eq!(secrets().await, ("secret".to_owned(), None));
    scene
        .store
        .rotate_webhook_secret(scene.account, "new".to_owned())
        .await
        .unwrap();
    assert_eq!(secrets().await, ("new".to_owned(), Some("secret".to_owned())));
    scene.clock.advance(Duration::from_secs(24 * 3_600 - 1));
    assert_eq!(secrets().await.1.as_deref(), Some("secret"));
    scene.clock.advance(Duration::from_secs(1));
    assert_eq!(secrets().await, ("new".to_owned(), None));
    let nobody = scene
        .store
        .rotate_webhook_secret(AccountId::new(), "x".to_owned())
        .await;
    assert_eq!(nobody, Err(StoreError::NotFound));
}

pub async fn the_uses_of_numbers_are_those_of_the_account(Fixture { store, clock }: Fixture) {
    let (ada, bob) = (new_account("ada@example.com"), new_account("bob@example.com"));
    store.create_account(ada.clone()).await.unwrap();
    store.create_account(bob.clone()).await.unwrap();
    let (ada, bob) = (ada.account.id, bob.account.id);
    let with = |name: &str, direction: &str, own: &[usize], rotated: &[usize]| {
        let entries: Vec<Value> = own.iter().map(|n| json!({ "number": number(*n) })).collect();
        let rotated: Vec<PhoneNumber> = rotated.iter().map(|n| number(*n)).collect();
        let telephony = json!({ "telephony": { "rotationNumbers": rotated } });
        let document = json!({
            "name": name, "direction": direction, "phoneNumbers": entries, "platformSettings": telephony,
        });
        document.as_object().cloned().unwrap()
    };
    let first = store
        .create_agent(ada, with("One", "inbound", &[1, 3], &[]), None)
        .await
        .unwrap();
    clock.advance(Duration::from_secs(1));
    let second = store
        .create_agent(ada, with("Two", "outbound", &[2], &[3]), None)
        .await
        .unwrap();
    store
        .create_agent(bob, with("Other", "both", &[4], &[]), None)
        .await
        .unwrap();
    let found = async |account, only: Option<usize>, after: Option<usize>, limit| {
        let filter = NumberFilter {
            only: only.map(number),
            after: after.map(number),
        };
        let uses = store.number_uses(account, filter, limit).await.unwrap();
        let uses = uses
            .into_iter()
            .map(|found| (found.phone_number, found.agent_name, found.agent, found.answered));
        uses.collect::<Vec<_>>()
    };
    let one = (number(1), "One".to_owned(), first.id, true);
    let two = (number(2), "Two".to_owned(), second.id, false);
    let three = [
        (number(3), "One".to_owned(), first.id, true),
        (number(3), "Two".to_owned(), second.id, false),
    ];
    let all = [one.clone(), two.clone(), three[0].clone(), three[1].clone()];
    assert_eq!(found(ada, None, None, 10).await, all);
    assert_eq!(found(ada, None, None, 2).await, [one, two]);
    assert_eq!(found(ada, None, Some(2), 1).await, three);
    assert_eq!(found(ada, Some(3), None, 1).await, three);
    assert_eq!(found(ada, Some(4), None, 1).await, []);
    assert_eq!(found(bob, None, None, 10).await.len(), 1);
    assert_eq!(store.delete_agent(ada, first.id).await, Ok(Removal::Done));
    assert_eq!(found(ada, None, None, 10).await.len(), 2);
}
