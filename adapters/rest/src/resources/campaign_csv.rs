//! `POST /public/v1/campaigns/csv` and `…/contacts/csv`: a campaign, or more contacts, from an uploaded file. The file
//! is stored on disk and checked as a whole, then imported in small transactions. No reader sees a partial import.

mod check;
mod columns;
pub(crate) mod dry_run;
pub(crate) mod form;
mod layout;
pub(crate) mod paced;
mod rows;
mod seen;
mod text;
mod upload;

use std::{
    fs::File,
    io::{BufReader, Cursor},
};

use axum::{
    extract::{Request, State},
    response::Response,
};
use domain::{
    agent::Problem,
    id::AccountId,
    ports::store::{Account, CampaignContact, CampaignRow, KeyTicket},
};
use tokio::sync::mpsc;

use super::{
    account::safeguards::Destinations,
    campaigns::{
        add::{Added, again, check_number, commit, reply},
        begin::{answer, answer_again, joined, require_ready},
        command::{Target, require_to_feed},
        contacts::count_variables,
        import::{CHUNK, Import},
        settings::dialing_agent,
        update::agent_of,
        variables::OpenVariables,
    },
};
use crate::{
    access::idempotency::{IdempotencyKey, Turn},
    caller::{Caller, CallerKey},
    request::{
        call_overrides::ContactChoices,
        query::{NoParameters, Query},
    },
    response::{
        error::{ApiError, ApiResult, Details, OrNoSuch},
        request_id::RequestId,
    },
    state::RestState,
};
use check::{Examined, Options, Refusal, Rules};
use form::{MoreCsvContacts, NewCsvCampaign};
use upload::Upload;

const TOO_MANY_UPLOADS: &str = "too many uploads are in progress or waiting; try again later";

/// Handles `POST /public/v1/campaigns/csv`.
pub async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    caller: CallerKey,
    key: IdempotencyKey,
    request_id: RequestId,
    _: Query<NoParameters>,
    request: Request,
) -> ApiResult<Response> {
    let Some(_slot) = state.upload_limit.wait(account.id).await else {
        return Err(ApiError::Unavailable(TOO_MANY_UPLOADS.into()));
    };
    let has_key = key.is_given();
    let upload = upload::receive::<NewCsvCampaign>(request, &state.spool_dir, has_key).await?;
    let begin = form::begin(&upload.texts);
    begin.require_scope(&caller)?;
    let hash = || upload.hash();
    match key.take(&state, account.id, "upload campaign", hash).await? {
        Turn::Again(replay) => answer_again(&state, account.id, &replay, begin, request_id).await,
        Turn::First(held) => {
            let made = make(&state, &account, upload, held.ticket()).await;
            let made = held.end(made).await?;
            answer(&state, made, begin, has_key, request_id).await
        }
    }
}

/// Saves the campaign. Returns it with warnings about its contacts.
async fn make(
    state: &RestState,
    account: &Account,
    upload: Upload,
    ticket: Option<&KeyTicket>,
) -> ApiResult<(CampaignRow, Option<String>)> {
    let mut form = upload.checked();
    let options = form::check(&mut form, &account.settings);
    let account = account.id;
    let destinations = Destinations::of(&*state.store, account).await?;
    // Problems of the file are reported before those of the agent.
    let agent = match form.get("agentId") {
        Some(id) => Some(dialing_agent(&*state.store, account, id).await),
        None => None,
    };
    let choices = match &agent {
        Some(Ok(agent)) => Some(ContactChoices::of(agent, &state.talking)),
        _ => None,
    };
    let rules = (choices, destinations);
    let checked = check(upload.file, options, rules, form.problems(), Examined::sound).await?;
    let (settings, follow_up) = form.end()?.parts();
    let agent = agent.ok_or(ApiError::Internal)??;
    if settings.begins() {
        require_ready(state, account, &agent).await?;
    }
    let mut open = OpenVariables::of(&*state.store, account, &agent).await?;
    let import = Import::begin(state.store.clone(), account, settings.into_new(follow_up.made())).await?;
    let read = save(state, account, checked, &import, &mut open).await?;
    let row = import.finish(ticket).await?;
    let warnings: Vec<String> = read.into_iter().chain(open.warning()).collect();
    Ok((row, joined(&warnings)))
}

/// Appends the contacts of a valid file to an import. Returns warnings about the file and their destinations.
async fn save(
    state: &RestState,
    account: AccountId,
    checked: Checked,
    import: &Import,
    open: &mut OpenVariables,
) -> ApiResult<Vec<String>> {
    let (mut missing, warnings) = (checked.examined.report.valid_rows, checked.warnings());
    let mut chunks = checked.contacts();
    while let Some(chunk) = chunks.recv().await {
        let chunk = chunk?;
        count_variables(&state.store, account, &chunk, open).await?;
        import.append(&chunk).await?;
        missing = missing.saturating_sub(chunk.len() as u64);
    }
    if missing > 0 {
        tracing::error!(missing, "uploaded file is shorter than when it was checked");
        return Err(ApiError::Internal);
    }
    Ok(warnings)
}

/// Handles `POST /public/v1/campaigns/{campaignId}/contacts/csv`.
pub async fn add(
    State(state): State<RestState>,
    target: Target,
    caller: CallerKey,
    key: IdempotencyKey,
    request: Request,
) -> ApiResult<Response> {
    let account = target.account.id;
    let row = state.store.campaign(account, target.campaign).await;
    let row = row.or_no_such("campaign")?;
    require_to_feed(&row, &caller)?;
    let Some(_slot) = state.upload_limit.wait(account).await else {
        return Err(ApiError::Unavailable(TOO_MANY_UPLOADS.into()));
    };
    let upload = upload::receive::<MoreCsvContacts>(request, &state.spool_dir, key.is_given()).await?;
    let hash = || upload.hash().about(row.id);
    let turn = key.take(&state, account, "upload contacts", hash).await?;
    turn.answer(
        async |ticket| append(&state, (&target.account, &row), upload, ticket).await,
        again,
        reply,
    )
    .await
}

/// Adds the file's contacts to a campaign.
async fn append(
    state: &RestState,
    (account, row): (&Account, &CampaignRow),
    upload: Upload,
    ticket: Option<KeyTicket>,
) -> ApiResult<Added> {
    let mut form = upload.checked::<MoreCsvContacts>();
    let options = form::options(&mut form, &account.settings);
    let destinations = Destinations::of(&*state.store, row.account).await?;
    let agent = agent_of(state, row, None).await?;
    let choices = agent.as_ref().map(|agent| ContactChoices::of(agent, &state.talking));
    let rules = (choices, destinations);
    let checked = check(upload.file, options, rules, form.problems(), Examined::sound).await?;
    check_number(checked.examined.report.valid_rows)?;
    let mut open = match &agent {
        Some(agent) => OpenVariables::of(&*state.store, row.account, agent).await?,
        None => OpenVariables::default(),
    };
    let import = Import::hidden(state, row).await?;
    let read = save(state, row.account, checked, &import, &mut open).await?;
    let warnings = read.into_iter().chain(open.warning()).collect();
    commit(state, row, import, warnings, ticket.as_ref()).await
}

/// Checks a file and reads its contacts as an upload does. Returns their number, or `None` if the file is
/// rejected. For benchmarks.
pub fn contacts_in(file: &[u8]) -> Option<usize> {
    Some(contacts_of(file)?.count())
}

/// Checks a file and reads its contacts as an upload does. Returns `None` if the file is rejected.
pub(crate) fn contacts_of(file: &[u8]) -> Option<impl Iterator<Item = CampaignContact>> {
    let rules = Rules {
        choices: None,
        destinations: &mut Destinations::any(),
    };
    let examined = check::examine(Cursor::new(file), &Options::default(), check::ROWS, rules).ok()?;
    let contacts = examined.sound().ok()?.contacts(Cursor::new(file)).ok()?;
    Some(contacts.map_while(Result::ok))
}

/// An accepted file.
struct Checked {
    file: File,
    examined: Examined,
    destinations: Destinations,
}

/// Checks the file, which `accept` may refuse. Its problems are added to those of the form.
async fn check(
    file: Option<File>,
    options: Options,
    (mut choices, mut destinations): (Option<ContactChoices>, Destinations),
    problems: Vec<Problem>,
    accept: fn(Examined) -> Result<Examined, Refusal>,
) -> ApiResult<Checked> {
    let Some(file) = file else {
        return Err(ApiError::Invalid(problems));
    };
    let checking = tokio::task::spawn_blocking(move || {
        let rules = Rules {
            choices: choices.as_mut(),
            destinations: &mut destinations,
        };
        let outcome = check::examine(BufReader::new(&file), &options, check::ROWS, rules).and_then(accept);
        (file, destinations, outcome)
    });
    let (file, destinations, outcome) = checking.await.map_err(|_| ApiError::Internal)?;
    match outcome {
        Ok(examined) if problems.is_empty() => Ok(Checked {
            file,
            examined,
            destinations,
        }),
        Ok(_) => Err(ApiError::Invalid(problems)),
        Err(refusal) => Err(refused(refusal, problems)),
    }
}

fn refused(refusal: Refusal, mut problems: Vec<Problem>) -> ApiError {
    match refusal {
        Refusal::File(found) => {
            problems.extend(found);
            ApiError::Invalid(problems)
        }
        Refusal::Columns(found, preview) => {
            problems.extend(found);
            let details = Details::Columns(preview);
            ApiError::InvalidFile { problems, details }
        }
        Refusal::Rows(report, found) => {
            let message = format!(
                "{} of {} {} invalid; `error.details` lists them",
                report.invalid_rows,
                report.total_rows,
                if report.total_rows == 1 { "row is" } else { "rows are" }
            );
            problems.push(Problem::new("file", "invalid_rows", message));
            problems.extend(found);
            let details = Details::Rows(report);
            ApiError::InvalidFile { problems, details }
        }
        Refusal::TooManyRows => ApiError::PayloadTooLarge(format!("a CSV file may have at most {} rows", check::ROWS)),
        Refusal::Unreadable(error) => unreadable(&error),
    }
}

fn unreadable(error: &dyn std::error::Error) -> ApiError {
    tracing::error!(%error, "upload read failed");
    ApiError::Internal
}

impl Checked {
    /// Returns warnings about how the file was read, and about destinations.
    fn warnings(&self) -> Vec<String> {
        self.examined.warnings().chain(self.destinations.warning()).collect()
    }

    /// Reads the contacts in chunks of one transaction each. Reading waits until a chunk is saved, and ends
    /// when the receiver is dropped.
    fn contacts(self) -> mpsc::Receiver<ApiResult<Vec<CampaignContact>>> {
        let (pieces, receiver) = mpsc::channel(1);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = self.send(&pieces) {
                // If this fails, nobody waits for the result.
                let _ = pieces.blocking_send(Err(error));
            }
        });
        receiver
    }

    fn send(self, pieces: &mpsc::Sender<ApiResult<Vec<CampaignContact>>>) -> ApiResult<()> {
        let contacts = self.examined.contacts(BufReader::new(&self.file));
        let mut chunk = Vec::with_capacity(CHUNK);
        for contact in contacts.map_err(|error| unreadable(&error))? {
            chunk.push(contact.map_err(|error| unreadable(&error))?);
            if chunk.len() == CHUNK {
                let full = std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK));
                if pieces.blocking_send(Ok(full)).is_err() {
                    return Ok(());
                }
            }
        }
        if !chunk.is_empty() {
            let _ = pieces.blocking_send(Ok(chunk));
        }
        Ok(())
    }
}

/// Reads a file as an upload, for fuzzing. A file that passed the check must be readable again without an error.
#[cfg(feature = "fuzzing")]
pub(crate) fn fuzzed(input: std::io::Cursor<&[u8]>) {
    let rules = Rules {
        choices: None,
        destinations: &mut Destinations::any(),
    };
    let examined = check::examine(input.clone(), &Options::default(), 1_000, rules);
    let Ok(examined) = examined.and_then(Examined::sound) else {
        return;
    };
    let rows = examined.report.valid_rows;
    let contacts = examined.contacts(input).into_iter().flatten().map_while(Result::ok);
    assert_eq!(contacts.count() as u64, rows);
}
