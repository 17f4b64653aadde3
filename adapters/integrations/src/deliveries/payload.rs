//! Content of a delivery: the conversation as REST shows it and its contact, or an event of the account.

use domain::{
    conversation::{self, Conversation},
    ports::store::{AccountEvent, CampaignContact, Delivery, Store, StoreResult, WEBHOOK_TEST},
    prices::PriceList,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Returns the body of a `postCallWebhook`. Mail is composed from its `data`.
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn post_call(store: &dyn Store, delivery: &Delivery, prices: Option<&PriceList>) -> StoreResult<Value> {
    let account = store.account(delivery.account).await?;
    let call = delivery.call()?;
    let row = store.conversation(account.id, call).await?;
    let conversation = conversation::in_full(store, &account, &row).await?;
    let conversation = conversation.priced(&row, prices);
    let person = store.contact_of(call).await?;
    Ok(json!({
        "type": "post_call",
        "timestamp": delivery.created_at.to_iso8601(),
        "data": PostCall { conversation, contact: contact(&person) },
    }))
}

/// Returns the body of a delivery to a webhook endpoint: an event, or a test if there is none.
pub fn event(delivery: &Delivery, event: Option<&AccountEvent>) -> Value {
    let test = || {
        json!({
            "type": WEBHOOK_TEST,
            "timestamp": delivery.created_at.to_iso8601(),
            "data": { "webhookId": delivery.target },
        })
    };
    event.map_or_else(test, AccountEvent::body)
}

/// Conversation with its contact.
#[derive(Serialize)]
struct PostCall {
    #[serde(flatten)]
    conversation: Conversation,
    contact: Value,
}

/// Returns the contact with its known fields and, like the contacts API, with its other fields.
fn contact(person: &CampaignContact) -> Value {
    let mut shown = Map::new();
    if !person.phone_number.is_nobodys() {
        shown.insert("phoneNumber".into(), json!(person.phone_number));
    }
    if let Some(name) = &person.name {
        shown.insert("name".into(), json!(name));
    }
    if let Some(email) = &person.email {
        shown.insert("email".into(), json!(email));
    }
    shown.insert("contactId".into(), json!(person.contact));
    for (name, value) in &person.extra {
        shown.entry(name).or_insert_with(|| value.clone());
    }
    Value::Object(shown)
}
