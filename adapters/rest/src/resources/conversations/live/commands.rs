//! Commands to a live call: `POST /public/v1/conversations/{conversationId}/say`, `…/transfer`, `…/digits` and
//! `…/instructions`.

use std::time::Duration;

use actors::call::{CallCommand, CommandAnswer, CommandKind};
use axum::extract::State;
use domain::{
    agent::{NumberTransfer, TransferDestination},
    id::{AccountId, AttemptId},
    phone_number::PhoneNumber,
    pieces::{has_words, spoken},
    ports::{language_model::NoteScope, store::ConversationStatus},
    text::{is_odd, plain},
};
use peers::NotTold;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::{Instant, sleep};
use utoipa::ToSchema;

use crate::{
    caller::{Caller, CallerKey},
    described::{bodies::TransferType, common::PhoneNumberSent},
    request::{
        body::JsonObject,
        checked::{Checked, Reason},
        path_id::PathId,
        query::{NoParameters, Query},
    },
    resources::account::safeguards::{Destinations, NOT_ALLOWED},
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict, OrNoSuch},
    },
    state::RestState,
};

/// Time in which the outcome of a call that left its node is stored.
const STORED_WITHIN: Duration = Duration::from_secs(1);

/// Interval of reads meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A command that the call has accepted.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandTaken {
    /// Id of the conversation.
    #[schema(value_type = String, format = "uuid")]
    pub conversation_id: AttemptId,
}

/// A text of at most 1,000 characters that is not blank and has no control characters but white space.
#[derive(Deserialize, ToSchema)]
#[schema(
    min_length = 1,
    max_length = 1_000,
    pattern = r"^[^\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]*[^\s\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069][^\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]*$",
    example = "One moment please."
)]
pub struct CommandText(pub String);

/// Words for the agent to say.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewWords {
    /// The words.
    pub text: CommandText,
    /// Whether they replace what the agent says or is about to say; false by default.
    pub interrupt: Option<bool>,
}

/// A transfer to make.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTransfer {
    /// Destination.
    #[schema(value_type = PhoneNumberSent)]
    pub phone_number: String,
    /// Kind of the transfer; `blind` by default.
    #[schema(value_type = Option<TransferType>)]
    pub transfer_type: Option<String>,
    /// Words to the caller before the transfer; a standard sentence by default.
    pub message: Option<CommandText>,
}

/// Keys to press.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDigits {
    /// `0` to `9`, `*`, `#`, `A` to `D`, and `w` for a pause of half a second.
    #[schema(min_length = 1, max_length = 64, pattern = "^[0-9*#A-Dw]+$")]
    pub digits: String,
}

/// A note to the model.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewInstructions {
    /// The note.
    pub text: CommandText,
    /// How long the note holds; `call` by default.
    pub r#for: Option<NoteScope>,
}

type Body = (PathId<AttemptId>, Query<NoParameters>, JsonObject);

/// Handles the request.
pub async fn say(
    State(state): State<RestState>,
    (Caller(account), key): (Caller, CallerKey),
    (PathId(id), _, JsonObject(body)): Body,
) -> ApiResult<Reply> {
    let mut body = Checked::<NewWords>::of(&body);
    body.parse("text", |text| {
        let text = spoken(words(text)?);
        match has_words(&text) {
            true => Ok(text),
            false => Err(("invalid_value", "has no words that can be spoken".into())),
        }
    });
    let kind = body.end().map(|body| CommandKind::Say {
        text: body.text.0,
        interrupt: body.interrupt.unwrap_or_default(),
    });
    send((&state, account.id, key), id, kind).await
}

/// Handles the request.
pub async fn transfer(
    State(state): State<RestState>,
    (Caller(account), key): (Caller, CallerKey),
    (PathId(id), _, JsonObject(body)): Body,
) -> ApiResult<Reply> {
    let mut body = Checked::<NewTransfer>::of(&body);
    body.parse("phoneNumber", |text| {
        let number = account.settings.phone_number(text);
        number
            .map(|number| number.to_string())
            .map_err(|error| ("invalid_phone", error.to_string()))
    });
    body.parse("message", |text| Ok(spoken(words(text)?)));
    let number = body.sound("phoneNumber").and_then(Value::as_str);
    if let Some(number) = number.and_then(|number| PhoneNumber::stored(number).ok()) {
        let mut destinations = Destinations::of(&*state.store, account.id).await?;
        if let Some(why) = destinations.refuses(&number) {
            body.problem("phoneNumber", (NOT_ALLOWED, why));
        }
    }
    let kind = body.end().map(|body| CommandKind::Transfer {
        transfer: NumberTransfer {
            transfer_type: body.transfer_type,
            transfer_destination: TransferDestination {
                phone_number: Some(body.phone_number),
                ..TransferDestination::default()
            },
            ..NumberTransfer::default()
        },
        message: body.message.map(|text| text.0).filter(|text| has_words(text)),
    });
    send((&state, account.id, key), id, kind).await
}

/// Handles the request.
pub async fn digits(
    State(state): State<RestState>,
    (Caller(account), key): (Caller, CallerKey),
    (PathId(id), _, JsonObject(body)): Body,
) -> ApiResult<Reply> {
    let mut body = Checked::<NewDigits>::of(&body).coded("digits", "too_long", "invalid_value");
    let is_key = |c: char| matches!(c, '0'..='9' | '*' | '#' | 'A'..='D' | 'w');
    body.parse("digits", |digits| {
        match !digits.is_empty() && digits.chars().all(is_key) {
            true => Ok(digits.to_owned()),
            false => Err((
                "invalid_value",
                "must be the keys 0 to 9, *, # and A to D, or w for a pause of half a second".into(),
            )),
        }
    });
    let kind = body.end().map(|body| CommandKind::Digits { digits: body.digits });
    send((&state, account.id, key), id, kind).await
}

/// Handles the request.
pub async fn instructions(
    State(state): State<RestState>,
    (Caller(account), key): (Caller, CallerKey),
    (PathId(id), _, JsonObject(body)): Body,
) -> ApiResult<Reply> {
    let mut body = Checked::<NewInstructions>::of(&body);
    body.parse("text", |text| Ok(plain(words(text)?)));
    let kind = body.end().map(|body| CommandKind::Instructions {
        text: body.text.0,
        holds_for: body.r#for.unwrap_or_default(),
    });
    send((&state, account.id, key), id, kind).await
}

/// Trims a text and checks that it is not blank, not too long, and without control characters except white space.
pub(crate) fn words(text: &str) -> Result<&str, Reason> {
    let text = text.trim();
    if text.is_empty() {
        return Err(("required", "must not be blank".into()));
    }
    if text.chars().any(|c| is_odd(c) && !c.is_whitespace()) {
        return Err(("invalid_value", "has control characters; leave them out".into()));
    }
    Ok(text)
}

/// Sends a command to the node that holds the call, unless its fields have problems.
async fn send(
    (state, account, key): (&RestState, AccountId, CallerKey),
    id: AttemptId,
    kind: ApiResult<CommandKind>,
) -> ApiResult<Reply> {
    let status = status(state, account, id).await?;
    let kind = kind?;
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
