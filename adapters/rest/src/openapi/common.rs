//! Types that several resources share.

use utoipa::ToSchema;

/// A phone number in E.164, as it is stored and read back.
#[derive(ToSchema)]
#[schema(pattern = r"^\+[1-9][0-9]{6,14}$", example = "+15550100010")]
pub struct PhoneNumber(pub String);

/// A phone number as it may be sent: white space, hyphens, `.`, `(`, `)` and `/` are removed, a leading `00` becomes
/// `+`; then it must be E.164.
#[derive(ToSchema)]
#[schema(
    pattern = r"^[ \-./()]*(\+|0[ \-./()]*0)[ \-./()]*[1-9]([ \-./()]*[0-9]){6,14}[ \-./()]*$",
    example = "+1 (555) 010-0010"
)]
pub struct PhoneNumberSent(pub String);

/// A name: not blank, at most 200 characters, read without the white space around it.
#[derive(ToSchema)]
#[schema(max_length = 200, pattern = r"\S", example = "Check-ups")]
pub struct Name(pub String);

/// An e-mail address; its domain has a dot.
#[derive(ToSchema)]
#[schema(format = Email, max_length = 254, example = "ada@example.com")]
pub struct Email(pub String);

/// Whose it is.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedBy {
    /// The account.
    #[schema(format = "uuid")]
    pub user_id: String,
    /// Its address.
    pub user_email: String,
}

/// When it was made, and by whom.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Made {
    /// ISO 8601, UTC.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// By whom.
    pub created_by: CreatedBy,
}

/// A page of a list.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pagination {
    /// Items asked for.
    #[schema(minimum = 1, maximum = 100)]
    pub page_size: i64,
    /// Whether there are more.
    pub has_more: bool,
    /// Send it back as `cursor`; left out on the last page.
    pub next_cursor: Option<String>,
}

/// What a list is sorted by.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum SortBy {
    /// By name.
    Name,
    /// By age.
    CreatedAt,
}

/// Which way a list is sorted.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum SortDirection {
    /// Upwards.
    Asc,
    /// Downwards.
    Desc,
}

/// A page of a list that can be sorted.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SortedPagination {
    /// Items asked for.
    #[schema(minimum = 1, maximum = 100)]
    pub page_size: i64,
    /// Whether there are more.
    pub has_more: bool,
    /// Send it back as `cursor`; left out on the last page.
    pub next_cursor: Option<String>,
    /// What it is sorted by.
    pub sort_by: SortBy,
    /// Which way.
    pub sort_direction: SortDirection,
}

/// One thing that is wrong with one field.
#[derive(ToSchema)]
pub struct FieldProblem {
    /// Dotted path with list indexes.
    #[schema(example = "contacts[0].phoneNumber")]
    pub path: String,
    /// Stable code, such as `required`, `wrong_type`, `out_of_range`, `unknown_field`, `not_allowed`, `not_found`.
    #[schema(example = "invalid_phone")]
    pub code: String,
    /// For people: names the value and the way out.
    pub message: String,
}

/// What went wrong.
#[derive(ToSchema)]
pub struct Error {
    /// Stable, for machines.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub status: i64,
    /// Every wrong field.
    pub fields: Option<Vec<FieldProblem>>,
    /// Of a refused CSV file: the row report.
    pub details: Option<RowReport>,
}

/// The codes of failures.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum ErrorCode {
    /// 400
    InvalidRequest,
    /// 401
    Unauthorized,
    /// 404
    NotFound,
    /// 405
    MethodNotAllowed,
    /// 409: somebody else changed it, or the idempotency key is taken
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
    /// 503: too much to do
    Overloaded,
    /// 503: the database's disk is full
    StorageFull,
    /// 503
    Unavailable,
}

/// What is wrong with the rows of a file.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RowReport {
    /// Data rows.
    pub total_rows: u64,
    /// Rows without a problem.
    pub valid_rows: u64,
    /// Rows with one or more.
    pub invalid_rows: u64,
    /// More problems were found than the 1,000 that are listed.
    pub truncated: bool,
    /// The problems in the order of the file.
    pub rows: Vec<RowProblem>,
}

/// One problem of one row.
#[derive(ToSchema)]
pub struct RowProblem {
    /// Data rows count from 1.
    pub row: u64,
    /// Lines of the file count from 1.
    pub line: u64,
    /// The header's text; `null` when the row as a whole is meant.
    #[schema(required)]
    pub column: Option<String>,
    /// The cell.
    #[schema(required)]
    pub value: Option<String>,
    /// What is wrong.
    pub code: RowCode,
    /// For people.
    pub message: String,
}

/// What is wrong with a row.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum RowCode {
    /// The phone cell is blank.
    MissingPhone,
    /// The phone cell is no phone number.
    InvalidPhone,
    /// The e-mail cell is no address.
    InvalidEmail,
    /// The number stands in an earlier row.
    DuplicateNumber,
    /// Not as many cells as headers.
    RaggedRow,
    /// The account's safeguards never allow the number.
    DestinationNotAllowed,
}

/// Every refusal.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Never true.
    #[schema(default = false)]
    pub success: bool,
    /// What went wrong.
    pub error: Error,
    /// The request's id, on campaign and contact operations.
    pub request_id: Option<String>,
}
