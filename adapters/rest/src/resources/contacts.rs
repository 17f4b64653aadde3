//! Saved contacts.

pub mod do_not_call;

use axum::{extract::State, response::Response};
use domain::{
    account_settings::AccountSettings,
    agent::{Problem, merge},
    id::{AccountId, AttemptId, ContactId},
    phone_number::PhoneNumber,
    ports::store::{self, Account, ContactCalls, ContactFilter, ContactRow, KeyTicket},
    scope::Scope,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use self::do_not_call::{DoNotCallDeleted, DoNotCallEntry, NewDoNotCallEntry};
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash},
    caller::{Caller, CallerKey},
    described::{
        common::{Email, PhoneNumberSent},
        operation::Operation,
        samples,
    },
    request::{
        body::JsonObject,
        checked::{Checked, Reason},
        contact_fields::{self, CreatedAt},
        cursor::Binding,
        optimistic::until_written,
        path_id::PathId,
        query::{NoParameters, Paging, Parameters, Query, RawQuery},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict, OrNoSuch},
    },
    state::RestState,
};
use storage::recordings;

const RESERVED: [&str; 2] = ["contactId", "metadata"];

/// A saved contact. Custom fields appear beside the standard ones.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Contact {
    /// Id of the contact.
    #[schema(value_type = String, format = "uuid")]
    pub contact_id: ContactId,
    /// Phone number in E.164.
    pub phone_number: PhoneNumber,
    /// Name of the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// E-mail address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Custom fields.
    #[serde(flatten)]
    #[schema(ignore)]
    pub extra: Map<String, Value>,
    /// When the contact was saved.
    pub metadata: CreatedAt,
}

/// Handles `POST /public/v1/contacts`.
pub async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let turn = key.take(&state, account.id, "create contact", || RequestHash::of_json(&body));
    turn.await?
        .answer(
            async |ticket| make(&state, &account, &body, ticket.as_ref()).await,
            async |id| state.store.contact(account.id, id).await.or_no_such("contact"),
            |row| Reply::created(view(row)),
        )
        .await
}

async fn make(
    state: &RestState,
    account: &Account,
    body: &Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<ContactRow> {
    let new = read(body, |text| contact_fields::phone_number(&account.settings, text))?;
    Ok(state.store.create_contact(account.id, new, ticket).await?)
}

/// A contact to save. Up to 100 custom fields of 4 KiB each are stored, and are available as variables in calls.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewContact {
    /// Phone number; no other contact may have it.
    // It is missing only as long as the problems of the others are looked for.
    #[schema(required, value_type = PhoneNumberSent)]
    pub phone_number: Option<PhoneNumber>,
    /// Name of the person.
    #[schema(max_length = 200)]
    pub name: Option<String>,
    /// E-mail address.
    pub email: Option<Email>,
    /// Custom fields.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Reads a contact, whose number `parse` reads.
fn read(body: &Map<String, Value>, parse: impl FnOnce(&str) -> Result<String, Reason>) -> ApiResult<store::NewContact> {
    let mut body = Checked::<NewContact>::of(body);
    body.parse("phoneNumber", parse);
    let problems = contact_fields::problems(&body.so_far().extra, &RESERVED);
    body.extend(problems);
    let new = body.end()?;
    Ok(store::NewContact {
        phone_number: new.phone_number.ok_or(ApiError::Internal)?,
        name: contact_fields::person(new.name),
        email: new.email.map(|email| email.0),
        extra: new.extra,
    })
}

/// Parameters of a list that can be searched.
#[derive(Debug, Clone)]
pub struct ListParameters {
    /// Text to search for.
    pub search: Option<String>,
    /// Page to read.
    pub paging: Paging,
}

impl Parameters for ListParameters {
    const NAMES: &'static [&'static str] = &["search", "cursor", "pageSize"];

    fn read(query: &mut RawQuery) -> Self {
        Self {
            search: query.search(),
            paging: Paging::read(query),
        }
    }
}

/// Handles `GET /public/v1/contacts`, newest first.
pub async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(ListParameters { search, paging }): Query<ListParameters>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, "contacts", format!("{search:?}"));
    let filter = ContactFilter {
        number: search.as_deref().and_then(PhoneNumber::search_text),
        name: search,
        after: binding.after(paging.cursor.as_deref())?,
    };
    let rows = state.store.contacts(account.id, filter, paging.page_size + 1).await?;
    Ok(binding.page(rows, paging.page_size, view, |row| (row.created_at, row.id.to_string())))
}

/// Handles `PATCH /public/v1/contacts/{contactId}`, a merge patch.
pub async fn patch(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<ContactId>,
    _: Query<NoParameters>,
    JsonObject(patch): JsonObject,
) -> ApiResult<Reply> {
    let outcome = until_written(async || {
        let row = state.store.contact(account.id, id).await.or_no_such("contact")?;
        let new = patched(&account.settings, &row, &patch)?;
        Ok(state.store.update_contact(account.id, id, row.version, new).await)
    });
    Ok(Reply::ok(view(&outcome.await?.or_no_such("contact")?)))
}

/// Returns the contact after the patch. An invalid field name is rejected even if the field would be removed. A number of
/// an earlier rule that is not changed stays.
fn patched(settings: &AccountSettings, row: &ContactRow, patch: &Map<String, Value>) -> ApiResult<store::NewContact> {
    let mut problems = Vec::new();
    for (name, _) in patch.iter().filter(|(_, value)| value.is_null()) {
        if RESERVED.contains(&name.as_str()) {
            let message = "is a reserved name; leave it out";
            problems.push(Problem::new(name, "not_allowed", message));
        } else if let Some(problem) = contact_fields::wrong_name(name) {
            problems.push(problem);
        }
    }
    let known = contact_fields::show(&row.phone_number, row.name.as_deref(), row.email.as_deref(), &row.extra);
    let mut merged = Value::Object(known);
    merge(&mut merged, &Value::Object(patch.clone()));
    let merged = merged.as_object().cloned().unwrap_or_default();
    let parse = |text: &str| match text == row.phone_number.as_str() {
        true => Ok(text.to_owned()),
        false => contact_fields::phone_number(settings, text),
    };
    match read(&merged, parse) {
        Ok(new) if problems.is_empty() => Ok(new),
        Ok(_) => Err(ApiError::Invalid(problems)),
        Err(ApiError::Invalid(found)) => {
            problems.extend(found);
            Err(ApiError::Invalid(problems))
        }
        Err(other) => Err(other),
    }
}

/// Handles `GET /public/v1/contacts/{contactId}`.
pub async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<ContactId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let row = state.store.contact(account.id, id).await.or_no_such("contact")?;
    Ok(Reply::ok(view(&row)))
}

/// Parameters of a delete.
#[derive(Debug, Clone, Copy)]
pub struct DeleteParameters {
    erase: bool,
}

impl Parameters for DeleteParameters {
    const NAMES: &'static [&'static str] = &["erase"];

    fn read(query: &mut RawQuery) -> Self {
        Self {
            erase: query.boolean("erase").unwrap_or(false),
        }
    }
}

/// Handles `DELETE /public/v1/contacts/{contactId}`. `erase=true` also deletes what calls stored about that person.
pub async fn delete(
    State(state): State<RestState>,
    Caller(account): Caller,
    caller: CallerKey,
    PathId(id): PathId<ContactId>,
    Query(DeleteParameters { erase }): Query<DeleteParameters>,
) -> ApiResult<Reply> {
    if erase {
        caller.require(Scope::Admin)?;
        erase_all(&state, account.id, id).await?;
    } else {
        state.store.delete_contact(account.id, id).await.or_no_such("contact")?;
    }
    Ok(Reply::deleted("contactId", id))
}

/// Removes recordings first: after a crash in between, the contact still exists and its erasure can be requested again.
async fn erase_all(state: &RestState, account: AccountId, id: ContactId) -> ApiResult<()> {
    let calls = over(state.store.calls_of_contact(account, id).await.or_no_such("contact")?)?;
    erase_recordings(state, calls).await?;
    over(state.store.erase_contact(account, id).await.or_no_such("contact")?)?;
    (state.forget_speech)();
    Ok(())
}

/// Deletes the recordings of calls on this node.
pub async fn erase_recordings(state: &RestState, calls: Vec<AttemptId>) -> ApiResult<()> {
    let folder = state.recordings_dir.clone();
    let removing =
        tokio::task::spawn_blocking(move || calls.into_iter().try_for_each(|call| recordings::erase(&folder, call)));
    let removed = removing.await.map_err(|_| ApiError::Internal)?;
    removed.map_err(|error| {
        tracing::error!(%error, "recording removal failed");
        ApiError::Unavailable("a recording cannot be removed at the moment; try again".into())
    })
}

fn over(calls: ContactCalls) -> ApiResult<Vec<AttemptId>> {
    match calls {
        ContactCalls::Over(calls) => Ok(calls),
        ContactCalls::Going => Err(ApiError::Conflict(
            Conflict::InUse,
            "a call to this contact goes on, or has ended within the last ten seconds; try again when it is over"
                .into(),
        )),
    }
}

fn view(row: &ContactRow) -> Contact {
    // A standard field with a value replaces a custom field of the same name.
    let mut extra = row.extra.clone();
    extra.shift_remove("phoneNumber");
    for (known, is_set) in [("name", row.name.is_some()), ("email", row.email.is_some())] {
        if is_set {
            extra.shift_remove(known);
        }
    }
    Contact {
        contact_id: row.id,
        phone_number: row.phone_number.clone(),
        name: row.name.clone(),
        email: row.email.clone(),
        extra,
        metadata: CreatedAt::of(row.created_at),
    }
}

const GOING: &str =
    "a call to this contact goes on, or has ended within the last ten seconds; try again when it is over";

const EXISTS: &str = "a contact with this phone number is saved already";

/// Returns the operations of contacts.
pub fn operations() -> Vec<Operation> {
    let sent =
        json!({ "phoneNumber": "+1 (555) 010-0010", "name": "Maria", "email": "maria@example.com", "city": "Lisbon" });
    vec![
        Operation::get("/public/v1/contacts", "listContacts", "List contacts, newest first")
            .by(list)
            .query(
                "search",
                "Text contained in the name or number",
                json!({ "type": "string" }),
            )
            .paged()
            .page::<Contact>(samples::contact()),
        Operation::post("/public/v1/contacts", "createContact", "Save a contact")
            .by(create)
            .in_service_document()
            .idempotent()
            .body::<NewContact>(json!({ "least": { "phoneNumber": "0015550100010" }, "more": sent }))
            .created::<Contact>(samples::contact())
            .link("read", "getContact", "contactId", "/data/contactId")
            .link("change", "updateContact", "contactId", "/data/contactId")
            .link("delete", "deleteContact", "contactId", "/data/contactId")
            .invalid(
                "phoneNumber",
                "invalid_phone",
                "`12ab` is not a phone number: write + and 7 to 15 digits, such as +15551234567",
            )
            .conflict("contact_exists", EXISTS),
        Operation::get("/public/v1/contacts/{contactId}", "getContact", "Read a contact")
            .by(show)
            .ok::<Contact>(samples::contact()),
        Operation::patch("/public/v1/contacts/{contactId}", "updateContact", "Change a contact")
            .by(patch)
            .changes::<NewContact>(
                "ContactPatch",
                json!({
                    "nothing": {},
                    "some": { "name": "Maria Silva", "city": "Porto" },
                    "remove": { "email": null },
                }),
            )
            .ok::<Contact>(samples::contact())
            .invalid("phoneNumber", "required", "is required")
            .conflict("contact_exists", EXISTS)
            .conflict(
                "conflict",
                "it was changed by another request at the same time; read it again",
            ),
        Operation::delete("/public/v1/contacts/{contactId}", "deleteContact", "Delete a contact")
            .by(delete)
            .in_service_document()
            .query(
                "erase",
                "Also erase what calls stored about this person",
                json!({ "type": "boolean", "default": false, "x-ringback-extension": true }),
            )
            .deletes("ContactDeleted", "contactId", &json!(samples::CONTACT))
            .conflict("in_use", GOING),
    ]
}

/// Returns the operations of the do-not-call list.
pub fn do_not_call() -> Vec<Operation> {
    let entry = json!({ "phoneNumber": samples::PHONE, "metadata": { "createdAt": samples::AT } });
    let mut listed = entry.clone();
    listed["conversationId"] = json!(samples::CONVERSATION);
    vec![
        Operation::get(
            "/public/v1/do-not-call",
            "listDoNotCall",
            "List the numbers that are not called",
        )
        .by(do_not_call::list)
        .query("search", "Digits contained in the number", json!({ "type": "string" }))
        .paged()
        .page::<DoNotCallEntry>(listed),
        Operation::post("/public/v1/do-not-call", "addDoNotCall", "Never call a number")
            .by(do_not_call::add)
            .note("A number that is already on the list stays unchanged.")
            .body::<NewDoNotCallEntry>(json!({ "number": { "phoneNumber": "+15550100010" } }))
            .created::<DoNotCallEntry>(entry)
            .invalid(
                "phoneNumber",
                "invalid_phone",
                "`12ab` is not a phone number: write + and 7 to 15 digits, such as +15551234567",
            ),
        Operation::delete(
            "/public/v1/do-not-call/{phoneNumber}",
            "removeDoNotCall",
            "Allow calls to a number again",
        )
        .by(do_not_call::remove)
        .ok::<DoNotCallDeleted>(json!({ "phoneNumber": samples::PHONE, "deleted": true })),
    ]
}
