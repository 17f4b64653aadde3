//! `POST /public/v1/campaigns/csv/check`: checks a file as an upload does, and saves nothing.

use std::collections::HashMap;

use axum::extract::{Request, State};
use chrono_tz::Tz;
use domain::{
    agent::{LANGUAGE_OVERRIDE, Problem},
    phone_number::PhoneNumber,
    ports::store::CampaignContact,
    safeguards::zones_of,
};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    Checked, TOO_MANY_UPLOADS,
    form::{self, CsvToCheck},
    upload,
};
use crate::{
    caller::Caller,
    request::{
        call_overrides::{ContactChoices, is_override},
        contact_fields,
        query::{NoParameters, Query},
    },
    resources::{
        account::safeguards::Destinations,
        campaigns::{begin::joined, import::CHUNK, settings::dialing_agent},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult},
        row_report::{ENTRIES, RowReport},
    },
    state::RestState,
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
    /// Headers, in the order of the file; at most 200.
    headers: Vec<String>,
    /// Cells of the first rows with content, at most 5.
    first_rows: Vec<Vec<String>>,
    /// The first valid contacts as an upload would save them, at most 5.
    #[schema(value_type = Vec<std::collections::BTreeMap<String, String>>)]
    first_contacts: Vec<Map<String, Value>>,
    /// Rows that repeat the number of an earlier row.
    duplicates: u64,
    /// Numbers of the file that are on the do-not-call list.
    do_not_call: usize,
    /// Rows with these numbers, at most 1,000.
    do_not_call_rows: Vec<ListedRow>,
    /// Time zones of the numbers, the most frequent first; numbers whose zone is unknown are left out.
    time_zones: Vec<ZonesOfNumbers>,
}

/// A row whose number is on the do-not-call list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedRow {
    /// Line in the file, from 1.
    line: u32,
    /// Number as it would be saved.
    phone_number: PhoneNumber,
}

/// Numbers that may be in the same time zones.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ZonesOfNumbers {
    /// IANA names.
    zones: Vec<&'static str>,
    /// How many numbers of the file may be in them.
    numbers: u64,
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
    let upload = upload::receive::<CsvToCheck>(request, &state.spool_dir, false).await?;
    let mut form = upload.checked::<CsvToCheck>();
    let choices = match form.get("agentId") {
        Some(id) => {
            let agent = dialing_agent(&*state.store, account.id, id).await?;
            Some(ContactChoices::of(&agent, &state.talking))
        }
        None => None,
    };
    let rules = (choices, Destinations::of(&*state.store, account.id).await?);
    let options = form::options(&mut form, &account.settings);
    let checked = super::check(upload.file, options, rules, form.problems(), Ok).await?;
    let warnings = checked.warnings();
    let Checked { examined: found, .. } = checked;
    let (mut do_not_call, mut do_not_call_rows, mut places) = (0, Vec::new(), HashMap::new());
    let mut entries = found.seen.entries().peekable();
    while entries.peek().is_some() {
        let (numbers, lines): (Vec<_>, Vec<_>) = entries.by_ref().take(CHUNK).unzip();
        let listed = state.store.among_do_not_call(account.id, &numbers).await?;
        do_not_call += listed.len();
        for (phone_number, line) in numbers.into_iter().zip(lines) {
            *places.entry(zones_of(&phone_number)).or_insert(0) += 1;
            if do_not_call_rows.len() < ENTRIES && listed.contains(&phone_number) {
                do_not_call_rows.push(ListedRow { line, phone_number });
            }
        }
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
        headers: found.preview.headers,
        first_rows: found.preview.first_rows,
        do_not_call,
        do_not_call_rows,
        time_zones: time_zones(places),
    };
    Ok(Reply::ok(shown).warning(joined(&warnings)))
}

fn time_zones(places: HashMap<&[Tz], u64>) -> Vec<ZonesOfNumbers> {
    let known = places.into_iter().filter(|(zones, _)| !zones.is_empty());
    let named = known.map(|(zones, numbers)| ZonesOfNumbers {
        zones: zones.iter().map(|zone| zone.name()).collect(),
        numbers,
    });
    let mut named: Vec<ZonesOfNumbers> = named.collect();
    named.sort_by(|a, b| b.numbers.cmp(&a.numbers).then_with(|| a.zones.cmp(&b.zones)));
    named
}
