//! Contacts of a campaign as JSON: with all their fields, or as ids of saved ones.

use std::{collections::HashMap, sync::Arc};

use domain::{
    account_settings::AccountSettings,
    agent::{Agent, Problem},
    id::{AccountId, ContactId},
    phone_number::PhoneNumber,
    ports::store::{Account, CampaignContact, ContactRow, Store},
};
use serde_json::{Map, Value};

use super::variables::OpenVariables;
use crate::{
    request::{
        call_overrides::{ContactChoices, unknown_override},
        contact_fields,
        fields::{Fields, kind},
    },
    resources::account::safeguards::Destinations,
    response::error::{ApiError, ApiResult},
    state::RestState,
};

/// Reads the contacts. Returns the valid ones with their index; problems of the others are added to `fields`.
fn read(fields: &mut Fields<'_>, settings: &AccountSettings) -> Vec<(usize, CampaignContact)> {
    if let Some(Value::Array(items)) = fields.value("contacts")
        && items.is_empty()
    {
        fields.problem("contacts", "required", "must hold at least one contact");
    }
    let mut seen: HashMap<PhoneNumber, usize> = HashMap::new();
    let mut contacts = Vec::new();
    for (index, item) in fields.array("contacts").unwrap_or_default().iter().enumerate() {
        let path = format!("contacts[{index}]");
        let Value::Object(map) = item else {
            let message = format!("must be an object, not {}", kind(item));
            fields.problem(&path, "wrong_type", message);
            continue;
        };
        let mut own = Fields::of(map, path);
        let contact = contact(&mut own, settings);
        if let Some(contact) = contact {
            match seen.get(&contact.phone_number) {
                Some(first) => {
                    let message = format!("`{}` repeats contacts[{first}]", contact.phone_number);
                    own.problem("phoneNumber", "duplicate_number", message);
                }
                None => {
                    seen.insert(contact.phone_number.clone(), index);
                    contacts.push((index, contact));
                }
            }
        }
        fields.problems.append(&mut own.problems);
    }
    contacts
}

fn contact(fields: &mut Fields<'_>, settings: &AccountSettings) -> Option<CampaignContact> {
    let phone_number = fields.required_phone_number("phoneNumber", settings);
    let read = contact_fields::read(fields, &["metadata"], &["contactId"]);
    for name in read.extra.keys() {
        if let Some(why) = unknown_override(name) {
            fields.problem(name, "not_allowed", why);
        }
    }
    let contact = fields.string("contactId").and_then(|text| {
        let id = text.parse::<ContactId>();
        if id.is_err() {
            fields.problem(
                "contactId",
                "invalid_value",
                format!("`{text:.100}` is not a contact's id (a UUID)"),
            );
        }
        id.ok()
    });
    Some(CampaignContact {
        phone_number: phone_number?,
        contact,
        name: read.name,
        email: read.email,
        extra: read.extra,
    })
}

/// Checks that each `contactId` belongs to a saved contact of the account with the same number.
async fn check_ids(
    store: &dyn Store,
    account: AccountId,
    contacts: &[(usize, CampaignContact)],
    problems: &mut Vec<Problem>,
) -> ApiResult<()> {
    let ids: Vec<ContactId> = contacts.iter().filter_map(|(_, contact)| contact.contact).collect();
    let saved = by_id(store, account, &ids).await?;
    for (index, contact) in contacts {
        let Some(id) = contact.contact else { continue };
        let path = format!("contacts[{index}].contactId");
        match saved.get(&id) {
            Some(saved) if saved.phone_number == contact.phone_number => {}
            Some(_) => problems.push(Problem::new(
                path,
                "not_allowed",
                "this contact is saved with another phone number",
            )),
            None => problems.push(no_such_contact(path, id)),
        }
    }
    Ok(())
}

async fn by_id(store: &dyn Store, account: AccountId, ids: &[ContactId]) -> ApiResult<HashMap<ContactId, ContactRow>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let saved = store.saved_by_id(account, ids).await?;
    Ok(saved.into_iter().map(|row| (row.id, row)).collect())
}

fn no_such_contact(path: String, id: ContactId) -> Problem {
    Problem::new(path, "not_found", format!("there is no contact `{id}` in this account"))
}

/// Reads the ids in `contactIds`. Returns the valid ones with their index; problems of the others are added
/// to `fields`.
fn read_ids(fields: &mut Fields<'_>) -> Vec<(usize, ContactId)> {
    let Some(items) = fields.array("contactIds") else {
        return Vec::new();
    };
    if items.is_empty() {
        fields.problem("contactIds", "required", "must hold at least one contact's id");
    }
    let mut ids = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("contactIds[{index}]");
        let Value::String(text) = item else {
            fields.problem(&path, "wrong_type", format!("must be a string, not {}", kind(item)));
            continue;
        };
        match text.parse() {
            Ok(id) => ids.push((index, id)),
            Err(_) => fields.problem(
                &path,
                "invalid_value",
                format!("`{text:.100}` is not a contact's id (a UUID)"),
            ),
        }
    }
    ids
}

/// Reads `contacts` and `contactIds`, and checks their ids and destinations. Returns `None` if neither is given;
/// problems are added to `fields`.
pub async fn read_all(
    store: &dyn Store,
    account: &Account,
    fields: &mut Fields<'_>,
) -> ApiResult<Option<(Vec<CampaignContact>, Destinations)>> {
    if ["contacts", "contactIds"]
        .iter()
        .all(|name| fields.value(name).is_none())
    {
        return Ok(None);
    }
    let given = read(fields, &account.settings);
    let account = account.id;
    let ids = read_ids(fields);
    let problems: &mut Vec<Problem> = &mut fields.problems;
    check_ids(store, account, &given, problems).await?;
    let mut destinations = Destinations::of(store, account).await?;
    let places: Vec<usize> = given.iter().map(|(index, _)| *index).collect();
    let all = union(store, account, given, &ids, problems).await?;
    for (at, contact) in all.iter().enumerate() {
        let path = match places.get(at) {
            Some(index) => format!("contacts[{index}].phoneNumber"),
            None => "contactIds".to_owned(),
        };
        destinations.check(path, &contact.phone_number, problems);
    }
    Ok(Some((all, destinations)))
}

/// Returns `contacts` followed by the saved contacts with these ids. A repeated number is a problem.
async fn union(
    store: &dyn Store,
    account: AccountId,
    contacts: Vec<(usize, CampaignContact)>,
    ids: &[(usize, ContactId)],
    problems: &mut Vec<Problem>,
) -> ApiResult<Vec<CampaignContact>> {
    let plain: Vec<ContactId> = ids.iter().map(|(_, id)| *id).collect();
    let saved = by_id(store, account, &plain).await?;
    let mut seen: HashMap<PhoneNumber, String> = HashMap::new();
    let mut all = Vec::with_capacity(contacts.len() + ids.len());
    for (index, contact) in contacts {
        seen.insert(contact.phone_number.clone(), format!("contacts[{index}]"));
        all.push(contact);
    }
    for (index, id) in ids {
        let path = format!("contactIds[{index}]");
        let Some(row) = saved.get(id) else {
            problems.push(no_such_contact(path, *id));
            continue;
        };
        if let Some(first) = seen.get(&row.phone_number) {
            let message = format!("its number `{}` repeats {first}", row.phone_number);
            problems.push(Problem::new(path, "duplicate_number", message));
            continue;
        }
        seen.insert(row.phone_number.clone(), path);
        // Custom fields stay in the saved contact. A call uses their values at that time.
        all.push(CampaignContact {
            phone_number: row.phone_number.clone(),
            contact: Some(row.id),
            name: row.name.clone(),
            email: row.email.clone(),
            extra: Map::new(),
        });
    }
    Ok(all)
}

/// Checks the language and the overrides of the first contacts, those of `contacts` in the body.
pub fn check_choices(state: &RestState, agent: &Agent, contacts: &[CampaignContact]) -> ApiResult<()> {
    let mut choices = ContactChoices::of(agent, &state.talking);
    let mut problems = Vec::new();
    for (index, contact) in contacts.iter().enumerate() {
        for problem in choices.problems(&contact.extra) {
            let path = format!("contacts[{index}].{}", problem.path);
            problems.push(Problem { path, ..problem });
        }
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(ApiError::Invalid(problems)),
    }
}

/// Counts the variables that these contacts fill, together with their saved contacts in the account.
pub async fn count_variables(
    store: &Arc<dyn Store>,
    account: AccountId,
    contacts: &[CampaignContact],
    open: &mut OpenVariables,
) -> ApiResult<()> {
    if !open.any() {
        return Ok(());
    }
    let numbers: Vec<PhoneNumber> = contacts.iter().map(|contact| contact.phone_number.clone()).collect();
    let saved = store.saved_by_number(account, &numbers).await?;
    let saved: HashMap<&PhoneNumber, &Map<String, Value>> =
        saved.iter().map(|row| (&row.phone_number, &row.extra)).collect();
    for contact in contacts {
        open.count(contact, saved.get(&contact.phone_number).copied());
    }
    Ok(())
}
