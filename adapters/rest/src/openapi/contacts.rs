//! Saved contacts, and the do-not-call list.

use serde_json::json;
use utoipa::ToSchema;

use crate::{
    described::{
        common::{Email, PhoneNumberSent},
        operation::Operation,
        samples,
    },
    resources::contacts::{
        Contact, ContactDeleted,
        do_not_call::{DoNotCallDeleted, DoNotCallEntry},
    },
};

/// A contact to save. Up to 100 custom fields of 4 KiB each are stored, and are available as variables in calls.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewContact {
    /// Phone number; an account can have one contact per number.
    pub phone_number: PhoneNumberSent,
    /// Name of the person.
    #[schema(max_length = 200)]
    pub name: Option<String>,
    /// E-mail address.
    pub email: Option<Email>,
}

/// Changes of a contact (RFC 7396). `null` removes a field; custom fields are stored.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContactPatch {
    /// New phone number.
    #[schema(required = false)]
    pub phone_number: PhoneNumberSent,
    /// New name.
    #[schema(max_length = 200)]
    pub name: Option<String>,
    /// New e-mail address.
    pub email: Option<Email>,
}

/// A number to add to the list.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewDoNotCallEntry {
    /// Phone number.
    pub phone_number: PhoneNumberSent,
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
            .ours()
            .query(
                "search",
                "Text contained in the name or number",
                json!({ "type": "string" }),
            )
            .paged()
            .page::<Contact>(samples::contact()),
        Operation::post("/public/v1/contacts", "createContact", "Save a contact")
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
            .ours()
            .ok::<Contact>(samples::contact()),
        Operation::patch("/public/v1/contacts/{contactId}", "updateContact", "Change a contact")
            .ours()
            .body::<ContactPatch>(json!({
                "nothing": {},
                "some": { "name": "Maria Silva", "city": "Porto" },
                "remove": { "email": null },
            }))
            .ok::<Contact>(samples::contact())
            .invalid("phoneNumber", "required", "is required")
            .conflict("contact_exists", EXISTS)
            .conflict(
                "conflict",
                "it was changed by another request at the same time; read it again",
            ),
        Operation::delete("/public/v1/contacts/{contactId}", "deleteContact", "Delete a contact")
            .query(
                "erase",
                "Also erase what calls stored about this person",
                json!({ "type": "boolean", "default": false, "x-ringback-extension": true }),
            )
            .ok::<ContactDeleted>(json!({ "contactId": samples::CONTACT, "deleted": true }))
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
        .ours()
        .query("search", "Digits contained in the number", json!({ "type": "string" }))
        .paged()
        .page::<DoNotCallEntry>(listed),
        Operation::post("/public/v1/do-not-call", "addDoNotCall", "Never call a number")
            .ours()
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
        .ours()
        .ok::<DoNotCallDeleted>(json!({ "phoneNumber": samples::PHONE, "deleted": true })),
    ]
}
