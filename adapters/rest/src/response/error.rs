//! All errors of requests, with their HTTP statuses and codes.

use actors::campaign::CommandError;
use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{
    agent::Problem,
    ports::store::{Holder, Removal, StoreError},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::row_report::{CsvPreview, RowReport};

/// Seconds after which a client may retry if something was unavailable.
const RETRY_AFTER_S: u32 = 2;

/// Reason why a request failed. Clients read the texts.
#[derive(Debug, Clone)]
pub enum ApiError {
    /// Fields or parameters are wrong; all of them are listed.
    Invalid(Vec<Problem>),
    /// Rows or columns of an uploaded file are wrong, and possibly form fields.
    InvalidFile {
        /// Problems of the file and of the form's fields.
        problems: Vec<Problem>,
        /// Row report, or headers and first rows, of the file.
        details: Details,
    },
    /// The request as a whole cannot be read.
    Malformed(String),
    /// The key is missing, unknown or expired.
    Unauthorized(&'static str),
    /// The key lacks a scope.
    Forbidden(String),
    /// The path or resource does not exist, or belongs to another account.
    NotFound(String),
    /// The path does not support the method.
    MethodNotAllowed,
    /// Not possible in the current state.
    Conflict(Conflict, String),
    /// Other resources need this resource.
    InUse(String, Vec<Holder>),
    /// The resource does not have the version in `If-Match`; contains the present one.
    Stale(i64),
    /// Too many bytes or rows.
    PayloadTooLarge(String),
    /// The path does not accept this content type.
    UnsupportedMediaType(String),
    /// A third-party server that the request needs has failed.
    Upstream(String),
    /// Too many requests; contains the seconds until the next try.
    RateLimited(u32),
    /// Too many calls of the account wait for their media socket.
    TooManyCalls(String),
    /// The byte range is outside of the file; contains the file's length.
    RangeNotSatisfiable(u64),
    /// The node is overloaded; try again.
    Overloaded,
    /// The database's disk is full.
    StorageFull,
    /// A dependency is unavailable; try again.
    Unavailable(String),
    /// A bug. The details are in the log, not in the response.
    Internal,
}

/// Codes of 409 responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// The number belongs to a saved contact.
    ContactExists,
    /// The campaign's state does not allow it.
    InvalidTransition,
    /// The campaign is running, or has active calls.
    CampaignRunning,
    /// Every contact has been dialed.
    NothingToDial,
    /// A setting is missing.
    NotConfigured,
    /// Another resource needs it.
    InUse,
    /// The phone number belongs to another account, or another agent answers it.
    NumberInUse,
    /// The number is on the do-not-call list.
    DoNotCall,
    /// Another request changed it at the same time.
    Changed,
    /// The same request or an earlier one is still being processed.
    InProgress,
}

impl Conflict {
    fn code(self) -> ErrorCode {
        match self {
            Self::ContactExists => ErrorCode::ContactExists,
            Self::InvalidTransition => ErrorCode::InvalidTransition,
            Self::CampaignRunning => ErrorCode::CampaignRunning,
            Self::NothingToDial => ErrorCode::NothingToDial,
            Self::NotConfigured => ErrorCode::NotConfigured,
            Self::InUse => ErrorCode::InUse,
            Self::NumberInUse => ErrorCode::NumberInUse,
            Self::DoNotCall => ErrorCode::DoNotCall,
            Self::Changed | Self::InProgress => ErrorCode::Conflict,
        }
    }
}

/// Error codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// 400
    InvalidRequest,
    /// 401
    Unauthorized,
    /// 403
    Forbidden,
    /// 404
    NotFound,
    /// 405
    MethodNotAllowed,
    /// 409: changed by another request, the idempotency key is taken, or earlier requests must be answered first
    Conflict,
    /// 409
    ContactExists,
    /// 409
    CampaignRunning,
    /// 409
    InvalidTransition,
    /// 409
    NothingToDial,
    /// 409
    InUse,
    /// 409
    DoNotCall,
    /// 409
    NumberInUse,
    /// 409
    NotConfigured,
    /// 413
    PayloadTooLarge,
    /// 415
    UnsupportedMediaType,
    /// 429
    RateLimited,
    /// 500
    Internal,
    /// 502
    UpstreamFailed,
    /// 503: overloaded
    Overloaded,
    /// 503: the database's disk is full
    StorageFull,
    /// 503
    Unavailable,
}

/// Maximum problems in `error.fields`; the message counts the rest.
const LISTED: usize = 1_000;

/// Error of a request.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorBody {
    /// Stable code for programs.
    code: ErrorCode,
    /// Explanation for people.
    message: String,
    /// HTTP status.
    #[schema(value_type = i64, minimum = 400, maximum = 599)]
    status: u16,
    /// All invalid fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<Problem>,
    /// Row report of a rejected CSV file, its headers if they are rejected, or the present version of a resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
    /// The message without names of resources, if it has some.
    #[serde(skip)]
    nameless: Option<String>,
}

impl ErrorBody {
    /// Leaves the names of resources out of the message.
    pub(crate) fn hide_names(&mut self) {
        if let Some(nameless) = self.nameless.take() {
            self.message = nameless;
        }
    }
}

/// Details of an error.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = ErrorDetails)]
pub enum Details {
    /// Problems in the rows of a file.
    Rows(RowReport),
    /// Headers of a file whose columns cannot be used.
    Columns(CsvPreview),
    /// The version that a resource has now.
    Present(PresentVersion),
}

/// Version of a resource that does not have the one in `If-Match`.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PresentVersion {
    /// Present version.
    #[schema(minimum = 1)]
    version: i64,
}

impl ApiError {
    /// Creates an error for one field.
    pub fn field(path: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid(vec![Problem::new(path, code, message)])
    }

    /// Creates the error for an unknown `thing` in this account.
    pub fn no_such(thing: &str) -> Self {
        Self::NotFound(format!("there is no such {thing} in this account"))
    }

    /// Converts the status of a rejection by the framework.
    pub fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::NotFound("there is nothing at this path".into()),
            StatusCode::METHOD_NOT_ALLOWED => Self::MethodNotAllowed,
            StatusCode::PAYLOAD_TOO_LARGE => Self::PayloadTooLarge("the body is too large".into()),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                Self::UnsupportedMediaType("this content type is not supported".into())
            }
            StatusCode::SERVICE_UNAVAILABLE => Self::Unavailable("the service is busy".into()),
            other if other.is_client_error() => Self::Malformed("the request cannot be read".into()),
            _ => Self::Internal,
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Invalid(_) | Self::InvalidFile { .. } | Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict(..) | Self::InUse(..) | Self::Stale(_) => StatusCode::CONFLICT,
            Self::PayloadTooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Upstream(_) => StatusCode::BAD_GATEWAY,
            Self::RateLimited(_) | Self::TooManyCalls(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::RangeNotSatisfiable(_) => StatusCode::RANGE_NOT_SATISFIABLE,
            Self::Overloaded | Self::StorageFull | Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid(_) | Self::InvalidFile { .. } | Self::Malformed(_) | Self::RangeNotSatisfiable(_) => {
                ErrorCode::InvalidRequest
            }
            Self::Unauthorized(_) => ErrorCode::Unauthorized,
            Self::Forbidden(_) => ErrorCode::Forbidden,
            Self::NotFound(_) => ErrorCode::NotFound,
            Self::MethodNotAllowed => ErrorCode::MethodNotAllowed,
            Self::Conflict(kind, _) => kind.code(),
            Self::InUse(..) => ErrorCode::InUse,
            Self::Stale(_) => ErrorCode::Conflict,
            Self::PayloadTooLarge(_) => ErrorCode::PayloadTooLarge,
            Self::UnsupportedMediaType(_) => ErrorCode::UnsupportedMediaType,
            Self::Upstream(_) => ErrorCode::UpstreamFailed,
            Self::RateLimited(_) | Self::TooManyCalls(_) => ErrorCode::RateLimited,
            Self::Overloaded => ErrorCode::Overloaded,
            Self::StorageFull => ErrorCode::StorageFull,
            Self::Unavailable(_) => ErrorCode::Unavailable,
            Self::Internal => ErrorCode::Internal,
        }
    }

    /// Returns the message for people.
    pub fn message(&self) -> String {
        match self {
            Self::Invalid(problems) | Self::InvalidFile { problems, .. } => match problems.as_slice() {
                [] => "the request is invalid".into(),
                [one] => format!("`{}`: {}", one.path, one.message),
                [first, rest @ ..] => format!("`{}`: {} (and {} more)", first.path, first.message, rest.len()),
            },
            Self::Unauthorized(text) => (*text).into(),
            Self::InUse(thing, holders) => {
                in_use(thing, holders, |holder| format!("`{}` ({})", holder.name, holder.id))
            }
            Self::Stale(present) => format!("the version is {present}, not the one in `If-Match`; read it again"),
            Self::RateLimited(seconds) => format!("too many requests; try again in {seconds} s"),
            Self::MethodNotAllowed => "this path does not take this method; see the Allow header".into(),
            Self::Overloaded => "the service has too much to do; try again".into(),
            Self::StorageFull => {
                "the database's disk is full: nothing can be stored until there is room; try again".into()
            }
            Self::Internal => "something went wrong inside; the request id finds it in the log".into(),
            Self::RangeNotSatisfiable(length) => {
                format!("the header Range asks for bytes that are not there: the file has {length}")
            }
            Self::Malformed(text)
            | Self::Forbidden(text)
            | Self::NotFound(text)
            | Self::Conflict(_, text)
            | Self::PayloadTooLarge(text)
            | Self::UnsupportedMediaType(text)
            | Self::Upstream(text)
            | Self::TooManyCalls(text)
            | Self::Unavailable(text) => text.clone(),
        }
    }

    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Unauthorized(_) => Some((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            Self::RangeNotSatisfiable(length) => {
                let value = HeaderValue::from_str(&format!("bytes */{length}"));
                Some((header::CONTENT_RANGE, value.ok()?))
            }
            Self::Overloaded | Self::StorageFull | Self::Unavailable(_) | Self::TooManyCalls(_) => {
                Some((header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S)))
            }
            Self::RateLimited(seconds) => Some((header::RETRY_AFTER, HeaderValue::from(*seconds))),
            Self::Conflict(Conflict::InProgress, _) => Some((header::RETRY_AFTER, HeaderValue::from(1))),
            _ => None,
        }
    }

    fn into_body(self) -> ErrorBody {
        let (code, message, status) = (self.code(), self.message(), self.status().as_u16());
        let nameless = match &self {
            Self::InUse(thing, holders) => Some(in_use(thing, holders, |holder| holder.id.clone())),
            _ => None,
        };
        let (mut fields, details) = match self {
            Self::Invalid(problems) => (problems, None),
            Self::InvalidFile { problems, details } => (problems, Some(details)),
            Self::Stale(version) => (Vec::new(), Some(Details::Present(PresentVersion { version }))),
            _ => (Vec::new(), None),
        };
        fields.truncate(LISTED);
        ErrorBody {
            code,
            message,
            status,
            fields,
            details,
            nameless,
        }
    }
}

impl IntoResponse for ApiError {
    /// Returns a response without a body. The envelope's layer writes the body, because it knows the request's id.
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        if let Some((name, value)) = self.header() {
            response.headers_mut().insert(name, value);
        }
        response.extensions_mut().insert(self.into_body());
        response
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound => Self::no_such("thing"),
            StoreError::Exists("phoneNumber") => Self::Conflict(
                Conflict::ContactExists,
                "a contact with this phone number is saved already".into(),
            ),
            StoreError::Exists("number") => Self::Conflict(
                Conflict::NumberInUse,
                "a phone number of this agent belongs to another account, or another agent answers it".into(),
            ),
            StoreError::Exists(what) => Self::Conflict(Conflict::Changed, format!("this {what} already exists")),
            StoreError::Stale | StoreError::Fenced => Self::Conflict(
                Conflict::Changed,
                "it was changed by another request at the same time; read it again".into(),
            ),
            ref full if full.is_disk_full() => {
                tracing::warn!(error = %full, "database full");
                Self::StorageFull
            }
            StoreError::Unavailable(reason) => {
                tracing::warn!(%reason, "database unavailable");
                Self::Unavailable("the database is not available; try again".into())
            }
            StoreError::Refused(what) | StoreError::OtherTimes(what) | StoreError::Damaged(what) => {
                tracing::error!(%what, "damaged stored value");
                Self::Internal
            }
        }
    }
}

impl From<CommandError> for ApiError {
    fn from(error: CommandError) -> Self {
        let text = error.to_string();
        match error {
            CommandError::NotFound => Self::no_such("campaign"),
            CommandError::InvalidTransition(_) => {
                Self::Conflict(Conflict::InvalidTransition, format!("not possible now: {text}"))
            }
            CommandError::Running => Self::Conflict(
                Conflict::CampaignRunning,
                format!("{text} or has calls in progress; pause or stop it first"),
            ),
            CommandError::Invalid(problems) => Self::Invalid(problems),
            CommandError::Stale(present) => Self::Stale(present),
            CommandError::NothingToDial => Self::Conflict(Conflict::NothingToDial, text),
            CommandError::NotConfigured(_) => Self::Conflict(Conflict::NotConfigured, text),
            CommandError::Unavailable(reason) => {
                tracing::warn!(%reason, "command unavailable");
                Self::Unavailable("the service cannot process commands at the moment; try again".into())
            }
        }
    }
}

/// Returns a 409 that names the dependents if a removal was refused.
pub fn removed(removal: Removal, thing: &str) -> ApiResult<()> {
    match removal {
        Removal::Done => Ok(()),
        Removal::Held(holders) => Err(ApiError::InUse(thing.to_owned(), holders)),
    }
}

fn in_use(thing: &str, holders: &[Holder], shown: impl Fn(&Holder) -> String) -> String {
    let holders: Vec<String> = holders
        .iter()
        .map(|holder| format!("{} {}", holder.kind, shown(holder)))
        .collect();
    format!("this {thing} is in use by {}", holders.join(", "))
}

/// Result of a handler.
pub type ApiResult<T> = Result<T, ApiError>;

/// Conversion of a missing row into a 404 that names the resource.
pub trait OrNoSuch<T> {
    /// Converts `NotFound` into a 404 that names `thing`. Other errors are converted as usual.
    fn or_no_such(self, thing: &str) -> ApiResult<T>;
}

impl<T> OrNoSuch<T> for Result<T, StoreError> {
    fn or_no_such(self, thing: &str) -> ApiResult<T> {
        self.map_err(|error| match error {
            StoreError::NotFound => ApiError::no_such(thing),
            other => other.into(),
        })
    }
}
