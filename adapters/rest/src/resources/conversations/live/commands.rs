//! Commands to a live call: `POST /public/v1/conversations/{conversationId}/say`, `…/transfer`, `…/digits` and
//! `…/instructions`.

use std::time::Duration;

use actors::call::{CallCommand, CommandAnswer, CommandKind};
use axum::extract::State;
use domain::{
    agent::{NumberTransfer, TransferDestination},
    id::{AccountId, AttemptId},
    pieces::{has_words, spoken},
    ports::{language_model::NoteScope, store::ConversationStatus},
    text::{is_odd, plain},
};
use peers::NotTold;
use serde::Serialize;
use tokio::time::{Instant, sleep};
use utoipa::ToSchema;

use crate::{
    caller::{Caller, CallerKey},
    request::{
        body::JsonObject,
        fields::Fields,
        path_id::PathId,
        query::{NoParameters, Query},
    },
    resources::account::safeguards::Destinations,
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict, OrNoSuch},
    },
    state::RestState,
};

/// Maximum characters of a text.
const TEXT_CHARACTERS: usize = 1_000;

/// Maximum keys of a request.
const MOST_DIGITS: usize = 64;

/// Time in which the outcome of a call that left its node is stored.
const STORED_WITHIN: Duration = Duration::from_secs(1);

/// Interval of reads meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Kinds of transfers.
const TRANSFER_TYPES: [&str; 3] = ["blind", "conference", "sip_refer"];

/// A command that the call has accepted.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandTaken {
    /// Id of the conversation.
    #[schema(value_type = String, format = "uuid")]
    pub conversation_id: AttemptId,
}

type Body = (PathId<AttemptId>, Query<NoParameters>, JsonObject);

/// Handles the request.
pub async fn say(
    State(state): State<RestState>,
    (Caller(account), key): (Caller, CallerKey),
    (PathId(id), _, JsonObject(body)): Body,
) -> ApiResult<Reply> {
    let mut fields = Fields::of(&body, "");
    fields.only(&["text", "interrupt"]);
    let text = required_text(&mut fields, "text").map(spoken);
    if fields.problems.is_empty() && text.as_ref().is_some_and(|text| !has_words(text)) {
        fields.problem("text", "invalid_value", "has no words that can be spoken");
    }
    let interrupt = fields.flag("interrupt");
    let kind = text.map(|text| CommandKind::Say { text, interrupt });
    send((&state, account.id, key), id, (fields, kind)).await
}

/// Handles the request.
pub async fn transfer(
    State(state): State<RestState>,
    (Caller(account), key): (Caller, CallerKey),
    (PathId(id), _, JsonObject(body)): Body,
) -> ApiResult<Reply> {
    let mut fields = Fields::of(&body, "");
    fields.only(&["phoneNumber", "transferType", "message"]);
    let number = fields.required_phone_number("phoneNumber", &account.settings);
    let wanted = fields.string("transferType");
    if let Some(wanted) = wanted.filter(|wanted| !TRANSFER_TYPES.contains(wanted)) {
        let message = format!("`{wanted:.40}` is not one of {}", TRANSFER_TYPES.join(", "));
        fields.problem("transferType", "not_allowed", message);
    }
    let message = text(&mut fields, "message")
        .map(spoken)
        .filter(|message| has_words(message));
    if let Some(number) = &number {
        let mut destinations = Destinations::of(&*state.store, account.id).await?;
        destinations.check("phoneNumber".into(), number, &mut fields.problems);
    }
    let kind = number.map(|number| CommandKind::Transfer {
        transfer: NumberTransfer {
            transfer_type: wanted.map(str::to_owned),
            transfer_destination: TransferDestination {
                phone_number: Some(number.to_string()),
                ..TransferDestination::default()
            },
            ..NumberTransfer::default()
        },
        message,
    });
    send((&state, account.id, key), id, (fields, kind)).await
}

/// Handles the request.
pub async fn digits(
    State(state): State<RestState>,
    (Caller(account), key): (Caller, CallerKey),
    (PathId(id), _, JsonObject(body)): Body,
) -> ApiResult<Reply> {
    let mut fields = Fields::of(&body, "");
    fields.only(&["digits"]);
    let digits = fields.required_string("digits");
    let is_key = |c: char| matches!(c, '0'..='9' | '*' | '#' | 'A'..='D' | 'w');
    if digits.is_some_and(|digits| !(1..=MOST_DIGITS).contains(&digits.len()) || !digits.chars().all(is_key)) {
        let message = format!(
            "must be 1 to {MOST_DIGITS} of the keys 0 to 9, *, # and A to D, or w for a pause of half a second"
        );
        fields.problem("digits", "invalid_value", message);
    }
    let kind = digits.map(|digits| CommandKind::Digits {
        digits: digits.to_owned(),
    });
    send((&state, account.id, key), id, (fields, kind)).await
}

/// Handles the request.
pub async fn instructions(
    State(state): State<RestState>,
    (Caller(account), key): (Caller, CallerKey),
    (PathId(id), _, JsonObject(body)): Body,
) -> ApiResult<Reply> {
    let mut fields = Fields::of(&body, "");
    fields.only(&["text", "for"]);
    let text = required_text(&mut fields, "text").map(plain);
    let wanted = fields.string("for");
    let holds_for = wanted.map_or(Some(NoteScope::default()), NoteScope::parse);
    if let (Some(wanted), None) = (wanted, holds_for) {
        fields.problem("for", "not_allowed", format!("`{wanted:.40}` is not `turn` or `call`"));
    }
    let kind = text.zip(holds_for);
    let kind = kind.map(|(text, holds_for)| CommandKind::Instructions { text, holds_for });
    send((&state, account.id, key), id, (fields, kind)).await
}

pub(crate) fn required_text<'a>(fields: &mut Fields<'a>, name: &str) -> Option<&'a str> {
    if fields.value(name).is_none() {
        fields.problem(name, "required", "is required");
    }
    text(fields, name)
}

/// Reads a text that is not blank, not too long, and without control characters except white space.
fn text<'a>(fields: &mut Fields<'a>, name: &str) -> Option<&'a str> {
    let text = fields.string(name)?.trim();
    let length = text.chars().count();
    if length == 0 {
        fields.problem(name, "required", "must not be blank");
    } else if length > TEXT_CHARACTERS {
        let message = format!("has {length} characters; at most {TEXT_CHARACTERS} are allowed");
        fields.problem(name, "too_long", message);
    } else if text.chars().any(|c| is_odd(c) && !c.is_whitespace()) {
        fields.problem(name, "invalid_value", "has control characters; leave them out");
    }
    Some(text)
}

/// Sends a command to the node that holds the call, unless its fields have problems.
async fn send(
    (state, account, key): (&RestState, AccountId, CallerKey),
    id: AttemptId,
    (fields, kind): (Fields<'_>, Option<CommandKind>),
) -> ApiResult<Reply> {
    let status = status(state, account, id).await?;
    let (Some(kind), true) = (kind, fields.problems.is_empty()) else {
        return Err(ApiError::Invalid(fields.problems));
    };
    require_in_progress(status)?;
    let command = CallCommand {
        by: key.name().to_owned(),
        kind,
    };
    let answer = match state.switchboard.command_call(id, command.clone()).await {
        Some(CommandAnswer::NotHere) => state.peers.command(id, &command).await,
        Some(answer) => Ok(answer),
        None => Err(NotTold::Lost),
    };
    match answer {
        Ok(CommandAnswer::Done) => Ok(Reply::ok(CommandTaken { conversation_id: id })),
        Ok(CommandAnswer::Refused(why)) => Err(impossible(&why)),
        Ok(CommandAnswer::NotHere) | Err(NotTold::NoHolder) => {
            let no_node = ApiError::Unavailable("no node holds the call at this moment; try again".into());
            Err(ended_or(state, account, id, no_node).await)
        }
        Err(NotTold::OlderVersion) => Err(impossible("the node that holds the call runs an older version")),
        Err(NotTold::Lost) => Err(ApiError::Unavailable(
            "the node that holds the call did not answer, and may have carried the command out: read the call's events \
             before you try again"
                .into(),
        )),
    }
}

pub(crate) async fn status(state: &RestState, account: AccountId, id: AttemptId) -> ApiResult<ConversationStatus> {
    let row = state.store.conversation(account, id).await;
    Ok(row.or_no_such("conversation")?.status)
}

pub(crate) fn require_in_progress(status: ConversationStatus) -> ApiResult<()> {
    match status {
        ConversationStatus::InProgress => Ok(()),
        status => Err(impossible(&format!("conversation is {}", status.as_str()))),
    }
}

/// Returns the error for a call that no node has: a 409 if its outcome is stored by now or soon, else `unavailable`.
pub(crate) async fn ended_or(state: &RestState, account: AccountId, id: AttemptId, unavailable: ApiError) -> ApiError {
    let limit = Instant::now() + STORED_WITHIN;
    loop {
        if let Err(error) = status(state, account, id).await.and_then(require_in_progress) {
            return error;
        }
        if Instant::now() >= limit {
            return unavailable;
        }
        sleep(LOOK_EVERY).await;
    }
}

pub(crate) fn impossible(why: &str) -> ApiError {
    ApiError::Conflict(Conflict::InvalidTransition, format!("not possible now: {why}"))
}
