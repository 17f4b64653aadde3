//! `POST /public/v1/campaigns/csv/check`: checks a file as an upload does, and saves nothing.

use axum::extract::{Request, State};
use domain::{
    agent::{LANGUAGE_OVERRIDE, Problem},
    phone_number::PhoneNumber,
    ports::store::CampaignContact,
};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{TOO_MANY_UPLOADS, form, upload};
use crate::{
    RestState,
    auth::Caller,
    call_overrides::{ContactChoices, is_override},
    campaigns::{import::CHUNK, settings::dialing_agent},
    contact_fields,
    envelope::Reply,
    error::{ApiError, ApiResult},
    query::{NoParameters, Query},
    row_report::RowReport,
    safeguards::Destinations,
};

/// A checked file of contacts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckedCsv {
    /// Header of the phone numbers.
    phone_column: String,
    /// Header of the names.
    #[serde(skip_serializing_if = "Option::is_none")]
    name_column: Option<String>,
    /// Header of the e-mail addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    email_column: Option<String>,
    /// Fields that change the row's calls.
    overrides: Vec<String>,
    /// All other fields that are saved.
    fields: Vec<String>,
    /// Rows, and their problems, as in the error of an upload.
    report: RowReport,
    /// Cells that are too long.
    problems: Vec<Problem>,
    /// The first valid contacts as an upload would save them, at most 5.
    #[schema(value_type = Vec<std::collections::BTreeMap<String, String>>)]
    first_contacts: Vec<Map<String, Value>>,
    /// Rows that repeat the number of an earlier row.
    duplicates: u64,
    /// Numbers of the file that are on the do-not-call list.
    do_not_call: i64,
}

/// Handles the request.
pub async fn check(
    State(state): State<RestState>,
    Caller(account): Caller,
    _: Query<NoParameters>,
    request: Request,
) -> ApiResult<Reply> {
    let Some(_slot) = state.upload_limit.wait(account.id).await else {
        return Err(ApiError::Unavailable(TOO_MANY_UPLOADS.into()));
    };
    let upload = upload::receive(request, &state.spool_dir, false, &upload::CHECK_TEXTS).await?;
    let mut problems = upload.problems;
    let choices = match form::agent(&upload.texts, &mut problems) {
        Some(id) => {
            let agent = dialing_agent(&*state.store, account.id, id).await?;
            Some(ContactChoices::of(&agent, &state.talking))
        }
        None => None,
    };
    let rules = (choices, Destinations::of(&*state.store, account.id).await?);
    let checked = super::check(upload.file, form::columns(&upload.texts), rules, problems, Ok).await?;
    let found = checked.examined;
    let mut do_not_call = 0;
    for numbers in found.seen.numbers.chunks(CHUNK) {
        let numbers = numbers.iter().map(|digits| PhoneNumber::parse(&format!("+{digits}")));
        let numbers: Vec<PhoneNumber> = numbers.filter_map(Result::ok).collect();
        do_not_call += state.store.count_do_not_call(account.id, &numbers).await?;
    }
    let header = |index: usize| found.columns.headers[index].clone();
    let fields = found.columns.extra().map(|(_, field)| field.to_owned());
    let (overrides, fields) = fields.partition(|field| field == LANGUAGE_OVERRIDE || is_override(field));
    let show = |contact: &CampaignContact| {
        let (name, email) = (contact.name.as_deref(), contact.email.as_deref());
        contact_fields::show(&contact.phone_number, name, email, &contact.extra)
    };
    let shown = CheckedCsv {
        phone_column: header(found.columns.phone),
        name_column: found.columns.name.map(header),
        email_column: found.columns.email.map(header),
        overrides,
        fields,
        report: found.report,
        problems: found.limits,
        first_contacts: found.first.iter().map(show).collect(),
        duplicates: found.seen.repeats,
        do_not_call,
    };
    Ok(Reply::ok(shown).warning(checked.destinations.warning()))
}
