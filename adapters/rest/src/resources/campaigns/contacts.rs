//! Contacts of a campaign as JSON: with all their fields, or as ids of saved ones.

use std::{collections::HashMap, sync::Arc};

use domain::{
    account_settings::AccountSettings,
    agent::{Agent, Problem},
    id::{AccountId, ContactId},
    phone_number::PhoneNumber,
    ports::store::{Account, CampaignContact, ContactRow, Store},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::variables::OpenVariables;
use crate::{
    described::bodies,
    request::{
        call_overrides::{ContactChoices, unknown_override},
        checked::Checked,
        contact_fields,
    },
    resources::{account::safeguards::Destinations, contacts::NewContact},
    response::error::{ApiError, ApiResult},
    state::RestState,
};

const LISTS: [&str; 2] = ["contacts", "contactIds"];

/// A contact to call. Up to 100 custom fields of 4 KiB each are stored, and are available as variables in the call.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewCampaignContact {
    #[serde(flatten)]
    contact: NewContact,
    /// Id of a saved contact with this number.
    #[schema(value_type = Option<String>, format = "uuid")]
    contact_id: Option<ContactId>,
}

/// Contacts to call: `contacts`, `contactIds` or both.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "`read` takes them out of the body")]
pub struct MoreContacts {
    /// Contacts to call.
    #[serde(default)]
    #[schema(min_items = 1)]
    contacts: Vec<NewCampaignContact>,
    /// Saved contacts to call.
    #[serde(default)]
    #[schema(min_items = 1)]
    contact_ids: Vec<bodies::ContactId>,
}

/// Reads the contacts of a body. Returns those with a valid number, with their index; problems of the others are added.
fn read_contacts<T>(body: &mut Checked<T>, settings: &AccountSettings) -> Vec<(usize, CampaignContact)> {
    let mut seen: HashMap<PhoneNumber, usize> = HashMap::new();
    let mut contacts = Vec::new();
    for (index, item) in body.take("contacts") {
        let Some(contact) = read_contact(body, index, item, settings) else {
            continue;
        };
        match seen.get(&contact.phone_number) {
            Some(first) => {
                let message = format!("`{}` repeats contacts[{first}]", contact.phone_number);
                body.problem(&format!("contacts[{index}].phoneNumber"), ("duplicate_number", message));
            }
            None => {
                seen.insert(contact.phone_number.clone(), index);
                contacts.push((index, contact));
            }
        }
    }
    contacts
}

/// Reads what the schema found sound of a contact. Returns `None` without a valid number.
fn read_contact<T>(
    body: &mut Checked<T>,
    index: usize,
    mut item: Value,
    settings: &AccountSettings,
) -> Option<CampaignContact> {
    let at = |name: &str| format!("contacts[{index}].{name}");
    if let Some(text) = item["phoneNumber"].as_str() {
        match contact_fields::phone_number(settings, text) {
            Ok(number) => item["phoneNumber"] = number.into(),
            Err(reason) => {
                body.problem(&at("phoneNumber"), reason);
                item["phoneNumber"] = Value::Null;
            }
        }
    }
    let NewCampaignContact { contact, contact_id } = serde_json::from_value(item).ok()?;
    let mut problems = contact_fields::problems(&contact.extra, &["metadata"]);
    for name in contact.extra.keys() {
        problems.extend(unknown_override(name).map(|why| Problem::new(name, "not_allowed", why)));
    }
    body.extend(problems.into_iter().map(|problem| Problem {
        path: at(&problem.path),
        ..problem
    }));
    Some(CampaignContact {
        phone_number: contact.phone_number?,
        contact: contact_id,
        name: contact_fields::person(contact.name),
        email: contact.email.map(|email| email.0),
        extra: contact.extra,
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

/// Reads `contacts` and `contactIds` of a body, and checks their ids and destinations. Returns `None` if neither is given;
/// problems are added to the body.
pub async fn read<T>(
    store: &dyn Store,
    account: &Account,
    body: &mut Checked<T>,
) -> ApiResult<Option<(Vec<CampaignContact>, Destinations)>> {
    if LISTS.iter().all(|list| body.sound(list).is_none()) {
        return Ok(None);
    }
    let given = read_contacts(body, &account.settings);
    let account = account.id;
    let ids = body.take("contactIds").into_iter();
    let ids: Vec<(usize, ContactId)> = ids
        .filter_map(|(index, id)| Some((index, id.as_str()?.parse().ok()?)))
        .collect();
    let mut problems = Vec::new();
    check_ids(store, account, &given, &mut problems).await?;
    let mut destinations = Destinations::of(store, account).await?;
    let places: Vec<usize> = given.iter().map(|(index, _)| *index).collect();
    let all = union(store, account, given, &ids, &mut problems).await?;
    for (at, contact) in all.iter().enumerate() {
        let path = match places.get(at) {
            Some(index) => format!("contacts[{index}].phoneNumber"),
            None => "contactIds".to_owned(),
        };
        destinations.check(path, &contact.phone_number, &mut problems);
    }
    body.extend(problems);
    LISTS.iter().for_each(|list| body.sort(list));
    Ok(Some((all, destinations)))
}

/// Does the same for a body that must have contacts.
pub async fn read_required<T>(
    store: &dyn Store,
    account: &Account,
    body: &mut Checked<T>,
) -> ApiResult<Option<(Vec<CampaignContact>, Destinations)>> {
    let given = read(store, account, body).await?;
    if given.is_none() && !LISTS.iter().any(|list| body.is_refused(list)) {
        body.problem("contacts", ("required", "is required, or `contactIds`".into()));
    }
    Ok(given)
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
