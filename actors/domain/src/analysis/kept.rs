//! Values of a call that are stored on the saved contact: `dataCollection.storeData`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::values::checked;
use crate::{agent::Entities, email, ports::store::ContactRow};

/// Limits for a contact: number of further fields, bytes of each, and characters of a name. They are the same
/// as for contacts that clients save.
const MOST_FIELDS: usize = 100;
const MOST_BYTES: usize = 4 * 1024;
const MOST_NAME_CHARS: usize = 200;

/// Names that are reserved by the service or identify the contact.
const RESERVED: [&str; 3] = ["contactId", "metadata", "phoneNumber"];

/// Returns the values that match the type of their entity, converted to that type.
pub(super) fn typed(collected: &BTreeMap<String, String>, entities: &Entities) -> BTreeMap<String, Value> {
    let values = entities.iter().filter_map(|(name, entity)| {
        let value = checked(entity, &Value::from(collected.get(name)?.as_str()))?;
        Some((name.clone(), value))
    });
    values.collect()
}

/// Writes values to a contact, replacing earlier ones. Valid values of `name` and `email` go to these fields,
/// all other names to the further fields. Values that do not fit are left out. Returns true if something
/// changed.
pub fn keep(contact: &mut ContactRow, values: &BTreeMap<String, Value>) -> bool {
    let before = contact.clone();
    for (name, value) in values {
        match (name.as_str(), value.as_str()) {
            ("name", Some(text)) if fits(text) => contact.name = Some(text.trim().to_owned()),
            ("email", Some(text)) if email::is_valid(text.trim()) => contact.email = Some(text.trim().to_owned()),
            ("name" | "email", _) => {}
            _ if RESERVED.contains(&name.as_str()) || !fits(name) => {}
            _ => further(&mut contact.extra, name, value),
        }
    }
    *contact != before
}

fn fits(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().count() <= MOST_NAME_CHARS
}

fn further(extra: &mut Map<String, Value>, name: &str, value: &Value) {
    let bytes = value.as_str().map_or_else(|| value.to_string().len(), str::len);
    let has_room = extra.len() < MOST_FIELDS || extra.contains_key(name);
    if has_room && bytes <= MOST_BYTES {
        extra.insert(name.to_owned(), value.clone());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        id::{AccountId, ContactId},
        phone_number::PhoneNumber,
        time::Timestamp,
    };

    fn contact(extra: &Value) -> ContactRow {
        ContactRow {
            id: ContactId::new(),
            account: AccountId::new(),
            phone_number: PhoneNumber::parse("+15550100010").unwrap(),
            name: Some("Ada".into()),
            email: Some("ada@example.com".into()),
            extra: extra.as_object().cloned().unwrap_or_default(),
            version: 1,
            created_at: Timestamp(0),
        }
    }

    fn kept(mut contact: ContactRow, values: &Value) -> (bool, ContactRow) {
        let values = values.as_object().unwrap().clone().into_iter().collect();
        (keep(&mut contact, &values), contact)
    }

    #[test]
    fn known_fields_keep_their_rules_and_reserved_ones_are_skipped() {
        let (changed, found) = kept(
            contact(&json!({ "city": "Rome", "doors": 3 })),
            &json!({ "name": " Ada Lovelace", "email": "not an address", "city": "Paris", "metadata": "x",
                    "contactId": "y", "phoneNumber": "+15550100099", "ok": true }),
        );
        assert!(changed);
        assert_eq!(found.name.as_deref(), Some("Ada Lovelace"));
        assert_eq!(found.email.as_deref(), Some("ada@example.com"));
        assert_eq!(json!(found.extra), json!({ "city": "Paris", "doors": 3, "ok": true }));
        assert_eq!(found.phone_number.as_str(), "+15550100010");
        let (changed, _) = kept(
            contact(&json!({ "city": "Rome" })),
            &json!({ "city": "Rome", "name": "Ada" }),
        );
        assert!(!changed);
    }

    #[test]
    fn limits_of_contacts_hold() {
        let full: Map<String, Value> = (0..100).map(|n| (format!("f{n}"), json!(n))).collect();
        let (changed, found) = kept(contact(&json!(full)), &json!({ "f1": "new", "one more": 1 }));
        assert!(changed && found.extra.len() == 100 && found.extra["f1"] == "new");
        let long = "x".repeat(4_097);
        let (changed, _) = kept(contact(&json!({})), &json!({ "note": long, "name": "n".repeat(201) }));
        assert!(!changed);
    }
}
