//! Transfer rules: versions, lists, their holders, and calls that get them.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Fixture, document, tools::accounts};
use domain::{
    agent::{self, TransferRule, validate_transfer_rule},
    id::{AccountId, TransferRuleId},
    ports::store::{Removal, StoreError, agent_for_calls},
    time::Clock,
};

fn to(number: &str) -> TransferRule {
    let rule = json!({ "name": "Desk", "condition": "asks for 5 € back", "transferType": "conference",
        "transferDestination": { "type": "phone", "phoneNumber": number } });
    validate_transfer_rule(&rule).unwrap()
}

fn naming(ids: &[&str]) -> Map<String, Value> {
    let mut agent = document("Ava");
    let own = json!([{ "transferDestination": { "phoneNumber": "+15550100001" } }]);
    let tool = json!({ "enabled": true, "transferRuleIds": ids, "transfers": own });
    let prompt = json!({ "builtInTools": { "transferToNumber": tool } });
    agent.insert(
        "conversationConfig".to_owned(),
        json!({ "agent": { "prompt": prompt } }),
    );
    agent
}

pub async fn a_transfer_rule_belongs_to_its_account_and_is_changed_under_its_version(
    Fixture { store, clock }: Fixture,
) {
    let (ada, bob) = accounts(&*store).await;
    let row = store.create_transfer_rule(ada, to("+15550100002"), None).await.unwrap();
    assert_eq!(
        (row.version, row.created_at, row.updated_at),
        (1, clock.now(), clock.now())
    );
    assert_eq!(row.rule, to("+15550100002"));
    assert_eq!(store.transfer_rule(ada, row.id).await.as_ref(), Ok(&row));
    assert_eq!(store.transfer_rule(bob, row.id).await, Err(StoreError::NotFound));
    let nobody = store.create_transfer_rule(AccountId::new(), to("+15550100002"), None);
    assert_eq!(nobody.await, Err(StoreError::NotFound));
    clock.advance(Duration::from_secs(1));
    let change = |account, version| store.update_transfer_rule(account, row.id, version, to("+15550100003"));
    let changed = change(ada, 1).await.unwrap();
    assert_eq!((changed.version, changed.updated_at), (2, clock.now()));
    assert_eq!(changed.rule, to("+15550100003"));
    assert_eq!(change(ada, 1).await, Err(StoreError::Stale));
    assert_eq!(change(bob, 2).await, Err(StoreError::NotFound));
    assert_eq!(store.delete_transfer_rule(bob, row.id).await, Err(StoreError::NotFound));
    assert_eq!(store.delete_transfer_rule(ada, row.id).await, Ok(Removal::Done));
    assert_eq!(store.delete_transfer_rule(ada, row.id).await, Err(StoreError::NotFound));
}

pub async fn transfer_rules_are_listed_newest_first(Fixture { store, clock }: Fixture) {
    let (ada, bob) = accounts(&*store).await;
    let mut made = Vec::new();
    for n in 0..5 {
        made.push(
            store
                .create_transfer_rule(ada, to("+15550100002"), None)
                .await
                .unwrap()
                .id,
        );
        clock.advance(Duration::from_secs(u64::from(n % 2 == 0)));
    }
    let foreign = store
        .create_transfer_rule(bob, to("+15550100002"), None)
        .await
        .unwrap()
        .id;
    made.reverse();
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = store.transfer_rules(ada, after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some((last.created_at, last.id));
        seen.extend(page.iter().map(|row| row.id));
    }
    assert_eq!(seen, made);
    let asked = [made[0], foreign, TransferRuleId::new()];
    let known = store.transfer_rules_of(ada, &asked).await.unwrap();
    assert_eq!(known.iter().map(|row| row.id).collect::<Vec<_>>(), [made[0]]);
}

pub async fn a_transfer_rule_that_an_agent_holds_is_not_deleted(Fixture { store, .. }: Fixture) {
    let (ada, _) = accounts(&*store).await;
    let rule = store
        .create_transfer_rule(ada, to("+15550100002"), None)
        .await
        .unwrap()
        .id;
    let text = rule.to_string();
    let agent = store
        .create_agent(ada, naming(&[&text, "old", &text]), None)
        .await
        .unwrap();
    let Ok(Removal::Held(holders)) = store.delete_transfer_rule(ada, rule).await else {
        panic!("not held");
    };
    assert_eq!((holders.len(), holders[0].id.clone()), (1, agent.id.to_string()));
    store.update_agent(ada, agent.id, 1, naming(&["old"])).await.unwrap();
    let second = store.create_agent(ada, naming(&[&text]), None).await.unwrap();
    store.delete_agent(ada, second.id).await.unwrap();
    assert_eq!(store.delete_transfer_rule(ada, rule).await, Ok(Removal::Done));
}

pub async fn calls_get_an_agents_transfer_rules_after_its_own_transfers(Fixture { store, .. }: Fixture) {
    let (ada, bob) = accounts(&*store).await;
    let mut ids = Vec::new();
    for (account, number) in [(ada, "+15550100002"), (bob, "+15550100003"), (ada, "+15550100004")] {
        let row = store.create_transfer_rule(account, to(number), None).await.unwrap();
        ids.push(row.id.to_string());
    }
    let named = [&*ids[2], "old", &ids[1], &ids[0]];
    let made = store.create_agent(ada, naming(&named), None).await.unwrap();
    let row = agent_for_calls(&*store, ada, made.id).await.unwrap();
    let agent = agent::complete(&row.document).unwrap();
    let tool = agent.conversation_config.agent.prompt.built_in_tools.transfer_to_number;
    let offered: Vec<String> = tool.usable().iter().map(|offer| offer.to.as_str().to_owned()).collect();
    assert_eq!(offered, ["+15550100001", "+15550100004", "+15550100002"]);
    assert_eq!(store.agent(ada, made.id).await.unwrap().document, naming(&named));
}
