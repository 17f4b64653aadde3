//! Documents, groups, and their holders.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Fixture, document, new_account};
use domain::{
    id::{AccountId, AgentId, DocumentId, GroupId},
    ports::store::{
        DocumentKind, DocumentRow, GroupEdit, HOLDERS_NAMED, Holder, KnowledgeFilter, ListPlace, NewDocument, Removal,
        SortBy, Store, StoreError, order_key,
    },
    time::Clock,
};

async fn accounts(store: &dyn Store) -> (AccountId, AccountId) {
    let (ada, bob) = (new_account("ada@example.com"), new_account("bob@example.com"));
    store.create_account(ada.clone()).await.unwrap();
    store.create_account(bob.clone()).await.unwrap();
    (ada.account.id, bob.account.id)
}

fn text_of(name: &str, text: &str) -> NewDocument {
    NewDocument {
        kind: DocumentKind::Text,
        name: name.to_owned(),
        url: None,
        text: text.to_owned(),
    }
}

async fn made(store: &dyn Store, account: AccountId, name: &str) -> DocumentRow {
    store
        .create_document(account, text_of(name, "words"), None)
        .await
        .unwrap()
}

fn naming(name: &str, ids: &[String]) -> Map<String, Value> {
    let prompt = json!({ "agent": { "prompt": { "knowledgeBase": ids } } });
    let mut agent = document(name);
    agent.insert("conversationConfig".to_owned(), prompt);
    agent
}

fn holder(kind: &'static str, id: &impl ToString, name: &str) -> Holder {
    Holder {
        kind,
        id: id.to_string(),
        name: name.to_owned(),
    }
}

pub async fn a_document_keeps_its_text_apart(Fixture { store, clock }: Fixture) {
    let (ada, bob) = accounts(&*store).await;
    let new = NewDocument {
        kind: DocumentKind::Url,
        url: Some("https://example.com/a".to_owned()),
        ..text_of("Prices", "Grüße, 5 €")
    };
    let row = store.create_document(ada, new.clone(), None).await.unwrap();
    assert_eq!((row.characters, row.created_at), (10, clock.now()));
    assert_eq!((row.kind, row.url.clone()), (new.kind, new.url));
    assert_eq!(store.document(ada, row.id).await.as_ref(), Ok(&row));
    assert_eq!(store.document_text(ada, row.id).await.as_deref(), Ok("Grüße, 5 €"));
    assert_eq!(store.document(bob, row.id).await, Err(StoreError::NotFound));
    assert_eq!(store.document_text(bob, row.id).await, Err(StoreError::NotFound));
    assert_eq!(store.delete_document(bob, row.id).await, Err(StoreError::NotFound));
    let nobody = store.create_document(AccountId::new(), text_of("x", "y"), None).await;
    assert_eq!(nobody, Err(StoreError::NotFound));

    assert_eq!(store.delete_document(ada, row.id).await, Ok(Removal::Done));
    assert_eq!(store.document_text(ada, row.id).await, Err(StoreError::NotFound));
    assert_eq!(store.delete_document(ada, row.id).await, Err(StoreError::NotFound));
}

pub async fn documents_are_searched_and_sorted(Fixture { store, clock }: Fixture) {
    let (ada, bob) = accounts(&*store).await;
    for name in ["b 100%", "Äpfel", "a_x", "A-Z", "b 100%"] {
        made(&*store, ada, name).await;
        clock.advance(Duration::from_secs(1));
    }
    made(&*store, bob, "a").await;
    let names = async |search: &str, sort_by, ascending| {
        let filter = KnowledgeFilter {
            search: Some(search.to_owned()).filter(|text| !text.is_empty()),
            sort_by,
            ascending,
            after: None,
        };
        let rows = store.documents(ada, filter, 10).await.unwrap();
        rows.into_iter().map(|row| row.name).collect::<Vec<_>>()
    };
    let by_name = ["A-Z", "a_x", "b 100%", "b 100%", "Äpfel"];
    assert_eq!(names("", SortBy::Name, true).await, by_name);
    let mut backwards = by_name;
    backwards.reverse();
    assert_eq!(names("", SortBy::Name, false).await, backwards);
    let newest = ["b 100%", "A-Z", "a_x", "Äpfel", "b 100%"];
    assert_eq!(names("", SortBy::CreatedAt, false).await, newest);
    assert_eq!(names("0%", SortBy::Name, true).await, ["b 100%", "b 100%"]);
    assert_eq!(names("äP", SortBy::Name, true).await, ["Äpfel"]);
    assert_eq!(names("_", SortBy::Name, true).await, ["a_x"]);
    assert!(names("zzz", SortBy::Name, true).await.is_empty());
}

pub async fn documents_page_without_gap_or_repeat(Fixture { store, clock }: Fixture) {
    let (ada, _) = accounts(&*store).await;
    // Several have the same name, and several the same instant.
    for n in 0..7 {
        made(&*store, ada, ["b", "A", "a"][n % 3]).await;
        clock.advance(Duration::from_secs(u64::from(n % 2 == 0)));
    }
    for (sort_by, ascending) in [
        (SortBy::Name, true),
        (SortBy::Name, false),
        (SortBy::CreatedAt, true),
        (SortBy::CreatedAt, false),
    ] {
        let mut filter = KnowledgeFilter {
            sort_by,
            ascending,
            ..KnowledgeFilter::default()
        };
        let whole = store.documents(ada, filter.clone(), 100).await.unwrap();
        let mut paged: Vec<DocumentRow> = Vec::new();
        loop {
            let page = store.documents(ada, filter.clone(), 2).await.unwrap();
            assert!(page.len() <= 2);
            let Some(last) = page.last() else { break };
            filter.after = Some(ListPlace {
                key: order_key(sort_by, &last.name, last.created_at),
                id: last.id.to_string(),
            });
            paged.extend(page);
        }
        assert_eq!(paged.len(), 7);
        assert_eq!(paged, whole, "{sort_by:?} {ascending}");
    }
}

pub async fn a_group_keeps_its_documents_in_order(Fixture { store, clock }: Fixture) {
    let (ada, bob) = accounts(&*store).await;
    let (one, two, foreign) = (
        made(&*store, ada, "one").await,
        made(&*store, ada, "two").await,
        made(&*store, bob, "foreign").await,
    );
    let group = store
        .create_group(ada, "G".to_owned(), vec![two.id, one.id], None)
        .await
        .unwrap();
    assert_eq!(group.documents, [two.clone(), one.clone()]);
    assert_eq!((group.name.as_str(), group.created_at), ("G", clock.now()));
    assert_eq!(store.group(ada, group.id).await.as_ref(), Ok(&group));
    assert_eq!(store.group(bob, group.id).await, Err(StoreError::NotFound));
    for wrong in [foreign.id, DocumentId::new()] {
        let refused = store.create_group(ada, "H".to_owned(), vec![one.id, wrong], None).await;
        assert_eq!(refused, Err(StoreError::Stale));
        let edit = GroupEdit {
            name: Some("H".to_owned()),
            documents: Some(vec![wrong]),
        };
        assert_eq!(store.update_group(ada, group.id, edit).await, Err(StoreError::Stale));
    }
    let listed = store.groups(ada, KnowledgeFilter::default(), 10).await.unwrap();
    assert_eq!(listed, std::slice::from_ref(&group));

    let rename = GroupEdit {
        name: Some("Z".to_owned()),
        documents: None,
    };
    let renamed = store.update_group(ada, group.id, rename.clone()).await.unwrap();
    assert_eq!((renamed.name.as_str(), &renamed.documents), ("Z", &group.documents));
    assert_eq!(
        store.update_group(bob, group.id, rename).await,
        Err(StoreError::NotFound)
    );
    let replace = GroupEdit {
        name: None,
        documents: Some(vec![one.id]),
    };
    let replaced = store.update_group(ada, group.id, replace).await.unwrap();
    assert_eq!((replaced.name.as_str(), replaced.documents), ("Z", vec![one]));
    let search = KnowledgeFilter {
        search: Some("z".to_owned()),
        ..KnowledgeFilter::default()
    };
    assert_eq!(store.groups(ada, search, 10).await.unwrap().len(), 1);

    let nobody = store
        .create_group(AccountId::new(), "G".to_owned(), Vec::new(), None)
        .await;
    assert_eq!(nobody, Err(StoreError::NotFound));
    assert_eq!(store.delete_group(bob, group.id).await, Err(StoreError::NotFound));
    assert_eq!(store.delete_group(ada, group.id).await, Ok(Removal::Done));
    assert_eq!(store.group(ada, group.id).await, Err(StoreError::NotFound));
    assert_eq!(store.delete_document(ada, two.id).await, Ok(Removal::Done));
}

pub async fn known_ids_are_those_of_the_account(Fixture { store, .. }: Fixture) {
    let (ada, bob) = accounts(&*store).await;
    let (own, foreign) = (made(&*store, ada, "own").await, made(&*store, bob, "foreign").await);
    let ids = [foreign.id, own.id, DocumentId::new()];
    assert_eq!(store.known_documents(ada, &ids).await, Ok(vec![own.id]));
    assert_eq!(store.known_documents(ada, &[]).await, Ok(vec![]));
    let group = store.create_group(ada, "G".to_owned(), Vec::new(), None).await.unwrap();
    let ids = [GroupId::new(), group.id];
    assert_eq!(store.known_groups(ada, &ids).await, Ok(vec![group.id]));
    assert_eq!(store.known_groups(bob, &ids).await, Ok(vec![]));
}

pub async fn what_is_held_is_not_deleted(Fixture { store, .. }: Fixture) {
    let (ada, _) = accounts(&*store).await;
    let (one, two) = (made(&*store, ada, "one").await, made(&*store, ada, "two").await);
    let group = store
        .create_group(ada, "G".to_owned(), vec![one.id], None)
        .await
        .unwrap();
    let ids = [group.id.to_string(), two.id.to_string(), two.id.to_string()];
    let agent = store.create_agent(ada, naming("Ann", &ids), None).await.unwrap();

    let by_group = Removal::Held(vec![holder("group", &group.id, "G")]);
    assert_eq!(store.delete_document(ada, one.id).await, Ok(by_group));
    let by_agent = Removal::Held(vec![holder("agent", &agent.id, "Ann")]);
    assert_eq!(store.delete_document(ada, two.id).await.as_ref(), Ok(&by_agent));
    assert_eq!(store.delete_group(ada, group.id).await, Ok(by_agent));
    assert!(store.document_text(ada, two.id).await.is_ok());

    let agent = store
        .update_agent(ada, agent.id, 1, naming("Ann", &ids[1..2]))
        .await
        .unwrap();
    assert_eq!(store.delete_group(ada, group.id).await, Ok(Removal::Done));
    assert_eq!(store.delete_document(ada, one.id).await, Ok(Removal::Done));
    store.update_agent(ada, agent.id, 2, document("Ann")).await.unwrap();
    assert_eq!(store.delete_document(ada, two.id).await, Ok(Removal::Done));
}

pub async fn a_deleted_agent_lets_go_of_what_it_held(Fixture { store, .. }: Fixture) {
    let (ada, _) = accounts(&*store).await;
    let one = made(&*store, ada, "one").await;
    let group = store.create_group(ada, "G".to_owned(), Vec::new(), None).await.unwrap();
    let ids = [one.id.to_string(), group.id.to_string()];
    let mut agents = Vec::new();
    for name in ["Ann", "Bea"] {
        agents.push(store.create_agent(ada, naming(name, &ids), None).await.unwrap().id);
    }
    store.delete_agent(ada, agents[0]).await.unwrap();
    let by_bea = Removal::Held(vec![holder("agent", &agents[1], "Bea")]);
    assert_eq!(store.delete_document(ada, one.id).await.as_ref(), Ok(&by_bea));
    assert_eq!(store.delete_group(ada, group.id).await, Ok(by_bea));
    store.delete_agent(ada, agents[1]).await.unwrap();
    assert_eq!(store.delete_document(ada, one.id).await, Ok(Removal::Done));
    assert_eq!(store.delete_group(ada, group.id).await, Ok(Removal::Done));
}

pub async fn an_agent_takes_hold_only_of_what_is_there(Fixture { store, .. }: Fixture) {
    let (ada, bob) = accounts(&*store).await;
    let (own, foreign) = (made(&*store, ada, "own").await, made(&*store, bob, "foreign").await);
    let sound = naming("Ann", &[own.id.to_string()]);
    let agent = store.create_agent(ada, sound, None).await.unwrap();
    for wrong in [foreign.id.to_string(), DocumentId::new().to_string(), "x".to_owned()] {
        let ids = [own.id.to_string(), wrong];
        let made = store.create_agent(ada, naming("Bea", &ids), None).await;
        assert_eq!(made, Err(StoreError::Stale));
        let changed = store.update_agent(ada, agent.id, 1, naming("Bea", &ids)).await;
        assert_eq!(changed, Err(StoreError::Stale));
    }
    let missing = store.update_agent(ada, AgentId::new(), 1, document("Ann")).await;
    assert_eq!(missing, Err(StoreError::NotFound));
    // A refused agent holds nothing.
    let by_agent = Removal::Held(vec![holder("agent", &agent.id, "Ann")]);
    assert_eq!(store.delete_document(ada, own.id).await, Ok(by_agent));
    assert_eq!(store.delete_document(bob, foreign.id).await, Ok(Removal::Done));
}

pub async fn a_refused_delete_names_a_few_holders(Fixture { store, .. }: Fixture) {
    let (ada, _) = accounts(&*store).await;
    let one = made(&*store, ada, "one").await;
    for n in 0..HOLDERS_NAMED + 2 {
        store
            .create_group(ada, format!("G{n}"), vec![one.id], None)
            .await
            .unwrap();
    }
    let Removal::Held(holders) = store.delete_document(ada, one.id).await.unwrap() else {
        panic!("deleted");
    };
    assert_eq!(holders.len(), HOLDERS_NAMED);
}
