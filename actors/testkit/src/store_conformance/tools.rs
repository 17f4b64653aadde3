//! HTTP tools: names, versions, lists, and their holders.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Fixture, document, new_account};
use domain::{
    id::{AccountId, ToolId},
    ports::store::{HttpTool, Removal, Store, StoreError},
    time::Clock,
};

pub(super) async fn accounts(store: &dyn Store) -> (AccountId, AccountId) {
    let (ada, bob) = (new_account("ada@example.com"), new_account("bob@example.com"));
    store.create_account(ada.clone()).await.unwrap();
    store.create_account(bob.clone()).await.unwrap();
    (ada.account.id, bob.account.id)
}

fn named(name: &str) -> HttpTool {
    HttpTool {
        name: name.to_owned(),
        description: "Tells the prices; 5 € and more.".to_owned(),
        parameters: json!({ "type": "object", "properties": { "z": {}, "a": { "type": "string" } } }),
        url: "https://example.com/prices?x=1".to_owned(),
        method: "POST".to_owned(),
        timeout_ms: 5_000,
    }
}

fn naming(ids: &[ToolId]) -> Map<String, Value> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let mut agent = document("Ava");
    agent.insert(
        "conversationConfig".to_owned(),
        json!({ "agent": { "prompt": { "toolIds": ids } } }),
    );
    agent
}

pub async fn a_tools_name_is_its_accounts_own(Fixture { store, clock }: Fixture) {
    let (ada, bob) = accounts(&*store).await;
    let row = store.create_tool(ada, named("prices"), None).await.unwrap();
    assert_eq!(
        (row.version, row.created_at, row.updated_at),
        (1, clock.now(), clock.now())
    );
    assert_eq!(store.tool(ada, row.id).await.as_ref(), Ok(&row));
    assert_eq!(row.tool, named("prices"));
    assert_eq!(store.tool(bob, row.id).await, Err(StoreError::NotFound));
    let taken = Err(StoreError::Exists("name"));
    assert_eq!(store.create_tool(ada, named("prices"), None).await, taken);
    store.create_tool(bob, named("prices"), None).await.unwrap();
    let nobody = store.create_tool(AccountId::new(), named("prices"), None).await;
    assert_eq!(nobody, Err(StoreError::NotFound));

    let other = store.create_tool(ada, named("hours"), None).await.unwrap();
    assert_eq!(store.update_tool(ada, other.id, 1, named("prices")).await, taken);
    clock.advance(Duration::from_secs(1));
    let changed = HttpTool {
        method: "GET".to_owned(),
        ..named("opening")
    };
    let updated = store.update_tool(ada, other.id, 1, changed.clone()).await.unwrap();
    assert_eq!(
        (updated.version, updated.updated_at, &updated.tool),
        (2, clock.now(), &changed)
    );
    assert_eq!(
        store.update_tool(ada, other.id, 1, changed.clone()).await,
        Err(StoreError::Stale)
    );
    assert_eq!(
        store.update_tool(bob, other.id, 2, changed).await,
        Err(StoreError::NotFound)
    );
    assert_eq!(store.delete_tool(bob, other.id).await, Err(StoreError::NotFound));
    assert_eq!(store.delete_tool(ada, other.id).await, Ok(Removal::Done));
    assert_eq!(store.delete_tool(ada, other.id).await, Err(StoreError::NotFound));
}

pub async fn tools_are_listed_newest_first(Fixture { store, clock }: Fixture) {
    let (ada, bob) = accounts(&*store).await;
    let mut made = Vec::new();
    for n in 0..5 {
        made.push(store.create_tool(ada, named(&format!("t{n}")), None).await.unwrap().id);
        clock.advance(Duration::from_secs(u64::from(n % 2 == 0)));
    }
    let foreign = store.create_tool(bob, named("t9"), None).await.unwrap().id;
    made.reverse();
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = store.tools(ada, after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some((last.created_at, last.id));
        seen.extend(page.iter().map(|row| row.id));
    }
    assert_eq!(seen, made);
    let asked = [made[0], foreign, ToolId::new(), made[3]];
    let mut known: Vec<ToolId> = store
        .tools_of(ada, &asked)
        .await
        .unwrap()
        .iter()
        .map(|row| row.id)
        .collect();
    known.sort();
    let mut expected = [made[0], made[3]];
    expected.sort();
    assert_eq!(known, expected);
    assert!(store.tools_of(ada, &[]).await.unwrap().is_empty());
}

pub async fn a_tool_that_an_agent_holds_is_not_deleted(Fixture { store, .. }: Fixture) {
    let (ada, bob) = accounts(&*store).await;
    let tool = store.create_tool(ada, named("prices"), None).await.unwrap().id;
    let foreign = store.create_tool(bob, named("prices"), None).await.unwrap().id;
    for ids in [vec![foreign], vec![ToolId::new()], vec![tool, foreign]] {
        let refused = store.create_agent(ada, naming(&ids), None).await;
        assert_eq!(refused.map(drop), Err(StoreError::Stale));
    }
    let agent = store.create_agent(ada, naming(&[tool, tool]), None).await.unwrap();
    let Ok(Removal::Held(holders)) = store.delete_tool(ada, tool).await else {
        panic!("not held");
    };
    assert_eq!((holders.len(), holders[0].id.clone()), (1, agent.id.to_string()));
    let refused = store.update_agent(ada, agent.id, 1, naming(&[foreign])).await;
    assert_eq!(refused.map(drop), Err(StoreError::Stale));
    store.update_agent(ada, agent.id, 1, naming(&[])).await.unwrap();
    let second = store.create_agent(ada, naming(&[tool]), None).await.unwrap();
    store.delete_agent(ada, second.id).await.unwrap();
    assert_eq!(store.delete_tool(ada, tool).await, Ok(Removal::Done));
}
